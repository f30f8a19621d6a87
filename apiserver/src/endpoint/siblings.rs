//! Sharing of equal parts between the objects of one resource.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use fieldmanager_value::{List, Value, internal::level};

use crate::store::unshared_bytes;

/// The greatest number of resources of which an object is remembered.
const RESOURCES: usize = 256;

/// The greatest size of an object that is remembered, in bytes: it may stay in memory after it was deleted.
const SIZE: usize = 64 << 10;

/// The last objects that were created, one of each resource.
///
/// The Pods of one ReplicaSet differ in a few fields, and objects of the same chart do. A new object therefore shares
/// what is equal with the one that was created before it, which halves the memory of such objects.
#[derive(Default)]
pub(super) struct Siblings(Mutex<HashMap<String, Value>>);

impl Siblings {
    /// An object that is about to be created, with the equal parts of the object of its resource that was created last.
    pub(super) fn share(&self, resource: String, object: &Value) -> Value {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&resource).cloned();
        let shared = last.map_or_else(|| object.clone(), |last| share(&last, object));
        if unshared_bytes(&shared, None) > SIZE {
            return shared;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= RESOURCES && !known.contains_key(&resource) {
            known.clear();
        }
        known.insert(resource, shared.clone());
        shared
    }
}

/// The same value as `own`, with the parts of `known` that are equal to its own.
fn share(known: &Value, own: &Value) -> Value {
    match (known, own) {
        _ if known.ptr_eq(own) => own.clone(),
        (Value::String(text), Value::String(other)) if text == other => known.clone(),
        (Value::List(list), Value::List(others)) => level(|| {
            let items: Vec<Value> = others
                .iter()
                .enumerate()
                .map(|(at, item)| list.get(at).map_or_else(|| item.clone(), |known| share(known, item)))
                .collect();
            let same = |list: &List| items.iter().zip(list).all(|(item, other)| item.ptr_eq(other));
            match () {
                () if list.len() == items.len() && same(list) => known.clone(),
                () if same(others) => own.clone(),
                () => Value::List(items.into_iter().collect()),
            }
        }),
        (Value::Map(map), Value::Map(others)) => level(|| {
            let mut is_equal = true;
            let mut edits = Vec::new();
            for (name, value, other) in map.join(others) {
                match (value, other) {
                    (Some(value), Some(other)) => {
                        let shared = share(value, other);
                        is_equal &= shared.ptr_eq(value);
                        if !shared.ptr_eq(other) {
                            edits.push((name.clone(), Some(shared)));
                        }
                    }
                    _ => is_equal = false,
                }
            }
            if is_equal { known.clone() } else { Value::Map(others.with_edits(edits)) }
        }),
        _ => own.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Value::from_yaml(text).unwrap()
    }

    #[test]
    fn equal_parts_are_shared_and_nothing_else_changes() {
        let text = "{a: {b: [1, {c: a text of some length}], d: 1}, e: [1, 2], f: 1.0}";
        let known = value(text);
        for text in [
            "{a: {b: [1, {c: a text of some length}], d: 2}, e: [1, 2], f: 1}",
            "{a: {b: [1, {c: a text of some length}], d: 1}, e: [1, 2, 3], f: 1.0}",
            "{a: {b: [2, {c: a text of some length}]}, g: {}}",
            "{a: [], e: {}}",
            "[]",
            "text",
        ] {
            let own = value(text);
            let shared = share(&known, &own);
            assert!(shared.strict_eq(&own), "{text}: {shared}");
        }
        let shared =
            share(&known, &value("{a: {b: [2, {c: a text of some length}], d: 1}, x: 1, e: [1, 2]}"));
        let part = |value: &Value| value.get("a")?.get("b")?.as_list()?.get(1).cloned();
        assert!(part(&shared).unwrap().ptr_eq(&part(&known).unwrap()));
        assert!(shared.get("e").unwrap().ptr_eq(known.get("e").unwrap()));
        assert!(share(&known, &value(text)).ptr_eq(&known));
    }

    #[test]
    fn objects_of_other_resources_are_not_compared() {
        let siblings = Siblings::default();
        let object = value("{spec: {a: 1}}");
        let first = siblings.share("pods".to_owned(), &object);
        assert!(!siblings.share("nodes".to_owned(), &value("{spec: {a: 1}}")).ptr_eq(&first));
        assert!(siblings.share("pods".to_owned(), &value("{spec: {a: 1}}")).ptr_eq(&first));
        for number in 0..1000 {
            siblings.share(number.to_string(), &object);
            assert!(siblings.0.lock().unwrap().len() <= RESOURCES);
        }
    }
}
