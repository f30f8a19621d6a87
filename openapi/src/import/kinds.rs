//! The kinds of objects that a definition describes.

use fieldmanager_value::{Map, Value};

use crate::GroupVersionKind;

pub(super) const EXTENSION: &str = "x-kubernetes-group-version-kind";

/// The kinds of a definition, or the fault of the extension that lists them.
///
/// As in Go, an entry without a kind is ignored. The group and the version of a kind may be empty strings.
pub(super) fn kinds(schema: &Map) -> Result<Vec<GroupVersionKind>, String> {
    let entries = match schema.get(EXTENSION) {
        None => return Ok(Vec::new()),
        Some(Value::List(entries)) => entries,
        Some(other) => {
            return Err(format!(
                "expected a list of group, version and kind, got {}",
                other.kind()
            ));
        }
    };
    let mut out = Vec::with_capacity(entries.len());

    for entry in entries {
        let part = |name: &str| match entry.get(name) {
            Some(Value::String(text)) => Ok(text.into()),
            Some(other) => Err(format!("`{name}` must be a string, got {}", other.kind())),
            None => Err(format!(
                "an entry needs group, version and kind, `{name}` is missing"
            )),
        };
        let kind = GroupVersionKind {
            group: part("group")?,
            version: part("version")?,
            kind: part("kind")?,
        };

        if !kind.kind.is_empty() {
            out.push(kind);
        }
    }

    Ok(out)
}
