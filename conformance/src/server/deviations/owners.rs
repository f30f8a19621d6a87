//! Owners of fields that differ for a listed reason.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::json::{items, member, set, text};
use crate::server::request::{Answer, Step};

/// Whether the real server left the owners of an object as they were, since it repeats items of a set or a keyed list of its
/// metadata, or conditions, and has managers at more than one version.
pub(in crate::server) fn keeps_entries_of_duplicates(
    live: &Json,
    sent: &Json,
    real: &Answer,
    version: &str,
) -> bool {
    let entries = |object: &Json| member(member(object, "metadata"), "managedFields").clone();
    let repeats = |object: &Json, name: &str| {
        let list = items(member(object, "metadata"), name);
        let mut seen = BTreeSet::new();
        !list.iter().all(|item| {
            seen.insert(match name {
                "ownerReferences" => text(item, "uid").to_owned(),
                _ => item.to_string(),
            })
        })
    };
    let has_duplicates = ["finalizers", "ownerReferences"]
        .iter()
        .any(|name| repeats(live, name) || repeats(sent, name) || repeats(&real.body, name));
    let mut types = BTreeSet::new();
    let mut conditions = items(member(live, "status"), "conditions").iter();
    let has_duplicates =
        has_duplicates || !conditions.all(|condition| types.insert(text(condition, "type").to_owned()));
    // Owners that occur again are dropped after the owners of fields are known.
    let drops = |warning: &String| warning.contains("ownerReferences contains duplicate entries");
    let has_duplicates = has_duplicates || real.warnings.iter().any(drops);
    let is_other = |entry: &Json| text(entry, "apiVersion") != version;
    has_duplicates
        && entries(live) == entries(&real.body)
        && entries(live).as_array().is_some_and(|entries| entries.iter().any(is_other))
}

/// Whether the real server may hide a field of an object, which is stored without it by the next write.
pub(in crate::server) fn hides_field(live: &Json) -> bool {
    let spec = member(live, "spec");
    text(live, "kind") == "Service"
        && text(spec, "type") == "ExternalName"
        && spec.get("internalTrafficPolicy").is_none()
}

/// Whether the store of the real server may lack what answers show, which is stored by the next write: bytes that are null
/// in the store and empty in answers, labels that an object without any takes from its pods, and the stored version of a
/// definition whose client removed all.
pub(in crate::server) fn stores_what_it_shows(step: &Step<'_>, live: &Json) -> bool {
    let has_empty = |name: &str| {
        member(live, name).as_object().is_some_and(|bytes| bytes.values().any(|value| *value == json!("")))
    };
    match text(live, "kind") {
        "ConfigMap" => has_empty("binaryData"),
        "Secret" => has_empty("data"),
        "Job" | "ReplicationController" => {
            let labels = live.pointer("/metadata/labels");
            labels.is_some() && labels == live.pointer("/spec/template/metadata/labels")
        }
        "CustomResourceDefinition" => {
            let entries = items(member(live, "metadata"), "managedFields");
            let is_status = |entry: &Json| text(entry, "subresource") == "status";
            let stored = items(member(live, "status"), "storedVersions");
            let is_of_client = |entry: &Json| is_status(entry) && text(entry, "manager") != "kube-apiserver";
            stored.len() == 1 && (step.sub == "status" || entries.iter().any(is_of_client))
        }
        _ => false,
    }
}

/// Whether a request changed nothing but the order of the entries of managed fields, which depends on their times.
pub(in crate::server) fn reorders_entries(live: &Json, real: &Json) -> bool {
    let managers = |object: &Json, is_sorted: bool| -> Vec<String> {
        let entries = items(member(object, "metadata"), "managedFields").iter();
        let without_time = |entry: &Json| {
            let mut entry = entry.clone();
            set(&mut entry, "time", Json::Null);
            entry.to_string()
        };
        let mut entries: Vec<String> = entries.map(without_time).collect();
        if is_sorted {
            entries.sort_unstable();
        }
        entries
    };
    managers(live, true) == managers(real, true) && managers(live, false) != managers(real, false)
}

/// Whether two objects differ in the times of entries of managed fields alone.
pub(in crate::server) fn differ_in_times(real: &Json, ours: &Json) -> bool {
    let without_times = |object: &Json| {
        let mut object = object.clone();
        let entries = object.pointer_mut("/metadata/managedFields").and_then(Json::as_array_mut);
        entries.into_iter().flatten().for_each(|entry| set(entry, "time", Json::Null));
        object
    };
    without_times(real) == without_times(ours)
}

/// Whether two answers differ in the owners of a field alone that the real server hides: it stores the traffic policy of
/// a Service that becomes an `ExternalName`.
pub(in crate::server) fn owns_hidden_field(live: &Json, real: &Json, ours: &Json) -> bool {
    hides_field(live)
        && disowned(real, &["/spec/internalTrafficPolicy".to_owned()])
            == disowned(ours, &["/spec/internalTrafficPolicy".to_owned()])
}

