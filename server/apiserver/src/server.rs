//! The server as a service.

use std::sync::Arc;

#[cfg(feature = "net")]
use fieldmanager_access::certificates::ClientAuthorities;
use fieldmanager_access::tokens::{Keys, TokenIssuer};
use fieldmanager_access::{StaticTokens, User};
#[cfg(feature = "net")]
use fieldmanager_admission::webhooks::Authorities;
use fieldmanager_admission::{Admission, AdmissionRequest, mutating, validating};
use fieldmanager_value::Value;
use tokio::task::JoinSet;

use crate::access::{AccessOptions, Authorization};
use crate::bootstrap::LoadError;
use crate::collector::{Collector, CollectorStep};
use crate::endpoint::{Core, Deletions, Resources};
use crate::fault::Faults;
use crate::gate::Gate;
use crate::log::{ExportHistory, Log, Recorder};
use crate::participants::Participants;
use crate::snapshot::TestState;
use crate::source::{Random, Source};
use crate::store::{Memory, SharedStore, StoreError, bounded};
use crate::{Limits, ServiceNetwork};

/// The issuer of tokens of service accounts, as `kubeadm` names it.
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// The size of the log of a server for tests, in bytes.
const TEST_LOG: usize = 64 << 20;

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
    pub(crate) core: Arc<Core>,
    pub(crate) gate: Arc<Gate>,
    collector: Arc<tokio::sync::Mutex<Collector<Deletions>>>,
    pub(crate) collection: Collection,
    pub(crate) faults: Arc<Faults>,
    pub(crate) test: Arc<TestState>,
    /// The user of all requests of this handle; `None`: requests say who they are of.
    pub(crate) user: Option<Arc<User>>,
    /// The tasks of the server, which end with it.
    _running: Arc<JoinSet<()>>,
}

/// The parts of an [`ApiServer`].
pub struct Builder {
    store: Option<SharedStore>,
    source: Arc<dyn Source>,
    limits: Limits,
    access: AccessOptions,
    participants: Participants,
    collection: Collection,
    unions: bool,
    flows: bool,
    test_api: bool,
    page: bool,
    export: Option<ExportHistory>,
    network: ServiceNetwork,
    build: String,
}

