//! Random steps: several managers write one object in turn.

use serde_json::{Value, json};

use super::fields;
use super::objects::{Objects, corrupt, duplicate};
use super::random::Random;
use super::schema;
use super::types::Types;
use super::versions::{Versions, renamed};
use crate::json::set;

struct Manager {
    name: String,
    version: usize,
    last: Option<Value>,
}

/// Writes the steps of one scenario.
pub(crate) struct Steps<'a> {
    rng: &'a mut Random,
    types: Types,
    versions: &'a Versions,
    large: bool,
    managers: Vec<Manager>,
    /// Approximately the live object.
    live: Value,
    /// Objects of earlier steps.
    pool: Vec<Value>,
}

#[derive(Clone, Copy)]
enum StepKind {
    Apply,
    Update,
    ExtractApply,
    ChangeSchema,
    Validate,
    Compare,
    Merge,
    FieldSet,
    Remove,
    Extract,
    Set,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(
        rng: &'a mut Random,
        types: Types,
        versions: &'a Versions,
        large: bool,
    ) -> Self {
        // Most managers share two versions, so that they meet in one field set.
        let managers = (1..=rng.between(2, 4))
            .map(|number| Manager {
                name: format!("m{number}"),
                version: if rng.chance(90) {
                    rng.below(versions.all.len().min(2))
                } else {
                    rng.below(versions.all.len())
                },
                last: None,
            })
            .collect();

        Self {
            rng,
            types,
            versions,
            large,
            managers,
            live: Value::Null,
            pool: Vec::new(),
        }
    }

    pub(crate) fn write(mut self) -> Vec<Value> {
        let count = if self.large {
            self.rng.between(3, 7)
        } else {
            self.rng.between(3, 12)
        };
        let weights = [
            (40, StepKind::Apply),
            (16, StepKind::Update),
            (7, StepKind::ExtractApply),
            (6, StepKind::ChangeSchema),
            (3, StepKind::Validate),
            (6, StepKind::Compare),
            (6, StepKind::Merge),
            (3, StepKind::FieldSet),
            (5, StepKind::Remove),
            (5, StepKind::Extract),
            (5, StepKind::Set),
        ];

        (0..count)
            .map(|position| {
                let step = self.rng.weighted(&weights, StepKind::Apply);
                // A changed schema matters only if there are owners by the old one.
                let step = if position == 0 && matches!(step, StepKind::ChangeSchema) {
                    StepKind::Apply
                } else {
                    step
                };
                self.step(step)
            })
            .collect()
    }

    fn step(&mut self, step: StepKind) -> Value {
        match step {
            StepKind::Apply => self.apply("apply"),
            StepKind::ExtractApply => self.apply("extractApply"),
            StepKind::Update => self.update(),
            StepKind::ChangeSchema => {
                let changed = schema::change(self.rng, &self.types);
                self.types = changed;
                json!({"changeSchema": {"schema": self.versions.schema(&self.types)}})
            }
            StepKind::Validate => {
                let allow = self.rng.chance(50);
                let object = self.loose_object(30);
                let (version, object) = self.at_any_version(&object);
                json!({"validate": {"apiVersion": version, "object": object, "allowDuplicates": allow}})
            }
            StepKind::Compare | StepKind::Merge => {
                let lhs = self.loose_object(15);
                // A merge refuses duplicates on its right side.
                let duplicates = if matches!(step, StepKind::Merge) {
                    5
                } else {
                    20
                };
                let mut rhs = self.objects().derived(&lhs);
                if self.rng.chance(duplicates) {
                    duplicate(self.rng, &mut rhs);
                }

                // Both sides of a merge or comparison must be of one type.
                let index = self.any_version();
                let (version, lhs) = self.at_version(index, &lhs);
                let (_, rhs) = self.at_version(index, &rhs);
                let name = if matches!(step, StepKind::Merge) {
                    "merge"
                } else {
                    "compare"
                };

                json!({name: {"apiVersion": version, "lhs": lhs, "rhs": rhs}})
            }
            StepKind::FieldSet => {
                let object = self.loose_object(20);
                let (version, object) = self.at_any_version(&object);
                json!({"fieldset": {"apiVersion": version, "object": object}})
            }
            StepKind::Remove | StepKind::Extract => self.take(matches!(step, StepKind::Extract)),
            StepKind::Set => self.set(),
        }
    }

