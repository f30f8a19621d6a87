//! The ops that are no sequence: what the library says about entries.

use fieldmanager_fieldpath::Set;
use fieldmanager_managedfields::ManagedFields;
use serde_json::{Value as Json, json};

use super::candidate::back;
use super::resource::own;

/// What differs about a request other than `managed`.
pub(crate) fn differs(request: &Json, reference: &Json) -> Option<(&'static str, Json)> {
    match request.get("op").and_then(Json::as_str) {
        Some("entries") => entries(request, reference),
        _ => Some(("op", Json::Null)),
    }
}

fn entries(request: &Json, reference: &Json) -> Option<(&'static str, Json)> {
    let list = request.get("managedFields").unwrap_or(&Json::Null);
    let decoded = ManagedFields::decode(Some(&own(list)));
    let failed = reference.get("error").is_some() || reference.get("decodeError").is_some();
    match (&decoded, failed) {
        (Err(_), true) => {}
        (Ok(managed), false) => {
            let encoded = managed.encode().map_or(Json::Null, |list| back(&list));
            if reference.get("managedFields") != Some(&encoded) {
                return Some(("managedFields", encoded));
            }
        }
        (Ok(_), true) => return Some(("outcome", json!("readable"))),
        (Err(error), false) => return Some(("outcome", json!({"error": error.to_string()}))),
    }
    let texts = reference.get("fields").and_then(Json::as_array);
    for (entry, text) in list.as_array().into_iter().flatten().zip(texts.into_iter().flatten()) {
        let Some(fields) = entry.get("fieldsV1").filter(|fields| !fields.is_null()) else { continue };
        let ours = match Set::from_value(&own(fields)) {
            Ok(set) => json!({"text": set.to_json()}),
            Err(error) => json!({"error": error.to_string()}),
        };
        if text.get("text") != ours.get("text") {
            return Some(("fields", ours));
        }
    }
    None
}
