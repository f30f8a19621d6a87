//! A server that is compared with the real one: it gets the same steps, in terms of its own objects, and its answers are
//! given in terms of those of the real server.

use serde_json::{Value as Json, json};

use super::client::Client;
use super::compare::{allocations, normalized, take_allocations, version_of};
use super::exchange::{Candidate, Exchange};
use super::kinds::Kind;
use super::pointer::set_pointer;
use super::request::{Answer, Step};
use super::session::{Session, delete};
use crate::Error;
use crate::json::{entries, entries_mut, items, member, same_value, set, text, with_strings};

/// Times of requests are not later than this, times of servers are.
const LAST_SENT: &str = "2026-01-01T00:00:00Z";

/// The length of the end of a generated name.
const SUFFIX: usize = 5;

/// The fields of the condition of a definition that is deleted, in an entry of managed fields.
const TERMINATING: &str = "/fieldsV1/f:status/f:conditions/k:{\"type\":\"Terminating\"}";

/// What takes the place of times in messages.
const TIME: &str = "TIME";

/// A sequence of requests to a server, beside that of the real one.
pub(super) struct Other<'a> {
    client: &'a Client,
    kind: &'a Kind,
    name: String,
    session: Session<'a>,
    /// The steps that led to the stored object.
    done: Vec<Step<'a>>,
}

impl<'a> Other<'a> {
    /// Starts the sequence; an object that an earlier run left is removed.
    pub(super) fn new(client: &'a Client, kind: &'a Kind, name: &str) -> Result<Self, Error> {
        let session = Session::new(client, kind, name);
        if client.get(session.path())?.is_success() {
            delete(client, session.path())?;
        }
        Ok(Other {
            client,
            kind,
            name: name.to_owned(),
            session,
            done: Vec::new(),
        })
    }

    /// Whether the entries of managed fields of both objects are in different orders, which depend on their times.
    pub(super) fn has_other_order(&self, live: &Json) -> bool {
        let keys =
            |object: &Json| -> Vec<[String; 4]> { entries(object).iter().map(identity).collect() };
        keys(&self.session.live) != keys(live)
    }

    /// The answer of the real server without what differs by chance, and that of this server in the same terms.
    pub(super) fn answer(&mut self, exchange: &Exchange<'_>) -> Result<(Answer, Candidate), Error> {
        let Exchange {
            step, live, real, ..
        } = exchange;
        let request = step.request(self.kind, &self.session.live, &self.name);
        let sent: Json = serde_json::from_slice(&request.body).unwrap_or_default();

        // Objects of other names than that of the sequence remain from other sequences, in their order.
        let named = text(member(&sent, "metadata"), "name");
        let is_foreign =
            step.verb == "create" && !named.is_empty() && !request_names(&self.session, named);
        if is_foreign && real.code == 201 {
            delete(self.client, &self.session.path_of(named))?;
        }

        let mut answer = self.session.send(step)?;
        // The real server found such an object of an earlier sequence. Here the first request makes it, and the second
        // finds it.
        if is_foreign && real.code == 409 && answer.code == 201 {
            answer = self.session.send(step)?;
        }
        let before = self.session.live.clone();
        self.session.update(step, &answer)?;
        let written =
            (step.verb != "delete").then(|| version_of(&before) != version_of(&answer.body));
        let terms = Terms::of(self.kind, (&before, live), (&answer, real), &sent);

        Ok((
            terms.real(real),
            Candidate {
                answer: terms.answer(&answer),
                written,
            },
        ))
    }

    /// Whether both servers store the same object after a step. If the step changed that of this server alone, the steps
    /// before it are made again without it.
    pub(super) fn follows(
        &mut self,
        step: Step<'a>,
        before: &Json,
        live: &Json,
    ) -> Result<bool, Error> {
        if self.agrees(live) {
            if before != live {
                self.done.push(step);
            }
            return Ok(true);
        }

        // A step that changed the object of the real server too cannot be left out.
        if before != live {
            return Ok(false);
        }
        // Without the step, the object must be made again from nothing.
        self.session.end()?;
        self.session = Session::new(self.client, self.kind, &self.name);
        for step in &self.done {
            let answer = self.session.send(step)?;
            self.session.update(step, &answer)?;
        }

        Ok(self.agrees(live))
    }

