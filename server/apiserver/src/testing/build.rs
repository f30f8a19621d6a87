//! How a server for a test is made.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use fieldmanager_managedfields::Time;
use fieldmanager_value::Value;

use crate::access::Authorization;
use crate::object::text;
use crate::server::{ApiServer, Builder, Collection};
use crate::source::Random;
use crate::store::StoreError;

/// The time at which the clock stops unless the test sets another.
const NOON: i64 = 1_769_860_800;

/// Objects that exist from the start: YAML with any number of documents, a value, or a file. A `List` is its items.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Manifest {
    /// YAML or JSON.
    Yaml(String),
    /// An object.
    Object(Value),
    /// A file with YAML or JSON.
    File(PathBuf),
}

impl From<&str> for Manifest {
    fn from(yaml: &str) -> Self {
        Manifest::Yaml(yaml.to_owned())
    }
}

impl From<String> for Manifest {
    fn from(yaml: String) -> Self {
        Manifest::Yaml(yaml)
    }
}

impl From<Value> for Manifest {
    fn from(object: Value) -> Self {
        Manifest::Object(object)
    }
}

impl From<serde_json::Value> for Manifest {
    fn from(object: serde_json::Value) -> Self {
        Manifest::Yaml(object.to_string())
    }
}

impl From<&Path> for Manifest {
    fn from(file: &Path) -> Self {
        Manifest::File(file.to_owned())
    }
}

impl From<PathBuf> for Manifest {
    fn from(file: PathBuf) -> Self {
        Manifest::File(file)
    }
}

impl Manifest {
    /// The objects.
    fn objects(self) -> Result<Vec<Value>, SetupError> {
        let (origin, yaml) = match self {
            Manifest::Object(object) => return Ok(vec![object]),
            Manifest::Yaml(yaml) => ("a manifest".to_owned(), yaml),
            Manifest::File(path) => {
                let origin = path.display().to_string();
                let yaml = std::fs::read_to_string(&path);
                (
                    origin.clone(),
                    yaml.map_err(|error| SetupError::new(&origin, &error))?,
                )
            }
        };

        let documents =
            Value::all_from_yaml(&yaml).map_err(|error| SetupError::new(&origin, &error))?;
        let mut objects = Vec::new();
        for document in documents.into_iter().filter(|document| !document.is_null()) {
            match document.get("items").and_then(Value::as_list) {
                Some(items) => objects.extend(items.iter().cloned()),
                None => objects.push(document),
            }
        }

        Ok(objects)
    }
}

/// The error of a server that cannot be made: an object that is refused, or a manifest that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SetupError(String);

impl SetupError {
    fn new(origin: &str, error: &dyn std::fmt::Display) -> Self {
        SetupError(format!("{origin}: {error}"))
    }
}

impl From<StoreError> for SetupError {
    fn from(error: StoreError) -> Self {
        SetupError(error.to_string())
    }
}

/// The parts of a [`TestServer`].
pub struct TestBuilder {
    builder: Builder,
    manifests: Vec<Manifest>,
    seed: u64,
    time: Option<Time>,
}

/// An [`ApiServer`] for a test, to which it dereferences. Cheap to clone: all clones are one server.
#[derive(Clone, Debug)]
pub struct TestServer(ApiServer);

impl ApiServer {
    /// A server for a test: in memory, with a [log](crate::log), and with uids, generated names and a stopped clock that
    /// are the same in every run. See [`testing`](crate::testing).
    pub fn for_test() -> TestBuilder {
        TestBuilder {
            builder: ApiServer::builder().test_api(true),
            manifests: Vec::new(),
            seed: 0,
            time: Time::from_unix_seconds(NOON).ok(),
        }
    }
}

impl TestBuilder {
    /// CustomResourceDefinitions to serve.
    #[must_use]
    pub fn crds(self, crds: impl IntoIterator<Item = impl Into<Manifest>>) -> Self {
        self.objects(crds)
    }

    /// Objects to create. Definitions are created first, then namespaces, then the others in their order.
    #[must_use]
    pub fn objects(mut self, objects: impl IntoIterator<Item = impl Into<Manifest>>) -> Self {
        self.manifests.extend(objects.into_iter().map(Into::into));
        self
    }

