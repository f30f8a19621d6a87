//! Answers a request as `serve` does: the request that a client would send, given to the handlers.

use fieldmanager_handlers::{Outcome, Refused, Request, Resource, Subresource};
use fieldmanager_managedfields::{RequestOptions, Time};
use fieldmanager_patch::PatchType;
use fieldmanager_value::Value;

/// The namespace of objects that name none.
const NAMESPACE: &str = "default";

/// The uid of a new object, which has none until a server stores it.
pub(crate) const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// The version of a live object that names none.
const NO_VERSION: &str = "1";

/// The effect of a request on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Apply,
    /// Replaces the object, or creates it.
    Update,
    Patch(PatchType),
}

/// A request that writes an object.
pub(crate) struct Asked<'a> {
    pub(crate) verb: Verb,
    pub(crate) subresource: Subresource,
    /// The live object; null if there is none.
    pub(crate) live: &'a Value,
    /// The configuration, the new object, or the patch.
    pub(crate) given: &'a Value,
    pub(crate) options: RequestOptions,
    pub(crate) user_agent: &'a str,
    pub(crate) now: Time,
    /// The uid of an object that the request creates.
    pub(crate) uid: &'a str,
    /// The end of a generated name.
    pub(crate) name_suffix: &'a str,
}

/// The live object as a server has it: at a version, and in a namespace if its kind is namespaced.
pub(crate) fn stored(resource: &Resource, live: &Value) -> Value {
    let Value::Map(fields) = live else { return live.clone() };
    let before = live.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    let mut edits = Vec::new();
    if resource.is_namespaced() && metadata(live, "namespace").is_empty() {
        edits.push(("namespace".into(), Some(NAMESPACE.into())));
    }
    if metadata(live, "resourceVersion").is_empty() {
        edits.push(("resourceVersion".into(), Some(NO_VERSION.into())));
    }
    let metadata = Value::Map(before.with_edits(edits));
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(metadata))]))
}

/// A new object without the uid and the version that no server gave it.
pub(crate) fn unstored(live: &Value, object: &Value) -> Value {
    let (Value::Map(fields), Some(Value::Map(before))) = (object, object.get("metadata")) else {
        return object.clone();
    };
    let mut edits = Vec::new();
    if metadata(live, "resourceVersion").is_empty() {
        edits.push(("resourceVersion".into(), None));
    }
    if metadata(object, "uid") == NO_UID {
        edits.push(("uid".into(), None));
    }
    let metadata = Value::Map(before.with_edits(edits));
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(metadata))]))
}

/// The answer to a request. The path names the live object, or else the given one.
pub(crate) fn answer(resource: &Resource, asked: &Asked<'_>) -> Result<Outcome, Refused> {
    let live = (!asked.live.is_null()).then_some(asked.live);
    let either = |name: &str| match metadata(asked.live, name) {
        "" => metadata(asked.given, name),
        text => text,
    };
    let namespace = match either("namespace") {
        _ if !resource.is_namespaced() => "",
        "" => NAMESPACE,
        namespace => namespace,
    };
    let content_type = match asked.verb {
        Verb::Apply => PatchType::Apply.content_type(),
        Verb::Update => "application/json",
        Verb::Patch(how) => how.content_type(),
    };
    let is_create = asked.verb == Verb::Update && live.is_none();
    let request = Request::new(asked.now)
        .subresource(asked.subresource)
        .namespace(namespace)
        .name(if is_create { "" } else { either("name") })
        .content_type(content_type)
        .user_agent(asked.user_agent)
        .options(asked.options.clone())
        .uid(asked.uid)
        .name_suffix(asked.name_suffix);
    let body = asked.given.to_json().into_bytes();
    match asked.verb {
        Verb::Update if is_create => resource.create(&request, None, &body),
        Verb::Update => resource.update(&request, live, &body),
        Verb::Apply | Verb::Patch(_) => resource.patch(&request, live, &body),
    }
}

fn metadata<'v>(object: &'v Value, name: &str) -> &'v str {
    object.get("metadata").and_then(|metadata| metadata.get(name)?.as_str()).unwrap_or_default()
}
