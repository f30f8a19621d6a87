//! The cases of both suites, and the oracle of recorded ones.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::generate;
use crate::Error;
use crate::json::{items, member, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;

/// Where the cases of a suite are from.
pub(super) enum Cases {
    /// Recorded ones, with the answers.
    Recorded(Arc<Vec<Json>>),
    /// Generated sequences of a kind; of any if there is none.
    Generated(Option<String>),
}

impl Cases {
    /// The case of a seed.
    pub(super) fn get(&self, seed: u64) -> Json {
        match self {
            Cases::Recorded(cases) => usize::try_from(seed)
                .ok()
                .and_then(|at| cases.get(at))
                .cloned()
                .unwrap_or_default(),
            Cases::Generated(kind) => generate::sequence(seed, kind.as_deref()).unwrap_or_default(),
        }
    }

    /// The parts of a sequence that may be cut.
    pub(super) fn cuts(&self, case: &Json) -> Vec<Cut> {
        let mut cuts = vec![Cut::children("/steps")];
        // A changed request is another one, for which the recording has no answer.
        if matches!(self, Cases::Recorded(_)) {
            return cuts;
        }
        for at in 0..items(case, "steps").len() {
            for name in ["set", "drop", "carry"] {
                cuts.push(Cut::children(format!("/steps/{at}/{name}")));
            }
            for name in ["agent", "format", "base", "version", "type", "query"] {
                cuts.push(Cut::whole(format!("/steps/{at}/{name}")));
            }
            cuts.push(Cut::names(format!("/steps/{at}/body")));
        }

        cuts
    }

    /// Whether the answers of a smaller sequence are known: only what was refused has no effect on the answers that follow.
    pub(super) fn is_answered(&self, case: &Json) -> bool {
        let Cases::Recorded(cases) = self else {
            return true;
        };
        let mut whole = cases
            .iter()
            .filter(|known| text(known, "name") == text(case, "name"));
        let mut left = whole
            .next()
            .map(|whole| items(whole, "steps"))
            .unwrap_or_default()
            .iter();

        // A step that the smaller sequence lacks must have been refused, so that the object is the same without it.
        items(case, "steps").iter().all(|step| {
            left.by_ref()
                .take_while(|known| *known != step)
                .all(|known| {
                    member(member(known, "answer"), "code")
                        .as_u64()
                        .is_some_and(|code| code >= 400)
                })
        })
    }
}

/// The oracle of a recording: the answers are in the case.
pub(super) struct Recorded;

impl Oracle for Recorded {
    fn run(&mut self, requests: &[Json]) -> Result<Vec<Json>, Error> {
        let answers = |case: &Json| -> Json {
            items(case, "steps")
                .iter()
                .map(|step| member(step, "answer").clone())
                .collect()
        };
        Ok(requests
            .iter()
            .map(|case| json!({"name": text(case, "name"), "answers": answers(case)}))
            .collect())
    }

    fn variants(&mut self, request: &Json, _: usize) -> Result<Vec<Json>, Error> {
        self.run(std::slice::from_ref(request))
    }
}
