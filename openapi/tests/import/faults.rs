//! Faults of definitions, with exact messages.

use fieldmanager_openapi::{Importer, LoadError, Types};

use super::{faults_of, yaml};

#[test]
fn schema_faults_are_reported() {
    const TYPES: &str = "array, boolean, integer, number, object and string are accepted";
    let cases = [
        ("7", "a schema must be a map, got integer"),
        ("null", "a schema must be a map, got null"),
        ("true", "a schema must be a map, got boolean"),
        (
            "{type: text}",
            &format!(".type: unrecognized type `text`: {TYPES}"),
        ),
        (
            "{type: [text, string]}",
            &format!(".type: unrecognized type `text`: {TYPES}"),
        ),
        (
            "{type: Object}",
            &format!(".type: unrecognized type `Object`: {TYPES}"),
        ),
        (
            "{type: 'null'}",
            &format!(".type: unrecognized type `null`: {TYPES}"),
        ),
        (
            "{type: 7}",
            ".type: expected string or a list of strings, got integer",
        ),
        (
            "{type: [7]}",
            ".type: expected string or a list of strings, got integer",
        ),
        (
            "{type: [{}]}",
            ".type: expected string or a list of strings, got map",
        ),
        (
            "{type: string, format: 7}",
            ".format: expected string, got integer",
        ),
        ("{type: array}", "`items` must be specified on arrays"),
        (
            "{type: array, items: null}",
            "`items` must be specified on arrays",
        ),
        ("{type: array, items: [{type: string}]}", {
            ".items: expected one schema for all items, got a list of schemas"
        }),
        (
            "{items: []}",
            ".items: expected one schema for all items, got a list of schemas",
        ),
        (
            "{type: array, items: true}",
            ".items: a schema must be a map, got boolean",
        ),
        (
            "{type: object, properties: [a]}",
            ".properties: expected a map of schemas, got list",
        ),
        (
            "{type: object, properties: {a: true}}",
            ".properties.a: a schema must be a map, got boolean",
        ),
        (
            "{type: object, additionalProperties: 1}",
            ".additionalProperties: a schema must be a map, got integer",
        ),
        ("{type: object, properties: {a: {nullable: 'yes'}}}", {
            ".properties.a.nullable: expected boolean, got string"
        }),
        ("{$ref: 7}", ".$ref: expected string, got integer"),
        (
            "{type: array, items: {$ref: [a]}}",
            ".items.$ref: expected string, got list",
        ),
        (
            "{type: array, items: {allOf: [{$ref: true}]}}",
            ".items.allOf[0].$ref: expected string, got boolean",
        ),
    ];
    for (schema, fault) in cases {
        assert_eq!(
            faults_of(&format!("{{t: {schema}}}")),
            [format!("definition `t`: {fault}")],
            "{schema}"
        );
    }
}

#[test]
fn extension_faults_are_reported() {
    let cases = [
        (
            "x-kubernetes-map-type: odd",
            ".x-kubernetes-map-type: unknown map type `odd`: atomic and granular are accepted",
        ),
        (
            "x-kubernetes-map-type: [a]",
            ".x-kubernetes-map-type: unknown map type `[\"a\"]`: atomic and granular are accepted",
        ),
        (
            "x-kubernetes-map-type: null",
            ".x-kubernetes-map-type: unknown map type `null`: atomic and granular are accepted",
        ),
        ("x-kubernetes-map-type: separable", {
            ".x-kubernetes-map-type: unknown map type `separable`: atomic and granular are accepted"
        }),
        ("x-kubernetes-preserve-unknown-fields: 'true'", {
            ".x-kubernetes-preserve-unknown-fields: expected boolean, got string"
        }),
        ("x-kubernetes-preserve-unknown-fields: 1", {
            ".x-kubernetes-preserve-unknown-fields: expected boolean, got integer"
        }),
    ];
    for (text, fault) in cases {
        let found = faults_of(&format!("{{t: {{type: object, {text}}}}}"));
        assert_eq!(found, [format!("definition `t`: {fault}")], "{text}");
    }
    let beside =
        faults_of("{t: {type: object, properties: {a: {$ref: t, x-kubernetes-map-type: odd}}}}");
    assert_eq!(
        beside,
        [
            "definition `t`: .properties.a.x-kubernetes-map-type: unknown map type `odd`: atomic and granular are accepted"
        ]
    );
}

