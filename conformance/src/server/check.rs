//! The suite: a sequence, or one recorded request, with both sides.

use std::sync::Arc;

use fieldmanager_handlers::Action;
use serde_json::{Value as Json, json};

use super::client::Client;
use super::compare::{aligned, difference};
use super::directives::{self, Leak};
use super::kinds::{Catalog, Kind};
use super::library::{Library, Server, inputs, newest};
use super::other::Other;
use super::recording::Recording;
use super::request::{Answer, Request, Step};
use super::session::stored_by;
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
    /// The server that is compared instead of the library.
    server: Option<Client>,
}

impl Requests {
    /// Compares with a recording.
    pub fn recorded(recording: &Recording) -> Self {
        Requests {
            library: Library::new(recording.definitions.clone()),
            recorded: Some(recording.requests.clone()),
            kind: None,
            server: None,
        }
    }

    /// Compares a server with a recording.
    pub fn recorded_at(recording: &Recording, server: Client) -> Self {
        Requests {
            library: Library::new(recording.definitions.clone()),
            recorded: Some(recording.sequences.clone()),
            kind: None,
            server: Some(server),
        }
    }

    /// The answer of the library if `live` is stored, with what the real server chose, and whether it changes `live`.
    fn answer(
        &mut self,
        (kind, step): (&Kind, &Step<'_>),
        request: &Request,
        live: &Json,
        real: &Answer,
    ) -> (Answer, Option<bool>) {
        self.library.live = Some(live.clone()).filter(|live| !live.is_null());
        let answer = aligned(kind, step, real, self.library.send(request));
        let written = match self.library.action {
            Some(Action::Delete) => None,
            action => Some(action.is_some_and(|action| action != Action::Nothing)),
        };
        (answer, written)
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
        let sent = serde_json::from_slice(&request.body).unwrap_or_default();
        let kept = (deviations::without_duplicates(live), deviations::without_duplicates(&sent));
        let lives: Vec<Json> = [live.clone()].into_iter().chain(kept.0.clone()).collect();
        if kept.0.is_some() || kept.1.is_some() {
            let body = kept.1.as_ref().map(|sent| sent.to_string().into_bytes());
            let (live, sent) = (kept.0.unwrap_or_else(|| live.clone()), kept.1.unwrap_or(sent));
            let request = Request { body: body.unwrap_or_else(|| request.body.clone()), ..request.clone() };
            let (ours, written) = self.answer((kind, step), &request, &live, real);
            let found = difference(kind, step, &live, real, &ours, written);
            let moves_lists = |found: &Difference| {
                let (reference, candidate) = (&found.reference, &found.candidate);
                found.what == "managed"
                    && deviations::moves_unchanged_lists(&live, &sent, reference, candidate)
            };
            // The server stores the object without the duplicates.
            let is_explained = found.is_none_or(|found| {
                let rule = || deviations::explain(kind, step, real, &ours, &found);
                found.what == "write" || moves_lists(&found) || rule().is_some()
            });
            if is_explained {
                return Some(deviations::DUPLICATE_ENTRIES);
            }
        }
        let has_address = |object: &Json| object.pointer("/spec/ipFamilies").is_some();
        if found.what == "write" && kind.kind == "Service" && !has_address(live) && has_address(&real.body) {
            return Some(deviations::ALLOCATIONS);
        }
        if found.what == "write" && found.reference == json!(true) {
            if deviations::hides_field(live) {
                return Some(deviations::HIDDEN_FIELD);
            }
            if deviations::stores_what_it_shows(step, live) {
                return Some(deviations::WRITTEN_AGAIN);
            }
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
        if step.is_strategic() {
            let patch = serde_json::from_slice(&request.body).unwrap_or_default();
            let leaks = [Leak::Deleted, Leak::Unknown, Leak::Merge, Leak::Any];
            let mut smaller: Vec<Json> =
                leaks.iter().filter_map(|leak| directives::without_leaks(&patch, *leak)).collect();
            let deleted = smaller.iter().chain([&patch]).filter_map(directives::deleted_last);
            smaller.extend(deleted.collect::<Vec<_>>());
            smaller.extend(directives::without_replaced(&patch));
            smaller.extend(directives::without_a_directive(&patch));
            for (patch, live) in smaller.iter().flat_map(|patch| lives.iter().map(move |live| (patch, live)))
            {
                let request = Request { body: patch.to_string().into_bytes(), ..request.clone() };
                let (ours, written) = self.answer((kind, step), &request, live, real);
                let is_explained = difference(kind, step, live, real, &ours, written)
                    .is_none_or(|found| deviations::explain(kind, step, real, &ours, &found).is_some());
                if is_explained {
                    return Some(deviations::STRATEGIC);
                }
            }
        }
        if found.what == "warnings" && !before.is_null() {
            let (first, _) = self.answer((kind, step), request, before, real);
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
        if step.is_strategic() && (are_faults || has_deletion) {
            let patch = serde_json::from_slice(&request.body).unwrap_or_default();
            if self.finds_later((kind, step), request, live, real, (patch, text(&ours.body, "message"))) {
                return Some(deviations::FAULT_ORDER);
            }
        }
        None
    }

    /// Whether the library gives the answer of the real server to a patch without one of its members. If each gives another
    /// one, the patch without its first fault is tried, up to a number of faults.
    fn finds_later(
        &mut self,
        (kind, step): (&Kind, &Step<'_>),
        request: &Request,
        live: &Json,
        real: &Answer,
        (mut patch, fault): (Json, &str),
    ) -> bool {
        let mut fault = fault.to_owned();
        for _ in 0..FAULTS {
            let mut next: Option<(usize, Json, String)> = None;
            for smaller in directives::without_a_member(&patch) {
                let body = smaller.to_string().into_bytes();
                let length = body.len();
                let request = Request { body, ..request.clone() };
                let (ours, written) = self.answer((kind, step), &request, live, real);
                let found = difference(kind, step, live, real, &ours, written);
                if found.is_none_or(|found| deviations::explain(kind, step, real, &ours, &found).is_some()) {
                    return true;
                }
                let message = text(&ours.body, "message");
                let is_longer = next.as_ref().is_none_or(|(longest, ..)| length > *longest);
                if matches!(ours.code, 400 | 500) && message != fault && is_longer {
                    next = Some((length, smaller, message.to_owned()));
                }
            }
            let Some((_, smaller, message)) = next else { return false };
            (patch, fault) = (smaller, message);
        }
        false
    }

    /// Compares the library, or a server, with a server that has these definitions of custom resources. `kind` limits the
    /// kinds of objects.
    pub fn live(definitions: Arc<Vec<Json>>, kind: Option<String>, server: Option<Client>) -> Self {
        Requests { library: Library::new(definitions), recorded: None, kind, server }
    }

    /// The label of a difference of a server, which says whether the library has it too.
    fn labeled(
        &mut self,
        (kind, step): (&Kind, &Step<'_>),
        request: &Request,
        (live, found_by): (&Json, &Json),
        real: &Answer,
        (mut found, is_server): (Difference, bool),
    ) -> Difference {
        if is_server {
            let (ours, written) = self.answer((kind, step), request, found_by, real);
            let same = difference(kind, step, live, real, &ours, written).is_none();
            found.label = format!("{}, {}", if same { "server" } else { "server and library" }, found.label);
        }
        found
    }
}

/// The object that a request finds. A request that creates an object under another name than that of the sequence finds
/// one if an earlier sequence left it; the answer of the real server says whether it does.
fn found_by(step: &Step<'_>, live: &Json, real: &Answer) -> Json {
    if step.verb == "create" && real.code == 201 { Json::Null } else { live.clone() }
}

/// The difference of two stored objects.
fn stored_difference(kind: &Kind, step: &Step<'_>, live: &Json, stored: &Json) -> Option<Difference> {
    let answer = |body: &Json| Answer { code: 200, warnings: Vec::new(), body: body.clone() };
    let found = difference(kind, step, &Json::Null, &answer(live), &answer(stored), None);
    found.map(|found| Difference { label: format!("stored, {}", found.label), ..found })
}

/// The number of faults of a patch that are left out to find that of the real server.
const FAULTS: usize = 3;

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
        let server = self.server.take();
        let mut other = server.as_ref().map(|server| Other::new(server, kind, name)).transpose()?;
        for (number, (json, answer)) in items(case, "steps").iter().zip(items(reply, "answers")).enumerate() {
            if answer.is_null() {
                continue;
            }
            let step = Step::new(json, kind);
            let explained = verdict.deviations.len();
            let mut real = Answer::from_json(answer);
            let stored = answer.get("live").cloned().or_else(|| stored_by(&step, kind, &real));
            let stored = stored.filter(|_| !step.makes_another(&live));
            if step.is_write() || other.is_some() {
                let tally = &mut verdict.tally;
                tally.operations += 1;
                tally.count("kinds", format!("{} {}", kind.api_version(&kind.version), kind.kind));
                tally.count("requests", format!("{} {} {}", step.verb, step.sub, real.code));
                let request = step.request(kind, &live, name);
                let sent = serde_json::from_slice(&request.body).unwrap_or_default();
                self.library.inputs = inputs(&live, &sent, &real);
                let found_by = found_by(&step, &live, &real);
                // The request changes the entry at a place of the list.
                let takes_place = deviations::takes_place(&step)
                    && other.as_ref().is_some_and(|other| other.has_other_order(&live));
                let (ours, written) = match &mut other {
                    Some(other) => {
                        let (theirs, ours, written) = other.answer(&step, &live, &real)?;
                        real = theirs;
                        (ours, written)
                    }
                    None => self.answer((kind, &step), &request, &found_by, &real),
                };
                let mut found = difference(kind, &step, &live, &real, &ours, written);
                if found.is_some() && other.is_none() && real.body == live {
                    // Nothing tells the time of the request: it may be that of the newest entry, too.
                    self.library.inputs.now = newest(&live);
                    let (ours, written) = self.answer((kind, &step), &request, &found_by, &real);
                    found = found.filter(|_| difference(kind, &step, &live, &real, &ours, written).is_some());
                    self.library.inputs = inputs(&live, &sent, &real);
                }
                if let Some(found) = found {
                    let rule =
                        self.explained((kind, &step), (&before, &live), &request, &real, &ours, &found);
                    let reorders = other.is_some()
                        && deviations::reorders_entries(&live, &real.body)
                        && (found.what == "write"
                            || found.what == "managed"
                                && deviations::differ_in_times(&found.reference, &found.candidate));
                    let converts = other.is_none()
                        && kind.kind == "HorizontalPodAutoscaler"
                        && step.sub == "status"
                        && step.verb == "apply"
                        && found.what == "managed"
                        && deviations::differ_in_times(&found.reference, &found.candidate);
                    let rule = rule.or(converts.then_some(deviations::STORED_VERSION));
                    match rule.or((takes_place || reorders).then_some(deviations::ENTRY_ORDER)) {
                        Some(rule) => verdict.deviations.push(rule),
                        None => {
                            let found = (found, other.is_some());
                            let mut found =
                                self.labeled((kind, &step), &request, (&live, &found_by), &real, found);
                            let tally = &mut verdict.tally;
                            tally.count("differences", found.label.as_str());
                            let source =
                                if kind.definition.is_some() { "custom kinds" } else { "built-in kinds" };
                            tally.count("requests with differences", source);
                            if verdict.difference.is_none() {
                                found.step = Some(number);
                                verdict.difference = Some(found);
                            }
                        }
                    }
                }
            }
            let last = live.clone();
            // A request that writes nothing leaves the cache of the server as it is.
            if let Some(stored) = stored.filter(|stored| *stored != live) {
                before = std::mem::replace(&mut live, stored);
            }
            if let Some(other) = &mut other
                && !other.follows(step, &last, &live)?
            {
                let rest = items(case, "steps").len().saturating_sub(number).saturating_sub(1);
                if verdict.deviations.len() == explained
                    && verdict.difference.is_none()
                    && let Some(mut found) = stored_difference(kind, &step, &live, &other.stored(&live))
                {
                    match deviations::explain_stored(kind, &step, &live, &found) {
                        Some(rule) => verdict.deviations.push(rule),
                        None => {
                            verdict.tally.count("differences", found.label.as_str());
                            found.step = Some(number);
                            verdict.difference = Some(found);
                        }
                    }
                }
                let cause = verdict.deviations.get(explained..).and_then(<[_]>::last);
                let cause = cause.copied().unwrap_or("a difference");
                verdict.tally.add("not compared, after", cause, u64::try_from(rest).unwrap_or(0));
                break;
            }
        }
        other.map_or(Ok(()), Other::end)?;
        self.server = server;
        Ok(verdict)
    }

    fn is_sound(&self, case: &Json) -> bool {
        let Some(recorded) = self.recorded.as_ref().filter(|_| self.server.is_some()) else { return true };
        let mut whole = recorded.iter().filter(|known| text(known, "name") == text(case, "name"));
        let whole = whole.next().map(|whole| items(whole, "steps")).unwrap_or_default();
        let mut left = whole.iter();
        // Only what was refused has no effect on the answers that follow.
        items(case, "steps").iter().all(|step| {
            left.by_ref()
                .take_while(|known| *known != step)
                .all(|known| member(member(known, "answer"), "code").as_u64().is_some_and(|code| code >= 400))
        })
    }

    fn cuts(&self, case: &Json) -> Vec<Cut> {
        if self.recorded.is_some() {
            return self.server.iter().map(|_| Cut::children("/steps")).collect();
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
