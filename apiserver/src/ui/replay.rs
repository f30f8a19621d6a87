//! Runs the steps of a scenario, to find what is expected after each of them.
//!
//! A container that exists by a default has no owner on the server. A scenario has no defaults, so the manager that adds the
//! first field to the container owns it.

use fieldmanager_fieldpath::{Filter, Owners, Set};
use fieldmanager_managedfields::Operation;
use fieldmanager_merge::{ApplyRequest, UpdateRequest, Updater};
use fieldmanager_schema::Type;
use fieldmanager_typed::{Duplicates, KeyFields, TypedValue};
use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Value};

/// The state of a scenario.
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

    /// Runs a step. One that fails changes nothing, as in a scenario.
    pub(super) fn run(&mut self, step: &Value) {
        let (is_apply, fields) = match (step.get("apply"), step.get("update")) {
            (Some(fields), _) => (true, fields),
            (None, Some(fields)) => (false, fields),
            (None, None) => return,
        };
        let manager = fields.get("manager").and_then(Value::as_str).unwrap_or_default();
        let force = fields.get("force") == Some(&Value::Bool(true));
        let object = fields.get("object").cloned().unwrap_or_default();
        let duplicates = if is_apply { Duplicates::Refuse } else { Duplicates::Allow };
        let Ok(object) = TypedValue::new(object, self.live.ty().clone(), duplicates) else { return };
        let version = self.version.as_str();
        if is_apply {
            let request = ApplyRequest::new(&self.live, &object).version(version).owners(&self.owners);
            if let Ok(applied) = self.updater.apply(request.manager(manager).force_if(force)) {
                self.live = applied.object.unwrap_or_else(|| self.live.clone());
                self.owners = applied.owners;
            }
        } else {
            let request = UpdateRequest::new(&self.live, &object).version(version).owners(&self.owners);
            if let Ok(updated) = self.updater.update(request.manager(manager)) {
                (self.live, self.owners) = (updated.object, updated.owners);
            }
        }
    }

    /// The object that is expected: that of the scenario, if it has the recorded values in all fields that managers own. An
    /// item that lost its last field, or a default, can differ.
    pub(super) fn expected_object(&self, recorded: &TypedValue, owned: &Set) -> Option<Value> {
        let leaves = owned.leaves();
        (values(&self.live, &leaves) == values(recorded, &leaves)).then(|| self.live.value().clone())
    }

    /// Whether the object has no value at a path of a set.
    pub(super) fn is_empty_at(&self, fields: &Set, path: &str) -> bool {
        let Some(path) = fields.paths().find(|own| own.to_string() == path) else { return false };
        let mut wanted = Set::new();
        wanted.insert(&path);
        values(&self.live, &wanted).is_none()
    }

    /// The managers that own containers without values alone, of which the server has no entry, with their operation and fields.
    pub(super) fn owners_of_containers(&self) -> impl Iterator<Item = (&str, Operation, &Set)> {
        let owners = self.owners.iter().filter(|(_, own)| values(&self.live, &own.set().leaves()).is_none());
        owners.map(|(name, own)| {
            let operation = if own.is_applied() { Operation::Apply } else { Operation::Update };
            (name.as_ref(), operation, own.set())
        })
    }

    /// The fields that a manager is expected to own: those of the scenario, if they differ from the recorded ones by containers
    /// without values alone.
    pub(super) fn expected(&self, manager: &str, recorded: &Set, object: &TypedValue) -> Set {
        let own = self.owners.get(manager).map(|owned| owned.set().clone()).unwrap_or_default();
        let (found, wanted) = (own.leaves(), recorded.leaves());
        let is_same = values(&self.live, &found.difference(&wanted)).is_none()
            && values(object, &wanted.difference(&found)).is_none();
        if is_same && !own.is_empty() { own } else { recorded.clone() }
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
