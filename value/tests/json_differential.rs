//! Compares the JSON reader with `serde_json`: both accept the same documents and return the same values.

#![allow(clippy::unwrap_used, reason = "tests")]

use fieldmanager_value::{Error, Value};
use proptest::prelude::*;

/// Whether a value equals a `serde_json` value, including the types of its numbers.
fn is_same(value: &Value, other: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match (value, other) {
        (Value::Null, Json::Null) => true,
        (Value::Bool(a), Json::Bool(b)) => a == b,
        (Value::Int(a), Json::Number(b)) => b.as_i64() == Some(*a),
        (Value::Float(a), Json::Number(b)) => {
            b.as_i64().is_none() && b.as_f64().map(f64::to_bits) == Some(a.to_bits())
        }
        (Value::String(a), Json::String(b)) => *a == **b,
        (Value::List(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Map(a), Json::Object(b)) => {
            a.len() == b.len()
                && b.iter()
                    .all(|(name, b)| a.get(name).is_some_and(|a| is_same(a, b)))
        }
        _ => false,
    }
}

/// Returns a description if the two readers disagree about a document.
fn difference(document: &str) -> Option<String> {
    let ours = Value::from_json(document);
    let theirs = serde_json::from_str::<serde_json::Value>(document);
    let refuses_surrogate = theirs.as_ref().is_err_and(|error| {
        let message = error.to_string();
        message.starts_with("lone leading surrogate")
            || message.starts_with("unexpected end of hex escape")
    });
    let agree = match (&ours, &theirs) {
        (Ok(value), Ok(other)) => is_same(value, other),
        (Err(Error::Json { position, message }), Err(error)) => {
            refuses_surrogate || error.to_string() == format!("{message} at {position}")
        }
        // Unlike serde_json, we accept lone surrogates, like Go.
        (Ok(_), Err(_)) => refuses_surrogate,
        _ => false,
    };
    (!agree).then(|| format!("{document}: {ours:?} {theirs:?}"))
}

#[test]
fn values_match_serde_json() {
    for text in [
        "null",
        " [ 1 , -2,\n0 ] ",
        "-0.0",
        "-0e0",
        "1.5",
        "1e3",
        "1e-3",
        "-1.25e-2",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "999999999999999999",
        r#"{"a":{"b":[]},"a":1,"":{}}"#,
        r#""\u00e9\n\"\\\/\ud83d\ude00é""#,
        r#"{"\n":"\t"}"#,
        "true",
        "\"\"",
        "[[[]]]",
    ] {
        let (value, other) = (
            Value::from_json(text).unwrap(),
            serde_json::from_str(text).unwrap(),
        );
        assert!(is_same(&value, &other), "{text}: {value} {other}");
    }
}

#[test]
fn invalid_json_returns_the_error_of_serde_json() {
    for text in [
        "",
        " ",
        "nul",
        "nulll",
        "01",
        "-",
        "1.",
        ".5",
        "+1",
        "1e",
        "--1",
        "-01",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{a:1}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{"a":1 "b":2}"#,
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\n\"",
        "{} {}",
        "'a'",
        "[",
        "{",
        "tru",
        "1e999",
        "1-0",
        "[-0",
        "-00",
        "--0",
        "[-0}",
        "\u{feff}{}",
    ] {
        assert_eq!(difference(text), None);
        assert!(Value::from_json(text).is_err(), "{text}");
    }
}

#[test]
fn strings_are_read_at_every_length_and_position() {
    for n in 0..80 {
        for special in ["", "\\n", "\\\"", "\\\\", "\\u00e9", "é", "😀"] {
            let text = format!("{}{special}{}", "x".repeat(n), "y".repeat(n % 11));
            let document =
                format!(r#"[{{"{text}":"{text}"}},{{"{text}":"{text}","{text}!":"{text}"}}]"#);
            assert_eq!(difference(&document), None);
        }
    }
}

#[test]
fn large_maps_with_unordered_names_are_read() {
    // Twice more names than are interned per document.
    let names: Vec<u32> = (0..3000_u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    let entries: Vec<String> = names
        .iter()
        .map(|n| format!("\"n{n}\":{{\"v{}\":\"{n}\"}}", n % 1500))
        .collect();
    let map = format!("{{{}}}", entries.join(","));
    assert_eq!(difference(&format!("[{map},{map}]")), None);
}

/// Documents with few distinct names and strings, so that they repeat.
fn documents() -> impl Strategy<Value = String> {
    let name = || {
        prop::sample::select(vec![
            "",
            "a",
            "ab",
            "name",
            "names",
            "namespace",
            "b\\n",
            "\\u0061",
            "é",
            "abcdefghijklmn",
            "abcdefghijklmno",
            "abcdefghijklmnopqrst",
            "abcdefghijkl_nopqrst",
            "\\ud83d\\ude00",
        ])
    };
    let space = || prop::sample::select(vec!["", "", "", "", "", " ", "\n  "]);
    let part = prop::sample::select(vec![
        "a", "bcdefgh", "é", "😀", "\\n", "\\\"", "\\\\", "\\u0041", "TCP",
    ]);
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "null",
            "true",
            "false",
            "0",
            "-0",
            "-0.0",
            "12",
            "-345",
            "1.5",
            "1e3",
            "1e-0",
            "999999999999999999",
            "18446744073709551615",
        ])
        .prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| format!("{number:e}")),
        name().prop_map(|text| format!("\"{text}\"")),
        prop::collection::vec(part, 0..12).prop_map(|parts| format!("\"{}\"", parts.concat())),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        let entry = (name(), space(), space(), inner.clone(), space())
            .prop_map(|(name, a, b, value, c)| format!("{c}\"{name}\"{a}:{b}{value}{a}"));
        prop_oneof![
            3 => prop::collection::vec(entry, 0..6).prop_map(|entries| format!("{{{}}}", entries.join(","))),
            1 => prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            1 => (inner, 0..40_usize).prop_map(|(item, n)| format!("[{}]", vec![item; n].join(","))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn valid_documents_match_serde_json(document in documents()) {
        prop_assert_eq!(difference(&document), None);
    }

    #[test]
    fn mutated_documents_match_serde_json(
        document in documents(),
        at in any::<prop::sample::Index>(),
        with in prop::sample::select(vec!["", "\"", "\\", ",", "}", "a", ":", " ", "-", "-0", "\\ud800"]),
    ) {
        let mut chars: Vec<String> = document.chars().map(String::from).collect();
        *at.get_mut(&mut chars) = with.to_owned();
        prop_assert_eq!(difference(&chars.concat()), None);
    }

    #[test]
    fn arbitrary_input_matches_serde_json(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "a", "\\n", "\\u0041", "\\", "1", "0", "-", ".", "e", "+", " ",
                "null", "true", "é", "\"a\":", "\"name\"", "\n", "[1,2]", "{}", "\u{1}", "\\ud800", "\\udc00", "-0",
            ]),
            0..12,
        )
    ) {
        prop_assert_eq!(difference(&parts.concat()), None);
    }

    #[test]
    fn values_round_trip(numbers in prop::collection::vec(any::<f64>(), 0..4), text in any::<String>()) {
        let list: Vec<Value> = numbers.into_iter().filter(|n| n.is_finite()).map(Value::Float).collect();
        let value =
            Value::Map([(text.clone(), Value::from(list)), ("t".into(), Value::from(text))].into_iter().collect());
        let json = value.to_json();
        prop_assert_eq!(difference(&json), None);
        prop_assert_eq!(Value::from_json(&json).unwrap(), value);
    }

    /// A pair of surrogate escapes is one character, and any other surrogate U+FFFD, as in Go's decoder.
    #[test]
    fn surrogates_are_decoded_like_go(units in prop::collection::vec(
        prop::sample::select(vec![0x41_u16, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfffd]), 0..8,
    )) {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let read = Value::from_json(&format!("\"{escaped}\"")).unwrap();
        prop_assert_eq!(read.as_str().unwrap(), String::from_utf16_lossy(&units));
    }
}
