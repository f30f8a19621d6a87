//! A cluster in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use fieldmanager_access::{Attributes, Decision};
use fieldmanager_admission::{Cluster, Denial, ResourceName};
use fieldmanager_value::Value;
use futures::future::BoxFuture;

type Key = [String; 4];

/// The result of a future that never waits.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the future waits"),
    }
}

/// Objects by group, resource, namespace and name, and what users may do.
#[derive(Default)]
pub(crate) struct FakeCluster {
    objects: Mutex<BTreeMap<Key, Value>>,
    allowed: Mutex<BTreeSet<[String; 3]>>,
    /// How many of the next writes come too late.
    pub(crate) conflicts: Mutex<usize>,
}

fn key((group, resource): ResourceName<'_>, namespace: &str, name: &str) -> Key {
    [group, resource, namespace, name].map(str::to_owned)
}

pub(crate) fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    path.iter()
        .try_fold(object, |value, name| value.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn with_revision(object: Value, revision: usize) -> Value {
    let mut fields = object.as_map().unwrap().clone();
    let mut metadata = fields.get("metadata").unwrap().as_map().unwrap().clone();
    metadata.insert("resourceVersion", revision.to_string());
    fields.insert("metadata", metadata);
    Value::Map(fields)
}

impl FakeCluster {
    pub(crate) fn put(&self, resource: ResourceName<'_>, object: Value) {
        let (namespace, name) = (
            text(&object, &["metadata", "namespace"]).to_owned(),
            text(&object, &["metadata", "name"]).to_owned(),
        );
        let key = key(resource, &namespace, &name);
        self.objects
            .lock()
            .unwrap()
            .insert(key, with_revision(object, 1));
    }

    pub(crate) fn remove(&self, resource: ResourceName<'_>, namespace: &str, name: &str) {
        let key = key(resource, namespace, name);
        self.objects.lock().unwrap().remove(&key).unwrap();
    }

    pub(crate) fn allow(&self, user: &str, verb: &str, name: &str) {
        let allowed = [user, verb, name].map(str::to_owned);
        self.allowed.lock().unwrap().insert(allowed);
    }

    pub(crate) fn all(&self, (group, resource): ResourceName<'_>, namespace: &str) -> Vec<Value> {
        let objects = self.objects.lock().unwrap();
        let found = objects.iter().filter(|(key, _)| {
            key[0] == group && key[1] == resource && (namespace.is_empty() || key[2] == namespace)
        });
        found.map(|(_, object)| object.clone()).collect()
    }
}

impl Cluster for FakeCluster {
    fn get<'a>(
        &'a self,
        resource: ResourceName<'a>,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Denial>> {
        let found = self
            .objects
            .lock()
            .unwrap()
            .get(&key(resource, namespace, name))
            .cloned();
        Box::pin(ready(Ok(found)))
    }

    fn list<'a>(
        &'a self,
        resource: ResourceName<'a>,
        namespace: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Vec<Value>>, Denial>> {
        Box::pin(ready(Ok(Arc::new(self.all(resource, namespace)))))
    }

    fn update_status<'a>(
        &'a self,
        resource: ResourceName<'a>,
        object: Value,
    ) -> BoxFuture<'a, Result<bool, Denial>> {
        let own = |field| text(&object, &["metadata", field]).to_owned();
        let key = key(resource, &own("namespace"), &own("name"));
        let mut objects = self.objects.lock().unwrap();
        let stored = objects.get_mut(&key).unwrap();
        let revision: usize = text(stored, &["metadata", "resourceVersion"])
            .parse()
            .unwrap();

        let mut conflicts = self.conflicts.lock().unwrap();
        if *conflicts > 0 {
            *conflicts -= 1;
            *stored = with_revision(stored.clone(), revision + 1);
        }
        let is_latest = text(stored, &["metadata", "resourceVersion"]) == own("resourceVersion");
        if is_latest {
            *stored = with_revision(object, revision + 1);
        }
        Box::pin(ready(Ok(is_latest)))
    }

    fn authorize<'a>(
        &'a self,
        question: Attributes<'a>,
    ) -> BoxFuture<'a, Result<Decision, Denial>> {
        let Attributes {
            group,
            version,
            resource,
            name,
            ..
        } = question;
        assert_eq!(question.path, None);
        assert_eq!(
            (group, version, resource),
            ("certificates.k8s.io", "*", "signers")
        );
        let asked = [&question.user.name, question.verb, name].map(str::to_owned);
        let allowed = question
            .user
            .groups
            .iter()
            .any(|group| group == "system:masters")
            || self.allowed.lock().unwrap().contains(&asked);
        let decision = Decision {
            allowed,
            ..Decision::default()
        };
        Box::pin(ready(Ok(decision)))
    }
}
