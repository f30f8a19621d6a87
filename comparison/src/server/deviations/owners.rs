//! Owners of fields that differ for a listed reason.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::deviation::{Deviation, Question};
use crate::json::{any, entries, entries_mut, items, member, places, set, text};
use crate::server::in_process::InProcess;
use crate::server::request::{Answer, Step};

/// A write of an object with items of one key, whose managers own fields at other versions: Go refuses to convert it.
pub(super) struct ConvertedDuplicates;

impl Deviation for ConvertedDuplicates {
    const NAME: &'static str = "server-converted-duplicates";

    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool {
        let exchange = question.exchange;
        let (real, theirs) = (exchange.real, question.messages().0);
        let is_apply = exchange.step.verb == "apply";
        if real.code == 500 && is_apply && theirs.contains(": duplicate entries for key [") {
            return true;
        }
        // Writes other than an apply succeed, and leave the managed fields as they were.
        let version = exchange.kind.api_version(exchange.step.version);
        let keeps = || keeps_entries_of_duplicates(exchange.live, &exchange.sent, real, &version);
        again.is_some() && question.is_in("managed") && keeps()
    }
}

/// The owners of a field that the real server stores and hides.
pub(super) struct HiddenField;

impl Deviation for HiddenField {
    const NAME: &'static str = "server-hidden-field";

    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool {
        let (live, found) = (question.exchange.live, question.found);
        let owns = || {
            question.is_in("managed") && owns_hidden_field(live, &found.reference, &found.candidate)
        };
        again.is_some() && (question.is_written() && hides_field(live) || owns())
    }
}

/// An object that the real server writes again although it is equal to the stored one.
pub(super) struct WrittenAgain;

impl Deviation for WrittenAgain {
    const NAME: &'static str = "server-written-again";

    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool {
        let exchange = question.exchange;
        let (kind, step) = (exchange.kind, &exchange.step);
        // The store has claims without their phase until the second write.
        let is_rewritten = kind.definition.is_some() || kind.kind == "PersistentVolumeClaim";

        // The conversion to the version of a request loses parts of the stored object.
        let is_converted = step.version != kind.read_version();
        if !question.is_written() {
            return again.is_some_and(|again| question.stores_shown_defaults(again));
        }
        is_rewritten
            || is_converted
            || entries(&exchange.real.body)
                .iter()
                .any(|entry| has_number_keys(member(entry, "fieldsV1")))
            || again.is_some() && stores_what_it_shows(step, exchange.live)
    }
}

/// A list of Go structs that has the same values as before in another form: Go compares these lists by their memory.
pub(super) struct ListForms;

impl Deviation for ListForms {
    const NAME: &'static str = "server-list-forms";

    fn explains(question: &Question<'_>, again: Option<&mut InProcess>) -> bool {
        again.is_some() && question.moves_lists()
    }
}

impl Question<'_> {
    /// Whether the server in process wrote an object only since it had the defaults that answers at the stored version show,
    /// and that the store of the real server lacks: with an object without them, the answers are equal.
    fn stores_shown_defaults(&self, again: &mut InProcess) -> bool {
        let exchange = self.exchange;
        let Some(definition) = exchange
            .kind
            .definition
            .as_ref()
            .filter(|_| self.is_in("write"))
        else {
            return false;
        };

        // An object that was written at another version lacks the defaults of the stored version in the store, although
        // answers at that version show them.
        let versions = items(member(definition, "spec"), "versions");
        let schema = |name: &str| {
            let version = versions
                .iter()
                .find(|version| text(version, "name") == name)?;
            version.pointer("/schema/openAPIV3Schema")
        };
        let (stored, asked) = (
            schema(exchange.kind.read_version()),
            schema(exchange.step.version),
        );
        let (Some(stored), Some(asked)) = (stored, asked) else {
            return false;
        };

        // The question is asked again with the object that the store has. If that gives no other answer, this is not
        // the reason.
        let mut live = exchange.live.clone();
        remove_defaults(&mut live, stored, asked);
        if live == *exchange.live {
            return false;
        }
        let without = exchange.with(&live, None);
        again
            .answer(&without)
            .is_ok_and(|ours| without.difference(&ours).is_none())
    }

    fn moves_lists(&self) -> bool {
        let Question {
            exchange, found, ..
        } = self;
        let (reference, candidate) = (&found.reference, &found.candidate);
        self.is_in("managed")
            && moves_unchanged_lists(exchange.live, &exchange.sent, reference, candidate)
    }
}

/// A change of an entry of managed fields by its place in the list, whose order depends on times; over HTTP alone, where each
/// server has times of its own.
pub(super) struct EntryOrder;

