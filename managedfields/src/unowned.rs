//! Merges that no manager owns, such as those of policies.

use std::fmt::Write;

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_schema::internal::TypeId;
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, Fault, ItemFault, TypedValue, ValidationErrors};
use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::internal::level;
use fieldmanager_value::{Str, Value};

use crate::manager::FieldManager;

impl FieldManager {}

/// Merges a configuration into an object of the kind, without a look at managers. The kind and the version of the
/// object are those of the result. A configuration may not set lists, maps or structs that are atomic.
///
/// # Errors
///
/// The words of kube-apiserver: one of both does not fit the type, or the configuration sets something atomic.
///
/// Behaviour: `ApplyStructuredMergeDiff` of `k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch`.
pub fn merge_unowned_fields(
    manager: &FieldManager,
    object: &Value,
    config: &Value,
) -> Result<Value, String> {
    merge_unowned(&manager.settings.ty, object, config)
}

/// [`merge_unowned_fields`] for a type.
///
/// # Errors
///
/// See there.
pub fn merge_unowned(ty: &Type, object: &Value, config: &Value) -> Result<Value, String> {
    let names = ["apiVersion", "kind"].map(|name| (Str::from(name), object.get(name).cloned()));
    let config = match config {
        Value::Map(fields) => Value::Map(fields.with_edits(names.into())),
        other => other.clone(),
    };
    let typed = |what: &str, value: &Value, duplicates| {
        let typed = TypedValue::new(value.clone(), ty.clone(), duplicates);
        typed.map_err(|errors| {
            format!(
                "failed to convert {what} object to typed object: {}",
                words(&errors)
            )
        })
    };

    let patch = typed("patch", &config, Duplicates::Refuse)?;
    let mut atomics = Atomics {
        schema: ty.schema(),
        path: Path::default(),
        found: Vec::new(),
    };
    atomics.find(ty.id(), &config);
    if !atomics.found.is_empty() {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomics.found.join(", ")
        ));
    }

    // A stored object may have duplicates, which an older version of its kind allowed.
    let live = typed("original", object, Duplicates::Allow)?;
    let merged = live.merge(&patch);
    let merged = merged.map_err(|error| format!("failed to merge patch: {error}"))?;
    Ok(merged.into_value())
}

/// The atomic parts of a value.
struct Atomics<'s> {
    schema: &'s Schema,
    path: Path,
    found: Vec<String>,
}

impl Atomics<'_> {
    fn find(&mut self, ty: TypeId, value: &Value) {
        let atom = self.schema.atom(ty);
        let is_atomic = match (value, &atom.list, &atom.map) {
            (Value::List(_), Some(list), _) => list.atomic,
            (Value::Map(_), _, Some(map)) => map.atomic,
            _ => return,
        };
        if is_atomic {
            self.found.push(self.path.to_string());
        }

        match (value, &atom.list, &atom.map) {
            (Value::List(items), Some(list), _) => {
                for (at, item) in (0..).zip(items) {
                    self.below(PathElement::Index(at), list.element, item);
                }
            }
            // As in Go, what is in maps of any keys is not looked at.
            (Value::Map(fields), _, Some(map)) => {
                for (name, field) in fields {
                    if let Some(declared) = map.field(name) {
                        self.below(PathElement::Field(name.clone()), declared.ty, field);
                    }
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, element: PathElement, ty: TypeId, value: &Value) {
        self.path.push(element);
        level(|| self.find(ty, value));
        self.path.pop();
    }
}

/// The faults of a value in the words of Go, which stops at the first undeclared field of a struct.
///
/// Behaviour: `ValidationErrors.Error` of `sigs.k8s.io/structured-merge-diff/v6/typed`.
fn words(errors: &ValidationErrors) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut parent: Option<&[PathElement]> = None;
    for error in errors.iter() {
        let (last, above) = match error.path.split_last() {
            Some((last, above)) => (last.to_string(), above),
            None => (String::new(), &error.path[..]),
        };
        // Go names the list of an item that is at fault, not the item.
        let at_parent = |text: String| {
            let path: Path = above.iter().cloned().collect();
            if above.is_empty() {
                text
            } else {
                format!("{path}: {text}")
            }
        };
        lines.push(match &error.fault {
            Fault::NotDeclared { .. } if parent == Some(above) => continue,
            Fault::NotDeclared { .. } => {
                parent = Some(above);
                format!("{}: field not declared in schema", error.path)
            }
            Fault::Duplicate => at_parent(format!("duplicate entries for key {last}")),
            Fault::Item(fault) => {
                let at = last.trim_matches(['[', ']']);
                at_parent(format!("element {at}: {}", item_words(fault)))
            }
            Fault::Kind { expected, found } => {
                let text = kind_words(expected, found);
                if error.path.is_empty() {
                    text
                } else {
                    format!("{}: {text}", error.path)
                }
            }
            _ => error.to_string(),
        });
    }

    match lines.as_slice() {
        [one] => one.clone(),
        all => all.iter().fold("errors:".to_owned(), |mut text, line| {
            let _ = write!(text, "\n  {line}");
            text
        }),
    }
}

/// The words for a value of a wrong kind, which show the value of Go. Lists and maps are not shown as there.
///
/// Behaviour: `validateScalar` of `sigs.k8s.io/structured-merge-diff/v6/typed/validate.go`.
fn kind_words(expected: &str, found: &str) -> String {
    let text = found
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    match (expected, found) {
        ("numeric", _) => {
            let of = match found {
                "list" => "[]interface {}",
                "map" => "map[string]interface {}",
                "true" | "false" => "bool",
                _ => "string",
            };
            format!("expected numeric (int or float), got {of}")
        }
        (_, "list" | "map") => format!("expected {expected}, got {found}"),
        ("string", _) => format!("expected string, got &value.valueUnstructured{{Value:{found}}}"),
        _ => format!("expected {expected}, got &{{{}}}", text.unwrap_or(found)),
    }
}

fn item_words(fault: &ItemFault) -> String {
    let text = match fault {
        ItemFault::NoKeys { keys } => {
            let keys: Vec<String> = keys.iter().map(|key| quote(key)).collect();
            return format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                keys.join(" ")
            );
        }
        ItemFault::NotMap { found: "null" } => {
            "associative list with keys may not have a null element"
        }
        ItemFault::NotMap { .. } => "associative list with keys may not have non-map elements",
        ItemFault::NotScalar { found: "map" } => {
            "associative list without keys has an element that's a map type"
        }
        ItemFault::NotScalar { found: "list" } => {
            "not supported: associative list with lists as elements"
        }
        _ => "associative list without keys has an element that's an explicit null",
    };
    text.to_owned()
}
