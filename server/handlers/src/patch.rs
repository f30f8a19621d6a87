//! Patches: JSON patches, merge patches and strategic merge patches.

use fieldmanager_managedfields::Status;
use fieldmanager_patch::internal::{is_unexpected, left};
use fieldmanager_patch::{Error, Fault, PatchType, json_merge, json_patch, strategic};
use fieldmanager_structural::internal::json_kind;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::{Kind, List, Map, Value};

use crate::body;
use crate::edited::Edited;
use crate::go_value;
use crate::kind::{Form, INTERNAL, Origin, unknown_fields};
use crate::metadata;
use crate::request::FieldValidation;
use crate::state::Write;
use crate::strict;

/// A patch that was read.
pub(crate) struct Patch {
    patch_type: PatchType,
    value: Value,
    text: String,
}

impl Patch {
    /// Reads a patch.
    pub(crate) fn read(patch_type: PatchType, bytes: &[u8]) -> Result<Self, Status> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let value =
            Value::from_json(&text).map_err(|_| Status::bad_request("invalid JSON patch"))?;
        Ok(Patch {
            patch_type,
            value,
            text,
        })
    }

    /// The live object, patched, decoded and with defaults.
    pub(crate) fn apply(&self, write: &mut Write<'_>, live: &Value) -> Result<Edited, Status> {
        let part = write.part;
        let faults = self.strict_faults(write);
        self.check_type(write)?;
        let patched = match (self.patch_type, part.patches) {
            (PatchType::Json | PatchType::Strategic, _) if self.value.is_null() => Ok(live.clone()),
            (PatchType::Json, _) => json_patch::apply(live, &self.value),
            (PatchType::Strategic, Some(schema)) => strategic::apply(live, &self.value, schema),
            // A list replaces the object, and the decoder refuses it.
            _ if self.value.as_list().is_some() => json_merge::apply(live, &self.value),
            _ => json_merge::apply_to_object(live, &self.value),
        };
        let patched = patched.map_err(|error| refused(&error, write.options.server_answers))?;

        let invalid = |error: String| {
            let shown = match (self.patch_type, part.patches) {
                (PatchType::Strategic, Some(schema)) => {
                    go_value::shown(&left(live, &self.value, schema))
                }
                _ => patched.to_json(),
            };
            let path = FieldPath::root("patch");
            let error = FieldError::invalid(path, Value::from(shown.as_str()), error);
            Status::invalid(&GroupVersionKind::new("", "", ""), "", &[error])
        };
        let declared = match self.patch_type {
            // The type of the object is that of the resource, whatever the patch sets.
            PatchType::Strategic => part.gvk.clone(),
            _ => body::declared_kind(&patched, &part.gvk).map_err(invalid)?,
        };

        // An object without a version is read at the internal one; the type of a strategic merge patch is fixed.
        let version = patched
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let named = if version.is_empty() && self.patch_type != PatchType::Strategic {
            GroupVersionKind::new(declared.group.clone(), INTERNAL, declared.kind.clone())
        } else {
            declared.clone()
        };
        if let Some(error) = part.kind.refuses(&named) {
            return Err(invalid(error));
        }

        if let Some(error) = part.kind.missing_kind(&patched) {
            return Err(invalid(error));
        }
        if let Some(unknown) = self.without_version(write, &patched) {
            let faults: Vec<String> = faults.into_iter().chain(unknown).collect();
            write.report_strict(&faults, |faults| {
                invalid(format!("strict decoding error: {}", faults.join(", ")))
            })?;
            return Ok(Edited {
                object: Value::Map(Map::new()),
                ..Edited::default()
            });
        }

        let is_named = |name: &str| {
            patched
                .get(name)
                .is_none_or(|value| matches!(value, Value::Null | Value::String(_)))
        };

        // Without a version there is no schema, and the write is refused later on: metadata alone is read.
        let has_schema = part.policy.form == Form::Struct || !version.is_empty();
        let typed = match self.patch_type {
            _ if !has_schema => body::with_kind(&metadata::alone(&patched), &declared),
            // The decoder refuses names of wrong types.
            PatchType::Strategic if !is_named("apiVersion") || !is_named("kind") => patched.clone(),
            _ => body::with_kind(&patched, &declared),
        };
        let origin = match self.patch_type {
            PatchType::Strategic => Origin::Unstructured,
            _ => Origin::Json,
        };
        let decoded = part.kind.decode(&typed, origin).map_err(invalid)?;

        let faults: Vec<String> = faults.into_iter().chain(decoded.unknown).collect();
        write.report_strict(&faults, |faults| {
            invalid(format!("strict decoding error: {}", faults.join(", ")))
        })?;
        match &decoded.object {
            Value::Map(fields) if !has_schema => {
                let object = Value::Map(fields.with_edits(vec![("apiVersion".into(), None)]));
                Ok(Edited {
                    object,
                    ..Edited::default()
                })
            }
            object => Ok(write.decoded(&patched, object)),
        }
    }

    /// The faults of an object of a built-in kind whose version the patch removed: Go decodes it into the internal version,
    /// which has no JSON names, so that nothing is left of it.
    fn without_version(&self, write: &Write<'_>, patched: &Value) -> Option<Vec<String>> {
        let version = patched
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_struct = write.resource.object.policy.form == Form::Struct;
        if self.patch_type == PatchType::Strategic || !is_struct || !version.is_empty() {
            return None;
        }
        let names = patched.as_map()?.iter().map(|(name, _)| name.as_str());
        let unknown = names
            .filter(|name| !matches!(*name, "apiVersion" | "kind"))
            .map(str::to_owned);

        Some(unknown_fields(&unknown.collect::<Vec<_>>()))
    }

    /// Checks that the patch is a list of operations, or an object. Strict field validation decodes the patch once more,
    /// into other types of Go.
    ///
    /// Behaviour: `applyJSPatch` in `endpoints/handlers/patch.go` of `k8s.io/apiserver`.
    fn check_type(&self, write: &Write<'_>) -> Result<(), Status> {
        const OBJECT: &str = "map[string]interface {}";

        // Strict validation decodes a patch by other code, whose errors have a prefix and name other types.
        let validates = write.request.validation() != FieldValidation::Ignore;
        let refused = |found: &Value, target: &str| {
            let prefix = if validates && self.patch_type != PatchType::Strategic {
                "error decoding patch: "
            } else {
                ""
            };
            let found = json_kind(found);
            Status::bad_request(format!(
                "{prefix}json: cannot unmarshal {found} into Go value of type {target}"
            ))
        };

        // Null decodes into every type of Go. A merge patch that is not an object replaces the live one unless it is
        // validated.
        match (self.patch_type, &self.value) {
            (_, Value::Null) | (PatchType::Merge | PatchType::Strategic, Value::Map(_)) => Ok(()),
            (PatchType::Json, Value::List(operations)) => {
                let target = if validates {
                    "handlers.jsonPatchOp"
                } else {
                    "jsonpatch.Operation"
                };
                let wrong = operations
                    .iter()
                    .find(|operation| !operation.is_null() && operation.as_map().is_none());
                match (wrong, wrong_member(operations).filter(|_| validates)) {
                    (Some(found), _) => Err(refused(found, target)),
                    (None, Some(error)) => Err(Status::bad_request(error)),
                    (None, None) => Ok(()),
                }
            }
            (PatchType::Json, found) => Err(refused(
                found,
                if validates {
                    "[]handlers.jsonPatchOp"
                } else {
                    "jsonpatch.Patch"
                },
            )),
            (PatchType::Merge, _) if !validates => Ok(()),
            (_, found) => Err(refused(found, OBJECT)),
        }
    }

    /// What strict field validation finds in the patch itself.
    fn strict_faults(&self, write: &Write<'_>) -> Vec<String> {
        if write.request.validation() == FieldValidation::Ignore {
            return Vec::new();
        }
        match self.patch_type {
            PatchType::Json => {
                let unknown = unknown_in_operations(&self.value);
                strict::faults(&self.text, &unknown)
                    .into_iter()
                    .map(|fault| format!("json patch {fault}"))
                    .collect()
            }
            _ => strict::faults(&self.text, &[]),
        }
    }
}

