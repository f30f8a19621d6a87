//! Validates the `metadata.managedFields` that a client sends.

use fieldmanager_value::internal::go_format::is_print;
use fieldmanager_value::{Map, Value};

use crate::{FieldError, FieldErrorKind, FieldPath};

/// The maximum length of a manager name in bytes.
pub const MAX_MANAGER: usize = 128;

/// The maximum length of the subresource of an entry in bytes.
const MAX_SUBRESOURCE: usize = 256;

/// Checks the name of a manager, in an option or an entry: it must not be too long, and all characters must be
/// printable.
///
/// Behaviour: `ValidateFieldManager` of `k8s.io/apimachinery/pkg/apis/meta/v1/validation`.
///
/// ```
/// use fieldmanager_structural::internal::validate_manager;
/// use fieldmanager_structural::FieldPath;
/// let errors = validate_manager("a\nb", &FieldPath::root("fieldManager"));
/// assert!(errors[0].to_string().ends_with("invalid character U+000A (at position 1)"), "{}", errors[0]);
/// ```
pub fn validate_manager(name: &str, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if name.len() > MAX_MANAGER {
        errors.push(FieldError::too_long(path.clone(), MAX_MANAGER));
    }
    for (at, c) in name.char_indices().filter(|(_, c)| !is_print(*c)) {
        let detail = format!(
            "invalid character U+{:04X} (at position {at})",
            u32::from(c)
        );
        errors.push(FieldError::invalid(path.clone(), name, detail));
    }

    errors
}

/// Checks the `metadata.managedFields` of an object that a client sends; `path` is the path of the list. Null and
/// absent are valid.
///
/// This check is weaker than decoding: an entry that passes may still fail to decode.
///
/// Behaviour: `ValidateManagedFields` of `k8s.io/apimachinery/pkg/apis/meta/v1/validation`. A value that is not a list
/// of maps of strings is reported with its type here; an API server fails earlier, when it decodes the request.
///
/// ```
/// use fieldmanager_structural::{FieldPath, validate_managed_fields};
/// use fieldmanager_value::Value;
/// let list = Value::from_json(r#"[{"manager":"ci","operation":"Patch"}]"#)?;
/// let path = FieldPath::root("metadata").child("managedFields");
/// let errors = validate_managed_fields(Some(&list), &path);
/// assert_eq!(
///     errors[0].to_string(),
///     r#"metadata.managedFields[0].operation: Unsupported value: "Patch": supported values: "Apply", "Update""#,
/// );
/// assert!(validate_managed_fields(None, &path).is_empty());
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn validate_managed_fields(list: Option<&Value>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match list {
        None | Some(Value::Null) => {}
        Some(Value::List(entries)) => {
            for (index, entry) in entries.iter().enumerate() {
                validate_entry(entry, &path.index(index), &mut errors);
            }
        }
        Some(other) => errors.push(type_fault(path.clone(), other, "list")),
    }

    errors
}

fn validate_entry(entry: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let members = match entry {
        Value::Map(members) => members,
        // Go decodes null as an empty entry.
        Value::Null => &Map::new(),
        other => return errors.push(type_fault(path.clone(), other, "map")),
    };

    // A value that is not a string is reported and then treated as absent.
    let text = |name: &str, errors: &mut Vec<FieldError>| match members.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        None | Some(Value::Null) => Some("".into()),
        Some(other) => {
            errors.push(type_fault(path.child(name), other, "string"));
            None
        }
    };

    if let Some(operation) = text("operation", errors) {
        let at = path.child("operation");
        match operation.as_str() {
            "Apply" | "Update" => {}
            "" => errors.push(FieldError::required(at, "must not be empty")),
            other => errors.push(FieldError::not_supported(at, other, &["Apply", "Update"])),
        }
    }

    if let Some(kind) =
        text("fieldsType", errors).filter(|kind| !matches!(kind.as_str(), "" | "FieldsV1"))
    {
        errors.push(FieldError::invalid(
            path.child("fieldsType"),
            kind,
            "must be `FieldsV1`",
        ));
    }

    if let Some(manager) = text("manager", errors) {
        errors.extend(validate_manager(&manager, &path.child("manager")));
    }
    if text("subresource", errors).is_some_and(|name| name.len() > MAX_SUBRESOURCE) {
        errors.push(FieldError::too_long(
            path.child("subresource"),
            MAX_SUBRESOURCE,
        ));
    }
}

fn type_fault(path: FieldPath, found: &Value, expected: &str) -> FieldError {
    let detail = format!("expected {expected}, got {}", found.kind());
    FieldError {
        path,
        kind: FieldErrorKind::TypeInvalid,
        value: Some(found.clone()),
        detail,
    }
}
