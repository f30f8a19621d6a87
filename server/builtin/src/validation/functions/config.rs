//! Secrets, ConfigMaps, events, quotas and namespaces.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::qualified_name;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;
use serde_json::Value as Json;

use super::field::Field;
use super::formats;
use super::pods::resources;
use super::resource_names::{COMPUTE, COUNTED, is_standard};
use crate::amount::Amount;
use crate::base64;
use crate::place::{Errors, IMMUTABLE, NOT_NEGATIVE, faults};
use crate::shown;
use crate::validation::syntax;

/// The largest size of the data of a Secret or ConfigMap in bytes.
const MAX_SIZE: usize = 1024 * 1024;

/// Checks that an update keeps what an object with `immutable` has.
fn kept(object: &Field<'_>, names: &[&str], errors: &mut Errors) {
    if object.before().get("immutable").value == Some(&Value::Bool(true)) {
        for field in names.iter().map(|name| object.get(name)) {
            field.forbid_if(
                field.is_changed(),
                "field is immutable when `immutable` is set",
                errors,
            );
        }
    }
}

pub(crate) fn secret(secret: &Field<'_>, errors: &mut Errors) {
    secret.get("type").immutable(errors);
    kept(secret, &["immutable", "data"], errors);
    let data = secret.get("data");
    // The limit is for the decoded bytes of all keys together.
    let mut size = 0;
    for (key, value) in data.entries() {
        faults(&value.path, key, syntax::config_key(key), errors);
        size += decoded_size(value.text());
    }
    if size > MAX_SIZE {
        errors.push(FieldError::too_long(data.path.clone(), MAX_SIZE));
    }

    let has = |key: &str| data.value.is_some_and(|data| data.get(key).is_some());
    let required = |key: &str| FieldError::required(data.path.key(key), "");
    let all = |keys: &[&str]| {
        keys.iter()
            .filter(|key| !has(key))
            .map(|key| required(key))
            .collect::<Vec<_>>()
    };

    // Clients of these types read certain keys; the keys of other types are up to the user.
    match secret.get("type").text() {
        "kubernetes.io/service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            let annotations = secret.get("metadata").get("annotations");
            if annotations.get(name).is_empty() {
                errors.push(FieldError::required(annotations.path.key(name), ""));
            }
        }
        "kubernetes.io/dockercfg" => docker(&data, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => docker(&data, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            errors.extend(all(&["username", "password"]));
        }
        "kubernetes.io/ssh-auth" if data.get("ssh-privatekey").is_empty() => {
            errors.push(required("ssh-privatekey"));
        }
        "kubernetes.io/tls" => errors.extend(all(&["tls.crt", "tls.key"])),
        _ => {}
    }
}

/// Requires a key with a JSON object.
fn docker(data: &Field<'_>, key: &str, errors: &mut Errors) {
    let path = data.path.key(key);
    let Some(text) = data.value.and_then(|data| data.get(key)) else {
        errors.push(FieldError::required(path, ""));
        return;
    };

    let bytes = base64::decode(text.as_str().unwrap_or_default());
    let is_object = |json: &Json| json.is_object() || json.is_null();
    if let Err(fault) = formats::read_json(&bytes, "map[string]interface {}", is_object) {
        let shown = "<secret contents redacted>";
        errors.push(FieldError::invalid(path, shown, fault));
    }
}

/// The number of bytes that a base64 string stands for.
fn decoded_size(text: &str) -> usize {
    let padding = text.len() - text.trim_end_matches('=').len();
    (text.len() / 4 * 3).saturating_sub(padding)
}

