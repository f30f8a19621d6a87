//! Objects that make pods from a template.

use fieldmanager_structural::{FieldError, FieldErrorKind};
use fieldmanager_value::{List, Map, Value};

use super::field::Field;
use super::{claim, names, pods, selector};
use crate::place::{Errors, Place};
use crate::shown;
use crate::validation::syntax;

const NO_MATCH: &str = "`selector` does not match template `labels`";

/// A kind whose selector must select the pods that it makes.
#[derive(Clone, Copy)]
struct Workload {
    /// The kind in the message about an empty selector.
    of_empty: &'static str,
    /// The message about an invalid selector.
    of_invalid: &'static str,
    /// The kind in the message about a deadline of the template.
    of_deadline: &'static str,
}

const REPLICAS: Workload = Workload {
    of_empty: "deployment",
    of_invalid: "invalid label selector",
    of_deadline: "ReplicaSet",
};
const STATEFUL: Workload = Workload {
    of_empty: "statefulset",
    of_invalid: "",
    of_deadline: "StatefulSet",
};

pub(crate) fn deployment(deployment: &Field<'_>, errors: &mut Errors) {
    let Some(spec) = deployment.get("spec").place() else {
        return;
    };
    spec.non_negative("replicas", errors);
    replicas(&spec, errors);
    spec.check("strategy", deployment_strategy, errors);

    for name in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        spec.non_negative(name, errors);
    }

    // A deadline within the ready time would fail every rollout before its pods count as available.
    let ready = spec.int("minReadySeconds").unwrap_or_default();
    if spec
        .int("progressDeadlineSeconds")
        .is_some_and(|deadline| deadline <= ready)
    {
        spec.invalid(
            "progressDeadlineSeconds",
            "must be greater than minReadySeconds",
            errors,
        );
    }
    immutable_selector(deployment, errors);
}

pub(crate) fn replica_set(set: &Field<'_>, errors: &mut Errors) {
    let Some(spec) = set.get("spec").place() else {
        return;
    };
    spec.non_negative("replicas", errors);
    spec.non_negative("minReadySeconds", errors);
    replicas(&spec, errors);
    immutable_selector(set, errors);
}

fn immutable_selector(workload: &Field<'_>, errors: &mut Errors) {
    workload
        .get("spec")
        .get("selector")
        .immutable_as("LabelSelector", errors);
}

/// Checks the selector and the template of a `Deployment` or a `ReplicaSet`.
fn replicas(spec: &Place<'_>, errors: &mut Errors) {
    // Kubernetes checks the template only if the selector is valid, because both are compared.
    if required_selector(spec, REPLICAS, errors)
        && let Some(template) = spec.child("template")
    {
        pods::template(&template, errors);
        runs_always(&template, REPLICAS.of_deadline, errors);
    }
}

/// Checks the selector, and whether it selects the pods of the template. Returns whether it is valid.
fn required_selector(spec: &Place<'_>, kind: Workload, errors: &mut Errors) -> bool {
    let shown = || shown::json("LabelSelector", spec.get("selector"));
    let found = spec.child("selector");
    match &found {
        None => spec.missing("selector", "", errors),
        Some(found) => {
            selector::check(found, errors);
            if selector::is_empty(found) {
                let detail = format!("empty selector is invalid for {}", kind.of_empty);
                errors.push(shown::invalid(spec.at("selector"), &shown(), &detail));
            }
        }
    }

    // The comparison parses the selector again, so a faulty one has an error for the whole as well.
    let matches = selector::selects(found.as_ref(), template_labels(spec));
    match matches {
        Err(()) if kind.of_invalid.is_empty() => {
            // Without a detail, the message ends with the value and has no colon after it.
            let mut error = shown::invalid(spec.at("selector"), &shown(), "");
            error.detail = shown();
            errors.push(error);
        }
        Err(()) => errors.push(shown::invalid(
            spec.at("selector"),
            &shown(),
            kind.of_invalid,
        )),
        Ok(false) => errors.push(no_match(spec)),
        Ok(true) => {}
    }

    matches.is_ok()
}

fn template_labels<'v>(spec: &Place<'v>) -> Option<&'v Value> {
    spec.get("template")?.get("metadata")?.get("labels")
}

/// The error of a selector that does not select the pods of the template.
pub(super) fn no_match(spec: &Place<'_>) -> FieldError {
    let path = spec.at("template").child("metadata").child("labels");
    FieldError::invalid(
        path,
        template_labels(spec).cloned().unwrap_or_default(),
        NO_MATCH,
    )
}

/// Whether a selector, if it is valid, selects the pods of the template.
pub(super) fn selects_template(spec: &Place<'_>) -> bool {
    selector::selects(spec.child("selector").as_ref(), template_labels(spec)) != Ok(false)
}

