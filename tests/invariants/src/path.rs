//! Paths.

use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_value::Value;

/// Parses the input as a path. An accepted path must round-trip if the notation can represent it, and yield a set with
/// one path.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_paths(text: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Ok(());
    };
    let path: Path = match text.parse() {
        Ok(path) => path,
        Err(error) => {
            ensure!(
                !format!("{error}").is_empty(),
                "rejected without a message: {text}"
            );
            return Ok(());
        }
    };
    let printed = path.to_string();
    let again = printed.parse::<Path>();
    if path.iter().all(is_exact) {
        let again =
            again.map_err(|error| format!("the printed path {printed:?} is rejected: {error}"))?;
        ensure!(
            again == path,
            "{text:?} is printed as {printed:?}, which is parsed as {again:?}"
        );
        ensure!(
            again.to_string() == printed,
            "{printed:?} is printed differently after parsing"
        );
    }
    let set: Set = [&path].into_iter().collect();
    if path.is_empty() {
        ensure!(set.is_empty(), "the empty path is a member of a set");
        return Ok(());
    }
    ensure!(
        set.has(&path) && set.len() == 1,
        "{printed:?} is not the only member of its set"
    );
    let fields = set.to_json();
    // Sets have a depth limit, paths do not.
    if let Ok(read) = Set::from_json(fields.as_bytes()) {
        ensure!(
            read == set,
            "{printed:?} is parsed back from {fields} as {read:?}"
        );
    } else {
        ensure!(path.len() > 200, "the written set {fields} is rejected");
    }
    Ok(())
}

/// Whether the notation represents an element exactly. The notation is that of Go: maps are printed without braces,
/// nonprintable characters are escaped differently than in JSON, and names are not quoted.
fn is_exact(element: &PathElement) -> bool {
    match element {
        PathElement::Field(_) | PathElement::Index(_) => true,
        PathElement::Key(fields) => {
            let named = |name: &str| !name.is_empty() && !name.contains(['=', ']']);
            fields
                .iter()
                .all(|(name, value)| named(name) && is_exact_value(value))
        }
        PathElement::Value(value) => is_exact_value(value),
    }
}

fn is_exact_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => true,
        Value::String(text) => text
            .chars()
            .all(|c| matches!(c, '\t' | '\n' | '\r' | ' '..='~')),
        Value::List(items) => items.iter().all(is_exact_value),
        Value::Map(_) => false,
    }
}