/// When the server deletes what deleted owners and namespaces leave behind, and whether it deletes old Events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collection {
    /// As it becomes necessary. Events are deleted [some time](Limits::event_time) after their last write.
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
            access: AccessOptions::default(),
            participants: Participants::default(),
            collection: Collection::On,
            unions: true,
            flows: true,
            test_api: false,
            page: true,
            export: None,
            network: ServiceNetwork::default(),
            build: String::new(),
        }
    }

    /// A server of its parts, and its collector.
    pub(crate) fn of(mut core: Core, gate: Gate, collection: Collection, test: TestState) -> Self {
        core.stand_in(collection == Collection::On);
        let core = Arc::new(core);
        // The task has a collector, and so have the calls of the program. Each follows the store for itself.
        let new = || Collector::new(core.store.clone(), Deletions(core.clone()));
        let mut tasks = JoinSet::new();
        if collection == Collection::On {
            tasks.spawn(new().run());
            tasks.spawn(crate::expiry::run(core.clone(), gate.limits.event_time));
            let recounting = core.clone();
            tasks.spawn(async move { recounting.keep_recounting().await });
        }
        if collection == Collection::On && core.access.has_rules() {
            let aggregating = core.clone();
            tasks.spawn(async move { aggregating.keep_aggregating().await });
        }
        if core.has_ending_task {
            let ending = core.clone();
            tasks.spawn(async move { ending.keep_ending_definitions().await });
        }

        let interval = gate.limits.compaction_interval;
        if !interval.is_zero() {
            tasks.spawn(crate::compaction::run(core.clone(), interval));
        }

        // Other servers write definitions, and leave allocations when they are killed during a write.
        if core.store.is_shared() {
            let (following, freeing) = (core.clone(), core.clone());
            tasks.spawn(async move { following.follow_definitions().await });
            tasks.spawn(async move {
                match freeing.free_abandoned_allocations().await {
                    Ok(()) | Err(StoreError::Closed) => {}
                    Err(error) => {
                        tracing::warn!(%error, "unused addresses of Services remain until the next start")
                    }
                }
            });
        }

        let collector = Arc::new(tokio::sync::Mutex::new(new()));
        let faults = Arc::new(Faults::new(core.source.as_random().and_then(Random::seed)));
        ApiServer {
            core,
            gate: Arc::new(gate),
            collector,
            collection,
            faults,
            test: Arc::new(test),
            user: None,
            _running: Arc::new(tasks),
        }
    }

    /// The bounds of the server.
    pub fn limits(&self) -> &Limits {
        &self.gate.limits
    }

    /// The same server for a user in groups: all requests of what this returns are the user's, whatever credentials they
    /// have. The user is authenticated, and so in the group `system:authenticated` too.
    #[must_use]
    pub fn client_as(&self, name: &str, groups: &[&str]) -> ApiServer {
        ApiServer {
            user: Some(Arc::new(User::new(name, groups))),
            ..self.clone()
        }
    }

    /// Creates an object, as a request to create it does.
    ///
    /// # Errors
    ///
    /// [`LoadError`]; [`LoadError::Exists`] also for an object that the store had from the start.
    pub async fn load(&self, object: &Value) -> Result<(), LoadError> {
        self.core.load(object).await
    }

    /// Makes one change of the collector, and returns it; `None` if there is nothing to do.
    ///
    /// # Errors
    ///
    /// That of the store.
    pub async fn collect_step(&self) -> Result<Option<CollectorStep>, StoreError> {
        self.collector.lock().await.step().await
    }

    /// Makes all changes of the collector, and returns them in order.
    ///
    /// # Errors
    ///
    /// That of the store.
    pub async fn collect(&self) -> Result<Vec<CollectorStep>, StoreError> {
        self.collector.lock().await.settle().await
    }

    /// The faults that the server injects into its answers; none at first.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The log of the requests that were answered; empty if the server has none.
    pub fn log(&self) -> Log {
        self.core
            .log
            .as_deref()
            .map(Recorder::log)
            .unwrap_or_default()
    }

    /// Removes all entries of the log. The next one is number 1.
    pub fn clear_log(&self) {
        if let Some(log) = &self.core.log {
            log.clear();
        }
    }

    /// The path that opens the [page](Builder::page) in a browser. If the server has [tokens](Builder::tokens), the path has a
    /// code that works once and lets the browser in with a cookie; only the last path that was made has a valid code. A client
    /// with a token gets one by `POST /ui/link`, too.
    ///
    /// ```
    /// # tokio_test::block_on(async {
    /// use fieldmanager_apiserver::{ApiServer, StaticTokens};
    /// let server = ApiServer::builder().tokens(StaticTokens::from_csv("secret,alice")?).build().await?;
    /// assert!(server.page_path()?.starts_with("/ui?code="));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn page_path(&self) -> std::io::Result<String> {
        self.gate.page_path(self.core.access.is_open())
    }

    /// Ends all watches. Other requests are answered as before; watches that begin later end at once.
    pub(crate) fn end_watches(&self) {
        self.gate.end_watches();
    }

    /// Ends all watches, closes the store, and stops requests that still run. Later requests are answered with 503.
    pub async fn stop(&self) {
        self.end_watches();
        // A store that cannot be closed has lost its connection: nothing is left to close.
        let _ = self.core.store.close().await;
        self.gate.pool.end();
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
    /// 401, but for those of health. Without tokens, which is the default, everybody is admin: a server in a program cannot be
    /// reached by others, unless the program [listens](crate::net::Listening) on a port. A web page is refused in both
    /// cases.
    #[must_use]
    pub fn tokens(mut self, tokens: StaticTokens) -> Self {
        self.access.tokens = tokens;
        self
    }

    /// What signs and verifies the tokens of service accounts; by default, a key that is made, for the issuer
    /// `https://kubernetes.default.svc.cluster.local`.
    #[must_use]
    pub fn token_issuer(mut self, issuer: TokenIssuer) -> Self {
        self.access.issuer = Some(Arc::new(issuer));
        self
    }

    /// The authorities whose certificates name users, on a [port](crate::net::Listening) with TLS.
    #[cfg(feature = "net")]
    #[must_use]
    pub fn client_authorities(mut self, authorities: ClientAuthorities) -> Self {
        self.access.authorities = Some(Arc::new(authorities));
        self
    }

    /// What decides whether a user may do what a request asks for; by default, everything is allowed.
    #[must_use]
    pub fn authorization(mut self, authorization: Authorization) -> Self {
        self.access.authorization = authorization;
        self
    }

    /// The admission plugins that run, by their names in kube-apiserver. By default, these are the
    /// [plugins](fieldmanager_admission::plugins::NAMES) that kube-apiserver runs by default, but ServiceAccount.
    #[must_use]
    pub fn admission_plugins(mut self, names: &[&str]) -> Self {
        self.participants.retain(names);
        self
    }

    /// A URL at which the webhook behind a service is, in place of the address of the service: that of a server in a test, such as
    /// `https://127.0.0.1:9443`, or `http://127.0.0.1:9443` for one without TLS. May be called for several services.
    #[cfg(feature = "net")]
    #[must_use]
    pub fn webhook_service(mut self, namespace: &str, name: &str, url: &str) -> Self {
        let services = &mut self.participants.addresses.services;
        services.insert(format!("{namespace}/{name}"), url.to_owned());
        self
    }

    /// The certificates, in PEM, of the authorities that signed those of webhooks, for configurations without a `caBundle`.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    #[cfg(feature = "net")]
    pub fn webhook_authorities(mut self, authorities: &str) -> Result<Self, String> {
        self.participants.addresses.authorities = Authorities::from_pem(authorities.as_bytes())?;
        Ok(self)
    }

    /// Adds a participant in admission, which runs behind those that were added before.
    #[must_use]
    pub fn admission(mut self, participant: Arc<dyn Admission>) -> Self {
        self.participants.add(participant);
        self
    }

    /// Adds a closure that may change or refuse the object of every request, as a mutating webhook of this name does: it
    /// returns the new object, `None` for no change, or why the request is refused. What it writes has no owner.
    ///
    /// ```
    /// # tokio_test::block_on(async {
    /// use fieldmanager_apiserver::{ApiServer, LoadError};
    /// use fieldmanager_value::Value;
    ///
    /// let server = ApiServer::builder()
    ///     .mutate("color.example.com", |request| {
    ///         let Some(Value::Map(object)) = request.object.filter(|_| request.is_of("", "configmaps")) else {
    ///             return Ok(None);
    ///         };
    ///         let mut object = object.clone();
    ///         object.insert("data", Value::from_json(r#"{"color":"red"}"#).unwrap_or_default());
    ///         Ok(Some(Value::Map(object)))
    ///     })
    ///     .validate("name.example.com", |request| match request.name {
    ///         "web" => Err("the name is taken".to_owned()),
    ///         _ => Ok(()),
    ///     })
    ///     .build()
    ///     .await?;
    /// let object = Value::from_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: default}}")?;
    /// let refused = r#"admission webhook "name.example.com" denied the request: the name is taken"#;
    /// assert_eq!(server.load(&object).await, Err(LoadError::Refused(refused.to_owned())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn mutate(
        self,
        name: &str,
        mutate: impl Fn(&AdmissionRequest<'_>) -> Result<Option<Value>, String> + Send + Sync + 'static,
    ) -> Self {
        self.admission(mutating(name, mutate))
    }

    /// Adds a closure that may refuse every request, as a validating webhook of this name does: it returns why.
    #[must_use]
    pub fn validate(
        self,
        name: &str,
        validate: impl Fn(&AdmissionRequest<'_>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.admission(validating(name, validate))
    }

    /// Converts the objects of a definition with `strategy: Webhook` by a closure, in place of the webhook. It gets an object and
    /// the `apiVersion` that the object is to have. What it returns is checked as the answer of a webhook is; its error is the
    /// message of a webhook that failed.
    ///
    /// The name of the definition is `PLURAL.GROUP`, such as `shops.example.com`.
    ///
    /// ```
    /// # tokio_test::block_on(async {
    /// use fieldmanager_apiserver::ApiServer;
    /// use serde_json::json;
    /// let shops = "
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// metadata: {name: shops.example.com}
    /// spec:
    ///   group: example.com
    ///   scope: Namespaced
    ///   names: {plural: shops, kind: Shop}
    ///   conversion:
    ///     strategy: Webhook
    ///     webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://localhost/convert'}}
    ///   versions:
    ///   - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}}
    ///   - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {area: {type: integer}}}}}
    /// ";
    /// let builder = ApiServer::for_test().options(|server| {
    ///     server.convert("shops.example.com", |object, api_version| {
    ///         let (old, new) = match api_version {
    ///             "example.com/v1" => ("area", "size"),
    ///             _ => ("size", "area"),
    ///         };
    ///         let mut fields = object.as_map().cloned().ok_or("a shop is a map")?;
    ///         if let Some(value) = fields.remove(old) {
    ///             fields.insert(new, value);
    ///         }
    ///         fields.insert("apiVersion", api_version);
    ///         Ok(fields.into())
    ///     })
    /// });
    /// let server = builder.crds([shops]).build().await?;
    /// let shop = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "size": 3});
    /// server.apply("alice", shop).await?;
    /// assert_eq!(server.get("example.com/v2", "Shop", "corner").await?["area"], 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn convert(
        mut self,
        definition: &str,
        convert: impl Fn(&Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        let converters = &mut self.participants.converters;
        converters.insert(definition.to_owned(), Arc::new(convert));
        self
    }

    /// Whether requests without credentials are those of the user `system:anonymous`; they are refused with 401 by default.
    #[must_use]
    pub fn anonymous(mut self, on: bool) -> Self {
        self.access.allows_anonymous = on;
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

    /// Whether requests are classified by flow schemas: answers have the headers `X-Kubernetes-PF-FlowSchema-UID` and
    /// `X-Kubernetes-PF-PriorityLevel-UID`, and flow schemas their condition `Dangling`. On by default.
    #[must_use]
    pub fn priority_and_fairness(mut self, on: bool) -> Self {
        self.flows = on;
        self
    }

    /// Whether this is a server for tests: it has a [log](crate::log), and answers requests [below `/test`](crate::test_api)
    /// by which any client can restore, inject faults and set the clock. Off by default.
    #[must_use]
    pub fn test_api(mut self, on: bool) -> Self {
        self.test_api = on;
        self
    }

    /// Whether the server has a page for people below `/ui`, and keeps the [revisions](Limits::revisions) of objects that
    /// it shows. On by default.
    #[must_use]
    pub fn page(mut self, on: bool) -> Self {
        self.page = on;
        self
    }

    /// The format in which the page offers the history of an object as a file; without one, it offers none.
    #[must_use]
    pub fn export(mut self, export: ExportHistory) -> Self {
        self.export = Some(export);
        self
    }

    /// The network of the addresses of Services; `10.96.0.0/16` by default.
    #[must_use]
    pub fn service_network(mut self, network: ServiceNetwork) -> Self {
        self.network = network;
        self
    }

    /// What `gitVersion` of `/version` has behind a `+`, so that clients see that this is no kube-apiserver; nothing by default.
    #[must_use]
    pub fn build_metadata(mut self, build: &str) -> Self {
        build.clone_into(&mut self.build);
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
    /// Outside of a tokio runtime, unless the collector is [stepped](Collection::Stepped), the store is of this server
    /// alone, and there is no [compaction](Limits::compaction_interval).
    pub async fn build(self) -> Result<ApiServer, StoreError> {
        let mut limits = self.limits;
        let store = self.store.unwrap_or_else(|| Arc::new(Memory::default()));
        let store = bounded(store, limits.stored).await?;
        if self.test_api && limits.log == 0 {
            limits.log = TEST_LOG;
        }
        if !self.page {
            (limits.revisions, limits.revisions_size) = (0, 0);
        }

        let mut access = self.access;
        if access.issuer.is_none() {
            let (keys, _) =
                Keys::generate().map_err(|error| StoreError::Unavailable(Arc::new(error)))?;
            access.issuer = Some(Arc::new(TokenIssuer::new(ISSUER, keys)));
        }
        let mut core = Core::new(
            store,
            self.source,
            Resources::builtin(self.unions),
            &limits,
            access,
            self.participants,
        );
        core.export = self.export;
        core.network = self.network;
        core.build = self.build;
        core.has_flows = self.flows;
        core.bootstrap().await?;

        // Otherwise a task does it, so that a server with many objects to delete answers at once.
        if self.collection == Collection::Stepped {
            core.end_definitions().await?;
        }
        let test = TestState::new(self.test_api);
        let server = ApiServer::of(core, Gate::new(limits, self.page), self.collection, test);
        server.core.check_stored_types().await;

        match server.mark_start().await {
            Ok(()) | Err(StoreError::NoSnapshots) => Ok(server),
            Err(error) => Err(error),
        }
    }
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer")
            .field("limits", self.limits())
            .finish_non_exhaustive()
    }
}
