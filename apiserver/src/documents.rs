//! The documents that clients read first, for the resources of one moment.

use std::sync::Arc;

use bytes::Bytes;

use crate::discovery::Discovery;
use crate::registry::Registry;

/// The documents of one registry.
pub(crate) struct Documents {
    pub(crate) discovery: Discovery,
}

impl Documents {
    pub(crate) fn of(registry: &Arc<Registry>) -> Self {
        Documents { discovery: Discovery::new(registry.all().map(|served| served.facts.clone())) }
    }

    /// `/`: the paths of the server, as `{"paths": [...]}`.
    pub(crate) fn paths(&self) -> String {
        let mut paths: Vec<&str> =
            vec!["/api", "/api/v1", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"];
        paths.sort_unstable();
        serde_json::json!({ "paths": paths }).to_string()
    }

    pub(crate) fn openapi_v2(&self) -> Bytes {
        crate::facts::openapi_v2()
    }

    pub(crate) fn openapi_v3(&self, path: &str) -> Option<Bytes> {
        crate::facts::openapi_v3(path)
    }

    /// `/openapi/v3`: the paths of the documents with their hashes.
    pub(crate) fn openapi_v3_index(&self) -> Bytes {
        let paths = crate::facts::openapi_v3_paths().map(|(path, hash)| {
            (path.to_owned(), serde_json::json!({ "serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}") }))
        });
        serde_json::json!({ "paths": paths.collect::<serde_json::Map<_, _>>() }).to_string().into()
    }
}
