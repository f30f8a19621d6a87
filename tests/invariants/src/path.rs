//! Paths.

use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_value::Value;

/// Reads a text as a path. What is read is printed and read back as the same, if the notation can express it, and
/// makes a set of one.
///
/// # Errors
///
/// What does not hold.
pub fn check_paths(text: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Ok(());
    };
    let path: Path = match text.parse() {
        Ok(path) => path,
        Err(error) => {
            ensure!(!format!("{error}").is_empty(), "refused without a message: {text}");
            return Ok(());
        }
    };
    let printed = path.to_string();
    let again = printed.parse::<Path>();
    if path.iter().all(is_plain) {
        let again = again.map_err(|error| format!("{printed:?} was printed and is refused: {error}"))?;
        ensure!(again == path, "{text:?} prints as {printed:?}, which is {again:?}");
        ensure!(again.to_string() == printed, "{printed:?} prints otherwise when it is read back");
    }
    let set: Set = [&path].into_iter().collect();
    if path.is_empty() {
        ensure!(set.is_empty(), "the empty path is in a set");
        return Ok(());
    }
    ensure!(set.has(&path) && set.len() == 1, "{printed:?} is not alone in its set");
    let fields = set.to_json();
    // Paths have no limit of depth, sets that are read have one.
    if let Ok(read) = Set::from_json(fields.as_bytes()) {
        ensure!(read == set, "{printed:?} is read back from {fields} as {read:?}");
    } else {
        ensure!(path.len() > 200, "{fields} was written and is refused");
    }
    Ok(())
}

/// Whether the notation says exactly this. It is Go's: maps are printed without braces, and characters that are not
/// printed are escaped in a way that is not JSON; names are not quoted at all.
fn is_plain(element: &PathElement) -> bool {
    match element {
        PathElement::Field(_) | PathElement::Index(_) => true,
        PathElement::Key(fields) => {
            let named = |name: &str| !name.is_empty() && !name.contains(['=', ']']);
            fields.iter().all(|(name, value)| named(name) && is_plain_value(value))
        }
        PathElement::Value(value) => is_plain_value(value),
    }
}

fn is_plain_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => true,
        Value::String(text) => text.chars().all(|c| matches!(c, '\t' | '\n' | '\r' | ' '..='~')),
        Value::List(items) => items.iter().all(is_plain_value),
        Value::Map(_) => false,
    }
}
