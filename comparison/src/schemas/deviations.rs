//! The listed deviations, each with the name of its section in `docs/deviations.md`.
//!
//! A rule computes the answer that the library must give, or matches a refusal as narrowly as possible: a difference that
//! only looks like a listed one must stay a difference.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::compare::{Outcome, Part, compare, outcome};
use super::published::parts_of_schema;
use crate::json::items;

/// A reference to a definition that only refers to another one: the Go code leaves it dangling.
pub(super) const ALIAS: &str = "openapi-alias";
/// A reference to a definition that does not exist, or to one that refers to itself.
pub(super) const MISSING: &str = "openapi-missing-definition";
/// A list with a key that its items do not declare: in Go, every object with an item is invalid.
pub(super) const UNKNOWN_KEY: &str = "openapi-unknown-key";
/// A keyword with a value of the wrong type, which the Go code treats as absent.
pub(super) const WRONG_TYPE: &str = "openapi-wrong-type";
/// Extensions that the Go converter does not read: unions and kinds.
pub(super) const UNREAD_EXTENSION: &str = "openapi-unread-extension";
/// Keywords that the library does not read, because they do not affect types.
pub(super) const UNREAD_KEYWORD: &str = "openapi-unread-keyword";
/// A schema fault that the Go code reports only when it uses the faulty part.
pub(super) const SCHEMA_REFUSED: &str = "schema-refused";

/// `additionalProperties` inside junctors, which the Go code reads and does not write.
pub(super) const NESTED_ADDITIONAL: &str = "structural-nested-additional";
/// An empty list or map for a keyword, which the Go code distinguishes from an absent one in two comparisons.
pub(super) const EMPTY_KEYWORD: &str = "structural-empty-keyword";
/// A definition with a schema that cannot be read: the Go code then cannot read the definition.
pub(super) const CRD_UNREADABLE: &str = "crd-unreadable-schema";
/// Errors of a schema that all versions share: the Go code reports them at a path that the definition does not have, and
/// checks the first version only.
pub(super) const CRD_PATH: &str = "crd-error-path";

/// The names of the deviations that explain all differences of two answers; `None` if one is not explained.
pub(super) fn explain(
    request: &Value,
    reference: &Value,
    candidate: &Value,
    differences: &[Part],
) -> Option<Vec<&'static str>> {
    match request.get("op")?.as_str()? {
        "openapi" => openapi(request, reference, candidate),
        "crd" => crd(request, reference, candidate, differences),
        _ => {
            let each = differences
                .iter()
                .map(|difference| one(request, difference));
            each.collect()
        }
    }
}

fn one(request: &Value, difference: &Part) -> Option<&'static str> {
    let op = request.get("op")?.as_str()?;
    let Part {
        what,
        reference,
        candidate,
    } = difference;

    if matches!(
        (op, what.as_str()),
        ("structural", "openapi" | "unfolded") | ("prunedefaults", "schema") | ("crd", "versions")
    ) {
        // Go writes less than the library, so the same parts are removed from the answer of the library.
        let mut expected = candidate.clone();
        without_nested_additional(&mut expected, false);
        return (expected == *reference).then_some(NESTED_ADDITIONAL);
    }

    None
}

/// The request without keywords that have an empty list or map, if it has any; the library treats them as equal.
pub(super) fn without_empty_keywords(request: &Value) -> Option<Value> {
    let mut out = request.clone();
    let schema = match request.get("op")?.as_str()? {
        "structural" => out.get_mut("schema")?,
        "crd" => out.pointer_mut("/crd/spec/versions")?,
        _ => return None,
    };
    drop_empty(schema);
    (out != *request).then_some(out)
}

fn drop_empty(schema: &mut Value) {
    const KEYWORDS: &[&str] = &[
        "required",
        "properties",
        "enum",
        "allOf",
        "anyOf",
        "oneOf",
        "x-kubernetes-validations",
        "x-kubernetes-list-map-keys",
    ];
    if let Value::Object(members) = schema {
        let is_empty = |value: &Value| *value == json!([]) || *value == json!({});
        members.retain(|name, value| !(KEYWORDS.contains(&name.as_str()) && is_empty(value)));
    }
    parts_of_schema(schema).for_each(drop_empty);
}