pub(crate) fn config_map(map: &Field<'_>, errors: &mut Errors) {
    kept(map, &["immutable", "data", "binaryData"], errors);
    let binary = map.get("binaryData");
    let mut size = 0;
    // Both maps become files of one volume, so their keys must differ.
    for (key, value) in map.get("data").entries() {
        faults(&value.path, key, syntax::config_key(key), errors);
        if binary.value.is_some_and(|binary| binary.get(key).is_some()) {
            let detail = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(value.path.clone(), key, detail));
        }
        size += value.text().len();
    }

    for (key, value) in binary.entries() {
        faults(&value.path, key, syntax::config_key(key), errors);
        size += decoded_size(value.text());
    }
    // The size is that of both maps, so the error has the path without a name, which Go writes as brackets.
    if size > MAX_SIZE {
        errors.push(FieldError::too_long(FieldPath::default().key(""), MAX_SIZE));
    }
}

/// What both versions of events require.
fn any_event(event: &Event<'_>, errors: &mut Errors) {
    let namespace = event.object.get("metadata").get("namespace");
    let subject = event.subject.get("namespace");
    let path = || FieldPath::root("involvedObject").child("namespace");
    let mismatch = || FieldError::invalid(path(), subject.text(), "does not match event.namespace");
    let time = event.object.get("eventTime");

    // An event without a time is of the old form, of which only the namespace is checked.
    if !time.is_set() {
        let is_match = match subject.text() {
            "" => matches!(namespace.text(), "" | "default"),
            text => text == namespace.text(),
        };
        if !is_match {
            errors.push(mismatch());
        }
        return;
    }

    // Events about objects without a namespace are stored in one of these two.
    if subject.is_empty() && !matches!(namespace.text(), "default" | "kube-system") {
        errors.push(mismatch());
    }
    let controller = &event.controller;
    controller.require("", errors);
    controller.qualified(errors);

    for (name, limit) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        let field = event.object.get(name);
        field.require("", errors);
        too_many_characters(&field, limit, errors);
    }

    // The error has the path of the internal version, whatever name the version gives the message.
    too_many_characters(
        &event.message.moved(FieldPath::root("message")),
        1024,
        errors,
    );
}

fn too_many_characters(field: &Field<'_>, limit: usize, errors: &mut Errors) {
    if field.text().len() > limit {
        let detail = format!("can have at most {limit} characters");
        errors.push(FieldError::invalid(field.path.clone(), "", detail));
    }
}

/// The fields of an event whose names depend on the version.
struct Event<'v> {
    object: Field<'v>,
    subject: Field<'v>,
    controller: Field<'v>,
    message: Field<'v>,
}

pub(crate) fn core_event(object: &Field<'_>, errors: &mut Errors) {
    let event = Event {
        subject: object.get("involvedObject"),
        controller: object.get("reportingComponent"),
        message: object.get("message"),
        object: object.clone(),
    };
    any_event(&event, errors);
}

pub(crate) fn event(object: &Field<'_>, errors: &mut Errors) {
    let event = Event {
        subject: object.get("regarding"),
        controller: object.get("reportingController"),
        message: object.get("note"),
        object: object.clone(),
    };
    let live = object.before();
    if live.is_set() {
        any_event(&event, errors);
        return changed_event(object, &live, errors);
    }

    // The errors of metadata are after those that both versions have.
    let metadata = std::mem::take(errors);
    any_event(&event, errors);
    errors.extend(metadata);
    new_event(object, errors);
}

/// A path that Kubernetes gives as one name with a dot.
fn series(object: &Field<'_>, errors: &mut Errors) {
    let series = object.get("series");
    if !series.is_set() {
        return;
    }
    if series.get("count").number() < 2 {
        errors.push(FieldError::invalid(
            FieldPath::root("series.count"),
            "",
            "should be at least 2",
        ));
    }

    if !series.get("lastObservedTime").is_set() {
        errors.push(FieldError::required(
            FieldPath::root("series.lastObservedTime"),
            "",
        ));
    }
}

