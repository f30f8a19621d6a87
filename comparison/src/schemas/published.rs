//! The parts of an answer about a custom resource definition that are compared.

use std::collections::BTreeSet;

use crate::json::{children_mut, items, members, unset};
use serde_json::{Value, json};

/// The library publishes the definitions of `meta/v1` that a custom resource refers to, and no others.
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// Both answers without the parts that may differ.
pub(super) fn comparable(reference: &Value, candidate: &Value) -> (Value, Value) {
    // A definition of `meta/v1` is compared if the library publishes it at any version.
    let mut known = BTreeSet::new();
    let versions = members(candidate, "versions");
    for (_, version) in versions {
        let definitions = members(version, "openapi");
        known.extend(definitions.map(|(name, _)| name.clone()));
    }

    let known = |name: &str| !name.starts_with(META) || known.contains(name);
    let both = [reference, candidate].map(|answer| {
        let mut answer = answer.clone();
        publish(&mut answer, &known);
        if let Some(Value::Array(types)) = answer.pointer_mut("/schema/types") {
            types.retain(|ty| ty.get("name").and_then(Value::as_str).is_some_and(known));
        }

        // Cutting changes the texts that errors are sorted by, so they are sorted at the end.
        if let Some(Value::Array(errors)) = answer.get_mut("errors") {
            errors.retain(|error| error.as_str().is_some_and(|text| !is_unchecked(text)));
            errors.iter_mut().for_each(cut_pattern);
            errors.iter_mut().for_each(cut_schema);
            errors.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        }

        if let Some(message) = answer.pointer_mut("/condition/message") {
            cut_pattern(message);
        }
        answer
    });
    let [reference, candidate] = both;

    (reference, candidate)
}

/// Removes the parts that the library does not publish: other definitions, and descriptions.
fn publish(answer: &mut Value, known: &dyn Fn(&str) -> bool) {
    let Some(Value::Object(versions)) = answer.get_mut("versions") else {
        return;
    };
    for version in versions.values_mut() {
        let Some(Value::Object(definitions)) = version.get_mut("openapi") else {
            continue;
        };
        definitions.retain(|name, _| known(name));
        for definition in definitions.values_mut() {
            remove(definition, &["description"]);
            // A reference with a description has an `allOf` in Go alone, so the description goes first.
            bare_references(definition);
        }
    }
}

/// A reference with other keywords beside it is in an `allOf`, which is not needed without descriptions.
fn bare_references(schema: &mut Value) {
    // Another keyword beside the `allOf` gives it a meaning of its own.
    let alone = schema.as_object().is_some_and(|members| members.len() == 1);
    match items(schema, "allOf") {
        [only] if alone && only.get("$ref").is_some() => *schema = only.clone(),
        _ => parts_of_schema(schema).for_each(bare_references),
    }
}

/// The items and members of a part of a schema, but not its default and its example.
pub(super) fn parts_of_schema(schema: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    let Value::Object(members) = schema else {
        return children_mut(schema);
    };
    let parts = members.iter_mut();
    Box::new(
        parts
            .filter(|(name, _)| *name != "default" && *name != "example")
            .map(|(_, part)| part),
    )
}

/// Whether an error is of a rule that the library documents as unchecked: expressions, and defaults that do not fit their
/// schema.
fn is_unchecked(error: &str) -> bool {
    let (path, detail) = error.split_once(": ").unwrap_or((error, ""));
    let in_default =
        path.ends_with(".default") || path.contains(".default.") || path.contains(".default[");
    // These rules are about having a default at all, and are checked.
    let about_default = ["must not be set", "must be undefined to be structural"];
    path.contains(".x-kubernetes-validations[")
        || path.ends_with(".x-kubernetes-validations") && detail.starts_with("Internal error")
        || in_default && !about_default.iter().any(|text| detail.contains(text))
}

/// Removes the schema from an error that prints all of it: Go prints every field of its internal type.
///
/// Two rules do so: that for fields at the root, which names the allowed ones, and that for `items`.
fn cut_schema(text: &mut Value) {
    const ITEMS: &str = ": must only have a single schema";
    let Some((head, shown)) = text
        .as_str()
        .and_then(|text| text.split_once(": Invalid value: "))
    else {
        return;
    };

    // The schema may contain any text, so each message is found by its own words around it.
    if let Some((_, tail)) = shown
        .split_once(": only [Description ")
        .filter(|_| shown.starts_with('{'))
    {
        *text = json!(format!("{head}: only [{tail}"));
    } else if let Some((_, tail)) = shown.rsplit_once(ITEMS) {
        *text = json!(format!("{head}{ITEMS}{tail}"));
    }
}

/// Removes Go's message about a pattern, since another parser has different messages.
pub(super) fn cut_pattern(text: &mut Value) {
    if let Some((head, _)) = text.as_str().and_then(|text| text.split_once("isn't: ")) {
        *text = json!(head);
    }
}

/// Removes members by name, at any depth except inside defaults.
pub(super) fn remove(value: &mut Value, names: &[&str]) {
    for name in names {
        unset(value, name);
    }
    parts_of_schema(value).for_each(|part| remove(part, names));
}
