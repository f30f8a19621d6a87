//! Functions of the rules of pods.

use std::collections::BTreeMap;

use fieldmanager_value::{List, Map, Value};

use super::edit::{at, list, text, with, with_value_of};
use crate::amount::Amount;
use crate::table::{Edit, Path};

/// A pod with scheduling gates is not scheduled.
pub(super) fn scheduling_gated(pod: &Value) -> Option<Value> {
    list(at(pod, "spec.schedulingGates")).next()?;

    // The registry reads the clock here; the time of creation is the same.
    let now = at(pod, "metadata.creationTimestamp")
        .cloned()
        .unwrap_or_default();
    let condition: Map = [
        ("lastProbeTime", Value::Null),
        ("lastTransitionTime", now),
        (
            "message",
            "Scheduling is blocked due to non-empty scheduling gates".into(),
        ),
        ("reason", "SchedulingGated".into()),
        ("status", "False".into()),
        ("type", "PodScheduled".into()),
    ]
    .into_iter()
    .collect();

    with(pod, "status.conditions", vec![Value::Map(condition)])
}

/// The prefix of annotations with the AppArmor profiles of containers.
pub(crate) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Containers with an annotation get its AppArmor profile, unless that of the pod is the same.
pub(super) fn app_armor_profiles(pod: &Value) -> Option<Value> {
    const PROFILE: &str = "securityContext.appArmorProfile";
    let annotations = at(pod, "metadata.annotations")?;
    if text(pod, "spec.os.name") == "windows" {
        return None;
    }

    let of_pod = at(pod, &format!("spec.{PROFILE}"));
    let with_profile = |container: Option<&Value>| {
        let container = container?;
        let key = format!("{APP_ARMOR}{}", text(container, "name"));
        let profile = app_armor_profile(annotations.get(&key)?.as_str()?)?;
        let is_needed = at(container, PROFILE).is_none() && of_pod != Some(&profile);
        is_needed.then(|| with_value_of(container, PROFILE, Some(&profile)))
    };
    let mut out = pod.clone();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let edit =
            |container: Option<&Value>| with_profile(container).map_or(Edit::Keep, Edit::Set);
        let path = Path::parse(&format!("spec.{list}[]"));
        out = path.edit(&out, false, &mut { edit }).unwrap_or(out);
    }
    Some(out)
}

/// The profile of an annotation; `None` if it is faulty.
fn app_armor_profile(annotation: &str) -> Option<Value> {
    const MOST_BYTES: usize = 4095;
    let ty = |ty: &str| Map::single("type", ty);
    Some(Value::Map(match annotation {
        "unconfined" => ty("Unconfined"),
        "runtime/default" => ty("RuntimeDefault"),
        other => {
            let local = other.strip_prefix("localhost/")?;
            let is_valid = !local.is_empty() && local.trim() == local && local.len() <= MOST_BYTES;
            let name = is_valid.then(|| Value::from(local));
            ty("Localhost").with_edits(vec![("localhostProfile".into(), Some(name?))])
        }
    }))
}

/// The values of labels that affinity terms and spread constraints name are added to their selectors.
pub(super) fn match_label_keys(pod: &Value) -> Option<Value> {
    let labels = at(pod, "metadata.labels");
    let mut out = pod.clone();
    // The keys become part of the selectors when the pod is created: later changes of its labels have no effect.
    for path in [
        "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm",
        "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[]",
        "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm",
        "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[]",
        "spec.topologySpreadConstraints[]",
    ] {
        let edit = |term: Option<&Value>| match term.and_then(|term| with_label_keys(term, labels))
        {
            Some(term) => Edit::Set(term),
            None => Edit::Keep,
        };
        out = Path::parse(path)
            .edit(&out, false, &mut { edit })
            .unwrap_or(out);
    }

    Some(out)
}

