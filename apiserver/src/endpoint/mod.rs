//! Requests as a program sees them: a verb, a resource, options and a body; no HTTP.

mod actions;
mod collect;
mod delete;
mod failure;
mod lifecycle;
mod list;
mod read;
mod review;
mod write;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fieldmanager_handlers::{Refused, Subresource};
use fieldmanager_managedfields::Status;
use fieldmanager_value::Value;

use crate::documents::Documents;
use crate::query::Query;
use crate::registry::{Registry, Served};
use crate::source::Source;
use crate::store::{Prefix, Revision, SharedStore};

pub(crate) use collect::Deletions;
pub(crate) use failure::Failure;
pub(crate) use list::Selection;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// The name in discovery.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

/// One request to a resource.
pub(crate) struct Call<'a> {
    pub(crate) served: &'a Arc<Served>,
    pub(crate) verb: Verb,
    /// Empty: cluster-scoped, or all namespaces.
    pub(crate) namespace: &'a str,
    /// Empty: the collection.
    pub(crate) name: &'a str,
    /// Empty: the object itself.
    pub(crate) subresource: &'a str,
    pub(crate) query: &'a Query,
    pub(crate) content_type: &'a str,
    pub(crate) user_agent: &'a str,
    pub(crate) body: &'a [u8],
}

/// The answer to a request that succeeded.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) content: Content,
}

/// The body of an answer.
pub(crate) enum Content {
    /// An object.
    Object(Value),
    /// A `Status`, as of a deletion.
    Status(Value),
    /// A list.
    List(Listed),
    /// A watch, which the caller starts.
    Watch(WatchCall),
}

/// The items of a list.
pub(crate) struct Listed {
    pub(crate) items: Vec<Value>,
    pub(crate) revision: Revision,
    /// The token of the next page; empty if this is the last one.
    pub(crate) next: String,
    /// The number of items after this page, if the server knows it.
    pub(crate) remaining: Option<u64>,
}

/// What a watch needs.
pub(crate) struct WatchCall {
    pub(crate) served: Arc<Served>,
    pub(crate) prefix: Prefix,
    pub(crate) selection: Selection,
    pub(crate) options: list::WatchOptions,
}

/// The state of a server.
pub(crate) struct Core {
    pub(crate) store: SharedStore,
    registry: RwLock<Arc<Registry>>,
    pub(crate) source: Arc<dyn Source>,
    /// `None` since the resources changed.
    documents: Mutex<Option<Arc<Documents>>>,
    /// One definition is changed at a time: its names may be those of another one.
    definitions: tokio::sync::Mutex<()>,
}

impl Core {
    pub(crate) fn new(store: SharedStore, source: Arc<dyn Source>) -> Self {
        let registry = RwLock::new(Arc::new(Registry::builtin()));
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

    fn set_registry(&self, registry: Registry) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
        *self.documents.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The documents for the resources of this moment. They are made when they are first read.
    pub(crate) fn documents(&self) -> Arc<Documents> {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.get_or_insert_with(|| Arc::new(Documents::of(self.registry()))).clone()
    }

    /// Answers a request to a resource.
    pub(crate) async fn answer(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        if !call.served.supports(call.subresource, call.verb.name()) {
            return Err(self.unsupported(call));
        }
        if call.part().is_none() {
            return self.act(call).await;
        }
        match call.verb {
            Verb::Get => self.get(call).await,
            Verb::List => self.list(call).await,
            Verb::Watch => self.watched(call),
            Verb::Create => self.create(call).await,
            Verb::Update | Verb::Patch => self.change(call).await,
            Verb::Delete => self.delete(call).await,
            Verb::DeleteCollection => self.delete_collection(call).await,
        }
    }

    fn unsupported(&self, call: &Call<'_>) -> Failure {
        let known = call.subresource.is_empty() || call.served.facts.subresource(call.subresource).is_some();
        match known {
            true => Failure::method_not_allowed(),
            false => Failure::path_not_found(),
        }
    }
}

impl Call<'_> {
    /// The part of the object; `None` for subresources that the handlers do not know.
    fn part(&self) -> Option<Subresource> {
        Subresource::of(self.subresource)
    }

    fn not_found(&self) -> Failure {
        Failure::of_object(404, "NotFound", self, |resource, name| format!("{resource} {name} not found"))
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Failure { warnings: refused.warnings, ..Failure::from(*refused.status) }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Failure {
            status: Box::new(status),
            warnings: Vec::new(),
            is_text: false,
            next: String::new(),
            retry_after: 0,
        }
    }
}

impl Answer {
    fn object(code: u16, object: Value) -> Self {
        Answer { code, warnings: Vec::new(), content: Content::Object(object) }
    }
}
