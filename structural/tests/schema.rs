//! Structural schemas: reading, writing and unfolding.

#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use fieldmanager_structural::internal::unfold;
use fieldmanager_structural::{Error, Structural};
use fieldmanager_value::{MAX_DEPTH, Value};

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

fn read(text: &str) -> Structural {
    Structural::from_value(&yaml(text)).unwrap()
}

#[test]
fn unreadable_schemas_report_the_keyword() {
    for (schema, message) in [
        ("{id: x}", "OpenAPIV3Schema 'id' is not supported"),
        ("{$schema: x}", "OpenAPIV3Schema 'schema' is not supported"),
        ("{$ref: x}", "OpenAPIV3Schema '$ref' is not supported"),
        (
            "{patternProperties: {a: {}}}",
            "OpenAPIV3Schema 'patternProperties' is not supported",
        ),
        (
            "{dependencies: {a: [b]}}",
            "OpenAPIV3Schema 'dependencies' is not supported",
        ),
        (
            "{additionalItems: false}",
            "OpenAPIV3Schema 'additionalItems' is not supported",
        ),
        (
            "{definitions: {a: {}}}",
            "OpenAPIV3Schema 'definitions' is not supported",
        ),
        (
            "{definitions: {a: {}}, id: x}",
            "OpenAPIV3Schema 'id' is not supported",
        ),
        (
            "{properties: {a: {items: {$ref: x}}}}",
            "OpenAPIV3Schema '$ref' is not supported",
        ),
        (
            "{not: {properties: {a: {$ref: x}}}}",
            "OpenAPIV3Schema '$ref' is not supported",
        ),
        (
            "{items: [{}, {}]}",
            "OpenAPIV3Schema 'items' must be a schema, but is an array",
        ),
        (
            "{anyOf: [{items: [{}]}]}",
            "OpenAPIV3Schema 'items' must be a schema, but is an array",
        ),
        (
            "{x-kubernetes-preserve-unknown-fields: false}",
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ),
        // Junctors are read before extensions, and extensions before properties.
        (
            "{x-kubernetes-preserve-unknown-fields: false, allOf: [{id: x}]}",
            "OpenAPIV3Schema 'id' is not supported",
        ),
        ("5", "the schema must be a schema, but is an integer"),
        ("{type: [string]}", "`type` must be a string, but is a list"),
        (
            "{nullable: x}",
            "`nullable` must be a boolean, but is a string",
        ),
        (
            "{maximum: x}",
            "`maximum` must be a number, but is a string",
        ),
        (
            "{maxLength: 1.5}",
            "`maxLength` must be an integer, but is a float",
        ),
        (
            "{required: [a, 1]}",
            "`required[1]` must be a string, but is an integer",
        ),
        ("{enum: {a: b}}", "`enum` must be a list, but is a map"),
        (
            "{items: true}",
            "`items` must be a schema, but is a boolean",
        ),
        (
            "{properties: {a: {properties: []}}}",
            "`properties[a].properties` must be a map, but is a list",
        ),
        (
            "{properties: {a: true}}",
            "`properties[a]` must be a schema, but is a boolean",
        ),
        (
            "{additionalProperties: x}",
            "`additionalProperties` must be a boolean or a schema, but is a string",
        ),
        (
            "{oneOf: [{not: {externalDocs: 1}}]}",
            "`oneOf[0].not.externalDocs` must be a map, but is an integer",
        ),
        (
            "{x-kubernetes-unions: x}",
            "`x-kubernetes-unions` must be a list or a map, but is a string",
        ),
        (
            "{x-kubernetes-validations: {}}",
            "`x-kubernetes-validations` must be a list, but is a map",
        ),
    ] {
        assert_eq!(
            Structural::from_value(&yaml(schema))
                .unwrap_err()
                .to_string(),
            message,
            "{schema}"
        );
    }
}

#[test]
fn error_has_the_path_that_its_message_omits() {
    let error = Structural::from_value(&yaml("{properties: {a: {items: {id: x}}}}")).unwrap_err();
    let Error::Unsupported { path, keyword } = error else {
        panic!("{error}")
    };
    assert_eq!(
        (path.to_string().as_str(), keyword),
        ("properties[a].items", "id")
    );
}

