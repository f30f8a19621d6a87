//! The kubeconfig of a client.

use std::io::{self, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// A kubeconfig with one cluster, one user and one context, all named `fieldmanager`.
///
/// It is JSON, which every reader of a kubeconfig takes, since it reads YAML.
#[derive(Clone, Debug)]
pub struct Kubeconfig(Json);

impl Kubeconfig {
    pub(super) fn new(url: &str, authority: Option<&str>, token: Option<&str>) -> Self {
        let mut cluster = json!({"server": url});
        if let Some(fields) = cluster.as_object_mut().filter(|_| url.starts_with("http:")) {
            // The JavaScript client refuses HTTP without it.
            fields.insert("insecure-skip-tls-verify".to_owned(), true.into());
        }

        if let (Some(authority), Some(fields)) = (authority, cluster.as_object_mut()) {
            fields.insert(
                "certificate-authority-data".to_owned(),
                STANDARD.encode(authority).into(),
            );
        }

        // kubectl asks for a name and a password if there is no token.
        let user = json!({"token": token.unwrap_or("admin")});
        let name = "fieldmanager";
        Kubeconfig(json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
            "current-context": name,
        }))
    }

    /// Writes the file. A reader finds the whole file or none: it is written under another name and renamed. Only its
    /// owner can read it, since it may have a token.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(&self.0)?;
        text.push('\n');
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map(|_| ()).map_err(|error| error.error)
    }
}

impl std::fmt::Display for Kubeconfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}
