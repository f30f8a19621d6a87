//! The listed deviations about managed fields, with their names in `docs/deviations.md`.

use fieldmanager_managedfields::MAX_UPDATERS;
use fieldmanager_managedfields::internal::ANCIENT_CHANGES;
use fieldmanager_managedfields::{Entry, Operation, Time};
use serde_json::{Value, json};

use super::compare::{doing, same_status};
use super::resource::parse;
use crate::GO_PANIC;
use crate::json::{any, flag, member, own, text, unset, with_each};

/// Two entries of one identity: Go keeps the last, the library the union of both.
pub(super) const DUPLICATE_ENTRIES: &str = "duplicate-entries";
/// Entries of the live object that cannot be decoded: Go drops all of them, the library refuses.
pub(super) const UNREADABLE_ENTRIES: &str = "unreadable-entries";
/// An updater that is older than the bucket of the oldest updaters: Go loses the fields of the bucket.
pub(super) const CAP_BUCKET: &str = "cap-bucket";
/// Metadata that is not a map: Go continues without entries, the library refuses; null becomes a map with the entries.
pub(super) const METADATA_NO_MAP: &str = "metadata-no-map";
/// An object without kind or version: Go finds no type, the library uses that of the field manager.
pub(super) const UNNAMED_KIND: &str = "unnamed-kind";
/// Entries of the live object that violate the type of entries in the schema: Go refuses the object, the library
/// decodes entries without the schema.
pub(super) const ENTRIES_TYPED: &str = "entries-typed";
/// An object with duplicates, and a manager that owns a field at another version: only then does Go refuse it.
pub(super) const CONVERTED_DUPLICATES: &str = "converted-duplicates";
/// Entries that an update without errors restores, or that an upgrade does not change: Go serializes them again, the
/// library keeps their serialized form.
pub(super) const ENTRIES_AS_WRITTEN: &str = "entries-as-written";
/// Extraction for a manager that owns nothing in the object: an error in Go, an object without fields in the library.
pub(super) const EXTRACT_NOTHING: &str = "extract-nothing";
/// A version without a type: the library refuses to build a field manager; in Go, using it fails.
pub(super) const UNKNOWN_VERSION: &str = "unknown-version";
/// A large whole number in a path: Go writes floats with an exponent, the library all digits if the number fits 64 bits.
pub(super) const LARGE_NUMBERS: &str = "large-numbers-in-paths";
/// A configuration with managed fields that are not entries: Go ignores them, the library refuses.
pub(super) const ODD_FIELDS_IN_CONFIG: &str = "odd-fields-in-configuration";
/// Annotations that are not strings, beside that of client-side apply: Go converts null to a string, and ignores all
/// annotations if one has another type; the library keeps them.
pub(super) const ODD_ANNOTATIONS: &str = "odd-annotations";
/// Managed fields converted back from a scale: Go loses fields and times, the library does not.
pub(super) const SCALE_KEEPS: &str = "scale-keeps";
/// Extraction below a field that is in the set itself.
pub(super) const EXTRACT_SIBLINGS: &str = crate::engine::deviations::EXTRACT_SIBLINGS;
/// The upgrade of an entry without `fieldsV1`: an error in Go, which treats such an entry as empty elsewhere.
pub(super) const UPGRADE_WITHOUT_FIELDS: &str = "upgrade-without-fields";
/// An item with a key field that has no owner: while Go prunes, the item loses the field and is mistaken for another
/// item, which is then kept.
pub(super) const UNOWNED_KEY: &str = "unowned-key-field";

/// A stored entry with the zero time: Go writes null or nothing, depending on the path, the library null.
pub(super) const ZERO_TIME: &str = "zero-time";

/// A difference at a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepDifference<'a> {
    /// The step.
    pub step: &'a Value,
    /// The live object before the step; null if it does not exist.
    pub live: &'a Value,
    /// The part that differs.
    pub what: &'a str,
    /// Go's answer.
    pub reference: &'a Value,
    /// The library's answer.
    pub ours: &'a Value,
}

/// Whether two lists of entries are equal apart from times that are null.
fn same_but_null_times(reference: &Value, ours: &Value) -> bool {
    let without = |list: &Value| {
        let mut list = list.clone();
        for entry in list.as_array_mut().into_iter().flatten() {
            if member(entry, "time").is_null() {
                unset(entry, "time");
            }
        }
        list
    };
    reference.is_array() && without(reference) == without(ours)
}

