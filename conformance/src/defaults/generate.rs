//! Random objects of built-in kinds with sensible values, from the table of Go types.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::generate::go_types::{GoKind, GoType};
use crate::generate::random::Random;

static KINDS: LazyLock<HashMap<String, GoType>> = LazyLock::new(|| {
    let kinds = GoKind::all().into_iter();
    kinds.filter_map(|kind| Some((format!("{}/{}", kind.api_version(), kind.kind), kind.ty?))).collect()
});
static HINTS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("hints.json")).unwrap_or_default());

/// The kinds of the suite.
pub(super) const COVERED: &[&str] = &[
    "apiextensions.k8s.io/v1/CustomResourceDefinition",
    "apps/v1/DaemonSet",
    "apps/v1/Deployment",
    "apps/v1/ReplicaSet",
    "apps/v1/StatefulSet",
    "autoscaling/v1/HorizontalPodAutoscaler",
    "autoscaling/v2/HorizontalPodAutoscaler",
    "batch/v1/CronJob",
    "batch/v1/Job",
    "coordination.k8s.io/v1/Lease",
    "discovery.k8s.io/v1/EndpointSlice",
    "events.k8s.io/v1/Event",
    "networking.k8s.io/v1/Ingress",
    "networking.k8s.io/v1/IngressClass",
    "networking.k8s.io/v1/NetworkPolicy",
    "policy/v1/PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1/ClusterRole",
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
    "rbac.authorization.k8s.io/v1/Role",
    "rbac.authorization.k8s.io/v1/RoleBinding",
    "scheduling.k8s.io/v1/PriorityClass",
    "storage.k8s.io/v1/StorageClass",
    "v1/ConfigMap",
    "v1/Endpoints",
    "v1/Event",
    "v1/LimitRange",
    "v1/Namespace",
    "v1/PersistentVolume",
    "v1/PersistentVolumeClaim",
    "v1/Pod",
    "v1/PodTemplate",
    "v1/ReplicationController",
    "v1/ResourceQuota",
    "v1/Secret",
    "v1/Service",
    "v1/ServiceAccount",
];

const WITHOUT_STATUS: &[&str] = &[
    "Lease",
    "EndpointSlice",
    "Event",
    "IngressClass",
    "NetworkPolicy",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "PriorityClass",
    "StorageClass",
    "ConfigMap",
    "Endpoints",
    "LimitRange",
    "PodTemplate",
    "Secret",
    "ServiceAccount",
];

/// The case of a seed.
pub(super) fn case(seed: u64) -> Value {
    let at = usize::try_from(seed).unwrap_or_default() % COVERED.len();
    let kind = COVERED.get(at).copied().unwrap_or_default();
    let mut random = Random::new(seed);
    let update = random.chance(60);
    let mut objects = Objects { random, left: 300 };
    let object = objects.object(kind);
    if !update {
        return json!({"kind": kind, "object": object});
    }
    objects.left = 300;
    let other = objects.object(kind);
    let old = objects.crossed(&object, &other, 0);
    let short = kind.rsplit('/').next().unwrap_or_default();
    let subresources: &[&str] = match short {
        "Pod" => &["", "", "status", "ephemeralcontainers", "resize"],
        _ if WITHOUT_STATUS.contains(&short) => &[""],
        _ => &["", "", "status"],
    };
    let subresource = objects.random.name(subresources);
    json!({"kind": kind, "object": object, "old": old, "subresource": subresource})
}

/// Fields of which the library makes less than kube-apiserver; see docs/deviations.md.
const OMITTED: &[&str] = &["v1.PodSpec.resources"];

const STRINGS: &[&str] = &["a", "web", "x.example.com", "b-1"];
const KEYS: &[&str] = &["a", "b", "app.kubernetes.io/name", "kubernetes.io/hostname", "x"];
const RESOURCES: &[&str] = &["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu"];
const TIMES: &[&str] = &["2020-01-01T00:00:00Z", "2021-06-30T23:59:59Z"];
const MICRO_TIMES: &[&str] = &["2020-01-01T00:00:00.000000Z", "2021-06-30T23:59:59.999999Z"];
const QUANTITIES: &[&str] = &[
    "0",
    "1",
    "500m",
    "1Gi",
    "128Mi",
    "1k",
    "0.5",
    "1500m",
    "1001u",
    "999999999n",
    "1e3",
    "1e-6",
    "2Ki",
    "0.0001Ki",
    "1.5Gi",
];

struct Objects {
    random: Random,
    /// How many more values may be made.
    left: usize,
}

