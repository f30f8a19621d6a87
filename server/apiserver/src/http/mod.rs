//! HTTP: from a request to an answer in bytes.

mod access;
mod documents;
mod health;
mod measure;
mod message;
mod messages;
mod negotiate;
mod page;
mod parts;
mod receive;
mod record;
mod render;
mod route;
mod timeout;
mod verb;
mod watch;

use std::sync::Arc;

use fieldmanager_access::User;
use fieldmanager_handlers::internal::{Media, unsupported_media_type};
use futures::StreamExt;
use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use http_body::Body as _;
use http_body_util::{BodyExt, BodyStream, StreamBody};

use crate::access::admin;
use crate::budget::{FREE, Reservation};
use crate::endpoint::{Answer, Call, Content, Core, Failure, Verb, check_deadline, logged};
use crate::fault::{Cut, Effect, Faults, Target};
use crate::flows::Flow;
use crate::gate::{Gate, busy};
use crate::log;
use crate::metrics::CONTENT_TYPE;
use crate::origin;
use crate::pool;
use crate::query::Query;
use crate::registry::Served;
use crate::store::Revision;
use documents::path_not_found;
pub use message::Body;
use message::{Head, Lost, Memory};
#[cfg(feature = "net")]
pub(crate) use message::{Lost as LostAnswer, lost};
pub(crate) use message::{Reserved, full, json, response};
use negotiate::{Format, Place};
use route::{ResourcePath, Route};
pub(crate) use timeout::timeout;
use verb::{custom_verb, is_watch, verb};
#[cfg(feature = "net")]
pub(crate) use watch::Events;

/// What answers requests.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) gate: &'a Gate,
    pub(crate) faults: &'a Faults,
    /// `None`: paths below `/test` are unknown.
    pub(crate) test: Option<&'a dyn TestRequests>,
    /// The user of all requests, whatever credentials they have.
    pub(crate) user: Option<&'a Arc<User>>,
}

/// What answers requests below `/test`.
pub(crate) trait TestRequests: Sync {
    /// Answers a request to the segments of a path after `/test`.
    fn answer<'a>(
        &'a self,
        method: &'a Method,
        path: &'a [String],
        query: &'a Query,
        body: &'a [u8],
    ) -> BoxFuture<'a, Result<Response<Body>, Failure>>;
}

/// The size of a body or a query up to which a request about a built-in kind takes little time, in bytes.
const SMALL: usize = 16 << 10;

/// The memory of the selectors of a watch, for each byte of its query.
const SELECTOR: usize = 8;

/// As much of a request as the answer depends on if it does not end before its deadline.
#[derive(Clone)]
pub(crate) struct Stopped {
    uri: Uri,
    headers: [Option<(HeaderName, HeaderValue)>; 2],
}

impl Stopped {
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let header = |name| {
            request
                .headers()
                .get(&name)
                .map(|value| (name, value.clone()))
        };
        Stopped {
            uri: request.uri().clone(),
            headers: [header::ACCEPT, header::USER_AGENT].map(header),
        }
    }

    pub(crate) fn answer(self) -> Response<Body> {
        let head = Head {
            method: Method::GET,
            path: String::new(),
            query: Query::of(self.uri.query()),
            headers: self.headers.into_iter().flatten().collect(),
            port: None,
            peer: None,
        };
        render::failure(&head, Failure::timed_out())
    }
}

