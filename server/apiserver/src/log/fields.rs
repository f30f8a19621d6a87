//! The effect of a write on the fields of each manager.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_managedfields::{Entry, Operation};
use fieldmanager_value::{List, Str, Value};

use super::ManagerChange;
use crate::object::metadata;

/// An entry of `managedFields`, at whatever version.
type Owner = (Str, Operation, Str);

/// The effect of a write by a manager. Entries that did not change are not read.
pub(super) fn changes(
    before: Option<&Value>,
    after: Option<&Value>,
    writer: &str,
) -> Vec<ManagerChange> {
    let (old, new) = (entries(before), entries(after));
    let is_writer = |entry: &Value| entry.get("manager").and_then(Value::as_str) == Some(writer);
    // An entry that is equal before and after has no effect, so it is not parsed. Those of the writer are read in any
    // case, since the values of their fields may differ.
    let read = |list: Option<&List>, other: Option<&List>| {
        let known: BTreeSet<&Value> = other
            .into_iter()
            .flatten()
            .filter(|entry| !is_writer(entry))
            .collect();
        owners(
            list.into_iter()
                .flatten()
                .filter(|entry| !known.contains(entry)),
        )
    };

    let (old, new) = (read(old, new), read(new, old));
    // An owner that is only in one of both states gained or lost all its fields.
    let names: BTreeSet<&Owner> = old.keys().chain(new.keys()).collect();
    let empty = Set::new();
    let of = |sets: &BTreeMap<Owner, Set>, owner: &Owner| sets.get(owner).unwrap_or(&empty).clone();
    let differences: Vec<(&Owner, Set, Set)> = names
        .into_iter()
        .map(|owner| {
            let (old, new) = (of(&old, owner), of(&new, owner));
            (owner, new.difference(&old), old.difference(&new))
        })
        .collect();
    let mut changes = Vec::new();

    // A field is taken if another manager loses it by the same write. A manager that moves a field between its own
    // entries, such as from an update to an apply, takes nothing.
    for (owner, gained, lost) in &differences {
        let others = differences.iter().filter(|(other, ..)| other.0 != owner.0);
        let took = others.fold(Set::new(), |took, (.., lost)| {
            took.union(&gained.intersection(lost))
        });
        let mut changed = Vec::new();

        // A write that changes a value takes the field from its other owners, so only the writer keeps fields whose
        // values differ.
        if owner.0 == writer
            && let (Some(before), Some(after)) = (before, after)
        {
            let kept = of(&old, owner).intersection(&of(&new, owner));
            different(&kept, before, after, &mut Path::default(), &mut changed);
        }

        let change = ManagerChange {
            manager: owner.0.to_string(),
            operation: owner.1.to_string(),
            subresource: owner.2.to_string(),
            gained: paths(gained),
            took: paths(&took),
            lost: paths(lost),
            changed,
        };
        // An entry with only another time or version is left out. `took` is a part of `gained`.
        let lists = [&change.gained, &change.lost, &change.changed];

        if lists.into_iter().any(|paths| !paths.is_empty()) {
            changes.push(change);
        }
    }

    changes
}

fn entries(object: Option<&Value>) -> Option<&List> {
    metadata(object?, "managedFields")?.as_list()
}

/// The sets of entries. One that cannot be read has no fields.
fn owners<'v>(entries: impl Iterator<Item = &'v Value>) -> BTreeMap<Owner, Set> {
    let mut owners: BTreeMap<Owner, Set> = BTreeMap::new();
    for entry in entries.filter_map(|entry| Entry::from_value(0, entry).ok()) {
        let owned = owners
            .entry((entry.manager, entry.operation, entry.subresource))
            .or_default();
        *owned = owned.union(&entry.fields);
    }
    owners
}

fn paths(set: &Set) -> Vec<String> {
    set.paths().map(|path| path.to_string()).collect()
}

