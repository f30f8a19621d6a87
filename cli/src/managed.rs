//! `metadata.managedFields` of an object, read and written plainly: one entry per manager, operation and
//! version.

use std::fmt;

use fieldmanager_fieldpath::{Managers, Path, PathElement, Set, VersionedSet};
use fieldmanager_value::{List, Map, Str, Value};
use jiff::Timestamp;

use crate::error::Failure;

/// Fields that everyone has to give and nobody owns, as in the apiserver.
const OWNED_BY_NOBODY: [&[&str]; 12] = [
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// What tells one entry from another: its manager, operation and, for an updater, its version. An applier
/// is the same at every version. As one string it is the manager's name for the updater.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) manager: String,
    pub(crate) operation: String,
    pub(crate) api_version: Option<String>,
    pub(crate) subresource: Option<String>,
}

const APPLY: &str = "Apply";
const UPDATE: &str = "Update";

impl Identity {
    pub(crate) fn applier(manager: &str) -> Self {
        Identity { manager: manager.into(), operation: APPLY.into(), api_version: None, subresource: None }
    }

    pub(crate) fn updater(manager: &str, api_version: &str) -> Self {
        Identity {
            manager: manager.into(),
            operation: UPDATE.into(),
            api_version: Some(api_version.into()),
            subresource: None,
        }
    }

    /// The identity as the name of a manager.
    pub(crate) fn name(&self) -> Str {
        let mut map = Map::new();
        map.insert("manager", self.manager.as_str());
        map.insert("operation", self.operation.as_str());
        for (name, value) in [("apiVersion", &self.api_version), ("subresource", &self.subresource)] {
            if let Some(value) = value {
                map.insert(name, value.as_str());
            }
        }
        Str::from(Value::Map(map).to_json())
    }

    /// The identity behind the name of a manager.
    pub(crate) fn parse(name: &str) -> Self {
        let value = Value::from_json(name).unwrap_or_default();
        let text = |field| value.get(field).and_then(Value::as_str).map(str::to_owned);
        Identity {
            manager: text("manager").unwrap_or_else(|| name.to_owned()),
            operation: text("operation").unwrap_or_default(),
            api_version: text("apiVersion"),
            subresource: text("subresource"),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.manager, self.operation)?;
        if let Some(version) = &self.api_version {
            write!(f, " {version}")?;
        }
        if let Some(subresource) = &self.subresource {
            write!(f, ", {subresource}")?;
        }
        f.write_str(")")
    }
}

/// The managers of an object, and the times noted for them.
#[derive(Default)]
pub(crate) struct ManagedFields {
    pub(crate) managers: Managers,
    times: Vec<(Str, Timestamp)>,
}

impl ManagedFields {
    /// Takes `metadata.managedFields` out of an object.
    pub(crate) fn take_from(object: &mut Value, file: &str) -> Result<Self, Failure> {
        let Some(entries) = remove(object) else {
            return Ok(Self::default());
        };
        let mut found = Self::default();
        let fault = |place: &str, message: String| Failure::input(file, format!("{place}: {message}"));
        let entries = match &entries {
            Value::Null => return Ok(found),
            Value::List(entries) => entries,
            other => {
                let message = format!("expected list, got {}", other.kind());
                return Err(fault(".metadata.managedFields", message));
            }
        };
        for (i, entry) in entries.iter().enumerate() {
            let place = format!(".metadata.managedFields[{i}]");
            found.read(entry).map_err(|(field, message)| fault(&format!("{place}{field}"), message))?;
        }
        Ok(found)
    }