/// Answers one request.
pub(crate) async fn respond<B>(server: &Context<'_>, request: Request<B>) -> Response<Body>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (core, gate) = (server.core, server.gate);
    let (mut parts, body) = request.into_parts();
    let checked = origin::check(&parts);
    let head = Head {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: Query::of(parts.uri.query()),
        headers: parts.headers,
        port: parts.extensions.remove(),
        peer: parts.extensions.remove(),
    };
    // The route is found before a token is checked, as refused requests are counted and logged under it.
    let route = Route::of(&head.path);
    let mut measured = gate.metrics.begin(measure::labels(core, &head, &route));

    // The log has the requests of the tested program, not those of the test or of the page.
    let log = core
        .log
        .as_ref()
        .filter(|_| !matches!(route, Route::Test(_) | Route::Page(_)));
    let entry = || record::entry(core, &head, &route);
    let mut flow = None;
    let answered = log::recorded(
        log,
        entry,
        admitted(server, &head, &route, checked, body, &mut flow),
        |answered| logged(answered, |response| response.status().as_u16()),
    );
    let is_watch = is_watch(&head, &route);

    let mut response = match answered.await {
        Ok(response) => response,
        Err(failure) => {
            // The message can have a whole object.
            let response = reserved(
                gate,
                true,
                Reservation::default(),
                render::failure(&head, failure),
            );
            response.unwrap_or_else(|busy| render::failure(&head, busy))
        }
    };

    if let Some(flow) = flow {
        flow.note(response.headers_mut());
    }
    if measure::deletes_definitions(&head, &route) {
        measure::retain_served(core, &gate.metrics);
    }

    // A lost answer is counted too.
    measured.answered(response.status().as_u16());
    // A watch lasts until its body is dropped.
    let response = if is_watch {
        with(response, measured)
    } else {
        response
    };
    let response = match response.extensions().get::<Lost>() {
        Some(Lost) => message::lost_response(),
        None => response,
    };
    tracing::info!(method = %head.method, path = head.path, status = response.status().as_u16());

    response
}

async fn admitted<B>(
    server: &Context<'_>,
    head: &Head,
    route: &Route,
    checked: Result<(), Failure>,
    body: B,
    flow: &mut Option<Flow>,
) -> Result<Response<Body>, Failure>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (core, gate) = (server.core, server.gate);
    checked?;
    let is_watch = is_watch(head, route);
    if !is_watch {
        timeout(head.query.text("timeout")).map_err(Failure::bad_request)?;
    }

    // Probes of health come without a token unless roles decide, and a browser may have a cookie instead.
    let mut user = admin();
    match route {
        Route::Health { .. } if !core.access.has_rules() => {
            *flow = access::flow(core, &user, head, route).await;
        }
        Route::Page(_) if gate.page => {
            if let Some(response) = page::admit(core, gate, head).await? {
                return Ok(response);
            }
        }
        _ => {
            user = access::user(core, server.user, head, route, flow).await?;
        }
    }

    // A request takes a place when its body was received, so slow clients take none from others.
    let (body, memory) = receive::body(gate, head.size(), body).await?;
    let pass = gate.pass(is_watch)?;
    // A watch keeps its selectors as long as it lasts, and so their memory.
    let selectors = match head.query.size().saturating_mul(SELECTOR) {
        size if is_watch && size > FREE => Some(gate.budget.reserve_large(size).ok_or_else(busy)?),
        _ => None,
    };
    if can_take_long(core, head, route, &body) {
        pool::enter().await;
    }

    let response = match route {
        Route::Metrics => {
            let text = measure::text(core, gate).await?;
            message::response(200, CONTENT_TYPE, message::full(text))
        }
        route => match (route, server.test) {
            (Route::Test(path), Some(test)) => {
                check_is_json(head, &body)?;
                test.answer(&head.method, path, &head.query, &body).await?
            }
            _ => answer(server, &user, head, route, &body).await?,
        },
    };

    let is_read = matches!(head.method, Method::GET | Method::HEAD);

    // A write that took place is answered after its deadline too: the client would repeat it otherwise.
    if is_read {
        check_deadline()?;
    }

    // A watch takes its place until its body is dropped.
    Ok(if is_watch {
        with(
            response.map(|body| until(gate.ending(), body)),
            (pass, selectors),
        )
    } else {
        reserved(gate, is_read, memory, response)?
    })
}

