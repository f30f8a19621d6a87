//! The library's answer to a case.

use fieldmanager_patch::internal::{Precondition, check_preconditions};
use fieldmanager_patch::json_patch::OperationFault;
use fieldmanager_patch::strategic;
use fieldmanager_patch::{Error, Fault, PatchSchema, PatchTypes, json_merge, json_patch};
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

use crate::json::{back, flag, items, member, own, text};

/// The answer in the form of the oracle: `result`, `conflicts`, or `error` with its `class` and `code`.
pub(super) fn answer(case: &Json) -> Json {
    let outcome = match (text(case, "op"), text(case, "function")) {
        ("smp", function) => smp(case, function),
        ("jsonmergepatch", "apply") => document(case, "original")
            .and_then(|original| json_merge::apply(&original, &document(case, "patch")?))
            .map(result),
        ("jsonmergepatch", "create") => document(case, "original")
            .and_then(|original| json_merge::create(&original, &document(case, "modified")?))
            .map(result),
        ("jsonmergepatch", _) => three_documents(case)
            .and_then(|[original, modified, current]| {
                let patch = json_merge::create_three_way(&original, &modified, &current)?;
                preconditions(case, &patch)?;
                Ok(patch)
            })
            .map(result),
        _ => document(case, "original")
            .and_then(|original| json_patch::apply(&original, &document(case, "patch")?))
            .map(result),
    };

    // Go's errors have other words, so an error is compared by its class and its code.
    outcome.unwrap_or_else(|error| {
        json!({"error": error.to_string(), "class": class(error.fault()), "code": error.response().code})
    })
}

fn result(value: Value) -> Json {
    json!({"result": back(&value)})
}

/// A document: a JSON string contains the serialized document, and an absent document is the empty object.
fn document(case: &Json, name: &'static str) -> Result<Value, Error> {
    let text = match case.get(name) {
        None => "{}".to_owned(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let kind = fieldmanager_value::Kind::String;
    Value::from_json(&text).map_err(|_| {
        Fault::NotAnObject {
            what: name,
            found: kind,
        }
        .into()
    })
}

fn three_documents(case: &Json) -> Result<[Value; 3], Error> {
    Ok([
        document(case, "original")?,
        document(case, "modified")?,
        document(case, "current")?,
    ])
}

fn smp(case: &Json, function: &str) -> Result<Json, Error> {
    let Some(types) = types(case) else {
        return Ok(json!({"setupError": "no types"}));
    };
    // A type without a definition has no strategies, so that lists are replaced.
    let schema = types
        .named(text(case, "type"))
        .unwrap_or_else(PatchSchema::free);
    let patches = || -> Vec<Value> { items(case, "patches").iter().map(own).collect() };

    match function {
        "apply" => strategic::apply(
            &document(case, "original")?,
            &document(case, "patch")?,
            schema,
        )
        .map(result),
        "two-way" => {
            let (original, modified) = (document(case, "original")?, document(case, "modified")?);
            let patch = strategic::create_two_way(&original, &modified, schema)?;
            preconditions(case, &patch)?;
            Ok(result(patch))
        }
        "three-way" => {
            let [original, modified, current] = three_documents(case)?;
            let make = |overwrite| {
                strategic::create_three_way(&original, &modified, &current, schema, overwrite)
            };
            // Preconditions are checked before conflicts.
            preconditions(case, &make(true)?)?;
            make(flag(case, "overwrite")).map(result)
        }
        "merge-patches" => strategic::merge_patches(&patches(), schema).map(result),
        _ => match patches().as_slice() {
            [left, right] => strategic::has_conflicts(left, right, schema)
                .map(|conflicts| json!({"conflicts": conflicts})),
            _ => Ok(Json::Null),
        },
    }
}

fn preconditions(case: &Json, patch: &Value) -> Result<(), Error> {
    let names = |list: &str| -> Vec<&str> {
        items(member(case, "preconditions"), list)
            .iter()
            .filter_map(Json::as_str)
            .collect()
    };
    let keys = names("keys").into_iter().map(Precondition::Key);
    let all: Vec<_> = keys
        .chain(
            names("metadataKeys")
                .into_iter()
                .map(Precondition::MetadataKey),
        )
        .collect();

    check_preconditions(patch, &all)
}

fn types(case: &Json) -> Option<PatchTypes> {
    let definitions = case.get("definitions")?;
    // The library reads the version of a document from its form.
    let document = if text(case, "openapi") == "v2" {
        json!({ "definitions": definitions })
    } else {
        json!({"components": {"schemas": definitions}})
    };
    PatchTypes::from_openapi(&Value::from_json(&document.to_string()).ok()?).ok()
}

/// The class of a fault, in terms that both sides share.
fn class(fault: &Fault) -> &'static str {
    match fault {
        Fault::NotAnObject { .. } => "badDocument",
        Fault::WrongType { .. } => "type",
        Fault::PatchDirective { .. } => "directive",
        Fault::RetainKeys { .. } | Fault::NotRetained { .. } => "badRetainKeys",
        Fault::DeleteFromPrimitiveList { .. } => "badPrimitiveList",
        Fault::SetElementOrder { .. } => "badSetElementOrder",
        Fault::DirectivesDiffer { .. } => "differ",
        Fault::OrderMismatch { .. } => "order",
        Fault::ListOfLists => "listOfLists",
        Fault::MixedList { .. } => "mixed",
        Fault::NullItem => "null",
        Fault::NoItems => "noItems",
        Fault::NoMergeKey { .. } => "noKey",
        Fault::MergeKeyType { .. } => "keyType",
        Fault::NoDeclaredKey => "noDeclaredKey",
        Fault::UnknownField { .. } => "field",
        Fault::Schema { .. } => "schema",
        Fault::Conflict { .. } => "conflict",
        Fault::Precondition => "precondition",
        Fault::Operation {
            fault: OperationFault::Pointer { .. },
            ..
        } => "pointer",
        _ => "other",
    }
}

/// The class of an error of the oracle, in the same terms.
pub(super) fn class_of_reference(answer: &Json) -> String {
    if let Some(kind) = answer.get("errorKind").and_then(Json::as_str) {
        return kind.to_owned();
    }
    // Strategic merge patches have no types of errors in Go, so their messages are searched.
    let text = text(answer, "error");
    let classes = [
        ("list element types are not identical", "mixed"),
        ("no elements in any", "noItems"),
        ("does not contain declared merge key", "noKey"),
        ("cannot find merge key", "noKey"),
        ("cannot merge lists without merge key", "noDeclaredKey"),
        ("unknown patch type", "directive"),
        ("merging lists cannot yet", "directive"),
        ("unable to find api field", "field"),
        ("expected kind, but got", "field"),
        ("expected slice, but got", "field"),
        ("expected visit kind first", "field"),
        ("data type is not struct", "field"),
        ("unable to resolve", "schema"),
        ("unexpected patch strategy", "schema"),
        ("doesn't match $setElementOrder", "order"),
        ("are not deep equal", "differ"),
        ("precondition failed", "precondition"),
        ("invalid value for special key", "type"),
        ("but received a", "type"),
        ("value for key", "type"),
        ("invalid element type", "type"),
    ];
    let found = classes.iter().find(|(part, _)| text.contains(part));

    found.map_or("other", |(_, class)| class).to_owned()
}
