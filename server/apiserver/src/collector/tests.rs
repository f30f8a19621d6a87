//! The collector on a store in memory, with a minimal server.

mod random;

use std::sync::Arc;

use fieldmanager_value::Value;

use super::*;
use crate::object::{finalizers, is_terminating, with_metadata, without_finalizer};
use crate::store::{HistoryLimits, Memory, Revision, Store, Write};

/// Deletes and updates as a server does, without admission and managed fields.
struct Server(Arc<Memory>);

impl Server {
    async fn write(&self, entry: &Entry, write: Write) -> Result<Reply> {
        match self.0.write(&entry.key, write).await {
            Ok(_) => Ok(Reply::Done),
            Err(StoreError::Conflict { .. }) => Ok(Reply::Overtaken),
            Err(error) => Err(error),
        }
    }
}

fn is_held(object: &Value) -> bool {
    let spec = object.get("spec").and_then(|spec| spec.get("finalizers"));
    finalizers(object).next().is_some() || spec.is_some()
}

fn marked(object: &Value, propagation: Propagation) -> Value {
    let mut all: Vec<Value> = finalizers(object).map(Value::from).collect();
    match propagation {
        Propagation::Background => {}
        Propagation::Foreground => all.push(FOREGROUND.into()),
        Propagation::Orphan => all.push(ORPHAN.into()),
    }
    let object = with_metadata(
        object,
        "deletionTimestamp",
        Some("2026-01-01T00:00:00Z".into()),
    );
    if all.is_empty() {
        object
    } else {
        with_metadata(&object, "finalizers", Some(all.into()))
    }
}

impl Cluster for Server {
    fn resources(&self) -> Arc<[Collected]> {
        let resource = |group: &str, kind: &str, plural: &str, namespaced| Collected {
            group: group.into(),
            kind: kind.into(),
            storage_group: group.into(),
            plural: plural.into(),
            namespaced,
        };
        Arc::new([
            resource("", "Namespace", "namespaces", false),
            resource("", "Node", "nodes", false),
            resource("", "Pod", "pods", true),
            resource("", "Secret", "secrets", true),
            resource("apps", "Deployment", "deployments", true),
            resource("apps", "ReplicaSet", "replicasets", true),
        ])
    }

    fn make<'a>(
        &'a self,
        entry: &'a Entry,
        request: CollectorRequest,
    ) -> BoxFuture<'a, Result<Reply>> {
        let expected = entry.revision;
        let (object, ends) = match request {
            CollectorRequest::Delete(_) if metadata_flag(&entry.object, "refuse") => {
                return Box::pin(async { Ok(Reply::Refused("no".into())) });
            }
            CollectorRequest::Delete(propagation) => (marked(&entry.object, propagation), true),
            CollectorRequest::Update(object) => {
                let ends = is_terminating(&object);
                (object, ends)
            }
        };
        let write = if ends && !is_held(&object) {
            Write::Delete { expected }
        } else {
            Write::Update { expected, object }
        };
        Box::pin(self.write(entry, write))
    }
}

fn metadata_flag(object: &Value, name: &str) -> bool {
    crate::object::metadata(object, name).and_then(Value::as_bool) == Some(true)
}

struct Test {
    store: Arc<Memory>,
    collector: Collector<Server>,
}

/// A path such as `pods/a/web-0` or `nodes/n`.
fn key(path: &str) -> Key {
    let group = if path.starts_with("deployments") || path.starts_with("replicasets") {
        "apps"
    } else {
        ""
    };
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        [plural, namespace, name] => Key::new(group, plural, Some(namespace), name).unwrap(),
        [plural, name] => Key::new(group, plural, None, name).unwrap(),
        _ => panic!("{path}"),
    }
}