/// The definition with another title for the schema of each version, if it has several: the Go code treats schemas that
/// differ only by empty keywords as equal, and checks the first one.
pub(super) fn with_distinct_versions(request: &Value) -> Option<Value> {
    if request.get("op")?.as_str()? != "crd" {
        return None;
    }
    let mut out = request.clone();
    let versions = out.pointer_mut("/crd/spec/versions")?.as_array_mut()?;
    if versions.len() < 2 {
        return None;
    }

    // A title has no effect on validation, and makes the schemas different.
    for (at, version) in versions.iter_mut().enumerate() {
        if let Some(schema) = version
            .pointer_mut("/schema/openAPIV3Schema")
            .and_then(Value::as_object_mut)
        {
            schema.insert(
                "title".to_owned(),
                json!(format!("the schema of version {at}")),
            );
        }
    }

    Some(out)
}

/// Differences for a definition whose schema cannot be read, or is shared by all versions.
fn crd(
    request: &Value,
    reference: &Value,
    candidate: &Value,
    differences: &[Part],
) -> Option<Vec<&'static str>> {
    if outcome("crd", reference) == Outcome::Unreadable {
        // The library reads the rest of the definition, and refuses it with different messages.
        let refuses = |errors: &Vec<Value>| !errors.is_empty();
        return candidate
            .get("errors")?
            .as_array()
            .is_some_and(refuses)
            .then(|| vec![CRD_UNREADABLE]);
    }

    // Each part that differs needs a rule of its own.
    let mut rules = Vec::new();
    for difference in differences {
        let rule = match difference.what.as_str() {
            "errors" => {
                let versions = request.pointer("/crd/spec/versions")?.as_array()?;
                (in_versions(&difference.reference, versions)? == difference.candidate)
                    .then_some(CRD_PATH)
            }
            // The types of one side and the faults of the other.
            "schema" | "schemaErrors" if candidate.get("schemaErrors").is_some() => {
                let faults = candidate.get("schemaErrors")?.as_str()?;
                faults
                    .lines()
                    .map(|fault| refusal(fault, &Map::new()))
                    .collect::<Option<Vec<_>>>()?
                    .first()
                    .copied()
            }
            "schema" => {
                let mut expected = difference.reference.clone();
                (drop_unknown_keys(&mut expected) && expected == difference.candidate)
                    .then_some(UNKNOWN_KEY)
            }
            _ => one(request, difference),
        };
        rules.push(rule?);
    }

    Some(rules)
}

/// The path at which Go has a schema that all versions share.
const SHARED: &str = "spec.validation.";

/// The errors of a schema that all versions share, at the paths of the versions.
fn in_versions(errors: &Value, versions: &[Value]) -> Option<Value> {
    let mut out = Vec::new();
    for error in errors.as_array()? {
        let text = error.as_str()?;
        if text.contains(SHARED) {
            let about_all = !text.ends_with("if the status subresource is enabled");
            let has_status = |version: &Value| {
                version
                    .pointer("/subresources/status")
                    .is_some_and(|status| !status.is_null())
            };

            // An error about the status subresource belongs to the versions that have it, every other error to all.
            for (at, _) in versions
                .iter()
                .enumerate()
                .filter(|(_, version)| about_all || has_status(version))
            {
                out.push(text.replace(SHARED, &format!("spec.versions[{at}].schema.")));
            }
        } else {
            out.push(text.to_owned());
        }
    }
    out.sort();

    Some(json!(out))
}

/// Removes `additionalProperties` inside junctors.
fn without_nested_additional(schema: &mut Value, nested: bool) {
    let Value::Object(members) = schema else {
        return;
    };
    if nested {
        members.remove("additionalProperties");
    }

    for (name, value) in members {
        match (name.as_str(), value) {
            // The schemas published for a custom resource are a map by version.
            ("properties" | "openapi", Value::Object(properties)) => {
                properties
                    .values_mut()
                    .for_each(|schema| without_nested_additional(schema, nested));
            }
            ("items" | "additionalProperties", schema) => without_nested_additional(schema, nested),
            ("not", schema) => without_nested_additional(schema, true),
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                all.iter_mut()
                    .for_each(|schema| without_nested_additional(schema, true));
            }
            _ => {}
        }
    }
}

fn openapi(request: &Value, reference: &Value, candidate: &Value) -> Option<Vec<&'static str>> {
    let definitions = request.get("definitions")?.as_object()?;
    match (outcome("openapi", reference), outcome("openapi", candidate)) {
        (Outcome::Unreadable, Outcome::Answered) => Some(vec![UNREAD_KEYWORD]),
        (Outcome::Answered, Outcome::Refused) => {
            let faults = candidate.get("errors")?.as_array()?.iter();
            faults
                .map(|fault| refusal(fault.as_str()?, definitions))
                .collect()
        }
        (Outcome::Answered, Outcome::Answered) => {
            // The answer of Go gets the changes of the deviations; both answers must then be equal.
            let mut rules = Vec::new();
            let mut expected = reference.clone();
            let schema = expected.get_mut("schema")?;
            if follow_aliases(schema, definitions) {
                rules.push(ALIAS);
            }
            if drop_unknown_keys(schema) {
                rules.push(UNKNOWN_KEY);
            }

            compare("openapi", &expected, candidate)
                .is_empty()
                .then_some(rules)
                .filter(|rules| !rules.is_empty())
        }
        _ => None,
    }
}