/// The pods of most kinds run until they are deleted.
fn runs_always(template: &Place<'_>, kind: &str, errors: &mut Errors) {
    // An absent spec is checked like an empty one, which lacks the restart policy.
    let empty = Value::Map(Map::default());
    let spec = Place {
        path: template.at("spec"),
        value: template.get("spec").unwrap_or(&empty),
    };

    if spec.text("restartPolicy") != "Always" {
        let found = spec.text("restartPolicy");
        errors.push(FieldError::not_supported(
            spec.at("restartPolicy"),
            found,
            &["Always"],
        ));
    }

    if spec.get("activeDeadlineSeconds").is_some() {
        spec.forbid(
            "activeDeadlineSeconds",
            &format!("activeDeadlineSeconds in {kind} is not Supported"),
            errors,
        );
    }
}

pub(crate) fn controller(controller: &Field<'_>, errors: &mut Errors) {
    let Some(spec) = controller.get("spec").place() else {
        return;
    };
    controlled(&spec, errors);
    spec.non_negative("replicas", errors);
    spec.non_negative("minReadySeconds", errors);
    names::prefix_alone(controller, errors);
}

/// Checks the selector and the template of a `ReplicationController`.
fn controlled(spec: &Place<'_>, errors: &mut Errors) {
    // An empty map would select every pod, so it counts as missing.
    let selector = spec.map("selector").filter(|selector| !selector.is_empty());
    if selector.is_none() {
        spec.missing("selector", "", errors);
    }
    let Some(template) = spec.child("template") else {
        spec.missing("template", "", errors);
        return;
    };

    // This selector is a plain map: each of its entries must be a label of the template.
    let labels = template_labels(spec);
    let has = |key: &str, value: &Value| labels.and_then(|labels| labels.get(key)) == Some(value);
    if !selector
        .into_iter()
        .flatten()
        .all(|(key, value)| has(key, value))
    {
        errors.push(no_match(spec));
    }
    pods::template(&template, errors);
    runs_always(&template, "ReplicationController", errors);
}

pub(crate) fn daemon_set(set: &Field<'_>, errors: &mut Errors) {
    immutable_selector(set, errors);
    let Some(spec) = set.get("spec").place() else {
        return;
    };
    daemons(&spec, errors);
    spec.non_negative("minReadySeconds", errors);
    spec.check("updateStrategy", daemon_strategy, errors);
    spec.non_negative("revisionHistoryLimit", errors);
}

/// Checks the selector and the template of a `DaemonSet`.
fn daemons(spec: &Place<'_>, errors: &mut Errors) {
    let found = spec.child("selector");
    if let Some(found) = &found {
        selector::check(found, errors);
    }
    // An absent selector selects nothing, so its error is that of the labels of the template.
    if !selects_template(spec) {
        errors.push(no_match(spec));
    }

    if found.as_ref().is_some_and(selector::is_empty) {
        let shown = shown::json("LabelSelector", spec.get("selector"));
        errors.push(shown::invalid(
            spec.at("selector"),
            &shown,
            "empty selector is invalid for daemonset",
        ));
    }

    if let Some(template) = spec.child("template") {
        pods::template(&template, errors);
        runs_always(&template, "DaemonSet", errors);
    }
}

/// Checks the strategy of a `Deployment`.
fn deployment_strategy(strategy: &Place<'_>, errors: &mut Errors) {
    // Defaults set `rollingUpdate` for the type `RollingUpdate`, so its absence is an error here.
    let rolling = strategy.child("rollingUpdate");
    match (strategy.text("type"), rolling) {
        ("Recreate", Some(_)) => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            strategy.forbid("rollingUpdate", detail, errors);
        }
        ("Recreate", None) => {}
        ("RollingUpdate", None) => {
            let detail = "this should be defaulted and never be nil";
            strategy.missing("rollingUpdate", detail, errors);
        }
        ("RollingUpdate", Some(rolling)) => {
            for name in ["maxUnavailable", "maxSurge"] {
                number_or_percent(&rolling, name, errors);
            }
            // With both at 0 no pod could be replaced: none may be missing and none may be added.
            if amount(&rolling, "maxUnavailable") == 0 && amount(&rolling, "maxSurge") == 0 {
                let detail = "may not be 0 when `maxSurge` is 0";
                invalid_number(&rolling, "maxUnavailable", detail, errors);
            }
            at_most_all(&rolling, "maxUnavailable", errors);
        }
        _ => errors.push(unsupported_strategy(
            strategy,
            "DeploymentStrategy",
            &["Recreate", "RollingUpdate"],
        )),
    }
}

