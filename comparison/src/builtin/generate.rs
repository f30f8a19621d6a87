//! Random objects of built-in kinds, from their Go types.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::generate::go_types::{GoKind, GoType};
use crate::generate::random::Random;
use crate::generate::template::Templates;
use crate::json::{drop_empty, items, set, unset};

static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::of(include_str!("values.yaml")));
static HINTS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("hints.json")).unwrap_or_default());

/// Numbers in all notations.
const NUMBERS: &str = "[0, 1.0, 0.5, -2.25, 1e-7, 100, 9007199254740993, 123456789.125, 9223372036854775808, \
                       9223372036854775807, -0.0]";

/// The kinds of the suite `defaults`, of which those behind `-` have no status.
const COVERED: &[&str] = &[
    "apiextensions.k8s.io/v1/CustomResourceDefinition",
    "apps/v1/DaemonSet",
    "apps/v1/Deployment",
    "apps/v1/ReplicaSet",
    "apps/v1/StatefulSet",
    "autoscaling/v1/HorizontalPodAutoscaler",
    "autoscaling/v2/HorizontalPodAutoscaler",
    "batch/v1/CronJob",
    "batch/v1/Job",
    "-coordination.k8s.io/v1/Lease",
    "-discovery.k8s.io/v1/EndpointSlice",
    "-events.k8s.io/v1/Event",
    "networking.k8s.io/v1/Ingress",
    "-networking.k8s.io/v1/IngressClass",
    "-networking.k8s.io/v1/NetworkPolicy",
    "policy/v1/PodDisruptionBudget",
    "-rbac.authorization.k8s.io/v1/ClusterRole",
    "-rbac.authorization.k8s.io/v1/ClusterRoleBinding",
    "-rbac.authorization.k8s.io/v1/Role",
    "-rbac.authorization.k8s.io/v1/RoleBinding",
    "-scheduling.k8s.io/v1/PriorityClass",
    "-storage.k8s.io/v1/StorageClass",
    "-v1/ConfigMap",
    "-v1/Endpoints",
    "-v1/Event",
    "-v1/LimitRange",
    "v1/Namespace",
    "v1/PersistentVolume",
    "v1/PersistentVolumeClaim",
    "v1/Pod",
    "-v1/PodTemplate",
    "v1/ReplicationController",
    "v1/ResourceQuota",
    "-v1/Secret",
    "v1/Service",
    "-v1/ServiceAccount",
];

/// Fields of which the library makes less than kube-apiserver; see docs/deviations.md.
const OMITTED: &[&str] = &["v1.PodSpec.resources"];

/// One of some items: each in turn, so that every run has all.
fn in_turn<T>(items: &[T], seed: u64) -> Option<&T> {
    let at = usize::try_from(seed).ok()?.checked_rem(items.len())?;
    items.get(at)
}

/// The request to write a valid object as protobuf.
pub(super) fn protobuf(seed: u64) -> Value {
    let Some(kind) = in_turn(GoKind::all(), seed) else {
        return Value::Null;
    };
    let object = ObjectMaker::new(seed, "valid", 0).value(kind.ty, "", 0);
    json!({"op": "protobuf", "group": kind.group, "version": kind.version, "kind": kind.kind, "object": object})
}

/// The request to decode an object, or to convert it.
pub(super) fn decode(seed: u64) -> Value {
    let Some(kind) = in_turn(GoKind::all(), seed) else {
        return Value::Null;
    };
    let (group, version, name) = (kind.group, kind.version, kind.kind);
    let mut maker = ObjectMaker::new(seed, "odd", 0);
    let converts = maker.random.chance(40) && group != "meta.k8s.io";

    if !converts {
        maker.faults = maker
            .random
            .weighted(&[(50, 0), (30, 1), (15, 4), (5, 20)], 0);
    }

    let mut object = maker.value(kind.ty, "", 0);
    // Conversion needs a valid object with its kind; a body may lack it.
    if converts || maker.random.chance(90) {
        set(&mut object, "apiVersion", kind.api_version());
        set(&mut object, "kind", name);
    }

    if !converts {
        let is_map = object.is_object() && maker.random.chance(40);
        let op = if is_map { "unstructured" } else { "decode" };
        return json!({"op": op, "group": group, "version": version, "kind": name, "object": object});
    }

    if let Some(metadata) = object
        .get_mut("metadata")
        .filter(|metadata| metadata.is_object())
        && let Some(annotations) = maker.annotations(name)
    {
        set(metadata, "annotations", annotations);
    }

    // A decoded object lacks the lists and maps that Go omits.
    drop_empty(&mut object);
    let events = ["", "events.k8s.io"];
    let is_version = |other: &&GoKind| {
        let is_event = name == "Event" && events.contains(&other.group);
        other.kind == name && (other.group == group || is_event)
    };
    let versions: Vec<&GoKind> = GoKind::all().iter().filter(is_version).collect();
    let to = maker.random.pick(&versions).copied().unwrap_or(kind);

    json!({
        "op": "convert", "group": group, "version": version, "kind": name, "toGroup": to.group, "to": to.version,
        "object": object,
    })
}

