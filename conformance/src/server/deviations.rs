//! Listed deviations: differences that have a reason, see `docs/deviations.md`.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::kinds::Kind;
use super::pointer::remove_pointer;
use super::request::{Answer, DEFINITIONS, Step};
use crate::json::{items, member, set, text};
use crate::suite::Difference;

/// A request at which the real server panicked, and closed the connection.
pub(super) const PANIC: &str = "server-panic";
/// A message about an object that does not fit its type, in the words of the library.
pub(super) const TYPE_WORDS: &str = "server-type-words";
/// Conflicts in another order.
pub(super) const CONFLICT_ORDER: &str = "server-conflict-order";
/// Faults or causes in another order, since the validators of Kubernetes visit Go maps.
pub(super) const CAUSE_ORDER: &str = "server-cause-order";
/// An apply to `scale` of a custom resource, which fails in the real server.
pub(super) const SCALE_APPLY: &str = "server-scale-apply";
/// A write of an object with items of one key, whose managers own fields at other versions: Go refuses to convert it.
pub(super) const CONVERTED_DUPLICATES: &str = "server-converted-duplicates";
/// A fault of an address or a node port that the real server gave to a Service.
pub(super) const ALLOCATIONS: &str = "server-allocations";
/// The owners of a field that the real server stores and hides.
pub(super) const HIDDEN_FIELD: &str = "server-hidden-field";
/// A message of the YAML parser.
pub(super) const YAML_WORDS: &str = "server-yaml-words";

/// An object that the real server writes again although it is equal to the stored one.
pub(super) const WRITTEN_AGAIN: &str = "server-written-again";

/// A precondition that the store of the real server checks, whose message names the key of the store.
pub(super) const STORE_WORDS: &str = "server-store-words";
/// A patched object in a message: Go writes the fields of a struct in their order.
pub(super) const FIELD_ORDER: &str = "server-field-order";
/// A strategic merge patch whose result does not fit the Go type, in the words of another decoder.
pub(super) const RESTORE_WORDS: &str = "server-restore-words";
/// A strategic merge patch that the library refuses with another code or other words, or carries out.
pub(super) const STRATEGIC: &str = "server-strategic";
/// Two live entries of one manager, of which Go keeps the last.
pub(super) const DUPLICATE_ENTRIES: &str = "server-duplicate-entries";

/// A value in a message: Go tells an empty list or map from an absent one.
pub(super) const EMPTY_VALUES: &str = "server-empty-values";

/// A check of a built-in kind that the library does not make.
pub(super) const VALIDATION: &str = "server-validation";

/// Warnings about an object that the server no longer stores: it tries a write again if its cache was old.
pub(super) const RETRIED: &str = "server-retried";

/// A list of Go structs that has the same values as before in another form: Go compares these lists by their memory.
pub(super) const LIST_FORMS: &str = "server-list-forms";

/// A strategic merge patch with several faults: Go reports the first one in the random order of its maps.
pub(super) const FAULT_ORDER: &str = "server-fault-order";

/// A rule of a definition that Kubernetes refuses for its types or its cost.
pub(super) const RULE_TYPES: &str = "server-rule-types";

/// A definition in a message, with an empty list or map where the library has none.
pub(super) const EMPTY_SHOWN: &str = "server-empty-shown";

/// Managed fields after a request to `scale`: see the rule `scale-keeps` of the suite `managed`.
pub(super) const SCALE_KEEPS: &str = "server-scale-keeps";

/// An object that was written at another version than the stored one.
pub(super) const STORED_VERSION: &str = "server-stored-version";

/// A definition whose conversion webhook has no valid certificates.
pub(super) const CERTIFICATES: &str = "server-certificates";

/// A change of an entry of managed fields by its place in the list, whose order depends on times.
pub(super) const ENTRY_ORDER: &str = "server-entry-order";

/// An object of a dry run, which the real server gives the `resourceVersion` that the request has.
pub(super) const DRY_RUN_VERSION: &str = "server-dry-run-version";

