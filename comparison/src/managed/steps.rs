//! Random steps: several managers write one object in turn.

use serde_json::{Value, json};

use super::entries::list;
use super::kinds::{ObjectKind, TEMPLATES, Version};
use super::objects::{annotate, dressed, mislabel, set_metadata};
use crate::generate::objects::{Objects, corrupt, duplicate};
use crate::generate::random::Random;
use crate::json::{set, unset};

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
    kind: ObjectKind,
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

impl<'a> Story<'a> {
    pub(crate) fn new(
        rng: &'a mut Random,
        kind: ObjectKind,
        versions: Vec<Version>,
        served: usize,
        uid: Option<String>,
    ) -> Self {
        // A few managers never reach the cap on updaters, a crowd does.
        let crowd = rng.chance(14);
        let kubectl = !crowd && rng.chance(30);
        let count = if crowd { 13 } else { rng.between(2, 4) };
        let managers = (0..count)
            .map(|number| Manager {
                name: match number {
                    0 if kubectl => "kubectl".to_owned(),
                    _ if crowd => format!("m{number:02}"),
                    _ => TEMPLATES.text(rng, "manager"),
                },
                version: if rng.chance(70) { 0 } else { rng.below(served) },
                last: None,
            })
            .collect();

        Story {
            rng,
            kind,
            versions,
            served,
            uid,
            managers,
            live: Value::Null,
            crowd,
            kubectl,
        }
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

        // Objects without entries are those of the time before managed fields.
        match self.rng.below(100) {
            0..=3 => set_metadata(&mut out, "managedFields", self.garbage()),
            4..=74 => set_metadata(&mut out, "managedFields", self.entries()),
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
        let count = if self.crowd {
            self.rng.between(12, 15)
        } else {
            self.rng.between(6, 13)
        };
        let kinds = [
            "apply",
            "update",
            "create",
            "status-update",
            "status-apply",
            "set",
        ];

        // Only updaters count for the cap, so a crowd mostly updates.
        let weights = if self.crowd {
            [15, 72, 3, 6, 2, 2]
        } else {
            [45, 26, 5, 8, 6, 3]
        };
        let weighted: Vec<_> = weights.into_iter().zip(kinds).collect();
        (0..count)
            .map(|_| {
                let kind = self.rng.weighted(&weighted, "apply");
                self.step(kind)
            })
            .collect()
    }

    fn step(&mut self, kind: &str) -> Value {
        let index = self.rng.below(self.managers.len());
        let (name, home) = self
            .managers
            .get(index)
            .map_or(("m".to_owned(), 0), |manager| {
                (manager.name.clone(), manager.version)
            });
        // A manager mostly stays at its version, so that it rarely has entries of several ones.
        let version = if self.rng.chance(85) {
            home
        } else {
            self.rng.below(self.served)
        };

        let applies = kind.ends_with("apply");
        // An apply sends a configuration, every other step a whole object.
        let object = match kind {
            "set" => self.object(0, ""),
            _ if applies => self.config(index, version),
            _ => self.object(version, &name),
        };
        let mut out = json!({"kind": kind, "manager": name, "object": object});

        // The version of an apply is that of the request; other steps usually take it from their object.
        if (applies || self.rng.chance(5)) && !self.rng.chance(2) {
            let version = self
                .versions
                .get(version)
                .map(|version| version.name.as_str());
            set(&mut out, "apiVersion", version);
        }

        // Without force, a conflict ends the step; with it, owners change.
        if applies && self.rng.chance(40) {
            set(&mut out, "force", true);
        }
        if self.rng.chance(25) {
            set(&mut out, "time", TEMPLATES.text(self.rng, "time"));
        }
        if self.rng.chance(3) {
            let name = self.rng.name(&["scale", "status", "eviction"]);
            set(&mut out, "subresource", name);
        }
        if kind == "update" && self.rng.chance(4) {
            set(&mut out, "noErrors", true);
        }

        out
    }

    /// A configuration: like the last one of the manager, or a part of the live object, or new.
    fn config(&mut self, index: usize, version: usize) -> Value {
        // A configuration derived from the last one leaves out fields, which an apply prunes.
        let last = self
            .managers
            .get(index)
            .and_then(|manager| manager.last.clone());
        let mut config = match last {
            Some(last) if self.rng.chance(65) => self.objects().derived(&last),
            _ if self.rng.chance(50) && !self.live.is_null() => {
                let part = self.part();
                if self.rng.chance(50) {
                    self.mutated(&part)
                } else {
                    part
                }
            }
            _ => self.fresh(),
        };

        // The manager remembers the configuration without its faults, since later ones derive from it.
        if let Some(manager) = self.managers.get_mut(index) {
            manager.last = Some(config.clone());
        }
        let live = std::mem::take(&mut self.live);
        self.live = self.objects().overlaid(&live, &config);
        self.spoil(&mut config);
        let mut out = self.at(version, &config);

        // An apply with managed fields is refused; null and an empty list are none.
        match self.rng.below(200) {
            0 | 1 => set_metadata(&mut out, "managedFields", Value::Null),
            2 => set_metadata(&mut out, "managedFields", json!([])),
            3 => set_metadata(&mut out, "managedFields", self.garbage()),
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
        // An update sends the whole object, mostly after small changes.
        let mut object = if self.live.is_null() || self.rng.chance(8) {
            self.fresh()
        } else if self.rng.chance(15) {
            self.part()
        } else {
            let live = self.live.clone();
            self.mutated(&live)
        };
        self.live = object.clone();
        self.spoil(&mut object);
        let mut out = self.at(version, &object);

        // Entries of an update replace those of the live object, and a list with one empty entry clears them.
        match self.rng.below(100) {
            0..=2 => set_metadata(&mut out, "managedFields", Value::Null),
            3..=5 => set_metadata(&mut out, "managedFields", json!([])),
            6 => set_metadata(&mut out, "managedFields", json!([{}])),
            7..=9 => set_metadata(&mut out, "managedFields", self.garbage()),
            10..=16 => set_metadata(&mut out, "managedFields", self.entries()),
            17 if self.rng.chance(70) => mislabel(self.rng, &mut out),
            _ => {}
        }

        // Clients other than kubectl send the annotation back with the object.
        if self.kubectl
            && self.rng.chance(if manager.starts_with("kubectl") {
                60
            } else {
                20
            })
        {
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
            _ => self.part(),
        };
        let version = if self.rng.chance(95) { version } else { 0 };
        let mut text = self.at(version, &config);
        if self.rng.chance(3) {
            mislabel(self.rng, &mut text);
        }

        // Anyone can write the annotation, so it may be anything.
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
        if self.rng.chance(90) && object.get("metadata").is_some_and(|data| !data.is_object()) {
            unset(&mut object, "metadata");
        }
        let uid = self.uid.clone().filter(|_| self.rng.chance(85));
        match self.versions.get(version) {
            Some(version) => dressed(&object, &self.kind, version, uid.as_deref()),
            None => object,
        }
    }

    fn garbage(&mut self) -> Value {
        TEMPLATES.part(self.rng, "garbage", 0)
    }

    fn objects(&mut self) -> Objects<'_> {
        Objects::new(self.rng, &self.kind.types, false)
    }

    /// A part of the live object.
    fn part(&mut self) -> Value {
        let live = self.live.clone();
        self.objects().part(&live)
    }

    fn fresh(&mut self) -> Value {
        self.objects().object()
    }

    fn mutated(&mut self, object: &Value) -> Value {
        self.objects().mutated(object)
    }
}