#[test]
fn list_extension_faults_are_reported() {
    const LISTS: &str = "atomic, set and map are accepted";
    const STRATEGIES: &str = "merge, retainKeys and merge,retainKeys are accepted";
    let map = "x-kubernetes-list-type: map, x-kubernetes-list-map-keys";
    let merge = "x-kubernetes-patch-strategy: merge, x-kubernetes-patch-merge-key";
    let cases = [
        (
            "x-kubernetes-list-type: Set".to_owned(),
            format!(".x-kubernetes-list-type: unknown list type `Set`: {LISTS}"),
        ),
        (
            "x-kubernetes-list-type: ''".into(),
            format!(".x-kubernetes-list-type: unknown list type ``: {LISTS}"),
        ),
        (
            "x-kubernetes-list-type: 7".into(),
            format!(".x-kubernetes-list-type: unknown list type `7`: {LISTS}"),
        ),
        (
            "x-kubernetes-list-type: null".into(),
            format!(".x-kubernetes-list-type: unknown list type `null`: {LISTS}"),
        ),
        (
            "x-kubernetes-list-type: map".into(),
            ".x-kubernetes-list-type: a list of type map needs its keys in x-kubernetes-list-map-keys".into(),
        ),
        (format!("{map}: a"), ".x-kubernetes-list-map-keys: expected list, got string".into()),
        (format!("{map}: null"), ".x-kubernetes-list-map-keys: expected list, got null".into()),
        (format!("{map}: [a, 7]"), ".x-kubernetes-list-map-keys: expected strings, got integer".into()),
        (
            "x-kubernetes-patch-strategy: replace".into(),
            format!(".x-kubernetes-patch-strategy: unknown patch strategy `replace`: {STRATEGIES}"),
        ),
        (
            "x-kubernetes-patch-strategy: 'retainKeys,merge'".into(),
            format!(".x-kubernetes-patch-strategy: unknown patch strategy `retainKeys,merge`: {STRATEGIES}"),
        ),
        (
            "x-kubernetes-patch-strategy: {a: 1}".into(),
            format!(".x-kubernetes-patch-strategy: unknown patch strategy `{{\"a\":1}}`: {STRATEGIES}"),
        ),
        (format!("{merge}: [a]"), ".x-kubernetes-patch-merge-key: expected string, got list".into()),
    ];
    for (text, fault) in cases {
        let found = faults_of(&format!(
            "{{t: {{type: array, items: {{type: object}}, {text}}}}}"
        ));
        assert_eq!(found, [format!("definition `t`: {fault}")], "{text}");
        // A schema without a type may be a list, too.
        assert_eq!(faults_of(&format!("{{t: {{{text}}}}}")), found, "{text}");
    }
}

/// An import reports every fault of a document, with its definition and path.
#[test]
fn all_faults_are_reported_at_once() {
    let document = yaml(
        "{definitions: {
            b: {type: array, x-kubernetes-list-type: odd},
            a: {type: object, x-kubernetes-map-type: odd, x-kubernetes-group-version-kind: {}, properties: {
              x: {type: text, nullable: 1}, z: {type: array, items: {type: object, properties: {z: {$ref: gone}}}}}},
            good: {type: string}}}",
    );
    let Err(LoadError::Import(error)) = Types::load(&document) else {
        panic!("it has faults")
    };
    let expected = "\
definition `a`: .properties.x.nullable: expected boolean, got integer
definition `a`: .properties.x.type: unrecognized type `text`: array, boolean, integer, number, object and string are accepted
definition `a`: .properties.z.items.properties.z.$ref: there is no definition `gone`
definition `a`: .x-kubernetes-map-type: unknown map type `odd`: atomic and granular are accepted
definition `a`: .x-kubernetes-group-version-kind: expected a list of group, version and kind, got map
definition `b`: .x-kubernetes-list-type: unknown list type `odd`: atomic, set and map are accepted
definition `b`: `items` must be specified on arrays";
    assert_eq!(error.to_string(), expected);
    let first = &error.0[0];
    assert_eq!(
        (first.definition.as_str(), first.path.as_str()),
        ("a", ".properties.x.nullable")
    );
    assert_eq!(first.message, "expected boolean, got integer");
}

#[test]
fn unsupported_documents_are_refused() {
    let importer = Importer::new();
    let text = |document: &str| importer.document(&yaml(document)).unwrap_err().to_string();
    let none = "not an OpenAPI document: expected `definitions` (version 2), `components.schemas` (version 3) or `$defs`";
    for document in [
        "{}",
        "null",
        "[]",
        "7",
        "{components: {}}",
        "{components: 7}",
        "{paths: {}}",
    ] {
        assert_eq!(text(document), none, "{document}");
    }
    for (document, expected) in [
        (
            "{definitions: []}",
            ".definitions: expected a map of schemas, got list",
        ),
        (
            "{definitions: null}",
            ".definitions: expected a map of schemas, got null",
        ),
        (
            "{components: {schemas: 7}}",
            ".components.schemas: expected a map of schemas, got integer",
        ),
        (
            "{$defs: text}",
            ".$defs: expected a map of schemas, got string",
        ),
    ] {
        assert_eq!(text(document), expected, "{document}");
    }
}

#[test]
fn documents_of_all_versions_are_read() {
    for document in [
        "{swagger: '2.0', definitions: {t: {type: string}}}",
        "{openapi: 3.0.0, components: {schemas: {t: {type: string}}}}",
        "{$schema: x, $defs: {t: {type: string}}}",
    ] {
        let types = Types::load(&yaml(document)).unwrap();
        assert!(types.schema().type_named("t").is_some(), "{document}");
    }
    assert!(Types::load(&yaml("{definitions: {}}")).is_ok());
}