/// The rule that explains a difference.
pub(super) fn explain(
    kind: &Kind,
    step: &Step<'_>,
    real: &Answer,
    ours: &Answer,
    found: &Difference,
) -> Option<&'static str> {
    let (theirs, our) = (message(real), message(ours));
    let same_code = real.code == ours.code;
    if real.code == 0 {
        return Some(PANIC);
    }
    if real.code == 500
        && kind.definition.is_some()
        && step.sub == "scale"
        && theirs.contains("request to convert CR")
    {
        return Some(SCALE_APPLY);
    }
    if real.code == 500 && step.verb == "apply" && theirs.contains(": duplicate entries for key [") {
        return Some(CONVERTED_DUPLICATES);
    }
    if kind.kind == "Service" && real.code == 422 && has_allocation_fault(step, &real.body, ours) {
        return Some(ALLOCATIONS);
    }
    let version = |answer: &Answer| answer.body.pointer("/metadata/resourceVersion").cloned();
    if step.is_dry_run() && real.code == 201 && version(real) == Some(json!("0")) && version(ours).is_none() {
        return Some(DRY_RUN_VERSION);
    }
    // The store has claims without their phase until the second write.
    let is_rewritten = kind.definition.is_some() || kind.kind == "PersistentVolumeClaim";
    if found.what == "write" && is_rewritten && found.reference == json!(true) {
        return Some(WRITTEN_AGAIN);
    }
    // The data of a ControllerRevision has no type.
    let is_raw = theirs.starts_with("unable to find api field in struct RawExtension");
    if step.verb == "strategic" && real.code == 500 && (is_raw || same_code && is_strategic(theirs, our)) {
        return Some(STRATEGIC);
    }
    let is_order = theirs.starts_with("expected a []interface {}, but received a")
        && our == "invalid patch format of setElementOrder list";
    if step.verb == "strategic" && real.code == 500 && is_order {
        return Some(STRATEGIC);
    }
    // Go looks for the field in the type of the part of a patch, and the library has one type for scalars. Of several faults
    // the library finds another one first.
    let words = ["unable to find api field in struct ", "The order in patch list:"];
    if step.verb == "strategic" && same_code && words.iter().any(|words| theirs.starts_with(words)) {
        return Some(STRATEGIC);
    }
    if step.verb == "strategic" && leaves_directives(kind, step, real) {
        return Some(STRATEGIC);
    }
    if kind.group == DEFINITIONS {
        if real.code == 422 && is_rule_check(&real.body, ours) {
            return Some(RULE_TYPES);
        }
    } else if kind.definition.is_none() && real.code == 422 && is_other_validation(&real.body, ours) {
        return Some(VALIDATION);
    }
    let is_written = found.what == "write" && found.reference == json!(true);
    // The conversion to the version of a request loses parts of the stored object.
    if is_written && step.version != kind.read_version() {
        return Some(WRITTEN_AGAIN);
    }
    if is_written && has_number_keys(member(member(&real.body, "metadata"), "managedFields")) {
        return Some(WRITTEN_AGAIN);
    }
    if real.code == 422 && (ours.is_success() || ours.code == 422) && empties_immutable(step, real, ours) {
        return Some(EMPTY_VALUES);
    }
    if kind.kind == "PersistentVolumeClaim" && real.code == 422 && empties_requests(&real.body, ours) {
        return Some(EMPTY_VALUES);
    }
    // In Go, what replaces a map is data, including its directives.
    if step.verb == "strategic"
        && our == "invalid patch format of retainKeys"
        && patch_cause(&real.body).is_some_and(|cause| cause.contains("$retainKeys:["))
    {
        return Some(STRATEGIC);
    }
    if step.verb == "apply" && real.code == 409 && conflicts_before_types(&real.body, ours) {
        return Some(TYPE_WORDS);
    }
    if same_code && real.warnings == ours.warnings {
        let is_metadata = our.contains("expected metadata that is a map");
        if step.verb == "apply" && (is_metadata || real.code == 500 && same_paths(theirs, our)) {
            return Some(TYPE_WORDS);
        }
        // Go converts to the versions of the managers in random order, and fails at the first one that lacks a field.
        let are_conversions = theirs.starts_with("failed to convert new object")
            && our.starts_with("failed to convert the object");
        if real.code == 500 && are_conversions && !paths(theirs).is_disjoint(&paths(our)) {
            return Some(TYPE_WORDS);
        }
        let fault = |message: &str| {
            message.split_once("unable to convert unstructured object ").map(|(_, fault)| fault.to_owned())
        };
        // Go takes a list for a number or a string until it converts the object.
        let is_later = fault(theirs).is_some() && our.starts_with("failed to create typed patch object ");
        if step.verb == "apply"
            && real.code == 500
            && (is_later || fault(theirs).is_some() && fault(theirs) == fault(our))
        {
            return Some(TYPE_WORDS);
        }
        if real.code == 400 && theirs.contains("yaml: ") && our.contains("YAML") && step.verb == "apply" {
            return Some(YAML_WORDS);
        }
        if real.code == 409 && without_store(theirs) == our {
            return Some(STORE_WORDS);
        }
        if real.code == 422 && step.verb == "strategic" && restores(&real.body) && has_patch_cause(&ours.body)
        {
            return Some(RESTORE_WORDS);
        }
        if real.code == 422 && same_but_empty(&real.body, &ours.body) {
            return Some(EMPTY_VALUES);
        }
        if real.code == 422 && has_patch_cause(&real.body) && same_patched(&real.body, &ours.body) {
            return Some(FIELD_ORDER);
        }
        if real.code == 422
            && kind.group == DEFINITIONS
            && without_empty(&real.body) == without_empty(&ours.body)
        {
            return Some(EMPTY_SHOWN);
        }
        if !real.is_success() && sorted(&real.body) == sorted(&ours.body) {
            return Some(if real.code == 409 { CONFLICT_ORDER } else { CAUSE_ORDER });
        }
    }
    None
}

