//! What the objects of a resource need of a quota.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::internal::Quantity;
use fieldmanager_value::Value;

use super::super::amounts::{Amounts, quantity};
use super::super::classes::class;
use super::super::object::{at, items, name, text};
use super::super::plugin::{is_create, is_write};
use super::pods::{self, selects};
use crate::{AdmissionRequest, Cluster, Denial, ResourceName};

/// The resources whose objects are counted by other names than that of the resource.
pub(super) const RESOURCES: [ResourceName<'static>; 8] = [
    PODS,
    SERVICES,
    VOLUME_CLAIMS,
    DEVICE_CLAIMS,
    ("", "configmaps"),
    ("", "resourcequotas"),
    ("", "replicationcontrollers"),
    ("", "secrets"),
];
const PODS: ResourceName<'static> = ("", "pods");
const SERVICES: ResourceName<'static> = ("", "services");
const VOLUME_CLAIMS: ResourceName<'static> = ("", "persistentvolumeclaims");
const DEVICE_CLAIMS: ResourceName<'static> = ("resource.k8s.io", "resourceclaims");

const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";
const DEVICES: &str = ".deviceclass.resource.k8s.io/devices";
const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";
/// The most devices that a claim for all of them gets.
const ALL_DEVICES: i64 = 32;

/// Whether a request changes what an object needs.
///
/// Behaviour: `Handles` of the evaluators of `k8s.io/kubernetes/pkg/quota/v1/evaluator/core`.
pub(super) fn charges(request: &AdmissionRequest<'_>) -> bool {
    let is_update = !is_create(request);
    match ((request.group, request.resource), request.subresource) {
        // Whether a Pod ends by itself decides the scope, the rest of it changes by a resize.
        (PODS, "") if is_update => {
            let [old, new] = [request.old, request.object].map(|pod| pod.map(pods::is_terminating));
            old != new
        }
        (PODS, "resize") | (VOLUME_CLAIMS, "status") => is_update,
        (SERVICES | VOLUME_CLAIMS | DEVICE_CLAIMS, "") => is_write(request),
        (resource, "") => !is_update && !is_ignored(resource),
        _ => false,
    }
}

/// Whether objects of a resource are not stored, or never counted.
///
/// Behaviour: `DefaultIgnoredResources` of `k8s.io/kubernetes/pkg/quota/v1/install/registry.go`.
pub(super) fn is_ignored(resource: ResourceName<'_>) -> bool {
    matches!(
        resource,
        ("", "bindings" | "componentstatuses")
            | ("" | "events.k8s.io", "events")
            | ("authentication.k8s.io" | "authorization.k8s.io", _)
    )
}

/// How the objects of a resource are charged.
pub(super) struct Charge<'r> {
    resource: ResourceName<'r>,
    /// `count/deployments.apps`.
    count: String,
    /// The name of old for the same, such as `configmaps`.
    alias: Option<String>,
    /// The extended resources of classes of devices.
    classes: BTreeMap<String, String>,
}

impl<'r> Charge<'r> {
    /// How the objects of a resource are charged in a cluster.
    pub(super) async fn new(
        resource: ResourceName<'r>,
        cluster: &dyn Cluster,
    ) -> Result<Self, Denial> {
        let mut classes = BTreeMap::new();
        if resource == DEVICE_CLAIMS {
            let resource = ("resource.k8s.io", "deviceclasses");
            for class in &*cluster.list(resource, "").await? {
                let extended = text(class, &["spec", "extendedResourceName"]);
                classes.insert(name(class).to_owned(), extended.to_owned());
            }
        }

        // Quotas are older than `count/`: `pods` and `count/pods` both stay.
        let has_alias = resource.0.is_empty() && RESOURCES.contains(&resource);
        Ok(Charge {
            resource,
            count: match resource {
                ("", name) => format!("count/{name}"),
                (group, name) => format!("count/{name}.{group}"),
            },
            alias: has_alias.then(|| resource.1.to_owned()),
            classes,
        })
    }

    /// Whether objects of the resource are counted by this name in a quota.
    pub(super) fn tracks(&self, name: &str) -> bool {
        name == self.count
            || self.alias.as_deref() == Some(name)
            || match self.resource {
                PODS => pods::tracks(name),
                SERVICES => matches!(name, "services.nodeports" | "services.loadbalancers"),
                VOLUME_CLAIMS => {
                    let of_class = name.split(STORAGE_CLASS).last().unwrap_or(name);
                    matches!(of_class, "persistentvolumeclaims" | "requests.storage")
                }
                DEVICE_CLAIMS => self.tracks_devices(name),
                _ => false,
            }
    }

    fn tracks_devices(&self, name: &str) -> bool {
        // Devices are counted by their class, and by the resource that stands for the class in
        // Pods.
        let extended = name.strip_prefix("requests.");
        name.ends_with(DEVICES)
            || extended.is_some_and(|extended| match extended.strip_prefix(IMPLICIT) {
                Some(class) => self.classes.contains_key(class),
                None => self.classes.values().any(|own| own == extended),
            })
    }

    /// What an object needs.
    pub(super) fn usage(&self, object: &Value) -> Amounts {
        let one = Quantity::count(1);
        let mut usage = Amounts::from([(self.count.clone(), one)]);
        let alias = self.alias.clone().filter(|_| self.resource != PODS);
        usage.extend(alias.map(|alias| (alias, one)));
        match self.resource {
            PODS => pods::add_usage(&mut usage, object),
            SERVICES => add_service(&mut usage, object),
            VOLUME_CLAIMS => add_volume(&mut usage, object),
            DEVICE_CLAIMS => self.add_devices(&mut usage, object),
            _ => {}
        }
        usage
    }

