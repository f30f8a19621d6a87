//! Patches that the two sides read in different ways, and what messages show of patched objects.

use serde_json::{Value as Json, json};

use crate::json::{items, member, same_value, text};
use crate::server::kinds::Kind;
use crate::server::pointer::remove_pointer;
use crate::server::request::{Answer, DEFINITIONS, Step};

/// Whether a request changes an entry of managed fields by its place in the list.
pub(in crate::server) fn takes_place(step: &Step<'_>) -> bool {
    let changed = items(step.json, "set").iter().filter_map(|pair| pair.get(0)?.as_str());
    let dropped = items(step.json, "drop").iter().filter_map(Json::as_str);
    changed.chain(dropped).any(|pointer| pointer.starts_with("/metadata/managedFields/"))
}

/// Whether the real server took a directive of a strategic merge patch inside of new content for data.
pub(in crate::server) fn leaves_directives(kind: &Kind, step: &Step<'_>, real: &Answer) -> bool {
    let patch = member(step.json, "body").to_string();
    // The list of versions is replaced as a whole.
    let versions = member(member(member(step.json, "body"), "spec"), "versions").to_string();
    if kind.group == DEFINITIONS && versions.contains("\"$") {
        return true;
    }
    let names = ["$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"];
    let causes = items(member(&real.body, "details"), "causes");
    let is_data = |name: &&str| {
        let is_unknown = |faults: &str| {
            faults.contains(&format!(".{name}")) || faults.contains(&format!("unknown field \"{name}"))
        };
        let in_warning = real.warnings.iter().any(|warning| is_unknown(warning));
        // A label or a selector takes a directive for a key.
        let is_key =
            |cause: &Json| text(cause, "message").starts_with(&format!("Invalid value: \"{name}\": "));
        // The data of a ControllerRevision, which has no type, keeps a directive.
        let is_kept = |cause: &Json| {
            kind.kind == "ControllerRevision"
                && text(cause, "field") == "data"
                && text(cause, "message").contains(&format!("\"{name}"))
        };
        let in_cause = patch_cause(&real.body).is_some_and(|cause| {
            let strict = cause.split_once("strict decoding error: ").map(|(_, faults)| faults);
            // A map of quantities takes a directive for one.
            let is_value = ["cannot restore ", "error decoding from json: ", "quantities must match"]
                .iter()
                .any(|words| cause.contains(words));
            is_value || strict.is_some_and(is_unknown)
        });
        patch.contains(&format!("\"{name}"))
            && (in_warning || in_cause || causes.iter().any(|cause| is_key(cause) || is_kept(cause)))
    };
    names.iter().any(is_data)
}

/// Whether both sides refuse a strategic merge patch with the code 500 for one reason, in other words.
pub(in crate::server) fn is_strategic(real: &str, ours: &str) -> bool {
    let words = [
        ("unknown patch type: ", "unknown patch type: "),
        ("does not contain declared merge key: ", "does not contain declared merge key: "),
        ("list element types are not identical", "list element types are not identical"),
        ("list element types are not identical", "in a list that is merged: expected maps, or scalars"),
    ];
    words.iter().any(|(theirs, our)| real.contains(theirs) && ours.contains(our))
}

/// The cause of a refused patch.
pub(in crate::server) fn patch_cause(status: &Json) -> Option<&str> {
    let cause = items(member(status, "details"), "causes").first()?;
    (text(cause, "field") == "patch").then(|| text(cause, "message"))
}

pub(in crate::server) fn has_patch_cause(status: &Json) -> bool {
    patch_cause(status).is_some()
}

/// Whether the decoder of unstructured objects refused the result of a patch.
pub(in crate::server) fn restores(status: &Json) -> bool {
    let words = ["cannot restore ", "cannot convert ", "unrecognized type: ", "error decoding from json: "];
    patch_cause(status).is_some_and(|cause| words.iter().any(|word| cause.contains(word)))
}

/// Removes empty lists and maps, which the library takes for absent ones.
pub(in crate::server) fn drop_empty(value: &mut Json) {
    match value {
        Json::Object(members) => {
            members.values_mut().for_each(drop_empty);
            members.retain(|_, value| *value != json!({}) && *value != json!([]));
        }
        Json::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

/// Whether two causes are equal, apart from the order of the fields of the object that they show, its empty fields, and the
/// forms of numbers.
pub(in crate::server) fn same_patched(real: &Json, ours: &Json) -> bool {
    let parts = |status: &Json| -> Option<(Json, Json, String)> {
        let shown = patch_cause(status)?.strip_prefix("Invalid value: ")?;
        let mut read = serde_json::Deserializer::from_str(shown).into_iter::<String>();
        let object = read.next()?.ok()?;
        let rest = shown.get(read.byte_offset()..)?.to_owned();
        let mut object: Json = serde_json::from_str(&object).ok()?;
        // The order of the entries of managed fields depends on their times.
        let entries = object.pointer_mut("/metadata/managedFields").and_then(Json::as_array_mut);
        entries.into_iter().for_each(|entries| entries.sort_by_cached_key(Json::to_string));
        drop_empty(&mut object);
        // The real server shows the traffic policy that it hides elsewhere, see `HIDDEN_FIELD`.
        if text(member(&object, "spec"), "type") == "ExternalName" {
            remove_pointer(&mut object, "/spec/internalTrafficPolicy");
        }
        // An object without a kind is in the message too.
        let (words, again) =
            match rest.strip_suffix('\'').and_then(|rest| rest.split_once(" is missing in '")) {
                Some((words, again)) => (words.to_owned(), serde_json::from_str(again).ok()?),
                None => (rest, Json::Null),
            };
        Some((object, again, words))
    };
    match (parts(real), parts(ours)) {
        (Some(real), Some(ours)) => {
            real.2 == ours.2 && same_value(&real.0, &ours.0) && same_value(&real.1, &ours.1)
        }
        _ => false,
    }
}
