//! The suite: a sequence, or one recorded request, with both sides.

use std::sync::Arc;

use fieldmanager_handlers::Action;
use serde_json::{Value as Json, json};

use super::compare::difference;
use super::deviations::Leak;
use super::kinds::{Catalog, Kind};
use super::library::{Library, Server, inputs, newest};
use super::live::stored_by;
use super::recording::Recording;
use super::request::{Answer, Request, Step};
use super::{deviations, generate};
use crate::Error;
use crate::json::{items, member, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::suite::{Difference, Suite, Verdict};

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

    /// The answer of the library if `live` is stored, and its effect.
    fn answer(&mut self, request: &Request, live: &Json) -> (Answer, Option<Action>) {
        self.library.live = Some(live.clone()).filter(|live| !live.is_null());
        (self.library.send(request), self.library.action)
    }

    /// The rule that explains a difference. Some rules are checked with another request.
    fn explained(
        &mut self,
        (kind, step): (&Kind, &Step<'_>),
        (before, live): (&Json, &Json),
        request: &Request,
        real: &Answer,
        ours: &Answer,
        found: &Difference,
    ) -> Option<&'static str> {
        if let Some(rule) = deviations::explain(kind, step, real, ours, found) {
            return Some(rule);
        }
        if let Some(live) = deviations::without_duplicates(live) {
            let body = serde_json::from_slice(&request.body).unwrap_or_default();
            let mut request = request.clone();
            if let Some(body) = deviations::without_duplicates(&body) {
                request.body = body.to_string().into_bytes();
            }
            let (ours, action) = self.answer(&request, &live);
            let found = difference(kind, step, &live, real, &ours, action);
            // The server stores the object without the duplicates.
            let is_explained = found.is_none_or(|found| {
                found.what == "write" || deviations::explain(kind, step, real, &ours, &found).is_some()
            });
            if is_explained {
                return Some(deviations::DUPLICATE_ENTRIES);
            }
        }
        let has_address = |object: &Json| object.pointer("/spec/ipFamilies").is_some();
        if found.what == "write" && kind.kind == "Service" && !has_address(live) && has_address(&real.body) {
            return Some(deviations::ALLOCATIONS);
        }
        if found.what == "write" && found.reference == json!(true) && deviations::hides_field(live) {
            return Some(deviations::HIDDEN_FIELD);
        }
        if found.what == "managed" {
            let sent = serde_json::from_slice(&request.body).unwrap_or_default();
            if deviations::moves_unchanged_lists(live, &sent, &found.reference, &found.candidate) {
                return Some(deviations::LIST_FORMS);
            }
            let version = kind.api_version(step.version);
            if deviations::keeps_entries_of_duplicates(live, &sent, real, &version) {
                return Some(deviations::CONVERTED_DUPLICATES);
            }
            if deviations::owns_hidden_field(live, &found.reference, &found.candidate) {
                return Some(deviations::HIDDEN_FIELD);
            }
        }
        if step.verb == "strategic" {
            let patch = serde_json::from_slice(&request.body).unwrap_or_default();
            let leaks = [Leak::Deleted, Leak::Unknown, Leak::Merge, Leak::Any];
            let mut smaller: Vec<Json> =
                leaks.iter().filter_map(|leak| deviations::without_leaks(&patch, *leak)).collect();
            let deleted = smaller.iter().chain([&patch]).filter_map(deviations::deleted_last);
            smaller.extend(deleted.collect::<Vec<_>>());
            for patch in smaller {
                let request = Request { body: patch.to_string().into_bytes(), ..request.clone() };
                let (ours, action) = self.answer(&request, live);
                let is_explained = difference(kind, step, live, real, &ours, action)
                    .is_none_or(|found| deviations::explain(kind, step, real, &ours, &found).is_some());
                if is_explained {
                    return Some(deviations::STRATEGIC);
                }
            }
        }
        if found.what == "warnings" && !before.is_null() {
            let (first, _) = self.answer(request, before);
            let all = |real: &Answer| {
                let mut all: Vec<String> = first.warnings.iter().chain(&ours.warnings).cloned().collect();
                all.sort_unstable();
                all.dedup();
                let mut found = real.warnings.clone();
                found.sort_unstable();
                all == found
            };
            if all(real) {
                return Some(deviations::RETRIED);
            }
        }
        let are_faults = matches!(real.code, 400 | 500) && matches!(ours.code, 400 | 500);
        let has_deletion = String::from_utf8_lossy(&request.body).contains("\"$deleteFromPrimitiveList/");
        if step.verb == "strategic" && (are_faults || has_deletion) {
            let patch = serde_json::from_slice(&request.body).unwrap_or_default();
            for smaller in deviations::without_a_member(&patch) {
                let request = Request { body: smaller.to_string().into_bytes(), ..request.clone() };
                let (ours, action) = self.answer(&request, live);
                let found = difference(kind, step, live, real, &ours, action);
                if found.is_none_or(|found| deviations::explain(kind, step, real, &ours, &found).is_some()) {
                    return Some(deviations::FAULT_ORDER);
                }
            }
        }
        None
    }

    /// Compares with a server that has these definitions of custom resources. `kind` limits the kinds of objects.
    pub fn live(definitions: Arc<Vec<Json>>, kind: Option<String>) -> Self {
        Requests { library: Library::new(definitions), recorded: None, kind }
    }
}

/// The object that a request finds. A request that creates an object under another name than that of the sequence finds
/// one if an earlier sequence left it; the answer of the real server says whether it does.
fn found_by(step: &Step<'_>, live: &Json, real: &Answer) -> Json {
    if step.verb == "create" && real.code == 201 { Json::Null } else { live.clone() }
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
        let (mut before, mut live) = (member(case, "before").clone(), member(case, "live").clone());
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
                let request = step.request(kind, &live, name);
                let sent = serde_json::from_slice(&request.body).unwrap_or_default();
                self.library.inputs = inputs(&live, &sent, &real);
                let found_by = found_by(&step, &live, &real);
                let (ours, action) = self.answer(&request, &found_by);
                let mut found = difference(kind, &step, &live, &real, &ours, action);
                if found.is_some() && real.body == live {
                    // Nothing tells the time of the request: it may be that of the newest entry, too.
                    self.library.inputs.now = newest(&live);
                    let (ours, action) = self.answer(&request, &found_by);
                    found = found.filter(|_| difference(kind, &step, &live, &real, &ours, action).is_some());
                    self.library.inputs = inputs(&live, &sent, &real);
                }
                if let Some(found) = found {
                    match self.explained((kind, &step), (&before, &live), &request, &real, &ours, &found) {
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
            let stored = answer.get("live").cloned().or_else(|| stored_by(&step, kind, &real));
            if let Some(stored) = stored.filter(|_| !step.makes_another(&live)) {
                before = std::mem::replace(&mut live, stored);
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