fn new_event(object: &Field<'_>, errors: &mut Errors) {
    series(object, errors);
    let (time, ty) = (object.get("eventTime"), object.get("type"));
    if !time.is_set() {
        time.missing("", errors);
    }
    let invalid =
        |name: &str, detail: String| FieldError::invalid(FieldPath::root(name), "", detail);
    if !matches!(ty.text(), "Normal" | "Warning") {
        errors.push(invalid("type", format!("has invalid value: {}", ty.text())));
    }

    // These fields keep values of the core version; a client of this version must not set them.
    let source = object.get("deprecatedSource");
    for (name, is_set) in [
        (
            "firstTimestamp",
            object.get("deprecatedFirstTimestamp").is_set(),
        ),
        (
            "lastTimestamp",
            object.get("deprecatedLastTimestamp").is_set(),
        ),
        ("count", object.get("deprecatedCount").number() != 0),
        (
            "source",
            !source.get("component").is_empty() || !source.get("host").is_empty(),
        ),
    ] {
        if is_set {
            errors.push(invalid(name, "needs to be unset".to_owned()));
        }
    }
}

/// Everything but the series is immutable. Paths and values are those of the internal version.
fn changed_event(object: &Field<'_>, live: &Field<'_>, errors: &mut Errors) {
    let differs = |name: &str| {
        let (new, old) = (object.get(name), live.get(name));
        new.value != old.value && !(new.is_empty() && old.is_empty())
    };
    // A series is checked only if the update changes it.
    if differs("series") {
        series(object, errors);
    }

    let text = |name: &str, shown: &str, errors: &mut Errors| {
        if object.get(name).text() != live.get(name).text() {
            errors.push(FieldError::invalid(
                FieldPath::root(shown),
                object.get(name).text(),
                IMMUTABLE,
            ));
        }
    };
    let value = |name: &str, shown: &str, errors: &mut Errors| {
        if differs(name) {
            errors.push(FieldError::invalid(
                FieldPath::root(shown),
                object.get(name).shown(),
                IMMUTABLE,
            ));
        }
    };

    let reference =
        |event: &Field<'_>| shown::json("ObjectReference", event.get("regarding").value);
    if reference(object) != reference(live) {
        errors.push(shown::invalid(
            FieldPath::root("involvedObject"),
            &reference(object),
            IMMUTABLE,
        ));
    }

    text("reason", "reason", errors);
    text("note", "message", errors);
    if differs("deprecatedSource") {
        let json = shown::json("EventSource", object.get("deprecatedSource").value);
        errors.push(shown::invalid(FieldPath::root("source"), &json, IMMUTABLE));
    }

    value("deprecatedFirstTimestamp", "firstTimestamp", errors);
    value("deprecatedLastTimestamp", "lastTimestamp", errors);
    let count = object.get("deprecatedCount").number();
    if count != live.get("deprecatedCount").number() {
        errors.push(FieldError::invalid(
            FieldPath::root("count"),
            count,
            IMMUTABLE,
        ));
    }

    text("type", "type", errors);
    value("eventTime", "eventTime", errors);
    text("action", "action", errors);

    // A reference without anything in it differs from an absent one.
    if object.get("related").value != live.get("related").value {
        let json = shown::json("OptionalObjectReference", object.get("related").value);
        errors.push(shown::invalid(FieldPath::root("related"), &json, IMMUTABLE));
    }
    text("reportingController", "reportingController", errors);
    text("reportingInstance", "reportingInstance", errors);
}

