//! A client of a server in the same process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

pub(crate) mod counting;
pub(crate) mod failing;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use fieldmanager_apiserver::store::{HistoryLimits, Memory};
use fieldmanager_apiserver::{ApiServer, Body, Collection, Limits, Random};
use futures::Stream;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, BodyStream, Full};
use serde_json::{Value as Json, json};
use tower::ServiceExt;

/// A server and its client.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) server: ApiServer,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

/// The message of a `Status`.
pub(crate) fn message(answer: &Json) -> &str {
    answer["message"].as_str().unwrap()
}

impl Answer {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("no JSON: {:?}", self.bytes))
    }

    /// The JSON of an answer with a code.
    pub(crate) fn expect(self, code: u16) -> Json {
        assert_eq!(self.code, code, "{}", String::from_utf8_lossy(&self.bytes));
        self.json()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.headers
            .get_all("warning")
            .iter()
            .map(|value| value.to_str().unwrap().to_owned())
            .collect()
    }
}

impl Client {
    /// A client of a server with a fixed clock, whose collector moves when the test says so.
    pub(crate) async fn new() -> Self {
        let time = "2026-01-31T12:00:00Z".parse().unwrap();
        let builder = ApiServer::builder()
            .source(Random::seeded(7, time))
            .collection(Collection::Stepped);
        Client {
            server: builder.build().await.unwrap(),
        }
    }

    /// A client of a server that keeps few changes.
    pub(crate) async fn with_history(events: usize) -> Self {
        let store = Memory::new(HistoryLimits::default().events(events));
        let builder = ApiServer::builder()
            .store(Arc::new(store))
            .collection(Collection::Stepped);
        Client {
            server: builder.build().await.unwrap(),
        }
    }

    /// A client of a server with a bound on the memory of buffers.
    pub(crate) async fn with_buffers(bytes: usize) -> Self {
        let mut limits = Limits::default();
        limits.buffers = bytes;
        // Nothing else ends a connection.
        limits.header_time = std::time::Duration::from_secs(3600);
        let builder = ApiServer::builder()
            .limits(limits)
            .collection(Collection::Stepped);
        Client {
            server: builder.build().await.unwrap(),
        }
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let response = self.server.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            bytes,
        }
    }

    /// Sends a recorded request: with the token, the type of the body, and the headers that it names.
    pub(crate) async fn send_recorded(&self, request: &Json) -> Answer {
        let field = |name: &str| request[name].as_str();
        let token = field("token").map(|token| format!("Bearer {token}"));
        let kind = field("contentType").unwrap_or("application/json");
        let mut headers = vec![("content-type", kind), ("user-agent", "tester/1")];
        headers.extend(token.as_deref().map(|token| ("authorization", token)));
        let more = request["headers"].as_array().into_iter().flatten();
        headers.extend(more.map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap())));

        let body = request.get("body").map(Json::to_string).unwrap_or_default();
        let (method, path) = (field("method").unwrap(), field("path").unwrap());
        self.send(method, path, &headers, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Json) -> Answer {
        self.send(
            "POST",
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn put(&self, path: &str, body: &Json) -> Answer {
        self.send(
            "PUT",
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], "").await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: &Json) -> Answer {
        self.send(
            "DELETE",
            path,
            &[("content-type", "application/json")],
            options.to_string(),
        )
        .await
    }

    /// A merge patch.
    pub(crate) async fn merge(&self, path: &str, patch: &Json) -> Answer {
        self.send(
            "PATCH",
            path,
            &[("content-type", "application/merge-patch+json")],
            patch.to_string(),
        )
        .await
    }

    pub(crate) async fn apply(&self, path: &str, manager: &str, config: &Json) -> Answer {
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}fieldManager={manager}");
        self.send(
            "PATCH",
            &path,
            &[("content-type", "application/apply-patch+yaml")],
            config.to_string(),
        )
        .await
    }

    /// A watch.
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        self.watch_as(path, "application/json").await
    }

    /// A watch in a form.
    pub(crate) async fn watch_as(&self, path: &str, accept: &str) -> Watch {
        let request = Request::get(path)
            .header("accept", accept)
            .body(Full::new(Bytes::new()))
            .unwrap();
        let response = self.server.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        Watch {
            frames: Box::pin(BodyStream::new(response.into_body())),
        }
    }

    /// A ConfigMap in the namespace `default`.
    pub(crate) async fn config_map(&self, name: &str) -> Json {
        self.post("/api/v1/namespaces/default/configmaps", &config_map(name))
            .await
            .expect(201)
    }
}

pub(crate) fn config_map(name: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"color": "red"}})
}

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The events of a watch.
pub(crate) struct Watch {
    frames: Pin<Box<BodyStream<Body>>>,
}

impl Watch {
    /// The bytes of the next event. `None` at the end.
    pub(crate) async fn next_frame(&mut self) -> Option<Bytes> {
        let next = std::future::poll_fn(|context| self.frames.as_mut().poll_next(context));
        let frame = tokio::time::timeout(std::time::Duration::from_secs(200), next)
            .await
            .expect("an event");
        Some(frame?.unwrap().into_data().unwrap())
    }

    /// The next event: its type and its object. `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<(String, Json)> {
        let line = self.next_frame().await?;
        assert!(line.ends_with(b"\n"), "every event ends its line");
        let event: Json = serde_json::from_slice(&line).unwrap();
        Some((
            event["type"].as_str().unwrap().to_owned(),
            event["object"].clone(),
        ))
    }

    /// The types and names of the next events.
    pub(crate) async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            let (kind, object) = self.next().await.expect("an event");
            names.push(format!(
                "{kind} {}",
                object["metadata"]["name"].as_str().unwrap_or_default()
            ));
        }
        names
    }
}

/// The CustomResourceDefinition of shops with a status, at the versions `v1` and `v2`.
pub(crate) fn shops() -> Json {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"color": {"type": "string", "default": "red"}, "size": {"type": "integer"}}},
        "status": {"type": "object", "properties": {"open": {"type": "boolean"}}},
    }}});
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": schema, "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
            "selectableFields": [{"jsonPath": ".spec.color"}]})
    };
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "shops", "kind": "Shop", "shortNames": ["sh"]},
            "versions": [version("v1", true), version("v2", false)]}})
}

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const SHOPS: &str = "/apis/example.com/v1/namespaces/default/shops";

pub(crate) fn shop(name: &str) -> Json {
    json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": name}, "spec": {}})
}
