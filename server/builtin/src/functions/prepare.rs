//! Functions of the rules of strategies.

use fieldmanager_value::{List, Map, Str, Value};

use super::edit::{at, list, storage_version, text, with, without};
use crate::table::{Edit, Path};

/// A list with an item more.
fn appended(value: Option<&Value>, item: impl Into<Value>) -> Value {
    let list = value.and_then(Value::as_list).cloned().unwrap_or_default();
    Value::List(list.with_edits(Vec::new(), vec![item.into()]))
}

pub(super) fn kubernetes_finalizer(namespace: &Value) -> Option<Value> {
    let finalizers = at(namespace, "spec.finalizers");
    if list(finalizers).any(|finalizer| finalizer.as_str() == Some("kubernetes")) {
        return None;
    }
    with(
        namespace,
        "spec.finalizers",
        appended(finalizers, "kubernetes"),
    )
}

/// The ranges of the pods of a node, of which Kubernetes stores the list alone: the single one counts if they differ.
pub(super) fn pod_ranges(node: &Value) -> Option<Value> {
    let single = text(node, "spec.podCIDR");
    let first = list(at(node, "spec.podCIDRs"))
        .next()
        .and_then(Value::as_str);
    match (single, first) {
        ("", None | Some("")) => None,
        ("", Some(first)) => with(node, "spec.podCIDR", first),
        (single, Some(first)) if single == first => None,
        (single, _) => with(node, "spec.podCIDRs", vec![Value::from(single)]),
    }
}

/// References of a service account keep the name alone.
pub(super) fn secret_references(account: &Value) -> Option<Value> {
    Path::parse("secrets[]").edit(account, false, &mut |secret| {
        let name = secret.and_then(|secret| secret.get("name"));
        let kept = name
            .map(|name| Map::single("name", name.clone()))
            .unwrap_or_default();
        Edit::Set(Value::Map(kept))
    })
}

pub(super) fn add_stored_version(definition: &Value) -> Option<Value> {
    let name = storage_version(definition)?;
    let stored = at(definition, "status.storedVersions");
    if list(stored).any(|stored| stored.as_str() == Some(&name)) {
        return None;
    }
    with(definition, "status.storedVersions", appended(stored, name))
}

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
const TEMPLATE_GENERATION_PATH: &str =
    r#"metadata.annotations["deprecated.daemonset.template.generation"]"#;

