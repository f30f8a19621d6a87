//! The `metadata` of objects: what the server fills in, what a request cannot change, and what must agree with the path.

use std::collections::BTreeSet;

use fieldmanager_managedfields::{Status, Time};
use fieldmanager_value::{List, Map, Str, Value};

use crate::warnings::Warnings;

/// The string at `metadata.NAME`; empty if there is none.
pub(crate) fn text<'v>(object: &'v Value, name: &str) -> &'v str {
    field(object, name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The value at `metadata.NAME` unless it is null.
pub(crate) fn field<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object
        .get("metadata")?
        .get(name)
        .filter(|value| !value.is_null())
}

/// The object with fields of its metadata set or removed.
pub(crate) fn with(object: &Value, mut edits: Vec<(&'static str, Option<Value>)>) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };

    // A map is edited in the order of its names.
    edits.sort_by_key(|(name, _)| *name);
    let edits = edits
        .into_iter()
        .map(|(name, value)| (Str::from(name), value))
        .collect();
    let metadata = match fields.get("metadata") {
        Some(Value::Map(metadata)) => metadata.with_edits(edits),
        _ => Map::new().with_edits(edits),
    };

    Value::Map(fields.with_edits(vec![("metadata".into(), Some(Value::Map(metadata)))]))
}

/// Removes what only the server sets.
///
/// Behaviour: `WipeObjectMetaSystemFields` of `k8s.io/apiserver/pkg/registry/rest`.
pub(crate) fn without_system_fields(object: &Value) -> Value {
    let wiped = [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "selfLink",
        "uid",
    ];
    with(object, wiped.into_iter().map(|name| (name, None)).collect())
}

/// Fills in what the server sets in a new object, and generates its name.
pub(crate) fn with_system_fields(object: &Value, now: Time, uid: &str, name_suffix: &str) -> Value {
    let mut edits = vec![
        (
            "creationTimestamp",
            Some(Value::from(now.to_string().as_str())),
        ),
        ("uid", Some(Value::from(uid))),
        ("resourceVersion", None),
    ];
    if let Some(name) = generated_name(object, name_suffix) {
        edits.push(("name", Some(Value::from(name.as_str()))));
    }

    with(object, edits)
}

/// The longest base of a generated name, in bytes: 63 without the random characters.
const LONGEST_BASE: usize = 58;

/// The name of an object that has a base for it, and no name.
fn generated_name(object: &Value, suffix: &str) -> Option<String> {
    let base = text(object, "generateName");
    if base.is_empty() || !text(object, "name").is_empty() {
        return None;
    }

    // The limit counts bytes, and a cut inside of a character would not be valid UTF-8.
    let end = (0..=LONGEST_BASE.min(base.len()))
        .rev()
        .find(|end| base.is_char_boundary(*end))
        .unwrap_or(0);
    Some(format!("{}{suffix}", base.get(..end).unwrap_or_default()))
}

/// Sets the namespace of the path in an object that has none, and refuses another one. Cluster-scoped objects have none.
///
/// Behaviour: `EnsureObjectNamespaceMatchesRequestNamespace` of `k8s.io/apiserver/pkg/registry/rest`.
pub(crate) fn in_namespace(object: &Value, namespace: &str) -> Result<Value, Status> {
    let own = text(object, "namespace");
    if own == namespace {
        return Ok(object.clone());
    }
    if own.is_empty() {
        return Ok(with(
            object,
            vec![("namespace", Some(Value::from(namespace)))],
        ));
    }

    // An object that is not in a namespace ignores the one that it names.
    if namespace.is_empty() {
        return Ok(with(object, vec![("namespace", None)]));
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// Checks that the object has the name of the path.
pub(crate) fn check_name(object: &Value, name: &str, namespace: &str) -> Result<(), Status> {
    let own = text(object, "name");
    if own.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }

    if own != name {
        return Err(Status::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        )));
    }

    // Only two different namespaces are a mismatch: the object or the path of a cluster-scoped resource has none.
    let own = text(object, "namespace");
    if !namespace.is_empty() && !own.is_empty() && own != namespace {
        return Err(Status::bad_request(format!(
            "the namespace of the object ({own}) does not match the namespace on the request ({namespace})"
        )));
    }
    Ok(())
}

/// The object with its metadata and no other field.
pub(crate) fn alone(object: &Value) -> Value {
    let edits = vec![("metadata".into(), object.get("metadata").cloned())];
    Value::Map(Map::new().with_edits(edits))
}

