//! Deviations, and the differences that they are asked about.

use serde_json::{Value as Json, json};

use crate::json::{items, member, text};
use crate::server::exchange::Exchange;
use crate::server::in_process::InProcess;
use crate::server::request::Answer;
use crate::suite::Difference;

/// A reason for which the answers of kube-apiserver and of this project's server differ.
pub(super) trait Deviation {
    /// The name of its section in `docs/deviations.md`.
    const NAME: &'static str;

    /// Whether it is the reason for a difference.
    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool;
}

/// A difference, and what it is about.
pub(in crate::server) struct Question<'q> {
    pub(in crate::server) exchange: &'q Exchange<'q>,
    pub(in crate::server) ours: &'q Answer,
    pub(in crate::server) found: &'q Difference,
}

impl Question<'_> {
    /// Whether the difference is in a part of the answers.
    pub(super) fn is_in(&self, part: &str) -> bool {
        self.found.what == part
    }

    /// Whether the real server alone wrote the object.
    pub(super) fn is_written(&self) -> bool {
        self.is_in("write") && self.found.reference == json!(true)
    }

    /// Whether both answers are refusals with one code and the same warnings.
    pub(super) fn is_same_refusal(&self, code: u16) -> bool {
        let real = self.exchange.real;
        real.code == code && self.ours.code == code && real.warnings == self.ours.warnings
    }

    /// The message of the real server, and that of this project's.
    pub(super) fn messages(&self) -> (&str, &str) {
        (
            text(&self.exchange.real.body, "message"),
            text(&self.ours.body, "message"),
        )
    }
}

/// The causes of a refusal.
pub(super) fn causes(status: &Json) -> &[Json] {
    items(member(status, "details"), "causes")
}

/// The causes of a refusal for invalid fields; none of another answer.
pub(super) fn causes_of_invalid(answer: &Answer) -> &[Json] {
    match answer.code {
        422 => causes(&answer.body),
        _ => &[],
    }
}

/// Whether some causes are not among the known ones, which are all there, and all of these have a property.
pub(super) fn adds_only(causes: &[Json], known: &[Json], property: impl Fn(&Json) -> bool) -> bool {
    let mut more = causes
        .iter()
        .filter(|cause| !known.contains(cause))
        .peekable();
    known.iter().all(|cause| causes.contains(cause)) && more.peek().is_some() && more.all(property)
}