fn unsupported_strategy(strategy: &Place<'_>, ty: &str, accepted: &[&str]) -> FieldError {
    // The error belongs to the whole strategy, which Go shows as a struct.
    let accepted: Vec<String> = accepted
        .iter()
        .map(|value| format!("\"{value}\""))
        .collect();
    let shown = shown::json(ty, Some(strategy.value));
    let detail = format!("{shown}: supported values: {}", accepted.join(", "));
    FieldError {
        path: strategy.path.clone(),
        kind: FieldErrorKind::NotSupported,
        value: None,
        detail,
    }
}

/// Checks the strategy of a `DaemonSet`.
fn daemon_strategy(strategy: &Place<'_>, errors: &mut Errors) {
    match (strategy.text("type"), strategy.child("rollingUpdate")) {
        ("OnDelete", _) => {}
        ("RollingUpdate", None) => strategy.missing("rollingUpdate", "", errors),
        ("RollingUpdate", Some(rolling)) => {
            const NAMES: [&str; 2] = ["maxUnavailable", "maxSurge"];
            NAMES
                .iter()
                .for_each(|name| number_or_percent(&rolling, name, errors));
            NAMES
                .iter()
                .for_each(|name| at_most_all(&rolling, name, errors));

            // A node gets its new pod either after the old one is gone or beside it, so one of the two must be 0.
            match NAMES.map(|name| amount(&rolling, name) != 0) {
                [true, true] => {
                    invalid_number(
                        &rolling,
                        "maxSurge",
                        "may not be set when maxUnavailable is non-zero",
                        errors,
                    );
                }
                [false, false] => {
                    let detail = "cannot be 0 when maxSurge is 0";
                    rolling.missing("maxUnavailable", detail, errors);
                }
                _ => {}
            }
        }
        _ => {
            let accepted = &["RollingUpdate", "OnDelete"];
            errors.push(unsupported_strategy(
                strategy,
                "DaemonSetUpdateStrategy",
                accepted,
            ));
        }
    }
}

pub(crate) fn stateful_set(set: &Field<'_>, errors: &mut Errors) {
    let field = set.get("spec");
    if let Some(spec) = field.place() {
        // The template of a set that was invalid before is not checked again.
        let was_invalid = field.before().place().is_some_and(|live| {
            let mut found = Vec::new();
            stateful_spec(&live, true, true, &mut found);
            !found.is_empty()
        });
        stateful_spec(&spec, set.is_update(), !was_invalid, errors);
    }

    immutable_selector(set, errors);
    field
        .get("volumeClaimTemplates")
        .immutable_as("PersistentVolumeClaims", errors);
    field.get("serviceName").immutable_text(errors);
    field.get("podManagementPolicy").immutable(errors);
}

/// Checks the spec of a `StatefulSet`.
fn stateful_spec(spec: &Place<'_>, is_update: bool, checks_template: bool, errors: &mut Errors) {
    match spec.text("podManagementPolicy") {
        "" => spec.missing("podManagementPolicy", "", errors),
        "OrderedReady" | "Parallel" => {}
        _ => spec.invalid(
            "podManagementPolicy",
            "must be 'OrderedReady' or 'Parallel'",
            errors,
        ),
    }

    stateful_strategy(spec, errors);
    if let Some(policy) = spec.child("persistentVolumeClaimRetentionPolicy") {
        for name in ["whenDeleted", "whenScaled"] {
            let accepted = &["Retain", "Delete"];
            policy.text_one_of(name, accepted, errors);
        }
    }

    // An update skips what earlier versions of Kubernetes did not check: stored sets must stay updatable, and these
    // fields are immutable.
    if !is_update {
        for template in spec.items("volumeClaimTemplates") {
            claim::template(&template, errors);
        }
    }

    spec.non_negative("replicas", errors);
    spec.non_negative("minReadySeconds", errors);
    if let Some(ordinals) = spec.child("ordinals") {
        ordinals.non_negative("start", errors);
    }
    if !is_update {
        spec.label("serviceName", errors);
    }

    // The template is compared with the selector only if that is valid. It may mount the volumes that the controller
    // adds.
    if required_selector(spec, STATEFUL, errors)
        && checks_template
        && let Some(template) = spec.get("template")
    {
        let template = with_claims(template, spec);
        pods::template(&Place::new(&spec.at("template"), &template), errors);
    }

    if let Some(template) = spec.child("template") {
        runs_always(&template, STATEFUL.of_deadline, errors);
    }
}

