//! The rules for list types and map types in a schema.

use fieldmanager_value::{Map, Value};

use super::keywords::{given, is_true, string, strings};
use super::schema_rules::SchemaRules;
use crate::{FieldError, FieldPath};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const KEYS: &str = "x-kubernetes-list-map-keys";

/// Adds the faults of the list and map types of one schema.
pub(super) fn check(
    schema: &Map,
    path: &FieldPath,
    rules: SchemaRules,
    errors: &mut Vec<FieldError>,
) {
    let list_type = schema.get(LIST_TYPE).and_then(Value::as_str);
    let map_type = schema.get(MAP_TYPE).and_then(Value::as_str);
    let items = schema.get("items").and_then(Value::as_map);
    // The type of the schema and the value of the extension are independent faults, so both are reported.
    if let Some(map_type) = map_type {
        has_type(schema, path, "object", MAP_TYPE, errors);
        if !["atomic", "granular"].contains(&map_type) {
            errors.push(FieldError::not_supported(
                path.child(MAP_TYPE),
                map_type,
                &["atomic", "granular"],
            ));
        }
    }

    // Only a list has items to compare, so the items of a set are checked only if the type is `array`.
    if let Some(list_type) = list_type {
        if has_type(schema, path, "array", LIST_TYPE, errors)
            && rules.atomic_sets
            && list_type == "set"
            && let Some(items) = items
        {
            atomic_items(items, &path.child("items"), errors);
        }

        if !["atomic", "set", "map"].contains(&list_type) {
            let error = FieldError::not_supported(
                path.child(LIST_TYPE),
                list_type,
                &["atomic", "set", "map"],
            );
            errors.push(error);
        }
    }

    // Keys have an effect only in a list of type map.
    let keys = strings(schema.get(KEYS));
    if !keys.is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            Some("map") => {}
            None => errors.push(FieldError::required(path.child(LIST_TYPE), detail)),
            Some(other) => errors.push(FieldError::invalid(path.child(LIST_TYPE), other, detail)),
        }
    }

    if list_type == Some("map") {
        map_list(schema, &keys, path, errors);
    }
    // `list_keys` is off for an update of a definition that violated these rules before, which may violate them again.
    if let (true, Some(list_type @ ("map" | "set")), Some(items)) =
        (rules.list_keys, list_type, items)
    {
        merged_items(items, list_type, &keys, path, errors);
    }
}

/// Checks that the schema has the type that an extension requires, and adds a fault otherwise.
fn has_type(
    schema: &Map,
    path: &FieldPath,
    expected: &str,
    extension: &str,
    errors: &mut Vec<FieldError>,
) -> bool {
    let found = string(schema, "type");
    if found == expected {
        return true;
    }
    let (path, detail) = (
        path.child("type"),
        format!("must be {expected} if {extension} is specified"),
    );
    errors.push(match found {
        "" => FieldError::required(path, detail),
        found => FieldError::invalid(path, found, detail),
    });

    false
}

/// Whether the schema is a set whose items are not atomic.
pub(super) fn has_granular_set(schema: &Map) -> bool {
    let mut errors = Vec::new();
    if let (Some("set"), Some(items)) = (
        schema.get(LIST_TYPE).and_then(Value::as_str),
        schema.get("items").and_then(Value::as_map),
    ) {
        atomic_items(items, &FieldPath::default(), &mut errors);
    }
    !errors.is_empty()
}

/// Whether the schema is a set or a list of type map whose items or keys may be absent or null.
pub(super) fn has_bad_keys(schema: &Map) -> bool {
    let mut errors = Vec::new();
    if let (Some(list_type @ ("map" | "set")), Some(items)) = (
        schema.get(LIST_TYPE).and_then(Value::as_str),
        schema.get("items").and_then(Value::as_map),
    ) {
        merged_items(
            items,
            list_type,
            &strings(schema.get(KEYS)),
            &FieldPath::default(),
            &mut errors,
        );
    }

    !errors.is_empty()
}

/// Items of a set are compared as a whole, so they must be atomic. Lists are atomic by default, maps are not.
fn atomic_items(items: &Map, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let (extension, unset) = match string(items, "type") {
        "array" => (LIST_TYPE, true),
        "object" => (MAP_TYPE, false),
        _ => return,
    };
    let found = items.get(extension).and_then(Value::as_str);

    if found.map_or(!unset, |found| found != "atomic") {
        errors.push(FieldError::invalid(
            path.child(extension),
            // As in the API server, the message shows the list type even for objects.
            items.get(LIST_TYPE).cloned().unwrap_or_default(),
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        ));
    }
}

/// A list of type map: its keys must be scalar properties of its items, which must be objects.
fn map_list(schema: &Map, keys: &[&str], path: &FieldPath, errors: &mut Vec<FieldError>) {
    if keys.is_empty() {
        errors.push(FieldError::required(
            path.child(KEYS),
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }

    let items = match given(schema, "items") {
        None => {
            errors.push(FieldError::required(
                path.child("items"),
                "must have a schema if x-kubernetes-list-type is map",
            ));
            return;
        }
        Some(Value::Map(items)) => items,
        Some(other) => {
            errors.push(FieldError::invalid(
                path.child("items"),
                other.clone(),
                "must only have a single schema if x-kubernetes-list-type is map",
            ));
            return;
        }
    };

    // The keys are properties of the items, so they are checked only if the items are objects.
    let items_path = path.child("items");
    if string(items, "type") != "object" {
        errors.push(FieldError::invalid(
            items_path.child("type"),
            string(items, "type"),
            "must be object if parent array's x-kubernetes-list-type is map",
        ));
        return;
    }

    for (at, key) in keys.iter().enumerate() {
        let all = || Value::from(keys.to_vec());
        match property(items, key) {
            None => errors.push(FieldError::invalid(
                path.child(KEYS),
                all(),
                "entries must all be names of item properties",
            )),
            Some(property) if matches!(string(property, "type"), "array" | "object") => {
                errors.push(FieldError::invalid(
                    items_path.child("properties").key(*key).child("type"),
                    // As in the API server, the message shows the type of the items.
                    string(items, "type"),
                    "must be a scalar type if parent array's x-kubernetes-list-type is map",
                ));
            }
            Some(_) => {}
        }

        if keys.iter().take(at).any(|other| other == key) {
            errors.push(FieldError::invalid(
                path.child(KEYS),
                all(),
                "must not contain duplicate entries",
            ));
        }
    }
}

fn property<'v>(schema: &'v Map, name: &str) -> Option<&'v Map> {
    schema.get("properties")?.get(name)?.as_map()
}

/// Neither the items nor the keys by which a list is merged may be absent or null.
fn merged_items(
    items: &Map,
    list_type: &str,
    keys: &[&str],
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let path = path.child("items");
    if is_true(items, "nullable") {
        errors.push(FieldError::forbidden(
            path.child("nullable"),
            format!("cannot be nullable when x-kubernetes-list-type is {list_type}"),
        ));
    }

    // A set has no keys, so only its items are checked.
    if list_type != "map" {
        return;
    }
    // An item without one of its keys could not be matched, so each key needs a value: its own or a default.
    let required = strings(items.get("required"));
    for key in keys {
        let Some(property) = property(items, key) else {
            continue;
        };
        let path = path.child("properties").key(*key);
        if !required.contains(key) && given(property, "default").is_none() {
            errors.push(FieldError::required(
                path.child("default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ));
        }

        if is_true(property, "nullable") {
            errors.push(FieldError::forbidden(
                path.child("nullable"),
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            ));
        }
    }
}
