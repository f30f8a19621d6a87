//! The kinds of dynamic resource allocation, whose version `v1beta1` has other fields.

use fieldmanager_value::{Str, Value};

use super::edit::{each, edit, set};
use crate::Kind;

/// The fields of a request that are below `exactly` since `v1beta2`.
const REQUEST: &[&str] = &[
    "adminAccess",
    "allocationMode",
    "capacity",
    "count",
    "derivedAttributes",
    "deviceClassName",
    "selectors",
    "tolerations",
];

pub(super) fn convert(from: &Kind, object: &Value, to: &Kind) -> Value {
    let is_old = |kind: &Kind| kind.gvk().version == "v1beta1";
    // An old device without `basic` gets an empty one, since the internal version has its fields in the device.
    let device = |device: &Value| match (is_old(from), is_old(to)) {
        (true, false) => lifted(device, "basic"),
        (true, true) if device.get("basic").is_none() => {
            set(device, "basic", Some(Value::Map(Default::default())))
        }
        (false, true) => lowered(device, "basic", |name| name != "name", true),
        _ => device.clone(),
    };
    // A request with none of the fields has no `exactly` part.
    let request = |request: &Value| match (is_old(from), is_old(to)) {
        (true, false) => lowered(request, "exactly", |name| REQUEST.contains(&name), false),
        (false, true) => lifted(request, "exactly"),
        _ => request.clone(),
    };

    let requests = |spec: &Value| {
        edit(spec, "devices", |devices| {
            edit(devices, "requests", |list| each(list, request))
        })
    };

    match from.gvk().kind.as_str() {
        "ResourceSlice" => edit(object, "spec", |spec| {
            edit(spec, "devices", |list| each(list, device))
        }),
        "ResourceClaim" => edit(object, "spec", requests),
        "ResourceClaimTemplate" => edit(object, "spec", |spec| edit(spec, "spec", requests)),
        _ => object.clone(),
    }
}

/// A map with the fields of a part of it in its place.
fn lifted(object: &Value, part: &str) -> Value {
    let (Value::Map(fields), Some(Value::Map(inner))) = (object, object.get(part)) else {
        return object.clone();
    };
    let outer = fields.iter().filter(|(name, _)| **name != part);
    Value::Map(
        outer
            .chain(inner)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

/// A map with some of its fields in a part of it. Without such fields, the part is absent unless it is `needed`.
fn lowered(object: &Value, part: &str, belongs: impl Fn(&str) -> bool, needed: bool) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    let copy = |(name, value): (&Str, &Value)| (name.clone(), value.clone());
    let inner: fieldmanager_value::Map = fields
        .iter()
        .filter(|(name, _)| belongs(name))
        .map(copy)
        .collect();
    let outer = fields.iter().filter(|(name, _)| !belongs(name)).map(copy);
    // Empty strings are what Go writes for fields that are not set.
    let part = (needed || inner.iter().any(|(_, value)| *value != Value::from("")))
        .then(|| (part.into(), Value::Map(inner)));

    Value::Map(outer.chain(part).collect())
}
