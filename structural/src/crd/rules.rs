//! The rules for the schemas of a custom resource definition, besides the structural rules.

use fieldmanager_value::internal::level;
use fieldmanager_value::{MAX_DEPTH, Map, Value};

use super::keywords::{given, is_true, string};
use super::schema_rules::SchemaRules;
use super::{go_struct, lists, validations};
use crate::{FieldError, FieldPath};

/// The types that a schema may declare.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The fields that are allowed at the root beside `status`, as the message lists them.
const ALLOWED_AT_ROOT: &str = "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum \
     MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs \
     Example XPreserveUnknownFields XValidations";

/// Whether the schema or any subschema has an unknown type.
pub(super) fn has_invalid_types(schema: &Value) -> bool {
    any(schema, &|schema| {
        let name = string(schema, "type");
        !name.is_empty() && !TYPES.contains(&name)
    })
}

/// The path step from a schema to a subschema.
pub(super) enum Step<'v> {
    This,
    Key(&'v str),
    Index(usize),
}

/// The keywords with subschemas, in the order of the API server.
const WITH_SCHEMAS: [&str; 11] = [
    "additionalProperties",
    "properties",
    "not",
    "allOf",
    "oneOf",
    "anyOf",
    "definitions",
    "items",
    "dependencies",
    "patternProperties",
    "additionalItems",
];

/// Calls `visit` with every direct subschema: its keyword, the step after the keyword, and the subschema.
fn each_below<'v>(schema: &'v Value, mut visit: impl FnMut(&'static str, Step<'v>, &'v Value)) {
    // A schema has few members, and most of them have no subschemas: it is read once, not asked for each keyword.
    let mut found = [None; WITH_SCHEMAS.len()];
    for (member, inner) in schema.as_map().into_iter().flatten() {
        let at = WITH_SCHEMAS.iter().position(|name| *name == &**member);
        if let Some(place) = at.and_then(|at| found.get_mut(at)) {
            *place = Some(inner);
        }
    }

    for (name, inner) in WITH_SCHEMAS.into_iter().zip(found) {
        let is_map = matches!(
            name,
            "properties" | "definitions" | "dependencies" | "patternProperties"
        );
        match inner {
            Some(Value::Map(schemas)) if is_map => {
                for (key, inner) in schemas {
                    visit(name, Step::Key(key), inner);
                }
            }
            Some(Value::List(schemas)) => {
                for (at, inner) in schemas.iter().enumerate() {
                    visit(name, Step::Index(at), inner);
                }
            }
            Some(inner @ Value::Map(_)) => visit(name, Step::This, inner),
            _ => {}
        }
    }
}

/// Whether the schema or any subschema satisfies a condition. Schemas that nest too deeply are refused elsewhere, and
/// are not visited.
pub(super) fn any(schema: &Value, condition: &dyn Fn(&Map) -> bool) -> bool {
    fn below(schema: &Value, condition: &dyn Fn(&Map) -> bool, depth: usize) -> bool {
        level(|| {
            let mut found = schema.as_map().is_some_and(condition);
            if depth < MAX_DEPTH {
                each_below(schema, |_, _, inner| {
                    found = found || below(inner, condition, depth + 1)
                });
            }
            found
        })
    }

    below(schema, condition, 0)
}

/// Whether the schema or any subschema has a default.
pub fn has_default(schema: &Value) -> bool {
    any(schema, &|schema| given(schema, "default").is_some())
}

/// Whether a schema has a type, a set or keys of a list that the rules refuse. A definition that violated a rule before
/// may violate it again.
pub fn violated(schema: &Value) -> SchemaRules {
    // Other rules apply to each update, so only these three are looked up in the old definition.
    SchemaRules {
        types: has_invalid_types(schema),
        atomic_sets: any(schema, &lists::has_granular_set),
        list_keys: any(schema, &lists::has_bad_keys),
        ..SchemaRules::default()
    }
}

