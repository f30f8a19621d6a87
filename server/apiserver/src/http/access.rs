//! Who sends a request, and whether they may.

use std::sync::Arc;

use fieldmanager_access::tokens::KEY_SET_PATH;
use fieldmanager_access::{Attributes, Impersonation, User};
use http::{Response, header};

use super::message::{Body, Head, full, response};
use super::route::{ResourcePath, Route};
use super::verb::{custom_verb, verb};
use crate::endpoint::{Core, Failure, Verb};
use crate::log;

/// The user of a request that may proceed: the fixed one of a handle, or the one that its credentials name.
pub(super) async fn user(
    core: &Core,
    fixed: Option<&Arc<User>>,
    head: &Head,
    route: &Route,
) -> Result<Arc<User>, Failure> {
    let user = match fixed {
        Some(user) => user.clone(),
        None => {
            let authorization = head.header(header::AUTHORIZATION);
            core.authenticate(authorization, head.peer.as_ref()).await?
        }
    };

    // The user may ask to be answered as another one.
    let headers = head.headers.iter();
    let headers = headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let impersonation = Impersonation::from_headers(headers)?;
    log::note(|entry| entry.user = user.name.clone());
    if impersonation.is_none() && !core.access.has_rules() {
        return Ok(user);
    }

    let (verb, name) = verb_and_name(head, route);
    let asked = Attributes::new(&user, &verb);
    let asked = match route {
        Route::Resource(path) => of_resource(asked, path, &name),
        _ => Attributes {
            path: Some(&head.path),
            ..asked
        },
    };
    let user = match impersonation {
        Some(wanted) => {
            let user = Arc::new(core.impersonated(&wanted, &asked).await?);
            log::note(|entry| entry.user = user.name.clone());
            user
        }
        None => user.clone(),
    };
    let user_asks = Attributes {
        user: &user,
        ..asked
    };
    core.check(&user_asks).await?;
    Ok(user)
}

/// The document by which others verify tokens of service accounts.
pub(super) fn token_document(
    core: &Core,
    head: &Head,
    route: &Route,
) -> Result<Response<Body>, Failure> {
    let issuer = core.issuer()?;
    if *route == Route::TokenKeys {
        let keys = issuer.key_set();
        return Ok(response(200, "application/jwk-set+json", full(keys)));
    }
    // Others read the keys over TLS, which a port that is described without it has too.
    let url = head.url();
    let host = url
        .split_once("://")
        .map_or("kubernetes.default.svc", |(_, host)| host);
    let text = issuer.configuration(&format!("https://{host}{KEY_SET_PATH}"));
    let text = text.ok_or_else(Failure::path_not_found)?;
    Ok(response(200, "application/json", full(text)))
}

fn of_resource<'a>(asked: Attributes<'a>, path: &'a ResourcePath, name: &'a str) -> Attributes<'a> {
    // A namespace is in itself.
    let is_namespace = path.plural == "namespaces" && path.group.is_empty();
    Attributes {
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
        ..asked
    }
}

/// The verb of a request, and the name of its object; that of a list is in its selector.
///
/// Behaviour: `RequestInfoFactory` of `k8s.io/apiserver/pkg/endpoints/request`, which gives a verb to methods that a path does not
/// have, too.
fn verb_and_name(head: &Head, route: &Route) -> (String, String) {
    let Route::Resource(path) = route else {
        return (head.method.as_str().to_ascii_lowercase(), String::new());
    };
    if path.is_watch {
        return (Verb::Watch.name().to_owned(), path.name.clone());
    }
    let verb = verb(head, path).or_else(|_| custom_verb(head)).ok();
    let name = match verb {
        Some(Verb::List | Verb::Watch) => selected_name(head).to_owned(),
        _ => path.name.clone(),
    };
    (verb.map_or("", Verb::name).to_owned(), name)
}

/// The name of the object that a field selector asks for; empty if it asks for others too.
fn selected_name(head: &Head) -> &str {
    let selector = head.query.text("fieldSelector").split(',');
    let mut names =
        selector.filter_map(|term| term.strip_prefix("metadata.name")?.strip_prefix('='));
    names.next().map_or("", |name| name.trim_start_matches('='))
}