/// The deviation by which the library refuses a schema that the Go code accepts.
fn refusal(fault: &str, definitions: &Map<String, Value>) -> Option<&'static str> {
    // Faults of an import name their definition; any other fault is not explained.
    let rest = fault.strip_prefix("definition `")?.split_once("`: ")?.1;
    let about = |name: &str, texts: &[&str]| {
        rest.contains(name)
            && texts
                .iter()
                .any(|text| rest.contains(&format!("{name}: {text}")))
    };

    // A definition that exists and is not found would be a fault of the library.
    if let Some(name) = rest
        .split_once("there is no definition `")
        .and_then(|(_, name)| name.split('`').next())
    {
        return (!definitions.contains_key(name)).then_some(MISSING);
    }

    if rest.ends_with("` refers to itself") {
        return Some(MISSING);
    }
    if rest.contains("x-kubernetes-unions") || rest.contains("x-kubernetes-group-version-kind") {
        return Some(UNREAD_EXTENSION);
    }

    if rest.ends_with("a schema must be a map, got null")
        || about("$ref", &["expected string, got "])
        || about(
            "x-kubernetes-preserve-unknown-fields",
            &["expected boolean, got "],
        )
        || about("x-kubernetes-list-map-keys", &["expected strings, got "])
    {
        return Some(WRONG_TYPE);
    }

    // Faults of the types made from the definitions, which Go finds only when it uses them.
    let schema = [
        "an associative list with keys needs items that are maps",
        "elementRelationship ",
    ];
    schema
        .iter()
        .any(|text| rest.contains(text))
        .then_some(SCHEMA_REFUSED)
}

/// Resolves references to definitions that are only references.
fn follow_aliases(schema: &mut Value, definitions: &Map<String, Value>) -> bool {
    let alias = |name: &str| {
        let target = definitions
            .get(name)?
            .get("$ref")?
            .as_str()
            .filter(|text| !text.is_empty())?;
        target.rsplit('/').next()
    };
    let mut found = false;
    each_object(schema, &mut |members| {
        let Some(Value::String(name)) = members.get_mut("namedType") else {
            return;
        };
        // An alias may refer to itself, so the number of steps is bounded.
        for _ in 0..definitions.len() {
            let Some(next) = alias(name) else { break };
            *name = next.to_owned();
            found = true;
        }
    });

    found
}

/// Makes lists atomic that have a key that their items, structs with declared fields only, do not declare.
fn drop_unknown_keys(schema: &mut Value) -> bool {
    // A map with an element type accepts any field, so it declares every key: `None`.
    let fields = |atom: &Value| -> Option<Vec<String>> {
        let map = atom
            .get("map")
            .filter(|map| map.get("elementType").is_none())?;
        let names = items(map, "fields").iter();
        Some(
            names
                .filter_map(|field| field.get("name")?.as_str().map(str::to_owned))
                .collect(),
        )
    };
    let types = items(schema, "types").iter();

    let known: BTreeMap<String, Option<Vec<String>>> = types
        .filter_map(|ty| Some((ty.get("name")?.as_str()?.to_owned(), fields(ty))))
        .collect();
    let mut found = false;
    each_object(schema, &mut |members| {
        let Some(Value::Array(keys)) = members.get("keys") else {
            return;
        };
        let element = members.get("elementType").unwrap_or(&Value::Null);
        let declared = match element.get("namedType").and_then(Value::as_str) {
            Some(name) => known.get(name).cloned().flatten(),
            None => fields(element),
        };
        let Some(declared) = declared else {
            return;
        };

        // One undeclared key is enough: items without an identity cannot be matched.
        if keys
            .iter()
            .filter_map(Value::as_str)
            .any(|key| !declared.iter().any(|name| name == key))
        {
            members.remove("keys");
            members.insert("elementRelationship".to_owned(), json!("atomic"));
            found = true;
        }
    });

    found
}

/// Every object in a schema but those in defaults.
fn each_object(value: &mut Value, look: &mut dyn FnMut(&mut Map<String, Value>)) {
    if let Value::Object(members) = value {
        look(members);
    }
    parts_of_schema(value).for_each(|part| each_object(part, look));
}