/// The object with the last of its entries of one manager, operation and subresource, and of one version for updates;
/// `None` if there are no such entries.
pub(in crate::server) fn without_duplicates(object: &Json) -> Option<Json> {
    let key = |entry: &Json| {
        let version = if text(entry, "operation") == "Apply" { "" } else { "apiVersion" };
        ["manager", "operation", version, "subresource"].map(|name| text(entry, name).to_owned())
    };
    let mut seen = BTreeSet::new();
    let entries = items(member(object, "metadata"), "managedFields");
    let mut kept: Vec<Json> = entries.iter().rev().filter(|entry| seen.insert(key(entry))).cloned().collect();
    if kept.len() == entries.len() {
        return None;
    }
    kept.reverse();
    let mut out = object.clone();
    set(out.get_mut("metadata")?, "managedFields", json!(kept));
    Some(out)
}

/// Whether two answers differ in the owners of lists alone that the object of the request has in another form, although the
/// request does not change them.
pub(in crate::server) fn moves_unchanged_lists(live: &Json, sent: &Json, real: &Json, ours: &Json) -> bool {
    let mut places = Vec::new();
    lists(sent, String::new(), &mut places);
    // A JSON patch names places in lists.
    let paths = sent.as_array().into_iter().flatten().map(|operation| text(operation, "path"));
    for path in paths.filter(|path| !path.is_empty()) {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        places.extend(ends.filter_map(|end| path.get(..end)).map(str::to_owned));
    }
    let is_unchanged = |place: &String| {
        let stored = live.pointer(place).filter(|value| value.is_array());
        stored.is_some() && stored == real.pointer(place) && stored != sent.pointer(place)
    };
    places.retain(|place| !place.starts_with("/metadata") && is_unchanged(place));
    !places.is_empty() && disowned(real, &places) == disowned(ours, &places)
}

/// An object whose fields at some places have no owners, without the times of managed fields.
pub(in crate::server) fn disowned(object: &Json, places: &[String]) -> Json {
    let mut out = object.clone();
    let entries = out.pointer_mut("/metadata/managedFields").and_then(Json::as_array_mut);
    for entry in entries.into_iter().flatten() {
        set(entry, "time", Json::Null);
        for place in places {
            let names: Vec<&str> = place.split('/').skip(1).collect();
            disown(member_mut(entry, "fieldsV1"), &names);
        }
    }
    if let Some(entries) = out.pointer_mut("/metadata/managedFields").and_then(Json::as_array_mut) {
        entries
            .retain(|entry| member(entry, "fieldsV1").as_object().is_some_and(|fields| !fields.is_empty()));
        entries.sort_by_key(Json::to_string);
    }
    if let Some(metadata) = out.get_mut("metadata") {
        set(metadata, "resourceVersion", Json::Null);
    }
    out
}

/// Removes the field at a path of names from a set of fields, and the sets that are empty then. A place in a list has any key.
pub(in crate::server) fn disown(fields: Option<&mut Json>, names: &[&str]) {
    let (Some(Json::Object(members)), Some((name, rest))) = (fields, names.split_first()) else { return };
    let is_place = name.bytes().all(|byte| byte.is_ascii_digit());
    let keys: Vec<String> = members
        .keys()
        .filter(|key| **key == format!("f:{name}") || is_place && key.starts_with("k:"))
        .cloned()
        .collect();
    for key in keys {
        if !rest.is_empty() {
            disown(members.get_mut(&key), rest);
        }
        if rest.is_empty()
            || members.get(&key).and_then(Json::as_object).is_some_and(|below| below.is_empty())
        {
            members.remove(&key);
        }
    }
}

pub(in crate::server) fn member_mut<'j>(value: &'j mut Json, name: &str) -> Option<&'j mut Json> {
    value.get_mut(name)
}

/// Whether managed fields have items whose keys are numbers, and the order of these differs from that of their strings.
pub(in crate::server) fn has_number_keys(fields: &Json) -> bool {
    let Json::Object(members) = fields else {
        return fields
            .as_array()
            .is_some_and(|entries| entries.iter().any(|entry| has_number_keys(member(entry, "fieldsV1"))));
    };
    let numbers = |key: &String| -> Option<Vec<i64>> {
        let key: Json = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
        Some(key.as_object()?.values().filter_map(Json::as_i64).collect())
    };
    let keys: Vec<Vec<i64>> = members.keys().filter_map(numbers).collect();
    !keys.is_sorted() || members.values().any(has_number_keys)
}

/// The places of the lists in a value.
pub(in crate::server) fn lists(value: &Json, place: String, out: &mut Vec<String>) {
    match value {
        Json::Object(members) => {
            for (name, value) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                lists(value, format!("{place}/{name}"), out);
            }
        }
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                lists(item, format!("{place}/{at}"), out);
            }
            out.push(place);
        }
        _ => {}
    }
}
