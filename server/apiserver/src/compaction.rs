//! The end of old revisions, of which lists are asked: by a token of a page, or by `resourceVersionMatch=Exact`.
//!
//! A watch begins at any revision that the history of the store has, as a kube-apiserver serves it from its cache. The history
//! of etcd itself is compacted too, so that it does not grow for ever.
//!
//! Behaviour: `k8s.io/apiserver/pkg/storage/etcd3/compact.go`.

use std::sync::Arc;
use std::time::Duration;

use crate::endpoint::Core;
use crate::store::{Revision, StoreError};

/// Ends revisions that are older than a time, until the store is closed. Each lasts up to twice that time.
pub(crate) async fn run(core: Arc<Core>, interval: Duration) {
    let mut last = None;
    loop {
        tokio::time::sleep(interval).await;
        match compact(&core, last).await {
            Ok(current) => last = Some(current),
            Err(StoreError::Closed) => return,
            // It is tried again.
            Err(error) => tracing::warn!(%error, "old revisions do not end"),
        }
    }
}

/// Ends the revisions before one, and returns the current one, before which those of the next call end.
async fn compact(core: &Core, oldest: Option<Revision>) -> Result<Revision, StoreError> {
    if let Some(oldest) = oldest {
        // Other stores have bounds of their own, and watches read what they still have.
        if core.store.is_shared() {
            core.store.compact(oldest).await?;
        }
        core.oldest_listed.raise(oldest);
    }
    core.store.revision().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collection;
    use crate::server::ApiServer;
    use crate::store::{List, Memory, Prefix, SharedStore};

    async fn ends_what_is_older(store: SharedStore) {
        let builder = ApiServer::builder().store(store.clone());
        let server = builder.collection(Collection::Stepped).build().await;
        let core = server.unwrap().core;
        let before = compact(&core, None).await.unwrap();
        let object = "{apiVersion: v1, kind: Namespace, metadata: {name: team}}";
        let object = fieldmanager_value::Value::from_yaml(object).unwrap();
        core.load(&object).await.unwrap();
        let after = compact(&core, Some(before)).await.unwrap();
        assert!(after > before);
        assert!(core.oldest_listed.check(before).is_ok());

        compact(&core, Some(after)).await.unwrap();
        // An earlier revision changes nothing.
        compact(&core, Some(before)).await.unwrap();
        assert!(core.oldest_listed.check(after).is_ok());
        let ended = core.oldest_listed.check(before);
        assert!(
            matches!(ended, Err(StoreError::Compacted { requested, oldest }) if (requested, oldest) == (before, after))
        );
        let list = store.list(List::new(Prefix::all()).at(before)).await;
        assert_eq!(list.is_err(), store.is_shared());
    }

    #[tokio::test]
    async fn lists_end_in_every_store() {
        ends_what_is_older(Arc::new(Memory::default())).await;
        ends_what_is_older(Arc::new(Memory::shared(Default::default()))).await;
    }

    #[cfg(feature = "file")]
    #[tokio::test]
    async fn lists_end_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let store = crate::store::File::open(path, Default::default()).unwrap();
        ends_what_is_older(Arc::new(store)).await;
    }
}