#[test]
fn empty_values_equal_absent_ones() {
    for schema in [
        "{type: '', title: null, properties: {}, required: [], anyOf: [], enum: [], nullable: false, default: null}",
        "{id: '', $ref: '', definitions: {}, dependencies: {}, patternProperties: {}, items: [], not: null}",
        "{x-kubernetes-unions: [], x-kubernetes-validations: [], x-kubernetes-list-map-keys: [], unheard-of: 1}",
    ] {
        assert_eq!(read(schema), Structural::default(), "{schema}");
        assert_eq!(read(schema).to_value().to_json(), "{}");
    }
    assert_eq!(
        read("{properties: {a: null}}"),
        read("{properties: {a: {}}}")
    );
}

#[test]
fn every_keyword_roundtrips() {
    let schema = yaml(
        "
additionalProperties: {type: string}
allOf: [{additionalProperties: {additionalProperties: {}}}, {items: {minLength: 1}}]
anyOf: [{properties: {a: {type: string}}}]
default: {a: [1, null]}
description: d
enum: [1, null, {a: b}]
example: []
exclusiveMaximum: true
exclusiveMinimum: true
externalDocs: {description: d, url: u}
format: int32
items: {type: integer}
maxItems: 1
maxLength: 2
maxProperties: 3
maximum: 4.5
minItems: 5
minLength: 6
minProperties: 7
minimum: -8
multipleOf: 0.5
not: {default: 1, description: d, nullable: true, title: t, x-kubernetes-unions: {}}
nullable: true
oneOf: [{required: [a]}]
pattern: '^a$'
properties: {a: {additionalProperties: false}, b: {x-kubernetes-map-type: ''}}
required: [b, a]
title: t
type: object
uniqueItems: true
x-kubernetes-embedded-resource: true
x-kubernetes-int-or-string: true
x-kubernetes-list-map-keys: [k]
x-kubernetes-list-type: map
x-kubernetes-map-type: atomic
x-kubernetes-preserve-unknown-fields: true
x-kubernetes-unions: [{discriminator: d, fields-to-discriminateBy: {a: A}}]
x-kubernetes-validations: [{rule: self.a, message: m}]
",
    );
    let read = Structural::from_value(&schema).unwrap();
    assert_eq!(read.to_value().to_json(), schema.to_json());
    // In a junctor, `true` is the empty schema and `false` is `None`.
    let nested = yaml("{allOf: [{additionalProperties: true}, {additionalProperties: false}]}");
    let nested = Structural::from_value(&nested).unwrap().to_value();
    assert_eq!(
        nested.to_json(),
        r#"{"allOf":[{"additionalProperties":{}},{}]}"#
    );
}

#[test]
fn too_deep_schemas_are_refused() {
    for (open, close) in [
        ("{\"items\":", "}"),
        ("{\"not\":", "}"),
        ("{\"properties\":{\"a\":", "}}"),
        ("[", "]"),
    ] {
        let levels = MAX_DEPTH / open.matches(['{', '[']).count();
        let nested = |levels: usize| {
            let text = format!("{}{{}}{}", open.repeat(levels), close.repeat(levels));
            let inner = Value::from_json(&text).unwrap();
            if open == "[" {
                Value::from_json(&format!("{{\"default\":{inner}}}")).unwrap()
            } else {
                inner
            }
        };
        let fits = if open == "[" {
            nested(levels - 2)
        } else {
            nested(levels - 1)
        };
        let schema = Structural::from_value(&fits).unwrap();
        assert_eq!(schema.to_value(), fits);
        let path = fieldmanager_structural::FieldPath::default();
        assert!(!schema.validate(&path).is_empty());
        assert_eq!(unfold(&schema), schema);
        // One level more than a parsed document can have, built by hand.
        let deep = ["items", "not"]
            .map(|name| Value::from(fieldmanager_value::Map::single(name, fits.clone())));
        for deep in deep {
            let deeper = Value::from(fieldmanager_value::Map::single("items", deep));
            assert_eq!(Structural::from_value(&deeper), Err(Error::TooDeep));
        }
    }
}

/// Checks the unfolded form of a schema, and that unfolding is idempotent.
fn check_unfold(schema: &str, unfolded: &str) {
    let found = unfold(&read(schema));
    assert_eq!(found.to_value(), yaml(unfolded), "{schema}");
    assert!(unfold(&found).ptr_eq(&found), "{schema}");
}

