//! Who sends a request, and whether they may.

use std::sync::Arc;

use fieldmanager_access::{Attributes, Impersonation, Target, User};
use http::{Method, header};

use super::message::Head;
use super::route::{ResourcePath, Route};
use super::{Context, log};
use crate::endpoint::Failure;

/// The user of a request that may proceed.
pub(super) async fn user(
    server: &Context<'_>,
    head: &Head,
    route: &Route,
) -> Result<Arc<User>, Failure> {
    let core = server.core;
    let mut user = match server.user {
        Some(user) => user.clone(),
        None => {
            let authorization = head.header(header::AUTHORIZATION);
            core.authenticate(authorization, head.peer.as_ref()).await?
        }
    };

    let headers = head.headers.iter();
    let headers = headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let impersonation = Impersonation::from_headers(headers)?;
    log::note(|entry| entry.user = user.name.clone());
    if impersonation.is_none() && !core.access.has_rules() {
        return Ok(user);
    }

    let (verb, name) = verb_and_name(head, route);
    let target = match route {
        Route::Resource(path) => target(path, &name),
        _ => Target::Path(&head.path),
    };
    let attributes = Attributes {
        user: &user.clone(),
        verb: &verb,
        target,
    };
    if let Some(wanted) = impersonation {
        user = Arc::new(core.impersonated(&wanted, &attributes).await?);
        log::note(|entry| entry.user = user.name.clone());
    }
    let attributes = Attributes {
        user: &user,
        ..attributes
    };
    core.check(&attributes).await?;
    Ok(user)
}

fn target<'a>(path: &'a ResourcePath, name: &'a str) -> Target<'a> {
    // A namespace is in itself.
    let is_namespace = path.plural == "namespaces" && path.group.is_empty();
    Target::Resource {
        group: &path.group,
        version: &path.version,
        resource: &path.plural,
        subresource: &path.subresource,
        namespace: if is_namespace {
            &path.name
        } else {
            &path.namespace
        },
        name,
    }
}

/// The verb of a request, and the name of its object; that of a list is in its selector.
///
/// Behaviour: `RequestInfoFactory` of `k8s.io/apiserver/pkg/endpoints/request`.
fn verb_and_name(head: &Head, route: &Route) -> (String, String) {
    let Route::Resource(path) = route else {
        return (head.method.as_str().to_ascii_lowercase(), String::new());
    };
    let is_get = matches!(head.method, Method::GET | Method::HEAD);
    let is_collection = path.name.is_empty();
    let wants_watch = || head.query.optional_flag("watch").unwrap_or_default();
    let verb = match head.method {
        _ if path.is_watch => "watch",
        _ if is_get && is_collection && wants_watch() => "watch",
        _ if is_get && is_collection => "list",
        _ if is_get => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_collection => "deletecollection",
        Method::DELETE => "delete",
        _ => "",
    };

    let selected = || {
        let selector = head.query.text("fieldSelector").split(',');
        let mut names =
            selector.filter_map(|term| term.strip_prefix("metadata.name")?.strip_prefix('='));
        let name = names
            .next()
            .map(|name| name.trim_start_matches('='))
            .unwrap_or_default();
        name.to_owned()
    };
    let name = if is_get && is_collection && !path.is_watch {
        selected()
    } else {
        path.name.clone()
    };
    (verb.to_owned(), name)
}
