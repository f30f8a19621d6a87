//! The library's answers to ops that are not sequences.

use std::collections::BTreeSet;

use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_managedfields::{
    CsaUpgrade, Entry, ExtractForm, ExtractRequest, ManagedFields, RequestKind, RequestOptions, ScaleHandler,
    extract, validate_managed_fields,
};
use fieldmanager_openapi::Importer;
use fieldmanager_schema::Schema;
use fieldmanager_structural::FieldPath;
use serde_json::{Value as Json, json};

use super::deviations::{
    DUPLICATE_ENTRIES, ENTRIES_AS_WRITTEN, EXTRACT_NOTHING, EXTRACT_SIBLINGS, SCALE_KEEPS,
    UNREADABLE_ENTRIES, UPGRADE_WITHOUT_FIELDS, has_duplicates, readable,
};
use crate::engine::deviations::has_inner_member;
use crate::generate::fields::leaves;
use crate::json::{back, items, member, own, same_value, text};

/// The library's answer if it differs, with the part that differs.
pub(crate) struct Answer {
    pub(crate) what: &'static str,
    pub(crate) ours: Json,
    /// The name of the deviation, if there is one.
    pub(crate) deviation: Option<&'static str>,
}

/// The difference for a request other than `managed`.
pub(crate) fn differs(request: &Json, reference: &Json) -> Option<Answer> {
    let unread = ["requestError", "decodeError"].iter().any(|name| reference.get(*name).is_some());
    if unread && text(request, "op") != "entries" {
        return None;
    }
    let entries = member(request, "managedFields");
    let duplicates = || has_duplicates(entries).then_some(DUPLICATE_ENTRIES);
    match text(request, "op") {
        "entries" => {
            let (what, ours) = entries_differ(request, reference)?;
            Some(Answer { what, ours, deviation: duplicates() })
        }
        "scale" => scale(request, reference),
        "extract" => extracted(request, reference),
        "upgrade" => upgraded(request, reference),
        "requestvalidation" => {
            let ours = validated(request);
            (ours != *reference).then_some(Answer { what: "errors", ours, deviation: None })
        }
        _ => Some(Answer { what: "op", ours: Json::Null, deviation: None }),
    }
}

fn encoded(managed: &ManagedFields) -> Json {
    managed.encode().map_or(Json::Null, |list| back(&list))
}

/// Entries as they are read again: the oracle takes them from an object, where null is an absent time.
fn without_null_times(mut entries: Json) -> Json {
    for entry in entries.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
        entry.retain(|name, value| name != "time" || !value.is_null());
    }
    entries
}

