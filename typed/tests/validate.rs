//! Validation: all faults with their paths and messages.

use crate::common::{live, root, value};
use fieldmanager_fieldpath::Path;
use fieldmanager_schema::Schema;
use fieldmanager_typed::{Duplicates, Fault, ItemFault, TypedValue, ValidationErrors};
use fieldmanager_value::{List, Map, Value};

fn validate(object: Value, duplicates: Duplicates) -> Result<TypedValue, ValidationErrors> {
    TypedValue::new(object, root(), duplicates)
}

/// Rows of a description, an object, and its faults or `ok`.
fn check(mode: &str, rows: &[(&str, &str, &str)]) {
    let duplicates = if mode == "allow" {
        Duplicates::Allow
    } else {
        Duplicates::Refuse
    };
    for (name, object, expected) in rows {
        let found = match validate(value(object), duplicates) {
            Ok(typed) => {
                assert!(typed.value().strict_eq(&value(object)), "{name}");
                "ok".to_owned()
            }
            Err(errors) => errors.to_string(),
        };
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn kinds_are_checked() {
    check(
        "refuse",
        &[
            (
                "all kinds",
                "{num: 1.5, text: '', flag: false, any: a, labels: {a: b}, args: [a, a]}",
                "ok",
            ),
            (
                "null is valid everywhere",
                "{num: null, labels: null, set: null, kinds: null, inner: null}",
                "ok",
            ),
            ("a null object", "null", "ok"),
            ("numeric", "{num: '1'}", ".num: expected numeric, got \"1\""),
            ("string", "{text: 1}", ".text: expected string, got 1"),
            (
                "boolean",
                "{flag: 'true'}",
                ".flag: expected boolean, got \"true\"",
            ),
            (
                "any scalar",
                "{any: [1]}",
                ".any: expected any scalar, got list",
            ),
            (
                "a scalar for a map",
                "{labels: a}",
                ".labels: expected map, got \"a\"",
            ),
            (
                "a list for a map",
                "{inner: [1]}",
                ".inner: expected map, got list",
            ),
            (
                "a map for a list",
                "{set: {a: 1}}",
                ".set: expected list, got map",
            ),
            (
                "a scalar for a list",
                "{args: 1.0}",
                ".args: expected list, got 1",
            ),
            (
                "a map for a scalar",
                "{num: {}}",
                ".num: expected numeric, got map",
            ),
            (
                "a string for the object",
                "text",
                "expected map, got \"text\"",
            ),
            (
                "in an entry",
                "{labels: {a: x, b: 1}}",
                ".labels.b: expected string, got 1",
            ),
            (
                "in an atomic list",
                "{args: [a, 1]}",
                ".args[1]: expected string, got 1",
            ),
            (
                "in an atomic map",
                "{selector: {a: true}}",
                ".selector.a: expected string, got true",
            ),
            (
                "in an item",
                "{items: [{name: a, value: x}]}",
                r#".items[name="a"].value: expected numeric, got "x""#,
            ),
            (
                "in a nested struct",
                "{inner: {inner: {num: x}}}",
                r#".inner.inner.num: expected numeric, got "x""#,
            ),
            (
                "a number in a set of strings",
                "{kinds: [1]}",
                ".kinds[=1]: expected string, got 1",
            ),
            (
                "a scalar of none of several kinds",
                "{kinds: 1}",
                ".kinds: expected string, got 1",
            ),
            (
                "a map of several kinds",
                "{kinds: {a: b}}",
                r#".kinds.a: expected numeric, got "b""#,
            ),
            (
                "all faults, in the order of the object",
                "{text: 1, flag: 1, args: [1, a, 2]}",
                ".args[0]: expected string, got 1\n.args[2]: expected string, got 2\n\
                 .flag: expected boolean, got 1\n.text: expected string, got 1",
            ),
        ],
    );
}

#[test]
fn long_values_are_truncated() {
    let long = format!("{{num: {}}}", "é".repeat(40));
    let error = validate(value(&long), Duplicates::Refuse)
        .unwrap_err()
        .to_string();
    // At most 60 bytes, including the quote, without splitting a character.
    assert_eq!(
        error,
        format!(".num: expected numeric, got \"{}…", "é".repeat(29))
    );
}

#[test]
fn undeclared_fields_are_reported() {
    check(
        "refuse",
        &[
            (
                "with a similar field",
                "{label: {a: b}}",
                ".label: field not declared in schema, the nearest declared are `labels`",
            ),
            (
                "in a different case",
                "{NUM: 1}",
                ".NUM: field not declared in schema, the nearest declared are `num`",
            ),
            (
                "without a similar field",
                "{zzz: 1}",
                ".zzz: field not declared in schema",
            ),
            (
                "in an item",
                "{items: [{name: a, tag: [t]}]}",
                r#".items[name="a"].tag: field not declared in schema, the nearest declared are `tags`"#,
            ),
            (
                "with a null value",
                "{zzz: null}",
                ".zzz: field not declared in schema",
            ),
        ],
    );
}

#[test]
fn several_similar_fields_are_suggested() {
    let schema = "
types:
- name: root
  map:
    fields:
    - {name: hostPath, type: {scalar: string}}
    - {name: hostPID, type: {scalar: string}}
    - {name: hostPort, type: {scalar: string}}
    - {name: hostname, type: {scalar: string}}
    - {name: image, type: {scalar: string}}
";
    let ty = Schema::from_yaml(schema)
        .unwrap()
        .type_named("root")
        .unwrap();
    let errors = TypedValue::new(value("{hostPor: 1}"), ty, Duplicates::Refuse).unwrap_err();
    assert_eq!(
        errors.to_string(),
        ".hostPor: field not declared in schema, the nearest declared are `hostPort`, `hostPID`, `hostPath`"
    );
}

#[test]
fn listed_faults_and_suggestions_are_limited() {
    let schema =
        "types: [{name: root, map: {fields: [{name: replicas, type: {scalar: numeric}}]}}]";
    let ty = Schema::from_yaml(schema)
        .unwrap()
        .type_named("root")
        .unwrap();
    let unknown: fieldmanager_value::Map = (0..1_000)
        .map(|i| (format!("replicas{i}"), Value::Null))
        .collect();
    let errors = TypedValue::new(unknown.into(), ty, Duplicates::Refuse).unwrap_err();
    assert_eq!((errors.iter().count(), errors.unlisted()), (100, 900));
    let text = errors.to_string();
    assert_eq!(
        text.matches("the nearest declared are `replicas`").count(),
        10
    );
    assert!(text.ends_with("\n900 more errors are not listed"), "{text}");
}

#[test]
fn items_of_associative_lists_are_checked() {
    check(
        "refuse",
        &[
            ("scalars of every kind", "{set: [1, a, true, 1.5]}", "ok"),
            (
                "a map in a set",
                "{set: [{a: 1}]}",
                ".set[0]: expected scalar as an item of a set, got map",
            ),
            (
                "a list in a set",
                "{set: [1, [2]]}",
                ".set[1]: expected scalar as an item of a set, got list",
            ),
            (
                "null in a set",
                "{set: [null]}",
                ".set[0]: expected scalar as an item of a set, got null",
            ),
            (
                "a scalar in a list with keys",
                "{items: [a]}",
                ".items[0]: expected map as an item of an associative list with keys, got string",
            ),
            (
                "null in a list with keys",
                "{items: [null]}",
                ".items[0]: expected map as an item of an associative list with keys, got null",
            ),
            (
                "no key",
                "{items: [{name: a}, {value: 1}]}",
                ".items[1]: an item of an associative list must have one of its keys `name`",
            ),
            (
                "one of the keys, the other has a default",
                "{ports: [{port: 80}]}",
                "ok",
            ),
            ("only the default", "{ports: [{title: a}]}", "ok"),
            ("a key that is null", "{items: [{name: null}]}", "ok"),
        ],
    );
}

#[test]
fn items_without_any_of_several_keys_are_reported() {
    let schema = "
types:
- name: root
  list:
    elementRelationship: associative
    keys: [a, b]
    elementType: {map: {elementType: {scalar: numeric}}}
";
    let ty = Schema::from_yaml(schema)
        .unwrap()
        .type_named("root")
        .unwrap();
    assert!(
        TypedValue::new(
            value("[{a: 1}, {b: 1}, {a: 1, b: 1}]"),
            ty.clone(),
            Duplicates::Refuse
        )
        .is_ok()
    );
    let errors = TypedValue::new(value("[{c: 1}]"), ty, Duplicates::Refuse).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "[0]: an item of an associative list must have one of its keys `a`, `b`"
    );
}

#[test]
fn duplicates_are_rejected() {
    check(
        "refuse",
        &[
            (
                "in a set",
                "{set: [a, b, a]}",
                r#".set[="a"]: duplicate entries for one key"#,
            ),
            (
                "equal numbers",
                "{set: [1, 1.0]}",
                ".set[=1]: duplicate entries for one key",
            ),
            (
                "three times",
                "{set: [1, 1, 1]}",
                ".set[=1]: duplicate entries for one key\n.set[=1]: duplicate entries for one key",
            ),
            ("a number and a string", "{set: [1, '1']}", "ok"),
            (
                "by key",
                "{items: [{name: a, value: 1}, {name: a, value: 2}]}",
                r#".items[name="a"]: duplicate entries for one key"#,
            ),
            (
                "by a key that has its default",
                "{ports: [{port: 80}, {port: 80, protocol: TCP}]}",
                r#".ports[port=80,protocol="TCP"]: duplicate entries for one key"#,
            ),
            (
                "another second key",
                "{ports: [{port: 80}, {port: 80, protocol: UDP}]}",
                "ok",
            ),
            ("in an atomic list", "{args: [a, a]}", "ok"),
            (
                "inside an item",
                "{items: [{name: a, tags: [t, t]}]}",
                r#".items[name="a"].tags[="t"]: duplicate entries for one key"#,
            ),
        ],
    );
}

#[test]
fn duplicates_are_accepted_in_live_objects() {
    check(
        "allow",
        &[
            ("in a set", "{set: [a, b, a]}", "ok"),
            (
                "by key",
                "{items: [{name: a, value: 1}, {name: a, value: 2}]}",
                "ok",
            ),
            (
                "other faults in duplicates",
                "{items: [{name: a, value: x}, {name: a, value: 2}]}",
                r#".items[name="a"].value: expected numeric, got "x""#,
            ),
        ],
    );
}

/// Long lists are validated with an index.
#[test]
fn duplicates_in_long_lists_are_detected() {
    let object = |items: Vec<String>| {
        let items: List = items.into_iter().map(Value::from).collect();
        Value::Map(Map::single("set", items))
    };
    let mut items: Vec<String> = (0..100).map(|i| format!("i{i}")).collect();
    assert!(validate(object(items.clone()), Duplicates::Refuse).is_ok());
    items.extend(["i7".into(), "i70".into()]);
    assert!(validate(object(items.clone()), Duplicates::Allow).is_ok());
    let errors = validate(object(items), Duplicates::Refuse).unwrap_err();
    assert_eq!(
        errors.to_string(),
        ".set[=\"i7\"]: duplicate entries for one key\n.set[=\"i70\"]: duplicate entries for one key"
    );
}

#[test]
fn nesting_is_bounded() {
    let object = |depth: usize| {
        (0..depth).fold(Value::Null, |inner, _| {
            Value::Map(Map::single("inner", inner))
        })
    };
    assert!(validate(object(255), Duplicates::Refuse).is_ok());
    let errors = validate(object(256), Duplicates::Refuse).unwrap_err();
    assert_eq!(
        errors.to_string(),
        format!(
            "{}: nesting is deeper than 255 levels",
            ".inner".repeat(255)
        )
    );
    let errors = validate(object(1_000), Duplicates::Refuse).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().fault, Fault::TooDeep);
}

