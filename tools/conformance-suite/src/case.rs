//! Runs one case: its steps as requests, in order.

use std::collections::BTreeMap;
use std::time::Duration;

use fieldmanager_harness::Failure;
use fieldmanager_harness::internal::{
    Action, Branch, Expect, ExpectedEvent, Request, SchemaSource, Step, Watch, WriteVerb, find,
    judge, judge_events, with_metadata,
};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Str, Value};
use futures::future::{BoxFuture, join_all};
use futures::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep, timeout_at};

use crate::cleanup::Created;
use crate::connection::{Connection, Message};
use crate::definitions::labelled;
use crate::fault::shortened;
use crate::names::{Names, Variables};
use crate::reply::{Reply, entries, exchange};
use crate::resources::Resources;
use crate::stop::Stop;
use crate::wire::{ObjectName, Wire, encoded, request_of};

/// How long a step that is repeated waits before the next attempt.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a watch waits for all its events, and then for an event too many.
const EVENTS: Duration = Duration::from_secs(10);
const SURPLUS: Duration = Duration::from_millis(300);

/// The largest line of a watch.
const LINE: usize = 8 << 20;

/// What the steps of a case share.
pub(crate) struct Case<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) names: Names,
    pub(crate) resources: Resources,
    /// The name of the run.
    pub(crate) run: &'c str,
    /// The objects that steps have created.
    pub(crate) created: &'c Created,
    /// Set when no further step begins.
    pub(crate) stop: &'c Stop,
}

/// What a step leaves for the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    variables: Variables,
    /// The object of the last step.
    last: ObjectName,
    /// The last answer for each object.
    seen: BTreeMap<String, Value>,
}

/// A request of a step and its object.
struct Sent {
    message: Message,
    object: Option<ObjectName>,
}

