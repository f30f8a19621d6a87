//! How a server is forked, and goes back to a snapshot.

use std::sync::Arc;

use crate::endpoint::Core;
use crate::server::ApiServer;
use crate::snapshot::{Snapshot, TestState};
use crate::source::{Random, Source};
use crate::store::{Revision, StoreError, bounded};

/// Snapshots and forks cost the same, microseconds, however many objects there are. Requests that write while one is made
/// are a part of it or not; a request that creates a CustomResourceDefinition may be in it in part, so begin when writes
/// have been answered.
impl ApiServer {
    /// The state of the server, to which [`restore`](Self::restore) goes back.
    ///
    /// ```
    /// # tokio_test::block_on(async {
    /// use fieldmanager_apiserver::ApiServer;
    /// use fieldmanager_value::Value;
    /// let server = ApiServer::builder().build().await?;
    /// let before = server.snapshot().await?;
    /// let team = Value::from_yaml("{apiVersion: v1, kind: Namespace, metadata: {name: team}}")?;
    /// server.load(&team).await?;
    /// server.restore(&before).await?;
    /// server.load(&team).await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSnapshots`] unless the store is in memory.
    pub async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        // No definition is written between the copy of the objects and that of the resources.
        let _turn = self.core.definitions_turn().await;
        let source = self.core.source.as_random().map(Random::fork);
        Ok(Snapshot {
            store: self.core.store.snapshot()?,
            resources: self.core.resources(),
            source,
        })
    }

    /// A second, independent server in the same state, with the same options. It has its own collector, metrics, log
    /// and clock, and neither watches nor faults; revisions, uids and generated names continue as in this one.
    ///
    /// ```
    /// # tokio_test::block_on(async {
    /// use fieldmanager_apiserver::ApiServer;
    /// use fieldmanager_value::Value;
    /// let server = ApiServer::builder().build().await?;
    /// let team = Value::from_yaml("{apiVersion: v1, kind: Namespace, metadata: {name: team}}")?;
    /// server.fork().await?.load(&team).await?;
    /// server.fork().await?.load(&team).await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSnapshots`] unless the store is in memory.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, unless the collector is [stepped](crate::Collection::Stepped).
    pub async fn fork(&self) -> Result<ApiServer, StoreError> {
        let turn = self.core.definitions_turn().await;
        let source: Arc<dyn Source> = match self.core.source.as_random() {
            Some(random) => Arc::new(random.fork()),
            None => self.core.source.clone(),
        };
        let store = bounded(self.core.store.fork()?, self.limits().stored).await?;
        let mut core = Core::new(
            store,
            source,
            self.core.resources(),
            self.limits(),
            self.core.access.options.clone(),
            self.core.participants.clone(),
        );
        core.export = self.core.export;
        core.network = self.core.network;
        core.build.clone_from(&self.core.build);
        core.has_flows = self.core.has_flows;
        core.adopt_definitions();
        let test = TestState::new(self.test.is_served);
        drop(turn);
        let fork = ApiServer::of(core, self.gate.fork(), self.collection, test);
        fork.mark_start().await?;

        Ok(fork)
    }

    /// Goes back to a snapshot of this server, or of a fork of it: to its objects, resources, time and random numbers.
    /// The history of objects begins again.
    ///
    /// Objects have the `resourceVersion` that they had, but the revision of the server does not go back: it rises, so that
    /// no client finds one revision with two contents. Every watch ends with 410, and clients list again. Returns the new
    /// revision. Two runs that restore get equal bytes from each other, and not from a run that does not restore; where
    /// that matters, use [`fork`](Self::fork).
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSnapshots`] unless the store is in memory; [`StoreError::Closed`].
    pub async fn restore(&self, snapshot: &Snapshot) -> Result<Revision, StoreError> {
        let _turn = self.core.definitions_turn().await;
        let revision = self.core.store.restore(&snapshot.store)?;
        self.core.set_resources(snapshot.resources.clone());
        // Addresses that were taken may be free in the snapshot.
        self.core.cursors.clear();

        // The snapshot may be of the middle of an end.
        self.core.terminated.notify_one();
        // Later revisions of objects no longer follow from those before.
        if let Some(log) = &self.core.log {
            log.clear_history();
        }
        if let (Some(own), Some(saved)) = (self.core.source.as_random(), &snapshot.source) {
            own.restore(saved);
        }

        Ok(revision)
    }

    /// The clock and the random numbers of the server; `None` for a [`Source`] of another type.
    pub fn random(&self) -> Option<&Random> {
        self.core.source.as_random()
    }

    /// Makes the present state the one that [`reset`](Self::reset) goes back to. That of a new server is the state after
    /// [`build`](crate::Builder::build), and that of a fork the state in which it was made.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSnapshots`] unless the store is in memory.
    pub async fn mark_start(&self) -> Result<(), StoreError> {
        let start = self.snapshot().await?;
        self.test.snapshots().start = Some(start);
        Ok(())
    }

    /// [Goes back](Self::restore) to the start, and removes faults, the entries of the log, and the snapshots that requests
    /// made. Returns the new revision.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSnapshots`] unless the store is in memory; [`StoreError::Closed`].
    pub async fn reset(&self) -> Result<Revision, StoreError> {
        let start = self
            .test
            .snapshots()
            .start
            .clone()
            .ok_or(StoreError::NoSnapshots)?;
        let revision = self.restore(&start).await?;
        self.test.snapshots().kept.clear();
        self.faults().clear();
        // Faults draw the same numbers after each reset, so that equal tests have equal faults.
        if let Some(seed) = self.random().and_then(Random::seed) {
            self.faults().set_seed(seed);
        }
        self.clear_log();

        Ok(revision)
    }
}
