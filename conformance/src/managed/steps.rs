//! Random steps: several managers write one object in turn.

use serde_json::{Value, json};

use super::entries::{garbage, list, manager, time};
use super::kinds::Kind;
use super::objects::{Version, annotate, dressed, mislabel, set_metadata};
use crate::generate::objects::{Objects, corrupt, duplicate};
use crate::generate::random::Random;
use crate::generate::types::Types;

/// The annotation of client-side apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

struct Manager {
    name: String,
    version: usize,
    last: Option<Value>,
}

/// Writes the steps of one request.
pub(crate) struct Story<'a> {
    rng: &'a mut Random,
    kind: Kind,
    versions: Vec<Version>,
    /// The number of existing versions.
    served: usize,
    uid: Option<String>,
    managers: Vec<Manager>,
    /// Approximately the live object, with the names of the hub.
    live: Value,
    /// Whether many managers update.
    crowd: bool,
    /// Whether `kubectl` has used client-side apply.
    kubectl: bool,
}

#[derive(Clone, Copy)]
enum Step {
    Apply,
    Update,
    Create,
    StatusUpdate,
    StatusApply,
    Set,
}

impl<'a> Story<'a> {
    pub(crate) fn new(
        rng: &'a mut Random,
        kind: Kind,
        versions: Vec<Version>,
        served: usize,
        uid: Option<String>,
    ) -> Self {
        let crowd = rng.chance(14);
        let kubectl = !crowd && rng.chance(30);
        let count = if crowd { 13 } else { rng.between(2, 4) };
        let managers = (0..count)
            .map(|number| Manager {
                name: match number {
                    0 if kubectl => "kubectl".to_owned(),
                    _ if crowd => format!("m{number:02}"),
                    _ => manager(rng),
                },
                version: if rng.chance(70) { 0 } else { rng.below(served) },
                last: None,
            })
            .collect();
        Story { rng, kind, versions, served, uid, managers, live: Value::Null, crowd, kubectl }
    }

    /// The object before the first step, if there is one.
    pub(crate) fn live(&mut self) -> Option<Value> {
        if !self.rng.chance(if self.crowd { 70 } else { 35 }) {
            return None;
        }
        self.live = self.fresh();
        let mut out = self.at(0, &self.live.clone());
        if self.rng.chance(60) {
            set_metadata(&mut out, "uid", json!("u-1"));
        }
        match self.rng.below(100) {
            0..=3 => set_metadata(&mut out, "managedFields", garbage(self.rng)),
            4..=74 => {
                let entries = self.entries();
                set_metadata(&mut out, "managedFields", entries);
            }
            _ => {}
        }
        if self.kubectl && self.rng.chance(60) {
            self.last_applied(&mut out, 0);
        }
        if self.rng.chance(2) {
            mislabel(self.rng, &mut out);
        }
        Some(out)
    }

    pub(crate) fn steps(&mut self) -> Vec<Value> {
        let count = if self.crowd { self.rng.between(12, 15) } else { self.rng.between(6, 13) };
        let weights = match self.crowd {
            true => [(15, 0), (72, 1), (3, 2), (6, 3), (2, 4), (2, 5)],
            false => [(45, 0), (26, 1), (5, 2), (8, 3), (6, 4), (3, 5)],
        };
        (0..count)
            .map(|_| {
                let step = match self.rng.weighted(&weights, 0) {
                    1 => Step::Update,
                    2 => Step::Create,
                    3 => Step::StatusUpdate,
                    4 => Step::StatusApply,
                    5 => Step::Set,
                    _ => Step::Apply,
                };
                self.step(step)
            })
            .collect()
    }

    fn step(&mut self, step: Step) -> Value {
        let index = self.rng.below(self.managers.len());
        let (name, home) = self
            .managers
            .get(index)
            .map_or(("m".to_owned(), 0), |manager| (manager.name.clone(), manager.version));
        let version = if self.rng.chance(85) { home } else { self.rng.below(self.served) };
        let (kind, object) = match step {
            Step::Apply => ("apply", self.config(index, version)),
            Step::StatusApply => ("status-apply", self.config(index, version)),
            Step::Update => ("update", self.object(version, &name)),
            Step::Create => ("create", self.object(version, &name)),
            Step::StatusUpdate => ("status-update", self.object(version, &name)),
            Step::Set => ("set", self.object(0, "")),
        };
        let mut out = json!({"kind": kind, "manager": name, "object": object});
        let applies = matches!(step, Step::Apply | Step::StatusApply);
        let version = self.versions.get(version).map(|version| json!(version.name)).unwrap_or_default();
        let mut put = |name: &str, value: Value| {
            out.as_object_mut().map(|members| members.insert(name.to_owned(), value))
        };
        if (applies || self.rng.chance(5)) && !self.rng.chance(2) {
            put("apiVersion", version);
        }
        if applies && self.rng.chance(40) {
            put("force", json!(true));
        }
        if self.rng.chance(25) {
            put("time", json!(time(self.rng)));
        }
        if self.rng.chance(3) {
            put("subresource", json!(self.rng.name(&["scale", "status", "eviction"])));
        }
        if matches!(step, Step::Update) && self.rng.chance(4) {
            put("noErrors", json!(true));
        }
        out
    }