/// The request to create or to update an object.
pub(super) fn defaults(seed: u64) -> Value {
    let covered = in_turn(COVERED, seed).copied().unwrap_or_default();
    let kind = covered.trim_start_matches('-');
    let mut maker = ObjectMaker::new(seed, "sensible", 0);
    let object = maker.object(kind);
    if maker.random.chance(40) {
        return json!({"kind": kind, "object": object});
    }

    // An update of an unrelated object would fail at immutable fields, so the old object shares most of the new one.
    let other = maker.object(kind);
    let old = maker.crossed(&object, &other, 0);
    // The object itself is written more often than any of its subresources.
    let subresources: &[&str] = match kind {
        "v1/Pod" => &["", "", "status", "ephemeralcontainers", "resize"],
        _ if covered.starts_with('-') => &[""],
        _ => &["", "", "status"],
    };
    let subresource = maker.random.name(subresources);

    json!({"kind": kind, "object": object, "old": old, "subresource": subresource})
}

/// Makes values of Go types.
struct ObjectMaker {
    random: Random,
    /// The templates of scalars: `valid`, `odd` or `sensible`.
    values: &'static str,
    /// How many of 100 values are wrong.
    faults: u32,
    /// How many more values may be made.
    left: usize,
}

impl ObjectMaker {
    fn new(seed: u64, values: &'static str, faults: u32) -> Self {
        ObjectMaker {
            random: Random::new(seed),
            values,
            faults,
            left: 400,
        }
    }

    fn is_sensible(&self) -> bool {
        self.values == "sensible"
    }

    /// A sensible object with a name.
    fn object(&mut self, kind: &str) -> Value {
        self.left = 300;
        let (api_version, name) = kind.rsplit_once('/').unwrap_or_default();
        let is_kind = |known: &&GoKind| known.kind == name && known.api_version() == api_version;
        let ty = GoKind::all()
            .iter()
            .find(is_kind)
            .and_then(|known| known.ty);
        let mut object = self.value(ty, "", 0);
        set(&mut object, "apiVersion", api_version);
        set(&mut object, "kind", name);
        let mut metadata = unset(&mut object, "metadata").unwrap_or(json!({}));
        // The name is fixed below, and managed fields are the subject of another suite.
        for name in ["generateName", "managedFields"] {
            unset(&mut metadata, name);
        }

        set(&mut metadata, "name", "a");
        set(&mut metadata, "namespace", "x");
        set(&mut object, "metadata", metadata);
        object
    }

    /// An object with parts of both.
    fn crossed(&mut self, object: &Value, other: &Value, depth: usize) -> Value {
        let (Value::Object(left), Value::Object(right)) = (object, other) else {
            let keeps = self.random.chance(80);
            return if keeps { object.clone() } else { other.clone() };
        };
        let mut out = Map::new();
        let more = right.keys().filter(|name| !left.contains_key(*name));

        for name in left.keys().chain(more) {
            // An update cannot change the name or kind of an object, so texts near the root stay, except in `spec`.
            let (left, right) = (left.get(name), right.get(name));
            let chosen = match (left, right, self.random.below(10)) {
                (Some(left), ..) if depth < 2 && name != "spec" && left.is_string() => {
                    Some(left.clone())
                }
                (Some(left), Some(right), 0..=3) => Some(self.crossed(left, right, depth + 1)),
                (left, _, 0..=8) => left.cloned(),
                (_, right, _) => right.cloned(),
            };
            out.extend(chosen.map(|chosen| (name.clone(), chosen)));
        }

        Value::Object(out)
    }

