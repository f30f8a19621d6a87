//! The texts of faults of connections, without secrets.

use std::error::Error;
use std::path::PathBuf;

use kube::client::AuthError;
use kube::config::KubeconfigError;

/// The most characters of a body in a report.
pub(crate) const SHOWN: usize = 4000;

/// The end of messages about certificates.
pub const CERTIFICATE_HINT: &str = "; --certificate-authority names the authority of --server, and --insecure accepts any certificate";

/// A server that cannot be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is not one.
    #[error(
        "`{url}` is not the address of a server: {reason}; expected an address such as https://127.0.0.1:6443"
    )]
    Url {
        /// The address, without a user.
        url: String,
        /// The fault.
        reason: String,
    },
    /// The address of the proxy is not one.
    #[error(
        "{name}: `{url}` is not the address of a proxy: expected one with http, https or socks5"
    )]
    Proxy {
        /// The variable of the environment, or the member of the kubeconfig.
        name: String,
        /// The address, without a user.
        url: String,
    },
    /// A file cannot be read.
    #[error("{}: cannot be read: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The fault.
        reason: String,
    },
    /// The kubeconfig does not lead to a server.
    #[error("the kubeconfig: {0}")]
    Kubeconfig(String),
    /// The client cannot be made, for instance because of a certificate.
    #[error("the client: {0}")]
    Client(String),
    /// The server does not answer.
    #[error("{url} does not answer: {reason}")]
    Silent {
        /// The address.
        url: String,
        /// The fault.
        reason: String,
    },
}

/// An error with its causes.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let (mut causes, mut next) = (vec![error], error.source());
    while let Some(cause) = next {
        causes.push(cause);
        next = cause.source();
    }

    if let Some(credentials) = causes
        .iter()
        .find_map(|cause| cause.downcast_ref::<AuthError>())
    {
        return of_credentials(credentials);
    }

    let mut text = String::new();
    for cause in causes {
        let own = cause.to_string();
        // Errors of kube repeat their cause.
        let is_wrapper = cause.downcast_ref::<kube::Error>().is_some() && cause.source().is_some();
        if is_wrapper || text.contains(&own) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&own);
    }

    if text.contains("certificate") {
        text.push_str(CERTIFICATE_HINT);
    }
    text
}

/// A fault of credentials. The texts of the client have the arguments and the environment of plugins.
fn of_credentials(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { out, .. } => {
            format!("the plugin of the kubeconfig failed with {}", out.status)
        }
        AuthError::AuthExecStart(error) => {
            format!("the plugin of the kubeconfig cannot be started: {error}")
        }
        AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed => {
            "the output of the plugin of the kubeconfig is not an ExecCredential with a status"
                .into()
        }
        AuthError::ReadTokenFile(error, file) => {
            format!("{}: cannot be read: {error}", file.display())
        }
        _ => "the credentials of the kubeconfig cannot be used".into(),
    }
}

/// A fault of a kubeconfig. The texts of the parser have parts of the file.
pub(crate) fn of_kubeconfig(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => {
            let place = error
                .location()
                .map(|place| format!(" at line {}, column {}", place.line(), place.column()));
            format!(
                "the file is not a kubeconfig in YAML: there is a fault{}",
                place.unwrap_or_default()
            )
        }
        other => with_causes(other),
    }
}

/// An address without the name and the password of a user.
pub(crate) fn without_user(url: &str) -> String {
    let (scheme, rest) = url
        .split_once("://")
        .map_or(("", url), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{host}{path}")
}

/// The beginning of a text, with its length if it is longer.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!(
            "{}… ({} bytes)",
            text.get(..end).unwrap_or_default(),
            text.len()
        ),
        None => text.to_owned(),
    }
}
