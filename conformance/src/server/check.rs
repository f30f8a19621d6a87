//! The suite: a sequence, or one recorded request, with both sides.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::compare::difference;
use super::kinds::Catalog;
use super::library::{Library, Server, inputs};
use super::live::stored_by;
use super::recording::Recording;
use super::request::{Answer, Step};
use super::{deviations, generate};
use crate::Error;
use crate::json::{items, member, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::suite::{Suite, Verdict};

/// Comparisons of answers to requests.
pub struct Requests {
    library: Library,
    /// The recorded requests; sequences are generated if there are none.
    recorded: Option<Arc<Vec<Json>>>,
    /// The kind of generated sequences; any if there is none.
    kind: Option<String>,
}

impl Requests {
    /// Compares with a recording.
    pub fn recorded(recording: &Recording) -> Self {
        Requests {
            library: Library::new(recording.definitions.clone()),
            recorded: Some(recording.requests.clone()),
            kind: None,
        }
    }

    /// Compares with a server that has these definitions of custom resources. `kind` limits the kinds of objects.
    pub fn live(definitions: Arc<Vec<Json>>, kind: Option<String>) -> Self {
        Requests { library: Library::new(definitions), recorded: None, kind }
    }
}

/// The oracle of a recording: the answers are in the case.
pub struct Recorded;

impl Oracle for Recorded {
    fn run(&mut self, requests: &[Json]) -> Result<Vec<Json>, Error> {
        let answers = |case: &Json| -> Json {
            items(case, "steps").iter().map(|step| member(step, "answer").clone()).collect()
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

impl Suite for Requests {
    const NAME: &'static str = "server";
    const ORACLE: &'static str = "server";
    const BATCH: u64 = 4;
    const REPEATS: usize = 0;

    fn generate(&self, seed: u64) -> Json {
        match &self.recorded {
            Some(requests) => {
                usize::try_from(seed).ok().and_then(|at| requests.get(at)).cloned().unwrap_or_default()
            }
            None => generate::sequence(seed, self.kind.as_deref()).unwrap_or_default(),
        }
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Json, answers: &[Json]) -> Result<Verdict, Error> {
        let kind = Catalog::get()?.find(text(case, "path"), text(case, "kind"));
        let kind = kind.ok_or_else(|| Error::Request(text(case, "path").to_owned()))?;
        let reply = answers.first().unwrap_or(&Json::Null);
        let name = text(reply, "name");
        let mut live = member(case, "live").clone();
        let mut verdict = Verdict::default();
        for (number, (json, answer)) in items(case, "steps").iter().zip(items(reply, "answers")).enumerate() {
            if answer.is_null() {
                continue;
            }
            let step = Step::new(json, kind);
            let real = Answer::from_json(answer);
            if step.is_write() {
                let tally = &mut verdict.tally;
                tally.operations += 1;
                tally.count("kinds", format!("{} {}", kind.api_version(&kind.version), kind.kind));
                tally.count("requests", format!("{} {} {}", step.verb, step.sub, real.code));
                self.library.live = Some(live.clone()).filter(|live| !live.is_null());
                self.library.inputs = inputs(&live, &real);
                let ours = self.library.send(&step.request(kind, &live, name));
                let action = self.library.action;
                if let Some(found) = difference(kind, &step, &live, &real, &ours, action) {
                    match deviations::explain(kind, &step, &live, &real, &ours, &found) {
                        Some(rule) => verdict.deviations.push(rule),
                        None => {
                            tally.count("differences", found.label.as_str());
                            let source =
                                if kind.definition.is_some() { "custom kinds" } else { "built-in kinds" };
                            tally.count("requests with differences", source);
                            if verdict.difference.is_none() {
                                let mut found = found;
                                found.step = Some(number);
                                verdict.difference = Some(found);
                            }
                        }
                    }
                }
            }
            if let Some(stored) = answer.get("live") {
                live = stored.clone();
            } else if let Some(stored) = stored_by(&step, kind, &real) {
                live = stored;
            }
        }
        Ok(verdict)
    }

    fn cuts(&self, case: &Json) -> Vec<Cut> {
        if self.recorded.is_some() {
            return Vec::new();
        }
        let mut cuts = vec![Cut::children("/steps")];
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
}
