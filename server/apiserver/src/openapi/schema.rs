//! The definitions of custom resources.

use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::internal::{publish_schema, with_subschemas};
use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

use super::operations::{Form, Names, SAMPLES, members};

const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The definitions of a kind and its list.
pub(super) fn definitions(
    resource: &CustomResource,
    names: &Names,
    form: Form,
    selectable: &[Str],
) -> Map {
    let schema = publish_schema(resource, &names.version).ok().flatten();
    let mut definitions = Map::new();
    for (kind, definition) in [
        (&names.kind, with_kind(kind(schema, form), names)),
        (&names.list_kind, members(Some(&names.list(form))).clone()),
    ] {
        let mut definition = definition;
        if !selectable.is_empty() {
            let fields: Vec<Map> = selectable
                .iter()
                .map(|path| Map::single("fieldPath", path))
                .collect();
            definition.insert("x-kubernetes-selectable-fields", fields);
        }
        definitions.insert(names.definition(kind), definition);
    }

    definitions
}

fn with_kind(mut definition: Map, names: &Names) -> Map {
    let kind: Map = [
        ("group", &names.group),
        ("version", &names.version),
        ("kind", &names.kind),
    ]
    .into_iter()
    .collect();
    definition.insert("x-kubernetes-group-version-kind", vec![kind]);
    definition
}

fn kind(schema: Option<Value>, form: Form) -> Map {
    let Some(Value::Map(root)) = schema else {
        return Map::single("type", "object");
    };
    if form == Form::V2 && is_true(&root, PRESERVE) {
        // Clients would refuse the other fields if some were published.
        return Map::single("type", "object");
    }

    let root = if form == Form::V2 {
        version2(&root)
    } else {
        root
    };
    let mut root = complete(&root, form);
    let sample = members(SAMPLES.kind(form).get("properties"));
    set_identity(&mut root, sample);

    root
}

fn is_true(schema: &Map, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool) == Some(true)
}

/// Sets `apiVersion`, `kind` and `metadata` to those of other properties.
fn set_identity(schema: &mut Map, sample: &Map) {
    let mut properties = members(schema.get("properties")).clone();
    for name in IDENTITY {
        if let Some(property) = sample.get(name) {
            properties.insert(name, property.clone());
        }
    }
    schema.insert("properties", properties);
}

/// A schema whose subschemas were changed.
fn with_schemas(schema: &Map, change: impl Fn(&Map) -> Map) -> Map {
    with_subschemas(schema, |inner| match inner {
        Value::Map(schema) => level(|| change(schema)).into(),
        other => other.clone(),
    })
}

/// Fills in embedded resources.
fn complete(schema: &Map, form: Form) -> Map {
    let mut out = with_schemas(schema, |inner| complete(inner, form));
    if out.get("example").is_some_and(is_empty) {
        out.remove("example");
    }
    if is_true(&out, EMBEDDED) && !(form == Form::V2 && is_true(&out, PRESERVE)) {
        let sample = members(SAMPLES.kind(form).get("properties")).get("embedded");
        set_identity(
            &mut out,
            members(sample.and_then(|embedded| embedded.get("properties"))),
        );
        let mut required = out
            .get("required")
            .and_then(Value::as_list)
            .cloned()
            .unwrap_or_default();

        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|known| known.as_str() == Some(name)) {
                required.push(name.into());
            }
        }
        out.insert("required", required);
    }

    out
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(fields) => fields.is_empty(),
        _ => false,
    }
}

/// A schema without what version 2 of OpenAPI, or old clients, do not understand.
fn version2(schema: &Map) -> Map {
    let mut out = schema.clone();
    // Clients of version 2 validate before they send. What they do not understand is left out, so that they accept more
    // and never less.
    for name in ["allOf", "anyOf", "oneOf", "not", "default"] {
        out.remove(name);
    }
    let nullable = is_true(&out, "nullable");
    let preserve = is_true(&out, PRESERVE);
    // Version 2 has no `nullable`. A value without a type may be null.
    if nullable {
        out.remove("type");
        out.remove("nullable");
    }
    if nullable || preserve {
        out.remove("items");
        out.remove("properties");
    }

    // An array without items is invalid in version 2, so it has no type either.
    let kind = out.get("type").and_then(Value::as_str);
    if (kind == Some("array") && !out.contains("items")) || (kind == Some("object") && preserve) {
        out.remove("type");
    }
    // Old clients take null for an absent field, so a nullable one cannot be required.
    let optional = |name: &str| {
        members(out.get("properties"))
            .get(name)
            .is_some_and(is_nullable)
    };

    if let Some(required) = out.get("required").and_then(Value::as_list) {
        let kept: List = required
            .iter()
            .filter(|name| !name.as_str().is_some_and(optional))
            .cloned()
            .collect();
        let free = out.get("additionalProperties").is_some_and(is_nullable);

        if kept.is_empty() || free {
            out.remove("required");
        } else {
            out.insert("required", kept);
        }
    }

    with_schemas(&out, version2)
}

fn is_nullable(schema: &Value) -> bool {
    schema
        .as_map()
        .is_some_and(|schema| is_true(schema, "nullable"))
}