    fn apply(&mut self, name: &str) -> Value {
        let index = self.rng.below(self.managers.len());
        // A configuration derived from the last one leaves out fields, which an apply prunes.
        let last = self
            .managers
            .get(index)
            .and_then(|manager| manager.last.clone());
        let mut config = match last {
            Some(last) if self.rng.chance(65) => self.objects().derived(&last),
            _ if self.rng.chance(45) && !self.live.is_null() => {
                let live = self.live.clone();
                let part = self.objects().part(&live);
                if self.rng.chance(50) {
                    self.objects().mutated(&part)
                } else {
                    part
                }
            }
            _ => self.objects().object(),
        };

        // Faults are added afterwards: a faulty configuration would spoil all later ones of the manager.
        if let Some(manager) = self.managers.get_mut(index) {
            manager.last = Some(config.clone());
        }
        self.remember(&config);
        let live = std::mem::take(&mut self.live);
        self.live = self.objects().overlaid(&live, &config);

        if self.rng.chance(2) {
            corrupt(self.rng, &mut config);
        } else if self.rng.chance(1) {
            duplicate(self.rng, &mut config);
        }

        let (manager, version, object) = self.as_manager(index, &config);
        let mut body = json!({"manager": manager, "apiVersion": version, "object": object});
        if name == "apply" && self.rng.chance(45) {
            set(&mut body, "force", true);
        }
        json!({ name: body })
    }

    fn update(&mut self) -> Value {
        let index = self.rng.below(self.managers.len());
        let mut object = if self.live.is_null() || self.rng.chance(10) {
            self.objects().object()
        } else {
            let live = self.live.clone();
            if self.rng.chance(20) {
                self.objects().part(&live)
            } else {
                self.objects().mutated(&live)
            }
        };
        // An update may contain duplicates, which an apply refuses.
        if self.rng.chance(6) {
            duplicate(self.rng, &mut object);
        }

        self.remember(&object);
        self.live = object.clone();
        if self.rng.chance(2) {
            corrupt(self.rng, &mut object);
        }
        let (manager, version, object) = self.as_manager(index, &object);
        json!({"update": {"manager": manager, "apiVersion": version, "object": object}})
    }

    fn take(&mut self, extract: bool) -> Value {
        let object = self.loose_object(15);
        let mut set = fields::random(self.rng, &self.types, &object);
        if self.rng.chance(25) {
            set = fields::changed(self.rng, &self.types, &object, &set);
        }
        if extract && self.rng.chance(80) {
            // Extraction is designed for leaves; sets with inner members are a listed deviation.
            set = fields::leaves(&set);
        }

        // Object and set must be of one version.
        let index = self.any_version();
        let (version, written) = self.at_version(index, &object);
        let set = self.fields_at(index, &set);
        if !extract {
            return json!({"remove": {"apiVersion": version, "object": written, "fields": set}});
        }
        let keys = self.rng.chance(50);

        json!({"extract": {"apiVersion": version, "object": written, "fields": set, "appendKeyFields": keys}})
    }

    fn set(&mut self) -> Value {
        let object = self.old_object();
        let lhs = fields::random(self.rng, &self.types, &object);
        let operation = self.rng.name(&[
            "union",
            "intersection",
            "difference",
            "recursiveDifference",
            "leaves",
        ]);
        if operation == "leaves" {
            return json!({"set": {"op": operation, "lhs": lhs}});
        }

        // Sets that overlap in part distinguish the operations best.
        let rhs = if self.rng.chance(50) {
            fields::changed(self.rng, &self.types, &object, &lhs)
        } else {
            let other = self.objects().derived(&object);
            fields::random(self.rng, &self.types, &other)
        };
        json!({"set": {"op": operation, "lhs": lhs, "rhs": rhs}})
    }

    /// An earlier object or a new one, sometimes with a fault.
    fn loose_object(&mut self, duplicates: u32) -> Value {
        let mut object = self.old_object();
        if self.rng.chance(duplicates) {
            duplicate(self.rng, &mut object);
        }
        if self.rng.chance(3) {
            corrupt(self.rng, &mut object);
        }
        object
    }

    fn old_object(&mut self) -> Value {
        match self.rng.pick(&self.pool).cloned() {
            Some(object) if self.rng.chance(70) => object,
            _ => self.objects().object(),
        }
    }

    fn remember(&mut self, object: &Value) {
        self.pool.push(object.clone());
    }

    fn objects(&mut self) -> Objects<'_> {
        Objects::new(self.rng, &self.types, self.large)
    }

    /// The name and version that a manager uses, and the object at that version.
    fn as_manager(&mut self, index: usize, object: &Value) -> (String, String, Value) {
        let (name, home) = match self.managers.get(index) {
            Some(manager) => (manager.name.clone(), manager.version),
            None => ("m1".to_owned(), 0),
        };
        let index = if self.rng.chance(88) {
            home
        } else {
            self.any_version()
        };
        let (version, object) = self.at_version(index, object);

        (name, version, object)
    }

    fn any_version(&mut self) -> usize {
        self.rng.below(self.versions.all.len())
    }

    fn at_any_version(&mut self, object: &Value) -> (String, Value) {
        let index = self.any_version();
        self.at_version(index, object)
    }

    fn at_version(&self, index: usize, object: &Value) -> (String, Value) {
        match self.versions.at(index) {
            Some(version) => (version.name.clone(), renamed(object, &version.names)),
            None => ("v1".to_owned(), object.clone()),
        }
    }

    fn fields_at(&self, index: usize, set: &Value) -> Value {
        self.versions.at(index).map_or_else(
            || set.clone(),
            |version| fields::renamed(set, &version.names),
        )
    }
}
