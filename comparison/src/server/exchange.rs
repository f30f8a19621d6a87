//! A request to the real server, with its answer and the object that it was about.

use fieldmanager_managedfields::Time;
use serde_json::Value as Json;

use super::compare::difference;
use super::kinds::Kind;
use super::request::{Answer, Request, Step};
use crate::Error;
use crate::json::{entries, member, text};
use crate::suite::{Difference, Verdict};

/// A request to the real server, and its answer.
#[derive(Clone)]
pub(super) struct Exchange<'e> {
    pub(super) kind: &'e Kind,
    pub(super) step: Step<'e>,
    /// The object before the last change of the live one.
    pub(super) before: &'e Json,
    /// The object that the request found; null if there was none.
    pub(super) live: &'e Json,
    pub(super) request: Request,
    /// The body of the request; null if it is not JSON.
    pub(super) sent: Json,
    pub(super) real: &'e Answer,
    /// What the server chose.
    pub(super) choices: Choices,
    /// Over HTTP, whether the other server has the entries of managed fields in another order.
    pub(super) has_other_order: Option<bool>,
}

/// The answer of this project's server.
pub(super) struct Candidate {
    pub(super) answer: Answer,
    /// Whether the request changed the stored object; `None` if it removed it.
    pub(super) written: Option<bool>,
}

/// The choices of a server: those of the real one, taken over from its answer.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    pub(super) now: Time,
    pub(super) uid: String,
    pub(super) suffix: String,
}

impl<'e> Exchange<'e> {
    pub(super) fn new(
        kind: &'e Kind,
        step: Step<'e>,
        name: &str,
        (before, live): (&'e Json, &'e Json),
        real: &'e Answer,
    ) -> Result<Self, Error> {
        let request = step.request(kind, live, name);
        // Faults of requests include bodies that are not JSON.
        let sent = serde_json::from_slice(&request.body).unwrap_or_default();
        let choices = Choices::of(live, &sent, real)?;
        Ok(Exchange {
            kind,
            step,
            before,
            live,
            request,
            sent,
            real,
            choices,
            has_other_order: None,
        })
    }

    /// The exchange with another object or another body, which the real server would have answered in the same way.
    pub(super) fn with<'a>(&'a self, live: &'a Json, sent: Option<&Json>) -> Exchange<'a> {
        let mut out = Exchange {
            live,
            ..self.clone()
        };
        if let Some(sent) = sent {
            out.request.body = sent.to_string().into_bytes();
            out.sent = sent.clone();
        }
        out
    }

    /// The exchange at the time of the newest entry of the object, or that of the object.
    pub(super) fn at_last_write(&self) -> Result<Self, Error> {
        let created = text(member(self.live, "metadata"), "creationTimestamp");
        let now = time(newest(self.live).unwrap_or(created))?;
        Ok(Exchange {
            choices: Choices {
                now,
                ..self.choices.clone()
            },
            ..self.clone()
        })
    }

    /// The object that the request finds. A request that creates an object under another name than that of the sequence
    /// finds one if an earlier sequence left it; the answer of the real server says whether it does.
    pub(super) fn found(&self) -> &'e Json {
        if self.step.verb == "create" && self.real.code == 201 {
            &Json::Null
        } else {
            self.live
        }
    }

    /// The first difference of an answer from that of the real server.
    pub(super) fn difference(&self, ours: &Candidate) -> Option<Difference> {
        difference(
            self.kind,
            &self.step,
            self.live,
            self.real,
            &ours.answer,
            ours.written,
        )
    }

    /// Counts the request.
    pub(super) fn count(&self, verdict: &mut Verdict) {
        let (kind, step, tally) = (self.kind, self.step, &mut verdict.tally);
        tally.operations += 1;
        tally.count(
            "kinds",
            format!("{} {}", kind.api_version(&kind.version), kind.kind),
        );
        tally.count(
            "requests",
            format!("{} {} {}", step.verb, step.sub, self.real.code),
        );
    }

    /// Adds a difference that no deviation explains.
    pub(super) fn differs(&self, verdict: &mut Verdict, number: usize, found: Difference) {
        verdict.tally.count("differences", found.label.as_str());
        let source = if self.kind.definition.is_some() {
            "custom kinds"
        } else {
            "built-in kinds"
        };
        verdict.tally.count("requests with differences", source);
        // The first difference of a sequence is reported: later ones may follow from it.
        verdict.difference.get_or_insert(Difference {
            step: Some(number),
            ..found
        });
    }
}

impl Choices {
    /// Those before the first request.
    pub(super) fn first() -> Result<Self, Error> {
        Choices::of(&Json::Null, &Json::Null, &Answer::default())
    }

    /// Those in the answer of the real server; `live` is the object before the request, and `sent` its body.
    fn of(live: &Json, sent: &Json, real: &Answer) -> Result<Self, Error> {
        let metadata = member(&real.body, "metadata");
        // The time of the request is that of the newest entry, if it wrote one. If it changed nothing, any later time shows
        // whether the library would have changed something. A volume has the time of a change of its phase.
        let newest = newest(&real.body);
        let newest = newest.or_else(|| {
            real.body
                .pointer("/status/lastPhaseTransitionTime")?
                .as_str()
        });
        let created = text(metadata, "creationTimestamp");
        let now = match newest {
            Some(time) if real.body != *live => time,
            _ if real.code == 201 && !created.is_empty() => created,
            _ => "2030-01-01T00:00:00Z",
        };

        // A refused object has its generated name in the details of the answer.
        let (base, name) = match text(metadata, "generateName") {
            "" => {
                let details = member(&real.body, "details");
                (
                    text(member(sent, "metadata"), "generateName"),
                    text(details, "name"),
                )
            }
            base => (base, text(metadata, "name")),
        };
        let suffix = name.strip_prefix(base).filter(|_| !base.is_empty());

        // Of an object that was refused, the messages show the uid at most in a label.
        let label = "batch.kubernetes.io/controller-uid\":\"";
        let shown = text(&real.body, "message")
            .split_once(label)
            .and_then(|(_, rest)| rest.split('"').next());
        let uid = Some(text(metadata, "uid"))
            .filter(|uid| !uid.is_empty())
            .or(shown);

        Ok(Choices {
            now: time(now)?,
            uid: uid
                .unwrap_or("00000000-0000-0000-0000-00000000000a")
                .to_owned(),
            // Some refusals name no object.
            suffix: suffix.unwrap_or("00000").to_owned(),
        })
    }
}

/// The time of the newest entry of an object.
fn newest(object: &Json) -> Option<&str> {
    entries(object)
        .iter()
        .map(|entry| text(entry, "time"))
        .max()
        .filter(|time| !time.is_empty())
}

fn time(text: &str) -> Result<Time, Error> {
    text.parse()
        .map_err(|error| Error::Request(format!("the time {text:?}: {error}")))
}