    /// Whether the stored object is that of the real server.
    fn agrees(&self, live: &Json) -> bool {
        same_value(&normalized(live), &self.stored(live))
    }

    /// The stored object in terms of that of the real server.
    pub(super) fn stored(&self, live: &Json) -> Json {
        let stored = &self.session.live;
        if stored.is_null() || live.is_null() {
            return stored.clone();
        }
        let answer = |body: &Json| Answer {
            code: 200,
            warnings: Vec::new(),
            body: body.clone(),
        };
        let (ours, real) = (answer(stored), answer(live));
        let terms = Terms::of(self.kind, (stored, live), (&ours, &real), &Json::Null);

        normalized(&terms.answer(&ours).body)
    }

    /// Removes the object.
    pub(super) fn end(mut self) -> Result<(), Error> {
        self.session.end()
    }
}

/// Whether a name is that of the object of a sequence.
fn request_names(session: &Session<'_>, name: &str) -> bool {
    session.path().rsplit('/').next() == Some(name)
}

/// The names that two servers have for the same.
struct Terms<'a> {
    kind: &'a Kind,
    sent: &'a Json,
    real: &'a Answer,
    /// The objects before the request: that of this server, and that of the real one.
    before: (&'a Json, &'a Json),
    /// Strings of this server, and those of the real one.
    strings: Vec<(String, String)>,
    /// Parts of messages of this server, and those of the real one.
    parts: Vec<(String, String)>,
    times: Vec<String>,
}