/// The template as the controller uses it: with the volumes of the claims, and without names of the host.
fn with_claims(template: &Value, spec: &Place<'_>) -> Value {
    // The controller gives each pod its own host name and subdomain, so those of the template are not checked.
    let map = |value: Option<&Value>| value.and_then(Value::as_map).cloned().unwrap_or_default();
    let pod = map(template.get("spec"));
    let mut edits = vec![("hostname".into(), None), ("subdomain".into(), None)];
    let names: std::collections::BTreeSet<&str> = spec
        .values("volumeClaimTemplates")
        .map(|claim| {
            claim
                .get("metadata")
                .and_then(|metadata| metadata.get("name"))
                .and_then(Value::as_str)
                .unwrap_or_default()
        })
        .collect();

    // A claim replaces the volume of its name. Go takes the claims from a map in random order; here they are sorted.
    if !names.is_empty() {
        let claimed = names.iter().map(|name| {
            let claim = Value::Map(Map::single("claimName", *name));
            Value::Map(
                [
                    ("name", Value::from(*name)),
                    ("persistentVolumeClaim", claim),
                ]
                .into_iter()
                .collect(),
            )
        });
        let name_of = |volume: &Value| {
            volume
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };

        // The other volumes follow the claims, as in the pods that the controller creates.
        let others = pod
            .get("volumes")
            .and_then(Value::as_list)
            .into_iter()
            .flatten();
        let others = others
            .filter(|volume| !names.contains(name_of(volume).as_str()))
            .cloned();
        let volumes: List = claimed.chain(others).collect();
        edits.push(("volumes".into(), Some(Value::List(volumes))));
    }
    let pod = Value::Map(pod.with_edits(edits));

    Value::Map(map(Some(template)).with_edits(vec![("spec".into(), Some(pod))]))
}

fn stateful_strategy(spec: &Place<'_>, errors: &mut Errors) {
    let Some(strategy) = spec.child("updateStrategy") else {
        return;
    };
    let rolling = strategy.child("rollingUpdate");

    // Unlike that of a Deployment, a rolling update of a StatefulSet has no required parameters.
    match (strategy.text("type"), rolling) {
        ("", _) => errors.push(FieldError::required(strategy.path.clone(), "")),
        ("OnDelete", None) | ("RollingUpdate", None) => {}
        ("OnDelete", Some(rolling)) => {
            let shown = shown::json("RollingUpdateStatefulSetStrategy", Some(rolling.value));
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push(shown::invalid(rolling.path, &shown, detail));
        }
        ("RollingUpdate", Some(rolling)) => {
            rolling.non_negative("partition", errors);
            if rolling.get("maxUnavailable").is_some() {
                number_or_percent(&rolling, "maxUnavailable", errors);
                // At 0 no pod could be taken down for its replacement.
                if amount(&rolling, "maxUnavailable") == 0 {
                    rolling.invalid("maxUnavailable", "cannot be 0", errors);
                }
                at_most_all(&rolling, "maxUnavailable", errors);
            }
        }
        _ => {
            let shown = shown::json("StatefulSetUpdateStrategy", Some(strategy.value));
            errors.push(shown::invalid(
                strategy.path,
                &shown,
                "must be 'RollingUpdate' or 'OnDelete'",
            ));
        }
    }
}

/// A number that is absent is zero.
fn invalid_number(place: &Place<'_>, name: &str, detail: &str, errors: &mut Errors) {
    let value = place.get(name).cloned().unwrap_or(Value::Int(0));
    errors.push(FieldError::invalid(place.at(name), value, detail));
}

pub(super) fn number_or_percent(place: &Place<'_>, name: &str, errors: &mut Errors) {
    match place.get(name) {
        Some(Value::String(text)) => {
            if let Err(fault) = syntax::percent(text) {
                place.invalid(name, &fault, errors);
            }
        }
        _ => place.non_negative(name, errors),
    }
}

pub(super) fn at_most_all(place: &Place<'_>, name: &str, errors: &mut Errors) {
    if syntax::percent(place.text(name)).is_ok_and(|percent| percent > 100) {
        place.invalid(name, "must not be greater than 100%", errors);
    }
}

/// A number or a percentage as a number.
fn amount(place: &Place<'_>, name: &str) -> i64 {
    // Callers only compare the number with 0, so a percentage need not be applied to the replicas.
    match place.get(name) {
        Some(Value::String(text)) => syntax::percent(text)
            .or_else(|_| text.parse())
            .unwrap_or_default(),
        _ => place.int(name).unwrap_or_default(),
    }
}

pub(crate) fn revision(revision: &Field<'_>, errors: &mut Errors) {
    revision.get("revision").non_negative(errors);
    let data = revision.get("data");
    // An update does not check the data, which it cannot change.
    match data.value {
        Some(Value::Map(_)) => {}
        _ if revision.is_update() => {}
        None => data.missing("data is mandatory", errors),
        Some(_) => data.missing("data must be a valid JSON object", errors),
    }
    data.immutable(errors);
}
