//! JSON patches of webhooks and policies.

use fieldmanager_patch::internal::apply_of_policy;
use fieldmanager_patch::json_patch::OperationFault;
use fieldmanager_patch::{Error, Fault, json_patch};
use fieldmanager_structural::internal::{ObjectExt, json_kind};
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_json;

/// Reads JSON. The error is that of Go.
pub(crate) fn read_json(json: &[u8]) -> Result<Value, String> {
    Value::from_json_slice(json).map_err(|error| {
        let text = str::from_utf8(json).ok();
        text.and_then(go_json::error)
            .unwrap_or_else(|| error.to_string())
    })
}

/// Reads the operations of a patch. Null has none.
///
/// # Errors
///
/// It is no list of objects.
///
/// Behaviour: `DecodePatch` of `gopkg.in/evanphx/json-patch.v4`.
pub(crate) fn read_patch(json: &[u8]) -> Result<Value, String> {
    let patch = read_json(json)?;
    let fault = |found: &Value, of: &str| {
        let found = json_kind(found);
        Err(format!(
            "json: cannot unmarshal {found} into Go value of type jsonpatch.{of}"
        ))
    };
    match &patch {
        Value::Null => Ok(Value::from(Vec::<Value>::new())),
        Value::List(operations) => {
            let is_operation = |item: &&Value| matches!(item, Value::Map(_) | Value::Null);
            match operations.iter().find(|item| !is_operation(item)) {
                Some(item) => fault(item, "Operation"),
                None => Ok(patch),
            }
        }
        other => fault(other, "Patch"),
    }
}

/// Applies a patch to an object. A patch has at most [`json_patch::MAX_OPERATIONS`] operations.
///
/// # Errors
///
/// The words of kube-apiserver.
pub(crate) fn apply(object: &Value, patch: &Value) -> Result<Value, String> {
    json_patch::apply(object, patch).map_err(|error| explain(patch, &error))
}

/// The same for the patch of a policy; `None` if a test of the patch fails.
///
/// # Errors
///
/// The words of kube-apiserver.
pub(crate) fn apply_if_tests_hold(object: &Value, patch: &Value) -> Result<Option<Value>, String> {
    match apply_of_policy(object, patch) {
        Ok(patched) => Ok(Some(patched)),
        Err(error) => match error.fault() {
            Fault::Operation {
                fault: OperationFault::Test { .. },
                ..
            } => Ok(None),
            _ => Err(explain(patch, &error)),
        },
    }
}

fn explain(patch: &Value, error: &Error) -> String {
    match error.fault() {
        Fault::Operation { index, fault } => {
            let operation = patch.as_list().and_then(|list| list.get(*index));
            words(operation.unwrap_or(&Value::Null), fault)
        }
        fault => fault.to_string(),
    }
}

/// The fault of an operation, in the words of Go.
///
/// Behaviour: `Patch.ApplyIndent` of `gopkg.in/evanphx/json-patch.v4`.
fn words(operation: &Value, fault: &OperationFault) -> String {
    const MISSING: &str = "missing value";
    let (op, path) = (operation.string("op"), operation.string("path"));
    let last = |path: &str| {
        let key = path.rsplit('/').next().unwrap_or_default();
        key.replace("~1", "/").replace("~0", "~")
    };

    // Clients and tests match on these words, so each fault has those that the Go package gives it,
    // with their inconsistencies.
    match fault {
        OperationFault::Kind { found } => format!("Unexpected kind: {found}"),
        OperationFault::NoMember { name } => {
            let cause = match (*name, op) {
                ("from", _) => "operation, missing from field: missing value",
                (_, "add" | "remove" | "copy") => MISSING,
                _ => "operation missing path field: missing value",
            };
            format!("{op} operation failed to decode {name}: {cause}")
        }
        OperationFault::Pointer { .. } | OperationFault::Root | OperationFault::NoParent { .. } => {
            let at = match fault {
                OperationFault::Pointer { path } | OperationFault::NoParent { path } => path,
                _ => path,
            };
            let of = match op {
                "add" | "remove" => format!("doc is missing path: \"{at}\""),
                "test" => format!("is missing path: {at}"),
                "move" | "copy" if at == operation.string("from") => {
                    format!("doc is missing from path: {at}")
                }
                "move" | "copy" => format!("doc is missing destination path: {at}"),
                _ => format!("doc is missing path: {at}"),
            };
            format!("{op} operation does not apply: {of}: {MISSING}")
        }
        OperationFault::Missing { path: at } => {
            // A move removes first, and then names the key instead of the path.
            let key = last(at);
            let place = if op == "move" { &key } else { at };
            let cause = format!("Unable to remove nonexistent key: {key}: {MISSING}");
            format!("error in {op} for path: '{place}': {cause}")
        }
        OperationFault::Index { path: at, .. } if op == "replace" => {
            format!("replace operation does not apply: doc is missing key: {at}: {MISSING}")
        }
        OperationFault::Index { path: at, .. } => {
            index_words(op, at, &last(at), at == operation.string("from"))
        }
        OperationFault::RootValue { .. } => {
            "replace operation value must be object or array: %!w(<nil>)".to_owned()
        }
        OperationFault::Test { path, .. } => format!("testing value {path} failed: test failed"),
        other => other.to_string(),
    }
}

/// The fault of an index, which is the key at the end of a path. `is_from` says whether the path is that of `from`.
fn index_words(op: &str, at: &str, key: &str, is_from: bool) -> String {
    let is_source = is_from && matches!(op, "move" | "copy");
    let adds = op == "add" || matches!(op, "move" | "copy") && !is_source;
    let cause = match key.parse::<i64>() {
        Ok(_) => format!("Unable to access invalid index: {key}: invalid index referenced"),
        Err(_) => format!("strconv.Atoi: parsing \"{key}\": invalid syntax"),
    };
    let cause = match key.parse::<i64>() {
        Err(_) if adds => format!("value was not a proper array index: '{key}': {cause}"),
        _ => cause,
    };

    match op {
        "copy" if is_source => format!("error in copy for from: '{at}': {cause}"),
        "copy" => format!("error while adding value during copy: {cause}"),
        "move" if is_source => format!("error in move for path: '{key}': {cause}"),
        _ => format!("error in {op} for path: '{at}': {cause}"),
    }
}
