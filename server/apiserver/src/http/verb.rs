//! The verb of a request.

use http::Method;

use super::message::Head;
use super::route::{ResourcePath, Route};
use crate::endpoint::{Failure, Verb};

/// The verb of a request to a resource.
pub(super) fn verb(head: &Head, path: &ResourcePath) -> Result<Verb, Failure> {
    let collection = path.name.is_empty();
    Ok(match head.method {
        Method::GET | Method::HEAD if path.is_watch => Verb::Watch,
        Method::GET | Method::HEAD if collection && head.query.flag("watch") => Verb::Watch,
        Method::GET | Method::HEAD if collection => Verb::List,
        Method::GET | Method::HEAD => Verb::Get,
        // Old clients read at the paths of watches, and write nowhere else than others.
        _ if path.is_watch => return Err(Failure::method_not_allowed()),
        Method::POST if collection || !path.subresource.is_empty() => Verb::Create,
        Method::PUT if !collection => Verb::Update,
        Method::PATCH if !collection => Verb::Patch,
        Method::DELETE if collection => Verb::DeleteCollection,
        Method::DELETE => Verb::Delete,
        _ => return Err(Failure::method_not_allowed()),
    })
}

/// The verb of a request to an object that creates, or to a collection that changes. The handlers of custom resources take
/// the name of the body for the former, and refuse the latter.
pub(super) fn custom_verb(head: &Head) -> Result<Verb, Failure> {
    match head.method {
        Method::POST => Ok(Verb::Create),
        Method::PUT => Ok(Verb::Update),
        Method::PATCH => Ok(Verb::Patch),
        _ => Err(Failure::method_not_allowed()),
    }
}

/// Whether a request is a watch.
pub(super) fn is_watch(head: &Head, route: &Route) -> bool {
    matches!(route, Route::Resource(path) if verb(head, path).is_ok_and(|verb| verb == Verb::Watch))
}