/// Whether the answer to a request can take long, so that it is made on a thread of its own. Other connections share the
/// thread of this one.
fn can_take_long(core: &Core, head: &Head, route: &Route, body: &[u8]) -> bool {
    let path = match route {
        Route::Resource(path) => path,
        Route::Health { .. } | Route::Version | Route::Test(_) | Route::Unknown => return false,
        _ => return true,
    };
    let registry = core.registry();
    let Some(served) = registry.get(&path.group, &path.version, &path.plural) else {
        return false;
    };

    // Cells of a table run paths of the definition, and a long query has selectors that are compared with every object.
    let is_table = head
        .header(header::ACCEPT)
        .is_some_and(|accepted| accepted.contains("as=Table"));
    if is_table || head.query.size() > SMALL {
        return true;
    }

    match verb(head, path) {
        Ok(Verb::Get | Verb::Watch) => !served.is_ready(),
        Ok(Verb::List) => !served.is_builtin() || head.query.selects(),
        Ok(Verb::DeleteCollection) => true,
        // An anchor of YAML can be used many times.
        _ => {
            !served.is_builtin()
                || served.is_definition()
                || body.len() > SMALL
                || body.contains(&b'&')
        }
    }
}

/// Refuses a request below `/test` whose body is not said to be JSON. A request without a body needs no type.
fn check_is_json(head: &Head, body: &[u8]) -> Result<(), Failure> {
    let is_json = match Media::of(head.content_type(), false) {
        Ok(Media::Json) => !head.content_type().is_empty() || body.is_empty(),
        _ => false,
    };
    if is_json || matches!(head.method, Method::GET | Method::HEAD) {
        Ok(())
    } else {
        Err(unsupported_media_type(&["application/json"]).into())
    }
}

/// The body that ends with a future.
fn until(end: impl Future<Output = ()> + Send + 'static, body: Body) -> Body {
    StreamBody::new(BodyStream::new(body).take_until(Box::pin(end))).boxed_unsync()
}

/// An answer with the memory that it takes until the client has read it: that of the request, and more. A write that was
/// made is answered in any case.
fn reserved(
    gate: &Gate,
    is_read: bool,
    mut memory: Reservation,
    mut response: Response<Body>,
) -> Result<Response<Body>, Failure> {
    let size = response
        .body()
        .size_hint()
        .exact()
        .and_then(|size| usize::try_from(size).ok());
    let size = size.or_else(|| response.extensions_mut().remove().map(|Memory(size)| size));

    match gate.reserve(size.unwrap_or_default()) {
        Ok(more) => memory.add(more),
        Err(busy) if is_read => return Err(busy),
        Err(_) => {}
    }
    response.extensions_mut().insert(Reserved(Arc::new(memory)));
    Ok(response)
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
    server: &Context<'_>,
    user: &User,
    head: &Head,
    route: &Route,
    body: &[u8],
) -> Result<Response<Body>, Failure> {
    if let Route::Resource(path) = route {
        return resource(server, user, head, path, body).await;
    }
    let core = server.core;
    if let (Route::Page(path), true) = (route, server.gate.page) {
        return page::respond(core, server.gate, head, path).await;
    }
    documents::document(core, head, route)
}