/// Collects the leaves of a set whose values differ. Parts that both values share are not looked at.
fn different(set: &Set, before: &Value, after: &Value, path: &mut Path, found: &mut Vec<String>) {
    if before.ptr_eq(after) {
        return;
    }
    // Items of associative lists are found by their keys, since a write may move them.
    let (old, new) = (Items::of(set, before), Items::of(set, after));
    for (element, node) in set.nodes() {
        let (Some(before), Some(after)) = (old.get(element), new.get(element)) else {
            continue;
        };
        path.push(element.clone());
        if !node.children().is_empty() {
            different(node.children(), before, after, path, found);
        } else if before != after {
            found.push(path.to_string());
        }
        path.pop();
    }
}

/// The parts of a value that path elements name.
struct Items<'v> {
    value: &'v Value,
    /// The items of an associative list by their keys.
    keyed: BTreeMap<PathElement, &'v Value>,
}

impl<'v> Items<'v> {
    fn of(set: &Set, value: &'v Value) -> Self {
        let key = set.nodes().find_map(|(element, _)| match element {
            PathElement::Key(key) => Some(key),
            _ => None,
        });
        let mut keyed = BTreeMap::new();

        if let (Some(key), Some(list)) = (key, value.as_list()) {
            for item in list {
                let fields = key
                    .iter()
                    .map(|(name, _)| (name.clone(), item.get(name).cloned().unwrap_or_default()));
                keyed.insert(PathElement::key(fields), item);
            }
        }

        Items { value, keyed }
    }

    fn get(&self, element: &PathElement) -> Option<&'v Value> {
        match element {
            PathElement::Field(name) => self.value.get(name),
            PathElement::Key(_) => self.keyed.get(element).copied(),
            PathElement::Index(index) => self.value.as_list()?.get(usize::try_from(*index).ok()?),
            // The item of a set is its own key: it does not change.
            PathElement::Value(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(managed: &str, spec: &str) -> Value {
        Value::from_yaml(&format!(
            "{{metadata: {{managedFields: [{managed}]}}, spec: {spec}}}"
        ))
        .unwrap()
    }

    fn entry(manager: &str, fields: &str) -> String {
        format!(
            "{{manager: {manager}, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {fields}}}"
        )
    }

    #[test]
    fn a_field_that_another_manager_loses_is_taken() {
        let before = object(
            &entry("alice", "{'f:spec': {'f:a': {}, 'f:b': {}}}"),
            "{a: 1, b: 1}",
        );
        let both = [
            entry("alice", "{'f:spec': {'f:b': {}}}"),
            entry("bob", "{'f:spec': {'f:a': {}, 'f:c': {}}}"),
        ];
        let after = object(&both.join(","), "{a: 2, b: 1, c: 1}");
        let changes = changes(Some(&before), Some(&after), "bob");
        let [alice, bob] = changes.as_slice() else {
            panic!("{changes:?}")
        };
        assert_eq!(
            (alice.manager.as_str(), alice.lost.as_slice()),
            ("alice", [".spec.a".to_owned()].as_slice())
        );
        assert_eq!(bob.gained, [".spec.a", ".spec.c"]);
        assert_eq!(bob.took, [".spec.a"]);
    }

    #[test]
    fn values_that_the_writer_owns_and_changes_are_listed_with_their_keys() {
        let fields = r#"{"f:spec": {"f:a": {}, "f:ports": {'k:{"port":1}': {".": {}, "f:name": {}}, 'k:{"port":2}': {".": {}, "f:name": {}}}}}"#;
        let before = object(
            &entry("alice", fields),
            "{a: 1, ports: [{port: 2, name: x}, {port: 1, name: y}]}",
        );
        let after = object(
            &entry("alice", fields),
            "{a: 1, ports: [{port: 1, name: z}, {port: 2, name: x}]}",
        );
        let found = changes(Some(&before), Some(&after), "alice");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].changed, [".spec.ports[port=1].name"]);
        assert_eq!(changes(Some(&before), Some(&after), "bob"), []);
        assert_eq!(changes(Some(&before), Some(&before), "alice"), []);
    }

    #[test]
    fn all_fields_of_a_deleted_object_are_lost() {
        let before = object(&entry("alice", "{'f:spec': {'f:a': {}}}"), "{a: 1}");
        assert_eq!(changes(Some(&before), None, "x")[0].lost, [".spec.a"]);
        assert_eq!(changes(None, Some(&before), "x")[0].gained, [".spec.a"]);
    }
}
