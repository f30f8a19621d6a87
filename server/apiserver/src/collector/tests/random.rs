//! The collector after random operations.

use proptest::prelude::*;

use super::*;

/// An operation on one of a few Secrets in two namespaces.
#[derive(Clone, Debug)]
enum Operation {
    /// Creates an object with owners, which may not exist. Only those before it are used: objects that own each other can
    /// block each other forever, as they do in Kubernetes.
    Create(usize, Vec<(usize, bool)>),
    Delete(usize, Propagation),
    DeleteNamespace(usize),
    CollectorStep,
    Settle,
}

const NAMES: [&str; 8] = ["a/0", "a/1", "a/2", "a/3", "a/4", "b/0", "b/1", "b/2"];

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let object = 0..NAMES.len();
    let propagation = prop_oneof![Just(Background), Just(Foreground), Just(Orphan)];
    let owners = proptest::collection::vec((object.clone(), any::<bool>()), 0..3);
    let operation = prop_oneof![
        6 => (object.clone(), owners).prop_map(|(at, owners)| Operation::Create(at, owners)),
        3 => (object, propagation).prop_map(|(at, propagation)| Operation::Delete(at, propagation)),
        1 => (0..2usize).prop_map(Operation::DeleteNamespace),
        2 => Just(Operation::CollectorStep),
        2 => Just(Operation::Settle),
    ];
    proptest::collection::vec(operation, 1..40)
}

async fn check(operations: Vec<Operation>) {
    let mut test = Test::new();
    test.namespace("a").namespace("b");
    let name = |at: usize| format!("secrets/{}", NAMES[at]);
    let namespace = |at: usize| {
        if NAMES[at].starts_with('a') {
            "namespaces/a"
        } else {
            "namespaces/b"
        }
    };
    for operation in operations {
        match operation {
            Operation::Create(at, owners)
                if !test.exists(&name(at)) && test.exists(namespace(at)) =>
            {
                let owners = owners.into_iter().filter(|(owner, _)| *owner < at);
                let owners = owners.map(|(at, blocks)| name(at) + if blocks { "!" } else { "" });
                let owners: Vec<String> = owners.collect();
                test.create(
                    &name(at),
                    &owners.iter().map(String::as_str).collect::<Vec<_>>(),
                );
            }
            Operation::Delete(at, propagation) => {
                if test
                    .entry(&name(at))
                    .is_some_and(|entry| !is_terminating(&entry.object))
                {
                    test.delete(&name(at), propagation);
                }
            }
            Operation::DeleteNamespace(at) => {
                let path = ["namespaces/a", "namespaces/b"][at];
                if test
                    .entry(path)
                    .is_some_and(|entry| !is_terminating(&entry.object))
                {
                    test.delete(path, Background);
                }
            }
            Operation::CollectorStep => drop(test.collector.step().await.unwrap()),
            Operation::Settle => drop(test.collector.settle().await.unwrap()),
            Operation::Create(..) => {}
        }
    }
    test.settle().await;
    for entry in test.store.current().entries() {
        let object = &entry.object;
        assert!(!is_terminating(object), "{entry:?} did not end");
        let namespace = entry.key.parts().namespace.unwrap_or_default();
        let exists =
            |owner: &Owner<'_>| test.exists(&format!("secrets/{namespace}/{}", owner.name));
        let is_owned = owners(object).all(|owner| exists(&owner) && owner.uid.contains(namespace));
        assert!(is_owned, "{entry:?} has absent owners");
    }
    // What the collector follows by events equals what it finds when it reads everything.
    test.collector.reset();
    assert!(test.settle().await.is_empty());
    // Nothing is kept of objects that ended.
    for namespace in ["namespaces/a", "namespaces/b"]
        .into_iter()
        .filter(|namespace| test.exists(namespace))
    {
        test.delete(namespace, Background);
    }
    test.settle().await;
    assert!(test.store.current().count() == 0 && test.collector.graph.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn in_the_end_all_objects_are_owned_and_none_is_terminating(operations in operations()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(check(operations));
    }
}