    /// The seed of uids, generated names and the probabilities of faults. 0 by default.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The time at which the clock stops. 2026-01-31T12:00:00Z by default. [`Random::advance`] moves it.
    #[must_use]
    pub fn time(mut self, time: Time) -> Self {
        self.time = Some(time);
        self
    }

    /// When the dependents of deleted objects are deleted. As it becomes necessary by default, in a task; with
    /// [`Collection::Stepped`] by [`ApiServer::collect`], so that revisions do not depend on when the task runs.
    #[must_use]
    pub fn collection(mut self, collection: Collection) -> Self {
        self.builder = self.builder.collection(collection);
        self
    }

    /// What decides whether a user may do what a request asks for: with [`Authorization::Rbac`] roles and bindings, as
    /// for [users](ApiServer::client_as) of a test.
    #[must_use]
    pub fn authorization(mut self, authorization: Authorization) -> Self {
        self.builder = self.builder.authorization(authorization);
        self
    }

    /// Changes other options of the server. Its source is that of the test.
    #[must_use]
    pub fn options(mut self, change: impl FnOnce(Builder) -> Builder) -> Self {
        self.builder = change(self.builder);
        self
    }

    /// Makes the server. Its log begins after the objects of the setup, and [`ApiServer::reset`] goes back to them.
    ///
    /// # Errors
    ///
    /// [`SetupError`] with the object that is refused, or the manifest that cannot be read.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, unless the collector is stepped.
    pub async fn build(self) -> Result<TestServer, SetupError> {
        let random = Random::system();
        random.set_seed(self.seed);
        if let Some(time) = self.time {
            random.set_time(time);
        }
        let server = self.builder.source(random).build().await?;
        let mut objects = Vec::new();
        for manifest in self.manifests {
            objects.extend(manifest.objects()?);
        }

        objects.sort_by_key(|object| match text(object, &["kind"]) {
            "CustomResourceDefinition" => 0,
            "Namespace" => 1,
            _ => 2,
        });

        for object in &objects {
            server.load(object).await.map_err(|error| {
                let (kind, name) = (text(object, &["kind"]), text(object, &["metadata", "name"]));
                SetupError::new(&format!("{kind} {name:?}"), &error)
            })?;
        }

        match server.mark_start().await {
            // Another store has no start to go back to.
            Ok(()) | Err(StoreError::NoSnapshots) => server.clear_log(),
            Err(error) => return Err(error.into()),
        }
        Ok(TestServer(server))
    }
}

impl TestServer {
    /// The server, for a client library.
    pub fn service(&self) -> ApiServer {
        self.0.clone()
    }

    /// The same server for a user in groups, see [`ApiServer::client_as`].
    ///
    /// ```
    /// # tokio_test::block_on(async {
    /// use fieldmanager_apiserver::{ApiServer, Authorization};
    /// use serde_json::json;
    /// let server = ApiServer::for_test().authorization(Authorization::Rbac).build().await?;
    /// let alice = server.client_as("alice", &["dev"]);
    /// assert_eq!(alice.get("v1", "Secret", "keys").await.unwrap_err().code, 403);
    ///
    /// let rbac = "rbac.authorization.k8s.io";
    /// server.create(json!({
    ///     "apiVersion": "rbac.authorization.k8s.io/v1",
    ///     "kind": "Role",
    ///     "metadata": {"name": "reader"},
    ///     "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    /// })).await?;
    /// server.create(json!({
    ///     "apiVersion": "rbac.authorization.k8s.io/v1",
    ///     "kind": "RoleBinding",
    ///     "metadata": {"name": "dev"},
    ///     "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "reader"},
    ///     "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "dev"}],
    /// })).await?;
    /// // The role allows it, and there is no such Secret.
    /// assert_eq!(alice.get("v1", "Secret", "keys").await.unwrap_err().code, 404);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn client_as(&self, name: &str, groups: &[&str]) -> TestServer {
        TestServer(self.0.client_as(name, groups))
    }

    /// A second, independent server in the same state, see [`ApiServer::fork`].
    ///
    /// # Errors
    ///
    /// Those of [`ApiServer::fork`].
    pub async fn fork(&self) -> Result<TestServer, StoreError> {
        self.0.fork().await.map(TestServer)
    }
}

impl Deref for TestServer {
    type Target = ApiServer;

    fn deref(&self) -> &ApiServer {
        &self.0
    }
}

impl From<ApiServer> for TestServer {
    fn from(server: ApiServer) -> Self {
        TestServer(server)
    }
}
