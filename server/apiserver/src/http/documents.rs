//! The documents that describe a server: versions, discovery, OpenAPI, health.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, header};

use super::message::{Body, Head, full, response};
use super::negotiate::{self, Format, Place};
use super::route::Route;
use super::{access, health, render};
use crate::endpoint::{Core, Failure};
use crate::facts;
use crate::registry::Registry;

/// Answers a request to a path that is no resource.
pub(super) fn document(
    core: &Arc<Core>,
    head: &Head,
    route: &Route,
) -> Result<Response<Body>, Failure> {
    // The documents of built-in versions have routes, with one method. All other documents are answers to every method.
    if let Some(produced) = produced(route, &core.registry()) {
        if head.method != Method::GET {
            return Err(Failure::method_not_allowed());
        }
        negotiate::check_route(head.header(header::ACCEPT), &[produced])?;
    }

    // All parts of an answer are from the documents of one registry, which may be replaced meanwhile.
    let documents = core.documents();
    let not_found = || path_not_found(&core.registry(), &head.path);
    let text = |document: Option<String>| document.ok_or_else(not_found);
    match route {
        Route::Health { endpoint, check } => health::health(head, endpoint, check.as_deref()),
        Route::Version => Ok(render::version(head, facts::version(), &core.build)),
        Route::Paths => render::text(head, documents.paths(health::paths())),
        Route::LegacyVersions => {
            let address = head.header(header::HOST).unwrap_or_default();
            let aggregated = || documents.discovery.aggregated_api();
            render::discovery(head, || documents.discovery.api(address), aggregated)
        }
        Route::Groups => render::discovery(
            head,
            || documents.discovery.groups(),
            || documents.discovery.aggregated(),
        ),
        Route::Group(group) => render::text(head, text(documents.discovery.group(group))?),
        Route::GroupVersion { group, version } => {
            render::text(head, text(documents.discovery.resources(group, version))?)
        }
        Route::OpenApiV2 => {
            let Ok(format) = Format::of(head.header(header::ACCEPT), Place::OpenApiV2) else {
                return Ok(empty(406));
            };
            let document = match format.media {
                negotiate::Media::OpenApiProtobuf => documents.openapi_v2_protobuf(),
                _ => documents.openapi_v2(),
            };
            Ok(render::document(head, document, &format.content_type()))
        }
        // kube-apiserver declares no type of the index, and Go guesses this one.
        Route::OpenApiV3(None) => {
            let index = documents.openapi().v3_index();
            Ok(render::document(head, index, "text/plain; charset=utf-8"))
        }
        Route::OpenApiV3(Some(path)) => {
            let accept = head.header(header::ACCEPT);
            let Some(document) = documents.openapi().v3(path) else {
                return Ok(empty(404));
            };
            // A client that wants protobuf gets JSON.
            let is_accepted = Format::of(accept, Place::Plain).is_ok()
                || accept.is_some_and(|accept| accept.contains("proto-openapi.spec.v3"));
            Ok(if is_accepted {
                render::document(head, document, "application/json")
            } else {
                empty(406)
            })
        }
        Route::TokenKeys | Route::TokenIssuer => access::token_document(core, head, route),
        Route::Metrics | Route::Test(_) | Route::Page(_) | Route::Resource(_) | Route::Unknown => {
            Err(not_found())
        }
    }
}

/// The media types of a document that has a route; `None` for others.
fn produced(route: &Route, registry: &Registry) -> Option<&'static str> {
    match route {
        Route::LegacyVersions => Some(negotiate::ACCEPTED),
        Route::GroupVersion { group, version } => registry
            .is_builtin_version(group, version)
            .then_some(negotiate::ACCEPTED),
        Route::Version | Route::TokenIssuer => Some("application/json"),
        Route::TokenKeys => Some("application/jwk-set+json"),
        _ => None,
    }
}

/// An answer without a body.
fn empty(code: u16) -> Response<Body> {
    let mut response = response(code, "", full(Bytes::new()));
    response.headers_mut().remove(header::CONTENT_TYPE);
    response
}

/// The failure of a request whose path names nothing. Built-in groups answer for all paths below them.
pub(super) fn path_not_found(registry: &Registry, path: &str) -> Failure {
    let mut segments = path.split('/').skip(1);
    let is_served = match (segments.next(), segments.next()) {
        (Some("api" | "version"), Some(_)) => true,
        (Some("apis"), Some(group)) => registry.is_builtin_group(group),
        _ => false,
    };

    if is_served {
        Failure::resource_not_found()
    } else {
        Failure::path_not_found()
    }
}
