//! How a webhook is reached.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;
use futures::future::BoxFuture;

/// The most bytes of a text that is no review in an error.
///
/// Behaviour: `maxUnstructuredResponseTextBytes` of `k8s.io/client-go/rest`.
const MAX_TEXT_BYTES: usize = 2048;

/// What statuses mean.
const OF_CODES: &[(u16, &str)] = &[
    (400, "the server rejected our request for an unknown reason"),
    (
        401,
        "the server has asked for the client to provide credentials",
    ),
    (404, "the server could not find the requested resource"),
    (
        405,
        "the server does not allow this method on the requested resource",
    ),
    (
        406,
        "the server was unable to respond with a content type that the client supports",
    ),
    (409, "the server reported a conflict"),
    (
        422,
        "the server rejected our request due to an error in our request",
    ),
    (
        429,
        "the server has received too many requests and has asked us to try again later",
    ),
    (503, "the server is currently unable to handle the request"),
    (
        504,
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
];

/// Where a webhook is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WebhookAddress {
    /// At an `https` URL.
    Url(String),
    /// Behind a service.
    Service {
        /// The namespace of the service.
        namespace: String,
        /// Its name.
        name: String,
        /// The path; may be empty.
        path: String,
        /// The port of the service.
        port: u16,
    },
}

/// Where a webhook is, and who may have signed its certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientConfig {
    /// Where it is.
    pub target: WebhookAddress,
    /// The certificates of the authorities, in PEM; empty for those that the caller knows.
    pub ca_bundle: Vec<u8>,
}

impl ClientConfig {
    /// Reads a `clientConfig`.
    ///
    /// # Errors
    ///
    /// It has neither a URL nor a service, or its bundle is not base64. The definitions of webhooks are validated, so this
    /// does not happen with a stored one.
    pub fn read(config: &Value) -> Result<Self, String> {
        let bundle = config.string("caBundle");
        let ca_bundle = BASE64_STANDARD.decode(bundle).map_err(|e| e.to_string())?;
        let target = match (config.get("service"), config.string("url")) {
            (Some(service @ Value::Map(_)), _) => {
                let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
                WebhookAddress::Service {
                    namespace: service.string("namespace").to_owned(),
                    name: service.string("name").to_owned(),
                    path: service.string("path").to_owned(),
                    port: u16::try_from(port).map_err(|e| e.to_string())?,
                }
            }
            (_, "") => return Err("webhook configuration must have either service or URL".into()),
            (_, url) => WebhookAddress::Url(url.to_owned()),
        };
        Ok(ClientConfig { target, ca_bundle })
    }

    /// The URL of a call, with its timeout in whole seconds, rounded up. A slash at the end of the path is dropped.
    ///
    /// Behaviour: `Request.URL` of `k8s.io/client-go/rest`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use fieldmanager_admission::webhooks::{ClientConfig, WebhookAddress};
    /// let target = WebhookAddress::Url("https://localhost:9443/mutate/".to_owned());
    /// let config = ClientConfig { target, ca_bundle: Vec::new() };
    /// assert_eq!(config.url(Duration::from_secs(10)), "https://localhost:9443/mutate?timeout=10s");
    /// ```
    pub fn url(&self, timeout: Duration) -> String {
        // The host of a service is what its certificate is for; the address is found later.
        let (origin, path) = match &self.target {
            WebhookAddress::Url(url) => {
                let host = url.find("://").map_or(0, |at| at + "://".len());
                let end = url.get(host..).and_then(|rest| rest.find('/'));
                let (origin, path) = url.split_at(end.map_or(url.len(), |end| host + end));
                (origin.to_owned(), path)
            }
            WebhookAddress::Service {
                namespace,
                name,
                path,
                port,
            } => (
                format!("https://{name}.{namespace}.svc:{port}"),
                path.as_str(),
            ),
        };
        let path = path.trim_matches('/');
        let seconds = timeout.as_millis().div_ceil(1000);
        format!("{origin}/{path}?timeout={seconds}s")
    }
}

/// Why a call has no review as its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The configuration cannot be used, such as a bundle without certificates.
    Unusable(String),
    /// There is no answer. The text says why, with the URL: `Post "https://localhost/?timeout=10s": EOF`.
    Failed(String),
    /// The answer has another status than 200 to 206.
    Status {
        /// The status.
        code: u16,
        /// The body.
        body: Vec<u8>,
        /// Whether its type is a `text/..`.
        is_text: bool,
    },
}

impl CallError {
    /// The failure in the words of kube-apiserver: that of a `Status` in the body, or that of the code.
    ///
    /// Behaviour: `Result.Error` of `k8s.io/client-go/rest`, and `NewGenericServerResponse` of
    /// `k8s.io/apimachinery/pkg/api/errors`.
    pub fn message(&self) -> String {
        let (code, body, is_text) = match self {
            CallError::Failed(text) | CallError::Unusable(text) => return text.clone(),
            CallError::Status {
                code,
                body,
                is_text,
            } => (*code, body, *is_text),
        };
        // A server of Kubernetes behind the address explains itself.
        if let Ok(status) = Value::from_json_slice(body)
            && (status.api_version(), status.string("kind")) == ("v1", "Status")
            && status.string("status") == "Failure"
        {
            return status.string("message").to_owned();
        }

        let body = body.get(..MAX_TEXT_BYTES).unwrap_or(body);
        let text = String::from_utf8_lossy(body);
        let text = if is_text { text.trim() } else { "unknown" };
        match (code, OF_CODES.iter().find(|(of, _)| *of == code)) {
            (403 | 406 | 415, _) if !matches!((code, text), (406, "" | "unknown")) => {
                text.to_owned()
            }
            (_, Some((_, words))) => (*words).to_owned(),
            (500.., _) => {
                let text = quote(text);
                format!("an error on the server ({text}) has prevented the request from succeeding")
            }
            _ => format!(
                "the server responded with the status code {code} but did not return more information"
            ),
        }
    }
}

/// Sends reviews to webhooks.
pub trait Caller: Send + Sync {
    /// Posts a review in JSON to a webhook, and gives the body of an answer with the status 200 to 206. It gives up after
    /// the timeout, and bounds the size of the answer.
    fn call<'a>(
        &'a self,
        client: &'a ClientConfig,
        body: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Vec<u8>, CallError>>;
}
