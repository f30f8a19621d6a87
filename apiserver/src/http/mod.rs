//! HTTP: from a request to an answer in bytes.

mod measure;
mod message;
mod negotiate;
mod render;
mod route;
mod verb;
mod watch;

use std::sync::Arc;

use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Limited};

use crate::discovery::Hashed;
use crate::endpoint::{Answer, Call, Content, Core, Failure, Verb};
use crate::facts;
use crate::gate::Gate;
use crate::metrics::CONTENT_TYPE;
use crate::query::Query;
pub use message::Body;
use message::Head;
use negotiate::{Format, Place};
use route::{ResourcePath, Route};
use verb::{is_watch, verb};
#[cfg(feature = "net")]
pub(crate) use watch::Events;

/// Answers one request.
pub(crate) async fn respond<B>(core: &Arc<Core>, gate: &Arc<Gate>, request: Request<B>) -> Response<Body>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let head = Head {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: Query::of(parts.uri.query()),
        headers: parts.headers,
    };
    let route = Route::of(&head.path);
    let mut measured = gate.metrics.begin(measure::labels(core, &head, &route));
    let response = match admitted(core, gate, &head, &route, body).await {
        Ok(response) => response,
        Err(failure) => render::failure(&head, failure),
    };
    measured.answered(response.status().as_u16());
    // A watch lasts until its body is dropped.
    let response = match is_watch(&head, &route) {
        true => with(response, measured),
        false => response,
    };
    tracing::info!(method = %head.method, path = head.path, status = response.status().as_u16());
    response
}

async fn admitted<B>(
    core: &Arc<Core>,
    gate: &Arc<Gate>,
    head: &Head,
    route: &Route,
    body: B,
) -> Result<Response<Body>, Failure>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    if !matches!(route, Route::Health { .. }) {
        gate.authenticate(head.header(header::AUTHORIZATION))?;
    }
    let is_watch = is_watch(head, route);
    let pass = gate.pass(is_watch)?;
    let body = match Limited::new(body, gate.limits.body).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            let message = format!("Request entity too large: limit is {}", gate.limits.body);
            return Err(Failure::new(413, "RequestEntityTooLarge", message));
        }
        Err(error) => return Err(Failure::new(400, "BadRequest", error.to_string())),
    };
    let response = match route {
        Route::Metrics if matches!(head.method, Method::GET | Method::HEAD) => {
            let text = measure::text(core, &gate.metrics).await?;
            message::response(200, CONTENT_TYPE, message::full(text))
        }
        route => answer(core, head, route, &body).await?,
    };
    // A watch takes its place until its body is dropped.
    Ok(if is_watch { with(response, pass) } else { response })
}

/// The response whose body owns a value.
fn with(response: Response<Body>, owned: impl Send + 'static) -> Response<Body> {
    response.map(|body| {
        BodyExt::boxed_unsync(body.map_frame(move |frame| {
            let _ = &owned;
            frame
        }))
    })
}

async fn answer(
    core: &Arc<Core>,
    head: &Head,
    route: &Route,
    body: &[u8],
) -> Result<Response<Body>, Failure> {
    if let Route::Resource(path) = route {
        return resource(core, head, path, body).await;
    }
    if *route == Route::Unknown {
        return Err(Failure::path_not_found());
    }
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return Err(Failure::method_not_allowed());
    }
    let documents = core.documents();
    let text = |document: Option<String>| document.ok_or_else(Failure::path_not_found);
    match route {
        Route::Health { endpoint, check } => render::health(head, endpoint, check.as_deref()),
        Route::Version => Ok(render::version(head, facts::version())),
        Route::Paths => render::text(head, documents.paths()),
        Route::LegacyVersions => {
            let address = head.header(header::HOST).unwrap_or_default();
            let aggregated = || documents.discovery.aggregated_api();
            render::discovery(head, || documents.discovery.api(address), aggregated)
        }
        Route::Groups => {
            render::discovery(head, || documents.discovery.groups(), || documents.discovery.aggregated())
        }
        Route::Group(group) => render::text(head, text(documents.discovery.group(group))?),
        Route::GroupVersion { group, version } => {
            render::text(head, text(documents.discovery.resources(group, version))?)
        }
        Route::OpenApiV2 => {
            let format = Format::of(head.header(header::ACCEPT), Place::OpenApiV2)?;
            let document = match format.media {
                negotiate::Media::OpenApiProtobuf => documents.openapi_v2_protobuf(),
                _ => documents.openapi_v2(),
            };
            Ok(render::document(head, document.body, &document.etag, &format.content_type()))
        }
        Route::OpenApiV3(None) => {
            let Hashed { body, etag } = documents.openapi().v3_index();
            Ok(render::document(head, body.into(), &etag, "application/json"))
        }
        Route::OpenApiV3(Some(path)) => {
            let document = documents.openapi().v3(path).ok_or_else(Failure::path_not_found)?;
            Ok(render::document(head, document.body, &document.etag, "application/json"))
        }
        Route::Metrics | Route::Resource(_) | Route::Unknown => Err(Failure::path_not_found()),
    }
}

async fn resource(
    core: &Arc<Core>,
    head: &Head,
    path: &ResourcePath,
    body: &[u8],
) -> Result<Response<Body>, Failure> {
    let registry = core.registry();
    let served =
        registry.get(&path.group, &path.version, &path.plural).ok_or_else(Failure::path_not_found)?;
    if !served.facts.namespaced && !path.namespace.is_empty() {
        return Err(Failure::path_not_found());
    }
    let verb = verb(head, path)?;
    // Objects in namespaces are created, changed and read in one of them.
    let needs_namespace = !matches!(verb, Verb::List | Verb::Watch);
    if served.facts.namespaced && path.namespace.is_empty() && needs_namespace {
        return Err(match path.name.is_empty() {
            true => Failure::method_not_allowed(),
            false => Failure::path_not_found(),
        });
    }
    let format = match verb {
        Verb::Watch => watch::format(head)?,
        _ => Format::of(head.header(header::ACCEPT), Place::Objects)?,
    };
    let call = Call {
        served,
        verb,
        namespace: &path.namespace,
        name: &path.name,
        subresource: &path.subresource,
        query: &head.query,
        content_type: head.header(header::CONTENT_TYPE).unwrap_or_default(),
        user_agent: head.header(header::USER_AGENT).unwrap_or_default(),
        body,
    };
    let Answer { code, warnings, content } = core.answer(&call).await?;
    let response = match content {
        Content::Watch(watch) => watch::respond(core, head, format, watch).await?,
        Content::Status(status) => render::status(head, code, &status, format)?,
        Content::Object(object) => render::object(core, head, code, served, &object, format)?,
        Content::List(list) => render::list(core, head, served, list, format)?,
    };
    Ok(render::with_warnings(response, &warnings))
}