/// Whether the schema or any subschema has an extension of Kubernetes that needs a structural schema.
pub fn has_extension(schema: &Value) -> bool {
    any(schema, &|schema| {
        let is_filled = |name: &str| {
            given(schema, name)
                .is_some_and(|value| value.as_list().is_none_or(|list| !list.is_empty()))
        };
        is_true(schema, "x-kubernetes-embedded-resource")
            || is_true(schema, "x-kubernetes-int-or-string")
            || given(schema, "x-kubernetes-preserve-unknown-fields").is_some()
            || given(schema, "x-kubernetes-list-type").is_some()
            || is_filled("x-kubernetes-list-map-keys")
            || is_filled("x-kubernetes-validations")
    })
}

/// Calls `visit` with the schema and every subschema that is a map.
pub fn each_schema(schema: &Value, mut visit: impl FnMut(&Map)) {
    let visit = std::cell::RefCell::new(&mut visit);
    any(schema, &|schema| {
        (visit.borrow_mut())(schema);
        false
    });
}

/// The context of a schema that determines which rules apply.
#[derive(Clone)]
struct Place {
    rules: SchemaRules,
    root: bool,
    /// The schema is inside `apiVersion`, `kind` or `metadata` of a resource.
    in_meta: bool,
    /// The reason why a default is forbidden here, if it is.
    no_default: Option<String>,
}

/// The faults of a schema and all its subschemas, without the structural rules and without the compilation of validation
/// rules. The schema must nest no deeper than a value may.
pub fn check(schema: &Value, path: &FieldPath, rules: SchemaRules) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if rules.beside_status {
        at_root_beside_status(schema, path, &mut errors);
    }
    // The root is an object that is stored, which cannot be null.
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        errors.push(FieldError::forbidden(
            path.child("nullable"),
            "nullable cannot be true at the root",
        ));
    }

    check_one(
        schema,
        path,
        &Place {
            rules,
            root: true,
            in_meta: false,
            no_default: None,
        },
        &mut errors,
    );

    errors
}

/// The API server validates `status` against its own subschema, so the root must not have keywords that would be lost.
fn at_root_beside_status(schema: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (name, keyword) in go_struct::schema_members() {
        // These keywords distinguish an empty value from an absent one.
        let says_nothing = |value: &Value| match keyword {
            "additionalProperties"
            | "additionalItems"
            | "default"
            | "$ref"
            | "x-kubernetes-list-type"
            | "x-kubernetes-map-type" => value.is_null(),
            _ => is_zero(value),
        };
        // A keyword with the zero value is like an absent one, so it does not count as set.
        let Some(value) = schema.get(keyword).filter(|value| !says_nothing(value)) else {
            continue;
        };

        // Only the first fault is reported, in the order of the members in Go.
        if name == "Type" {
            if value.as_str() != Some("object") {
                let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
                errors.push(FieldError::invalid(
                    path.child("type"),
                    value.clone(),
                    detail,
                ));
                return;
            }
        } else if !ALLOWED_AT_ROOT.split(' ').any(|allowed| allowed == name) {
            let detail = format!(
                "only [{ALLOWED_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
            );
            errors.push(FieldError::invalid_shown(
                path.clone(),
                &go_struct::schema(schema),
                detail,
            ));
            return;
        }
    }
}

