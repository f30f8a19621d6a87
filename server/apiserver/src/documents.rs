//! The documents that clients read first, for the resources of one moment.

use std::sync::{Arc, OnceLock};

use crate::discovery::{Discovery, Document};
use crate::facts::ResourceFacts;
use crate::openapi::OpenApi;
use crate::registry::Registry;

/// The documents of one registry.
pub(crate) struct Documents {
    registry: Arc<Registry>,
    pub(crate) discovery: Discovery,
    openapi: OnceLock<OpenApi>,
    /// In JSON and in protobuf; making them takes long.
    openapi_v2: OnceLock<Document>,
    openapi_v2_protobuf: OnceLock<Document>,
}

/// The paths of a server, apart from those of its resources and of its health.
const PATHS: [&str; 10] = [
    "/.well-known/openid-configuration",
    "/api",
    "/apis",
    "/apis/",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/openid/v1/jwks",
    "/version",
];

impl Documents {
    pub(crate) fn of(registry: Arc<Registry>) -> Self {
        // The order of built-in groups and versions is that of preference, which the registry does not keep.
        let custom = registry
            .all()
            .filter(|served| !served.is_builtin())
            .map(|served| served.facts.clone());
        let discovery = Discovery::new(ResourceFacts::served().cloned().chain(custom));
        Documents {
            registry,
            discovery,
            openapi: OnceLock::new(),
            openapi_v2: OnceLock::new(),
            openapi_v2_protobuf: OnceLock::new(),
        }
    }

    /// Whether these are the documents of a registry.
    pub(crate) fn are_of(&self, registry: &Arc<Registry>) -> bool {
        Arc::ptr_eq(&self.registry, registry)
    }

    /// The OpenAPI documents. Clients that never read them do not wait for them.
    pub(crate) fn openapi(&self) -> &OpenApi {
        self.openapi
            .get_or_init(|| OpenApi::new(self.registry.definitions().map(AsRef::as_ref)))
    }

    /// `/openapi/v2` in JSON.
    pub(crate) fn openapi_v2(&self) -> Document {
        self.openapi_v2.get_or_init(|| self.openapi().v2()).clone()
    }

    /// `/openapi/v2` in protobuf.
    pub(crate) fn openapi_v2_protobuf(&self) -> Document {
        self.openapi_v2_protobuf
            .get_or_init(|| self.openapi().v2_protobuf())
            .clone()
    }

    /// `/`: the paths of the server, as `{"paths": [...]}`, with others.
    pub(crate) fn paths(&self, others: impl Iterator<Item = String>) -> String {
        let resources = self
            .registry
            .all()
            .map(|served| format!("/{}", served.facts.path()));
        let groups = self
            .registry
            .all()
            .filter(|served| !served.facts.group.is_empty());
        let groups = groups.map(|served| format!("/apis/{}", served.facts.group));
        let own = PATHS.iter().map(|path| (*path).to_owned());
        let paths: std::collections::BTreeSet<String> =
            own.chain(others).chain(groups).chain(resources).collect();

        serde_json::json!({ "paths": paths }).to_string()
    }
}