impl Case<'_> {
    /// Runs steps in order. Steps after a failed one are run too.
    pub(crate) async fn steps(&self, steps: &[Step], state: &mut State) -> Vec<Failure> {
        let mut failures = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            if self.stop.is_set() {
                break;
            }
            let mut found = self.step(step, state).await;
            found
                .iter_mut()
                .for_each(|failure| failure.step = Some(number + 1));
            failures.append(&mut found);
        }

        failures
    }

    fn wire<'w>(&'w self, state: &'w State) -> Wire<'w> {
        Wire {
            names: &self.names,
            variables: &state.variables,
            resources: &self.resources,
        }
    }

    /// Runs one step, again and again if it may take some time.
    async fn step(&self, step: &Step, state: &mut State) -> Vec<Failure> {
        let end = Instant::now() + step.within.unwrap_or_default();
        loop {
            // Each attempt begins with the state before the step, so that one that failed saves nothing.
            let mut attempt = state.clone();
            let mut failures = match self.attempt(step, &mut attempt).await {
                Ok(failures) => failures,
                Err(message) => vec![Failure::new("step", message)],
            };

            if failures.is_empty() || Instant::now() >= end || self.stop.is_set() {
                *state = attempt;
                for failure in &mut failures {
                    failure.action.get_or_insert(step.action.name());
                }
                return failures;
            }
            sleep(PAUSE).await;
        }
    }

    async fn attempt(&self, step: &Step, state: &mut State) -> Result<Vec<Failure>, String> {
        let sent = match &step.action {
            Action::Wait(time) => {
                // A stop ends the wait, so that the removal of objects can begin.
                let end = Instant::now() + *time;
                while Instant::now() < end && !self.stop.is_set() {
                    sleep(PAUSE.min(end - Instant::now())).await;
                }
                return Ok(Vec::new());
            }
            Action::Parallel(branches) => return Ok(self.parallel(branches, state).await),
            Action::Watch(watch) => return self.watch(watch, &step.expect, state).await,
            Action::ChangeSchema { schema } => return self.change_schema(schema).await,
            Action::Write(write) if write.verb == WriteVerb::Update => {
                self.update(&write.manager, &write.given, state).await?
            }
            Action::Write(write) if write.verb != WriteVerb::ExtractApply => {
                self.request(&request_of(write, &state.last), state)?
            }
            Action::Request(request) => self.request(request, state)?,
            other => return Err(format!("`{}` is not a request", other.name())),
        };
        let reply = self.exchange(&sent.message).await?;

        self.judge(step, sent, reply, state).await
    }

    fn request(&self, request: &Request, state: &State) -> Result<Sent, String> {
        let (message, object) = self.wire(state).request(request, &state.last)?;
        Ok(Sent { message, object })
    }

    fn object_name(&self, object: &Value, state: &State) -> Result<ObjectName, String> {
        Ok(ObjectName::of(
            &state.variables.resolve(object)?,
            &ObjectName::default(),
        ))
    }

    async fn exchange(&self, message: &Message) -> Result<Reply, String> {
        let answer = self.connection.send(message).await;
        self.created.note(message, &answer).await;
        let answer =
            answer.map_err(|error| format!("{}: {error}", self.connection.curl(message)))?;
        Ok(Reply::new(self.connection, &self.names, message, answer))
    }

    /// Compares an answer with the expectations, and keeps what later steps need of it.
    async fn judge(
        &self,
        step: &Step,
        sent: Sent,
        mut reply: Reply,
        state: &mut State,
    ) -> Result<Vec<Failure>, String> {
        let expect = &step.expect;
        // A refused request is answered with a `Status`. Expectations of the object are then about the stored one,
        // which the request must not have changed.
        if let Some(object) = sent
            .object
            .as_ref()
            .filter(|_| reply.is_refused() && is_about_object(expect))
        {
            let path = self.wire(state).path(object, false)?;
            let live = self
                .exchange(&Message::new("GET", path, String::new()))
                .await?;
            reply.live = Some(live.body);
        }

        // `changed` and `unchanged` compare with the last answer that had this object.
        let key = sent.object.as_ref().map(ObjectName::key);
        let before = key.as_ref().and_then(|key| state.seen.get(key));
        let mut failures = match self.judged(expect, &reply, before, state) {
            Ok(failures) => failures,
            Err(message) => vec![Failure::new("step", message)],
        };
        for failure in &mut failures {
            failure.exchange = Some(reply.exchange.clone());
        }

        // Steps after a failed one are run too, so values are saved in any case.
        for (name, path) in &step.save {
            match find(&reply.body, path)? {
                Some(value) => {
                    state.variables.0.insert(name.clone(), value.clone());
                }
                None => {
                    let mut failure =
                        Failure::new("save", format!("expected a value at {path}, got nothing"));
                    failure.exchange = Some(reply.exchange.clone());
                    failures.push(failure);
                }
            }
        }

        // The answer of a subresource may be of another kind, and a dry run stores nothing: neither is the object that
        // later steps compare with.
        let kind = reply
            .body
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_stored = !reply.is_refused() && !sent.message.path.contains("dryRun=");

        if let (Some(key), Some(object)) = (key, sent.object) {
            if is_stored && kind == object.kind {
                state.seen.insert(key, reply.body);
            }
            state.last = object;
        }
        Ok(failures)
    }

    fn judged(
        &self,
        expect: &Expect,
        reply: &Reply,
        before: Option<&Value>,
        state: &State,
    ) -> Result<Vec<Failure>, String> {
        let expect = state.variables.expect(expect)?;
        let mut observed = reply.observed(&self.names, before);
        if expect.entries.is_some() {
            observed.entries = Some(entries(reply.object())?);
        }
        Ok(judge(&expect, &observed))
    }

    /// An update as a step of the library: it creates a missing object, and replaces another one at any version.
    async fn update(&self, manager: &str, object: &Value, state: &State) -> Result<Sent, String> {
        let name = self.object_name(object, state)?;
        let wire = self.wire(state);
        let path = wire.path(&name, false)?;
        // The file says neither whether the object exists nor at which version, so both are read from the server.
        let live = self
            .exchange(&Message::new("GET", path.clone(), String::new()))
            .await?;
        let query = format!("?fieldManager={}", encoded(&state.variables.text(manager)?));
        let version = live.body.metadata_field("resourceVersion");
        let message = match version.filter(|_| live.code == 200) {
            None => Message::new("POST", wire.path(&name, true)? + &query, wire.body(object)?),
            Some(version) => Message::new(
                "PUT",
                path + &query,
                wire.body(&at_version(object, version))?,
            ),
        };

        Ok(Sent {
            message,
            object: Some(name),
        })
    }

    /// Replaces the definitions by those of another schema.
    async fn change_schema(&self, schema: &SchemaSource) -> Result<Vec<Failure>, String> {
        for definition in schema.definitions()? {
            let definition = labelled(&self.names.value_to_server(definition), self.run);
            let name = definition.name();
            let name = name.ok_or("the definition has no name: expected `metadata.name`")?;
            let path = format!("{}/{}", crate::definitions::PATH, encoded(name));

            // The server writes to the definition too, so its version may be old.
            for _ in 0..20 {
                let live = self
                    .exchange(&Message::new("GET", path.clone(), String::new()))
                    .await?;
                let version = live.body.metadata_field("resourceVersion");
                let version = version
                    .ok_or_else(|| format!("{path}: got {} {}", live.code, live.message()))?;
                let body = at_version(&definition, version).to_json();
                let reply = self
                    .exchange(&Message::new("PUT", path.clone(), body))
                    .await?;

                match reply.code {
                    409 => sleep(PAUSE).await,
                    code if code < 300 => break,
                    code => {
                        return Err(format!(
                            "the schema cannot be changed: got {code} {}",
                            reply.message()
                        ));
                    }
                }
            }
        }

        Ok(Vec::new())
    }

    /// Runs branches at once, each with its own variables.
    fn parallel<'s>(
        &'s self,
        branches: &'s [Branch],
        state: &'s State,
    ) -> BoxFuture<'s, Vec<Failure>> {
        let mut running = Vec::new();
        for branch in branches {
            for number in 1..=branch.times {
                // The number of the copy lets each one use names of its own.
                let mut state = state.clone();
                state.variables.0.insert(
                    Str::from("i"),
                    Value::from(i64::try_from(number).unwrap_or(i64::MAX)),
                );
                running.push(async move { self.steps(&branch.steps, &mut state).await });
            }
        }

        join_all(running)
            .map(|failures| failures.into_iter().flatten().collect())
            .boxed()
    }

    /// Opens a watch, runs its steps, and compares its events.
    fn watch<'s>(
        &'s self,
        watch: &'s Watch,
        expect: &'s Expect,
        state: &'s mut State,
    ) -> BoxFuture<'s, Result<Vec<Failure>, String>> {
        async move {
            let wire = self.wire(state);
            let object = wire.target(&watch.target, None, &state.last)?;
            let path = match &watch.target.path {
                Some(path) => self.names.path_to_server(&state.variables.text(path)?),
                None => wire.path(&object, true)?,
            };
            let mut query = watch.query.clone();

            // The API server watches collections; a field selector selects the object.
            if watch.target.name.is_some() {
                query.push((
                    "fieldSelector".into(),
                    format!("metadata.name={}", object.name).as_str().into(),
                ));
            }

            // The watch begins after the objects that exist, so that its events are those of its steps.
            let begins = if query.iter().any(|(name, _)| *name == "resourceVersion") {
                String::new()
            } else {
                let list = self
                    .exchange(&Message::new("GET", path.clone(), String::new()))
                    .await?;
                let version = list.body.metadata_string("resourceVersion");
                format!("&resourceVersion={}", encoded(version))
            };
            let query = wire.query(&query)?;
            let path = format!("{path}?watch=true&timeoutSeconds=60{begins}&{query}");
            let message = Message::new("GET", path.trim_end_matches('&'), String::new());

            let shown = |mut failure: Failure, answer: String| {
                failure.exchange = Some(exchange(self.connection, &self.names, &message, answer));
                failure
            };
            let opened = tokio::select! {
                opened = self.connection.open(&message) => opened,
                () = self.stop.wait() => Err("the run was stopped".into()),
            };
            let response =
                opened.map_err(|error| format!("{}: {error}", self.connection.curl(&message)))?;

            if response.status() != 200 {
                let code = response.status();
                let refused = Failure::new(
                    "step",
                    format!("the watch was refused with the code {code}"),
                );
                return Ok(vec![shown(refused, code.to_string())]);
            }

            // The watch is open before the steps begin, so it misses no event.
            let mut body = response.into_body();
            let mut failures = self.steps(&watch.steps, state).await;
            // The expectations may use variables that these steps saved.
            let expected = state.variables.expect(expect)?;
            let expected = expected
                .answer
                .as_ref()
                .and_then(|answer| answer.events.as_deref())
                .unwrap_or_default();
            let found = self.events(&mut body, expected).await?;
            let lines: String = found
                .iter()
                .map(|(kind, object)| format!("{kind} {}\n", shortened(&object.to_json())))
                .collect();

            let wrong = judge_events(expected, &found);
            failures.extend(
                wrong
                    .into_iter()
                    .map(|failure| shown(failure, format!("200\n{lines}"))),
            );
            Ok(failures)
        }
        .boxed()
    }

    /// Reads as many events as are expected, and one more if it is sent soon.
    async fn events(
        &self,
        body: &mut kube::client::Body,
        expected: &[ExpectedEvent],
    ) -> Result<Vec<(String, Value)>, String> {
        let wants_bookmarks = expected.iter().any(|event| event.event == "BOOKMARK");
        let mut data = http_body_util::BodyDataStream::new(body);
        let (mut found, mut line) = (Vec::new(), Vec::new());
        let (mut end, mut is_surplus) = (Instant::now() + EVENTS, false);
        while found.len() <= expected.len() {
            // The time for a surplus event begins with the last expected one.
            if found.len() == expected.len() && !is_surplus {
                (end, is_surplus) = (Instant::now() + SURPLUS, true);
            }
            let chunk = tokio::select! {
                chunk = timeout_at(end, data.next()) => chunk,
                () = self.stop.wait() => break,
            };
            let Ok(Some(chunk)) = chunk else { break };

            line.extend_from_slice(&chunk.map_err(|error| error.to_string())?);
            if line.len() > LINE {
                return Err(format!("a line of the watch has more than {LINE} bytes"));
            }
            // A chunk may end inside a line, and may have several lines.
            while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                let rest = line.split_off(end + 1);
                let text = self.names.to_case(&String::from_utf8_lossy(&line));
                line = rest;
                let event = Value::from_json(&text)
                    .map_err(|error| format!("an event of the watch: {error}"))?;
                let kind = event
                    .get("type")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();

                // A server sends bookmarks at any time, so they count only for a case about bookmarks.
                if kind != "BOOKMARK" || wants_bookmarks {
                    found.push((kind, event.get("object").cloned().unwrap_or_default()));
                }
            }
        }

        Ok(found)
    }
}

/// Whether a step expects something of an object, which is the stored one after a refused request.
fn is_about_object(expect: &Expect) -> bool {
    let by_answer = expect.answer.as_ref().is_some_and(|answer| {
        answer.contains.is_some()
            || !(answer.absent.is_empty()
                && answer.unchanged.is_empty()
                && answer.changed.is_empty())
    });
    by_answer || expect.object.is_some() || expect.entries.is_some()
}

/// An object that replaces the one with a `resourceVersion`.
fn at_version(object: &Value, version: &Value) -> Value {
    with_metadata(object, [("resourceVersion", Some(version.clone()))])
}