/// The name of the deviation that explains a difference, if any.
pub(super) fn explain(case: &StepDifference<'_>) -> Option<&'static str> {
    if case.what == "panic" {
        return Some(GO_PANIC);
    }
    // The order matters: rules about entries that merely exist would hide the narrow ones, so they come last.
    let object = member(case.step, "object");
    let lists = [entries(case.live), entries(object)];
    let [theirs, ours] = [case.reference, case.ours].map(|answer| member(answer, "live"));

    if case.what == "managedFields"
        && same_but_null_times(entries(theirs), entries(ours))
        && entries(case.live)
            .to_string()
            .contains("0001-01-01T00:00:00Z")
    {
        return Some(ZERO_TIME);
    }

    // A step with `noErrors` does not say that entries are unreadable, so the live object decides.
    let quiet = flag(case.step, "noErrors");
    if (text(case.ours, "error") == "entry" || quiet) && !readable(lists[0]) {
        return Some(UNREADABLE_ENTRIES);
    }
    let odd = |object: &Value| {
        object
            .get("metadata")
            .is_some_and(|metadata| !metadata.is_object())
    };

    // The library refuses such metadata, or makes it a map with the entries, where Go continues without them.
    if (text(case.ours, "error") == "not an object" && (odd(object) || odd(case.live)))
        || (odd(object)
            && ["object", "managedFields"].contains(&case.what)
            && !case.ours.get("live").is_some_and(odd))
    {
        return Some(METADATA_NO_MAP);
    }

    if quiet && entries(ours) == lists[0] {
        return Some(ENTRIES_AS_WRITTEN);
    }
    if case.what == "before" {
        return Some(UNKNOWN_VERSION);
    }

    // Only numbers in paths may differ: with these written alike, the rest of the status must be equal.
    let statuses = (case.reference.get("status"), case.ours.get("status"));
    if case.what == "status"
        && let (Some(theirs), Some(ours)) = statuses
        && plain_numbers(theirs) != *theirs
        && same_status(&plain_numbers(theirs), ours)
    {
        return Some(LARGE_NUMBERS);
    }

    if !is_named(object) || (!is_named(case.live) && !case.live.is_null()) {
        return Some(UNNAMED_KIND);
    }
    let error = text(case.reference, "error");
    if error.contains(".metadata.managedFields") {
        return Some(ENTRIES_TYPED);
    }

    // Go finds the duplicates in the conversion of an object, not when it reads one of them.
    if error.contains("duplicate entries for key")
        && doing(error) == "merge"
        && case.ours.get("live").is_some()
    {
        return Some(CONVERTED_DUPLICATES);
    }

    if text(case.ours, "error") == "managed fields in configuration" && !readable(lists[1]) {
        return Some(ODD_FIELDS_IN_CONFIG);
    }
    if text(case.step, "manager") == "kubectl"
        && [object, case.live].into_iter().any(has_odd_annotations)
    {
        return Some(ODD_ANNOTATIONS);
    }

    if lists.into_iter().any(has_duplicates) {
        return Some(DUPLICATE_ENTRIES);
    }
    // The library may prune items that Go keeps, and nothing else may differ.
    if case.what == "object"
        && text(case.step, "kind").ends_with("apply")
        && all(lists[0]).any(|entry| entry.get("fieldsV1").is_some_and(has_unowned_key))
        && is_part_of(ours, theirs)
    {
        return Some(UNOWNED_KEY);
    }

    // The entries of the request count too, since an update can replace those of the live object.
    if case.what == "managedFields"
        && lists
            .into_iter()
            .any(|list| has_younger_bucket(list) || lost_bucket(list, [theirs, ours].map(entries)))
    {
        return Some(CAP_BUCKET);
    }

    None
}

fn entries(object: &Value) -> &Value {
    object
        .pointer("/metadata/managedFields")
        .unwrap_or(&Value::Null)
}

/// Whether a set has an item without one of its key fields.
fn has_unowned_key(fields: &Value) -> bool {
    any(fields, &|part| {
        part.as_object()
            .into_iter()
            .flatten()
            .any(|(element, below)| {
                let key = element
                    .strip_prefix("k:")
                    .and_then(|key| serde_json::from_str::<Value>(key).ok());
                let unowned = |name: &String| below.get(format!("f:{name}")).is_none();
                let key = key.as_ref().and_then(Value::as_object);
                key.is_some_and(|key| key.keys().any(unowned))
            })
    })
}

/// Whether an object equals another one without some items of its lists. Managed fields are ignored.
fn is_part_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.len() == whole.len()
                && part.iter().all(|(name, part)| {
                    name == "managedFields"
                        || whole.get(name).is_some_and(|whole| is_part_of(part, whole))
                })
        }
        (Value::Array(part), Value::Array(whole)) => {
            // Items keep their order, so one pass over the whole list finds all items of the part.
            let mut rest = whole.iter();
            part.iter()
                .all(|item| rest.any(|other| is_part_of(item, other)))
        }
        _ => part == whole,
    }
}

