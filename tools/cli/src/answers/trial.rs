//! A server in this process, on which objects are tried.

use std::cell::RefCell;
use std::collections::HashSet;

use fieldmanager_apiserver::testing::{Reply, TestServer};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;
use http::header;
use serde::Serialize;
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use super::sources::{ObjectKey, key};
use crate::error::Failure;

/// A server, and the namespaces that were made for objects.
pub(crate) struct TrialServer {
    runtime: Runtime,
    server: TestServer,
    namespaces: RefCell<HashSet<String>>,
}

impl TrialServer {
    /// Waits for a server, whose requests have threads of their own.
    pub(crate) fn start<S: Into<TestServer>, E: std::fmt::Display>(
        built: impl Future<Output = Result<S, E>>,
    ) -> Result<Self, Failure> {
        let runtime = Runtime::new()?;
        let server = runtime.block_on(built);
        let server = server.map_err(|error| Failure::Other(error.to_string()))?;
        Ok(TrialServer {
            runtime,
            server: server.into(),
            namespaces: RefCell::default(),
        })
    }

    /// The key of an object, which is in a namespace if it names none, and the path of its collection; `None` if its kind is not
    /// served.
    pub(crate) fn place(&self, object: &Value, namespace: &str) -> (Option<String>, ObjectKey) {
        let kind = object.declared_kind();
        let at = format!("{}/", key(object, true, namespace).namespace);
        let path = self.server.path(&kind.api_version(), &kind.kind, &at).ok();
        let path = path.map(|path| path.trim_end_matches('/').to_owned());

        let is_namespaced = path.as_ref().is_some_and(|path| path.contains(NAMESPACES));
        (path, key(object, is_namespaced, namespace))
    }

    /// Makes the namespace of an object. Whoever applies to a namespace has one: the sources of a chart leave it out.
    pub(crate) async fn make_namespace(&self, path: &str, key: &ObjectKey) -> Result<(), Failure> {
        let is_new = || self.namespaces.borrow_mut().insert(key.namespace.clone());
        if path.contains(NAMESPACES) && is_new() {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key.namespace}});
            // It may exist.
            request(&self.server, "POST", "/api/v1/namespaces", &body).await?;
        }
        Ok(())
    }

    /// Creates an object at the path of its kind.
    ///
    /// # Errors
    ///
    /// The message of a refusal.
    pub(crate) fn create(&self, object: &Json) -> Result<(), Failure> {
        let created = self.runtime.block_on(self.server.create(object));
        created
            .map(drop)
            .map_err(|refusal| Failure::Refused(refusal.message))
    }

    /// Sends a request, and waits for the answer. A `PATCH` is an apply.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Reply, Failure> {
        self.wait(request(&self.server, method, path, body))
    }

    /// The server, for tasks that send requests.
    pub(crate) fn server(&self) -> TestServer {
        self.server.clone()
    }

    /// Waits for what happens on the server, and for tasks that send requests.
    pub(crate) fn wait<T>(&self, answers: impl Future<Output = T>) -> T {
        self.runtime.block_on(answers)
    }
}

/// Sends a request. A `PATCH` is an apply.
pub(crate) async fn request(
    server: &TestServer,
    method: &str,
    path: &str,
    body: &impl Serialize,
) -> Result<Reply, Failure> {
    let sent = server.send(method, path, media(method), body).await;
    sent.map_err(|error| Failure::Other(error.message))
}

/// Like [`request`], with an answer that has only the metadata of the object. `check` does not read the rest, and writing it took
/// a fiftieth of its time.
pub(crate) async fn request_verdict(
    server: &TestServer,
    method: &str,
    path: &str,
    object: &Value,
) -> Result<Reply, Failure> {
    let headers = [
        (header::CONTENT_TYPE, media(method)),
        (header::ACCEPT, METADATA),
    ];
    let sent = server.send_text(method, path, &headers, object.to_json());
    sent.await.map_err(|error| Failure::Other(error.message))
}

/// The type of the body of a request.
fn media(method: &str) -> &'static str {
    match method {
        "PATCH" => "application/apply-patch+yaml",
        _ => "application/json",
    }
}

/// The type of an answer that has only the metadata of an object.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// The part of the path of an object in a namespace.
const NAMESPACES: &str = "/namespaces/";

/// An object as the body of a request.
pub(crate) fn body_of(object: &Value) -> Result<Json, Failure> {
    serde_json::to_value(object).map_err(|error| Failure::Other(error.to_string()))
}

/// A text of an answer; empty if it has none.
pub(crate) fn text<'j>(json: &'j Json, name: &str) -> &'j str {
    json.get(name).and_then(Json::as_str).unwrap_or_default()
}
