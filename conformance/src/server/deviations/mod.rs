//! Listed deviations: differences that have a reason, see `docs/deviations.md`. Each is a type with the name of its section.

mod causes;
mod empty;
mod owners;
mod patches;
mod words;

use serde_json::{Value as Json, json};

use super::exchange::Exchange;
use super::in_process::InProcess;
use super::request::{Answer, DEFINITIONS};
use crate::json::{items, member, text};
use crate::suite::Difference;

/// A reason for which the answers of kube-apiserver and of this project's server differ.
trait Deviation {
    /// The name of its section in `docs/deviations.md`.
    const NAME: &'static str;

    /// Whether it is the reason for a difference.
    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool;
}

/// The name of a deviation, and its function. The function gets a server that answers other requests, unless the question is
/// about the answer to such a request.
type Rule = (&'static str, fn(&Question<'_>, Option<&mut InProcess>) -> bool);

const fn rule<D: Deviation>() -> Rule {
    (D::NAME, D::explains)
}

/// The deviations of answers, in the order in which they are asked.
const ANSWERS: [Rule; 24] = [
    rule::<words::Panic>(),
    rule::<words::ScaleApply>(),
    rule::<owners::ConvertedDuplicates>(),
    rule::<causes::Allocations>(),
    rule::<DryRunVersion>(),
    rule::<causes::RuleTypes>(),
    rule::<causes::Validation>(),
    rule::<empty::EmptyValues>(),
    rule::<words::TypeWords>(),
    rule::<words::YamlWords>(),
    rule::<words::StoreWords>(),
    rule::<patches::RestoreWords>(),
    rule::<patches::FieldOrder>(),
    rule::<empty::EmptyShown>(),
    rule::<causes::ConflictOrder>(),
    rule::<causes::CauseOrder>(),
    rule::<owners::DuplicateEntries>(),
    rule::<owners::HiddenField>(),
    rule::<owners::WrittenAgain>(),
    rule::<owners::ListForms>(),
    rule::<patches::Strategic>(),
    rule::<Retried>(),
    rule::<patches::FaultOrder>(),
    rule::<owners::EntryOrder>(),
];

/// The deviations of stored objects after answers that agree, or whose differences are explained.
const STORED: [Rule; 2] = [rule::<owners::ScaleKeeps>(), rule::<Instances>()];

/// A difference, and what it is about.
pub(super) struct Question<'q> {
    pub(super) exchange: &'q Exchange<'q>,
    pub(super) ours: &'q Answer,
    pub(super) found: &'q Difference,
}

impl Question<'_> {
    /// The deviation that is the reason for the difference of two answers.
    pub(super) fn answered(&self, mut again: Option<&mut InProcess>) -> Option<&'static str> {
        let mut rules = ANSWERS.iter();
        rules.find(|(_, explains)| explains(self, again.as_deref_mut())).map(|(name, _)| *name)
    }

    /// The deviation that is the reason for the difference of two stored objects.
    pub(super) fn stored(&self) -> Option<&'static str> {
        STORED.iter().find(|(_, explains)| explains(self, None)).map(|(name, _)| *name)
    }

    /// Whether the difference is in a part of the answers.
    fn is_in(&self, part: &str) -> bool {
        self.found.what == part
    }

    /// Whether the real server alone wrote the object.
    fn is_written(&self) -> bool {
        self.is_in("write") && self.found.reference == json!(true)
    }

    /// Whether both answers are refusals with one code and the same warnings.
    fn is_same_refusal(&self, code: u16) -> bool {
        let real = self.exchange.real;
        real.code == code && self.ours.code == code && real.warnings == self.ours.warnings
    }

    /// The message of the real server, and that of this project's.
    fn messages(&self) -> (&str, &str) {
        (text(&self.exchange.real.body, "message"), text(&self.ours.body, "message"))
    }
}

/// The causes of a refusal.
fn causes(status: &Json) -> &[Json] {
    items(member(status, "details"), "causes")
}

/// An object of a dry run, which the real server gives the `resourceVersion` that the request has.
struct DryRunVersion;

impl Deviation for DryRunVersion {
    const NAME: &'static str = "server-dry-run-version";

    fn explains(Question { exchange, ours, .. }: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let version = |answer: &Answer| answer.body.pointer("/metadata/resourceVersion").cloned();
        let real = &exchange.real;
        let is_dry = exchange.step.is_dry_run() && real.code == 201;
        is_dry && version(real) == Some(json!("0")) && version(ours).is_none()
    }
}

/// Warnings about an object that the server no longer stores: it tries a write again if its cache was old.
struct Retried;

impl Deviation for Retried {
    const NAME: &'static str = "server-retried";

    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool {
        let Question { exchange, ours, .. } = question;
        let Some(again) = again.filter(|_| question.is_in("warnings") && !exchange.before.is_null()) else {
            return false;
        };
        let Ok(first) = again.answer(&exchange.with(exchange.before, None)) else { return false };
        let mut all: Vec<&String> = first.answer.warnings.iter().chain(&ours.warnings).collect();
        all.sort_unstable();
        all.dedup();
        let mut found: Vec<&String> = exchange.real.warnings.iter().collect();
        found.sort_unstable();
        all == found
    }
}

/// A definition whose objects the real server could not list at once.
struct Instances;

impl Deviation for Instances {
    const NAME: &'static str = "server-instances";

    fn explains(Question { exchange, .. }: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let mut conditions = items(member(exchange.live, "status"), "conditions").iter();
        exchange.kind.group == DEFINITIONS
            && conditions.any(|condition| text(condition, "reason") == "InstanceDeletionFailed")
    }
}