fn with_label_keys(term: &Value, labels: Option<&Value>) -> Option<Value> {
    let selector = at(term, "labelSelector")?;
    let mut added = Vec::new();
    for (member, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in list(at(term, member)).filter_map(Value::as_str) {
            // A key without a label of the pod adds nothing.
            let Some(value) = labels.and_then(|labels| labels.get(key)) else {
                continue;
            };
            let members = [
                ("key", Value::from(key)),
                ("operator", operator.into()),
                ("values", vec![value.clone()].into()),
            ];
            added.push(Value::Map(members.into_iter().collect()));
        }
    }

    if added.is_empty() {
        return None;
    }
    let old = at(selector, "matchExpressions")
        .and_then(Value::as_list)
        .cloned()
        .unwrap_or_default();

    with(
        term,
        "labelSelector.matchExpressions",
        Value::List(old.with_edits(Vec::new(), added)),
    )
}

#[derive(Clone, Copy, PartialEq)]
enum Quality {
    BestEffort,
    Burstable,
    Guaranteed,
}

/// The quality of service of a pod, by its requests and limits of CPU and memory.
pub(super) fn qos_class(pod: &Value) -> Option<Value> {
    with(pod, "status.qosClass", quality(pod))
}

/// The name of the quality of service that follows from the spec of a pod.
pub(crate) fn quality(pod: &Value) -> &'static str {
    match of_pod(pod) {
        Quality::BestEffort => "BestEffort",
        Quality::Burstable => "Burstable",
        Quality::Guaranteed => "Guaranteed",
    }
}

fn of_pod(pod: &Value) -> Quality {
    // Resources of the pod as a whole take precedence over those of its containers.
    if let Some(resources) = at(pod, "spec.resources").filter(|resources| is_set(resources)) {
        return of_requirements(Some(resources));
    }
    let containers = list(at(pod, "spec.initContainers")).chain(list(at(pod, "spec.containers")));
    combined(containers.map(|container| of_requirements(at(container, "resources"))))
}

/// Whether resources of a pod have an entry that a pod may have.
fn is_set(resources: &Value) -> bool {
    let is_supported =
        |name: &str| matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
    ["limits", "requests"].iter().any(|member| {
        let entries = at(resources, member).and_then(Value::as_map);
        entries.is_some_and(|entries| entries.iter().any(|(name, _)| is_supported(name)))
    })
}

fn of_requirements(resources: Option<&Value>) -> Quality {
    let entries = |member: &str| {
        resources
            .and_then(|resources| at(resources, member))
            .and_then(Value::as_map)
    };
    let (requests, limits) = (entries("requests"), entries("limits"));
    if requests.is_none_or(Map::is_empty) && limits.is_none_or(Map::is_empty) {
        return Quality::BestEffort;
    }

    // A pod is guaranteed only if requests equal limits for both resources, and both are set.
    let amount = |entries: Option<&Map>, name: &str| {
        let text = entries
            .and_then(|entries| entries.get(name))
            .and_then(Value::as_str);
        text.and_then(Amount::parse).unwrap_or_default()
    };
    combined(["cpu", "memory"].iter().map(|name| {
        match (amount(requests, name), amount(limits, name)) {
            (request, limit) if request != limit => Quality::Burstable,
            (request, _) if request.is_zero() => Quality::BestEffort,
            _ => Quality::Guaranteed,
        }
    }))
}

fn combined(mut qualities: impl Iterator<Item = Quality>) -> Quality {
    let Some(first) = qualities.next() else {
        return Quality::BestEffort;
    };
    if qualities.all(|quality| quality == first) {
        first
    } else {
        Quality::Burstable
    }
}

