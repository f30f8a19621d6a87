//! Updates of pods, which may change little.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::FieldError;
use fieldmanager_value::{List, Str, Value};

use super::annotations::{self, Annotations};
use super::scheduling;
use crate::place::{Errors, Place};
use crate::validation::functions::field::Field;
use crate::{diff, shown};

/// Checks the change of a spec.
pub(super) fn spec(spec: &Place<'_>, live: &Place<'_>, errors: &mut Errors) {
    // Images are compared by position below, so the number of containers must stay the same.
    for list in ["containers", "initContainers"] {
        if spec.len(list) != live.len(list) {
            spec.forbid(list, "pod updates may not add or remove containers", errors);
            return;
        }
        for container in spec.items(list) {
            container.require("image", "", errors);
            super::container::image_without_space(&container, errors);
        }
    }

    // Kubernetes stops at a faulty deadline.
    if !deadline(spec, live, errors) {
        return;
    }
    scheduling::added_tolerations(spec, live, spec.at("tolerations"), errors);
    added_gates(spec, live, errors);
    // The new spec gets back the live values of everything that may change; what then differs is forbidden.
    let mut kept = with_images(spec.value, live.value);
    for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        kept = with(&kept, name, live.get(name));
    }

    // A negative period is from earlier versions of Kubernetes and may be corrected.
    if live
        .int("terminationGracePeriodSeconds")
        .is_some_and(|seconds| seconds < 0)
        && spec.int("terminationGracePeriodSeconds") == Some(1)
    {
        kept = with(
            &kept,
            "terminationGracePeriodSeconds",
            live.get("terminationGracePeriodSeconds"),
        );
    }

    // A pod with gates is not scheduled yet, so its choice of nodes may still be narrowed.
    if live.len("schedulingGates") > 0 {
        kept = gated(&kept, spec, live, errors);
    }
    if kept != *live.value {
        let detail = "pod updates may not change fields other than `spec.containers[*].image`,\
                      `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                      existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                      previously negative)";
        let difference = difference("PodSpec", live.value, &kept);
        errors.push(FieldError::forbidden(
            spec.path.clone(),
            format!("{detail}\n{difference}"),
        ));
    }
}

fn difference(ty: &str, old: &Value, new: &Value) -> String {
    diff::unified(
        &shown::pretty_json(ty, Some(old)),
        &shown::pretty_json(ty, Some(new)),
    )
}

/// Checks the change of the deadline, and returns whether the other checks follow.
fn deadline(spec: &Place<'_>, live: &Place<'_>, errors: &mut Errors) -> bool {
    const NAME: &str = "activeDeadlineSeconds";
    // The deadline may be set and shortened, but neither extended nor removed.
    match (spec.int(NAME), live.int(NAME)) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            spec.in_range(NAME, 0, i64::from(i32::MAX), errors);
            false
        }
        (Some(new), Some(old)) if old < new => {
            spec.invalid(NAME, "must be less than or equal to previous value", errors);
            false
        }
        (None, Some(_)) => {
            spec.invalid(
                NAME,
                "must not update from a positive integer to nil value",
                errors,
            );
            true
        }
        _ => true,
    }
}

fn added_gates(spec: &Place<'_>, live: &Place<'_>, errors: &mut Errors) {
    let old: BTreeSet<&str> = live
        .values("schedulingGates")
        .filter_map(|gate| gate.get("name")?.as_str())
        .collect();

    // Of gates that occur again, the last one counts.
    let last: BTreeMap<&str, Place<'_>> = spec
        .items("schedulingGates")
        .map(|gate| (gate.text("name"), gate))
        .collect();
    for gate in spec.items("schedulingGates") {
        let name = gate.text("name");
        let is_last = last.get(name).is_some_and(|last| last.path == gate.path);
        if is_last && !old.contains(name) {
            let detail =
                format!("only deletion is allowed, but found new scheduling gate '{name}'");
            gate.forbid("name", &detail, errors);
        }
    }
}

/// A spec with the parts that may change while the pod has scheduling gates as they were: the selector of nodes may get
/// more entries, and the affinity to nodes more terms.
fn gated(kept: &Value, spec: &Place<'_>, live: &Place<'_>, errors: &mut Errors) -> Value {
    // Added entries narrow the choice of nodes; changed or removed ones would widen it.
    let (new, old) = (spec.map("nodeSelector"), live.map("nodeSelector"));
    let is_kept = |(key, value)| new.and_then(|new| new.get(key)) == Some(value);
    if !old
        .into_iter()
        .flatten()
        .all(|(key, value)| is_kept((key.as_str(), value)))
    {
        let shown = spec.get("nodeSelector").cloned().unwrap_or_default();
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(FieldError::invalid(spec.at("nodeSelector"), shown, detail));
    }

    let kept = with(kept, "nodeSelector", live.get("nodeSelector"));
    let of_nodes = |place: &Place<'_>| {
        place
            .get("affinity")
            .and_then(|affinity| affinity.get("nodeAffinity"))
            .cloned()
    };
    let (new, old) = (of_nodes(spec), of_nodes(live));
    if new == old {
        return kept;
    }
    node_terms(spec, live, errors);

    let affinity = spec
        .get("affinity")
        .cloned()
        .unwrap_or_else(|| Value::Map(Default::default()));
    let affinity = with(&affinity, "nodeAffinity", old.as_ref());
    // If the live pod has no affinity, one that is empty without its rules for nodes is left out again.
    let is_empty = affinity.as_map().is_none_or(|map| map.is_empty());
    with(
        &kept,
        "affinity",
        Some(&affinity).filter(|_| !is_empty || live.get("affinity").is_some()),
    )
}

