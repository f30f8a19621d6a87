//! Who sends a request, and whether they may.

use std::borrow::Cow;
use std::sync::Arc;

use fieldmanager_access::tokens::KEY_SET_PATH;
use fieldmanager_access::{Attributes, Impersonation, User};
use http::{Response, header};

use super::message::{Body, Head, full, response};
use super::route::{ResourcePath, Route};
use super::verb::{custom_verb, verb};
use crate::endpoint::{Core, Failure, Verb};
use crate::flows::Flow;
use crate::log;

/// The user of a request that may proceed: the fixed one of a handle, or the one that its credentials name. `flow` is set as
/// soon as the user is known, since a request that is refused is classified too.
pub(super) async fn user(
    core: &Core,
    fixed: Option<&Arc<User>>,
    head: &Head,
    route: &Route,
    flow: &mut Option<Flow>,
) -> Result<Arc<User>, Failure> {
    let sender = match fixed {
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
    log::note(|entry| entry.user = sender.name.clone());

    let (verb, name) = verb_and_name(head, route);
    let asked = attributes(&sender, head, route, &verb, name);
    let user = match impersonation {
        Some(wanted) => {
            let user = Arc::new(core.impersonated(&wanted, &asked).await?);
            log::note(|entry| entry.user = user.name.clone());
            user
        }
        None => sender.clone(),
    };

    let user_asks = Attributes {
        user: &user,
        ..asked
    };
    *flow = core.flow(&user_asks).await;
    if core.access.has_rules() {
        core.check(&user_asks).await?;
    }
    Ok(user)
}

/// How a request that is answered without credentials is classified.
pub(super) async fn flow(core: &Core, user: &User, head: &Head, route: &Route) -> Option<Flow> {
    let (verb, name) = verb_and_name(head, route);
    core.flow(&attributes(user, head, route, &verb, name)).await
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

fn attributes<'a>(
    user: &'a User,
    head: &'a Head,
    route: &'a Route,
    verb: &'a str,
    name: &'a str,
) -> Attributes<'a> {
    let asked = Attributes::new(user, verb);
    match route {
        Route::Resource(path) => of_resource(asked, path, name),
        _ => Attributes {
            path: Some(&head.path),
            ..asked
        },
    }
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
fn verb_and_name<'a>(head: &'a Head, route: &'a Route) -> (Cow<'a, str>, &'a str) {
    let Route::Resource(path) = route else {
        return (head.method.as_str().to_ascii_lowercase().into(), "");
    };
    if path.is_watch {
        return (Verb::Watch.name().into(), &path.name);
    }
    let verb = verb(head, path).or_else(|_| custom_verb(head)).ok();
    let name = match verb {
        Some(Verb::List | Verb::Watch) => selected_name(head),
        _ => &path.name,
    };
    (verb.map_or("", Verb::name).into(), name)
}

/// The name of the object that a field selector asks for; empty if it asks for others too.
fn selected_name(head: &Head) -> &str {
    let selector = head.query.text("fieldSelector").split(',');
    let mut names =
        selector.filter_map(|term| term.strip_prefix("metadata.name")?.strip_prefix('='));
    names.next().map_or("", |name| name.trim_start_matches('='))
}