    fn read(&mut self, entry: &Value) -> Result<(), (&'static str, String)> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let operation = match text("operation") {
            Some(operation @ (APPLY | UPDATE)) => operation,
            _ => return Err((".operation", "operation must be `Apply` or `Update`".into())),
        };
        let version = text("apiVersion").ok_or((".apiVersion", "apiVersion must not be empty".to_owned()))?;
        if text("fieldsType") != Some("FieldsV1") {
            return Err((".fieldsType", "fieldsType must be `FieldsV1`".into()));
        }
        let identity = Identity {
            manager: text("manager").unwrap_or("unknown").into(),
            operation: operation.into(),
            api_version: (operation == UPDATE).then(|| version.to_owned()),
            subresource: text("subresource").map(str::to_owned),
        };
        let fields = entry.get("fieldsV1").unwrap_or(&Value::Null);
        let set = Set::from_value(fields).map_err(|error| (".fieldsV1", error.to_string()))?;
        let name = identity.name();
        if let Some(time) = entry.get("time").filter(|time| !time.is_null()) {
            let time = time.as_str().and_then(|time| time.parse().ok());
            let time = time.ok_or((".time", "expected a time like 2026-01-31T12:00:00Z".to_owned()))?;
            self.times.push((name.clone(), time));
        }
        let set = match self.managers.get(&name) {
            // Two entries of one identity: neither's fields may be lost.
            Some(known) => known.set().union(&set),
            None => set,
        };
        self.managers.insert(name, VersionedSet::new(set, version, operation == APPLY));
        Ok(())
    }

    /// Notes what a manager owns after it acted, and when it did.
    pub(crate) fn note(&mut self, managers: Managers, actor: &Identity, time: Option<Timestamp>) {
        let name = actor.name();
        self.managers = managers;
        if let Some(entry) = self.managers.get(&name) {
            let set = entry.set().difference(&owned_by_nobody());
            let entry = entry.with_set(set);
            if entry.set().is_empty() {
                self.managers.remove(&name);
            } else {
                self.managers.insert(name.clone(), entry);
            }
        }
        if let Some(time) = time {
            self.times.retain(|(known, _)| *known != name);
            self.times.push((name, time));
        }
    }

    /// Puts the managers into an object as `metadata.managedFields`.
    pub(crate) fn put_into(&self, object: &mut Value) {
        let mut entries: Vec<_> = self
            .managers
            .iter()
            .map(|(name, entry)| {
                let time = self.times.iter().find(|(known, _)| known == name).map(|(_, time)| *time);
                let identity = Identity::parse(name);
                let seconds = time.map_or(0, Timestamp::as_second);
                let version = entry.api_version().to_string();
                let order = (
                    identity.operation.clone(),
                    seconds,
                    identity.manager.clone(),
                    version,
                    identity.subresource.clone(),
                );
                (order, write(&identity, entry, time))
            })
            .collect();
        if entries.is_empty() {
            return;
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let list: List = entries.into_iter().map(|(_, entry)| entry).collect();
        if let Value::Map(object) = object {
            let mut metadata = match object.get("metadata") {
                Some(Value::Map(metadata)) => metadata.clone(),
                _ => Map::new(),
            };
            metadata.insert("managedFields", list);
            object.insert("metadata", metadata);
        }
    }
}

fn write(identity: &Identity, entry: &VersionedSet, time: Option<Timestamp>) -> Value {
    let mut map = Map::new();
    map.insert("manager", identity.manager.as_str());
    map.insert("operation", if entry.is_applied() { APPLY } else { UPDATE });
    map.insert("apiVersion", entry.api_version().as_str());
    if let Some(time) = time {
        // Kubernetes keeps whole seconds and drops the rest.
        let seconds = Timestamp::from_second(time.as_second()).unwrap_or(time);
        map.insert("time", seconds.to_string());
    }
    map.insert("fieldsType", "FieldsV1");
    map.insert("fieldsV1", entry.set().to_value());
    if let Some(subresource) = &identity.subresource {
        map.insert("subresource", subresource.as_str());
    }
    Value::Map(map)
}

/// Whether an object brings managedFields of its own.
pub(crate) fn is_set(object: &Value) -> bool {
    let metadata = object.get("metadata");
    metadata.and_then(|m| m.get("managedFields")).is_some_and(|fields| !fields.is_null())
}

/// Removes `metadata.managedFields` and returns it.
fn remove(object: &mut Value) -> Option<Value> {
    let Value::Map(map) = object else {
        return None;
    };
    let Some(Value::Map(metadata)) = map.get("metadata") else {
        return None;
    };
    let mut metadata = metadata.clone();
    let removed = metadata.remove("managedFields")?;
    map.insert("metadata", metadata);
    Some(removed)
}

fn owned_by_nobody() -> Set {
    let path = |names: &&[&str]| -> Path { names.iter().map(|name| PathElement::field(*name)).collect() };
    OWNED_BY_NOBODY.iter().map(path).collect()
}
