//! Errors of a store.

use std::{error::Error, sync::Arc};

use super::{Entry, Key, Revision};

/// The result of an operation of a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An error of a [`Store`](super::Store). Clones are cheap, so that an error of a shared connection reaches every watch.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The stored object is not the one that a write expects. Nothing was written.
    #[error("{key} was changed: {}", found(current.as_ref()))]
    Conflict {
        /// The object that was to be written.
        key: Key,
        /// The stored object; `None` if there is none. A writer that decides again needs no second read.
        current: Option<Entry>,
    },
    /// The store no longer knows the events after a revision, or its state at that revision: the revision was compacted, is
    /// older than the bounded history, or the reader of a watch was too slow.
    #[error("revision {requested} is no longer kept: the oldest kept revision is {oldest}")]
    Compacted {
        /// The revision that was asked for, or up to which the watch was read.
        requested: Revision,
        /// The oldest revision that can be read and watched from.
        oldest: Revision,
    },
    /// The store has not reached a revision.
    #[error("revision {requested} is in the future: the current revision is {current}")]
    Future {
        /// The revision that was asked for.
        requested: Revision,
        /// The revision of the store.
        current: Revision,
    },
    /// The object is larger than the store accepts. Nothing was written.
    #[error("{key} has {size} bytes: at most {limit} are accepted")]
    TooLarge {
        /// The object that was to be written.
        key: Key,
        /// Its encoded size in bytes.
        size: usize,
        /// The largest accepted size in bytes.
        limit: usize,
    },
    /// The store has no room left. Nothing was written.
    #[error("the store is full: {0}")]
    Full(String),
    /// The webhook of a definition did not convert an object. The text is that of the answer.
    #[error("{0}")]
    Conversion(String),
    /// The webhook of a definition did not convert these stored objects.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Undecodable(Vec<Undecodable>),
    /// The store has no snapshots, so that a server with it can neither be forked nor restored.
    #[error("the store has no snapshots: one in memory has them")]
    NoSnapshots,
    /// The store was closed. A watch ends with this error.
    #[error("the store was closed")]
    Closed,
    /// The store cannot be reached or failed. Whether a write took place is unknown.
    #[error("the store is unavailable: {0}")]
    Unavailable(Arc<dyn Error + Send + Sync>),
}

/// A stored object that could not be converted to the version at which it was read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("object not decodable revision={revision}: {text}")]
pub struct Undecodable {
    /// Its key.
    pub key: Key,
    /// Its revision.
    pub revision: Revision,
    /// What the webhook said.
    pub text: String,
}

impl Undecodable {
    /// The error in the words of kube-apiserver, which names the key with the prefix of its etcd in lists only.
    ///
    /// Behaviour: `NewCorruptObjError` of `k8s.io/apiserver/pkg/storage`.
    pub(crate) fn corrupt(&self, key: &str) -> String {
        format!(
            "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {self}"
        )
    }
}

impl From<Undecodable> for StoreError {
    fn from(fault: Undecodable) -> Self {
        StoreError::Undecodable(vec![fault])
    }
}

fn found(current: Option<&Entry>) -> String {
    match current {
        Some(entry) => format!("found revision {}", entry.revision),
        None => "found no object".into(),
    }
}