/// The rule that explains a difference of stored objects after answers that agree, or whose differences are explained.
pub(super) fn explain_stored(
    kind: &Kind,
    step: &Step<'_>,
    live: &Json,
    found: &Difference,
) -> Option<&'static str> {
    if step.sub == "scale" && found.what == "managed" {
        return Some(SCALE_KEEPS);
    }
    if kind.kind == "HorizontalPodAutoscaler" && step.version != kind.read_version() {
        return Some(STORED_VERSION);
    }
    let is_invalid = items(member(live, "status"), "conditions")
        .iter()
        .any(|condition| text(condition, "reason") == "InvalidCABundle");
    (kind.group == DEFINITIONS && is_invalid).then_some(CERTIFICATES)
}

/// Whether a request changes an entry of managed fields by its place in the list.
pub(super) fn takes_place(step: &Step<'_>) -> bool {
    let changed = items(step.json, "set").iter().filter_map(|pair| pair.get(0)?.as_str());
    let dropped = items(step.json, "drop").iter().filter_map(Json::as_str);
    changed.chain(dropped).any(|pointer| pointer.starts_with("/metadata/managedFields/"))
}

/// Whether the library found all causes but those of node ports that the real server gave to the ports of a request, or
/// the real server could not give an address to a Service without a name, and checked nothing else.
fn has_allocation_fault(step: &Step<'_>, real: &Json, ours: &Answer) -> bool {
    let causes = |status: &Json| items(member(status, "details"), "causes").to_vec();
    let (theirs, our) = (causes(real), causes(&ours.body));
    let ports = items(member(member(step.json, "body"), "spec"), "ports");
    let has_own = ports.iter().any(|port| member(port, "nodePort").is_number());
    let is_allocated = |cause: &&Json| {
        let field = text(cause, "field");
        text(cause, "reason") == "FieldValueDuplicate"
            && field.starts_with("spec.ports[")
            && field.ends_with("].nodePort")
    };
    let (missing, found): (Vec<&Json>, Vec<&Json>) = theirs.iter().partition(|cause| is_allocated(cause));
    let has_no_address =
        || theirs.iter().any(|cause| text(cause, "message").contains(": failed to allocate IP: IPAddress."));
    if ours.code == 422 && has_no_address() {
        return our.iter().any(|cause| text(cause, "field") == "metadata.name");
    }
    ours.code == 422 && !has_own && !missing.is_empty() && found.into_iter().eq(&our)
}

