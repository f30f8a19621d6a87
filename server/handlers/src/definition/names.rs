//! The names of a definition.

use fieldmanager_structural::internal::label_1035;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{List, Map, Value};

use super::members::text;
use super::spec::Spec;
use crate::metadata;

/// The faults of the name of a definition, and of the base of a generated one.
pub(super) fn faults_of_name(spec: &Spec<'_>, object: &Value) -> Vec<FieldError> {
    let expected = format!("{}.{}", spec.name("plural"), spec.text("group"));
    let fields = ["generateName", "name"].into_iter();
    fields
        .map(|field| (field, metadata::text(object, field)))
        .filter(|(_, name)| !name.is_empty() && *name != expected)
        .map(|(field, name)| {
            let path = FieldPath::root("metadata").child(field);
            FieldError::invalid(path, name, "must be spec.names.plural+\".\"+spec.group")
        })
        .collect()
}

/// Adds the faults of names that are present.
pub(super) fn check(names: Option<&Map>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let empty = Map::new();
    let names = names.unwrap_or(&empty);
    for field in ["plural", "singular"] {
        label(text(names, field), path.child(field), errors);
    }

    for field in ["kind", "listKind"] {
        let name = text(names, field);
        let faults = label_1035(&name.to_lowercase());
        if !name.is_empty() && !faults.is_empty() {
            let detail = format!(
                "may have mixed case, but should otherwise match: {}",
                faults.join(",")
            );
            errors.push(FieldError::invalid(path.child(field), name, detail));
        }
    }

    labels(names, "shortNames", path, errors);
    let (kind, list_kind) = (text(names, "kind"), text(names, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            path.child("listKind"),
            list_kind,
            detail,
        ));
    }
    labels(names, "categories", path, errors);
}

fn label(name: &str, path: FieldPath, errors: &mut Vec<FieldError>) {
    let faults = label_1035(name);
    if !name.is_empty() && !faults.is_empty() {
        errors.push(FieldError::invalid(path, name, faults.join(",")));
    }
}

fn labels(names: &Map, field: &str, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let list = names
        .get(field)
        .and_then(Value::as_list)
        .into_iter()
        .flat_map(List::iter);

    for (at, name) in list.enumerate() {
        let name = name.as_str().unwrap_or_default();
        let faults = label_1035(name);
        if !faults.is_empty() {
            errors.push(FieldError::invalid(
                path.child(field).index(at),
                name,
                faults.join(","),
            ));
        }
    }
}
