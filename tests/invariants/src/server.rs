//! HTTP requests to an API server.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use fieldmanager_apiserver::store::{HistoryLimits, Memory, Snapshot, Store as _};
use fieldmanager_apiserver::{ApiServer, Collection, Random};
use fieldmanager_value::Value;
use futures::FutureExt;
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

use crate::handlers::DEFINITION;

/// The most requests of one input.
const MAX_REQUESTS: usize = 8;

/// The most events of a watch that are read.
const MAX_EVENTS: usize = 50;

const STRATEGIC: &str = "application/strategic-merge-patch";

/// The answers with the code 500, which kube-apiserver gives too: the content type of the request, a part of the message,
/// and the reason, for
///
/// - a configuration that does not fit its type,
/// - a configuration with a malformed quantity or time,
/// - a strategic merge patch whose values or directives do not fit the object,
/// - a new object with a version,
/// - a version that is not a number,
/// - an update of a Service with one node port twice,
/// - a patch that removes the version of a custom resource,
/// - a Service when no address or port is left.
const EXPECTED: [(&str, &str, &str); 8] = [
    ("", "failed to create typed patch object", ""),
    ("", "failed to convert new object", ""),
    (STRATEGIC, "", ""),
    (
        "",
        "resourceVersion should not be set on objects to be created",
        "",
    ),
    ("", "strconv.ParseUint: parsing", ""),
    ("", "duplicate nodePort", ""),
    ("", "Object 'apiVersion' is missing", "InternalError"),
    ("", "failed to allocate", "InternalError"),
];

/// A store with the objects of a new server and a custom resource.
pub(crate) fn prepared() -> Arc<Memory> {
    static BASE: OnceLock<Option<Snapshot>> = OnceLock::new();
    let base = BASE.get_or_init(|| {
        let store = Arc::new(Memory::default());
        let prepared = runtime().map(|runtime| {
            runtime.block_on(async {
                let server = server(store.clone()).await?;
                let definition = Value::from_yaml(DEFINITION).map_err(|error| error.to_string())?;
                server
                    .load(&definition)
                    .await
                    .map_err(|error| error.to_string())
            })
        });
        // Without the definition, requests to its objects are answered with 404.
        let _ = prepared;
        store.snapshot().ok()
    });
    Arc::new(base.as_ref().map_or_else(Memory::default, |base| {
        Memory::from_snapshot(base, HistoryLimits::default())
    }))
}

/// A runtime whose clock moves when nothing else is to be done, so that no request waits for it.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())
}

pub(crate) async fn server(store: Arc<Memory>) -> Result<ApiServer, String> {
    let time = "2026-01-31T12:00:00Z"
        .parse()
        .map_err(|_| "the time is valid")?;
    let builder = ApiServer::builder()
        .store(store)
        .source(Random::seeded(7, time));
    builder
        .collection(Collection::Stepped)
        .build()
        .await
        .map_err(|error| error.to_string())
}

/// Sends HTTP requests to a server that has a custom resource, one on each line: the method, the path with its query, the
/// headers and the body, separated by spaces. Headers have the form `name:value`, with `|` between them, or are `-`.
/// After the requests, the collector makes its changes.
///
/// No request may panic. An answer in JSON is JSON, the `Status` of a failure has its code, and no answer has the code 500
/// apart from those that kube-apiserver gives too.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_server(text: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Ok(());
    };
    let store = prepared();
    runtime()?.block_on(async {
        let server = server(store).await?;
        for line in text.lines().take(MAX_REQUESTS) {
            if let Some(request) = request(line) {
                answered(&server, request)
                    .await
                    .map_err(|error| format!("{line}: {error}"))?;
            }
        }
        server.collect().await.map_err(|error| error.to_string())?;
        Ok(())
    })
}

/// The request of a line; `None` if it is not one of HTTP.
fn request(line: &str) -> Option<Request<Full<Bytes>>> {
    let mut parts = line.splitn(4, ' ');
    let (method, uri) = (parts.next()?, parts.next()?);
    let headers = parts.next().unwrap_or("-");
    let body = parts.next().unwrap_or_default();
    let mut request = Request::builder().method(method).uri(uri);
    for header in headers.split('|').filter(|header| *header != "-") {
        let (name, value) = header.split_once(':')?;
        request = request.header(name, value);
    }
    request
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .ok()
}

async fn answered(server: &ApiServer, request: Request<Full<Bytes>>) -> Result<(), String> {
    let media = request.headers().get(header::CONTENT_TYPE).cloned();
    let response = match server.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let code = response.status().as_u16();
    let content_type = response.headers().get(header::CONTENT_TYPE).cloned();
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    // A watch has no end, so only the events that are there are read.
    for _ in 0..MAX_EVENTS {
        let Some(Some(Ok(frame))) = body.frame().now_or_never() else {
            break;
        };
        bytes.extend(frame.into_data().unwrap_or_default());
    }
    let is_json =
        content_type.is_some_and(|media| media.as_bytes().starts_with(b"application/json"));
    if !is_json {
        return match code {
            500 => Err(format!(
                "500 without a status: {}",
                String::from_utf8_lossy(&bytes)
            )),
            _ => Ok(()),
        };
    }
    let documents = serde_json::Deserializer::from_slice(&bytes).into_iter::<serde_json::Value>();
    let mut first = serde_json::Value::Null;
    for (at, document) in documents.enumerate() {
        let document =
            document.map_err(|error| format!("{code}: the answer is not JSON: {error}"))?;
        if at == 0 {
            first = document;
        }
    }
    if code < 400 {
        return Ok(());
    }
    let text = |name: &str| {
        first
            .get(name)
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default()
    };
    ensure!(
        text("kind") == "Status" && text("status") == "Failure",
        "{code}: no failure: {first}"
    );
    ensure!(
        first.get("code").and_then(serde_json::Value::as_u64) == Some(code.into()),
        "{code}: {first}"
    );
    let message = text("message");
    ensure!(!message.is_empty(), "{code}: no message: {first}");
    let is_of = |wanted: &str| {
        wanted.is_empty()
            || media
                .as_ref()
                .is_some_and(|own| own.as_bytes().starts_with(wanted.as_bytes()))
    };
    let is_expected = |(media, part, reason): &(&str, &str, &str)| {
        is_of(media) && message.contains(part) && text("reason") == *reason
    };
    ensure!(
        code != 500 || EXPECTED.iter().any(is_expected),
        "an unexpected 500: {first}"
    );
    Ok(())
}