    /// Whether all scopes of a quota include an object. Quotas with scopes count only Pods and claims of volumes.
    ///
    /// Behaviour: `Matches` of `k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go`.
    pub(super) fn is_in_scope(&self, quota: &Value, object: &Value) -> bool {
        // A claim is in scope by the class that it asks for, has, or is changing to.
        let includes = |scope: &str, operator: &str, values: &Value| match self.resource {
            PODS => pods::is_in_scope(object, scope, operator, values),
            VOLUME_CLAIMS if scope == "VolumeAttributesClass" => {
                let modified = "modifyVolumeStatus";
                let classes = [
                    text(object, &["spec", "volumeAttributesClassName"]),
                    text(object, &["status", "currentVolumeAttributesClassName"]),
                    text(
                        object,
                        &["status", modified, "targetVolumeAttributesClassName"],
                    ),
                ];
                let mut named = classes.iter().filter(|class| !class.is_empty()).peekable();
                match named.peek() {
                    None => selects("", operator, values),
                    Some(_) => named.any(|class| selects(class, operator, values)),
                }
            }
            _ => false,
        };

        let none = Value::Null;
        items(quota, &["spec", "scopes"])
            .filter_map(Value::as_str)
            .all(|scope| includes(scope, "Exists", &none))
            && items(quota, &["spec", "scopeSelector", "matchExpressions"]).all(|one| {
                let (scope, operator) = (text(one, &["scopeName"]), text(one, &["operator"]));
                includes(scope, operator, at(one, &["values"]))
            })
    }

    /// What the containers of a Pod must ask for, because a quota counts it, and do not.
    pub(super) fn missing(&self, names: &BTreeSet<&str>, object: &Value) -> Option<String> {
        match self.resource {
            PODS => pods::missing(names, object),
            _ => None,
        }
    }

    /// Behaviour: `claimEvaluator.Usage` of `resource_claims.go`, without what the Pod of a claim was charged for the
    /// same devices: such claims are made by the scheduler.
    fn add_devices(&self, usage: &mut Amounts, claim: &Value) {
        let count = |request: &Value| match text(request, &["allocationMode"]) {
            "ExactCount" => at(request, &["count"]).as_i64().unwrap_or(0),
            "All" => ALL_DEVICES,
            _ => 0,
        };
        let mut devices: BTreeMap<&str, i64> = BTreeMap::new();
        for request in items(claim, &["spec", "devices", "requests"]) {
            // Of alternatives, the one with the most devices of a class counts.
            let mut most: BTreeMap<&str, i64> = BTreeMap::new();
            let exactly = Some(at(request, &["exactly"])).filter(|exactly| !exactly.is_null());
            for one in items(request, &["firstAvailable"]).chain(exactly) {
                let most = most.entry(text(one, &["deviceClassName"])).or_default();
                *most = (*most).max(count(one));
            }
            for (class, most) in most {
                let sum = devices.entry(class).or_default();
                *sum = sum.saturating_add(most);
            }
        }

        for (class, number) in devices {
            let number = Quantity::count(number);
            usage.insert(format!("{class}{DEVICES}"), number);
            if number.nanos > 0 {
                usage.insert(format!("requests.{IMPLICIT}{class}"), number);
                let extended = self.classes.get(class).filter(|name| !name.is_empty());
                usage.extend(extended.map(|name| (format!("requests.{name}"), number)));
            }
        }
    }
}

/// Behaviour: `serviceEvaluator.Usage` of `services.go`.
fn add_service(usage: &mut Amounts, service: &Value) {
    let ports = || items(service, &["spec", "ports"]);
    let has_port = |port: &&Value| !matches!(at(port, &["nodePort"]), Value::Null | Value::Int(0));
    let allocates = at(service, &["spec", "allocateLoadBalancerNodePorts"]).as_bool();
    // A port that the server is going to allocate counts even before it has a number.
    let (balancers, ports) = match text(service, &["spec", "type"]) {
        "NodePort" => (0, ports().count()),
        "LoadBalancer" if allocates == Some(false) => (1, ports().filter(has_port).count()),
        "LoadBalancer" => (1, ports().count()),
        _ => (0, 0),
    };
    let ports = i64::try_from(ports).unwrap_or(i64::MAX);
    let numbers = [
        ("services.loadbalancers", balancers),
        ("services.nodeports", ports),
    ];
    usage.extend(numbers.map(|(name, number)| (name.to_owned(), Quantity::count(number))));
}

/// Behaviour: `pvcEvaluator.Usage` of `persistent_volume_claims.go`.
fn add_volume(usage: &mut Amounts, claim: &Value) {
    // Volumes are counted in whole bytes.
    let whole = |path: &[&str]| {
        let mut size = quantity(at(claim, path))?;
        let rest = size.nanos.rem_euclid(1_000_000_000);
        if rest != 0 {
            size.nanos += 1_000_000_000 - rest;
        }
        Some(size)
    };
    let asked = whole(&["spec", "resources", "requests", "storage"]);
    let given = whole(&["status", "allocatedResources", "storage"]);
    // A volume never shrinks, so what it has counts even if the claim asks for less.
    let is_more = |given: &Quantity| asked.is_some_and(|asked| given.nanos > asked.nanos);
    let size = given.filter(is_more).or(asked);

    let amounts = [
        ("persistentvolumeclaims", Some(Quantity::count(1))),
        ("requests.storage", size),
    ];
    let class = class(claim);
    for (name, amount) in amounts {
        let Some(amount) = amount else { continue };
        usage.insert(name.to_owned(), amount);
        if !class.is_empty() {
            usage.insert(format!("{class}{STORAGE_CLASS}{name}"), amount);
        }
    }
}