/// Checks that the terms that select nodes are narrowed: each of them, of which one has to hold, may get more conditions.
fn node_terms(spec: &Place<'_>, live: &Place<'_>, errors: &mut Errors) {
    const LIST: &str = "nodeSelectorTerms";
    // A pod without such terms may get any.
    let Some(old) = required_nodes(live).filter(|old| old.len(LIST) > 0) else {
        return;
    };

    let new = required_nodes(spec).filter(|new| new.len(LIST) == old.len(LIST));
    let Some(new) = new else {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let all = required_nodes(spec).and_then(|new| new.get(LIST));
        let shown = shown::json("NodeSelectorTerms", all);
        errors.push(shown::invalid(old.at(LIST), &shown, detail));
        return;
    };
    for (new, old) in new.items(LIST).zip(old.items(LIST)) {
        if !is_narrower(&new, &old) {
            let detail = "only additions are allowed (no mutations or deletions)";
            let shown = shown::json("NodeSelectorTerm", Some(new.value));
            errors.push(shown::invalid(new.path, &shown, detail));
        }
    }
}

/// The terms that select the nodes of a pod.
fn required_nodes<'v>(spec: &Place<'v>) -> Option<Place<'v>> {
    let affinity = spec.child("affinity")?.child("nodeAffinity")?;
    affinity.child("requiredDuringSchedulingIgnoredDuringExecution")
}

/// Whether a term starts with the conditions of the live one, which has some: an empty one selects nothing.
fn is_narrower(new: &Place<'_>, old: &Place<'_>) -> bool {
    let lists = ["matchExpressions", "matchFields"];
    let is_empty = |term: &Place<'_>| lists.iter().all(|list| term.len(list) == 0);
    let starts = |list: &&str| {
        let kept = new.values(list).zip(old.values(list));
        new.len(list) >= old.len(list) && kept.into_iter().all(|(new, old)| new == old)
    };
    if is_empty(old) {
        is_empty(new)
    } else {
        lists.iter().all(starts)
    }
}

/// A map with another value of a field.
fn with(map: &Value, name: &str, value: Option<&Value>) -> Value {
    let map = map.as_map().cloned().unwrap_or_default();
    Value::Map(map.with_edits(vec![(Str::from(name), value.cloned())]))
}

/// A spec with the images of another one.
fn with_images(spec: &Value, live: &Value) -> Value {
    let mut out = spec.clone();
    for list in ["containers", "initContainers"] {
        let items = |spec: &Value| {
            spec.get(list)
                .and_then(Value::as_list)
                .cloned()
                .unwrap_or_default()
        };
        let (new, old) = (items(spec), items(live));

        if !new.is_empty() {
            // The caller has checked that both lists have the same length.
            let changed: List = new
                .iter()
                .zip(old.iter())
                .map(|(new, old)| with(new, "image", old.get("image")))
                .collect();
            out = with(&out, list, Some(&Value::List(changed)));
        }
    }

    out
}

/// Checks a pod whose ephemeral containers were changed: none is removed or changed.
pub(crate) fn ephemeral_containers(pod: &Field<'_>, errors: &mut Errors) {
    let spec = pod.get("spec");
    let (Some(new), Some(old)) = (spec.place(), spec.before().place()) else {
        return;
    };
    super::spec::metadata_and_spec(pod, &new, errors);
    annotations::changes(pod, errors);
    // Nothing else about the pod of a kubelet is reported.
    if Annotations::of(&pod.before()).is_mirror() {
        let detail = "static pods do not support ephemeral containers";
        *errors = vec![FieldError::forbidden(pod.path.key(""), detail)];
        return;
    }
    let name_of = |container: &Value| {
        container
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };

    // Containers are compared by name, so an update may reorder them.
    let by_name: BTreeMap<String, &Value> = new
        .values("ephemeralContainers")
        .map(|container| (name_of(container), container))
        .collect();
    for container in old.values("ephemeralContainers") {
        let name = name_of(container);
        let detail = match by_name.get(&name) {
            None => format!("existing ephemeral containers \"{name}\" may not be removed\n"),
            Some(new) if *new != container => {
                let difference = difference("EphemeralContainer", container, new);
                format!("existing ephemeral containers \"{name}\" may not be changed\n{difference}")
            }
            Some(_) => continue,
        };
        new.forbid("ephemeralContainers", &detail, errors);
    }
}
