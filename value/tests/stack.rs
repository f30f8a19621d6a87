//! Stack usage of the public operations on values, at the depth limit and beyond.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;

use fieldmanager_value::internal::{Escape, write_json};
use fieldmanager_value::{Error, List, MAX_DEPTH, Map, Value, from_value, to_value};
use serde::Deserialize;

/// The stack size of a thread in a program with many threads.
const STACK: usize = if cfg!(debug_assertions) {
    512 * 1024
} else {
    256 * 1024
};

fn on_small_stack(test: fn()) {
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(test)
        .unwrap()
        .join()
        .unwrap();
}

/// Alternating maps and lists.
fn nested(levels: usize, innermost: Value) -> Value {
    (0..levels).fold(innermost, |below, level| match level % 2 {
        0 => List::from_iter([below]).into(),
        _ => Map::single("a", below).into(),
    })
}

/// Like [`nested`], with lists and maps that are too large to be slices.
fn nested_in_large(levels: usize, innermost: Value) -> Value {
    (0..levels).fold(innermost, |below, level| match level % 2 {
        0 => std::iter::once(below)
            .chain((0..40).map(Value::from))
            .collect::<List>()
            .into(),
        _ => {
            let mut map: Map = (0..60).map(|i| (format!("b{i}"), i)).collect();
            map.insert("a", below);
            map.into()
        }
    })
}

fn nested_lists(levels: usize) -> Value {
    (1..levels).fold(List::new().into(), |below, _| {
        List::from_iter([below]).into()
    })
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Operations that accept values of any depth.
fn compare_and_write(make: impl Fn(Value) -> Value) {
    let value = make(Value::from(1));
    let (same, float, greater) = (
        make(Value::from(1)),
        make(Value::from(1.0)),
        make(Value::from(2)),
    );
    assert_eq!(value.clone(), value);
    assert!(value == same && value.strict_eq(&same) && value.cmp(&same).is_eq());
    assert!(value == float && !value.strict_eq(&float) && hash(&value) == hash(&float));
    assert!(value != greater && value < greater);
    let json = value.to_json();
    assert_eq!(
        (format!("{value}"), format!("{value:?}")),
        (json.clone(), json.clone())
    );
    let mut html = String::new();
    write_json(&value, &mut html, Escape::Html);
    assert_eq!(html, json);
    let pretty = value.to_json_pretty();
    assert!(pretty.len() < json.len() * 2 * (MAX_DEPTH + 2));
    assert!(pretty.split_whitespace().collect::<String>() == json);
    assert!(value.to_yaml().contains('1'));
}

#[test]
fn values_at_the_depth_limit_need_little_stack() {
    on_small_stack(|| {
        compare_and_write(|innermost| nested(MAX_DEPTH, innermost));
        compare_and_write(|innermost| nested_in_large(MAX_DEPTH, innermost));
        let value = nested(MAX_DEPTH, Value::from(1));
        let json = value.to_json();
        assert_eq!(Value::from_json(&json).unwrap(), value);
        assert_eq!(Value::from_json_slice(json.as_bytes()).unwrap(), value);
        assert_eq!(Value::from_json_strict(&json).unwrap(), value);
        assert_eq!(
            serde_json::from_str::<Value>("[[[[]]]]").unwrap(),
            nested_lists(4)
        );
        let mut deserializer = serde_json::Deserializer::from_str(&json);
        deserializer.disable_recursion_limit();
        assert_eq!(Value::deserialize(&mut deserializer).unwrap(), value);
        assert_eq!(
            Value::all_from_yaml(&json).unwrap(),
            std::slice::from_ref(&value)
        );
        assert!(value.ptr_eq(&value.clone()));
        assert_eq!(Value::from_yaml(&value.to_json()).unwrap(), value);
        assert_eq!(Value::from_yaml(&value.to_yaml()).unwrap(), value);
        assert_eq!(to_value(&value).unwrap(), value);
        assert_eq!(from_value::<Value>(value.clone()).unwrap(), value);
        assert_eq!(
            serde_json::to_value(&value).unwrap().to_string(),
            value.to_json()
        );
        let other: serde_json::Value = from_value(value.clone()).unwrap();
        assert_eq!(to_value(&other).unwrap(), value);
    });
}

#[test]
fn documents_beyond_the_depth_limit_are_rejected() {
    on_small_stack(|| {
        for levels in [MAX_DEPTH + 1, 100_000] {
            let json = "[".repeat(levels) + &"]".repeat(levels);
            assert!(Value::from_json(&json).is_err());
            assert!(Value::from_json_slice(json.as_bytes()).is_err());
            assert!(Value::from_json_strict(&json).is_err());
            assert!(Value::from_yaml(&json).is_err());
            assert!(Value::all_from_yaml(&json).is_err());
            let mut deserializer = serde_json::Deserializer::from_str(&json);
            deserializer.disable_recursion_limit();
            assert!(Value::deserialize(&mut deserializer).is_err());
        }
    });
}

#[test]
fn values_of_any_depth_are_compared_and_written() {
    on_small_stack(|| {
        for levels in [MAX_DEPTH + 1, 10_000, 100_000] {
            compare_and_write(|innermost| nested(levels, innermost));
        }
        compare_and_write(|innermost| nested_in_large(1_000, innermost));
    });
}

#[test]
fn values_beyond_the_depth_limit_are_not_converted() {
    on_small_stack(|| {
        for levels in [MAX_DEPTH + 1, 10_000, 100_000] {
            let value = nested(levels, Value::from(1));
            assert_eq!(to_value(&value), Err(Error::TooDeep));
            assert_eq!(from_value::<Value>(value.clone()), Err(Error::TooDeep));
            assert_eq!(
                from_value::<serde_json::Value>(value.clone()),
                Err(Error::TooDeep)
            );
            assert!(serde_json::to_string(&value).is_err());
            assert_eq!(value.to_yaml(), value.to_json());
        }
    });
}
