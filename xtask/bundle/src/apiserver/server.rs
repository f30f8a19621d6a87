//! The server that is recorded.

use fieldmanager_comparison::server::Client;
use serde_json::Value as Json;

use super::error::Error;

pub(super) const JSON: &str = "application/json";
pub(super) const DISCOVERY: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A server that is asked for documents.
pub(super) struct Server {
    pub(super) client: Client,
}

impl Server {
    pub(super) fn document(
        &self,
        path: &str,
        accept: &str,
    ) -> Result<fieldmanager_comparison::server::Document, Error> {
        let document = self.client.document(path, accept)?;
        if document.code != 200 {
            let body = String::from_utf8_lossy(&document.bytes).into_owned();
            return Err(Error::Status {
                path: path.to_owned(),
                code: document.code,
                body,
            });
        }
        Ok(document)
    }

    pub(super) fn bytes(&self, path: &str, accept: &str) -> Result<Vec<u8>, Error> {
        Ok(self.document(path, accept)?.bytes)
    }

    pub(super) fn text(&self, path: &str, accept: &str) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&self.bytes(path, accept)?).into_owned())
    }

    pub(super) fn json(&self, path: &str, accept: &str) -> Result<Json, Error> {
        let bytes = self.bytes(path, accept)?;
        serde_json::from_slice(&bytes).map_err(|error| Error::Document {
            path: path.to_owned(),
            message: error.to_string(),
        })
    }
}
