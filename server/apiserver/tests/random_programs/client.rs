//! The clients: some write and remember what the server acknowledged, others watch.

use std::collections::BTreeMap;
use std::time::Duration;

use fieldmanager_apiserver::testing::TestServer;
use http_body_util::{BodyExt, Full};
use serde_json::{Value as Json, json};
use tower::ServiceExt;

use crate::random_programs::{COLLECTION, Check, END, NAMES, Numbers, shop};

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn name(object: &Json) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn uid(object: &Json) -> String {
    object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The answer to a request, the object or the code of a refusal; `None` if it was lost, so that the client does not know
/// what was done.
type Answered = Option<Result<Json, u16>>;

/// What a field that one client writes may contain.
#[derive(Clone, Debug, Default)]
struct Field {
    /// The uid of the object and the value that were last acknowledged.
    acknowledged: Option<(String, i64)>,
    /// The values of later writes whose answers were lost.
    lost: Vec<i64>,
}

impl Field {
    fn written(&mut self, answer: &Answered, value: i64) {
        match answer {
            None => self.lost.push(value),
            Some(Ok(object)) => {
                *self = Field {
                    acknowledged: Some((uid(object), value)),
                    lost: Vec::new(),
                }
            }
            Some(Err(_)) => {}
        }
    }

    fn check(&self, object: &Json, found: &Json) -> Check {
        // An object that was created again begins without the field.
        let kept = self
            .acknowledged
            .as_ref()
            .filter(|(own, _)| *own == uid(object))
            .map(|(_, value)| *value);
        match found.as_i64() {
            found if found == kept => Ok(()),
            Some(found) if self.lost.contains(&found) => Ok(()),
            found => Err(format!("found {found:?}, expected {self:?} in {object:#}")),
        }
    }
}

/// A client that writes.
pub(crate) struct Writer {
    index: usize,
    server: TestServer,
    numbers: Numbers,
    value: i64,
    applied: BTreeMap<&'static str, Field>,
    patched: BTreeMap<&'static str, Field>,
    /// By uid: the increments that were acknowledged, and those whose answers were lost.
    increments: BTreeMap<String, (i64, i64)>,
}

impl Writer {
    pub(crate) fn new(index: usize, server: &TestServer, numbers: Numbers) -> Self {
        let (applied, patched, increments) = Default::default();
        Writer {
            index,
            server: server.clone(),
            numbers,
            value: 0,
            applied,
            patched,
            increments,
        }
    }

    pub(crate) async fn run(mut self, steps: usize) -> Self {
        for _ in 0..steps {
            self.step().await;
            for _ in 0..self.numbers.u32(..6) {
                tokio::task::yield_now().await;
            }
        }
        self
    }

    /// Checks that nothing that was acknowledged is lost.
    pub(crate) fn check(&self, list: &[Json]) -> Check {
        let (applied, patched) = (format!("a{}", self.index), format!("p{}", self.index));
        for object in list {
            let of = |fields: &BTreeMap<&'static str, Field>| {
                fields.get(name(object)).cloned().unwrap_or_default()
            };
            of(&self.applied).check(object, &object["spec"]["applied"][&applied])?;
            of(&self.patched).check(object, &object["spec"]["patched"][&patched])?;
        }
        Ok(())
    }

    async fn step(&mut self) {
        let name = NAMES[self.numbers.usize(..NAMES.len())];
        let path = format!("{COLLECTION}/{name}");
        let manager = format!("client-{}", self.index);
        self.value += 1;
        let value = self.value;

        // A third of the steps apply and a third increment, so that they meet each other often. Few delete or create.
        match self.numbers.u32(..12) {
            0..=3 => {
                let config = shop(
                    name,
                    json!({"applied": {format!("a{}", self.index): value}}),
                );
                let path = format!("{path}?force=true&fieldManager={manager}");
                let answer = self
                    .send("PATCH", &path, "application/apply-patch+yaml", &config)
                    .await;
                self.applied
                    .entry(name)
                    .or_default()
                    .written(&answer, value);
            }
            4..=5 => {
                let patch = json!({"spec": {"patched": {format!("p{}", self.index): value}}});
                let path = format!("{path}?fieldManager={manager}");
                let answer = self
                    .send("PATCH", &path, "application/merge-patch+json", &patch)
                    .await;
                self.patched
                    .entry(name)
                    .or_default()
                    .written(&answer, value);
            }
            6..=9 => self.increment(&path, &manager).await,
            10 => drop(
                self.send("DELETE", &path, "application/json", &Json::Null)
                    .await,
            ),
            _ => {
                let path = format!("{COLLECTION}?fieldManager={manager}");
                drop(
                    self.send("POST", &path, "application/json", &shop(name, json!({})))
                        .await,
                );
            }
        }
    }

    /// Increments the counter by compare-and-swap, once more if another client was first.
    async fn increment(&mut self, path: &str, manager: &str) {
        for _ in 0..2 {
            let Some(Ok(mut object)) = self.send("GET", path, "", &Json::Null).await else {
                return;
            };
            let uid = uid(&object);
            let counter = object["spec"]["counter"].as_i64().unwrap_or_default();
            object["spec"]["counter"] = (counter + 1).into();
            let path = format!("{path}?fieldManager={manager}");
            let answer = self.send("PUT", &path, "application/json", &object).await;
            let (acknowledged, lost) = self.increments.entry(uid).or_default();
            match answer {
                None => *lost += 1,
                Some(Ok(_)) => *acknowledged += 1,
                Some(Err(409)) => continue,
                Some(Err(_)) => {}
            }
            return;
        }
    }

    /// Sends a request, and gives up after a while.
    async fn send(&self, method: &str, path: &str, content_type: &str, body: &Json) -> Answered {
        let content_type = if content_type.is_empty() {
            "application/json"
        } else {
            content_type
        };
        let answer = self.server.send(method, path, content_type, body);
        match tokio::time::timeout(PATIENCE, answer).await {
            Err(_) => None,
            Ok(Err(_)) => None,
            Ok(Ok(reply)) if reply.code < 400 => Some(Ok(reply.body())),
            Ok(Ok(reply)) => Some(Err(reply.code)),
        }
    }
}

