//! The state of a server.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::documents::Documents;
use crate::registry::Registry;
use crate::source::Source;
use crate::store::SharedStore;

/// The state of a server.
pub(crate) struct Core {
    pub(crate) store: SharedStore,
    registry: RwLock<Arc<Registry>>,
    pub(crate) source: Arc<dyn Source>,
    /// `None` since the resources changed.
    documents: Mutex<Option<Arc<Documents>>>,
    /// One definition is changed at a time: its names may be those of another one.
    pub(super) definitions: tokio::sync::Mutex<()>,
}

impl Core {
    /// `unions` is whether unions have an effect.
    pub(crate) fn new(store: SharedStore, source: Arc<dyn Source>, unions: bool) -> Self {
        let registry = RwLock::new(Arc::new(Registry::builtin(unions)));
        Core {
            store,
            registry,
            source,
            documents: Mutex::default(),
            definitions: tokio::sync::Mutex::default(),
        }
    }

    /// The resources of this moment.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_registry(&self, registry: Registry) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
        *self.documents.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The documents for the resources of this moment. They are made when they are first read.
    pub(crate) fn documents(&self) -> Arc<Documents> {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.get_or_insert_with(|| Arc::new(Documents::of(self.registry()))).clone()
    }
}
