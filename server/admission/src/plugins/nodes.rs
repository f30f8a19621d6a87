//! Plugins about nodes, and about Pods on nodes: DefaultTolerationSeconds, TaintNodesByCondition, PodTopologyLabels.

use fieldmanager_value::{Map, Value};

use super::object::{at, items, push, set, text};
use super::plugin::PluginSteps::Mutate;
use super::plugin::{Plugin, answer, is_create, is_write};
use crate::{AdmissionAnswer, AdmissionRequest, Admitted, Cluster};

/// Tolerations of nodes that are not ready or not reachable for five minutes.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds/admission.go`.
pub(super) const DEFAULT_TOLERATION_SECONDS: Plugin = Plugin {
    name: "DefaultTolerationSeconds",
    handles: |request| request.is_of("", "pods") && is_write(request),
    steps: Mutate(tolerate),
};

/// A new node is not ready.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/nodetaint/admission.go`.
pub(super) const TAINT_NODES_BY_CONDITION: Plugin = Plugin {
    name: "TaintNodesByCondition",
    handles: |request| request.is_of("", "nodes") && is_create(request),
    steps: Mutate(taint),
};

/// The region and the zone of a node are labels of its Pods.
///
/// Behaviour: `k8s.io/kubernetes/plugin/pkg/admission/podtopologylabels/admission.go`.
pub(super) const POD_TOPOLOGY_LABELS: Plugin = Plugin {
    name: "PodTopologyLabels",
    handles: |request| {
        let is_pod = (request.group, request.resource) == ("", "pods");
        is_create(request) && is_pod && matches!(request.subresource, "" | "binding")
    },
    steps: Mutate(label),
};

const NOT_READY: &str = "node.kubernetes.io/not-ready";

fn tolerate<'a>(request: AdmissionRequest<'a>, _: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    let pod = request.field(&[]);
    let path = ["spec", "tolerations"];
    let missing = [NOT_READY, "node.kubernetes.io/unreachable"].into_iter();
    let missing = missing.filter(|key| {
        !items(pod, &path).any(|toleration| {
            let own = text(toleration, &["key"]);
            let effect = text(toleration, &["effect"]);
            // A toleration without a key tolerates everything.
            (own.is_empty() || own == *key) && matches!(effect, "" | "NoExecute")
        })
    });

    let object = missing.fold(pod.clone(), |pod, key| {
        let toleration = Map::from_iter([
            ("key", Value::from(key)),
            ("operator", Value::from("Exists")),
            ("effect", Value::from("NoExecute")),
            ("tolerationSeconds", Value::from(300)),
        ]);
        push(&pod, &path, toleration)
    });
    answer(Some(object))
}

fn taint<'a>(request: AdmissionRequest<'a>, _: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    let (node, path) = (request.field(&[]), ["spec", "taints"]);
    // The taint stays until the node controller has seen the conditions of the node.
    let is_tainted = items(node, &path).any(|taint| {
        (text(taint, &["key"]), text(taint, &["effect"])) == (NOT_READY, "NoSchedule")
    });
    let taint = Map::from_iter([("key", NOT_READY), ("effect", "NoSchedule")]);
    let object = (!is_tainted).then(|| push(node, &path, taint));

    answer(object)
}

fn label<'a>(request: AdmissionRequest<'a>, cluster: &'a dyn Cluster) -> AdmissionAnswer<'a> {
    Box::pin(async move {
        let object = request.field(&[]);
        // A Pod gets its node when it is made, or by the binding that the scheduler sends.
        let node = match (request.subresource, text(object, &["target", "kind"])) {
            ("", _) => text(object, &["spec", "nodeName"]),
            (_, "Node") => text(object, &["target", "name"]),
            _ => "",
        };
        if node.is_empty() {
            return Ok(Admitted::default());
        }

        let node = cluster.get(("", "nodes"), "", node).await?;
        // A node that does not exist yet has no labels to give.
        let node = node.unwrap_or_default();
        let object = ["region", "zone"]
            .iter()
            .fold(object.clone(), |object, key| {
                let path = [
                    "metadata",
                    "labels",
                    &format!("topology.kubernetes.io/{key}"),
                ];
                match at(&node, &path) {
                    Value::Null => object,
                    label => set(&object, &path, label.clone()),
                }
            });
        Ok(Admitted::changed(object))
    })
}