/// Whether the real server left the owners of an object as they were, since it repeats items of a set or a keyed list of its
/// metadata, and has managers at more than one version.
pub(super) fn keeps_entries_of_duplicates(live: &Json, sent: &Json, real: &Answer, version: &str) -> bool {
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
    // Owners that occur again are dropped after the owners of fields are known.
    let drops = |warning: &String| warning.contains("ownerReferences contains duplicate entries");
    let has_duplicates = has_duplicates || real.warnings.iter().any(drops);
    let is_other = |entry: &Json| text(entry, "apiVersion") != version;
    has_duplicates
        && entries(live) == entries(&real.body)
        && entries(live).as_array().is_some_and(|entries| entries.iter().any(is_other))
}

/// Whether the real server may hide a field of an object, which is stored without it by the next write.
pub(super) fn hides_field(live: &Json) -> bool {
    let spec = member(live, "spec");
    text(live, "kind") == "Service"
        && text(spec, "type") == "ExternalName"
        && spec.get("internalTrafficPolicy").is_none()
}

/// Whether two answers differ in the owners of a field alone that the real server hides: it stores the traffic policy of
/// a Service that becomes an `ExternalName`.
pub(super) fn owns_hidden_field(live: &Json, real: &Json, ours: &Json) -> bool {
    hides_field(live)
        && disowned(real, &["/spec/internalTrafficPolicy".to_owned()])
            == disowned(ours, &["/spec/internalTrafficPolicy".to_owned()])
}

fn message(answer: &Answer) -> &str {
    text(&answer.body, "message")
}

/// The paths that a message about types names: words that start with a dot.
fn paths(message: &str) -> BTreeSet<String> {
    let words = message.split([' ', '\n']);
    let words = words.filter(|word| word.starts_with('.') && word.len() > 1);
    // The library gives the key of an item where Go gives its list, or the place of the item.
    let whole = words.map(|word| word.trim_end_matches(':').split('[').next().unwrap_or_default().to_owned());
    whole.collect()
}

/// Whether a message is about fields of another one, and both are equal before the first of them. Go stops at the first
/// field of a map that its type does not declare.
fn same_paths(real: &str, ours: &str) -> bool {
    let before = |message: &str| message.split(": ").next().unwrap_or_default().to_owned();
    let same_start = before(real) == before(ours) || !real.starts_with("failed to create typed");
    same_start && !paths(real).is_empty() && paths(real).is_subset(&paths(ours))
}

/// Whether the real server reports conflicts about fields whose values the library refuses, since they are no scalars.
fn conflicts_before_types(real: &Json, ours: &Answer) -> bool {
    let our = message(ours);
    let causes = items(member(real, "details"), "causes");
    let fields: BTreeSet<String> = causes.iter().map(|cause| text(cause, "field").to_owned()).collect();
    ours.code == 500
        && our.starts_with("failed to create typed patch object")
        && our.contains("expected any scalar")
        && !paths(our).is_empty()
        && paths(our).is_subset(&fields)
}

/// A status whose causes, and the parts of whose message, are in one order.
fn sorted(status: &Json) -> Json {
    let mut out = status.clone();
    let mut causes: Vec<String> =
        items(member(status, "details"), "causes").iter().map(Json::to_string).collect();
    causes.sort();
    if let Some(details) = out.get_mut("details") {
        set(details, "causes", json!(causes));
    }
    let mut parts: Vec<&str> =
        text(status, "message").split(['\n', ',', '[', ']', '"']).map(str::trim).collect();
    parts.sort_unstable();
    set(&mut out, "message", json!(parts));
    out
}

/// Whether the library found a part of the causes, and the others are checks that it does not make: those that are not
/// about required, immutable or duplicate fields, enums, names, labels or quantities.
fn is_other_validation(real: &Json, ours: &Answer) -> bool {
    let causes = |status: &Json| items(member(status, "details"), "causes").to_vec();
    let our = if ours.code == 422 { causes(&ours.body) } else { Vec::new() };
    if !ours.is_success() && !matches!(ours.code, 409 | 422) {
        return false;
    }
    let theirs = causes(real);
    let missing = theirs.iter().filter(|cause| !our.contains(cause));
    let made = [
        "immutable",
        "may not be changed",
        "may not change",
        "must consist of",
        "RFC 1123",
        "quantities must",
    ];
    let is_other = |cause: &Json| {
        matches!(text(cause, "reason"), "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueTooLong")
            && text(cause, "field") != "patch"
            && made.iter().all(|words| !text(cause, "message").contains(words))
    };
    our.iter().all(|cause| theirs.contains(cause))
        && missing.clone().count() > 0
        && missing.clone().all(is_other)
}

