//! LimitRanger: defaults of containers and limits of containers, Pods and claims.
//!
//! Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/limitranger/admission.go`.

use std::cmp::Ordering;

use fieldmanager_structural::internal::Quantity;
use fieldmanager_value::{Map, Value};

use super::amounts::{Amounts, asked, quantity, specified};
use super::object::{at, containers, entries, items, set, text};
use super::plugin::PluginSteps::Both;
use super::plugin::{Plugin, is_write};
use crate::{AdmissionAnswer, AdmissionOperation, AdmissionRequest, Admitted, Cluster, Denial};

/// The plugin.
pub(super) const LIMIT_RANGER: Plugin = Plugin {
    name: "LimitRanger",
    handles,
    steps: Both(mutate, validate),
};

/// The largest number whose thousandths are compared.
const MOST_EXACT: i128 = (i64::MAX / 1000) as i128;

fn handles(request: &AdmissionRequest<'_>) -> bool {
    // An object that is being deleted must stay writable, or its finalizers could not be removed.
    let is_kept = request
        .old_field(&["metadata", "deletionTimestamp"])
        .is_null();
    is_kept
        && match (request.group, request.resource, request.subresource) {
            ("", "pods", "resize") => request.operation == AdmissionOperation::Update,
            ("", "pods", "") => request.operation == AdmissionOperation::Create,
            ("", "persistentvolumeclaims", "") => is_write(request),
            _ => false,
        }
}

fn mutate<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let Some(pod) = request.object.filter(|_| request.resource == "pods") else {
            return Ok(Admitted::default());
        };
        let ranges = cluster.list(("", "limitranges"), request.namespace).await?;
        let mut changed = None;
        for range in ranges.iter() {
            let of_range = with_defaults(changed.as_ref().unwrap_or(pod), range);
            changed = of_range.or(changed);
        }

        Ok(changed.map(Admitted::changed).unwrap_or_default())
    })
}

/// A Pod whose containers have the defaults of a LimitRange; `None` if they need none.
fn with_defaults(pod: &Value, range: &Value) -> Option<Value> {
    let defaults = |field: &str| -> Map {
        let limits = items(range, &["spec", "limits"]);
        let limits = limits.filter(|limit| text(limit, &["type"]) == "Container");
        let defaults = limits.flat_map(|limit| entries(limit, &[field]));
        defaults
            .map(|(name, amount)| (name, amount.clone()))
            .collect()
    };
    let sides = [
        ("requests", "request", defaults("defaultRequest")),
        ("limits", "limit", defaults("default")),
    ];

    // The annotation tells users where resources come from that they did not write.
    let (mut pod, mut notes) = (pod.clone(), Vec::new());
    let lists = [
        ("containers", "container"),
        ("initContainers", "init container"),
    ];
    for (list, prefix) in lists {
        let mut changed = Vec::new();
        for container in items(&pod, &["spec", list]) {
            let mut container = container.clone();
            for (side, word, defaults) in &sides {
                let path = ["resources", *side];
                let names = defaults.iter().map(|(name, _)| name.as_str());
                let own = at(&container, &path);
                let missing: Vec<&str> = names.filter(|name| own.get(name).is_none()).collect();
                if !missing.is_empty() {
                    let name = text(&container, &["name"]);
                    notes.push(format!("{} {word} for {prefix} {name}", missing.join(", ")));
                    // The own amounts come last, so that they win over the defaults.
                    let all = defaults.iter().chain(entries(own, &[]));
                    let all: Map = all.map(|(name, own)| (name, own.clone())).collect();
                    container = set(&container, &path, all);
                }
            }
            changed.push(container);
        }
        if !changed.is_empty() {
            pod = set(&pod, &["spec", list], changed);
        }
    }

    let note = format!("LimitRanger plugin set: {}", notes.join("; "));
    let path = ["metadata", "annotations", "kubernetes.io/limit-ranger"];
    (!notes.is_empty()).then(|| set(&pod, &path, note))
}

fn validate<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let object = request.field(&[]);
        for range in &*cluster.list(("", "limitranges"), request.namespace).await? {
            let mut faults = Vec::new();
            for limit in items(range, &["spec", "limits"]) {
                check(&request, object, limit, &mut faults);
            }
            refuse(&request, faults)?;
        }
        Ok(Admitted::default())
    })
}

/// Refuses a request for its faults, each of which is named once.
fn refuse(request: &AdmissionRequest<'_>, mut faults: Vec<String>) -> Result<(), Denial> {
    let mut seen = std::collections::BTreeSet::new();
    // Two containers with the same fault would repeat the sentence.
    faults.retain(|fault| seen.insert(fault.clone()));
    match &*faults {
        [] => Ok(()),
        [fault] => Err(request.forbidden(fault)),
        _ => Err(request.forbidden(&format!("[{}]", faults.join(", ")))),
    }
}