    /// A configuration: like the last one of the manager, or a part of the live object, or new.
    fn config(&mut self, index: usize, version: usize) -> Value {
        let last = self.managers.get(index).and_then(|manager| manager.last.clone());
        let mut config = match last {
            Some(last) if self.rng.chance(65) => self.derived(&last),
            _ if self.rng.chance(50) && !self.live.is_null() => {
                let part = self.objects(|objects, rng, live| objects.part(rng, live));
                if self.rng.chance(50) { self.mutated(&part) } else { part }
            }
            _ => self.fresh(),
        };
        if let Some(manager) = self.managers.get_mut(index) {
            manager.last = Some(config.clone());
        }
        self.live = Objects::new(&self.kind.types, false).overlaid(&self.live, &config);
        self.spoil(&mut config);
        let mut out = self.at(version, &config);
        match self.rng.below(200) {
            0 | 1 => set_metadata(&mut out, "managedFields", Value::Null),
            2 => set_metadata(&mut out, "managedFields", json!([])),
            3 => set_metadata(&mut out, "managedFields", garbage(self.rng)),
            4..=6 => mislabel(self.rng, &mut out),
            _ => {}
        }
        if self.kubectl && self.rng.chance(10) {
            annotate(&mut out, LAST_APPLIED, "{\"sent\": true}");
        }
        out
    }

    /// A whole object: the live one with changes.
    fn object(&mut self, version: usize, manager: &str) -> Value {
        let mut object = if self.live.is_null() || self.rng.chance(8) {
            self.fresh()
        } else if self.rng.chance(15) {
            self.objects(|objects, rng, live| objects.part(rng, live))
        } else {
            let live = self.live.clone();
            self.mutated(&live)
        };
        self.live = object.clone();
        self.spoil(&mut object);
        let mut out = self.at(version, &object);
        match self.rng.below(100) {
            0..=2 => set_metadata(&mut out, "managedFields", Value::Null),
            3..=5 => set_metadata(&mut out, "managedFields", json!([])),
            6 => set_metadata(&mut out, "managedFields", json!([{}])),
            7..=9 => set_metadata(&mut out, "managedFields", garbage(self.rng)),
            10..=16 => {
                let entries = self.entries();
                set_metadata(&mut out, "managedFields", entries);
            }
            17 if self.rng.chance(70) => mislabel(self.rng, &mut out),
            _ => {}
        }
        if self.kubectl && self.rng.chance(if manager.starts_with("kubectl") { 60 } else { 20 }) {
            self.last_applied(&mut out, version);
        }
        out
    }

    /// Adds the annotation of client-side apply, which need not match the object.
    fn last_applied(&mut self, object: &mut Value, version: usize) {
        let config = match self.rng.below(10) {
            0 => self.fresh(),
            1 | 2 => {
                let live = self.live.clone();
                self.mutated(&live)
            }
            _ => self.objects(|objects, rng, live| objects.part(rng, live)),
        };
        let version = if self.rng.chance(95) { version } else { 0 };
        let mut text = self.at(version, &config);
        if self.rng.chance(3) {
            mislabel(self.rng, &mut text);
        }
        let text = match self.rng.below(30) {
            0 => String::new(),
            1 => "{".to_owned(),
            2 => "[]".to_owned(),
            3 => "{}".to_owned(),
            _ => text.to_string(),
        };
        annotate(object, LAST_APPLIED, &text);
    }

    fn entries(&mut self) -> Value {
        let crowd = self.crowd && self.rng.chance(80);
        list(self.rng, &self.kind, &self.versions, &self.live, crowd)
    }

    /// Makes a few objects invalid, or duplicates an item.
    fn spoil(&mut self, object: &mut Value) {
        match self.rng.below(100) {
            0 | 1 => corrupt(self.rng, object),
            2 => {
                duplicate(self.rng, object);
            }
            _ => {}
        }
        if !object.is_object() {
            *object = json!({});
        }
    }

    fn at(&mut self, version: usize, object: &Value) -> Value {
        let mut object = object.clone();
        // Objects without any metadata are rare.
        if self.rng.chance(90)
            && let Some(members) = object.as_object_mut()
        {
            members.retain(|name, value| name != "metadata" || value.is_object());
        }
        let uid = self.uid.clone().filter(|_| self.rng.chance(85));
        match self.versions.get(version) {
            Some(version) => dressed(&object, &self.kind, version, uid.as_deref()),
            None => object,
        }
    }

    fn objects(&mut self, make: impl FnOnce(&mut Objects<'_>, &mut Random, &Value) -> Value) -> Value {
        make(&mut Objects::new(&self.kind.types, false), self.rng, &self.live)
    }

    fn fresh(&mut self) -> Value {
        self.objects(|objects, rng, _| objects.object(rng))
    }

    fn mutated(&mut self, object: &Value) -> Value {
        let types: &Types = &self.kind.types;
        Objects::new(types, false).mutated(self.rng, object)
    }

    /// Another object that has much in common with the given one.
    fn derived(&mut self, object: &Value) -> Value {
        match self.rng.below(10) {
            0 | 1 => object.clone(),
            2 => self.fresh(),
            3 | 4 => {
                let types: &Types = &self.kind.types;
                Objects::new(types, false).part(self.rng, object)
            }
            _ => self.mutated(object),
        }
    }
}