#[test]
fn types_that_accept_no_value_are_schema_faults() {
    let errors = validate(value("{nothing: 1, text: 1}"), Duplicates::Refuse).unwrap_err();
    assert_eq!(
        errors.to_string(),
        ".nothing: schema error: type `nothing` accepts no value here\n.text: expected string, got 1"
    );
    assert!(errors.is_schema_fault());
    assert!(
        !validate(value("{text: 1}"), Duplicates::Refuse)
            .unwrap_err()
            .is_schema_fault()
    );
    assert!(validate(value("{nothing: null}"), Duplicates::Refuse).is_err());
}

/// Callers can inspect the path and the reason without parsing the message.
#[test]
fn faults_are_structured() {
    let errors = validate(
        value("{set: [1, 1], label: 1, items: [{}]}"),
        Duplicates::Refuse,
    )
    .unwrap_err();
    let found: Vec<(String, Fault)> = errors
        .iter()
        .map(|e| (e.path.to_string(), e.fault.clone()))
        .collect();
    let expected = [
        (
            ".items[0]",
            Fault::Item(ItemFault::NoKeys {
                keys: vec!["name".into()],
            }),
        ),
        (
            ".label",
            Fault::NotDeclared {
                nearest: vec!["labels".into()],
            },
        ),
        (".set[=1]", Fault::Duplicate),
    ];
    assert_eq!(
        found,
        expected.map(|(path, fault)| (path.to_owned(), fault))
    );
}

