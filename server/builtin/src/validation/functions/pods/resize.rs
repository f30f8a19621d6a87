//! Updates of the resources of pods.

use fieldmanager_structural::FieldError;
use fieldmanager_value::{Map, Value};

use crate::functions::edit::with_value_of;
use crate::functions::pod;
use crate::place::{Errors, Place};
use crate::validation::functions::field::Field;

/// Checks a pod whose resources were changed, of which the strategy kept everything else.
pub(crate) fn resized_pod(new: &Field<'_>, errors: &mut Errors) {
    let live = new.before();
    let mirror = "kubernetes.io/config.mirror";
    let annotations = live.get("metadata").get("annotations");
    let system = live.get("spec").get("os").get("name");
    // Nothing else about such a pod is reported.
    for (is_fault, detail) in [
        (
            annotations.get(mirror).is_set(),
            "static pods cannot be resized",
        ),
        (system.text() == "windows", "windows pods cannot be resized"),
    ] {
        if is_fault {
            *errors = vec![FieldError::forbidden(new.path.key(""), detail)];
            return;
        }
    }

    let (spec, old) = (new.get("spec"), live.get("spec"));
    let (Some(spec), Some(old)) = (spec.place(), old.place()) else {
        return;
    };
    super::spec::metadata_and_spec(new, &spec, errors);
    let class = new.get("status").get("qosClass");
    // The class of a pod that has none yet follows from its spec.
    let known = live.get("status").get("qosClass");
    let known = known.value.and_then(Value::as_str);
    if new.value.map(pod::quality) != known.or_else(|| live.value.map(pod::quality)) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid(spec.path.clone(), class.text(), detail));
    }

    // A node that does not support this reports no resources of its containers.
    let statuses = live.get("status").get("containerStatuses");
    let mut running = statuses
        .items()
        .filter(|status| status.get("state").get("running").is_set());
    if running
        .next()
        .is_some_and(|status| !status.get("resources").is_set())
    {
        let detail = "Pod running on node without support for resize";
        errors.push(FieldError::forbidden(spec.path.clone(), detail));
    }

    pod_level(&spec, &old, errors);
    if !same_containers(&spec, &old, errors) {
        return;
    }
    for list in ["initContainers", "containers"] {
        for (container, old) in spec.items(list).zip(old.items(list)) {
            removed(
                &container,
                &old,
                ["resource requests", "resource limits"],
                errors,
            );
        }
    }
    changed_containers(&spec, &old, errors);
}

fn pod_level(spec: &Place<'_>, old: &Place<'_>, errors: &mut Errors) {
    let names = ["pod-level resource requests", "pod-level resource limits"];
    removed(spec, old, names, errors);
    let kept = without_compute(spec.value, old.value);
    if kept.get("resources") != normal(old.value).get("resources") {
        let detail = "only cpu and memory resources are mutable at pod-level";
        errors.push(FieldError::forbidden(spec.path.clone(), detail));
    }
}

/// Checks that neither requests nor limits are removed.
fn removed(new: &Place<'_>, old: &Place<'_>, names: [&str; 2], errors: &mut Errors) {
    for (member, shown) in ["requests", "limits"].into_iter().zip(names) {
        let has = |name: &str| entries(new.value, member).contains(name);
        if !entries(old.value, member).iter().all(|(name, _)| has(name)) {
            let path = new.at("resources").child(member);
            let detail = format!("{shown} cannot be removed");
            errors.push(FieldError::forbidden(path, detail));
        }
    }
}

fn entries(holder: &Value, member: &str) -> Map {
    let entries = holder.get("resources").and_then(|own| own.get(member));
    entries.and_then(Value::as_map).cloned().unwrap_or_default()
}

fn same_containers(spec: &Place<'_>, old: &Place<'_>, errors: &mut Errors) -> bool {
    let before = errors.len();
    for list in ["containers", "initContainers"] {
        if spec.len(list) != old.len(list) {
            let detail = format!("{list} may not be added or removed on resize");
            spec.forbid(list, &detail, errors);
            continue;
        }
        for (container, old) in spec.items(list).zip(old.items(list)) {
            let detail = format!("{list} may not be renamed or reordered on resize");
            container.forbid_if(
                container.text("name") != old.text("name"),
                "name",
                &detail,
                errors,
            );
        }
    }
    errors.len() == before
}

fn changed_containers(spec: &Place<'_>, old: &Place<'_>, errors: &mut Errors) {
    for (container, old) in spec.items("containers").zip(old.items("containers")) {
        if without_compute(container.value, old.value) != normal(old.value) {
            let detail = "only cpu and memory resources are mutable";
            errors.push(FieldError::forbidden(spec.path.clone(), detail));
        }
    }

    for (container, old) in spec
        .items("initContainers")
        .zip(old.items("initContainers"))
    {
        let mut forbid = |detail: &str| {
            errors.push(FieldError::forbidden(container.path.clone(), detail));
        };
        if without_compute(container.value, old.value) != normal(old.value) {
            forbid("only cpu and memory resources for init or sidecar containers are mutable");
        }
        // An init container that is no sidecar ends, so it is not restarted for new resources.
        let is_changed = normal(container.value) != normal(old.value);
        if is_changed && container.text("restartPolicy") != "Always" {
            for policy in container.items("resizePolicy") {
                if policy.text("restartPolicy") == "RestartContainer" {
                    forbid(
                        "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
                    );
                }
            }
        }
    }
}

/// A container or spec with the requests and limits of CPU and memory of another one.
fn without_compute(new: &Value, old: &Value) -> Value {
    let mut out = new.clone();
    for member in ["requests", "limits"] {
        let old = entries(old, member);
        let compute = ["cpu", "memory"].map(|name| (name.into(), old.get(name).cloned()));
        let kept = entries(new, member).with_edits(compute.into());
        out = with_value_of(
            &out,
            &format!("resources.{member}"),
            Some(&Value::Map(kept)),
        );
    }
    normal(&out)
}

/// A container or spec without empty requests and limits, which Go does not tell from absent ones.
fn normal(holder: &Value) -> Value {
    let mut out = holder.clone();
    for member in ["resources.requests", "resources.limits", "resources"] {
        let at = crate::functions::edit::at(&out, member);
        if at.and_then(Value::as_map).is_some_and(Map::is_empty) {
            out = with_value_of(&out, member, None);
        }
    }
    out
}