/// A status with null instead of empty lists and maps in the structs that its messages show.
fn without_empty(status: &Json) -> Json {
    let filled = |text: &str| text.replace("\":{}", "\":null").replace("\":[]", "\":null");
    let mut out = status.clone();
    set(&mut out, "message", filled(text(status, "message")));
    let causes = out.pointer_mut("/details/causes").and_then(Json::as_array_mut);
    for cause in causes.into_iter().flatten() {
        let message = filled(text(cause, "message"));
        set(cause, "message", message);
    }
    sorted(&out)
}

/// Whether the library found all causes but those about the types and the cost of rules.
fn is_rule_check(real: &Json, ours: &Answer) -> bool {
    let causes = |status: &Json| items(member(status, "details"), "causes").to_vec();
    let (theirs, our) = (causes(real), if ours.code == 422 { causes(&ours.body) } else { Vec::new() });
    if !ours.is_success() && !matches!(ours.code, 409 | 422) {
        return false;
    }
    let checks = [
        "compilation failed: ERROR: ",
        "cel expression must evaluate to a bool",
        "messageExpression must evaluate to a string",
        " exceeds budget by factor of ",
        "contributed to estimated rule cost total",
    ];
    let is_check = |cause: &Json| {
        let (field, message) = (text(cause, "field"), text(cause, "message"));
        field.contains(".x-kubernetes-validations[") && checks.iter().any(|words| message.contains(words))
            || field.ends_with(".openAPIV3Schema") && message.contains("estimated rule cost total")
    };
    let (mut missing, extra) = (
        theirs.iter().filter(|cause| !our.contains(cause)).peekable(),
        our.iter().filter(|cause| !theirs.contains(cause)),
    );
    missing.peek().is_some() && missing.all(is_check) && extra.into_iter().all(is_check)
}

/// Whether the real server took a directive of a strategic merge patch inside of new content for data.
fn leaves_directives(kind: &Kind, step: &Step<'_>, real: &Answer) -> bool {
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
        let in_cause = patch_cause(&real.body).is_some_and(|cause| {
            let strict = cause.split_once("strict decoding error: ").map(|(_, faults)| faults);
            // A map of quantities takes a directive for one.
            let is_value = ["cannot restore ", "error decoding from json: ", "quantities must match"]
                .iter()
                .any(|words| cause.contains(words));
            is_value || strict.is_some_and(is_unknown)
        });
        patch.contains(&format!("\"{name}")) && (in_warning || in_cause || causes.iter().any(is_key))
    };
    names.iter().any(is_data)
}

/// Whether the real server refuses nothing but empty maps in place of absent ones in an immutable object.
fn empties_immutable(step: &Step<'_>, real: &Answer, ours: &Answer) -> bool {
    let found = items(member(&ours.body, "details"), "causes");
    let causes = items(member(&real.body, "details"), "causes");
    let is_found = |cause: &&Json| ours.code == 422 && found.contains(cause);
    let causes: Vec<&Json> = causes.iter().filter(|cause| !is_found(cause)).collect();
    let mut body = member(step.json, "body").clone();
    items(step.json, "drop")
        .iter()
        .filter_map(Json::as_str)
        .for_each(|place| remove_pointer(&mut body, place));
    let is_empty = |cause: &Json| {
        text(cause, "message").contains("field is immutable when")
            && member(&body, text(cause, "field")).as_object().is_some_and(|map| map.is_empty())
    };
    !causes.is_empty() && causes.into_iter().all(is_empty)
}

