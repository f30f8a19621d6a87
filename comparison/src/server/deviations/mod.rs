//! Listed deviations: differences that have a reason, see `docs/deviations.md`. Each is a type with the name of its section.

mod causes;
mod deviation;
mod empty;
mod owners;
mod patches;
mod words;

pub(super) use deviation::Question;
use serde_json::json;

use super::in_process::InProcess;
use super::request::{Answer, DEFINITIONS};
use crate::json::{items, member, text};
use deviation::Deviation;

/// The name of a deviation, and its function. The function gets a server that answers other requests, unless the question is
/// about the answer to such a request.
type Rule = (
    &'static str,
    fn(&Question<'_>, Option<&mut InProcess>) -> bool,
);

const fn rule<D: Deviation>() -> Rule {
    (D::NAME, D::explains)
}

/// The deviations of answers, in the order in which they are asked.
const ANSWERS: [Rule; 23] = [
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
    rule::<owners::HiddenField>(),
    rule::<owners::WrittenAgain>(),
    rule::<owners::ListForms>(),
    rule::<patches::Strategic>(),
    rule::<Retried>(),
    rule::<patches::FaultOrder>(),
    rule::<owners::EntryOrder>(),
];

/// The deviations of stored objects after answers that agree, or whose differences are explained.
const STORED: [Rule; 1] = [rule::<Instances>()];

impl Question<'_> {
    /// The deviation that is the reason for the difference of two answers.
    pub(super) fn answered(&self, mut again: Option<&mut InProcess>) -> Option<&'static str> {
        let mut rules = ANSWERS.iter();
        rules
            .find(|(_, explains)| explains(self, again.as_deref_mut()))
            .map(|(name, _)| *name)
    }

    /// The deviation that is the reason for the difference of two stored objects.
    pub(super) fn stored(&self) -> Option<&'static str> {
        STORED
            .iter()
            .find(|(_, explains)| explains(self, None))
            .map(|(name, _)| *name)
    }
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
        let Some(again) =
            again.filter(|_| question.is_in("warnings") && !exchange.before.is_null())
        else {
            return false;
        };
        // The first attempt was made with the object of the cache, which lacked the last change.
        let Ok(first) = again.answer(&exchange.with(exchange.before, None)) else {
            return false;
        };

        // The answer has the warnings of both attempts, and a warning that both gave only once.
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