/// Whether a value is the zero value, which is equivalent to absent.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn check_one(schema: &Value, path: &FieldPath, place: &Place, errors: &mut Vec<FieldError>) {
    level(|| {
        let Value::Map(map) = schema else {
            return;
        };
        keywords(map, path, place, errors);
        if is_true(map, "uniqueItems") {
            errors.push(FieldError::forbidden(
                path.child("uniqueItems"),
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ));
        }

        // `additionalProperties: true` says nothing about declared properties, so only a schema and `false` exclude
        // them.
        let has_properties = map
            .get("properties")
            .and_then(Value::as_map)
            .is_some_and(|all| !all.is_empty());
        let closed = matches!(
            map.get("additionalProperties"),
            Some(Value::Map(_) | Value::Bool(false))
        );

        if has_properties && closed {
            errors.push(FieldError::forbidden(
                path.child("additionalProperties"),
                "additionalProperties and properties are mutual exclusive",
            ));
        }

        each_below(schema, |name, step, inner| {
            // What is known about the place holds for all schemas below, except that only one schema is the root.
            let mut below = Place {
                root: false,
                ..place.clone()
            };
            match (name, &step) {
                // For these keywords, presence is enough.
                ("patternProperties" | "additionalItems", _) => return,
                ("additionalProperties", _) if place.in_meta => {
                    below.no_default =
                        Some("inside additionalProperties applying to object metadata".to_owned());
                }
                ("properties", Step::Key(key @ ("apiVersion" | "kind" | "metadata"))) => {
                    // Only a resource has metadata of the API server; other objects may have fields of these names.
                    let resource = place.root || is_true(map, "x-kubernetes-embedded-resource");
                    below.in_meta |= resource;
                    if place.root {
                        below.no_default = Some(format!("in top-level {key}"));
                    }
                }
                _ => {}
            }

            let path = match step {
                Step::This => path.child(name),
                Step::Key(key) => path.child(name).key(key),
                Step::Index(at) => path.child(name).index(at),
            };
            check_one(inner, &path, &below, errors);
        });

        // As in the API server, `false` is not the same as an absent keyword.
        if map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let path = path.child("x-kubernetes-preserve-unknown-fields");
            errors.push(FieldError::invalid(
                path,
                false,
                "must be true or undefined",
            ));
        }
        lists::check(map, path, place.rules, errors);
        validations::check(map, path, place.rules.is_readable, errors);
    })
}

/// Checks the keywords of one schema.
fn keywords(schema: &Map, path: &FieldPath, place: &Place, errors: &mut Vec<FieldError>) {
    // The rule for types is off for a definition that violated it before.
    let type_name = string(schema, "type");
    if place.rules.types && !type_name.is_empty() && !TYPES.contains(&type_name) {
        errors.push(FieldError::not_supported(
            path.child("type"),
            type_name,
            &TYPES,
        ));
    }

    if let Some(reason) = &place.no_default
        && given(schema, "default").is_some()
    {
        errors.push(FieldError::forbidden(
            path.child("default"),
            format!("must not be set {reason}"),
        ));
    }

    // These keywords of JSON Schema have no counterpart in a structural schema.
    let unsupported = [
        ("id", !string(schema, "id").is_empty()),
        (
            "additionalItems",
            given(schema, "additionalItems").is_some(),
        ),
        (
            "patternProperties",
            has_entries(schema, "patternProperties"),
        ),
        ("definitions", has_entries(schema, "definitions")),
        ("dependencies", given(schema, "dependencies").is_some()),
        ("$ref", given(schema, "$ref").is_some()),
    ];

    for (name, _) in unsupported.into_iter().filter(|(_, there)| *there) {
        errors.push(FieldError::forbidden(
            path.child(name),
            format!("{name} is not supported"),
        ));
    }

    // Null is a value of nullable schemas, not a type.
    if type_name == "null" {
        errors.push(FieldError::forbidden(
            path.child("type"),
            "type cannot be set to null, use nullable as an alternative",
        ));
    }

    if schema
        .get("items")
        .and_then(Value::as_list)
        .is_some_and(|items| !items.is_empty())
    {
        errors.push(FieldError::forbidden(
            path.child("items"),
            "items must be a schema object and not an array",
        ));
    }

    // The metadata of a resource has no resources inside.
    if place.in_meta && is_true(schema, "x-kubernetes-embedded-resource") {
        errors.push(FieldError::forbidden(
            path.child("x-kubernetes-embedded-resource"),
            "must not be used inside of resource meta",
        ));
    }
}

fn has_entries(schema: &Map, name: &str) -> bool {
    schema
        .get(name)
        .and_then(Value::as_map)
        .is_some_and(|entries| !entries.is_empty())
}