    /// A value of a type, in a field.
    fn value(&mut self, ty: Option<GoType>, place: &str, depth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        if self.random.chance(self.faults) {
            return self.template("other");
        }
        // Validation accepts only certain values in many fields; without hints, almost every object would be refused.
        if self.is_sensible() {
            let hints = items(&HINTS, place);
            if !hints.is_empty() {
                return self.random.of(hints);
            }
        } else if self.random.chance(2) {
            return Value::Null;
        }

        let Some(ty) = ty else { return json!(1) };
        // Some types of JSON schemas are a schema or something shorter, and both forms occur.
        let is_other = !self.is_sensible() && self.random.chance(45);
        match ty.sort() {
            "pointer" => self.value(ty.item(), place, depth),
            "struct" => self.fields(ty, depth),
            "slice" => self.list(depth, |maker| maker.value(ty.item(), place, depth + 1)),
            "map" => {
                let is_quantity = ty.item().is_some_and(|item| item.sort() == "Quantity");
                // Maps of quantities have names of resources as keys.
                let keys = if self.is_sensible() && is_quantity {
                    "resources".to_owned()
                } else {
                    format!("{}.keys", self.values)
                };
                let entries = (0..self.length(depth)).map(|_| {
                    let key = TEMPLATES.text(&mut self.random, &keys);
                    (key, self.value(ty.item(), place, depth + 1))
                });

                Value::Object(entries.collect())
            }
            "SchemaOrBool" if is_other => json!(self.random.chance(50)),
            "SchemaOrArray" if is_other => {
                self.list(depth, |maker| maker.value(ty.item(), place, depth + 1))
            }
            "SchemaOrStrings" if is_other => self.list(depth, |maker| maker.template("strings")),
            "SchemaOrBool" | "SchemaOrArray" | "SchemaOrStrings" => {
                self.value(ty.item(), place, depth + 1)
            }
            sort => self.template(&format!("{}.{sort}", self.values)),
        }
    }

    /// A value of a template.
    fn template(&mut self, name: &str) -> Value {
        // Words with `@` stand for random numbers and quantities, which templates cannot list.
        let value = TEMPLATES.part(&mut self.random, name, 2);
        match value.as_str() {
            Some("@integer") if self.faults == 0 => json!(self.random.below(1000)),
            Some("@number" | "@integer") => {
                let numbers: Vec<Value> = serde_json::from_str(NUMBERS).unwrap_or_default();
                self.random.of(&numbers)
            }
            Some("@count") => json!(self.random.below(200)),
            Some("@quantity") => json!(TEMPLATES.text(&mut self.random, "quantity")),
            _ => value,
        }
    }

    fn list(&mut self, depth: usize, mut item: impl FnMut(&mut Self) -> Value) -> Value {
        (0..self.length(depth)).map(|_| item(self)).collect()
    }

    fn length(&mut self, depth: usize) -> usize {
        match (self.is_sensible(), self.left) {
            (true, 0) => 1,
            (true, _) if depth > 10 => 1,
            (true, _) => self.random.between(1, 2),
            (false, 0) => 0,
            (false, _) if depth > 12 => self.random.below(2),
            (false, _) => self.random.below(3),
        }
    }

    fn fields(&mut self, ty: GoType, depth: usize) -> Value {
        let mut out = Map::new();
        for field in ty.fields() {
            let (name, place, share) = (field.name(), field.place(), field.share(depth));
            // The most important parts are frequent.
            let share = match name {
                _ if !self.is_sensible() => share,
                _ if OMITTED.contains(&place.as_str()) => 0,
                "spec" | "template" | "containers" => 95,
                "type" | "kind" => share.max(70),
                "volumes" | "initContainers" | "livenessProbe" | "resources" | "image" => {
                    share.max(30)
                }
                _ => share,
            };

            if self.left > 0 && self.random.chance(share) {
                out.insert(name.to_owned(), self.value(field.ty(), &place, depth + 1));
            }
        }

        if self.random.chance(self.faults * 2) {
            let name = TEMPLATES.text(&mut self.random, "unknown");
            out.insert(name, self.template("other"));
        }
        Value::Object(out)
    }

    /// The annotations that conversions of a kind read, if there are any.
    fn annotations(&mut self, kind: &str) -> Option<Value> {
        let made = TEMPLATES.part(&mut self.random, kind, 0);
        let mut out = Map::new();
        for (name, value) in made.as_object()? {
            let value = match value.as_str() {
                Some("@part") => {
                    let part = name.rsplit('/').next().unwrap_or_default();
                    json!(self.value(GoType::of_part(part), "", 1).to_string())
                }
                _ => value.clone(),
            };
            out.insert(name.clone(), value);
        }

        (!out.is_empty()).then_some(Value::Object(out))
    }
}