/// Whether the library refuses nothing but a claim whose requests became empty: Go does not compare those that are there.
fn empties_requests(real: &Json, ours: &Answer) -> bool {
    let theirs = items(member(real, "details"), "causes");
    let found = items(member(&ours.body, "details"), "causes");
    let mut extra = found.iter().filter(|cause| !theirs.contains(cause)).peekable();
    let is_empty = |cause: &Json| text(cause, "message").contains("\n+  \"Requests\": null\n");
    ours.code == 422
        && theirs.iter().all(|cause| found.contains(cause))
        && extra.peek().is_some()
        && extra.all(is_empty)
}

/// Whether two answers have the same causes, apart from empty values that they show. A difference of two values in a
/// message shows the lines around, so it is compared as a whole.
fn same_but_empty(real: &Json, ours: &Json) -> bool {
    let shows_empty = |text: &str| text.contains("[]") || text.contains("{}");
    let causes = |status: &Json| -> Vec<Vec<String>> {
        let causes = items(member(status, "details"), "causes");
        let shown = |cause: &Json| {
            let message = text(cause, "message");
            let shown = message.split("\n@@").next().unwrap_or_default();
            let shown = shown.replace("[]", "null").replace("{}", "null");
            vec![text(cause, "field").to_owned(), text(cause, "reason").to_owned(), shown]
        };
        causes.iter().map(shown).collect()
    };
    shows_empty(text(real, "message")) && causes(real) == causes(ours)
}

/// Whether both sides refuse a strategic merge patch with the code 500 for one reason, in other words.
fn is_strategic(real: &str, ours: &str) -> bool {
    let words = [
        ("unknown patch type: ", "unknown patch type: "),
        ("does not contain declared merge key: ", "does not contain declared merge key: "),
        ("list element types are not identical", "list element types are not identical"),
        ("list element types are not identical", "in a list that is merged: expected maps, or scalars"),
    ];
    words.iter().any(|(theirs, our)| real.contains(theirs) && ours.contains(our))
}

/// The object with the last of its entries of one manager, operation and subresource, and of one version for updates;
/// `None` if there are no such entries.
pub(super) fn without_duplicates(object: &Json) -> Option<Json> {
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
pub(super) fn moves_unchanged_lists(live: &Json, sent: &Json, real: &Json, ours: &Json) -> bool {
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
fn disowned(object: &Json, places: &[String]) -> Json {
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
fn disown(fields: Option<&mut Json>, names: &[&str]) {
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

fn member_mut<'j>(value: &'j mut Json, name: &str) -> Option<&'j mut Json> {
    value.get_mut(name)
}

/// Whether managed fields have items whose keys are numbers, and the order of these differs from that of their strings.
fn has_number_keys(fields: &Json) -> bool {
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
fn lists(value: &Json, place: String, out: &mut Vec<String>) {
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

/// A message without the key of the store.
fn without_store(message: &str) -> String {
    match (message.split_once("StorageError: invalid object"), message.split_once("AdditionalErrorMsg: ")) {
        (Some((start, _)), Some((_, end))) => format!("{start}{end}"),
        _ => message.to_owned(),
    }
}

/// The cause of a refused patch.
fn patch_cause(status: &Json) -> Option<&str> {
    let cause = items(member(status, "details"), "causes").first()?;
    (text(cause, "field") == "patch").then(|| text(cause, "message"))
}

fn has_patch_cause(status: &Json) -> bool {
    patch_cause(status).is_some()
}

/// Whether the decoder of unstructured objects refused the result of a patch.
fn restores(status: &Json) -> bool {
    let words = ["cannot restore ", "cannot convert ", "unrecognized type: ", "error decoding from json: "];
    patch_cause(status).is_some_and(|cause| words.iter().any(|word| cause.contains(word)))
}

/// Removes empty lists and maps, which the library takes for absent ones.
fn drop_empty(value: &mut Json) {
    match value {
        Json::Object(members) => {
            members.values_mut().for_each(drop_empty);
            members.retain(|_, value| *value != json!({}) && *value != json!([]));
        }
        Json::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

/// Whether two causes are equal, apart from the order of the fields of the object that they show, and its empty fields.
fn same_patched(real: &Json, ours: &Json) -> bool {
    let parts = |status: &Json| -> Option<(Json, String)> {
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
        Some((object, rest))
    };
    parts(real).is_some() && parts(real) == parts(ours)
}