async fn resource(
    server: &Context<'_>,
    user: &User,
    head: &Head,
    path: &ResourcePath,
    body: &[u8],
) -> Result<Response<Body>, Failure> {
    let core = server.core;
    let registry = core.registry();
    let not_found = || path_not_found(&registry, &head.path);
    let served = registry
        .get(&path.group, &path.version, &path.plural)
        .ok_or_else(not_found)?;
    // No path within a namespace leads to a resource of cluster scope.
    if !served.facts.namespaced && !path.namespace.is_empty() {
        return Err(not_found());
    }

    // What cannot be watched has no path of old clients for it.
    if path.is_watch && !served.supports("", "watch") {
        return Err(not_found());
    }

    // The paths of built-in resources are of methods without HEAD.
    if head.method == Method::HEAD && served.is_builtin() {
        return Err(Failure::method_not_allowed());
    }
    let verb = verb(head, path);
    // Objects in namespaces are created, changed and read in one of them, and a path to one without is unknown.
    let is_read = matches!(verb, Ok(Verb::List | Verb::Watch));
    let lacks_namespace = served.facts.namespaced && path.namespace.is_empty() && !is_read;
    if lacks_namespace && !(served.is_builtin() && path.name.is_empty()) {
        return Err(not_found());
    }
    // What is not listed, as a review, has only the path where it is created.
    if !served.supports("", "list") && (lacks_namespace || !path.name.is_empty()) {
        return Err(not_found());
    }

    let verb = match verb {
        // The routes of built-in kinds are fixed, those of custom resources are not.
        Err(_) if !served.is_builtin() && !path.is_watch => custom_verb(head)?,
        verb => verb?,
    };

    if lacks_namespace {
        return Err(Failure::method_not_allowed());
    }

    if served.is_builtin() {
        let is_list = matches!(verb, Verb::List | Verb::Watch) && path.name.is_empty();
        // A list has the route of its watch.
        let produced: &[&str] = if is_list {
            &[negotiate::ACCEPTED, negotiate::STREAMED]
        } else {
            &[negotiate::ACCEPTED]
        };
        negotiate::check_route(head.header(header::ACCEPT), produced)?;
    }
    let format = match verb {
        Verb::Watch => watch::format(head, place(served, ""))?,
        _ => Format::of(
            head.header(header::ACCEPT),
            place(served, &path.subresource),
        )?,
    };
    let user_agent = head.header(header::USER_AGENT).unwrap_or_default();
    let effect = if server.faults.is_empty() {
        Effect::default()
    } else {
        server.faults.of(&Target {
            verb: record::verb_name(head, verb),
            resource: &served.group_resource(),
            subresource: &path.subresource,
            namespace: &path.namespace,
            name: &path.name,
            user_agent,
            manager: &fieldmanager_managedfields::manager_name(
                head.query.text("fieldManager"),
                user_agent,
            ),
        })
    };

    if let Some(name) = effect.name() {
        log::note(|entry| entry.fault = Some(name.to_owned()));
    }
    let call = Call {
        user,
        served,
        verb,
        namespace: &path.namespace,
        name: &path.name,
        subresource: &path.subresource,
        query: &head.query,
        content_type: head.content_type(),
        user_agent,
        body,
        stale: effect
            .stale(core, Revision::parse(head.query.text("resourceVersion")))
            .await?,
    };

    // An injected failure takes the way of a real one, so that logs and histories have it.
    let answered = match effect.before(&call).await {
        Ok(()) => rendered(core, head, &call, format, effect.cut()).await,
        Err(failure) => Err(failure),
    };
    if let Err(failure) = &answered {
        record::refused(&call, failure, effect.name().is_some());
    }
    if !effect.loses_answer() {
        return answered;
    }

    // The request has its effect and its entry in the log. Only the client learns nothing.
    let mut response = answered.unwrap_or_else(|failure| {
        log::note(|entry| entry.reason = failure.status.reason.to_owned());
        render::failure(head, failure)
    });
    response.extensions_mut().insert(Lost);
    Ok(response)
}

/// Where the answer of a resource is. What is created and not stored is not in a table.
fn place(served: &Served, subresource: &str) -> Place {
    let is_question = served
        .description()
        .is_some_and(|kind| kind.review.is_some());
    let is_asked = matches!(subresource, "binding" | "eviction" | "token");
    if is_question || is_asked || (subresource.is_empty() && !served.supports("", "get")) {
        Place::Questions
    } else if served.is_builtin() {
        Place::Objects
    } else {
        Place::CustomResources
    }
}

/// Does a request to a resource.
async fn rendered(
    core: &Arc<Core>,
    head: &Head,
    call: &Call<'_>,
    format: Format,
    cut: Option<Cut>,
) -> Result<Response<Body>, Failure> {
    let served = call.served;
    let Answer {
        code,
        warnings,
        content,
    } = core.answer(call).await?;
    let response = match content {
        Content::Watch(served, request) => {
            watch::respond(core, head, format, served, request, cut).await?
        }
        Content::Status(status) => render::status(head, code, &status, format),
        Content::Object(object) => render::object(core, head, code, served, &object, format)?,
        Content::List(list) => render::list(core, head, served, list, format)?,
    };

    Ok(render::with_warnings(response, &warnings))
}