pub(crate) fn quota(object: &Field<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    for (name, value) in spec.get("hard").entries() {
        quota_resource(name, &value, errors);
    }
    let scopes = spec.get("scopes");
    let scope_names: BTreeSet<&str> = scopes.texts().collect();

    // An error shows the whole list and counts once, so that only known scopes are compared with all resources.
    let mut found = BTreeSet::new();
    for scope in scopes.texts() {
        let is_known = SCOPES.contains(&scope);
        scopes.invalid_if(!is_known && found.insert(""), "unsupported scope", errors);
        let misfits = |(name, _): (&str, Field<'_>)| is_quota_resource(name) && !fits(scope, name);
        let is_misfit = is_known && found.insert(scope) && spec.get("hard").entries().any(misfits);
        scopes.invalid_if(is_misfit, "unsupported scope applied to resource", errors);
    }

    for pair in CONFLICTING {
        scopes.invalid_if(
            pair.iter().all(|scope| scope_names.contains(scope)),
            "conflicting scopes",
            errors,
        );
    }

    scope_selector(&spec, errors);
    // Scopes are compared as a set, so an update may reorder them.
    let old: BTreeSet<&str> = scopes.before().texts().collect();
    scopes.invalid_if(object.is_update() && old != scope_names, IMMUTABLE, errors);
}

/// The scopes that exclude each other.
const CONFLICTING: [[&str; 2]; 2] = [
    ["BestEffort", "NotBestEffort"],
    ["NotTerminating", "Terminating"],
];

const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

/// Checks the operator and the values of a term of the list.
fn scope_operator(operator: &str, values: &Field<'_>, list: &FieldPath, errors: &mut Errors) {
    let path = list.child("values");
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let detail =
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.push(FieldError::required(path, detail));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail =
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.push(FieldError::invalid(path, values.shown(), detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let detail = "not a valid selector operator";
            errors.push(FieldError::invalid(list.child("operator"), other, detail));
        }
    }
}

/// Checks the terms that select the scopes of a quota, whose errors have the path of the list.
fn scope_selector(spec: &Field<'_>, errors: &mut Errors) {
    let selector = spec.get("scopeSelector");
    let terms = selector.get("matchExpressions");
    let mut found = BTreeSet::new();

    // The errors of terms have the path of the list, without an index, as in Kubernetes.
    for term in terms.items() {
        let (scope, operator, values) = (
            term.get("scopeName").text(),
            term.get("operator"),
            term.get("values"),
        );
        let [scope_path, operator_path] =
            ["scopeName", "operator"].map(|name| terms.path.child(name));
        // A scope is compared with the resources once, however many terms name it.
        let misfits = |(name, _): (&str, Field<'_>)| is_quota_resource(name) && !fits(scope, name);
        let is_known = SCOPES.contains(&scope);
        if !is_known {
            errors.push(FieldError::invalid(scope_path, scope, "unsupported scope"));
        }
        if is_known && found.insert(scope) && spec.get("hard").entries().any(misfits) {
            let shown = shown::json("ScopeSelector", selector.value);
            errors.push(shown::invalid(
                terms.path.clone(),
                &shown,
                "unsupported scope applied to resource",
            ));
        }

        // Only these two scopes have values to compare; the others are either met or not.
        let is_general = matches!(scope, "PriorityClass" | "VolumeAttributesClass");
        if is_known && !is_general && operator.text() != "Exists" {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                          ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                          ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.push(FieldError::invalid(operator_path, operator.text(), detail));
        }

        scope_operator(operator.text(), &values, &terms.path, errors);
    }

    // Scopes exclude each other across terms. Kubernetes shows `scopes` as the value, not the terms.
    let names: BTreeSet<&str> = terms
        .items()
        .map(|term| term.get("scopeName").text())
        .collect();
    for pair in CONFLICTING {
        if pair.iter().all(|scope| names.contains(scope)) {
            let scopes = spec.get("scopes");
            errors.push(FieldError::invalid(
                terms.path.clone(),
                scopes.shown(),
                "conflicting scopes",
            ));
        }
    }
}

fn is_quota_resource(name: &str) -> bool {
    is_standard(name) && name != "storage"
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

/// Whether a quota with a scope can count a resource.
fn fits(scope: &str, name: &str) -> bool {
    match scope {
        "BestEffort" => name == "pods",
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => name == "pods" || COMPUTE.contains(&name),
        "VolumeAttributesClass" => matches!(name, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

/// Checks the status of a quota.
pub(crate) fn quota_status(quota: &Field<'_>, errors: &mut Errors) {
    quota.require_version(errors);
    let status = quota.get("status");
    for amounts in [status.get("hard"), status.get("used")] {
        for (name, value) in amounts.entries() {
            quota_resource(name, &value, errors);
        }
    }
}

fn quota_resource(name: &str, value: &Field<'_>, errors: &mut Errors) {
    let invalid = |fault: String| FieldError::invalid(value.path.clone(), name, fault);
    resources::resource(name, &value.path, errors);
    if !name.contains('/') && !is_quota_resource(name) {
        errors.push(invalid("must be a standard resource for quota".to_owned()));
    }
    let Some(amount) = Amount::parse(value.text()) else {
        return;
    };

    value.invalid_if(amount < Amount::default(), NOT_NEGATIVE, errors);
    // Objects and extended resources are counted in whole numbers.
    let is_extended =
        name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.");
    let is_counted = COUNTED.contains(&name) || is_extended;
    value.invalid_if(
        is_counted && !amount.is_whole(),
        "must be an integer",
        errors,
    );
}

/// Checks the status of a namespace, whose phase follows from its deletion.
pub(crate) fn namespace_status(namespace: &Field<'_>, errors: &mut Errors) {
    let deletion = namespace.get("metadata").get("deletionTimestamp");
    let (wanted, state) = if deletion.is_set() {
        ("Terminating", "not empty")
    } else {
        ("Active", "empty")
    };
    let status = namespace.get("status");
    let phase = status.get("phase").moved(status.path.child("Phase"));
    if phase.text() != wanted {
        let detail = format!("may only be '{wanted}' if `deletionTimestamp` is {state}");
        phase.invalid_text(detail, errors);
    }
}

/// Checks the finalizers of the spec of a namespace, which an update of the subresource `finalize` changes.
pub(crate) fn finalized_namespace(namespace: &Field<'_>, errors: &mut Errors) {
    for finalizer in namespace.get("spec").get("finalizers").items() {
        let name = finalizer.text();
        finalizer.faults(qualified_name(name), errors);
        finalizer.faults(syntax::finalizer(name), errors);
    }
}

/// Checks the finalizers of a new namespace.
pub(crate) fn namespace(namespace: &Field<'_>, errors: &mut Errors) {
    let finalizers = namespace.get("spec").get("finalizers");
    for name in finalizers.texts().filter(|_| !namespace.is_update()) {
        faults(&finalizers.path, name, qualified_name(name), errors);
        faults(&finalizers.path, name, syntax::finalizer(name), errors);
    }
}

pub(crate) fn lease(lease: &Field<'_>, errors: &mut Errors) {
    let spec = lease.get("spec");
    let duration = spec.get("leaseDurationSeconds");
    let is_low = duration.is_set() && duration.number() <= 0;
    duration.invalid_if(is_low, "must be greater than 0", errors);
    spec.get("leaseTransitions").non_negative(errors);
    let (strategy, holder) = (spec.get("strategy"), spec.get("preferredHolder"));
    if strategy.is_set() {
        lease_strategy(&strategy, errors);
    }
    let is_alone = !holder.is_empty() && strategy.is_empty();
    let detail = "may only be specified if `strategy` is defined";
    holder.forbid_if(is_alone, detail, errors);
}

/// Checks a strategy, of which only those of Kubernetes have no prefix. The name occurs twice in the path.
fn lease_strategy(strategy: &Field<'_>, errors: &mut Errors) {
    let strategy = strategy.moved(strategy.path.child("strategy"));
    if strategy.text().contains('/') {
        strategy.qualified(errors);
    } else {
        strategy.one_of(&["OldestEmulationVersion"], errors);
    }
}

pub(crate) fn scale(scale: &Field<'_>, errors: &mut Errors) {
    scale.get("spec").get("replicas").non_negative(errors);
}