fn all(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// 2^63, the smallest float that exceeds every `i64`.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// The JSON with whole numbers in strings written without an exponent, if they fit 64 bits.
fn plain_numbers(value: &Value) -> Value {
    with_each(value, |part| {
        if let Value::String(text) = part {
            *text = plain_text(text);
        }
    })
}

fn plain_text(text: &str) -> String {
    let is_number = |c: char| c.is_ascii_digit() || ['.', '+', '-', 'e'].contains(&c);
    let mut out = String::new();
    for part in text.split_inclusive(|c| !is_number(c)) {
        let (number, rest) = part.split_at(part.trim_end_matches(|c| !is_number(c)).len());
        // A number without an exponent is written alike on both sides.
        let float = number
            .parse::<f64>()
            .ok()
            .filter(|float| number.contains("e+") && float.fract() == 0.0 && float.abs() < I64_END);
        out += &float.map_or_else(|| number.to_owned(), |float| float.to_string());
        out += rest;
    }

    out
}

fn has_odd_annotations(object: &Value) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    let all = annotations.and_then(Value::as_object).into_iter().flatten();
    annotations.is_some_and(|annotations| !annotations.is_object())
        || all.into_iter().any(|(_, text)| !text.is_string())
}

/// Whether an object has a kind and a valid version.
fn is_named(object: &Value) -> bool {
    let version = text(object, "apiVersion");
    !version.is_empty() && parse(version).is_some() && !text(object, "kind").is_empty()
}

/// Whether all entries can be read.
pub(crate) fn readable(list: &Value) -> bool {
    list.is_null()
        || (list.is_array()
            && all(list)
                .enumerate()
                .all(|(index, entry)| Entry::from_value(index, &own(entry)).is_ok()))
}

/// Whether two entries are of one identity.
pub(crate) fn has_duplicates(list: &Value) -> bool {
    let mut seen: Vec<Value> = Vec::new();
    all(list).any(|entry| {
        // An applier has one entry for all versions, an updater one for each.
        let version = if text(entry, "operation") == "Apply" {
            ""
        } else {
            text(entry, "apiVersion")
        };
        let identity = json!([
            text(entry, "manager"),
            text(entry, "operation"),
            version,
            text(entry, "subresource")
        ]);
        let known = seen.contains(&identity);
        seen.push(identity);

        known
    })
}

/// Whether there are enough updaters for the cap, and a bucket that is not the oldest of its version.
fn has_younger_bucket(list: &Value) -> bool {
    let updaters = updaters(list);
    // Times have seconds only, so entries of one second are ordered by their identifier.
    let age = |entry: &Entry| {
        (
            entry.time.map_or(0, Time::unix_seconds),
            entry.identity().identifier(),
        )
    };
    let older = |bucket: &Entry| {
        updaters
            .iter()
            .any(|other| other.api_version == bucket.api_version && age(other) < age(bucket))
    };

    updaters.len() >= MAX_UPDATERS && updaters.iter().filter(|entry| is_bucket(entry)).any(older)
}

/// Whether there are enough updaters for the cap, and Go has lost a bucket, or a part of it, that the library has: the
/// time of the step was before the time of the bucket.
fn lost_bucket(list: &Value, [theirs, ours]: [&Value; 2]) -> bool {
    let fields = |list: &Value, bucket: &Entry| {
        let same = |entry: &Entry| is_bucket(entry) && entry.api_version == bucket.api_version;
        updaters(list)
            .into_iter()
            .find(same)
            .map(|entry| entry.fields)
    };
    // Go has less of the bucket, or nothing: a field that only Go has is another difference.
    let loses = |bucket: &Entry| match (fields(theirs, bucket), fields(ours, bucket)) {
        (None, Some(_)) => true,
        (Some(theirs), Some(ours)) => theirs != ours && theirs.difference(&ours).is_empty(),
        _ => false,
    };
    let before = updaters(list);

    before.len() >= MAX_UPDATERS && before.iter().filter(|entry| is_bucket(entry)).any(loses)
}

fn updaters(list: &Value) -> Vec<Entry> {
    let entries = all(list)
        .enumerate()
        .filter_map(|(index, entry)| Entry::from_value(index, &own(entry)).ok());
    entries
        .filter(|entry| entry.operation == Operation::Update)
        .collect()
}

fn is_bucket(entry: &Entry) -> bool {
    entry.manager == ANCIENT_CHANGES && entry.subresource.is_empty()
}