#[test]
fn int_or_string_is_unfolded() {
    let types = "[{type: integer}, {type: string}]";
    let x = "x-kubernetes-int-or-string: true";
    check_unfold(&format!("{{{x}}}"), &format!("{{{x}, anyOf: {types}}}"));
    check_unfold(
        &format!("{{{x}, anyOf: {types}}}"),
        &format!("{{{x}, anyOf: {types}}}"),
    );
    let all = format!("{{{x}, allOf: [{{anyOf: {types}, maximum: 1}}]}}");
    check_unfold(&all, &all);
    check_unfold(
        &format!("{{{x}, allOf: [{{maximum: 1}}]}}"),
        &format!("{{{x}, allOf: [{{maximum: 1}}], anyOf: {types}}}"),
    );
    check_unfold(
        &format!("{{{x}, anyOf: [{{maximum: 1}}], allOf: [{{pattern: a}}]}}"),
        &format!("{{{x}, anyOf: [{{maximum: 1}}], allOf: [{{anyOf: {types}}}, {{pattern: a}}]}}"),
    );
    check_unfold(
        &format!("{{properties: {{a: {{items: {{{x}}}}}}}, additionalProperties: {{{x}}}}}"),
        &format!(
            "{{properties: {{a: {{items: {{{x}, anyOf: {types}}}}}}}, additionalProperties: {{{x}, anyOf: {types}}}}}"
        ),
    );
    // Without the extension, and in junctors, nothing is unfolded.
    check_unfold("{type: string}", "{type: string}");
    check_unfold(&format!("{{not: {{{x}}}}}"), &format!("{{not: {{{x}}}}}"));
}

#[test]
fn unions_are_unfolded() {
    let union = "[{discriminator: d, fields-to-discriminateBy: {a: A, b: B}}]";
    let one_of = "[{required: [a]}, {required: [b]}]";
    check_unfold(
        &format!("{{x-kubernetes-unions: {union}}}"),
        &format!(
            "{{x-kubernetes-unions: {union}, oneOf: {one_of}, properties: {{d: {{type: string, enum: [A, B]}}}}}}"
        ),
    );
    // Existing keywords are kept, and existing restrictions are not repeated.
    check_unfold(
        &format!(
            "{{x-kubernetes-unions: {union}, oneOf: {one_of}, properties: {{d: {{type: x, enum: [B, A]}}}}}}"
        ),
        &format!(
            "{{x-kubernetes-unions: {union}, oneOf: {one_of}, properties: {{d: {{type: x, enum: [B, A]}}}}}}"
        ),
    );
    check_unfold(
        &format!(
            "{{x-kubernetes-unions: {union}, oneOf: [{{not: {{}}}}], properties: {{d: {{enum: [A, C]}}}}}}"
        ),
        &format!(
            "{{x-kubernetes-unions: {union}, oneOf: [{{not: {{}}}}], allOf: [{{oneOf: {one_of}}}], properties: \
             {{d: {{type: string, enum: [A, C], allOf: [{{enum: [A, B]}}]}}}}}}"
        ),
    );
    // Two unions, one of them in the short form without a discriminator.
    check_unfold(
        "{x-kubernetes-unions: [{fields: {a: A, b: B}}, {fields: {c: C}}]}",
        &format!(
            "{{x-kubernetes-unions: [{{fields: {{a: A, b: B}}}}, {{fields: {{c: C}}}}], oneOf: {one_of}, \
             allOf: [{{oneOf: [{{required: [c]}}]}}]}}"
        ),
    );
    // The schema of the discriminator has the map form.
    check_unfold(
        "{type: string, x-kubernetes-unions: {fieldMembers: {B: {name: b}, A: null}}}",
        "{type: string, x-kubernetes-unions: {fieldMembers: {B: {name: b}, A: null}}, enum: [A, B]}",
    );
    // Invalid unions are left unchanged.
    check_unfold(
        "{x-kubernetes-unions: [{}, 1, {fields: []}]}",
        "{x-kubernetes-unions: [{}, 1, {fields: []}]}",
    );
    check_unfold(
        "{x-kubernetes-unions: {a: 1}}",
        "{x-kubernetes-unions: {a: 1}}",
    );
}