impl<'a> Terms<'a> {
    fn of(
        kind: &'a Kind,
        (before, live): (&'a Json, &'a Json),
        (ours, real): (&Answer, &'a Answer),
        sent: &'a Json,
    ) -> Self {
        let mut out = Terms {
            kind,
            sent,
            real,
            before: (before, live),
            strings: Vec::new(),
            parts: Vec::new(),
            times: Vec::new(),
        };
        // The name of a refused object is generated too, and only the details of the answer show it.
        let generated = text(member(sent, "metadata"), "generateName");

        for (our, their) in [(before, live), (&ours.body, &real.body)] {
            let (our_data, their_data) = (member(our, "metadata"), member(their, "metadata"));
            let (our_details, their_details) = (member(our, "details"), member(their, "details"));
            out.string(text(our_data, "uid"), text(their_data, "uid"));
            out.string(text(our_details, "uid"), text(their_details, "uid"));
            let names = (text(our_data, "name"), text(their_data, "name"));
            if is_generated(names.0, names.1) {
                out.string(names.0, names.1);
            }
            if !generated.is_empty() {
                out.string(text(our_details, "name"), text(their_details, "name"));
            }

            // Versions are small numbers that occur anywhere, so they are replaced only behind their name. Messages
            // show objects as JSON, or as JSON inside of a string.
            out.part("resourceVersion\":\"", version_of(our), version_of(their));
            out.part(
                "resourceVersion\\\":\\\"",
                version_of(our),
                version_of(their),
            );

            // Addresses and ports are in messages about their fields.
            if kind.kind == "Service" {
                for place in allocations(our) {
                    let place = place.as_str();
                    if let (Some(our), Some(their)) = (our.pointer(place), their.pointer(place)) {
                        out.part("", &plain(our), &plain(their));
                    }
                }
            }
            times(our, &mut out.times);
            times(their, &mut out.times);
        }

        // A refused object has a uid in messages alone.
        let messages = (text(&ours.body, "message"), text(&real.body, "message"));
        let (our, their) = (uuids(messages.0), uuids(messages.1));
        if our.len() == their.len() {
            let sent = sent.to_string();
            for (our, their) in our.into_iter().zip(their) {
                if !sent.contains(our) && !sent.contains(their) {
                    out.string(our, their);
                }
            }
        }

        out
    }

    fn string(&mut self, our: &str, their: &str) {
        let pair = (our.to_owned(), their.to_owned());
        if our != their && !our.is_empty() && !their.is_empty() && !self.strings.contains(&pair) {
            self.strings.push(pair);
        }
    }

    fn part(&mut self, prefix: &str, our: &str, their: &str) {
        if our != their && !our.is_empty() && !their.is_empty() {
            self.parts
                .push((format!("{prefix}{our}"), format!("{prefix}{their}")));
        }
    }

    /// An answer of this server in terms of the real one.
    fn answer(&self, ours: &Answer) -> Answer {
        let mut out = ours.clone();
        out.body = with_strings(&ours.body, &|text| self.words(text));
        for warning in &mut out.warnings {
            *warning = self.words(warning);
        }
        if !ours.is_success() {
            self.message(&mut out.body);
            return out;
        }

        // Values of the client are left as they are, so that their differences show, see `take`.
        for place in [
            "/metadata/creationTimestamp",
            "/metadata/deletionTimestamp",
            "/metadata/resourceVersion",
            // A LimitRange without a name.
            "/metadata/name",
            "/status/lastPhaseTransitionTime",
        ] {
            self.take(&mut out.body, place);
        }

        if self.kind.group == super::request::DEFINITIONS {
            for at in 0..items(member(&out.body, "status"), "conditions").len() {
                self.take(
                    &mut out.body,
                    &format!("/status/conditions/{at}/lastTransitionTime"),
                );
            }
        }

        if self.kind.kind == "Service" {
            let (before, live) = self.before;
            take_allocations(&mut out.body, &self.real.body, |place, ours, theirs| {
                let sent = self.sent.pointer(place);
                let is_kept =
                    before.pointer(place) == Some(ours) && live.pointer(place) == Some(theirs);
                is_kept || sent != Some(ours) && sent != Some(theirs)
            });
        }
        self.entries(&mut out.body);

        out
    }

    /// An answer of the real server without what differs by chance in messages.
    fn real(&self, real: &Answer) -> Answer {
        let mut out = real.clone();
        if !real.is_success() {
            self.without_times(&mut out.body);
        }
        out
    }

    fn words(&self, text: &str) -> String {
        let text = text.to_owned();
        self.strings
            .iter()
            .fold(text, |text, (our, their)| text.replace(our, their))
    }

    /// The messages of a status.
    fn message(&self, status: &mut Json) {
        each_message(status, &|text| {
            let text = text.to_owned();
            self.parts
                .iter()
                .fold(text, |text, (our, their)| replace_whole(&text, our, their))
        });
        self.without_times(status);
    }

    fn without_times(&self, status: &mut Json) {
        each_message(status, &|text| {
            let text = text.to_owned();
            let text = self
                .times
                .iter()
                .fold(text, |text, time| text.replace(time.as_str(), TIME));

            // Entries of `Scale` have none in the real server.
            [
                format!(",\"time\":\"{TIME}\""),
                format!(",\\\"time\\\":\\\"{TIME}\\\""),
            ]
            .iter()
            .fold(text, |text, member| text.replace(member.as_str(), ""))
        });
    }

    /// Takes over a value that each server makes itself.
    fn take(&self, body: &mut Json, place: &str) {
        // A time that is not later than `LAST_SENT` was sent by a client, and is compared.
        let made = |value: &Json| match value.as_str() {
            Some(text) if place.ends_with("name") => uuids(text) == [text],
            Some(text) => place.ends_with("resourceVersion") || text > LAST_SENT,
            None => false,
        };

        if let (Some(our), Some(their)) = (body.pointer(place), self.real.body.pointer(place))
            && made(our)
            && made(their)
        {
            set_pointer(body, place, their);
        }
    }

    /// Takes over the times of the entries that both servers have. The condition `Terminating` of a definition changes twice,
    /// so its time changes only if the second does.
    fn entries(&self, body: &mut Json) {
        let Some(ours) = entries_mut(body) else {
            return;
        };
        let mut theirs = entries(&self.real.body).to_vec();
        for entry in ours {
            let Some(at) = theirs
                .iter()
                .position(|other| identity(other) == identity(entry))
            else {
                continue;
            };

            let other = theirs.remove(at);
            if self.kind.group == super::request::DEFINITIONS
                && let Some(condition) =
                    entry.pointer_mut(TERMINATING).and_then(Json::as_object_mut)
                && let Some(other) = other.pointer(TERMINATING)
            {
                match other.get("f:lastTransitionTime") {
                    Some(time) => condition.insert("f:lastTransitionTime".to_owned(), time.clone()),
                    None => condition.remove("f:lastTransitionTime"),
                };
            }

            let their = text(&other, "time");
            if text(entry, "time") > LAST_SENT && their > LAST_SENT {
                set(entry, "time", their.to_owned());
            }
        }
    }
}

/// What distinguishes an entry of managed fields from others of its object.
fn identity(entry: &Json) -> [String; 4] {
    ["manager", "operation", "apiVersion", "subresource"].map(|name| text(entry, name).to_owned())
}

/// Whether two names differ in their generated ends alone.
fn is_generated(our: &str, their: &str) -> bool {
    let base = |name: &str| {
        name.len()
            .checked_sub(SUFFIX)
            .and_then(|end| name.get(..end).map(str::to_owned))
    };
    // A generated name is its base, which ends with a dash in all sequences, and a suffix of fixed length.
    our != their && base(our).is_some_and(|base| base.ends_with('-')) && base(our) == base(their)
}

/// A value as messages show it.
fn plain(value: &Json) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Replaces a part of a message where it is not a part of a longer word, such as a port in a name.
fn replace_whole(message: &str, our: &str, their: &str) -> String {
    let is_word = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let mut out = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(our) {
        let previous = before
            .chars()
            .next_back()
            .or_else(|| out.chars().next_back());
        let is_whole = !is_word(previous) && !is_word(after.chars().next());
        out.push_str(before);
        out.push_str(if is_whole { their } else { our });
        rest = after;
    }
    out.push_str(rest);

    out
}

/// Changes the message of a status, and those of its causes.
fn each_message(status: &mut Json, change: &dyn Fn(&str) -> String) {
    if status.get("message").is_some() {
        set(status, "message", json!(change(text(status, "message"))));
    }
    let causes = status
        .pointer_mut("/details/causes")
        .and_then(Json::as_array_mut);
    for cause in causes.into_iter().flatten() {
        set(cause, "message", json!(change(text(cause, "message"))));
    }
}

/// The times in an object that the server makes.
fn times(object: &Json, out: &mut Vec<String>) {
    let metadata = member(object, "metadata");
    let times = entries(object).iter().map(|entry| text(entry, "time"));
    let own = [
        text(metadata, "creationTimestamp"),
        text(metadata, "deletionTimestamp"),
    ];

    // The times that clients send are the same for both servers, so only later ones are of a server.
    for time in own.into_iter().chain(times) {
        if time > LAST_SENT && !out.iter().any(|known| known == time) {
            out.push(time.to_owned());
        }
    }
}

/// The parts of a message that have the form of a uid.
fn uuids(message: &str) -> Vec<&str> {
    let is_uuid = |text: &str| {
        text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
    };
    // A uid may begin at any place of a message, also inside of a word.
    let mut out = Vec::new();
    let mut at = 0;

    while at < message.len() {
        match message
            .get(at..at.saturating_add(36))
            .filter(|text| is_uuid(text))
        {
            Some(found) => {
                out.push(found);
                at += 36;
            }
            None => at += 1,
        }
    }

    out
}
