//! Comparison of the fast readers and writers of FieldsV1 with the general reader and a naive writer, on sets with many
//! repetitions.

use fieldmanager_value::internal::{Escape, write_string};
use fieldmanager_value::{MAX_DEPTH, Value};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{fast_reader, path_element, serde_reader, value};
use crate::set_builder::SetBuilder;
use crate::{Error, Set};

/// A name that makes a document long enough for the level cache.
fn filler() -> String {
    format!(r#""f:{}":{{}}"#, "0".repeat(1200))
}

/// Keys. The last three do not have the usual format.
const KEYS: [&str; 16] = [
    "f:a",
    "f:ab",
    "f:abcdefgh",
    "f:abcdefghi",
    "f:name",
    "f:value",
    "f:é",
    r#"k:{\"name\":\"a\"}"#,
    r#"k:{\"name\":\"b\"}"#,
    r#"k:{\"name\":\"a\",\"port\":80}"#,
    r#"v:\"a\""#,
    "v:10",
    "v:9",
    r"f:\u0061",
    "i:1",
    "x:a",
];

/// Levels built from previous ones, so that many are equal.
fn level(below: Vec<String>) -> BoxedStrategy<String> {
    let keys = prop_oneof![30 => select(&KEYS[..13]), 1 => select(&KEYS[..])];
    (
        prop::collection::vec((keys, any::<Index>()), 1..6),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(move |(mut children, itself, sorted)| {
            if sorted {
                children.sort_by_key(|(key, _)| *key);
                children.dedup_by_key(|(key, _)| *key);
            }
            let own = itself.then(|| r#"".":{}"#.to_owned());
            let children = children
                .iter()
                .map(|(key, at)| format!(r#""{key}":{}"#, below[at.index(below.len())]));
            format!(
                "{{{}}}",
                own.into_iter()
                    .chain(children)
                    .collect::<Vec<_>>()
                    .join(",")
            )
        })
        .boxed()
}

/// A document of a few kinds of levels, each repeated many times, occasionally with an error.
fn text() -> impl Strategy<Value = String> {
    let leaves = prop::collection::vec(level(vec!["{}".to_owned()]), 1..4);
    let more = |levels: Vec<String>| {
        let known = levels.clone();
        prop::collection::vec(level(levels), 1..4)
            .prop_map(move |new| known.iter().cloned().chain(new).collect::<Vec<_>>())
    };
    let levels = leaves
        .prop_flat_map(more)
        .prop_flat_map(more)
        .prop_flat_map(more);
    (levels, prop::collection::vec(any::<Index>(), 2..60)).prop_map(|(levels, order)| {
        let children = order.iter().enumerate().map(|(number, at)| {
            format!(
                r#","k:{{\"name\":\"{number:02}\"}}":{}"#,
                levels[at.index(levels.len())]
            )
        });
        format!("{{{}{}}}", filler(), children.collect::<String>())
    })
}

/// A document with one mutation, so that a level almost equals a previous one.
fn changed() -> impl Strategy<Value = String> {
    let new = select(
        &[
            "",
            " ",
            "{",
            "}",
            ":",
            ",",
            "\"",
            "\\",
            "f",
            "a",
            "é",
            "{}",
            "\"f:z\":{},",
            "x",
            ".",
            "0",
        ][..],
    );
    (text(), any::<Index>(), 0..3_usize, new).prop_map(|(text, at, less, new)| {
        let (tail, start) = (text.len() - 1200, 1200);
        let at = start + at.index(tail);
        let bytes = [
            &text.as_bytes()[..at],
            new.as_bytes(),
            text.as_bytes().get(at + less..).unwrap_or_default(),
        ];
        String::from_utf8_lossy(&bytes.concat()).into_owned()
    })
}

fn write_naively(set: &Set, itself: bool, out: &mut String) {
    out.push('{');
    let mut before = "";
    if itself {
        out.push_str(r#"".":{}"#);
        before = ",";
    }
    for (element, node) in set.nodes() {
        out.push_str(before);
        before = ",";
        let mut key = String::new();
        path_element::write(element, &mut key);
        write_string(out, &key, Escape::Json);
        out.push(':');
        write_naively(
            node.children(),
            node.is_member() && !node.children().is_empty(),
            out,
        );
    }
    out.push('}');
}

fn check_writing(set: &Set) {
    let mut expected = String::new();
    write_naively(set, false, &mut expected);
    assert_eq!(set.to_json(), expected);
    let mut out = "before".to_owned();
    set.write_json(&mut out);
    assert_eq!(out, format!("before{expected}"));
    let value = set.to_value();
    assert_eq!(Set::from_value(&value).as_ref(), Ok(set));
    assert_eq!(Value::from_json(&expected).unwrap(), value);
}

fn check_reading(text: &str) {
    let expected = serde_reader::from_json(text.as_bytes());
    if let Some(read) = fast_reader::read(text.as_bytes()) {
        assert_eq!(Ok(&read), expected.as_ref(), "{text}");
        check_writing(&read);
    }
    if let Ok(value) = Value::from_json(text) {
        let expected = serde_reader::from_value(&value);
        if let Some(read) = value::read(&value) {
            assert_eq!(Ok(&read), expected.as_ref(), "{text}");
            check_writing(&read);
        }
    }
}

proptest! {
    #[test]
    fn repeated_levels_match_the_serde_reader(text in text()) {
        check_reading(&text);
    }

    #[test]
    fn nearly_repeated_levels_match_the_serde_reader(text in changed()) {
        check_reading(&text);
    }

    #[test]
    fn sets_with_shared_nodes_are_written_like_any_other(a in text(), b in text()) {
        let (Ok(a), Ok(b)) = (Set::from_json(a.as_bytes()), Set::from_json(b.as_bytes())) else {
            return Ok(());
        };
        // The same set below nodes that are members and nodes that are not.
        let mut builder = SetBuilder::default();
        for at in 0..6 {
            let children = [&a, &b, &a.union(&b), &a.difference(&b)][at % 4].clone();
            builder.push(crate::PathElement::Index(at as i64), at < 3, children);
        }
        check_writing(&builder.build());
    }
}

#[test]
fn equal_levels_share_one_allocation() {
    let item = r#"{".":{},"f:name":{},"f:value":{"f:from":{},"f:to":{}}}"#;
    let children: String = (0..60)
        .map(|n| format!(r#","k:{{\"name\":\"{n:02}\"}}":{item}"#))
        .collect();
    let text = format!("{{{}{children}}}", filler());
    let set = Set::from_json(text.as_bytes()).unwrap();
    let items = |set: &Set| {
        set.nodes()
            .skip(1)
            .map(|(_, node)| node.children().clone())
            .collect::<Vec<_>>()
    };
    for set in [
        &set,
        &Set::from_value(&Value::from_json(&text).unwrap()).unwrap(),
    ] {
        assert!(items(set).windows(2).all(|two| two[0].ptr_eq(&two[1])));
    }
    assert_eq!(set.to_json(), text);
}

/// A cached level must not bypass the depth limit.
#[test]
fn cached_levels_count_towards_the_depth_limit() {
    let chain =
        |levels: usize, inner: &str| r#"{"f:a":"#.repeat(levels) + inner + &"}".repeat(levels);
    for height in [1, 2, 100, MAX_DEPTH - 3] {
        let known = chain(height, "{}");
        for levels in 0..=MAX_DEPTH + 1 {
            for inner in [known.as_str(), "{}", r#"{".":{}}"#, r#"{".":{},"f:a":{}}"#] {
                let text = format!(
                    r#"{{{},"f:a":{known},"f:b":{}}}"#,
                    filler(),
                    chain(levels, inner)
                );
                let (read, expected) = (
                    Set::from_json(text.as_bytes()),
                    serde_reader::from_json(text.as_bytes()),
                );
                assert_eq!(read, expected, "{height} {levels}");
                let deepest = 2 + levels + if inner == known { height } else { 0 };
                if inner == known {
                    assert_eq!(
                        expected == Err(Error::TooDeep),
                        deepest > MAX_DEPTH,
                        "{height} {levels}"
                    );
                }
            }
        }
    }
}

#[test]
fn unusual_values_match_the_serde_reader() {
    for text in [
        "null",
        "1",
        "[]",
        r#"{"f:a":1}"#,
        r#"{"f:a":[]}"#,
        r#"{"fa":{}}"#,
        r#"{".":{"f:a":{}},"f:a":{}}"#,
        r#"{".":1}"#,
        r#"{".":null,"f:a":null}"#,
        r#"{"x:a":{},"f:a":{}}"#,
        r#"{"v:1.5":{},"v:-1":{},"v:0":{},"v:12":{},"v:1234567890123456":{},"v:12 ":{},"v:12x":{}}"#,
        r#"{"v:1.5":{},"v:-1":{},"v:0":{},"v:12":{},"v:1234567890123456":{},"v:12 ":{},"v:9":{}}"#,
        r#"{"v:\"a\"":{},"v:\"a\\n\"":{},"v:true":{},"v:null":{},"v:[1]":{}}"#,
        r#"{"v:\"a\"x":{}}"#,
        r#"{"k:{\"a\":1,\"b\":\"x\"}":{},"k:{\"b\":1, \"a\":2}":{},"k:{}":{},"k:null":{}}"#,
        r#"{"k:{\"a\":1,\"a\":2}":{}}"#,
        r#"{"k:{\"a\":1}x":{}}"#,
        r#"{"k:{\"a\":1":{}}"#,
        r#"{"i:2":{},"i:10":{},"i:-1":{},"i:x":{}}"#,
        r#"{"i:2":{},"i:10":{},"i:-1":{}}"#,
    ] {
        let value = Value::from_json(text).unwrap();
        assert_eq!(
            Set::from_value(&value),
            serde_reader::from_value(&value),
            "{text}"
        );
    }
    let deep = |levels: usize| {
        (0..levels).fold(Value::Map(fieldmanager_value::Map::new()), |below, _| {
            Value::Map(fieldmanager_value::Map::single("f:a", below))
        })
    };
    for levels in MAX_DEPTH - 3..MAX_DEPTH + 3 {
        assert_eq!(
            Set::from_value(&deep(levels)),
            serde_reader::from_value(&deep(levels)),
            "{levels}"
        );
        let dot = Value::Map(fieldmanager_value::Map::single(".", deep(levels)));
        assert_eq!(
            Set::from_value(&dot),
            serde_reader::from_value(&dot),
            "{levels}"
        );
    }
}

fn normal(text: &str) -> String {
    let set = Set::from_json(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"));
    let value = Value::from_json(text).unwrap();
    assert_eq!(Set::from_value(&value).unwrap(), set, "{text}");
    assert_eq!(Set::from_value(&set.to_value()).unwrap(), set, "{text}");
    set.to_json()
}

#[test]
fn documents_are_normalized_like_the_go_package() {
    for (text, expected) in [
        ("null", "{}"),
        ("{}", "{}"),
        (r#"{".":{}}"#, "{}"),
        (r#"{"f:a":{".":{}}}"#, r#"{"f:a":{}}"#),
        (r#"{"f:a":null}"#, r#"{"f:a":{}}"#),
        (r#"{"f:a":{"x:y":{"f:b":{}}}}"#, r#"{"f:a":{}}"#),
        (r#"{"f:":{},"f:a:b":{}}"#, r#"{"f:":{},"f:a:b":{}}"#),
        (
            r#"{"i:007":{},"i:+2":{},"i:-1":{},"v:1":{},"k:{\"a\":1}":{},"f:z":{}}"#,
            r#"{"f:z":{},"k:{\"a\":1}":{},"v:1":{},"i:-1":{},"i:2":{},"i:7":{}}"#,
        ),
        (r#"{"k:null":{},"k:{}":{}}"#, r#"{"k:{}":{}}"#),
        (
            r#"{"k:{\"b\":1, \"a\":\"x\"}":{}}"#,
            r#"{"k:{\"a\":\"x\",\"b\":1}":{}}"#,
        ),
        (
            r#"{"v: 1.0 ":{},"v:1e-7":{},"v:1e21":{}}"#,
            r#"{"v:1e-7":{},"v:1":{},"v:1e+21":{}}"#,
        ),
        (
            r#"{"v:9007199254740993":{}}"#,
            r#"{"v:9007199254740993":{}}"#,
        ),
        (
            r#"{"v:null":{},"v:{}":{},"v:[]":{},"v:true":{},"v:false":{},"v:\"a\"":{},"v:2":{}}"#,
            r#"{"v:2":{},"v:\"a\"":{},"v:false":{},"v:true":{},"v:[]":{},"v:{}":{},"v:null":{}}"#,
        ),
        (
            r#"{"f:a":{},"f:a":{"f:b":{}}}"#,
            r#"{"f:a":{".":{},"f:b":{}}}"#,
        ),
        (
            r#"{"f:a":{"f:b":{}},"f:a":{"f:c":{}}}"#,
            r#"{"f:a":{"f:b":{},"f:c":{}}}"#,
        ),
        (
            r#"{"f:<&>":{},"k:{\"<\":\"<\"}":{},"v:\"<>&\u2028é\"":{}}"#,
            r#"{"f:<&>":{},"k:{\"<\":\"\\u003c\"}":{},"v:\"\\u003c\\u003e\\u0026\\u2028é\"":{}}"#,
        ),
        (r#"{"f:\u0001\n\"\\":{}}"#, r#"{"f:\u0001\n\"\\":{}}"#),
    ] {
        if text.contains(r#""f:a":{},"f:a""#) || text.contains(r#""f:a":{"f:b":{}},"f:a""#) {
            // A value cannot contain duplicate keys.
            assert_eq!(Set::from_json(text.as_bytes()).unwrap().to_json(), expected);
        } else {
            assert_eq!(normal(text), expected, "{text}");
        }
    }
}

#[test]
fn errors_report_the_key() {
    for (text, message) in [
        (
            "",
            "not valid FieldsV1 at line 1 column 0: EOF while parsing a value",
        ),
        (
            "[]",
            "not valid FieldsV1 at line 1 column 2: invalid type: sequence, expected an object of path elements, or null",
        ),
        (
            "{} x",
            "not valid FieldsV1 at line 1 column 4: trailing characters",
        ),
        (
            r#"{"f:a":1}"#,
            "not valid FieldsV1 at line 1 column 8: invalid type: integer `1`, expected an object of path elements, or null",
        ),
        (
            r#"{"f":{}}"#,
            "key `f` is not a path element: expected a prefix like `f:`",
        ),
        (
            r#"{"fa":{}}"#,
            "key `fa` is not a path element: expected a prefix like `f:`",
        ),
        (
            r#"{"é:a":{}}"#,
            "key `é:a` is not a path element: expected a prefix like `f:`",
        ),
        (
            r#"{"v:":{}}"#,
            "key `v:` is not a path element: not valid JSON at line 1 column 0: EOF while parsing a value",
        ),
        (
            r#"{"v:1 2":{}}"#,
            "key `v:1 2` is not a path element: not valid JSON at line 1 column 3: trailing characters",
        ),
        (
            r#"{"k:[]":{}}"#,
            "key `k:[]` is not a path element: expected an object of key fields, got list",
        ),
        (
            r#"{"i:1.5":{}}"#,
            "key `i:1.5` is not a path element: expected an integer",
        ),
    ] {
        let error = Set::from_json(text.as_bytes()).expect_err(text);
        assert_eq!(error.to_string(), message);
    }
    let deep = r#"{"f:a":"#.repeat(10_000);
    assert_eq!(Set::from_json(deep.as_bytes()), Err(Error::TooDeep));
}
