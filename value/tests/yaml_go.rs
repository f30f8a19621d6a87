//! YAML is read as `sigs.k8s.io/yaml` reads it: cases that other readers take differently.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use fieldmanager_value::Value;
use fieldmanager_value::internal::from_yaml_with_duplicates;

/// The texts and the JSON of Go.
const VALUES: &[(&str, &str)] = &[
    // A quoted scalar may continue at the indentation of its key.
    ("a: 'b\nc'\nd: 1", r#"{"a":"b c","d":1}"#),
    ("a:\n  b: \"x\n  y\"\nc: 1", r#"{"a":{"b":"x y"},"c":1}"#),
    // A block scalar without a final line break has none.
    ("a: |\n  x", r#"{"a":"x"}"#),
    ("a: >\n  x\n  y", r#"{"a":"x y"}"#),
    ("a: |+\n  x", r#"{"a":"x"}"#),
    ("a: |\n  x\n  ", r#"{"a":"x\n"}"#),
    ("a: |\n  x\n    ", r#"{"a":"x\n  "}"#),
    ("a: |+\n  x\n\n  ", r#"{"a":"x\n\n"}"#),
    ("a: |\n  x\r\n  y", r#"{"a":"x\ny"}"#),
    ("a: |\n  x\u{2028}", "{\"a\":\"x\u{2028}\"}"),
    ("a: |", r#"{"a":""}"#),
    // Later entries win, those of merge keys too.
    ("<<: {a: 1}\na: 2", r#"{"a":2}"#),
    ("a: 2\n<<: {a: 1, b: 1}\nb: 2", r#"{"a":1,"b":2}"#),
    ("<<: [{a: 1}, {a: 3, b: 1}]", r#"{"a":1,"b":1}"#),
    ("\"<<\": 1", r#"{"<<":1}"#),
    // Keys become strings.
    ("&a 1: x\nb: *a", r#"{"1":"x","b":1}"#),
    ("a: &a true\n*a : 2", r#"{"a":true,"true":2}"#),
    (
        "1.50: a\n1234567.8: b\n+.INF: c",
        r#"{"1.2345678e+06":"b","1.5":"a",".inf":"c"}"#,
    ),
    // An alias refers to the last anchor of its name.
    ("a: &a 1\nb: &a 2\nc: *a", r#"{"a":1,"b":2,"c":2}"#),
    // Numbers of more than 64 bits.
    (
        "[1e999, 0x1ffffffffffffffff]",
        r#"["1e999","0x1ffffffffffffffff"]"#,
    ),
    (
        "[-9223372036854775809, 0xffffffffffffffff]",
        "[-9223372036854776000,18446744073709551615]",
    ),
    // Tags.
    (
        "[!!int \"12\", !!str 12, !!float 1, ! 12, !x yes]",
        r#"[12,"12",1,"12","yes"]"#,
    ),
    (
        "x: Hi !a, b\nw: ['!a,b', \"!c,\", z !d,e] # !f,",
        r#"{"w":["!a,b","!c,","z !d","e"],"x":"Hi !a, b"}"#,
    ),
    // Byte order marks and characters that begin like one.
    ("\u{feff}a: 1\nb: 2", r#"{"a":1,"b":2}"#),
    ("\u{ff1a}: 1", "{\"\u{ff1a}\":1}"),
];

const ERRORS: &[(&str, &str)] = &[
    (
        "[!a,b]",
        "line 1 column 2: did not find expected whitespace or line break while scanning a tag",
    ),
    (
        "!!int x",
        "line 1 column 1: `x` does not have the type of its tag `tag:yaml.org,2002:int`",
    ),
    ("a: *a", "line 1 column 4: unknown anchor `a`"),
    ("a: &a 1\n---\nb: *a", "line 3 column 4: unknown anchor `a`"),
    (
        "a: &a 1\nb: &a [*a]",
        "line 2 column 8: alias of a node that is not complete",
    ),
    ("~: a", "line 1 column 1: a map key must not be null"),
    (
        "%YAML 1.2\n---\na: 1",
        "line 1 column 1: found incompatible YAML document",
    ),
    (
        "a: b\nc: \u{7}",
        "line 2 column 4: control characters are not allowed",
    ),
    (
        "a: \"b\\",
        "line 1 column 7: found unexpected end of stream while scanning a quoted scalar (line 1 column 4)",
    ),
];

#[test]
fn values_are_those_of_go() {
    for (text, json) in VALUES {
        let expected = Value::from_json(json).unwrap().to_json();
        assert_eq!(
            from_yaml_with_duplicates(text).unwrap().0.to_json(),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn texts_that_go_refuses_are_errors() {
    for (text, message) in ERRORS {
        let error = Value::from_yaml(text).unwrap_err().to_string();
        assert_eq!(error, format!("not valid YAML at {message}"), "{text:?}");
    }
}

#[test]
fn comments_are_not_limited() {
    let text = format!(
        "a: 1\n{}b:\n{}  c: 2\n",
        "# x\n".repeat(1000),
        "  # x\n".repeat(1000)
    );
    assert_eq!(
        Value::from_yaml(&text).unwrap().to_json(),
        r#"{"a":1,"b":{"c":2}}"#
    );
}

#[test]
fn a_duplicate_key_has_the_line_of_its_value() {
    let (value, duplicates) = from_yaml_with_duplicates("a: 1\na:\n  b: 1\n  b: 2\n").unwrap();
    assert_eq!(value.to_json(), r#"{"a":{"b":2}}"#);
    assert_eq!(duplicates, [(3, "a".into()), (4, "b".into())]);
}

#[test]
fn tag_directives_are_limited() {
    let text = |n: usize| {
        (0..n)
            .map(|i| format!("%TAG !t{i}! x\n"))
            .collect::<String>()
            + "---\na\n"
    };
    assert!(Value::from_yaml(&text(100)).is_ok());
    assert!(Value::from_yaml(&text(101)).is_err());
}

#[test]
fn work_in_nested_flow_collections_is_limited() {
    let text = "[".repeat(250) + &"!a ,".repeat(500_000);
    let error = Value::from_yaml(&text).unwrap_err().to_string();
    assert!(
        error.ends_with("too many items in nested flow collections"),
        "{error}"
    );
}