fn template_generation(object: &Value) -> i64 {
    let annotation = at(object, "metadata.annotations")
        .and_then(|annotations| annotations.get(TEMPLATE_GENERATION));
    annotation
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

pub(super) fn first_template_generation(object: &Value) -> Option<Value> {
    with(
        object,
        TEMPLATE_GENERATION_PATH,
        template_generation(object).max(1).to_string(),
    )
}

pub(super) fn next_template_generation(object: &Value, live: Option<&Value>) -> Option<Value> {
    let live = live?;
    let changed = at(object, "spec.template") != at(live, "spec.template");
    // The annotation counts changes of the template, as a field of a removed version did.
    let generation = template_generation(live).saturating_add(i64::from(changed));
    with(object, TEMPLATE_GENERATION_PATH, generation.to_string())
}

pub(super) fn keep_template_generation(object: &Value, live: Option<&Value>) -> Option<Value> {
    with(
        object,
        TEMPLATE_GENERATION_PATH,
        template_generation(live?).to_string(),
    )
}

/// A job without a manual selector selects its pods by its uid.
pub(super) fn job_selector(job: &Value) -> Option<Value> {
    if at(job, "spec.manualSelector").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let (name, uid) = (text(job, "metadata.name"), text(job, "metadata.uid"));

    // Go has one map for the labels of both, if those of the job have their default. An object whose name is generated
    // is copied: its name is the base, and five more characters.
    let base = text(job, "metadata.generateName");
    let start = name
        .len()
        .checked_sub(5)
        .and_then(|end| name.get(..end))
        .unwrap_or_default();
    let is_generated = !start.is_empty() && base.starts_with(start);
    let labels = |path: &str| at(job, path).and_then(Value::as_map);
    let is_shared = match (
        labels("metadata.labels"),
        labels("spec.template.metadata.labels"),
    ) {
        (Some(own), Some(pods)) => own.ptr_eq(pods) && !is_generated,
        _ => false,
    };

    // Labels of the deprecated and of the current prefix are both set, for clients that select by either.
    let mut out = job.clone();
    for (label, value) in [
        ("job-name", name),
        ("batch.kubernetes.io/job-name", name),
        ("controller-uid", uid),
        ("batch.kubernetes.io/controller-uid", uid),
    ] {
        out = with_missing(
            &out,
            &format!("spec.template.metadata.labels[\"{label}\"]"),
            value,
        );
    }

    if is_shared && let Some(labels) = at(&out, "spec.template.metadata.labels").cloned() {
        out = with(&out, "metadata.labels", labels)?;
    }
    Some(with_missing(
        &out,
        r#"spec.selector.matchLabels["batch.kubernetes.io/controller-uid"]"#,
        uid,
    ))
}

fn with_missing(object: &Value, path: &str, value: &str) -> Value {
    let edit = |found: Option<&Value>| match found {
        None => Edit::Set(value.into()),
        Some(_) => Edit::Keep,
    };
    Path::parse(path)
        .edit(object, true, &mut { edit })
        .unwrap_or_else(|| object.clone())
}

/// A claim with one of `dataSource` and `dataSourceRef` gets the other.
pub(super) fn claim_data_sources(spec: &Value, live: Option<&Value>) -> Option<Value> {
    let in_use = |path: &str| live.is_some_and(|live| at(live, path).is_some());
    let mut out = spec.clone();
    // References to other namespaces need a feature that is off, unless the live claim uses one already.
    if !text(&out, "dataSourceRef.namespace").is_empty() && !in_use("dataSourceRef") {
        out = without(&out, "dataSourceRef")?;
    }

    // An unknown kind of source is dropped, unless the live claim has a source.
    if !in_use("dataSource") && !in_use("dataSourceRef") && at(&out, "dataSourceRef").is_none() {
        let source = (
            text(&out, "dataSource.kind"),
            text(&out, "dataSource.apiGroup"),
        );
        let is_known = matches!(
            source,
            ("PersistentVolumeClaim", "") | ("VolumeSnapshot", "snapshot.storage.k8s.io")
        );

        if at(&out, "dataSource").is_some() && !is_known {
            out = without(&out, "dataSource")?;
        }
    }

    // Both fields must agree in what `dataSource` can express: it has no namespace.
    let reference = |source: &Value| {
        let member = |name: &str| {
            (
                Str::from(name),
                source.get(name).cloned().unwrap_or_default(),
            )
        };
        Value::Map(
            ["apiGroup", "kind", "name"]
                .into_iter()
                .map(member)
                .collect(),
        )
    };

    match (at(&out, "dataSource"), at(&out, "dataSourceRef")) {
        (Some(source), None) => with(&out, "dataSourceRef", reference(source)),
        (None, Some(source)) if text(source, "namespace").is_empty() => {
            with(&out, "dataSource", reference(source))
        }
        _ => Some(out),
    }
}

const BUDGET_LABEL: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

/// A selector of a budget loses the label of `policy/v1beta1`, unless it is the selector that matches nothing.
pub(super) fn budget_selector(budget: &Value, live: Option<&Value>) -> Option<Value> {
    // An update that leaves the selector alone does not change which pods it means.
    let selector = at(budget, "spec.selector")?;
    if live.is_some_and(|live| at(live, "spec.selector") == Some(selector)) {
        return None;
    }
    let expressions = at(selector, "matchExpressions")?;
    let is_label = |expression: &Value| text(expression, "key") == BUDGET_LABEL;
    let labelled = list(Some(expressions))
        .filter(|expression| is_label(expression))
        .count();
    let is_none_selector = list(Some(expressions)).count() == 1
        && list(Some(expressions)).all(|expression| {
            text(expression, "operator") == "Exists"
                && list(at(expression, "values")).next().is_none()
        })
        && at(selector, "matchLabels").is_none();

    if labelled == 0 || is_none_selector {
        return None;
    }
    let kept: List = list(Some(expressions))
        .filter(|expression| !is_label(expression))
        .cloned()
        .collect();

    if kept.is_empty() {
        without(budget, "spec.selector.matchExpressions")
    } else {
        with(budget, "spec.selector.matchExpressions", Value::List(kept))
    }
}

/// Changed endpoints lose their topology. A node name in it moves to `nodeName` if the live slice had it.
pub(super) fn drop_topology(slice: &Value, live: Option<&Value>) -> Option<Value> {
    const HOST: &str = "kubernetes.io/hostname";
    let live = live?;
    // Only changed endpoints lose the field, which `v1` has for objects of `v1beta1`.
    let endpoints = at(slice, "endpoints");
    if endpoints == at(live, "endpoints") {
        return None;
    }

    let host = |endpoint: &Value| {
        let topology = endpoint.get("deprecatedTopology")?;
        topology
            .get(HOST)?
            .as_str()
            .filter(|name| !name.is_empty())
            .map(Str::from)
    };
    let known: std::collections::BTreeSet<Str> =
        list(at(live, "endpoints")).filter_map(host).collect();

    // The topology is gone afterwards, so a node name that the live slice had there is not lost.
    Path::parse("endpoints[]").edit(slice, false, &mut |endpoint| {
        let Some(endpoint) = endpoint else {
            return Edit::Keep;
        };
        let moved = host(endpoint)
            .filter(|host| at(endpoint, "nodeName").is_none() && known.contains(host));

        match without(endpoint, "deprecatedTopology") {
            None => Edit::Keep,
            Some(kept) => Edit::Set(
                moved
                    .and_then(|host| with(&kept, "nodeName", host))
                    .unwrap_or(kept),
            ),
        }
    })
}

/// A service loses fields that its new type does not have, if the request did not change them.
pub(super) fn service_type(service: &Value, live: Option<&Value>) -> Option<Value> {
    let live = live?;
    let ty = |service: &Value| Str::from(text(service, "spec.type"));
    let same = |path: &str| at(service, path) == at(live, path);
    let (old, new) = (ty(live), ty(service));
    let mut removed: Vec<&str> = Vec::new();

    // An `ExternalName` has no addresses. A field that the request changed is left to validation.
    if old != "ExternalName" && new == "ExternalName" {
        if same("spec.clusterIP") && same("spec.clusterIPs") {
            removed.extend(["spec.clusterIP", "spec.clusterIPs"]);
        }
        let equal = ["spec.ipFamilies", "spec.ipFamilyPolicy"]
            .into_iter()
            .filter(|path| same(path));
        removed.extend(equal);
    }

    // Node ports stay if the request sets one that the live service does not have.
    let needs_node_ports = |ty: &Str| matches!(ty.as_str(), "NodePort" | "LoadBalancer");
    if needs_node_ports(&old) && !needs_node_ports(&new) {
        let ports = |service: &Value| {
            let ports =
                list(at(service, "spec.ports")).filter_map(|port| port.get("nodePort")?.as_i64());
            ports
                .filter(|port| *port != 0)
                .collect::<std::collections::BTreeSet<i64>>()
        };
        if ports(live).is_superset(&ports(service)) {
            removed.push("spec.ports[].nodePort");
        }
    }

    // The port for health checks exists only for local traffic of a load balancer.
    let checks_health = |service: &Value, ty: &Str| {
        *ty == "LoadBalancer" && text(service, "spec.externalTrafficPolicy") == "Local"
    };
    if checks_health(live, &old)
        && !checks_health(service, &new)
        && same("spec.healthCheckNodePort")
    {
        removed.push("spec.healthCheckNodePort");
    }

    // These fields have a meaning for load balancers only.
    if old == "LoadBalancer" && new != "LoadBalancer" {
        let fields = [
            "spec.allocateLoadBalancerNodePorts",
            "spec.loadBalancerClass",
        ];
        removed.extend(fields.into_iter().filter(|path| same(path)));
    }

    // Traffic policy needs traffic from outside.
    let is_external = |service: &Value, ty: &Str| {
        needs_node_ports(ty)
            || (*ty == "ClusterIP" && list(at(service, "spec.externalIPs")).next().is_some())
    };
    if is_external(live, &old) && !is_external(service, &new) && same("spec.externalTrafficPolicy")
    {
        removed.push("spec.externalTrafficPolicy");
    }

    let mut out = service.clone();
    for path in removed {
        out = without(&out, path).unwrap_or(out);
    }

    // The status of a load balancer ends with the type.
    if new == "LoadBalancer" || at(&out, "status").is_none() {
        Some(out)
    } else {
        with(&out, "status.loadBalancer", Value::Map(Map::default()))
    }
}

/// An update of the status of a certificate request keeps the decisions about it, which have a subresource of their own.
/// Decisions that were added or removed are left to validation.
pub(super) fn request_decisions(request: &Value, live: Option<&Value>) -> Option<Value> {
    let of_type = |object: &Value, ty: &str| -> Vec<(usize, Value)> {
        let conditions = list(at(object, "status.conditions")).cloned().enumerate();
        conditions
            .filter(|(_, condition)| text(condition, "type") == ty)
            .collect()
    };
    let conditions = at(request, "status.conditions")?.as_list()?;
    let mut kept = Vec::new();
    for ty in ["Approved", "Denied"] {
        let (new, old) = (of_type(request, ty), of_type(live?, ty));
        if new.len() == old.len() {
            let pairs = new.into_iter().zip(old);
            kept.extend(pairs.map(|((index, _), (_, condition))| (index, condition)));
        }
    }

    let conditions = conditions.with_edits(kept, Vec::new());
    with(request, "status.conditions", Value::List(conditions))
}

/// The status of a claim loses the devices that the claim had and has no more.
pub(super) fn drop_deallocated_devices(claim: &Value, live: Option<&Value>) -> Option<Value> {
    let device = |value: &Value| {
        ["driver", "pool", "device", "shareID"].map(|name| Str::from(text(value, name)))
    };
    let allocated = |claim: &Value| -> std::collections::BTreeSet<_> {
        let results = at(claim, "status.allocation.devices.results");
        list(results).map(device).collect()
    };
    let (old, new) = (allocated(live?), allocated(claim));
    let is_lost = |value: &Value| {
        let device = device(value);
        old.contains(&device) && !new.contains(&device)
    };

    let devices = at(claim, "status.devices")?;
    if !list(Some(devices)).any(is_lost) {
        return None;
    }
    let kept: List = list(Some(devices))
        .filter(|device| !is_lost(device))
        .cloned()
        .collect();

    if kept.is_empty() {
        without(claim, "status.devices")
    } else {
        with(claim, "status.devices", Value::List(kept))
    }
}