/// Checks the counters of all clients together.
pub(crate) fn check_counters(writers: &[Writer], list: &[Json]) -> Check {
    for object in list {
        let own = |writer: &Writer| {
            writer
                .increments
                .get(&uid(object))
                .copied()
                .unwrap_or_default()
        };
        let (acknowledged, lost) = writers
            .iter()
            .map(own)
            .fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let found = object["spec"]["counter"].as_i64().unwrap_or_default();
        if !(acknowledged..=acknowledged + lost).contains(&found) {
            return Err(format!(
                "the counter of {} is {found}: {acknowledged} increments were acknowledged, and {lost} answers lost",
                name(object)
            ));
        }
    }
    Ok(())
}

/// A client that lists and watches.
pub(crate) struct Watcher {
    server: TestServer,
    numbers: Numbers,
    state: BTreeMap<String, Json>,
}

impl Watcher {
    pub(crate) fn new(server: &TestServer, numbers: Numbers) -> Self {
        Watcher {
            server: server.clone(),
            numbers,
            state: BTreeMap::new(),
        }
    }

    /// Follows the collection until its last object exists, and returns all objects.
    pub(crate) async fn run(mut self) -> BTreeMap<String, Json> {
        let mut revision = None;
        while !self.state.contains_key(END) {
            revision = match revision {
                None => self.list().await,
                Some(revision) => self.watch(&revision).await,
            };
            tokio::time::sleep(Duration::from_millis(self.numbers.u64(1..20))).await;
        }
        self.state
    }

    /// Replaces the state, and returns its revision; `None` after an error.
    async fn list(&mut self) -> Option<String> {
        let reply = self
            .server
            .send("GET", COLLECTION, "application/json", &Json::Null)
            .await
            .ok()?;
        if reply.code != 200 {
            return None;
        }
        let list = reply.body();
        let items = list["items"].as_array()?;
        self.state = items
            .iter()
            .map(|object| (name(object).to_owned(), object.clone()))
            .collect();
        list["metadata"]["resourceVersion"]
            .as_str()
            .map(str::to_owned)
    }

    /// Follows the events after a revision, and returns the last one; `None` after an error.
    async fn watch(&mut self, revision: &str) -> Option<String> {
        let path =
            format!("{COLLECTION}?watch=1&allowWatchBookmarks=true&resourceVersion={revision}");
        let request = http::Request::get(path)
            .body(Full::<bytes::Bytes>::default())
            .unwrap();
        let response = self.server.service().oneshot(request).await.unwrap();
        if response.status() != 200 {
            return None;
        }
        let mut body = response.into_body();
        let mut last = revision.to_owned();
        while let Some(frame) = body.frame().await {
            let line = frame.ok()?.into_data().ok()?;
            let event: Json = serde_json::from_slice(&line).ok()?;
            let object = &event["object"];
            match event["type"].as_str()? {
                "ADDED" | "MODIFIED" => {
                    drop(self.state.insert(name(object).to_owned(), object.clone()))
                }
                "DELETED" => drop(self.state.remove(name(object))),
                "BOOKMARK" => {}
                _ => return None,
            }
            object["metadata"]["resourceVersion"]
                .as_str()?
                .clone_into(&mut last);
            if self.state.contains_key(END) {
                break;
            }
        }
        Some(last)
    }
}