fn path(key: &Key) -> String {
    let parts = key.parts();
    [Some(parts.plural), parts.namespace, Some(parts.name)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("/")
}

impl Test {
    fn new() -> Self {
        Self::with(HistoryLimits::default())
    }

    fn with(limits: HistoryLimits) -> Self {
        let store = Arc::new(Memory::new(limits));
        Self {
            collector: Collector::new(store.clone(), Server(store.clone())),
            store,
        }
    }

    fn write(&self, key: &Key, write: Write) -> Revision {
        self.store
            .write(key, write)
            .now_or_never()
            .unwrap()
            .unwrap()
    }

    /// Creates an object whose uid is its path. An owner is a path, with `!` if it is blocked.
    fn create(&self, at: &str, owners: &[&str]) -> &Self {
        let references: Vec<Value> = owners
            .iter()
            .map(|owner| {
                let blocks = owner.ends_with('!');
                let owner = owner.trim_end_matches('!');
                let (version, kind) = match owner.split('/').next().unwrap() {
                    "pods" => ("v1", "Pod"),
                    "secrets" => ("v1", "Secret"),
                    "nodes" => ("v1", "Node"),
                    "deployments" => ("apps/v1", "Deployment"),
                    "replicasets" => ("apps/v1", "ReplicaSet"),
                    "widgets" => ("example.com/v1", "Widget"),
                    other => panic!("{other}"),
                };
                let name = owner.split('/').next_back().unwrap();
                let yaml = format!(
                    "{{apiVersion: {version}, kind: {kind}, name: \"{name}\", uid: {owner}, blockOwnerDeletion: {blocks}}}"
                );
                Value::from_yaml(&yaml).unwrap()
            })
            .collect();
        let mut object = Value::from_yaml(&format!("{{metadata: {{uid: {at}}}}}")).unwrap();
        if !references.is_empty() {
            object = with_metadata(&object, "ownerReferences", Some(references.into()));
        }
        self.write(&key(at), Write::Create(object));
        self
    }

    fn namespace(&self, name: &str) -> &Self {
        let object = Value::from_yaml(&format!(
            "{{metadata: {{uid: {name}}}, spec: {{finalizers: [kubernetes]}}}}"
        ));
        self.write(
            &key(&format!("namespaces/{name}")),
            Write::Create(object.unwrap()),
        );
        self
    }

    fn entry(&self, at: &str) -> Option<Entry> {
        self.store
            .get(&key(at), None)
            .now_or_never()
            .unwrap()
            .unwrap()
            .entry
    }

    fn set(&self, at: &str, field: &str, value: impl Into<Value>) -> &Self {
        let entry = self.entry(at).unwrap();
        let object = with_metadata(&entry.object, field, Some(value.into()));
        self.write(
            &entry.key,
            Write::Update {
                expected: entry.revision,
                object,
            },
        );
        self
    }

    fn delete(&self, at: &str, propagation: Propagation) -> &Self {
        let entry = self.entry(at).unwrap();
        let server = Server(self.store.clone());
        assert_eq!(
            server
                .make(&entry, CollectorRequest::Delete(propagation))
                .now_or_never()
                .unwrap()
                .unwrap(),
            Reply::Done
        );
        self
    }

    /// A user removes all finalizers.
    fn release(&self, at: &str) -> &Self {
        let entry = self.entry(at).unwrap();
        let object = finalizers(&entry.object).fold(entry.object.clone(), |object, finalizer| {
            without_finalizer(&object, finalizer)
        });
        Server(self.store.clone())
            .make(&entry, CollectorRequest::Update(object))
            .now_or_never()
            .unwrap()
            .unwrap();
        self
    }

    async fn settle(&mut self) -> Vec<String> {
        self.collector
            .settle()
            .await
            .unwrap()
            .iter()
            .map(describe)
            .collect()
    }

    fn exists(&self, at: &str) -> bool {
        self.entry(at).is_some()
    }
}

fn describe(step: &CollectorStep) -> String {
    let change = match &step.change {
        CollectorChange::Delete(propagation) => format!("delete {propagation:?}"),
        CollectorChange::RemoveOwners(uids) => format!("remove owners {}", uids.join(" ")),
        CollectorChange::UnblockOwners => "unblock owners".into(),
        CollectorChange::RemoveFinalizer(finalizer) => format!("remove {finalizer}"),
    };
    let refused = step
        .refused
        .as_ref()
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    format!("{}: {change}{refused}", path(&step.key))
}

use Propagation::{Background, Foreground, Orphan};

#[tokio::test]
async fn background_deletion_removes_dependents_of_dependents() {
    let mut test = Test::new();
    test.create("deployments/a/web", &[])
        .create("replicasets/a/web-1", &["deployments/a/web"])
        .create("pods/a/web-1-x", &["replicasets/a/web-1"])
        .create("pods/a/web-1-y", &["replicasets/a/web-1"])
        .create("pods/a/other", &[]);
    assert!(test.settle().await.is_empty());
    test.delete("deployments/a/web", Background);
    let steps = test.settle().await;
    assert_eq!(
        steps,
        [
            "replicasets/a/web-1: delete Background",
            "pods/a/web-1-x: delete Background",
            "pods/a/web-1-y: delete Background"
        ]
    );
    assert!(test.exists("pods/a/other") && test.store.stats().objects == 1);
}

#[tokio::test]
async fn without_steps_nothing_is_deleted() {
    let mut test = Test::new();
    test.create("deployments/a/web", &[])
        .create("pods/a/x", &["deployments/a/web"])
        .create("pods/a/y", &["deployments/a/web"]);
    test.delete("deployments/a/web", Background);
    assert!(test.exists("pods/a/x"));
    assert_eq!(
        test.collector
            .step()
            .await
            .unwrap()
            .map(|step| describe(&step))
            .unwrap(),
        "pods/a/x: delete Background"
    );
    assert!(!test.exists("pods/a/x") && test.exists("pods/a/y"));
    assert!(test.collector.step().await.unwrap().is_some());
    assert_eq!(test.collector.step().await.unwrap(), None);
}

#[tokio::test]
async fn foreground_deletion_removes_blocking_dependents_first() {
    let mut test = Test::new();
    test.create("deployments/a/web", &[])
        .create("replicasets/a/web-1", &["deployments/a/web!"])
        .create("pods/a/x", &["replicasets/a/web-1!"]);
    test.settle().await;
    test.delete("deployments/a/web", Foreground);
    assert!(test.exists("deployments/a/web"));
    assert_eq!(
        test.settle().await,
        [
            "replicasets/a/web-1: delete Foreground",
            "pods/a/x: delete Background",
            "replicasets/a/web-1: remove foregroundDeletion",
            "deployments/a/web: remove foregroundDeletion"
        ]
    );
    assert_eq!(test.store.stats().objects, 0);
}

#[tokio::test]
async fn foreground_deletion_waits_for_finalizers_of_blocking_dependents() {
    let mut test = Test::new();
    test.create("deployments/a/web", &[])
        .create("pods/a/x", &["deployments/a/web!"])
        .create("pods/a/y", &["deployments/a/web"]);
    test.set("pods/a/x", "finalizers", vec!["example.com/hold"])
        .set("pods/a/y", "finalizers", vec!["example.com/hold"]);
    test.delete("deployments/a/web", Foreground);
    assert_eq!(
        test.settle().await,
        ["pods/a/x: delete Background", "pods/a/y: delete Background"]
    );
    assert!(test.exists("deployments/a/web"));
    test.release("pods/a/x");
    // The dependent that does not block is not waited for.
    assert_eq!(
        test.settle().await,
        ["deployments/a/web: remove foregroundDeletion"]
    );
    assert!(!test.exists("deployments/a/web") && test.exists("pods/a/y"));
}

#[tokio::test]
async fn orphaned_dependents_lose_the_owner() {
    let mut test = Test::new();
    test.create("deployments/a/web", &[])
        .create("pods/a/x", &["deployments/a/web"])
        .create("pods/a/y", &["deployments/a/web!"]);
    test.settle().await;
    test.delete("deployments/a/web", Orphan);
    assert_eq!(
        test.settle().await,
        [
            "pods/a/x: remove owners deployments/a/web",
            "pods/a/y: remove owners deployments/a/web",
            "deployments/a/web: remove orphan"
        ]
    );
    assert!(!test.exists("deployments/a/web"));
    let pod = test.entry("pods/a/x").unwrap().object;
    assert_eq!(pod.to_json(), r#"{"metadata":{"uid":"pods/a/x"}}"#);
}

#[tokio::test]
async fn an_object_with_another_owner_loses_only_the_absent_one() {
    let mut test = Test::new();
    test.create("deployments/a/web", &[])
        .create("deployments/a/api", &[])
        .create("pods/a/x", &["deployments/a/web", "deployments/a/api"]);
    test.delete("deployments/a/web", Background);
    assert_eq!(
        test.settle().await,
        ["pods/a/x: remove owners deployments/a/web"]
    );
    test.delete("deployments/a/api", Foreground);
    assert_eq!(
        test.settle().await,
        [
            "deployments/a/api: remove foregroundDeletion",
            "pods/a/x: delete Background"
        ]
    );
}

#[tokio::test]
async fn owners_that_wait_are_removed_if_another_owner_remains() {
    let mut test = Test::new();
    test.create("deployments/a/web", &[])
        .create("deployments/a/api", &[])
        .create("pods/a/x", &["deployments/a/web!", "deployments/a/api"]);
    test.delete("deployments/a/web", Foreground);
    assert_eq!(
        test.settle().await,
        [
            "pods/a/x: remove owners deployments/a/web",
            "deployments/a/web: remove foregroundDeletion"
        ]
    );
    assert!(test.exists("pods/a/x"));
}

#[tokio::test]
async fn an_object_that_is_created_with_an_absent_owner_is_deleted() {
    let mut test = Test::new();
    test.settle().await;
    test.create("pods/a/x", &["deployments/a/gone"]);
    assert_eq!(test.settle().await, ["pods/a/x: delete Background"]);
}

#[tokio::test]
async fn an_owner_with_another_uid_is_absent() {
    let mut test = Test::new();
    test.create("deployments/a/web", &[])
        .create("pods/a/x", &["deployments/a/web"]);
    test.delete("deployments/a/web", Background)
        .create("deployments/a/web", &[]);
    test.set("deployments/a/web", "uid", "another");
    assert_eq!(test.settle().await, ["pods/a/x: delete Background"]);
}

#[tokio::test]
async fn an_owner_in_another_namespace_is_absent() {
    let mut test = Test::new();
    test.create("deployments/b/web", &[])
        .create("pods/a/x", &["deployments/b/web"]);
    assert_eq!(test.settle().await, ["pods/a/x: delete Background"]);
}

#[tokio::test]
async fn owners_of_cluster_scope_can_own_anything() {
    let mut test = Test::new();
    test.create("nodes/n", &[])
        .create("pods/a/x", &["nodes/n"])
        .create("nodes/m", &["nodes/n"]);
    assert!(test.settle().await.is_empty());
    test.delete("nodes/n", Background);
    assert_eq!(
        test.settle().await,
        ["nodes/m: delete Background", "pods/a/x: delete Background"]
    );
}

#[tokio::test]
async fn objects_with_owners_that_cannot_be_looked_up_are_left_alone() {
    let mut test = Test::new();
    test.create("nodes/n", &["pods/a/x"])
        .create("pods/a/y", &["widgets/a/w", "deployments/a/gone"]);
    assert!(test.settle().await.is_empty());
}

#[tokio::test]
async fn owners_that_depend_on_each_other_are_deleted_in_the_foreground() {
    let mut test = Test::new();
    test.create("secrets/a/x", &["secrets/a/y!"])
        .create("secrets/a/y", &["secrets/a/x!"]);
    test.settle().await;
    test.delete("secrets/a/x", Foreground);
    test.settle().await;
    assert_eq!(test.store.stats().objects, 0);
}

#[tokio::test]
async fn a_namespace_is_emptied_before_it_ends() {
    let mut test = Test::new();
    test.namespace("a").namespace("b");
    test.create("pods/a/x", &[])
        .create("secrets/a/s", &[])
        .create("deployments/a/web", &[])
        .create("pods/b/x", &[]);
    test.set("secrets/a/s", "finalizers", vec!["example.com/hold"]);
    test.settle().await;
    test.delete("namespaces/a", Background);
    assert_eq!(
        test.settle().await,
        [
            "deployments/a/web: delete Background",
            "pods/a/x: delete Background",
            "secrets/a/s: delete Background"
        ]
    );
    assert!(test.exists("namespaces/a"));
    test.release("secrets/a/s");
    assert_eq!(test.settle().await, ["namespaces/a: remove kubernetes"]);
    assert!(!test.exists("namespaces/a") && test.exists("pods/b/x") && test.exists("namespaces/b"));
}

#[tokio::test]
async fn an_object_that_is_created_in_a_terminating_namespace_is_deleted() {
    let mut test = Test::new();
    test.namespace("a").create("pods/a/x", &[]).set(
        "pods/a/x",
        "finalizers",
        vec!["example.com/hold"],
    );
    test.delete("namespaces/a", Background);
    test.settle().await;
    test.create("pods/a/y", &[]);
    assert_eq!(test.settle().await, ["pods/a/y: delete Background"]);
    test.release("pods/a/x");
    assert_eq!(test.settle().await, ["namespaces/a: remove kubernetes"]);
}

#[tokio::test]
async fn an_empty_namespace_ends_at_once() {
    let mut test = Test::new();
    test.namespace("a").delete("namespaces/a", Background);
    assert_eq!(test.settle().await, ["namespaces/a: remove kubernetes"]);
    assert_eq!(test.store.stats().objects, 0);
}

#[tokio::test]
async fn a_namespace_with_its_own_finalizer_stays_until_it_is_removed() {
    let mut test = Test::new();
    test.namespace("a")
        .set("namespaces/a", "finalizers", vec!["example.com/hold"]);
    test.delete("namespaces/a", Background);
    assert_eq!(test.settle().await, ["namespaces/a: remove kubernetes"]);
    assert!(test.exists("namespaces/a"));
    test.release("namespaces/a");
    assert!(!test.exists("namespaces/a"));
}

#[tokio::test]
async fn a_namespace_ends_although_its_objects_wait_for_dependents() {
    let mut test = Test::new();
    test.namespace("a").create("deployments/a/web", &[]);
    test.create("pods/a/x", &["deployments/a/web!"]);
    test.delete("deployments/a/web", Foreground)
        .delete("namespaces/a", Background);
    test.settle().await;
    assert_eq!(test.store.stats().objects, 0);
}

#[tokio::test]
async fn a_refused_deletion_is_reported_once() {
    let mut test = Test::new();
    test.create("pods/a/x", &["deployments/a/gone"])
        .create("pods/a/y", &["deployments/a/gone"]);
    test.set("pods/a/x", "refuse", true);
    assert_eq!(
        test.settle().await,
        [
            "pods/a/x: delete Background: no",
            "pods/a/y: delete Background"
        ]
    );
    assert!(test.settle().await.is_empty());
    // Any change of its owners leads to another attempt.
    test.set("pods/a/x", "refuse", false);
    test.collector.reset();
    assert_eq!(test.settle().await, ["pods/a/x: delete Background"]);
}

#[tokio::test]
async fn a_collector_that_lost_events_reads_everything() {
    let mut test = Test::with(HistoryLimits::default().events(3));
    test.settle().await;
    test.create("deployments/a/web", &[]);
    for n in 0..10 {
        test.create(&format!("pods/a/{n}"), &["deployments/a/web"]);
    }
    test.delete("deployments/a/web", Background);
    assert_eq!(test.settle().await.len(), 10);
    assert_eq!(test.store.stats().objects, 0);
}

#[tokio::test]
async fn equal_stores_lead_to_equal_steps() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let mut test = Test::new();
        test.namespace("a");
        for n in 0..20 {
            test.create(&format!("deployments/a/d{n}"), &[]);
            for m in 0..5 {
                test.create(
                    &format!("pods/a/d{n}-{m}"),
                    &[&format!("deployments/a/d{n}!")],
                );
            }
        }
        for n in 0..10 {
            test.delete(
                &format!("deployments/a/d{n}"),
                [Background, Foreground, Orphan][n % 3],
            );
        }
        test.delete("namespaces/a", Background);
        runs.push(test.settle().await);
        assert_eq!(test.store.stats().objects, 0);
    }
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test]
async fn a_running_collector_follows_the_store_until_it_is_closed() {
    let test = Test::new();
    let store = test.store.clone();
    let running = tokio::spawn(test.collector.run());
    let test = Test {
        collector: Collector::new(store.clone(), Server(store.clone())),
        store,
    };
    test.create("deployments/a/web", &[])
        .create("pods/a/x", &["deployments/a/web"]);
    tokio::task::yield_now().await;
    test.delete("deployments/a/web", Background);
    let mut watch = test
        .store
        .watch(Prefix::all(), test.store.revision().await.unwrap())
        .await
        .unwrap();
    assert_eq!(path(&watch.next().await.unwrap().unwrap().key), "pods/a/x");
    test.store.close().await.unwrap();
    running.await.unwrap();
}
