//! The server as a service.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use fieldmanager_value::Value;
use futures::future::BoxFuture;
use http::{Request, Response};

use crate::collector::{Collector, Step};
use crate::endpoint::{Core, Deletions};
use crate::gate::Gate;
use crate::http::{Body, respond};
use crate::limits::Limits;
use crate::source::{Random, Source};
use crate::store::{Memory, SharedStore, StoreError};

/// A Kubernetes API server, as a [`tower::Service`] of HTTP requests. Cheap to clone: all clones are one server.
///
/// ```
/// # tokio_test::block_on(async {
/// use fieldmanager_apiserver::ApiServer;
/// use http_body_util::{BodyExt, Full};
/// use tower::ServiceExt;
///
/// let server = ApiServer::builder().build().await?;
/// let body = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"color": "red"}}"#;
/// let request = http::Request::post("/api/v1/namespaces/default/configmaps").body(Full::<bytes::Bytes>::from(body))?;
/// let response = server.oneshot(request).await?;
/// assert_eq!(response.status(), 201);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ApiServer {
    core: Arc<Core>,
    gate: Arc<Gate>,
    collector: Arc<tokio::sync::Mutex<Collector<Deletions>>>,
}

/// The error of an object that cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(String);

/// The parts of an [`ApiServer`].
pub struct Builder {
    store: Option<SharedStore>,
    source: Arc<dyn Source>,
    limits: Limits,
    tokens: BTreeMap<String, String>,
    collection: Collection,
    unions: bool,
}

/// When the server deletes what deleted owners and namespaces leave behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collection {
    /// As it becomes necessary.
    #[default]
    On,
    /// Only when the program calls [`ApiServer::collect`] or [`ApiServer::collect_step`].
    Stepped,
}

impl ApiServer {
    /// A server with a store in memory, the clock of the machine, and the default limits.
    pub fn builder() -> Builder {
        Builder {
            store: None,
            source: Arc::new(Random::system()),
            limits: Limits::default(),
            tokens: BTreeMap::new(),
            collection: Collection::On,
            unions: true,
        }
    }

    /// The bounds of the server.
    pub fn limits(&self) -> &Limits {
        &self.gate.limits
    }

    /// Creates an object, as a request to create it does.
    ///
    /// # Errors
    ///
    /// [`LoadError`] with the message of the answer.
    pub async fn load(&self, object: &Value) -> Result<(), LoadError> {
        self.core.load(object).await.map_err(LoadError)
    }

    /// Makes one change of the collector, and returns it; `None` if there is nothing to do.
    ///
    /// # Errors
    ///
    /// That of the store.
    pub async fn collect_step(&self) -> Result<Option<Step>, StoreError> {
        self.collector.lock().await.step().await
    }

    /// Makes all changes of the collector, and returns them in order.
    ///
    /// # Errors
    ///
    /// That of the store.
    pub async fn collect(&self) -> Result<Vec<Step>, StoreError> {
        self.collector.lock().await.settle().await
    }

    /// Ends all watches and closes the store. Later requests are answered with 503.
    pub async fn stop(&self) {
        // A store that cannot be closed has lost its connection: nothing is left to close.
        let _ = self.core.store.close().await;
    }
}

impl Builder {
    /// The store; a new one in memory by default.
    #[must_use]
    pub fn store(mut self, store: SharedStore) -> Self {
        self.store = Some(store);
        self
    }

    /// Where times, uids and generated names are from.
    #[must_use]
    pub fn source(mut self, source: impl Source) -> Self {
        self.source = Arc::new(source);
        self
    }

    /// The bounds of the server.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The bearer tokens that are accepted, and the users that they name. Requests without one of them are answered with
    /// 401, but for those of health. Without tokens, which is the default, everybody is admin.
    #[must_use]
    pub fn tokens(mut self, tokens: BTreeMap<String, String>) -> Self {
        self.tokens = tokens;
        self
    }

    /// When dependents of deleted objects, and the objects of deleted namespaces, are deleted. As it becomes necessary by
    /// default.
    #[must_use]
    pub fn collection(mut self, collection: Collection) -> Self {
        self.collection = collection;
        self
    }

    /// Whether unions have an effect, of built-in kinds and of custom resources whose schema declares them with
    /// `x-kubernetes-unions`. On by default. kube-apiserver has no unions, and drops their declarations.
    #[must_use]
    pub fn unions(mut self, on: bool) -> Self {
        self.unions = on;
        self
    }

    /// Makes the server: creates the namespaces and the other objects that exist from the start, where the store lacks
    /// them, and serves the definitions that the store has.
    ///
    /// # Errors
    ///
    /// That of the store.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, unless the collector is [stepped](Collection::Stepped).
    pub async fn build(self) -> Result<ApiServer, StoreError> {
        let store = self.store.unwrap_or_else(|| Arc::new(Memory::default()));
        let core = Arc::new(Core::new(store, self.source, self.unions));
        core.bootstrap().await?;
        let new = || Collector::new(core.store.clone(), Deletions::new(core.clone()));
        if self.collection == Collection::On {
            let collector = new();
            tokio::spawn(async move {
                if let Err(error) = collector.run().await {
                    tracing::warn!(%error, "the collector ended");
                }
            });
        }
        let collector = Arc::new(tokio::sync::Mutex::new(new()));
        Ok(ApiServer { core, gate: Arc::new(Gate::new(self.limits, self.tokens)), collector })
    }
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer").field("limits", self.limits()).finish_non_exhaustive()
    }
}

impl<B> tower::Service<Request<B>> for ApiServer
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(respond(&server.core, &server.gate, request).await) })
    }
}
