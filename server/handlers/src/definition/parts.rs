//! Deprecation, subresources and printer columns of a version.

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use super::members::{flag, maps, member, text};

/// The types of printer columns.
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];

/// The formats of printer columns.
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// The longest warning, in bytes.
const LONGEST_WARNING: usize = 256;

/// Adds the faults of the warning of a deprecated version.
pub(super) fn deprecation(version: &Map, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(warning) = member(version, "deprecationWarning").and_then(Value::as_str) else {
        return;
    };
    let mut invalid =
        |detail: &str| errors.push(FieldError::invalid(path.clone(), warning, detail));
    if !flag(version, "deprecated") {
        invalid("can only be set for deprecated versions");
        return;
    }
    if warning.len() > LONGEST_WARNING {
        invalid("must be <= 256 characters long");
    }

    if warning.is_empty() {
        invalid("must not be an empty string");
    }
    let hidden = |c: &char| c.is_control() || c.is_whitespace() && *c != ' ';
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| hidden(c)) {
        invalid(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
}

/// Adds the faults of the paths of the subresource `scale`.
pub(super) fn subresources(found: Option<&Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(Value::Map(scale)) = found.and_then(|found| found.get("scale")) else {
        return;
    };
    let all: [(&str, &[&str], &str); 3] = [
        ("specReplicasPath", &[".spec."], ".spec"),
        ("statusReplicasPath", &[".status."], ".status"),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "either .spec or .status",
        ),
    ];

    for (name, prefixes, expected) in all {
        let (found, path) = (text(scale, name), path.child("scale").child(name));
        if found.is_empty() {
            if name != "labelSelectorPath" {
                errors.push(FieldError::required(path, ""));
            }
        } else if !found.starts_with('.') {
            errors.push(FieldError::invalid(
                path,
                found,
                "must be a simple json path starting with .",
            ));
        } else if !prefixes.iter().any(|prefix| found.starts_with(prefix)) {
            let detail = format!("should be a json path under {expected}");
            errors.push(FieldError::invalid(path, found, detail));
        }
    }
}

/// Adds the faults of printer columns.
pub(super) fn columns(columns: Option<&Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (at, column) in maps(columns).enumerate() {
        let path = path.index(at);
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(path.child("name"), ""));
        }
        let one_of = |known: &[&str]| format!("must be one of {}", known.join(","));

        match text(column, "type") {
            "" => errors.push(FieldError::required(
                path.child("type"),
                one_of(&COLUMN_TYPES),
            )),
            known if COLUMN_TYPES.contains(&known) => {}
            other => errors.push(FieldError::invalid(
                path.child("type"),
                other,
                one_of(&COLUMN_TYPES),
            )),
        }

        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            errors.push(FieldError::invalid(
                path.child("format"),
                format,
                one_of(&COLUMN_FORMATS),
            ));
        }

        // The API server names this field as in Go.
        match text(column, "jsonPath") {
            "" => errors.push(FieldError::required(path.child("JSONPath"), "")),
            found if found.starts_with('.') => {}
            found => {
                let detail = "must be a simple json path starting with .";
                errors.push(FieldError::invalid(path.child("JSONPath"), found, detail));
            }
        }
    }
}