/// The error of strict decoding for the first member of an operation that is not a string.
fn wrong_member(operations: &List) -> Option<String> {
    let members = operations.iter().flat_map(|operation| {
        let names = ["op", "path", "from"].into_iter();
        names.filter_map(|name| Some((name, operation.get(name)?)))
    });
    let mut wrong = members.filter(|(_, value)| !value.is_null() && value.as_str().is_none());
    let (name, value) = wrong.next()?;
    Some(format!(
        "error decoding patch: json: cannot unmarshal {} into Go struct field jsonPatchOp.{name} of type string",
        json_kind(value)
    ))
}

/// The answer to a patch that does not apply.
fn refused(error: &Error, server_answers: bool) -> Status {
    let response = error.response();
    if server_answers && is_unexpected(error) {
        Status::failure(500, "", go_words(error), None)
    } else {
        response.into()
    }
}

/// The message of Go's error, as far as the fault has its parts.
fn go_words(error: &Error) -> String {
    // Go names the dynamic type that a value was decoded to.
    let go_type = |found: &Kind| match found {
        Kind::Null => "%!s(<nil>)",
        Kind::Bool => "bool",
        Kind::Int => "int64",
        Kind::Float => "float64",
        Kind::String => "string",
        Kind::List => "[]interface {}",
        Kind::Map => "map[string]interface {}",
    };
    // The fault is at the directive, so the element before it says whether the directive is in an item of a list.
    let is_item = error
        .path()
        .iter()
        .rev()
        .nth(1)
        .is_some_and(|element| element.as_field().is_none());

    match error.fault() {
        Fault::PatchDirective { found, .. } if is_item && found.as_str() == Some("merge") => {
            "merging lists cannot yet be specified in the patch".to_owned()
        }
        Fault::WrongType {
            expected: "a list",
            found,
        } => {
            format!(
                "expected a []interface {{}}, but received a {}",
                go_type(found)
            )
        }
        Fault::WrongType {
            expected: "a map",
            found,
        } => {
            format!(
                "expected a map[string]interface {{}}, but received a {}",
                go_type(found)
            )
        }
        Fault::NoItems => "no elements in any of the given slices".to_owned(),
        Fault::NoDeclaredKey => format!(
            "{}: item does not contain declared merge key: ",
            error.path()
        ),
        _ => error.to_string(),
    }
}

/// The fields of JSON patch operations that do not exist.
fn unknown_in_operations(operations: &Value) -> Vec<String> {
    const FIELDS: [&str; 4] = ["from", "op", "path", "value"];
    let operations = operations.as_list().into_iter().flatten().enumerate();
    let names = operations.flat_map(|(i, operation)| {
        operation
            .as_map()
            .into_iter()
            .flatten()
            .map(move |(name, _)| (i, name))
    });
    let paths = names
        .filter(|(_, name)| !FIELDS.contains(&name.as_str()))
        .map(|(i, name)| format!("[{i}].{name}"))
        .collect::<Vec<_>>();

    unknown_fields(&paths)
}
