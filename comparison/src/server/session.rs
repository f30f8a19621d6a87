//! A sequence of requests to one object of a server.

use std::thread;
use std::time::Duration;

use serde_json::Value as Json;

use super::client::Client;
use super::kinds::Kind;
use super::request::{Answer, DEFINITIONS, Request, Step};
use super::template::NAME;
use crate::Error;
use crate::json::{items, member, text};

/// The number of attempts to see a definition of custom resources in a state in which the server leaves it.
const SETTLE: usize = 400;

/// The finalizer of definitions, which the server removes itself.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// A sequence that a server answers, with the object that it stores.
pub(super) struct Session<'a> {
    client: &'a Client,
    kind: &'a Kind,
    name: String,
    collection: String,
    path: String,
    /// The stored object; null if there is none.
    pub(super) live: Json,
}

impl<'a> Session<'a> {
    /// A sequence about an object that does not exist. `name` replaces the placeholder of its name.
    pub(super) fn new(client: &'a Client, kind: &'a Kind, name: &str) -> Self {
        let collection = kind.path_at(kind.read_version());
        let path = format!("{collection}/{}", kind.object_name().replace(NAME, name));
        Session {
            client,
            kind,
            name: name.to_owned(),
            collection,
            path,
            live: Json::Null,
        }
    }

    /// The path of the object.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The path of another object of the collection.
    pub(super) fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.collection)
    }

    /// The answer to a step.
    pub(super) fn send(&self, step: &Step<'_>) -> Result<Answer, Error> {
        self.ask(&step.request(self.kind, &self.live, &self.name))
    }

    /// Takes over the effect of a step on the stored object. Returns whether the object had to be read.
    pub(super) fn update(&mut self, step: &Step<'_>, answer: &Answer) -> Result<bool, Error> {
        if step.makes_another(&self.live) {
            return Ok(false);
        }
        // The answer to a request that removes the last finalizer shows an object that is no longer stored.
        let terminating = self.live.pointer("/metadata/deletionTimestamp").is_some();
        if let Some(stored) = stored_by(step, self.kind, answer).filter(|_| !terminating) {
            self.live = stored;
            if let Some(found) = self.live.pointer("/metadata/name").and_then(Json::as_str) {
                self.path = self.path_of(found);
            }
            return Ok(false);
        }

        // Here the answer is not the stored object: it is a `Status`, a `Scale`, or the object at another version.
        let has_effect = answer.is_success() && !step.is_dry_run();
        if has_effect {
            self.live = self.stored()?;
        }
        Ok(has_effect)
    }

    fn stored(&self) -> Result<Json, Error> {
        if self.kind.group == DEFINITIONS {
            return settled(self.client, &self.path);
        }
        let answer = self.client.get(&self.path)?;
        Ok(if answer.is_success() {
            answer.body
        } else {
            Json::Null
        })
    }

    /// The answer to a request. A server that panics closes the connection; its answer has code 0.
    fn ask(&self, request: &Request) -> Result<Answer, Error> {
        match self.client.send(request) {
            Err(Error::Http { message, .. }) => {
                // The server must still be there.
                self.client.get("readyz")?;
                Ok(Answer {
                    code: 0,
                    warnings: Vec::new(),
                    body: Json::String(message),
                })
            }
            answer => answer,
        }
    }

    /// Removes the object.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.live).is_null() {
            Ok(())
        } else {
            delete(self.client, &self.path)
        }
    }
}

/// Deletes an object and its finalizers.
pub(super) fn delete(client: &Client, path: &str) -> Result<(), Error> {
    let query = "gracePeriodSeconds=0".to_owned();
    client.send(&Request {
        method: "DELETE",
        path: path.to_owned(),
        query,
        ..Request::default()
    })?;

    // A finalizer keeps the object, and no controller removes those that the generator makes up.
    if client.get(path)?.is_success() {
        client.send(&Request {
            method: "PATCH",
            path: path.to_owned(),
            content_type: "application/merge-patch+json".to_owned(),
            body: br#"{"metadata":{"finalizers":null}}"#.to_vec(),
            ..Request::default()
        })?;
    }

    Ok(())
}

/// A definition after the server's own writes to it; null if there is none.
pub(super) fn settled(client: &Client, path: &str) -> Result<Json, Error> {
    // Controllers of the server write names, conditions and the finalizer after the request is answered.
    let mut last = Json::Null;
    let mut same = 0;
    for _ in 0..SETTLE {
        let answer = client.get(path)?;
        if !answer.is_success() {
            return Ok(Json::Null);
        }
        same = if answer.body == last { same + 1 } else { 0 };
        last = answer.body;
        let settled = items(member(&last, "status"), "conditions")
            .iter()
            .any(|condition| {
                matches!(
                    (text(condition, "type"), text(condition, "status")),
                    ("Established", "True") | ("NamesAccepted", "False")
                )
            });

        // The server deletes a definition after its objects.
        let ends = last.pointer("/metadata/deletionTimestamp").is_some()
            && items(member(&last, "metadata"), "finalizers").contains(&CLEANUP.into());
        // Several equal reads in a row mean rest. A definition without a final condition is awaited longer.
        if same > 3 && !ends && (settled || same > 20) {
            break;
        }
        thread::sleep(Duration::from_millis(15));
    }

    Ok(last)
}

/// The stored object after a recorded step, if it is known, and is that of the sequence.
pub(super) fn stored_after(
    step: &Step<'_>,
    kind: &Kind,
    answer: &Json,
    live: &Json,
) -> Option<Json> {
    let stored = answer.get("live").cloned();
    let stored = stored.or_else(|| stored_by(step, kind, &Answer::from_json(answer)));
    stored.filter(|_| !step.makes_another(live))
}

/// The stored object, if the answer is that object.
fn stored_by(step: &Step<'_>, kind: &Kind, answer: &Answer) -> Option<Json> {
    let stored = answer.is_success() && step.answers_object(kind) && !step.is_dry_run();
    stored.then(|| answer.body.clone())
}