/// A status keeps the generations that were observed, if the request has none.
pub(super) fn observed_generation(pod: &Value, live: Option<&Value>) -> Option<Value> {
    let live = live?;
    let generation = |value: &Value| {
        at(value, "observedGeneration")
            .and_then(Value::as_i64)
            .filter(|generation| *generation != 0)
    };
    let mut out = pod.clone();
    let new_status = at(pod, "status")?;

    // Older clients do not know the field: a status without it keeps the observed generation.
    if generation(new_status).is_none()
        && let Some(old) = at(live, "status").and_then(generation)
    {
        out = with(&out, "status.observedGeneration", old)?;
    }

    // Conditions are matched by type; those of one type pair up in their order.
    let mut old: BTreeMap<&str, std::collections::VecDeque<Option<i64>>> = BTreeMap::new();
    for condition in list(at(live, "status.conditions")) {
        old.entry(text(condition, "type"))
            .or_default()
            .push_back(generation(condition));
    }

    let edit = |condition: Option<&Value>| {
        let Some(condition) = condition else {
            return Edit::Keep;
        };
        let kept = old
            .get_mut(text(condition, "type"))
            .and_then(std::collections::VecDeque::pop_front)
            .flatten();

        match (generation(condition), kept) {
            (None, Some(kept)) => {
                with(condition, "observedGeneration", kept).map_or(Edit::Keep, Edit::Set)
            }
            _ => Edit::Keep,
        }
    };

    let mut edit = edit;
    Some(
        Path::parse("status.conditions[]")
            .edit(&out, false, &mut edit)
            .unwrap_or(out),
    )
}

/// The metadata that an update of a subresource cannot change.
fn with_live_metadata(pod: &Value, live: &Value) -> Value {
    let mut out = pod.clone();
    for name in [
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ] {
        let path = format!("metadata.{name}");
        out = with_value_of(&out, &path, at(live, &path));
    }

    out
}

pub(super) fn only_ephemeral_containers(pod: &Value, live: Option<&Value>) -> Option<Value> {
    let live = live?;
    let containers = at(pod, "spec.ephemeralContainers").cloned();
    let mut out = with_live_metadata(pod, live);
    out = with_value_of(&out, "spec", live.get("spec"));
    out = with_value_of(&out, "status", live.get("status"));
    Some(with_value_of(
        &out,
        "spec.ephemeralContainers",
        containers.as_ref(),
    ))
}

/// Resources and resize policies of containers are those of the request, and everything else that of the live pod.
/// A request that adds, removes or renames containers is left to validation.
pub(super) fn only_resources(pod: &Value, live: Option<&Value>) -> Option<Value> {
    let live = live?;
    const LISTS: [&str; 2] = ["spec.containers", "spec.initContainers"];
    let length = |pod: &Value, path: &str| list(at(pod, path)).count();
    let mut out = pod.clone();

    // With containers added or removed there is no counterpart to keep, so validation sees the request unchanged.
    if LISTS
        .iter()
        .all(|path| length(pod, path) == length(live, path))
    {
        out = with_live_metadata(&out, live);
        out = with_value_of(&out, "spec", live.get("spec"));
        out = with_value_of(&out, "status", live.get("status"));
        out = with_value_of(&out, "spec.resources", at(pod, "spec.resources"));

        // Containers are matched by position, which is safe only if the names agree.
        for path in LISTS {
            let pairs = || list(at(pod, path)).zip(list(at(live, path)));
            let containers: List =
                if pairs().all(|(new, old)| text(new, "name") == text(old, "name")) {
                    pairs().map(|(new, old)| resized(new, old)).collect()
                } else {
                    list(at(pod, path)).cloned().collect()
                };
            if !containers.is_empty() {
                out = with_value_of(&out, path, Some(&Value::List(containers)));
            }
        }
    }

    // A request without resources of the pod does not remove them.
    if at(&out, "spec.resources").is_none() {
        out = with_value_of(&out, "spec.resources", at(live, "spec.resources"));
    }
    Some(out)
}

fn resized(new: &Value, old: &Value) -> Value {
    let kept = with_value_of(old, "resources", new.get("resources"));
    with_value_of(&kept, "resizePolicy", new.get("resizePolicy"))
}
