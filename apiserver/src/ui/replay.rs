//! Runs the steps of a scenario, to find what is expected after each of them.
//!
//! A container that exists by a default has no owner on the server. A scenario has no defaults, so the manager that adds the
//! first field to the container owns it, and a comment says so.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_fieldpath::{Filter, Owners, Set, VersionedSet};
use fieldmanager_managedfields::Operation;
use fieldmanager_merge::{ApplyRequest, UpdateRequest, Updater};
use fieldmanager_schema::Type;
use fieldmanager_typed::{Duplicates, KeyFields, TypedValue};
use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

use crate::object::map;

/// The state of a scenario.
#[derive(Clone)]
pub(super) struct Replay {
    updater: Updater,
    version: String,
    live: TypedValue,
    owners: Owners,
}

impl Replay {
    /// The state before the first step. `ignored` are the fields without owners.
    pub(super) fn new(ty: &Type, version: &str, ignored: &Value, unions: bool) -> Self {
        let ignored = Filter::Exclude(Set::from_value(ignored).unwrap_or_default());
        let updater = Updater::builder().filter(version, ignored).unions(unions).build();
        Replay {
            updater,
            version: version.to_owned(),
            live: TypedValue::null(ty.clone()),
            owners: Owners::new(),
        }
    }

    /// Runs a step, and returns the managers and paths of its conflicts. One that fails changes nothing, as in a scenario.
    pub(super) fn run(&mut self, step: &Value) -> BTreeSet<(String, String)> {
        let mut conflicts = BTreeSet::new();
        let (is_apply, fields) = match (step.get("apply"), step.get("update")) {
            (Some(fields), _) => (true, fields),
            (None, Some(fields)) => (false, fields),
            (None, None) => return conflicts,
        };
        let manager = fields.get("manager").and_then(Value::as_str).unwrap_or_default();
        let force = fields.get("force") == Some(&Value::Bool(true));
        let object = fields.get("object").cloned().unwrap_or_default();
        let duplicates = if is_apply { Duplicates::Refuse } else { Duplicates::Allow };
        let Ok(object) = TypedValue::new(object, self.live.ty().clone(), duplicates) else {
            return conflicts;
        };
        let version = self.version.as_str();
        if is_apply {
            let request = ApplyRequest::new(&self.live, &object).version(version).owners(&self.owners);
            match self.updater.apply(request.manager(manager).force_if(force)) {
                Ok(applied) => {
                    self.live = applied.object.unwrap_or_else(|| self.live.clone());
                    self.owners = applied.owners;
                }
                Err(error) => {
                    let found = error.conflicts().into_iter().flatten();
                    conflicts.extend(found.map(|found| (found.manager.to_string(), found.path.to_string())));
                }
            }
        } else {
            let request = UpdateRequest::new(&self.live, &object).version(version).owners(&self.owners);
            if let Ok(updated) = self.updater.update(request.manager(manager)) {
                (self.live, self.owners) = (updated.object, updated.owners);
            }
        }
        conflicts
    }

    /// The object after the last step.
    pub(super) fn object(&self) -> &Value {
        self.live.value()
    }

    /// The owners after the last step, as a scenario expects them.
    pub(super) fn managed(&self) -> Value {
        let owner = |own: &VersionedSet| {
            let operation = if own.is_applied() { Operation::Apply } else { Operation::Update };
            map([
                ("apiVersion", self.version.as_str().into()),
                ("operation", operation.to_string().as_str().into()),
                ("fields", own.set().to_value()),
            ])
        };
        Value::Map(self.owners.iter().map(|(name, own)| (Str::from(name.as_ref()), owner(own))).collect())
    }

    /// Which containers managers own here alone or on the server alone; `None` if values or their owners differ.
    pub(super) fn differences(
        &self,
        recorded: &TypedValue,
        owners: &BTreeMap<String, Set>,
    ) -> Option<BTreeSet<String>> {
        let leaves = owners.values().fold(Set::new(), |all, own| all.union(own)).leaves();
        if values(&self.live, &leaves) != values(recorded, &leaves) {
            return None;
        }
        let mut different = BTreeSet::new();
        let found = self.owners.iter().map(|(name, _)| name.to_string());
        for name in found.chain(owners.keys().cloned()) {
            let found = self.owners.get(&name).map(|own| own.set().clone()).unwrap_or_default();
            let wanted = owners.get(&name).cloned().unwrap_or_default();
            let (own, other) = (found.leaves(), wanted.leaves());
            if values(&self.live, &own.difference(&other)).is_some()
                || values(recorded, &other.difference(&own)).is_some()
            {
                return None;
            }
            for (verb, fields) in
                [("owns", found.difference(&wanted)), ("does not own", wanted.difference(&found))]
            {
                let fields: Vec<String> = fields.paths().map(|path| path.to_string()).collect();
                if !fields.is_empty() {
                    different.insert(format!("{name} {verb} {}", fields.join(" ")));
                }
            }
        }
        Some(different)
    }

    /// Whether the object has no value at a path of a set.
    pub(super) fn is_empty_at(&self, fields: &Set, path: &str) -> bool {
        let Some(path) = fields.paths().find(|own| own.to_string() == path) else { return false };
        let mut wanted = Set::new();
        wanted.insert(&path);
        values(&self.live, &wanted).is_none()
    }
}

/// The values of an object in the leaves of a set; `None` without any.
fn values(object: &TypedValue, leaves: &Set) -> Option<Value> {
    without_empty(object.extract_items(leaves, KeyFields::AsGiven).value())
}

/// A value without nulls, empty lists and empty maps: a list that lost its last item is null in a scenario, and absent after a
/// server has decoded it. `None` if nothing is left.
fn without_empty(value: &Value) -> Option<Value> {
    level(|| match value {
        Value::Null => None,
        Value::Map(fields) => {
            let fields: Map = fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), without_empty(value)?)))
                .collect();
            (!fields.is_empty()).then_some(Value::Map(fields))
        }
        Value::List(items) => {
            let items: List = items.iter().filter_map(without_empty).collect();
            (!items.is_empty()).then_some(Value::List(items))
        }
        scalar => Some(scalar.clone()),
    })
}
