//! The connection to a server.

use std::path::PathBuf;
use std::time::Duration;

use fieldmanager_apiserver::{ApiServer, Random};
use http::{HeaderMap, Request, Uri};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The client of the requests, and so the manager of those that name none.
const AGENT: &str = concat!("fieldmanager-conformance/", env!("CARGO_PKG_VERSION"));

/// How to reach a server.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// The address, such as `https://127.0.0.1:6443`. Without it, the kubeconfig names the server.
    pub url: Option<String>,
    /// The bearer token for the address.
    pub token: Option<String>,
    /// A file with the certificate authority of the address, in PEM.
    pub certificate_authority: Option<PathBuf>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// The kubeconfig; without it, the files of `$KUBECONFIG` or `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; without it, the current one.
    pub context: Option<String>,
}

/// A server that cannot be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is not one.
    #[error(
        "`{url}` is not the address of a server: {reason}; expected an address such as https://127.0.0.1:6443"
    )]
    Url {
        /// The address.
        url: String,
        /// The fault.
        reason: String,
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
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// The client cannot be made, for instance because of a certificate.
    #[error("the client: {0}")]
    Client(#[source] kube::Error),
    /// The server does not answer.
    #[error("{url} does not answer: {reason}")]
    Silent {
        /// The address.
        url: String,
        /// The fault.
        reason: String,
    },
}

/// A connection to a server.
#[derive(Clone)]
pub struct Connection {
    client: Client,
    url: String,
    context: Option<String>,
    /// Arguments of `curl`, without secrets.
    curl: Vec<String>,
}

/// An answer of a server.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// A request as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) method: String,
    /// The path and the query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Message {
    pub(crate) fn new(method: &str, path: impl Into<String>, body: String) -> Self {
        Message { method: method.into(), path: path.into(), headers: Vec::new(), body }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The headers with those that every request has.
    fn all_headers(&self) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        let defaults =
            [("User-Agent", AGENT), ("Accept", "application/json"), ("Content-Type", "application/json")];
        for (name, value) in defaults {
            if self.header(name).is_none() && (name != "Content-Type" || !self.body.is_empty()) {
                headers.push((name.into(), value.into()));
            }
        }
        headers
    }
}

impl Connection {
    /// Reads the options and makes a client. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`ConnectError`].
    pub async fn new(options: &ServerOptions) -> Result<Self, ConnectError> {
        let (mut config, context) = config(options).await?;
        config.accept_invalid_certs |= options.insecure;
        let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let mut curl = Vec::new();
        if config.accept_invalid_certs {
            curl.push("--insecure".to_owned());
        } else if let Some(file) = &options.certificate_authority {
            curl.push(format!("--cacert {}", quoted(&file.display().to_string())));
        } else if config.root_cert.is_some() {
            curl.push("--cacert \"$CERTIFICATE_AUTHORITY\"".to_owned());
        }
        let info = &config.auth_info;
        if info.client_certificate.is_some() || info.client_certificate_data.is_some() {
            curl.push("--cert \"$CERTIFICATE\" --key \"$KEY\"".to_owned());
        } else if info.token.is_some() || info.token_file.is_some() || info.exec.is_some() {
            curl.push("-H \"Authorization: Bearer $TOKEN\"".to_owned());
        }
        let client = Client::try_from(config).map_err(ConnectError::Client)?;
        Ok(Connection { client, url, context, curl })
    }

    /// A connection to a new server of this project inside the program, with the time of the system.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Silent`].
    pub async fn in_process() -> Result<Self, ConnectError> {
        let url = "http://localhost".to_owned();
        let server = ApiServer::builder().source(Random::system()).build().await;
        let server =
            server.map_err(|error| ConnectError::Silent { url: url.clone(), reason: error.to_string() })?;
        let client = Client::new(server, "default");
        Ok(Connection { client, url, context: None, curl: Vec::new() })
    }

    /// The address of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The context of the kubeconfig, if the server is from one.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Whether the server looks like one for tests: its address is of the loopback interface, or the name of the context or
    /// of the host has a word of test servers.
    ///
    /// ```
    /// use fieldmanager_conformance_suite::looks_like_test;
    /// assert!(looks_like_test("https://127.0.0.1:6443", None));
    /// assert!(looks_like_test("https://10.0.0.7:6443", Some("kind-shop")));
    /// assert!(!looks_like_test("https://api.shop.example.com", Some("production")));
    /// ```
    pub fn looks_like_test(&self) -> bool {
        looks_like_test(&self.url, self.context())
    }

