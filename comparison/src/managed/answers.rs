//! The library's answers to ops that are not sequences.

use std::collections::BTreeSet;

use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_managedfields::internal::kind_of_patch;
use fieldmanager_managedfields::{
    CsaUpgrade, Entry, ExtractForm, ExtractRequest, ManagedFields, RequestKind, RequestOptions,
    ScaleHandler, extract, validate_managed_fields,
};
use fieldmanager_openapi::Importer;
use fieldmanager_openapi::internal::import_definitions;
use fieldmanager_schema::Schema;
use fieldmanager_structural::FieldPath;
use serde_json::{Value as Json, json};

use super::deviations::{
    DUPLICATE_ENTRIES, ENTRIES_AS_WRITTEN, EXTRACT_NOTHING, EXTRACT_SIBLINGS, SCALE_KEEPS,
    UNREADABLE_ENTRIES, UPGRADE_WITHOUT_FIELDS, has_duplicates, readable,
};
use crate::engine::deviations::has_inner_member;
use crate::generate::fields::leaves;
use crate::json::{back, children_mut, items, member, members, own, same_value, set, text, unset};

/// The library's answer if it differs, with the part that differs.
pub(crate) struct OtherAnswer {
    pub(crate) what: &'static str,
    pub(crate) ours: Json,
    /// The name of the deviation, if there is one.
    pub(crate) deviation: Option<&'static str>,
}

fn other(what: &'static str, ours: Json, deviation: Option<&'static str>) -> Option<OtherAnswer> {
    Some(OtherAnswer {
        what,
        ours,
        deviation,
    })
}

/// The difference for a request other than `managed`.
pub(crate) fn differs(request: &Json, reference: &Json) -> Option<OtherAnswer> {
    // A request that the oracle cannot read is a case only for `entries`, which compares what is readable.
    let unread = ["requestError", "decodeError"]
        .iter()
        .any(|name| reference.get(*name).is_some());
    if unread && text(request, "op") != "entries" {
        return None;
    }

    let entries = member(request, "managedFields");
    let duplicates = || has_duplicates(entries).then_some(DUPLICATE_ENTRIES);
    match text(request, "op") {
        "entries" => {
            let (what, ours) = entries_differ(request, reference)?;
            other(what, ours, duplicates())
        }
        "scale" => scale(request, reference),
        "extract" => extracted(request, reference),
        "upgrade" => upgraded(request, reference),
        "requestvalidation" => {
            let ours = validated(request);
            if ours == *reference {
                None
            } else {
                other("errors", ours, None)
            }
        }
        _ => other("op", Json::Null, None),
    }
}

/// The entries of the object of a request.
fn entries_of(request: &Json) -> &Json {
    member(
        member(member(request, "object"), "metadata"),
        "managedFields",
    )
}

fn encoded(managed: &ManagedFields) -> Json {
    managed.encode().map_or(Json::Null, |list| back(&list))
}

/// Entries as they are read again: the oracle takes them from an object, where null is an absent time.
fn without_null_times(mut entries: Json) -> Json {
    for entry in children_mut(&mut entries) {
        if member(entry, "time").is_null() {
            unset(entry, "time");
        }
    }
    entries
}