impl Deviation for EntryOrder {
    const NAME: &'static str = "server-entry-order";

    fn explains(question: &Question<'_>, _: Option<&mut InProcess>) -> bool {
        let Question {
            exchange, found, ..
        } = question;
        let Some(has_other_order) = exchange.has_other_order else {
            return false;
        };
        let in_times =
            || question.is_in("managed") && differ_in_times(&found.reference, &found.candidate);
        let reorders = || reorders_entries(exchange.live, &exchange.real.body);

        has_other_order && takes_place(&exchange.step)
            || (question.is_in("write") || in_times()) && reorders()
    }
}

/// Whether a request changes an entry of managed fields by its place in the list.
fn takes_place(step: &Step<'_>) -> bool {
    let changed = items(step.json, "set")
        .iter()
        .filter_map(|pair| pair.get(0)?.as_str());
    let dropped = items(step.json, "drop").iter().filter_map(Json::as_str);
    changed
        .chain(dropped)
        .any(|pointer| pointer.starts_with("/metadata/managedFields/"))
}

/// Whether the real server left the owners of an object as they were, since it repeats items of a set or a keyed list of its
/// metadata, or conditions, and has managers at more than one version.
fn keeps_entries_of_duplicates(live: &Json, sent: &Json, real: &Answer, version: &str) -> bool {
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

    // Conditions are keyed by their type.
    let mut types = BTreeSet::new();
    let mut conditions = items(member(live, "status"), "conditions").iter();
    let has_duplicates = has_duplicates
        || !conditions.all(|condition| types.insert(text(condition, "type").to_owned()));

    // Owners that occur again are dropped after the owners of fields are known.
    let drops = |warning: &String| warning.contains("ownerReferences contains duplicate entries");
    let has_duplicates = has_duplicates || real.warnings.iter().any(drops);
    // Without a manager at another version, the object is not converted, and its duplicates do no harm.
    let is_other = |entry: &Json| text(entry, "apiVersion") != version;
    has_duplicates && entries(live) == entries(&real.body) && entries(live).iter().any(is_other)
}

/// Removes what has the default of the schema of the stored version, and no default in the schema of another version.
fn remove_defaults(value: &mut Json, stored: &Json, other: &Json) {
    match value {
        Json::Object(members) => members.retain(|name, value| {
            let (stored, other) = (below(stored, name), below(other, name));
            let default = stored
                .get("default")
                .filter(|_| other.get("default").is_none());
            // A map may equal its default with the defaults of its members, or only without them.
            let is_default = default == Some(&*value);
            remove_defaults(value, stored, other);
            !is_default && default != Some(&*value)
        }),
        Json::Array(list) => {
            let (stored, other) = (member(stored, "items"), member(other, "items"));
            list.iter_mut()
                .for_each(|item| remove_defaults(item, stored, other));
        }
        _ => {}
    }
}

/// The schema of a member of objects.
fn below<'s>(schema: &'s Json, name: &str) -> &'s Json {
    member(schema, "properties")
        .get(name)
        .unwrap_or_else(|| member(schema, "additionalProperties"))
}

/// Whether the real server may hide a field of an object, which is stored without it by the next write.
fn hides_field(live: &Json) -> bool {
    let spec = member(live, "spec");
    text(live, "kind") == "Service"
        && text(spec, "type") == "ExternalName"
        && spec.get("internalTrafficPolicy").is_none()
}

/// Whether the store of the real server may lack what answers show, which is stored by the next write: bytes that are null
/// in the store and empty in answers, labels that an object without any takes from its pods, and the stored version of a
/// definition whose client removed all.
fn stores_what_it_shows(step: &Step<'_>, live: &Json) -> bool {
    let has_empty = |name: &str| {
        member(live, name)
            .as_object()
            .is_some_and(|bytes| bytes.values().any(|value| *value == json!("")))
    };

    match text(live, "kind") {
        "ConfigMap" => has_empty("binaryData"),
        "Secret" => has_empty("data"),
        "Job" | "ReplicationController" => {
            let labels = live.pointer("/metadata/labels");
            labels.is_some() && labels == live.pointer("/spec/template/metadata/labels")
        }
        "CustomResourceDefinition" => {
            let is_status = |entry: &Json| text(entry, "subresource") == "status";
            let stored = items(member(live, "status"), "storedVersions");
            let is_of_client =
                |entry: &Json| is_status(entry) && text(entry, "manager") != "kube-apiserver";
            stored.len() == 1 && (step.sub == "status" || entries(live).iter().any(is_of_client))
        }
        _ => false,
    }
}

