//! Sharing of equal parts between the objects of one resource.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use fieldmanager_value::internal::join;
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
        // The lock is not held while objects are compared, which takes as long as they are large.
        let last = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&resource)
            .cloned();
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
    // Numbers and booleans need no memory beside their value, so only strings, lists and maps are shared.
    match (known, own) {
        _ if known.ptr_eq(own) => own.clone(),
        (Value::String(text), Value::String(other)) if text == other => known.clone(),
        (Value::List(list), Value::List(others)) => level(|| {
            let items: Vec<Value> = others
                .iter()
                .enumerate()
                .map(|(at, item)| {
                    list.get(at)
                        .map_or_else(|| item.clone(), |known| share(known, item))
                })
                .collect();
            // A list whose items are all those of one side is that side, so that its own memory is shared as well.
            let same = |list: &List| {
                items
                    .iter()
                    .zip(list)
                    .all(|(item, other)| item.ptr_eq(other))
            };

            if list.len() == items.len() && same(list) {
                known.clone()
            } else if same(others) {
                own.clone()
            } else {
                Value::List(items.into_iter().collect())
            }
        }),
        (Value::Map(map), Value::Map(others)) => level(|| {
            // A member of one side makes the maps different, and the equal members are shared all the same.
            let mut is_equal = true;
            let mut edits = Vec::new();
            for (name, value, other) in join(map, others) {
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

            if is_equal {
                known.clone()
            } else {
                Value::Map(others.with_edits(edits))
            }
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
        let shared = share(
            &known,
            &value("{a: {b: [2, {c: a text of some length}], d: 1}, x: 1, e: [1, 2]}"),
        );
        let part = |value: &Value| value.get("a")?.get("b")?.as_list()?.get(1).cloned();
        assert!(part(&shared).unwrap().ptr_eq(&part(&known).unwrap()));
        assert!(shared.get("e").unwrap().ptr_eq(known.get("e").unwrap()));
        assert!(share(&known, &value(text)).ptr_eq(&known));
    }

    /// The measurement of docs/internals.md.
    #[test]
    fn pods_of_one_replica_set_share_more_than_half_of_their_memory() {
        let pod = |number: usize| {
            value(&format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: web-5d78c9869d-{number:05}, namespace: production,
                  uid: 0f5c2b8e-6f43-4f0e-8a55-{number:012}, creationTimestamp: '2026-01-31T12:00:00Z',
                  labels: {{app.kubernetes.io/name: web-frontend, pod-template-hash: 5d78c9869d}},
                  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-frontend-5d78c9869d, controller: true}}]}},
                  spec: {{containers: [{{name: web-frontend, image: registry.example.com/web/frontend:1.2.3,
                    env: [{{name: DATABASE_ADDRESS, value: database.production.svc.cluster.local}}],
                    ports: [{{containerPort: 8080, protocol: TCP}}],
                    resources: {{limits: {{cpu: 500m, memory: 512Mi}}, requests: {{cpu: 100m, memory: 128Mi}}}},
                    volumeMounts: [{{name: configuration, mountPath: /etc/configuration}}]}}],
                  volumes: [{{name: configuration, configMap: {{name: web-frontend-configuration}}}}]}}}}"
            ))
        };
        let siblings = Siblings::default();
        let pods: Vec<Value> = (0..100)
            .map(|number| siblings.share("pods".to_owned(), &pod(number)))
            .collect();
        let alone: usize = pods.iter().map(|pod| unshared_bytes(pod, None)).sum();
        let of_two = |two: &[Value]| unshared_bytes(&two[1], Some(&two[0]));
        let shared = unshared_bytes(&pods[0], None) + pods.windows(2).map(of_two).sum::<usize>();
        println!("{alone} bytes alone, {shared} bytes shared");
        assert!(
            shared * 2 < alone,
            "{alone} bytes alone, {shared} bytes shared"
        );
    }

    #[test]
    fn objects_of_other_resources_are_not_compared() {
        let siblings = Siblings::default();
        let object = value("{spec: {a: 1}}");
        let first = siblings.share("pods".to_owned(), &object);
        assert!(
            !siblings
                .share("nodes".to_owned(), &value("{spec: {a: 1}}"))
                .ptr_eq(&first)
        );
        assert!(
            siblings
                .share("pods".to_owned(), &value("{spec: {a: 1}}"))
                .ptr_eq(&first)
        );
        for number in 0..1000 {
            siblings.share(number.to_string(), &object);
            assert!(siblings.0.lock().unwrap().len() <= RESOURCES);
        }
    }
}