impl Objects {
    fn object(&mut self, kind: &str) -> Value {
        let mut object = self.value(KINDS.get(kind).copied(), "", 0);
        let (api_version, name) = kind.rsplit_once('/').unwrap_or_default();
        if let Some(members) = object.as_object_mut() {
            members.insert("apiVersion".to_owned(), json!(api_version));
            members.insert("kind".to_owned(), json!(name));
            let mut metadata = members.remove("metadata").unwrap_or_else(|| json!({}));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.retain(|name, _| name != "generateName" && name != "managedFields");
                metadata.insert("name".to_owned(), json!("a"));
                metadata.insert("namespace".to_owned(), json!("x"));
            }
            members.insert("metadata".to_owned(), metadata);
        }
        object
    }

    /// An object with parts of both.
    fn crossed(&mut self, object: &Value, other: &Value, depth: usize) -> Value {
        let (Value::Object(left), Value::Object(right)) = (object, other) else {
            return if self.random.chance(80) { object.clone() } else { other.clone() };
        };
        let mut out = Map::new();
        for name in left.keys().chain(right.keys().filter(|name| !left.contains_key(*name))) {
            let (left, right) = (left.get(name), right.get(name));
            let chosen = match (left, right, self.random.below(10)) {
                (Some(left), _, _) if depth < 2 && name != "spec" && left.is_string() => Some(left.clone()),
                (Some(left), Some(right), 0..=3) => Some(self.crossed(left, right, depth + 1)),
                (left, _, 0..=8) => left.cloned(),
                (_, right, _) => right.cloned(),
            };
            if let Some(chosen) = chosen {
                out.insert(name.clone(), chosen);
            }
        }
        Value::Object(out)
    }

    fn value(&mut self, ty: Option<GoType>, place: &str, depth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        if let Some(hint) = HINTS.get(place).and_then(Value::as_array) {
            return self.random.pick(hint).cloned().unwrap_or_default();
        }
        let Some(ty) = ty else { return json!(1) };
        let length = |objects: &mut Self| {
            if objects.left == 0 || depth > 10 { 1 } else { objects.random.between(1, 2) }
        };
        match ty.sort() {
            "bool" => json!(self.random.chance(50)),
            "string" => json!(self.random.name(STRINGS)),
            "int32" | "int64" if self.random.chance(5) => json!(-1),
            "int32" | "int64" | "float64" => json!(self.random.below(200)),
            "bytes" => json!(self.random.name(&["aGVsbG8=", "aGk="])),
            "Time" => json!(self.random.name(TIMES)),
            "MicroTime" => json!(self.random.name(MICRO_TIMES)),
            "Quantity" => json!(self.random.name(QUANTITIES)),
            "IntOrString" if self.random.chance(50) => json!(self.random.below(200)),
            "IntOrString" => json!(self.random.name(&["50%", "http"])),
            "RawExtension" | "FieldsV1" | "JSON" => json!({"a": 1}),
            "pointer" => self.value(ty.item(), place, depth),
            "slice" => (0..length(self)).map(|_| self.value(ty.item(), place, depth + 1)).collect(),
            "map" => {
                let is_resources = ty.entry().is_some_and(|entry| entry.sort() == "Quantity");
                let entries = (0..length(self)).map(|_| {
                    let key = self.random.name(if is_resources { RESOURCES } else { KEYS });
                    (key.to_owned(), self.value(ty.entry(), place, depth + 1))
                });
                Value::Object(entries.collect())
            }
            "struct" => {
                let mut members = Map::new();
                self.fields(ty, &mut members, depth);
                Value::Object(members)
            }
            "SchemaOrBool" | "SchemaOrArray" | "SchemaOrStrings" => self.value(ty.item(), place, depth + 1),
            _ => Value::Null,
        }
    }

    fn fields(&mut self, ty: GoType, members: &mut Map<String, Value>, depth: usize) {
        for field in ty.fields() {
            let share = field.share(depth);
            // The most important parts are frequent.
            let share = match field.name {
                "spec" | "template" | "containers" => 95,
                "type" | "kind" => share.max(70),
                "volumes" | "initContainers" | "livenessProbe" | "resources" | "image" => share.max(30),
                _ => share,
            };
            let place = format!("{}.{}", field.of, field.name);
            if self.left > 0 && !OMITTED.contains(&place.as_str()) && self.random.chance(share) {
                let value = self.value(field.ty, &place, depth + 1);
                members.insert(field.name.to_owned(), value);
            }
        }
    }
}
