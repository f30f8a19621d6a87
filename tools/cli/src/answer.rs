//! Answers a request as `serve` does: the request that a client would send, given to the handlers.

use fieldmanager_handlers::{Outcome, Refused, Request, Resource};
use fieldmanager_harness::internal::with_metadata;
use fieldmanager_patch::PatchType;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

/// The namespace of objects that name none.
const NAMESPACE: &str = "default";

/// The uid of a new object, which has none until a server stores it.
pub(crate) const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// The version of a live object that names none.
const NO_VERSION: &str = "1";

/// The effect of a request on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Applies a configuration.
    Apply,
    /// Replaces the object, or creates it.
    Update,
    /// Patches the object.
    Patch(PatchType),
}

/// The live object as a server has it: at a version, and in a namespace if its kind is namespaced.
pub fn stored(resource: &Resource, live: &Value) -> Value {
    if live.is_null() {
        return live.clone();
    }
    let mut edits = Vec::new();
    if resource.is_namespaced() && live.metadata_string("namespace").is_empty() {
        edits.push(("namespace", Some(NAMESPACE.into())));
    }
    if live.metadata_string("resourceVersion").is_empty() {
        edits.push(("resourceVersion", Some(NO_VERSION.into())));
    }

    with_metadata(live, edits)
}

/// A new object without the uid and the version that no server gave it.
pub(crate) fn unstored(live: &Value, object: &Value) -> Value {
    let mut edits = Vec::new();
    if live.metadata_string("resourceVersion").is_empty() {
        edits.push(("resourceVersion", None));
    }
    if object.metadata_string("uid") == NO_UID {
        edits.push(("uid", None));
    }
    with_metadata(object, edits)
}

/// The answer to a request that writes an object: `given` is the configuration, the new object, or the patch, and `live` is
/// null if there is no object. The path names the live object, or else the given one.
pub fn answer(
    resource: &Resource,
    verb: Verb,
    live: &Value,
    given: &Value,
    request: Request<'_>,
) -> Result<Outcome, Refused> {
    // A patch or a configuration may leave out the name, which is in the path of a request.
    let either = |name: &str| match live.metadata_string(name) {
        "" => given.metadata_string(name),
        text => text,
    };
    let namespace = match either("namespace") {
        _ if !resource.is_namespaced() => "",
        "" => NAMESPACE,
        namespace => namespace,
    };
    let live = (!live.is_null()).then_some(live);
    // An update without a live object is a create, whose path has no name.
    let is_create = verb == Verb::Update && live.is_none();
    let request = request
        .namespace(namespace)
        .name(if is_create { "" } else { either("name") });

    let body = given.to_json().into_bytes();
    match verb {
        Verb::Update if is_create => {
            resource.create(&request.content_type("application/json"), None, &body)
        }
        Verb::Update => resource.update(&request.content_type("application/json"), live, &body),
        Verb::Apply => {
            let content_type = PatchType::Apply.content_type();
            resource.patch(&request.content_type(content_type), live, &body)
        }
        Verb::Patch(how) => resource.patch(&request.content_type(how.content_type()), live, &body),
    }
}