/// Drops owner references that occur again, with a warning that names their uids.
pub(crate) fn without_duplicate_owners(
    object: &Value,
    warnings: &mut Warnings,
    admitted: bool,
) -> Value {
    let Some(Value::List(owners)) = field(object, "ownerReferences") else {
        return object.clone();
    };

    // References are compared as a whole: two with the same uid and different fields are both kept.
    let mut known = BTreeSet::new();
    let (kept, duplicates): (Vec<&Value>, Vec<&Value>) =
        owners.iter().partition(|owner| known.insert(*owner));
    if duplicates.is_empty() {
        return object.clone();
    }

    let uid = |owner: &Value| {
        owner
            .get("uid")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };

    // The check after admission has a text of its own.
    let after = if admitted {
        " after mutating admission happens"
    } else {
        ""
    };

    warnings.add(format!(
        ".metadata.ownerReferences contains duplicate entries{after}; API server dedups owner references in 1.20+, and \
         may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        duplicates.iter().map(|owner| uid(owner)).collect::<Vec<_>>().join(", ")
    ));
    let owners: List = kept.into_iter().cloned().collect();
    with(object, vec![("ownerReferences", Some(Value::List(owners)))])
}

/// What an update cannot change takes the values of the live object.
///
/// Behaviour: `BeforeUpdate` of `k8s.io/apiserver/pkg/registry/rest`, and `PrepareObjectForStorage` of
/// `k8s.io/apiserver/pkg/storage`, which a dry run does not reach.
pub(crate) fn with_kept_fields(object: &Value, live: &Value, is_stored: bool) -> Value {
    let mut edits: Vec<(&'static str, Option<Value>)> = Vec::new();
    let mut keep = |name: &'static str| edits.push((name, field(live, name).cloned()));
    if text(object, "uid").is_empty() {
        keep("uid");
    }

    // A live time replaces that of the request, also one that the request removes.
    for name in ["creationTimestamp", "deletionTimestamp"] {
        if field(live, name).is_some() {
            keep(name);
        }
    }

    // A missing grace period is filled in only, so that a request can set another one.
    let grace = "deletionGracePeriodSeconds";
    if field(live, grace).is_some() && field(object, grace).is_none() {
        keep(grace);
    }
    if is_stored && field(object, "selfLink").is_some() {
        edits.push(("selfLink", None));
    }

    if edits.is_empty() {
        object.clone()
    } else {
        with(object, edits)
    }
}

/// A decoded object whose managed fields are reset, if its document has an empty list of them: decoding drops that.
pub(crate) fn with_reset_of(object: Value, document: &Value) -> Value {
    let entries = field(document, "managedFields").and_then(Value::as_list);
    if !entries.is_some_and(List::is_empty) {
        return object;
    }
    // An empty entry has the same effect.
    let reset = Value::from(vec![Value::Map(Map::new())]);
    with(&object, vec![("managedFields", Some(reset))])
}

/// The number at `metadata.generation`.
pub(crate) fn generation(object: &Value) -> i64 {
    field(object, "generation")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// The object with a generation; 0 removes it.
pub(crate) fn with_generation(object: &Value, generation: i64) -> Value {
    let value = (generation != 0).then_some(Value::Int(generation));
    with(object, vec![("generation", value)])
}

/// Whether an update ends a terminating object: the last finalizer is gone, and no grace period is left. A namespace has
/// finalizers in `spec` too.
///
/// Behaviour: `ShouldDeleteDuringUpdate` of `k8s.io/apiserver/pkg/registry/generic/registry`, and
/// `ShouldDeleteNamespaceDuringUpdate` of `k8s.io/kubernetes/pkg/registry/core/namespace/storage`.
pub(crate) fn ends(object: &Value, live: &Value, is_namespace: bool) -> bool {
    let has = |list: Option<&Value>| {
        list.and_then(Value::as_list)
            .is_some_and(|list| !list.is_empty())
    };
    let own = object
        .get("spec")
        .and_then(|spec| spec.get("finalizers"))
        .filter(|_| is_namespace);

    // The finalizers count as the request leaves them, the deletion as it was before: no update starts one.
    let finalizers = has(field(object, "finalizers")) || has(own);
    let grace = field(live, "deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default();

    !finalizers && field(live, "deletionTimestamp").is_some() && grace == 0
}
