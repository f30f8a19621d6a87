//! Values.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use fieldmanager_value::{Value, from_value, to_value};

/// Parses the input as JSON and as YAML. Accepted values must round-trip, be preserved by serde, and be ordered
/// consistently.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_value(text: &[u8]) -> Result<(), String> {
    if let Ok(value) = Value::from_json_slice(text) {
        check(&value)?;
    }
    let Ok(text) = std::str::from_utf8(text) else {
        return Ok(());
    };
    if let Ok(value) = Value::from_yaml(text) {
        check(&value)?;
    }
    for document in Value::all_from_yaml(text).unwrap_or_default() {
        check(&document)?;
    }
    Ok(())
}

fn check(value: &Value) -> Result<(), String> {
    // JSON writes 1.0 as 1, so the values are equal but not strictly equal.
    for json in [value.to_json(), value.to_json_pretty()] {
        let again = read("JSON", &json, Value::from_json(&json))?;
        ensure!(
            again.to_json() == value.to_json(),
            "{value:?} is written differently after parsing"
        );
        ensure!(
            again == *value,
            "{value:?} is parsed back from JSON as {again:?}"
        );
        check_equal(value, &again)?;
    }
    let yaml = value.to_yaml();
    let again = read("YAML", &yaml, Value::from_yaml(&yaml))?;
    ensure!(
        again.strict_eq(value),
        "{value:?} is parsed back from YAML as {again:?}:\n{yaml}"
    );
    let written =
        to_value(value).map_err(|error| format!("{value:?} does not serialize: {error}"))?;
    ensure!(
        written.strict_eq(value),
        "{value:?} serializes to {written:?}"
    );
    let read: Value = from_value(value.clone())
        .map_err(|error| format!("{value:?} does not deserialize: {error}"))?;
    ensure!(read.strict_eq(value), "{value:?} deserializes to {read:?}");
    check_order(value)
}

fn read<E: std::fmt::Display>(
    format: &str,
    text: &str,
    value: Result<Value, E>,
) -> Result<Value, String> {
    value.map_err(|error| format!("the written {format} is rejected: {error}\n{text}"))
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn check_equal(a: &Value, b: &Value) -> Result<(), String> {
    ensure!(
        a.cmp(b) == Ordering::Equal,
        "{a:?} and {b:?} are equal, but not in the order"
    );
    ensure!(
        hash(a) == hash(b),
        "{a:?} and {b:?} are equal, but have different hashes"
    );
    Ok(())
}

/// Checks all pairs and triples of a value and some of its descendants.
fn check_order(value: &Value) -> Result<(), String> {
    let mut near = vec![value];
    match value {
        Value::List(items) => near.extend(items.iter().take(5)),
        Value::Map(entries) => near.extend(entries.iter().map(|(_, value)| value).take(5)),
        _ => {}
    }
    for a in &near {
        for b in &near {
            ensure!(
                a.cmp(b) == b.cmp(a).reverse(),
                "{a:?} and {b:?} are not ordered antisymmetrically"
            );
            ensure!(
                (a.cmp(b) == Ordering::Equal) == (a == b),
                "{a:?} and {b:?}: order and equality differ"
            );
            ensure!(
                !a.strict_eq(b) || a == b,
                "{a:?} and {b:?} are strictly equal, but not equal"
            );
            if a == b {
                check_equal(a, b)?;
            }
            for c in &near {
                ensure!(
                    !(a <= b && b <= c) || a <= c,
                    "{a:?}, {b:?} and {c:?} are not ordered transitively"
                );
            }
        }
    }
    near.iter().skip(1).try_for_each(|value| check_order(value))
}