fn entries_differ(request: &Json, reference: &Json) -> Option<(&'static str, Json)> {
    // Both sides must agree on whether the list is readable before its content is compared.
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

    // The oracle sorts the keys of the FieldsV1 above, so their serialized form, which has an order, is compared too.
    for (entry, text) in list
        .as_array()
        .into_iter()
        .flatten()
        .zip(items(reference, "fields"))
    {
        let Some(fields) = entry.get("fieldsV1").filter(|fields| !fields.is_null()) else {
            continue;
        };
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

fn scale(request: &Json, reference: &Json) -> Option<OtherAnswer> {
    let mut handler = ScaleHandler::new(text(request, "groupVersion"));
    for (version, names) in members(request, "mappings") {
        handler = match names.as_array() {
            Some(names) => {
                let fields = names
                    .iter()
                    .filter_map(Json::as_str)
                    .map(PathElement::field);
                handler.replicas(version.as_str(), fields.collect::<Path>())
            }
            None => handler.without_replicas(version.as_str()),
        };
    }

    let read = |name: &str| ManagedFields::decode(Some(&own(member(request, name))));
    // Entries that the library cannot read are a difference only if Go returns a result.
    let (Ok(parent), Ok(scale)) = (read("managedFields"), read("scaleEntries")) else {
        let is_read = reference.get("managedFields").is_some();
        return other("outcome", Json::Null, None).filter(|_| is_read);
    };
    let to_parent = text(request, "direction") == "toParent";
    let ours = if to_parent {
        handler.to_parent(&parent, &scale)
    } else {
        handler.to_subresource(&parent)
    };
    let theirs = member(reference, "managedFields");

    if *theirs == encoded(&ours) {
        return None;
    }
    let duplicates = ["managedFields", "scaleEntries"]
        .iter()
        .any(|name| has_duplicates(member(request, name)));
    let deviation = match ManagedFields::decode(Some(&own(theirs))) {
        _ if duplicates => Some(DUPLICATE_ENTRIES),
        // Every manager must own at least its fields in Go; entries of one identity count together.
        Ok(theirs) if owns_as_much(request, &ours.entries(), &theirs.entries()) => {
            Some(SCALE_KEEPS)
        }
        _ => None,
    };

    other("managedFields", encoded(&ours), deviation)
}

/// Whether every manager owns in `ours` at least its fields in `theirs`; the replicas are one field at all versions.
fn owns_as_much(request: &Json, ours: &[Entry], theirs: &[Entry]) -> bool {
    let owned = |entries: &[Entry]| {
        let mut out = BTreeSet::new();
        for entry in entries {
            let version = entry.api_version.as_str();
            let names = items(member(request, "mappings"), version)
                .iter()
                .filter_map(Json::as_str);
            // The path of the replicas differs between versions, so the field has one name for all of them.
            let replicas: String = names.map(|name| format!(".{name}")).collect();

            for path in entry.fields.paths().map(|path| path.to_string()) {
                let field = if path == replicas {
                    "replicas".to_owned()
                } else {
                    format!("{version} {path}")
                };
                let who = (
                    entry.manager.to_string(),
                    entry.operation.name(),
                    entry.subresource.to_string(),
                );
                out.insert((who, field));
            }
        }

        out
    };

    owned(theirs).is_subset(&owned(ours))
}

fn extracted(request: &Json, reference: &Json) -> Option<OtherAnswer> {
    // Without definitions, the type is deduced from the object.
    let mut ty = Schema::deduced();
    if let Some(definitions) = request.pointer("/schemas/definitions") {
        let definitions = own(definitions);
        let imported =
            import_definitions(&Importer::new(), definitions.as_map().into_iter().flatten())
                .ok()?;
        ty = imported.types.schema().type_named(text(request, "type"))?;
    }

    // Go leaves out the keys and names that another apply would need, so the library is asked for that form.
    let object = own(member(request, "object"));
    let ours = extract(
        ExtractRequest::new(&object, &ty, text(request, "manager"))
            .subresource(text(request, "subresource"))
            .form(ExtractForm::AsGo),
    );
    let list = entries_of(request);
    let (what, ours) = match (ours, reference.get("error")) {
        (Err(_), Some(_)) => return None,
        (Err(error), None) => ("outcome", json!({"error": error.to_string()})),
        (Ok(own), failed) => {
            let own = own.map_or(Json::Null, |own| back(&own));
            if failed.is_none() && same_value(&own, member(reference, "object")) {
                return None;
            }
            (
                if failed.is_some() {
                    "outcome"
                } else {
                    "object"
                },
                own,
            )
        }
    };

    // `extract-siblings` needs a member of the manager's set that has another member below it.
    let own_entry = |entry: &&Json| {
        text(entry, "manager") == text(request, "manager") && text(entry, "operation") == "Apply"
    };
    let inner = list
        .as_array()
        .into_iter()
        .flatten()
        .filter(own_entry)
        .any(|entry| {
            has_inner_member(
                &leaves(member(entry, "fieldsV1")),
                member(request, "object"),
            )
        });

    // Unreadable entries explain any difference; the other deviations each belong to one part.
    let error = text(reference, "error");
    let deviation = match what {
        _ if !readable(list) => Some(UNREADABLE_ENTRIES),
        "outcome"
            if error.contains("marshalling FieldsV1")
                || error.contains("expected map, got <nil>") =>
        {
            Some(EXTRACT_NOTHING)
        }
        "object" if inner => Some(EXTRACT_SIBLINGS),
        "object" if has_duplicates(list) => Some(DUPLICATE_ENTRIES),
        _ => None,
    };

    other(what, ours, deviation)
}

fn upgraded(request: &Json, reference: &Json) -> Option<OtherAnswer> {
    let names = items(request, "csaManagers")
        .iter()
        .filter_map(Json::as_str);
    let upgrade = CsaUpgrade::new(names, text(request, "ssaManager"))
        .subresource(text(request, "subresource"));
    let object = own(member(request, "object"));
    let list = entries_of(request);
    let deviation = (!readable(list)).then_some(UNREADABLE_ENTRIES);
    // A failure here must be one in Go too, unless the entries are unreadable.
    let ours = match (upgrade.upgrade(&object), upgrade.patch(&object)) {
        (Ok(object), Ok(patch)) => {
            json!({"object": back(&object), "patch": patch.map(|patch| back(&patch))})
        }
        (Err(error), _) | (_, Err(error)) => {
            let ours = json!({"error": error.to_string()});
            return other("outcome", ours, deviation).filter(|_| reference.get("object").is_some());
        }
    };

    // Clients send the patch, so it is compared besides the object.
    let what = ["object", "patch"]
        .into_iter()
        .find(|what| !same_value(member(reference, what), member(&ours, what)))?;
    // A difference in notation alone does not depend on duplicates, so it is tried before them.
    let deviation = match deviation {
        None if same_upgrade(reference, &ours) => Some(ENTRIES_AS_WRITTEN),
        None if has_duplicates(list) => Some(DUPLICATE_ENTRIES),
        None if text(reference, "error")
            .starts_with("failed to convert fields to set: ReadMapCB") =>
        {
            let without = |entry: &Json| entry.get("fieldsV1").is_none_or(Json::is_null);
            list.as_array()
                .is_some_and(|all| all.iter().any(without))
                .then_some(UPGRADE_WITHOUT_FIELDS)
        }
        known => known,
    };

    other(what, ours, deviation)
}

/// Whether two upgrades differ only in the notation of entries. An entry that one side rewrites need not be in the
/// other's patch.
fn same_upgrade(theirs: &Json, ours: &Json) -> bool {
    let entries = |answer: &Json, pointer: &str| -> Vec<Json> {
        let entries = answer.pointer(pointer).and_then(Json::as_array);
        entries.cloned().unwrap_or_default()
    };
    let same = |pointer: &str| {
        let (theirs, ours) = (entries(theirs, pointer), entries(ours, pointer));
        theirs.len() == ours.len()
            && theirs.iter().zip(&ours).all(|(theirs, ours)| {
                // A null time in Go is the zero time of the entry.
                let mut canonical = in_canonical_notation(theirs);
                if let (Some(entry), Some(time)) = (&mut canonical, theirs.get("time")) {
                    set(entry, "time", time.clone());
                }
                canonical.is_some() && canonical == in_canonical_notation(ours)
            })
    };

    same("/object/metadata/managedFields")
        && (member(ours, "patch").is_null() || same("/patch/0/value"))
}

/// An entry with its time in UTC, its fields sorted and without empty members; `None` if it cannot be read.
fn in_canonical_notation(entry: &Json) -> Option<Json> {
    Entry::from_value(0, &own(entry))
        .ok()
        .map(|entry| back(&entry.to_value()))
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
        let options = dry_run
            .filter_map(Json::as_str)
            .fold(options, RequestOptions::dry_run);
        let errors = options
            .validate(kind)
            .err()
            .map(|invalid| invalid.errors)
            .unwrap_or_default();

        texts(errors.iter().map(ToString::to_string).collect())
    };

    // Each validation is a member of its own, as in the answer of the oracle.
    let path = FieldPath::root("metadata").child("managedFields");
    let entries = validate_managed_fields(Some(&own(member(request, "managedFields"))), &path);
    json!({
        "managedFields": texts(entries.iter().map(ToString::to_string).collect()),
        "patchOptions": options("patchOptions", kind_of_patch(text(request, "patchType"))),
        "createOptions": options("createOptions", RequestKind::Create),
        "updateOptions": options("updateOptions", RequestKind::Update),
    })
}