fn entries_differ(request: &Json, reference: &Json) -> Option<(&'static str, Json)> {
    let list = member(request, "managedFields");
    let decoded = ManagedFields::decode(Some(&own(list)));
    let failed = reference.get("error").is_some() || reference.get("decodeError").is_some();
    match (&decoded, failed) {
        (Err(_), true) => {}
        (Ok(managed), false) => {
            let encoded = without_null_times(encoded(managed));
            if member(reference, "managedFields") != &encoded {
                return Some(("managedFields", encoded));
            }
        }
        (Ok(_), true) => return Some(("outcome", json!("readable"))),
        (Err(error), false) => return Some(("outcome", json!({"error": error.to_string()}))),
    }
    for (entry, text) in list.as_array().into_iter().flatten().zip(items(reference, "fields")) {
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

fn scale(request: &Json, reference: &Json) -> Option<Answer> {
    let mut handler = ScaleHandler::new(text(request, "groupVersion"));
    for (version, names) in request.get("mappings").and_then(Json::as_object).into_iter().flatten() {
        handler = match names.as_array() {
            Some(names) => {
                let fields = names.iter().filter_map(Json::as_str).map(PathElement::field);
                handler.replicas(version.as_str(), fields.collect::<Path>())
            }
            None => handler.without_replicas(version.as_str()),
        };
    }
    let read = |name: &str| ManagedFields::decode(Some(&own(member(request, name))));
    let (Ok(parent), Ok(scale)) = (read("managedFields"), read("scaleEntries")) else {
        let found = Answer { what: "outcome", ours: Json::Null, deviation: None };
        return reference.get("managedFields").is_some().then_some(found);
    };
    let to_parent = text(request, "direction") == "toParent";
    let ours = if to_parent { handler.to_parent(&parent, &scale) } else { handler.to_subresource(&parent) };
    let theirs = member(reference, "managedFields");
    if *theirs == encoded(&ours) {
        return None;
    }
    let duplicates =
        ["managedFields", "scaleEntries"].iter().any(|name| has_duplicates(member(request, name)));
    let deviation = match ManagedFields::decode(Some(&own(theirs))) {
        _ if duplicates => Some(DUPLICATE_ENTRIES),
        // Every manager must own at least its fields in Go; entries of one identity count together.
        Ok(theirs) if owns_as_much(request, &ours.entries(), &theirs.entries()) => Some(SCALE_KEEPS),
        _ => None,
    };
    Some(Answer { what: "managedFields", ours: encoded(&ours), deviation })
}

/// Whether every manager owns in `ours` at least its fields in `theirs`; the replicas are one field at all versions.
fn owns_as_much(request: &Json, ours: &[Entry], theirs: &[Entry]) -> bool {
    let owned = |entries: &[Entry]| {
        let mut out = BTreeSet::new();
        for entry in entries {
            let version = entry.api_version.as_str();
            let names = items(member(request, "mappings"), version).iter().filter_map(Json::as_str);
            let replicas: String = names.map(|name| format!(".{name}")).collect();
            for path in entry.fields.paths().map(|path| path.to_string()) {
                let field =
                    if path == replicas { "replicas".to_owned() } else { format!("{version} {path}") };
                let who = (entry.manager.to_string(), entry.operation.name(), entry.subresource.to_string());
                out.insert((who, field));
            }
        }
        out
    };
    owned(theirs).is_subset(&owned(ours))
}

fn extracted(request: &Json, reference: &Json) -> Option<Answer> {
    let mut ty = Schema::deduced();
    if let Some(definitions) = request.pointer("/schemas/definitions") {
        let definitions = own(definitions);
        let imported = Importer::new().definitions(definitions.as_map().into_iter().flatten()).ok()?;
        ty = imported.types.schema().type_named(text(request, "type"))?;
    }
    let object = own(member(request, "object"));
    let ours = extract(
        ExtractRequest::new(&object, &ty, text(request, "manager"))
            .subresource(text(request, "subresource"))
            .form(ExtractForm::AsGo),
    );
    let list = member(member(member(request, "object"), "metadata"), "managedFields");
    let (what, ours) = match (ours, reference.get("error")) {
        (Err(_), Some(_)) => return None,
        (Err(error), None) => ("outcome", json!({"error": error.to_string()})),
        (Ok(own), failed) => {
            let own = own.map_or(Json::Null, |own| back(&own));
            if failed.is_none() && same_value(&own, member(reference, "object")) {
                return None;
            }
            (if failed.is_some() { "outcome" } else { "object" }, own)
        }
    };
    let own_entry = |entry: &&Json| {
        text(entry, "manager") == text(request, "manager") && text(entry, "operation") == "Apply"
    };
    let inner = list
        .as_array()
        .into_iter()
        .flatten()
        .filter(own_entry)
        .any(|entry| has_inner_member(&leaves(member(entry, "fieldsV1")), member(request, "object")));
    let error = text(reference, "error");
    let deviation = match what {
        _ if !readable(list) => Some(UNREADABLE_ENTRIES),
        "outcome" if error.contains("marshalling FieldsV1") || error.contains("expected map, got <nil>") => {
            Some(EXTRACT_NOTHING)
        }
        "object" if inner => Some(EXTRACT_SIBLINGS),
        "object" if has_duplicates(list) => Some(DUPLICATE_ENTRIES),
        _ => None,
    };
    Some(Answer { what, ours, deviation })
}

fn upgraded(request: &Json, reference: &Json) -> Option<Answer> {
    let names = items(request, "csaManagers").iter().filter_map(Json::as_str);
    let upgrade =
        CsaUpgrade::new(names, text(request, "ssaManager")).subresource(text(request, "subresource"));
    let object = own(member(request, "object"));
    let list = member(member(member(request, "object"), "metadata"), "managedFields");
    let deviation = (!readable(list)).then_some(UNREADABLE_ENTRIES);
    let ours = match (upgrade.upgrade(&object), upgrade.patch(&object)) {
        (Ok(object), Ok(patch)) => json!({"object": back(&object), "patch": patch.map(|patch| back(&patch))}),
        (Err(error), _) | (_, Err(error)) => {
            return reference.get("object").is_some().then(|| Answer {
                what: "outcome",
                ours: json!({"error": error.to_string()}),
                deviation,
            });
        }
    };
    let what = ["object", "patch"]
        .into_iter()
        .find(|what| !same_value(member(reference, what), member(&ours, what)))?;
    let deviation = match deviation {
        None if same_upgrade(reference, &ours) => Some(ENTRIES_AS_WRITTEN),
        None if has_duplicates(list) => Some(DUPLICATE_ENTRIES),
        None if text(reference, "error").starts_with("failed to convert fields to set: ReadMapCB") => {
            let without = |entry: &Json| entry.get("fieldsV1").is_none_or(Json::is_null);
            list.as_array().is_some_and(|all| all.iter().any(without)).then_some(UPGRADE_WITHOUT_FIELDS)
        }
        known => known,
    };
    Some(Answer { what, ours, deviation })
}

/// Whether two upgrades differ only in the notation of entries. An entry that one side rewrites need not be in the
/// other's patch.
fn same_upgrade(theirs: &Json, ours: &Json) -> bool {
    let entries = |answer: &Json, pointer: &str| -> Vec<Json> {
        answer.pointer(pointer).and_then(Json::as_array).cloned().unwrap_or_default()
    };
    let same = |pointer: &str| {
        let (theirs, ours) = (entries(theirs, pointer), entries(ours, pointer));
        theirs.len() == ours.len()
            && theirs.iter().zip(&ours).all(|(theirs, ours)| {
                // A null time in Go is the zero time of the entry.
                let canonical = with_member(in_canonical_notation(theirs), "time", theirs.get("time"));
                canonical.is_some() && canonical == in_canonical_notation(ours)
            })
    };
    same("/object/metadata/managedFields") && (member(ours, "patch").is_null() || same("/patch/0/value"))
}

/// An entry with its time in UTC, its fields sorted and without empty members; `None` if it cannot be read.
fn in_canonical_notation(entry: &Json) -> Option<Json> {
    Entry::from_value(0, &own(entry)).ok().map(|entry| back(&entry.to_value()))
}

fn with_member(entry: Option<Json>, name: &str, value: Option<&Json>) -> Option<Json> {
    let mut entry = entry?;
    if let Some(value) = value {
        entry.as_object_mut()?.insert(name.to_owned(), value.clone());
    }
    Some(entry)
}

fn validated(request: &Json) -> Json {
    let texts = |errors: Vec<String>| json!(errors);
    let options = |name: &str, kind: RequestKind| {
        let options = member(request, name);
        let dry_run = items(options, "dryRun").iter();
        let options = RequestOptions::default()
            .field_manager(text(options, "fieldManager"))
            .force(options.get("force").and_then(Json::as_bool))
            .field_validation(text(options, "fieldValidation"));
        let options = dry_run.filter_map(Json::as_str).fold(options, RequestOptions::dry_run);
        let errors = options.validate(kind).err().map(|invalid| invalid.errors).unwrap_or_default();
        texts(errors.iter().map(ToString::to_string).collect())
    };
    let path = FieldPath::root("metadata").child("managedFields");
    let entries = validate_managed_fields(Some(&own(member(request, "managedFields"))), &path);
    json!({
        "managedFields": texts(entries.iter().map(ToString::to_string).collect()),
        "patchOptions": options("patchOptions", RequestKind::of_patch(text(request, "patchType"))),
        "createOptions": options("createOptions", RequestKind::Create),
        "updateOptions": options("updateOptions", RequestKind::Update),
    })
}
