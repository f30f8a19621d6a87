//! Validates objects: the messages of Kubernetes for each keyword, and the OpenAPI dialect.
#![cfg(feature = "validation")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use fieldmanager_structural::validation::{SchemaError, Validator};
use fieldmanager_structural::{FieldPath, Structural};
use fieldmanager_value::Value;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

/// Checks the errors of a field `f` with a schema and a value.
#[track_caller]
fn check(schema: &str, value: &str, expected: &[&str]) {
    let schema = yaml(&format!("{{type: object, properties: {{f: {schema}}}}}"));
    let found = Validator::new(&schema)
        .unwrap()
        .validate(&yaml(&format!("{{f: {value}}}")));
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{schema}: {value}");
}

#[test]
fn type_is_checked() {
    check(
        "{type: string}",
        "1",
        &[r#"f: Invalid value: "integer": f in body must be of type string: "integer""#],
    );
    check(
        "{type: integer}",
        "1.5",
        &[
            r#"f: Invalid value: "number": f in body must be of type integer: "number""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in f"#,
        ],
    );
    check("{type: integer}", "1.0", &[]);
    check("{type: number}", "1", &[]);
    check(
        "{type: integer, format: int32}",
        "3000000000",
        &[
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in f"#,
        ],
    );
    // As in the API server, a list passes for a string with a format.
    check("{type: string, format: byte}", "[1]", &[]);
    check(
        "{type: string, format: byte}",
        "1",
        &[r#"f: Invalid value: "int64": f in body must be of type byte: "int64""#],
    );
    check(
        "{type: object}",
        "[]",
        &[r#"f: Invalid value: "array": f in body must be of type object: "array""#],
    );
    check(
        "{type: string}",
        "null",
        &[r#"f: Invalid value: "null": f in body must be of type string: "null""#],
    );
    check("{type: string, nullable: true}", "null", &[]);
    check(
        "{type: string, nullable: true}",
        "1",
        &[r#"f: Invalid value: "integer": f in body must be of type string: "integer""#],
    );
}

#[test]
fn kubernetes_extensions_are_checked() {
    check("{x-kubernetes-int-or-string: true}", "80", &[]);
    check("{x-kubernetes-int-or-string: true}", "http", &[]);
    check(
        "{x-kubernetes-int-or-string: true}",
        "true",
        &[r#"f: Invalid value: "boolean": f in body must be of type integer,string: "boolean""#],
    );
    check(
        "{x-kubernetes-preserve-unknown-fields: true}",
        "{a: [1, {b: null}]}",
        &[],
    );
    check(
        "{type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}",
        "{spec: 1}",
        &[r#"f.spec: Invalid value: "integer": f.spec in body must be of type object: "integer""#],
    );
}

#[test]
fn number_bounds_are_checked() {
    check(
        "{type: integer, maximum: 3}",
        "4",
        &["f: Invalid value: 4: f in body should be less than or equal to 3"],
    );
    check(
        "{type: integer, maximum: 3, exclusiveMaximum: true}",
        "3",
        &["f: Invalid value: 3: f in body should be less than 3"],
    );
    check(
        "{type: integer, maximum: 3, exclusiveMaximum: false}",
        "3",
        &[],
    );
    check(
        "{type: integer, maximum: 50.0}",
        "51",
        &["f: Invalid value: 51: f in body should be less than or equal to 50"],
    );
    check(
        "{type: number, maximum: 5000000}",
        "5000000.5",
        &["f: Invalid value: 5.0000005e+06: f in body should be less than or equal to 5e+06"],
    );
    check(
        "{type: integer, minimum: 1.5}",
        "1",
        &[
            r#"<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in f"#,
            "f: Invalid value: 1: f in body should be greater than or equal to 1.5",
        ],
    );
    check(
        "{type: number, minimum: 0.5}",
        "0.25",
        &["f: Invalid value: 0.25: f in body should be greater than or equal to 0.5"],
    );
    check(
        "{type: integer, minimum: 0, exclusiveMinimum: true}",
        "0",
        &["f: Invalid value: 0: f in body should be greater than 0"],
    );
    check(
        "{type: integer, multipleOf: 5}",
        "7",
        &["f: Invalid value: 7: f in body should be a multiple of 5"],
    );
}

#[test]
fn string_restrictions_are_checked() {
    check(
        "{type: string, pattern: '^a+$'}",
        "b",
        &[r#"f: Invalid value: "b": f in body should match '^a+$'"#],
    );
    check(
        "{type: string, minLength: 2}",
        "a",
        &[r#"f: Invalid value: "a": f in body should be at least 2 chars long"#],
    );
    check(
        "{type: string, maxLength: 2}",
        "abc",
        &["f: Too long: may not be more than 2 bytes"],
    );
    check(
        "{type: string, enum: [b, a]}",
        "c",
        &[r#"f: Unsupported value: "c": supported values: "b", "a""#],
    );
    check(
        "{type: string, format: date-time}",
        "soon",
        &[r#"f: Invalid value: "soon": f in body must be of type date-time: "soon""#],
    );
    check(
        "{type: string, format: uuid}",
        "0e8400e229b441d4a716446655440000",
        &[],
    );
    check("{type: string, format: colour-of-the-day}", "red", &[]);
    check("{type: integer, format: int32}", "5", &[]);
}

#[test]
fn list_and_map_restrictions_are_checked() {
    check(
        "{type: array, items: {type: string}, maxItems: 1}",
        "[a, b]",
        &["f: Too many: 2: must have at most 1 item"],
    );
    check(
        "{type: array, items: {type: string}, minItems: 2}",
        "[a]",
        &["f: Invalid value: 1: f in body should have at least 2 items"],
    );
    check(
        "{type: array, items: {type: string}}",
        "[a, 1]",
        &[r#"f[1]: Invalid value: "integer": f[1] in body must be of type string: "integer""#],
    );
    check(
        "{type: object, required: [a, b]}",
        "{b: 1}",
        &["f.a: Required value"],
    );
    check(
        "{type: object, minProperties: 1}",
        "{}",
        &["f: Invalid value: 0: f in body should have at least 1 properties"],
    );
    check(
        "{type: object, maxProperties: 0}",
        "{a: 1}",
        &["f: Too many: 1: must have at most 0 items"],
    );
    check(
        "{type: object, properties: {a: {type: string}}, additionalProperties: false}",
        "{b: 1}",
        &[r#"f: Invalid value: "b": f.b in body is a forbidden property"#],
    );
    // A number can be a field name, and a name can contain the special characters of JSON pointers.
    check(
        "{type: object, additionalProperties: {type: string}}",
        "{'80': 1, 'a/b~c': 2}",
        &[
            r#"f.80: Invalid value: "integer": f.80 in body must be of type string: "integer""#,
            r#"f.a/b~c: Invalid value: "integer": f.a/b~c in body must be of type string: "integer""#,
        ],
    );
}

#[test]
fn alternatives_report_the_best_match() {
    check(
        "{type: string, anyOf: [{minLength: 3}, {pattern: '^x'}]}",
        "a",
        &[
            r#"<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)"#,
            r#"f: Invalid value: "a": f in body should be at least 3 chars long"#,
        ],
    );
    check(
        "{type: object, oneOf: [{required: [a]}, {required: [b]}]}",
        "{a: 1, b: 1}",
        &[
            r#"<nil>: Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
        ],
    );
    check(
        "{type: object, oneOf: [{required: [a]}, {required: [b]}]}",
        "{}",
        &[
            r#"<nil>: Invalid value: "": "f" must validate one and only one schema (oneOf). Found none valid"#,
            "f.a: Required value",
        ],
    );
    check(
        "{type: string, not: {enum: [a]}}",
        "a",
        &[r#"<nil>: Invalid value: "": "f" must not validate the schema (not)"#],
    );
    check(
        "{type: string, allOf: [{minLength: 2}]}",
        "a",
        &[
            r#"f: Invalid value: "a": f in body should be at least 2 chars long"#,
            r#"<nil>: Invalid value: "": "f" must validate all the schemas (allOf). None validated"#,
        ],
    );
    check(
        "{type: string, allOf: [{minLength: 2}, {maxLength: 2}]}",
        "a",
        &[
            r#"f: Invalid value: "a": f in body should be at least 2 chars long"#,
            r#"<nil>: Invalid value: "": "f" must validate all the schemas (allOf)"#,
        ],
    );
    // Null skips alternatives, but not enumerations.
    check(
        "{type: string, nullable: true, anyOf: [{enum: [a]}]}",
        "null",
        &[],
    );
    check(
        "{type: string, nullable: true, anyOf: [{enum: [a]}]}",
        "b",
        &[
            r#"<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)"#,
            r#"f: Unsupported value: "b": supported values: "a""#,
        ],
    );
    check(
        "{type: string, nullable: true, enum: [a]}",
        "null",
        &[r#"f: Unsupported value: null: supported values: "a""#],
    );
}

#[test]
fn invalid_schemas_are_refused() {
    let error = |schema: &str| Validator::new(&yaml(schema)).unwrap_err();
    assert_eq!(
        error("{properties: {a: {$ref: '#/b'}}}").to_string(),
        "`properties.a.$ref`: `#/b`: references are not supported"
    );
    assert!(matches!(
        error("{properties: {a: {pattern: '('}}}"),
        SchemaError::Keyword { .. }
    ));
    assert!(matches!(error("{type: text}"), SchemaError::Keyword { .. }));
    assert!(matches!(error("{items: 1}"), SchemaError::Keyword { .. }));
    let mut deep = Value::from_yaml("{type: string}").unwrap();
    for _ in 0..300 {
        deep = fieldmanager_value::Map::single("items", deep).into();
    }
    assert_eq!(Validator::new(&deep).unwrap_err(), SchemaError::TooDeep);
}

#[test]
fn errors_beyond_100_are_counted() {
    let allowed: Vec<String> = (0..1000).map(|i| format!("value-{i}")).collect();
    let schema = yaml(&format!(
        "{{type: array, items: {{type: string, enum: [{}]}}}}",
        allowed.join(",")
    ));
    let object = yaml(&format!("[{}]", vec!["x"; 800].join(",")));
    let errors = Validator::new(&schema).unwrap().validate(&object);
    assert_eq!(errors.len(), 101);
    assert_eq!(
        errors.last().unwrap().detail,
        "700 more errors are not listed"
    );

    // Errors that repeat a long list are counted from 4 MiB on.
    let allowed: Vec<String> = (0..100_000).map(|i| format!("value-{i}")).collect();
    let schema = yaml(&format!(
        "{{type: array, items: {{type: string, enum: [{}]}}}}",
        allowed.join(",")
    ));
    let errors = Validator::new(&schema).unwrap().validate(&object);
    let bytes: usize = errors.iter().map(|error| error.detail.len()).sum();
    assert!(
        errors.len() < 6 && bytes < 6 << 20,
        "{} errors of {bytes} bytes",
        errors.len()
    );
    assert_eq!(
        errors.last().unwrap().detail,
        format!("{} more errors are not listed", 800 - errors.len() + 1)
    );
}

#[test]
fn errors_of_an_enum_cost_in_proportion_to_the_enum_and_the_faults() {
    let cost = |values: usize, faults: usize| {
        let allowed: Vec<String> = (0..values).map(|i| format!("value-{i:06}")).collect();
        let schema = yaml(&format!(
            "{{type: array, items: {{type: string, enum: [{}]}}}}",
            allowed.join(",")
        ));
        let object = yaml(&format!("[{}]", vec!["x"; faults].join(",")));
        let validator = Validator::new(&schema).unwrap();
        let mut length = 0;
        let counted = allocation_counter::measure(|| {
            let errors = validator.validate(&object);
            length = errors.iter().map(|error| error.to_string().len()).sum();
        });
        (length, counted.bytes_total)
    };
    cost(1, 1);
    let (length, bytes) = cost(1000, 800);
    // Without a limit, the errors of 1,000 values and 800 faults are 12.8 million characters.
    assert!(
        length < 1_700_000 && bytes < 20_000_000,
        "{length} characters, {bytes} bytes"
    );
    let (more_faults, more_values) = (cost(1000, 8000), cost(8000, 800));
    assert!(
        more_faults.0 < length + 100 && more_faults.1 < 2 * bytes,
        "{more_faults:?} for {bytes} bytes"
    );
    assert!(
        more_values.0 < 9 * length && more_values.1 < 12 * bytes,
        "{more_values:?} for {bytes} bytes"
    );
}

#[test]
fn too_deep_objects_are_refused() {
    let validator = Validator::new(&yaml("{}")).unwrap();
    let mut deep = Value::from(1);
    for _ in 0..300 {
        deep = Value::from(vec![deep]);
    }
    assert_eq!(validator.validate(&deep).len(), 1);
}

/// Checks the errors of an object that replaces another one.
#[track_caller]
fn check_update(schema: &str, old: &str, new: &str, expected: &[&str]) {
    let schema = yaml(schema);
    let structural = Structural::from_value(&schema).unwrap();
    let validator = Validator::new(&schema).unwrap();
    let found =
        validator.validate_update(&FieldPath::default(), &yaml(new), &yaml(old), &structural);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{old} -> {new}");
}

#[test]
fn faults_of_unchanged_values_are_dropped_on_update() {
    let schema = "{type: object, properties: {a: {type: string, maxLength: 1}, b: {type: object, required: [c], \
                  properties: {c: {type: string}, d: {type: string}}}}}";
    check_update(schema, "{a: xx}", "{a: xx, b: {c: z}}", &[]);
    check_update(
        schema,
        "{a: xx}",
        "{a: yy}",
        &["a: Too long: may not be more than 1 byte"],
    );
    check_update(schema, "{b: {}}", "{a: x, b: {}}", &[]);
    check_update(schema, "{b: {}}", "{b: {d: x}}", &["b.c: Required value"]);
    // Unknown fields are never equal.
    check_update(
        schema,
        "{b: {e: x}}",
        "{b: {e: x}}",
        &["b.c: Required value"],
    );
    // Nothing is dropped inside of junctors.
    check_update(
        "{type: object, properties: {a: {type: string}, b: {type: string}}, anyOf: [{properties: {a: {maxLength: 1}}}]}",
        "{a: xx, b: x}",
        "{a: xx, b: z}",
        &[
            r#"<nil>: Invalid value: "": "" must validate at least one schema (anyOf)"#,
            "a: Too long: may not be more than 1 byte",
        ],
    );
}

#[test]
fn items_of_a_list_of_type_map_are_compared_by_key_on_update() {
    let list = |extensions: &str| {
        let item =
            "{type: object, properties: {k: {type: integer}, v: {type: string, maxLength: 1}}}";
        format!("{{type: object, properties: {{l: {{type: array, items: {item}{extensions}}}}}}}")
    };
    let map = list(", x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]");
    check_update(
        &map,
        "{l: [{k: 1, v: xx}]}",
        "{l: [{k: 2, v: x}, {k: 1, v: xx}]}",
        &[],
    );
    check_update(
        &map,
        "{l: [{k: 1, v: xx}]}",
        "{l: [{k: 2, v: xx}]}",
        &["l[0].v: Too long: may not be more than 1 byte"],
    );
    check_update(
        &list(""),
        "{l: [{k: 1, v: xx}]}",
        "{l: [{k: 1, v: xx}]}",
        &[],
    );
    check_update(
        &list(""),
        "{l: [{k: 1, v: xx}]}",
        "{l: [{k: 1, v: xx}, {k: 2}]}",
        &["l[0].v: Too long: may not be more than 1 byte"],
    );
}

#[test]
fn patterns_have_the_syntax_of_go() {
    check("{type: string, pattern: '^[\\w-]+{$'}", "'a-b{'", &[]);
    check(
        r"{type: string, pattern: '^\d$'}",
        "٤",
        &[r#"f: Invalid value: "٤": f in body should match '^\d$'"#],
    );
    check(
        r"{type: string, pattern: '^[[:alpha:]&&b]+\Q.*\E\101$'}",
        "'a&.*A'",
        &[],
    );
}
