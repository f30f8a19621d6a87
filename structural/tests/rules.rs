//! The rules of structural schemas, each with the errors of the API server.

#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use fieldmanager_structural::{FieldPath, Structural};
use fieldmanager_value::Value;

/// Checks all errors of a schema. The usual `type: object` at the root is part of each schema.
fn check(schema: &str, errors: &[&str]) {
    let schema_value = Value::from_yaml(schema).unwrap();
    let found = Structural::from_value(&schema_value)
        .unwrap()
        .validate(&FieldPath::root("schema"));
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        errors,
        "{schema}"
    );
}

/// Checks the errors of a schema of a property `a`, without the path of the property.
fn check_field(schema: &str, errors: &[&str]) {
    let errors: Vec<String> = errors
        .iter()
        .map(|error| format!("schema.properties[a]{error}"))
        .collect();
    let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
    check(
        &format!("{{type: object, properties: {{a: {schema}}}}}"),
        &errors,
    );
}

#[test]
fn types_are_required() {
    check("{type: object}", &[]);
    check(
        "{}",
        &["schema.type: Required value: must not be empty at the root"],
    );
    check(
        "{type: string}",
        &[r#"schema.type: Invalid value: "string": must be object at the root"#],
    );
    check("{x-kubernetes-preserve-unknown-fields: true}", &[]);
    check("{x-kubernetes-int-or-string: true}", &[]);
    check_field(
        "{}",
        &[".type: Required value: must not be empty for specified object fields"],
    );
    check_field("{type: bogus}", &[]);
    check_field("{x-kubernetes-int-or-string: true}", &[]);
    check_field("{x-kubernetes-preserve-unknown-fields: true}", &[]);
    check_field(
        "{type: array}",
        &[".items: Required value: must be specified"],
    );
    check_field(
        "{type: array, items: {}}",
        &[".items.type: Required value: must not be empty for specified array items"],
    );
    check_field(
        "{type: object, additionalProperties: {}}",
        &[
            ".additionalProperties.type: Required value: must not be empty for specified object fields",
        ],
    );
}

#[test]
fn root_must_not_have_additional_properties() {
    for additional in ["true", "false", "{type: string}"] {
        check(
            &format!("{{type: object, additionalProperties: {additional}}}"),
            &["schema.additionalProperties: Forbidden: must not be used at the root"],
        );
    }
    check_field(
        "{type: object, additionalProperties: true, properties: {b: {type: string}}}",
        &[],
    );
}

#[test]
fn embedded_resources_must_be_objects() {
    let x = "x-kubernetes-embedded-resource: true";
    let p = "x-kubernetes-preserve-unknown-fields: true";
    check_field(&format!("{{type: object, {x}, {p}}}"), &[]);
    check_field(
        &format!("{{type: object, {x}, properties: {{spec: {{type: object}}}}}}"),
        &[],
    );
    check_field(
        &format!("{{{x}, {p}}}"),
        &[".type: Required value: must be object if x-kubernetes-embedded-resource is true"],
    );
    check_field(
        &format!("{{type: string, {x}, {p}}}"),
        &[
            r#".type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true"#,
        ],
    );
    check_field(
        &format!("{{type: object, {x}, {p}, additionalProperties: true}}"),
        &[
            ".additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set",
        ],
    );
    check_field(
        &format!("{{type: object, {x}}}"),
        &[
            ".properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without \
           x-kubernetes-preserve-unknown-fields",
        ],
    );
    check_field(
        &format!(
            "{{type: object, {x}, properties: {{kind: {{type: integer}}, apiVersion: {{type: array, items: {{type: \
             string}}}}, metadata: {{type: string}}}}}}"
        ),
        &[
            r#".properties[apiVersion].type: Invalid value: "array": must be string"#,
            r#".properties[kind].type: Invalid value: "integer": must be string"#,
            r#".properties[metadata].type: Invalid value: "string": must be object"#,
        ],
    );
    // Metadata is unrestricted otherwise.
    check_field(
        &format!(
            "{{type: object, {x}, properties: {{metadata: {{type: object, nullable: true, minProperties: 1}}}}}}"
        ),
        &[],
    );
}

#[test]
fn int_or_string_excludes_other_extensions() {
    check_field("{x-kubernetes-int-or-string: true, type: integer}", &[]);
    check_field(
        "{x-kubernetes-int-or-string: true, x-kubernetes-preserve-unknown-fields: true}",
        &[
            ".x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if \
           x-kubernetes-int-or-string is true",
        ],
    );
    check_field(
        "{type: object, x-kubernetes-int-or-string: true, x-kubernetes-embedded-resource: true, properties: {b: \
         {type: string}}}",
        &[
            ".x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is \
           true",
        ],
    );
}

#[test]
fn root_metadata_must_not_be_specified() {
    let root = |rest: &str| format!("{{type: object, properties: {{{rest}}}}}");
    for metadata in [
        "{type: object}",
        "{type: object, default: {}}",
        "{type: object, properties: {name: {type: string, pattern: a}}}",
        "{type: object, properties: {generateName: {type: string}}}",
        "{type: object, properties: {name: {type: string}, generateName: {type: string}}}",
    ] {
        check(&root(&format!("metadata: {metadata}")), &[]);
    }
    let more = "schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, \
                but metadata is implicitly specified";
    for rest in [
        "description: d",
        "nullable: true",
        "required: [name]",
        "minProperties: 1",
        "additionalProperties: true",
        "x-kubernetes-map-type: atomic",
        "x-kubernetes-unions: {}",
        "properties: {name: {type: string}, labels: {type: object}}",
        "properties: {labels: {type: object}}",
        "example: 1",
    ] {
        check(
            &root(&format!("metadata: {{type: object, {rest}}}")),
            &[more],
        );
    }
    check(
        &root(
            "metadata: {type: string}, kind: {type: object}, apiVersion: {x-kubernetes-int-or-string: true}",
        ),
        &[
            r#"schema.properties[apiVersion].type: Invalid value: "": must be string"#,
            r#"schema.properties[kind].type: Invalid value: "object": must be string"#,
            r#"schema.properties[metadata].type: Invalid value: "string": must be object"#,
        ],
    );
    // In other places, the names have no meaning.
    check_field(
        "{type: object, properties: {metadata: {type: string}, kind: {type: integer}}}",
        &[],
    );
}

#[test]
fn junctors_must_not_specify_the_structure() {
    let cases = [
        ("type: string", "type", "empty"),
        (
            "additionalProperties: true",
            "additionalProperties",
            "undefined",
        ),
        (
            "additionalProperties: {minLength: 1}",
            "additionalProperties",
            "undefined",
        ),
        ("default: 1", "default", "undefined"),
        ("title: t", "title", "empty"),
        ("description: d", "description", "empty"),
        ("nullable: true", "nullable", "false"),
        (
            "x-kubernetes-preserve-unknown-fields: true",
            "x-kubernetes-preserve-unknown-fields",
            "false",
        ),
        (
            "x-kubernetes-embedded-resource: true",
            "x-kubernetes-embedded-resource",
            "false",
        ),
        (
            "x-kubernetes-int-or-string: true",
            "x-kubernetes-int-or-string",
            "false",
        ),
        (
            "x-kubernetes-list-map-keys: [a]",
            "x-kubernetes-list-map-keys",
            "empty",
        ),
        (
            "x-kubernetes-list-type: ''",
            "x-kubernetes-list-type",
            "undefined",
        ),
        (
            "x-kubernetes-map-type: atomic",
            "x-kubernetes-map-type",
            "undefined",
        ),
        (
            "x-kubernetes-unions: [{fields: {a: A}}]",
            "x-kubernetes-unions",
            "undefined",
        ),
        (
            "x-kubernetes-validations: [{rule: self}]",
            "x-kubernetes-validations",
            "empty",
        ),
    ];
    for (keyword, name, what) in cases {
        let error =
            |place: &str| format!("{place}.{name}: Forbidden: must be {what} to be structural");
        for (junctor, place) in [
            (format!("allOf: [{{{keyword}}}]"), ".allOf[0]"),
            (format!("anyOf: [{{}}, {{{keyword}}}]"), ".anyOf[1]"),
            (format!("oneOf: [{{{keyword}}}]"), ".oneOf[0]"),
            (format!("not: {{{keyword}}}"), ".not"),
            (
                format!("not: {{allOf: [{{items: {{{keyword}}}}}]}}"),
                ".not.allOf[0].items",
            ),
            (
                format!("not: {{properties: {{b: {{{keyword}}}}}}}"),
                ".not.properties[b]",
            ),
        ] {
            check_field(&format!("{{type: object, {junctor}}}"), &[&error(place)]);
        }
    }
    check_field(
        "{type: object, not: {externalDocs: {url: u}, example: 1, additionalProperties: false}}",
        &[],
    );
    check_field(
        "{type: object, not: {properties: {b: {properties: {metadata: {}}}}}}",
        &[
            ".not.properties[b].properties[metadata]: Forbidden: must not be specified in a nested context",
        ],
    );
}

#[test]
fn junctors_may_specify_integer_or_string() {
    let types = "[{type: integer}, {type: string}]";
    check_field(
        &format!("{{x-kubernetes-int-or-string: true, anyOf: {types}}}"),
        &[],
    );
    check_field(
        &format!(
            "{{x-kubernetes-int-or-string: true, allOf: [{{anyOf: {types}}}, {{minimum: 1}}]}}"
        ),
        &[],
    );
    // The extension is not required.
    check_field(&format!("{{type: string, anyOf: {types}}}"), &[]);
    // All other types are forbidden.
    let at = |place: &str, i: usize| {
        format!("{place}[{i}].type: Forbidden: must be empty to be structural")
    };
    for (schema, place) in [
        ("anyOf: [{type: string}, {type: integer}]", ".anyOf"),
        (
            "anyOf: [{type: integer}, {type: string, minLength: 1}]",
            ".anyOf",
        ),
        (
            "allOf: [{}, {anyOf: [{type: integer}, {type: string}]}]",
            ".allOf[1].anyOf",
        ),
        ("oneOf: [{type: integer}, {type: string}]", ".oneOf"),
        (
            "not: {anyOf: [{type: integer}, {type: string}]}",
            ".not.anyOf",
        ),
    ] {
        let schema = format!("{{x-kubernetes-int-or-string: true, {schema}}}");
        check_field(&schema, &[&at(place, 0), &at(place, 1)]);
    }
}

#[test]
fn structure_must_contain_the_fields_of_junctors() {
    check(
        "
type: object
properties: {a: {type: object, properties: {b: {type: array, items: {type: string}}}}}
allOf: [{properties: {a: {properties: {b: {items: {minLength: 1}}}}}}]
",
        &[],
    );
    check(
        "
type: object
properties: {a: {type: object}}
allOf: [{properties: {a: {properties: {b: {}}}}}, {items: {}}]
anyOf: [{not: {properties: {c: {}}}}]
oneOf: [{properties: {d: {properties: {e: {}}}}}]
not: {items: {items: {}}}
",
        &[
            "schema.items: Required value: because it is defined in schema.allOf[1].items",
            "schema.items: Required value: because it is defined in schema.not.items",
            "schema.properties[a].properties[b]: Required value: because it is defined in \
             schema.allOf[0].properties[a].properties[b]",
            "schema.properties[c]: Required value: because it is defined in schema.anyOf[0].not.properties[c]",
            "schema.properties[d]: Required value: because it is defined in schema.oneOf[0].properties[d]",
        ],
    );
    // As in the API server, junctors of fields are ignored.
    check_field("{type: object, allOf: [{properties: {b: {}}}]}", &[]);
}

#[test]
fn patterns_must_be_go_regular_expressions() {
    let error = |pattern: &str, fault: &str| {
        format!(
            "schema.properties[a].pattern: Invalid value: {}: must be a valid regular expression, but isn't: error \
             parsing regexp: {fault}",
            fieldmanager_value::internal::go_format::quote(pattern)
        )
    };
    for (pattern, fault) in [
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        (r"\pL{1000}", r"expression too large: `\pL{1000}`"),
        ("(?<a-b>x)", "invalid named capture: `(?<a-b>`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(a{100}){11}", "invalid repeat count: `{11}`"),
        ("|*", "missing argument to repetition operator: `*`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:x:]]", "invalid character class range: `[:x:]`"),
        (r"\p{X}", "invalid character class range: `\\p{X}`"),
        (r"\Z", "invalid escape sequence: `\\Z`"),
        (r"\x{110000}", "invalid escape sequence: `\\x{110000`"),
        ("\\", "trailing backslash at end of expression: ``"),
    ] {
        let schema = Value::from(fieldmanager_value::Map::from_iter([
            ("type", "string"),
            ("pattern", pattern),
        ]));
        check(
            &format!("{{type: object, properties: {{a: {}}}}}", schema.to_json()),
            &[&error(pattern, fault)],
        );
    }
    for pattern in [
        "^a{2,3}?$",
        "a{,2}",
        "[[]",
        "[]a]",
        r"\Q(\E",
        r"\p{Greek}\PL",
        "(?P<n>a)(?<m>b)",
        "(?i:a)",
        r"[\d\-z]",
        "[[:alpha:]_]",
        r"\x41\07\a",
        "(?s-m)a",
        "",
        r"\_",
    ] {
        let schema = Value::from(fieldmanager_value::Map::from_iter([
            ("type", "string"),
            ("pattern", pattern),
        ]));
        check(
            &format!("{{type: object, properties: {{a: {}}}}}", schema.to_json()),
            &[],
        );
    }
    // Patterns in junctors are checked too.
    check_field(
        "{type: string, not: {pattern: '('}}",
        &[
            ".not.pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing \
           regexp: missing closing ): `(`",
        ],
    );
}

#[test]
fn unions_are_structural_outside_junctors() {
    check(
        "{type: object, x-kubernetes-unions: [{discriminator: d, fields: {a: A}}]}",
        &[],
    );
    check_field(
        "{type: string, x-kubernetes-unions: {fieldMembers: {A: {name: a}}}}",
        &[],
    );
}

#[test]
fn paths_begin_with_the_path_of_the_schema() {
    let schema = Structural::from_value(&Value::from_yaml("{}").unwrap()).unwrap();
    assert_eq!(
        schema.validate(&FieldPath::default())[0].to_string(),
        "type: Required value: must not be empty at the root"
    );
}