/// Whether a request changed nothing but the order of the entries of managed fields, which depends on their times.
fn reorders_entries(live: &Json, real: &Json) -> bool {
    let managers = |object: &Json, is_sorted: bool| -> Vec<String> {
        let without_time = |entry: &Json| {
            let mut entry = entry.clone();
            set(&mut entry, "time", Json::Null);
            entry.to_string()
        };
        let mut entries: Vec<String> = entries(object).iter().map(without_time).collect();
        if is_sorted {
            entries.sort_unstable();
        }
        entries
    };

    // Equal as sets and different as lists.
    managers(live, true) == managers(real, true) && managers(live, false) != managers(real, false)
}

/// Whether two objects differ in the times of entries of managed fields alone.
fn differ_in_times(real: &Json, ours: &Json) -> bool {
    let without_times = |object: &Json| {
        let mut object = object.clone();
        let entries = entries_mut(&mut object);
        entries
            .into_iter()
            .flatten()
            .for_each(|entry| set(entry, "time", Json::Null));
        object
    };
    without_times(real) == without_times(ours)
}

/// Whether two answers differ in the owners of a field alone that the real server hides: it stores the traffic policy of
/// a Service that becomes an `ExternalName`.
fn owns_hidden_field(live: &Json, real: &Json, ours: &Json) -> bool {
    hides_field(live)
        && disowned(real, &["/spec/internalTrafficPolicy".to_owned()])
            == disowned(ours, &["/spec/internalTrafficPolicy".to_owned()])
}

/// Whether two answers differ in the owners of lists alone that the object of the request has in another form, although the
/// request does not change them.
fn moves_unchanged_lists(live: &Json, sent: &Json, real: &Json, ours: &Json) -> bool {
    let lists = places(sent)
        .into_iter()
        .filter(|(_, value)| value.is_array());
    let mut places: Vec<String> = lists.map(|(place, _)| place).collect();

    // A JSON patch names places in lists.
    let paths = sent
        .as_array()
        .into_iter()
        .flatten()
        .map(|operation| text(operation, "path"));

    for path in paths.filter(|path| !path.is_empty()) {
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        places.extend(ends.filter_map(|end| path.get(..end)).map(str::to_owned));
    }

    // The list ends as it was stored, and the request has it in another form.
    let is_unchanged = |place: &String| {
        let stored = live.pointer(place).filter(|value| value.is_array());
        stored.is_some() && stored == real.pointer(place) && stored != sent.pointer(place)
    };
    places.retain(|place| !place.starts_with("/metadata") && is_unchanged(place));
    !places.is_empty() && disowned(real, &places) == disowned(ours, &places)
}

/// An object whose fields at some places have no owners, without the times of managed fields.
fn disowned(object: &Json, places: &[String]) -> Json {
    let mut out = object.clone();
    let entries = entries_mut(&mut out);
    for entry in entries.into_iter().flatten() {
        set(entry, "time", Json::Null);
        for place in places {
            let names: Vec<&str> = place.split('/').skip(1).collect();
            disown(entry.get_mut("fieldsV1"), &names);
        }
    }

    // A manager that owns nothing else has an entry on one side alone.
    if let Some(entries) = entries_mut(&mut out) {
        entries.retain(|entry| {
            member(entry, "fieldsV1")
                .as_object()
                .is_some_and(|fields| !fields.is_empty())
        });
        entries.sort_by_key(Json::to_string);
    }

    if let Some(metadata) = out.get_mut("metadata") {
        set(metadata, "resourceVersion", Json::Null);
    }
    out
}

/// Removes the field at a path of names from a set of fields, and the sets that are empty then. A place in a list has any key.
fn disown(fields: Option<&mut Json>, names: &[&str]) {
    let (Some(Json::Object(members)), Some((name, rest))) = (fields, names.split_first()) else {
        return;
    };
    // A pointer has the position of an item, and a field set its key, so that every key counts.
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
            || members
                .get(&key)
                .and_then(Json::as_object)
                .is_some_and(|below| below.is_empty())
        {
            members.remove(&key);
        }
    }
}

/// Whether managed fields have items whose keys are numbers, and the order of these differs from that of their strings.
fn has_number_keys(fields: &Json) -> bool {
    let numbers = |key: &String| -> Option<Vec<i64>> {
        let key: Json = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
        Some(key.as_object()?.values().filter_map(Json::as_i64).collect())
    };
    any(fields, &|part| {
        let keys = part
            .as_object()
            .into_iter()
            .flat_map(|members| members.keys());
        let keys: Vec<Vec<i64>> = keys.filter_map(numbers).collect();
        !keys.is_sorted()
    })
}
