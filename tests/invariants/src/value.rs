//! Values.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use fieldmanager_value::{Value, from_value, to_value};

/// Reads a text as JSON and as YAML. What is read is written and read back as the same, keeps its identity through
/// serde, and is ordered consistently.
///
/// # Errors
///
/// What does not hold.
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
    // JSON writes 1.0 as 1: equal, and not identical.
    for json in [value.to_json(), value.to_json_pretty()] {
        let again = read("JSON", &json, Value::from_json(&json))?;
        ensure!(again.to_json() == value.to_json(), "{value:?} is written otherwise when it is read back");
        ensure!(again == *value, "{value:?} is read back from JSON as {again:?}");
        check_alike(value, &again)?;
    }
    let yaml = value.to_yaml();
    let again = read("YAML", &yaml, Value::from_yaml(&yaml))?;
    ensure!(again.strict_eq(value), "{value:?} is read back from YAML as {again:?}:\n{yaml}");
    let written = to_value(value).map_err(|error| format!("{value:?} does not serialize: {error}"))?;
    ensure!(written.strict_eq(value), "{value:?} serializes to {written:?}");
    let read: Value =
        from_value(value.clone()).map_err(|error| format!("{value:?} does not deserialize: {error}"))?;
    ensure!(read.strict_eq(value), "{value:?} deserializes to {read:?}");
    check_order(value)
}

fn read<E: std::fmt::Display>(format: &str, text: &str, value: Result<Value, E>) -> Result<Value, String> {
    value.map_err(|error| format!("the {format} that was written is refused: {error}\n{text}"))
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn check_alike(a: &Value, b: &Value) -> Result<(), String> {
    ensure!(a.cmp(b) == Ordering::Equal, "{a:?} and {b:?} are equal and ordered");
    ensure!(hash(a) == hash(b), "{a:?} and {b:?} are equal and have different hashes");
    Ok(())
}

/// Looks at all pairs and triples of a few values that are near each other.
fn check_order(value: &Value) -> Result<(), String> {
    let mut near = vec![value];
    match value {
        Value::List(items) => near.extend(items.iter().take(5)),
        Value::Map(entries) => near.extend(entries.iter().map(|(_, value)| value).take(5)),
        _ => {}
    }
    for a in &near {
        for b in &near {
            ensure!(a.cmp(b) == b.cmp(a).reverse(), "{a:?} and {b:?} are not ordered one way");
            ensure!((a.cmp(b) == Ordering::Equal) == (a == b), "{a:?} and {b:?}: order and equality differ");
            ensure!(!a.strict_eq(b) || a == b, "{a:?} and {b:?} are identical and not equal");
            if a == b {
                check_alike(a, b)?;
            }
            for c in &near {
                ensure!(!(a <= b && b <= c) || a <= c, "{a:?}, {b:?} and {c:?} are ordered in a circle");
            }
        }
    }
    near.iter().skip(1).try_for_each(|value| check_order(value))
}
