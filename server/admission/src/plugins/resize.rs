//! Plugins about the resize of Pods on nodes: NodeDeclaredFeatureValidator, PodResizeValidator.

use fieldmanager_managedfields::Cause;
use fieldmanager_structural::internal::Quantity;
use fieldmanager_value::Value;

use super::amounts::{amounts, are_equal, quantity, total};
use super::object::{at, entries, items, name, text};
use super::plugin::Plugin;
use super::plugin::PluginSteps::Validate;
use crate::{AdmissionAnswer, AdmissionOperation, AdmissionRequest, Admitted, Cluster, Denial};

/// What a change of a Pod needs must be a feature of its node.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/nodedeclaredfeatures/admission.go`, with the features of
/// `k8s.io/component-helpers/nodedeclaredfeatures` that are on and concern updates.
pub(super) const NODE_DECLARED_FEATURE_VALIDATOR: Plugin = Plugin {
    name: "NodeDeclaredFeatureValidator",
    handles: |request| changes_bound_pod(request, &["", "resize"]),
    steps: Validate(check_features),
};

/// A Pod that is resized must fit its node.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/podresize/admission.go`.
pub(super) const POD_RESIZE_VALIDATOR: Plugin = Plugin {
    name: "PodResizeValidator",
    handles: |request| changes_bound_pod(request, &["resize"]),
    steps: Validate(check_size),
};

/// The features that a change of the resources of a Pod, and of its init containers, needs.
const FEATURES: [&str; 2] = [
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
];

/// Whether a request changes the spec of a Pod that has a node.
fn changes_bound_pod(request: &AdmissionRequest<'_>, subresources: &[&str]) -> bool {
    let generation = ["metadata", "generation"];
    (request.group, request.resource) == ("", "pods")
        && subresources.contains(&request.subresource)
        && request.operation == AdmissionOperation::Update
        && !text(request.field(&[]), &["spec", "nodeName"]).is_empty()
        && request.field(&generation) != request.old_field(&generation)
}

/// The node of the Pod.
async fn node(request: &AdmissionRequest<'_>, cluster: &dyn Cluster) -> Result<Value, Denial> {
    let name = text(request.field(&[]), &["spec", "nodeName"]);
    let node = cluster.get(("", "nodes"), "", name).await?;
    node.ok_or_else(|| request.forbidden(&format!("node {name:?} not found")))
}

fn check_features<'a>(
    request: AdmissionRequest<'a>,
    cluster: &'a dyn Cluster,
) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let (new, old) = (request.field(&["spec"]), request.old_field(&["spec"]));
        let stays = |new: &Value, old: &Value| {
            ["requests", "limits"].into_iter().all(|side| {
                let [new, old] = [new, old].map(|of| amounts(at(of, &["resources", side])));
                are_equal(&new, &old)
            })
        };
        // kube-apiserver takes an empty map for another one than none, and LimitRanger makes empty maps.
        let fills = request.subresource == "resize" && {
            let ranges = cluster.list(("", "limitranges"), request.namespace);
            !ranges.await?.is_empty()
        };
        let gets_map = |container: &Value| {
            let is_empty = |side| entries(container, &["resources", side]).next().is_none();
            fills && ["requests", "limits"].into_iter().any(is_empty)
        };
        // A sidecar is resized as a container is.
        let containers = |of| items(of, &["initContainers"]);
        let changes_init = containers(old).zip(containers(new)).any(|(old, new)| {
            text(old, &["restartPolicy"]) != "Always" && (gets_map(old) || !stays(new, old))
        });
        let needed = FEATURES.into_iter().zip([!stays(new, old), changes_init]);
        let mut needed: Vec<&str> = needed.filter_map(|(name, is)| is.then_some(name)).collect();
        if needed.is_empty() {
            return Ok(Admitted::default());
        }
        let node = node(&request, cluster).await?;
        let declared = items(&node, &["status", "declaredFeatures"]).filter_map(Value::as_str);
        let declared: Vec<&str> = declared.collect();
        needed.retain(|name| !declared.contains(name));
        if needed.is_empty() {
            return Ok(Admitted::default());
        }

        let name = name(&node);
        Err(request.forbidden(&format!(
            "pod update requires features {} which are not available on node {name:?}",
            needed.join(", ")
        )))
    })
}

fn check_size<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let node = node(&request, cluster).await?;
        let os = text(&node, &["metadata", "labels", "kubernetes.io/os"]);
        // A node without the label has not registered completely, which is no reason to refuse.
        if !matches!(os, "" | "linux") {
            let name = name(&node);
            let reason =
                format!("pod resize is only supported on linux nodes, node {name:?} is {os:?}");
            return Err(refuse(&request, &reason, "UnsupportedPlatform"));
        }

        let asked = total(request.field(&[]), "requests", false);
        let mut missing = Vec::new();
        // Messages have CPU in thousandths and memory in bytes.
        for (name, unit) in [("cpu", 1_000_000), ("memory", 1_000_000_000)] {
            let has = quantity(at(&node, &["status", "allocatable", name]));
            let nanos = |amount: Option<Quantity>| amount.map_or(0, |amount| amount.nanos);
            let (asked, has) = (nanos(asked.get(name).copied()), nanos(has));
            // Other Pods on the node do not count: they may leave, and the kubelet waits for that.
            if asked > has {
                let [asked, has] = [asked, has].map(|nanos| (nanos + unit - 1) / unit);
                missing.push(format!("{name}, requested: {asked}, allocatable: {has}"));
            }
        }
        if missing.is_empty() {
            return Ok(Admitted::default());
        }
        let missing = missing.join("; ");
        let reason = format!("node didn't have enough allocatable resources: {missing}");
        Err(refuse(&request, &reason, "NodeCapacity"))
    })
}

/// A refusal with a cause.
fn refuse(request: &AdmissionRequest<'_>, reason: &str, cause: &str) -> Denial {
    let mut denial = request.forbidden(reason);
    if let Some(details) = &mut denial.status.details {
        details.causes.push(Cause::new(cause, "", ""));
    }
    denial
}