    /// The release of the server.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Silent`] if there is no answer, or one that is not that of an API server.
    pub async fn version(&self) -> Result<String, ConnectError> {
        let silent = |reason: String| ConnectError::Silent { url: self.url.clone(), reason };
        let answer = self.send(&Message::new("GET", "/version", String::new())).await.map_err(silent)?;
        let version: serde_json::Value = serde_json::from_str(&answer.text).unwrap_or_default();
        match version.get("gitVersion").and_then(serde_json::Value::as_str) {
            Some(version) if answer.code == 200 => Ok(version.to_owned()),
            // A fake has no version, but it answers; one answers with a list, as for any path.
            _ if answer.code == 404 || answer.code == 200 && version.is_object() => Ok("unknown".to_owned()),
            _ => Err(silent(format!(
                "expected its version at /version, got the code {}: {}",
                answer.code, answer.text
            ))),
        }
    }

    pub(crate) async fn send(&self, message: &Message) -> Result<Answer, String> {
        use http_body_util::BodyExt;
        let exchange = async {
            let response = self.respond(message).await?;
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Ok(Answer { code: parts.status.as_u16(), headers: parts.headers, text })
        };
        let late = |_| format!("no answer in {} seconds", PATIENCE.as_secs());
        tokio::time::timeout(PATIENCE, exchange).await.map_err(late)?
    }

    /// Sends a request whose answer has no end.
    pub(crate) async fn respond(&self, message: &Message) -> Result<http::Response<Body>, String> {
        let uri: Uri = message.path.parse().map_err(|error| format!("the path {}: {error}", message.path))?;
        let mut request = Request::builder().method(message.method.as_str()).uri(uri);
        for (name, value) in message.all_headers() {
            request = request.header(name, value);
        }
        let body = Body::from(message.body.clone().into_bytes());
        let request = request.body(body).map_err(|error| error.to_string())?;
        self.client.send(request).await.map_err(|error| error.to_string())
    }

    /// A command that repeats a request.
    pub(crate) fn curl(&self, message: &Message) -> String {
        let mut words = vec![format!("curl -sS -X {}", message.method)];
        words.extend(self.curl.iter().cloned());
        let headers = message.all_headers();
        words.extend(
            headers.iter().map(|(name, value)| format!("-H {}", quoted(&format!("{name}: {value}")))),
        );
        if !message.body.is_empty() {
            words.push(format!("--data-binary {}", quoted(&message.body)));
        }
        words.push(quoted(&format!("{}{}", self.url, message.path)));
        words.join(" ")
    }
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether a server looks like one for tests. See [`Connection::looks_like_test`].
#[doc(hidden)]
pub fn looks_like_test(url: &str, context: Option<&str>) -> bool {
    /// Words of the names of servers for tests, and of the programs that make them.
    const WORDS: &[&str] = &[
        "ci",
        "colima",
        "desktop",
        "dev",
        "e2e",
        "envtest",
        "fake",
        "fieldmanager",
        "k3d",
        "kind",
        "kwok",
        "local",
        "microk8s",
        "minikube",
        "mock",
        "orbstack",
        "sandbox",
        "test",
        "testing",
        "tests",
        "vcluster",
    ];
    let uri: Option<Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    if host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
        return true;
    }
    let names = [host, context.unwrap_or_default()];
    let mut words = names.iter().flat_map(|name| name.split(|c: char| !c.is_ascii_alphanumeric()));
    words.any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

async fn config(options: &ServerOptions) -> Result<(Config, Option<String>), ConnectError> {
    if let Some(url) = &options.url {
        let wrong = |reason: String| ConnectError::Url { url: url.clone(), reason };
        let uri: Uri = url.parse().map_err(|error: http::uri::InvalidUri| wrong(error.to_string()))?;
        if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("it has no scheme or no host".into()));
        }
        let mut config = Config::new(uri);
        config.auth_info.token = options.token.clone().map(Into::into);
        if let Some(file) = &options.certificate_authority {
            // Read here for the message; the client reads it again.
            let failed = |reason: std::io::Error| ConnectError::File {
                file: file.clone(),
                reason: reason.to_string(),
            };
            std::fs::metadata(file).map_err(failed)?;
            config.root_cert_file = Some(file.clone());
        }
        return Ok((config, None));
    }
    let kubeconfig = match &options.kubeconfig {
        Some(file) => Kubeconfig::read_from(file)?,
        None => Kubeconfig::read()?,
    };
    let context = options.context.clone().or_else(|| kubeconfig.current_context.clone());
    let chosen = KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
    Ok((Config::from_custom_kubeconfig(kubeconfig, &chosen).await?, context))
}