/// The fields with bounds, their names in messages, and the order of amounts that are wrong.
const BOUNDS: [(&str, &str, Ordering); 2] = [
    ("min", "minimum", Ordering::Less),
    ("max", "maximum", Ordering::Greater),
];
const SIDES: [&str; 2] = ["requests", "limits"];

/// Adds what is wrong with an object for one limit of a LimitRange.
fn check(request: &AdmissionRequest<'_>, object: &Value, limit: &Value, faults: &mut Vec<String>) {
    let of_container = |container| SIDES.map(|side| asked(container, side));
    let kind = text(limit, &["type"]);
    // A limit of another type than the object has nothing to say about it.
    let limited: Vec<[Amounts; 2]> = match (request.resource, kind) {
        ("pods", "Container") => containers(object).map(of_container).collect(),
        ("pods", "Pod") => vec![SIDES.map(|side| specified(object, side))],
        ("persistentvolumeclaims", "PersistentVolumeClaim") => {
            vec![[asked(at(object, &["spec"]), "requests"), Amounts::new()]]
        }
        _ => Vec::new(),
    };

    for [requests, limits] in &limited {
        let of = |name: &str| {
            let (request, limit) = (requests.get(name), limits.get(name));
            [("request", request.copied()), ("limit", limit.copied())]
        };
        for (field, word, wrong) in BOUNDS {
            for (name, edge) in entries(limit, &[field]) {
                let mut sides = of(name);
                // A maximum is first of all one of the limit: without a limit a container may use
                // everything.
                if request.resource == "pods" && field == "max" {
                    sides.reverse();
                }
                let head = format!("{word} {name} usage per {kind} is");
                faults.extend(bound(&head, edge, wrong, sides));
            }
        }
        for (name, most) in entries(limit, &["maxLimitRequestRatio"]) {
            let head = format!("{name} max limit to request ratio per {kind} is");
            let [(_, asked), (_, limit)] = of(name);
            faults.extend(ratio(&head, most, asked, limit));
        }
    }
}

/// The fault of amounts that are on the wrong side of a bound; the first of them must be there.
fn bound(
    head: &str,
    bound: &Value,
    wrong: Ordering,
    sides: [(&str, Option<Quantity>); 2],
) -> Option<String> {
    let enforced = quantity(bound)?;
    let [(first, required), (_, other)] = sides;
    if required.is_none() {
        return Some(format!("{head} {enforced}.  No {first} is specified"));
    }

    // All three in one unit: rounding one of them differently would decide by the rounding.
    let [a, b, limit] = scaled([required, other, Some(enforced)]);
    let mut sides = sides.into_iter().zip([a, b]);
    sides.find_map(|((word, amount), scaled)| {
        let amount = amount.filter(|_| scaled.cmp(&limit) == wrong)?;
        Some(format!("{head} {enforced}, but {word} is {amount}"))
    })
}

/// The numbers of amounts, in thousandths unless one is too large, both rounded up.
///
/// Behaviour: `requestLimitEnforcedValues`.
fn scaled(amounts: [Option<Quantity>; 3]) -> [i128; 3] {
    let parts = |unit: i128| {
        amounts.map(|amount| {
            let nanos = amount.map_or(0, |amount| amount.nanos);
            nanos.div_euclid(unit) + i128::from(nanos.rem_euclid(unit) != 0)
        })
    };
    let whole = parts(1_000_000_000);
    if whole.iter().all(|number| *number <= MOST_EXACT) {
        parts(1_000_000)
    } else {
        whole
    }
}

/// The fault of a limit that is too large for its request.
fn ratio(
    head: &str,
    most: &Value,
    request: Option<Quantity>,
    limit: Option<Quantity>,
) -> Option<String> {
    let enforced = quantity(most)?;
    let [asked, allowed, _] = scaled([request, limit, Some(enforced)]);
    let missing =
        |word: &str| format!("{head} {enforced}, but no {word} is specified or {word} is 0");
    // Without both there is no ratio, so nothing shows that the limit is kept.
    if asked == 0 {
        return Some(missing("request"));
    } else if allowed == 0 {
        return Some(missing("limit"));
    }

    // Floating point as in kube-apiserver, so that the same edge cases pass.
    let ratio = allowed as f64 / asked as f64;
    let most = (enforced.nanos + 999_999) / 1_000_000;
    let is_more = ratio * 1000.0 > most as f64;
    is_more.then(|| format!("{head} {enforced}, but provided ratio is {ratio:.6}"))
}
