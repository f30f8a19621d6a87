//! A value that is written as YAML is read back as the same value.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests may panic")]

use fieldmanager_value::Value;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// Strings that look like something else, or that a style cannot hold.
const DIFFICULT: &[&str] = &[
    "",
    "~",
    "null",
    "Null",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "true",
    "FALSE",
    "0x1",
    "0X1f",
    "0o7",
    "0b1",
    "07",
    "08",
    "1e3",
    "1E-3",
    "1.",
    ".5",
    "+1",
    "-1",
    "1_000",
    "0x_1",
    "1__0",
    "_1",
    ".inf",
    "-.INF",
    ".nan",
    "nan",
    "1:20",
    "12:30:45.5",
    "2001-01-01",
    "2001-01-01T00:00:00Z",
    "<<",
    "=",
    "-",
    "- x",
    "-x",
    "?",
    "? x",
    ":",
    ": x",
    "a: b",
    "a:",
    ":a",
    "a:b",
    "#x",
    "x #y",
    "x#y",
    "&x",
    "*x",
    "!x",
    "!!str x",
    "|",
    ">",
    "|-",
    "%x",
    "@x",
    "`x",
    "{x",
    "}",
    "[x",
    "]",
    ",x",
    "x, y",
    "'",
    "''x",
    "\"",
    "\"x\"",
    "\\",
    "\\n",
    " ",
    " x",
    "x ",
    "  ",
    "\t",
    "\tx",
    "x\t",
    "x\ty",
    "\n",
    "\n\n",
    "a\n",
    "a\nb",
    "a\nb\n",
    "a\n\nb\n\n",
    "\na",
    " a\nb",
    "a\n b",
    "a \nb",
    "a\n ",
    "a\n\tb",
    "\n a\n",
    "a\rb",
    "a\r\nb",
    "\u{1}",
    "\u{7f}",
    "\u{85}",
    "a\u{85}b",
    "\u{2028}",
    "a\u{2029}b",
    "\u{feff}",
    "a\n\u{feff}b",
    "\u{fffe}",
    "\u{a0}",
    "é",
    "\u{1f600}",
    "---",
    "--- x",
    "...",
    "a\n---\nb",
    "f:spec",
    ".",
    "k:{\"name\":\"web\"}",
    "v:\"x y\"",
    "i:0",
    "10.0.0.1",
    "http://example.com:80/x#y",
];

fn string() -> impl Strategy<Value = String> {
    let difficult = prop::sample::select(DIFFICULT).prop_map(str::to_owned);
    prop_oneof![
        4 => difficult.clone(),
        2 => (difficult.clone(), "[ \n\t:#-]?", difficult).prop_map(|(a, between, b)| a + &between + &b),
        2 => "[-+.0-9xobe_:TZ]{1,8}",
        1 => "[ -~\n\t]{0,12}",
        1 => any::<String>(),
        1 => "[a-z: \n]{100,200}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<i64>().prop_map(Value::Int),
        1 => prop_oneof![-1000..1000_i64, any::<i64>()].prop_map(|whole| Value::Float(whole as f64)),
        1 => (prop::num::f64::NORMAL | prop::num::f64::ZERO).prop_map(Value::Float),
        8 => string().prop_map(|string| Value::from(string.as_str())),
    ];
    scalar.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(string(), inner, 0..5)
                .prop_map(|entries| Value::Map(entries.into_iter().collect())),
        ]
    })
}

fn assert_round_trip(value: &Value) {
    let yaml = value.to_yaml();
    let back = Value::from_yaml(&yaml).unwrap_or_else(|error| panic!("{error}\n{value}\n{yaml}"));
    assert!(
        back.strict_eq(value),
        "{value} is read back as {back}\n{yaml}"
    );
    let stream = format!("---\n{yaml}---\n{yaml}");
    let documents =
        Value::all_from_yaml(&stream).unwrap_or_else(|error| panic!("{error}\n{stream}"));
    let expected = if value.is_null() { 0 } else { 2 };
    assert_eq!(documents.len(), expected, "{stream}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_values_are_read_back(value in value()) {
        assert_round_trip(&value);
    }
}

#[test]
fn difficult_strings_are_read_back_everywhere() {
    for string in DIFFICULT {
        let inner = Value::from(*string);
        let map = |value: Value| Value::Map([(*string, value)].into_iter().collect());
        for value in [
            inner.clone(),
            Value::from(vec![inner.clone(), inner.clone()]),
            map(inner.clone()),
            map(map(Value::from(vec![map(inner)]))),
        ] {
            assert_round_trip(&value);
        }
    }
}

#[test]
fn strings_are_quoted_as_kubectl_quotes_them() {
    for (string, yaml) in [
        ("f:spec", "f:spec"),
        ("k:{\"name\":\"web\"}", "k:{\"name\":\"web\"}"),
        ("v:\"x\"", "v:\"x\""),
        (".", "."),
        ("10.0.0.1", "10.0.0.1"),
        ("nginx:1.27", "nginx:1.27"),
        (
            "0b6f3f2e-8f0c-4a3f-9c69-0fdd6d7a9f11",
            "0b6f3f2e-8f0c-4a3f-9c69-0fdd6d7a9f11",
        ),
        ("1.27", "\"1.27\""),
        ("yes", "\"yes\""),
        ("0x1", "\"0x1\""),
        ("1:20", "\"1:20\""),
        ("2026-01-31T00:00:00Z", "\"2026-01-31T00:00:00Z\""),
        ("", "\"\""),
        ("a: b", "'a: b'"),
        ("*", "'*'"),
        ("tab\t", "\"tab\\t\""),
    ] {
        let value = Value::Map([(string, Value::from(string))].into_iter().collect());
        assert_eq!(value.to_yaml(), format!("{yaml}: {yaml}\n"));
    }
    let lines = Value::from_json(r#"{"script":"a\n  b\n","cut":"a\nb"}"#).unwrap();
    assert_eq!(
        lines.to_yaml(),
        "cut: |-\n  a\n  b\nscript: |\n  a\n    b\n"
    );
}
