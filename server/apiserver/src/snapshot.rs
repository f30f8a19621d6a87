//! Snapshots of a server, and those that it keeps for a test.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fieldmanager_managedfields::Time;

use crate::endpoint::Resources;
use crate::source::{Random, Source};
use crate::store::{self, Revision};

/// The state of a server at one moment: its objects, the resources that it serves, its clock and its random numbers.
/// Clones are free.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) store: store::Snapshot,
    pub(crate) resources: Resources,
    /// `None` for a source of another type.
    pub(crate) source: Option<Random>,
}

impl Snapshot {
    /// The revision of the store.
    pub fn revision(&self) -> Revision {
        self.store.revision()
    }

    /// The number of objects.
    pub fn count(&self) -> usize {
        self.store.count()
    }

    /// The time at which the clock was stopped, or that of now.
    pub fn time(&self) -> Option<Time> {
        self.source.as_ref().map(Source::now)
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("revision", &self.revision())
            .field("count", &self.count())
            .finish()
    }
}

/// The number of snapshots that a server keeps for requests, at most.
pub(crate) const MAX_SNAPSHOTS: usize = 1000;

/// What a server keeps for a test.
#[derive(Default)]
pub(crate) struct TestState {
    /// Whether requests below `/test` are answered.
    pub(crate) is_served: bool,
    snapshots: Mutex<Snapshots>,
}

/// The snapshots of a server.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// The state that the server goes back to.
    pub(crate) start: Option<Snapshot>,
    pub(crate) kept: BTreeMap<u64, Snapshot>,
    pub(crate) last: u64,
}

impl TestState {
    pub(crate) fn new(is_served: bool) -> Self {
        TestState {
            is_served,
            ..TestState::default()
        }
    }

    pub(crate) fn snapshots(&self) -> MutexGuard<'_, Snapshots> {
        self.snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