#[test]
fn get_returns_the_value_at_a_path() {
    let object = live(
        "{num: 1, labels: {a: x}, set: [p, q, q], args: [u, v], ports: [{port: 80, title: a}],
          items: [{name: a, value: 1}, {name: b, value: 2}, {name: b}], deduced: {a: {b: [5]}}}",
    );
    for (path, expected) in [
        ("", None),
        (".num", Some("1")),
        (".text", None),
        (".num.x", None),
        (".labels.a", Some("\"x\"")),
        (r#".set[="p"]"#, Some("\"p\"")),
        (r#".set[="q"]"#, None),
        (".set[0]", Some("\"p\"")),
        (".args[1]", Some("\"v\"")),
        (".args[2]", None),
        (".args[-1]", None),
        (r#".ports[port=80,protocol="TCP"].title"#, Some("\"a\"")),
        (".ports[port=80].title", None),
        (r#".items[name="a"].value"#, Some("1")),
        (r#".items[name="b"].value"#, None),
        (".deduced.a.b[0]", Some("5")),
    ] {
        let at: Path = path.parse().unwrap();
        let found = object.get(&at).map(Value::to_json);
        match path {
            "" => assert_eq!(found, Some(object.value().to_json())),
            _ => assert_eq!(found.as_deref(), expected, "{path}"),
        }
    }
}
