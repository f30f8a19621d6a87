//! The state of a server.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fieldmanager_handlers::Outcome;
use fieldmanager_managedfields::Interner;
use fieldmanager_value::Value;

use super::cursors::Cursors;
use super::inert::Inert;
use super::recounts::Recounts;
use super::siblings::Siblings;
use crate::access::{Access, AccessOptions};
use crate::admission_metrics::AdmissionMetrics;
use crate::documents::Documents;
use crate::encoded::Encoded;
use crate::flows::KnownFlows;
use crate::limits::Limits;
use crate::log::{ExportHistory, History, Recorded, Recorder};
use crate::network::ServiceNetwork;
use crate::participants::{Lists, Participants};
use crate::registry::{Registry, Served};
use crate::source::Source;
use crate::store::{Key, OldestListed, SharedStore};

/// The state of a server.
pub(crate) struct Core {
    pub(crate) store: SharedStore,
    registry: RwLock<Arc<Registry>>,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) access: Access,
    pub(crate) participants: Participants,
    pub(crate) admission_metrics: AdmissionMetrics,
    pub(super) lists: Lists,
    pub(super) recounts: Recounts,
    pub(super) flows: KnownFlows,
    /// Whether requests are classified by flow schemas.
    pub(crate) has_flows: bool,
    /// Whether the status of quotas is counted besides what admission adds, as by kube-controller-manager.
    pub(crate) counts_quotas: bool,
    /// Whether policies get a status, as by kube-controller-manager.
    pub(crate) checks_types: bool,
    /// `None`: there is neither a log nor a history.
    pub(crate) log: Option<Arc<Recorder>>,
    /// `None`: the page offers no files of histories.
    pub(crate) export: Option<ExportHistory>,
    /// The network of the addresses of Services.
    pub(crate) network: ServiceNetwork,
    pub(crate) oldest_listed: OldestListed,
    /// What the version of the server says of this build, behind a `+`; empty for nothing.
    pub(crate) build: String,
    /// `None` since the resources changed.
    documents: Mutex<Option<Arc<Documents>>>,
    /// One definition is changed at a time: its names may be those of another one.
    pub(super) definitions: tokio::sync::Mutex<()>,
    /// The definitions that requests end at the moment.
    pub(super) ending: Mutex<BTreeSet<Key>>,
    /// Whether a task ends definitions, so that requests can leave long work to it.
    pub(crate) has_ending_task: bool,
    /// Is told when there may be other definitions to end.
    pub(crate) terminated: tokio::sync::Notify,
    pub(super) inert: Inert,
    /// Objects that the same client wrote have equal `fieldsV1`, which are stored once.
    interner: Mutex<Interner>,
    siblings: Siblings,
    pub(crate) cursors: Cursors,
    /// The events of watches that were written last: watches that read as fast as the server writes are a few apart.
    pub(crate) events: Encoded,
    /// The items of lists that were written last.
    pub(crate) items: Arc<Encoded>,
}

/// The resources of one moment, with their documents if these were made. Clones are free.
#[derive(Clone)]
pub(crate) struct Resources {
    registry: Arc<Registry>,
    documents: Option<Arc<Documents>>,
}

impl Resources {
    /// The resources that are built in. `unions` is whether unions have an effect.
    pub(crate) fn builtin(unions: bool) -> Self {
        Resources {
            registry: Arc::new(Registry::builtin(unions)),
            documents: None,
        }
    }
}

impl Core {
    /// A log and a history have at most the given sizes.
    pub(crate) fn new(
        store: SharedStore,
        source: Arc<dyn Source>,
        resources: Resources,
        limits: &Limits,
        access: AccessOptions,
        participants: Participants,
    ) -> Self {
        let access = Access::new(access);
        let lists = Lists::default();
        let participants = participants.of_server(&store, &source);
        let store = lists.counting(access.followed(store));

        // A store that other servers write to has what it reads from them.
        let history = History::new(limits.revisions_size, limits.revisions, !store.is_shared());
        let log = Recorder::new(limits.log, history);
        Core {
            store: if log.is_some() {
                Arc::new(Recorded(store))
            } else {
                store
            },
            log,
            export: None,
            network: ServiceNetwork::default(),
            oldest_listed: OldestListed::default(),
            build: String::new(),
            registry: RwLock::new(resources.registry),
            source,
            access,
            participants,
            admission_metrics: AdmissionMetrics::new(),
            lists,
            recounts: Recounts::default(),
            flows: KnownFlows::default(),
            has_flows: true,
            counts_quotas: false,
            checks_types: false,
            documents: Mutex::new(resources.documents),
            definitions: tokio::sync::Mutex::default(),
            ending: Mutex::default(),
            has_ending_task: false,
            terminated: tokio::sync::Notify::new(),
            inert: Inert::default(),
            interner: Mutex::default(),
            siblings: Siblings::default(),
            cursors: Cursors::default(),
            events: Encoded::new(256, 4 << 20),
            items: Arc::new(Encoded::new(16 << 10, 32 << 20)),
        }
    }

    /// Sets whether the server does by itself what kube-controller-manager does after writes.
    pub(crate) fn stand_in(&mut self, is_on: bool) {
        self.checks_types = is_on;
        self.counts_quotas = is_on && self.participants.has_quotas();
        // A server that deleted a definition of a shared store may have been killed, so each server ends all of them.
        self.has_ending_task = is_on || self.store.is_shared();
    }

    /// An object as it is stored, which shares its managed fields with others.
    pub(super) fn shared(&self, object: &Value) -> Value {
        self.interner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .share(object)
    }

    /// An object as it is created, which shares its managed fields and other equal parts with others.
    pub(super) fn created(&self, served: &Served, outcome: &Outcome) -> Value {
        self.siblings.share(
            served.group_resource(),
            &self.shared(&served.outcome_to_stored(outcome)),
        )
    }

    /// The resources of this moment, with their documents.
    pub(crate) fn resources(&self) -> Resources {
        let documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let registry = self.registry();
        let documents = documents.filter(|documents| documents.are_of(&registry));

        Resources {
            registry,
            documents,
        }
    }

    /// Serves other resources.
    pub(crate) fn set_resources(&self, resources: Resources) {
        *self
            .registry
            .write()
            .unwrap_or_else(PoisonError::into_inner) = resources.registry;
        *self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = resources.documents;
    }

    /// A turn in which no definition is changed.
    pub(crate) async fn definitions_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.definitions.lock().await
    }

    /// The resources of this moment.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn set_registry(&self, registry: Registry) {
        self.set_resources(Resources {
            registry: Arc::new(registry),
            documents: None,
        });
    }

    /// The documents for the resources of this moment. They are made when they are first read.
    pub(crate) fn documents(&self) -> Arc<Documents> {
        let mut documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        documents
            .get_or_insert_with(|| Arc::new(Documents::of(self.registry())))
            .clone()
    }
}
