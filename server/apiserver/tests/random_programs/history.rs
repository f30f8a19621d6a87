//! Managed fields computed from the log.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_apiserver::log::{Change, Log, Written};
use fieldmanager_managedfields::ManagedFields;
use fieldmanager_value::Value;
use serde_json::Value as Json;

use crate::random_programs::Check;
use crate::random_programs::client::name;

/// The paths of each manager, by name, operation and subresource.
type Owners = BTreeMap<(String, String, String), BTreeSet<String>>;

/// Checks that the owners of all objects follow from the log.
pub(crate) fn check(log: &Log, list: &[Json]) -> Check {
    let writes = log.iter().flat_map(|entry| &entry.writes);
    let mut writes: Vec<&Written> = writes
        .filter(|write| write.resource == "shops.example.com")
        .collect();
    writes.sort_by_key(|write| write.revision);
    let mut objects: BTreeMap<&str, Owners> = BTreeMap::new();
    for write in writes {
        let exists = objects.contains_key(write.name.as_str());
        if exists == (write.change == Change::Created) {
            return Err(format!("the object exists: {exists}, in {write:?}"));
        }
        let owners = objects.entry(&write.name).or_default();
        for change in &write.managers {
            let owner = (
                change.manager.clone(),
                change.operation.clone(),
                change.subresource.clone(),
            );
            let owned = owners.entry(owner).or_default();
            let is_consistent = change.lost.iter().all(|path| owned.remove(path))
                && change.gained.iter().all(|path| owned.insert(path.clone()))
                && change.changed.iter().all(|path| owned.contains(path));
            if !is_consistent {
                return Err(format!("the log does not follow from {owned:?}: {write:?}"));
            }
        }
        owners.retain(|_, owned| !owned.is_empty());
        if write.change == Change::Deleted {
            let rest = objects.remove(write.name.as_str()).unwrap_or_default();
            if !rest.is_empty() {
                return Err(format!("{rest:?} remain after {write:?}"));
            }
        }
    }
    if objects.len() != list.len() {
        return Err(format!(
            "the log has {:?}, the list {} objects",
            objects.keys(),
            list.len()
        ));
    }
    for object in list {
        let found = owners(object);
        let logged = objects
            .get(name(object))
            .ok_or("an object that was not logged")?;
        if found != *logged {
            return Err(format!(
                "owners of {}: {found:#?}, of the log: {logged:#?}",
                name(object)
            ));
        }
    }
    Ok(())
}

/// The owners in an object.
fn owners(object: &Json) -> Owners {
    let object = Value::from_json(&object.to_string()).unwrap();
    let mut owners = Owners::new();
    for entry in ManagedFields::of_object(&object).unwrap().entries() {
        let owner = (
            entry.manager.to_string(),
            entry.operation.to_string(),
            entry.subresource.to_string(),
        );
        owners
            .entry(owner)
            .or_default()
            .extend(entry.fields.paths().map(|path| path.to_string()));
    }
    owners
}
