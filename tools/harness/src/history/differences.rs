//! How a replayed history differs from the recorded one.
//!
//! A container that exists by a default has no owner on the server. A scenario has no defaults, so the manager that adds the
//! first field to the container owns it, and a comment says so.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_fieldpath::{Owners, Set};
use fieldmanager_typed::{KeyFields, TypedValue};
use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Value};

/// Which containers managers own in the replay alone or on the server alone; `None` if values or their owners differ.
pub(super) fn differences(
    (live, owners): (&TypedValue, &Owners),
    (recorded, recorded_owners): (&TypedValue, &BTreeMap<String, Set>),
) -> Option<BTreeSet<String>> {
    let leaves = recorded_owners
        .values()
        .fold(Set::new(), |all, own| all.union(own))
        .leaves();
    if values(live, &leaves) != values(recorded, &leaves) {
        return None;
    }

    let mut different = BTreeSet::new();
    let replayed = owners.iter().map(|(name, _)| name.to_string());
    for name in replayed.chain(recorded_owners.keys().cloned()) {
        let found = owners.get(&name).map(|own| own.set().clone());
        let found = found.unwrap_or_default();
        let wanted = recorded_owners.get(&name).cloned().unwrap_or_default();
        let (own, other) = (found.leaves(), wanted.leaves());
        if values(live, &own.difference(&other)).is_some()
            || values(recorded, &other.difference(&own)).is_some()
        {
            return None;
        }

        for (verb, fields) in [
            ("owns", found.difference(&wanted)),
            ("does not own", wanted.difference(&found)),
        ] {
            let fields: Vec<String> = fields.paths().map(|path| path.to_string()).collect();
            if !fields.is_empty() {
                different.insert(format!("{name} {verb} {}", fields.join(" ")));
            }
        }
    }

    Some(different)
}

/// Whether an object has no value at a path of a set.
pub(super) fn is_empty_at(object: &TypedValue, fields: &Set, path: &str) -> bool {
    let Some(path) = fields.paths().find(|own| own.to_string() == path) else {
        return false;
    };
    let mut wanted = Set::new();
    wanted.insert(&path);
    values(object, &wanted).is_none()
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
