//! Listed deviations: differences that have a reason, see `docs/deviations.md`.

mod causes;
mod empty;
mod owners;
mod patches;
mod words;

use serde_json::{Value as Json, json};

use super::kinds::Kind;
use super::request::{Answer, DEFINITIONS, Step};
use crate::json::{items, member, text};
use crate::suite::Difference;
use causes::{has_allocation_fault, is_other_validation, is_rule_check, sorted};
use empty::{
    empties_immutable, empties_policies, empties_requests, ends_with_empty, ends_with_null, same_but_empty,
    without_empty,
};
use owners::has_number_keys;
pub(super) use owners::{
    differ_in_times, hides_field, keeps_entries_of_duplicates, moves_unchanged_lists, owns_hidden_field,
    reorders_entries, stores_what_it_shows, without_duplicates,
};
pub(super) use patches::takes_place;
use patches::{has_patch_cause, is_strategic, leaves_directives, patch_cause, restores, same_patched};
use words::{conflicts_before_types, paths, same_paths, without_store};

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

/// The time of an entry after a change that the version of the request does not show.
pub(super) const STORED_VERSION: &str = "server-stored-version";

/// A definition whose objects the real server could not list at once.
pub(super) const INSTANCES: &str = "server-instances";

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
    let (theirs, our) = (words::message(real), words::message(ours));
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
    // The storage of the status does not complete the addresses of a new Service.
    let lacks_addresses = |status: &Json| match items(member(status, "details"), "causes") {
        [cause] => text(cause, "field") == "spec.clusterIPs" && text(cause, "message") == "Required value",
        _ => false,
    };
    let is_new_status = step.sub == "status" && real.code == 422 && ours.code == 201;
    if kind.kind == "Service" && is_new_status && lacks_addresses(&real.body) {
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
    if step.is_strategic() && real.code == 500 && (is_raw || same_code && is_strategic(theirs, our)) {
        return Some(STRATEGIC);
    }
    let is_order = theirs.starts_with("expected a []interface {}, but received a")
        && our == "invalid patch format of setElementOrder list";
    if step.is_strategic() && real.code == 500 && is_order {
        return Some(STRATEGIC);
    }
    // A map takes no directive `merge` in Go, and the library finds another fault.
    if step.is_strategic() && same_code && theirs.starts_with("unknown patch type: merge in map: ") {
        return Some(STRATEGIC);
    }
    // Go looks for the field in the type of the part of a patch, and the library has one type for scalars. Of several faults
    // the library finds another one first.
    let words = ["unable to find api field in struct ", "The order in patch list:"];
    if step.is_strategic() && same_code && words.iter().any(|words| theirs.starts_with(words)) {
        return Some(STRATEGIC);
    }
    if step.is_strategic() && leaves_directives(kind, step, real) {
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
    let is_object = found.what == "object" && kind.definition.is_none();
    if is_object && ends_with_empty(&found.reference, &found.candidate) {
        return Some(EMPTY_VALUES);
    }
    let is_custom = found.what == "object" && kind.definition.is_some();
    if is_custom && ends_with_null(&found.reference, &found.candidate) {
        return Some(EMPTY_VALUES);
    }
    let is_autoscaler = kind.kind == "HorizontalPodAutoscaler";
    if is_autoscaler && real.code == 422 && empties_policies(&real.body, ours) {
        return Some(EMPTY_VALUES);
    }
    // In Go, what replaces a map is data, including its directives.
    if step.is_strategic()
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
        if real.code == 422 && step.is_strategic() && restores(&real.body) && has_patch_cause(&ours.body) {
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
    let mut conditions = items(member(live, "status"), "conditions").iter();
    let is_waiting = conditions.any(|condition| text(condition, "reason") == "InstanceDeletionFailed");
    (kind.group == DEFINITIONS && is_waiting).then_some(INSTANCES)
}
