//! Calls of webhooks over HTTPS.

mod probe;
mod redirect;
mod tls;
mod words;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fieldmanager_value::internal::go_format::quote;
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};

pub use self::probe::probe;
use self::redirect::Attempt;
pub use self::redirect::MAX_REQUESTS;
use self::words::{exchange_words, handshake_words, io_words};
use super::caller::{CallError, Caller, ClientConfig, WebhookAddress};

/// The most bytes of an answer. kube-apiserver has no limit.
pub const MAX_ANSWER_BYTES: usize = 16 << 20;

/// The most configurations (addresses with their authorities) whose connections are kept; with one more, all are dropped.
///
/// Behaviour: `defaultCacheSize` of `k8s.io/apiserver/pkg/util/webhook/client.go`.
pub const MAX_CLIENTS: usize = 200;

/// The most idle connections of a configuration. There is no limit to those in use: each request has one of its own.
pub const MAX_IDLE: usize = 8;

/// The most times that a call is repeated for a webhook that is busy and says when to try again.
///
/// Behaviour: `withRetry` of `k8s.io/client-go/rest`.
const MAX_RETRIES: usize = 10;

/// The most bytes of a redirecting answer that are read to keep its connection.
///
/// Behaviour: `maxBodySlurpSize` of `net/http`.
const MAX_REDIRECT_BYTES: usize = 2 << 10;

/// What Go says at the end of the time of a call.
const LATE: &str = "context deadline exceeded";

/// Finds services.
pub trait Resolver: Send + Sync {
    /// The address of a service, `HOST:PORT`, or `http://HOST:PORT` of a server that speaks no TLS.
    ///
    /// # Errors
    ///
    /// The service has no address: `service "web" not found`.
    fn resolve<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        port: u16,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// The authorities that sign the certificates of webhooks; none by default.
#[derive(Clone, Debug, Default)]
pub struct Authorities(Vec<CertificateDer<'static>>);

impl Authorities {
    /// Reads certificates in PEM. An empty text has none.
    ///
    /// # Errors
    ///
    /// The text has no certificate that can be read.
    pub fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem).flatten().collect();
        if certificates.is_empty() && !pem.is_empty() {
            return Err(
                "unable to load root certificates: unable to parse bytes as PEM block".into(),
            );
        }
        Ok(Authorities(certificates))
    }
}

/// Calls webhooks over HTTP/1.1 and TLS.
pub struct HttpCaller {
    resolver: Arc<dyn Resolver>,
    authorities: Authorities,
    clients: Mutex<HashMap<ClientConfig, Arc<Connections>>>,
}

/// The connections to a webhook.
struct Connections {
    tls: TlsConnector,
    idle: Mutex<Vec<Connection>>,
}

type Connection = SendRequest<Full<Bytes>>;

impl HttpCaller {
    /// A caller that finds services with a resolver, and trusts these authorities where a webhook names none. Without any,
    /// such a webhook is not trusted.
    pub fn new(resolver: Arc<dyn Resolver>, authorities: Authorities) -> Self {
        HttpCaller {
            resolver,
            authorities,
            clients: Mutex::default(),
        }
    }

    fn client(&self, config: &ClientConfig) -> Result<Arc<Connections>, String> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(config) {
            return Ok(client.clone());
        }
        let Authorities(roots) = if config.ca_bundle.is_empty() {
            self.authorities.clone()
        } else {
            Authorities::from_pem(&config.ca_bundle)?
        };
        let client = Arc::new(Connections {
            tls: TlsConnector::from(Arc::new(tls::configure(roots)?)),
            idle: Mutex::default(),
        });
        // Dropping all of them is simple, and costs one handshake for each that is in use.
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        clients.insert(config.clone(), client.clone());
        Ok(client)
    }

    /// A new connection to a webhook, or to where it redirects.
    async fn connect(
        &self,
        client: &Connections,
        config: &ClientConfig,
        uri: &Uri,
        is_elsewhere: bool,
    ) -> Result<Connection, String> {
        let host = uri.host().unwrap_or_default();
        let mut is_plain = uri.scheme_str() == Some("http");
        let address = match &config.target {
            WebhookAddress::Service {
                namespace,
                name,
                port,
                ..
            } if !is_elsewhere => self.resolver.resolve(namespace, name, *port).await?,
            _ => {
                let default = if is_plain { 80 } else { 443 };
                format!("{host}:{}", uri.port_u16().unwrap_or(default))
            }
        };
        // A resolver names the scheme if the server behind a service is a test without TLS.
        let address = match address.strip_prefix("http://") {
            Some(address) => {
                is_plain = true;
                address
            }
            None => address.strip_prefix("https://").unwrap_or(&address),
        };
        let stream = dial(address.trim_end_matches('/')).await?;
        if is_plain {
            return speak(stream).await;
        }

        let name = match &config.target {
            WebhookAddress::Url(_) => host.trim_matches(['[', ']']).to_owned(),
            // Wherever a service redirects to, the certificate is that of the service.
            WebhookAddress::Service {
                namespace, name, ..
            } => format!("{name}.{namespace}.svc"),
        };
        let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
        let stream = client.tls.connect(name, stream).await;
        speak(stream.map_err(|error| handshake_words(&error))?).await
    }

    /// Sends a request, on a connection that is idle if there is one, and gives the head of the answer.
    async fn send(
        &self,
        client: &Connections,
        config: &ClientConfig,
        attempt: &Attempt,
    ) -> Result<(Response<Incoming>, Connection), String> {
        let url = &attempt.url;
        let uri: Uri = url
            .parse()
            .map_err(|error| format!("parse {url:?}: {error}"))?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let request = match &attempt.review {
            Some(_) => Request::post(path).header(CONTENT_TYPE, "application/json"),
            None => Request::get(path),
        };
        let request = request
            .header(
                HOST,
                uri.authority().map_or("", |authority| authority.as_str()),
            )
            .header(USER_AGENT, "kube-apiserver-admission")
            .header(ACCEPT, "application/json, */*");
        let body = attempt.review.clone().unwrap_or_default();
        let mut request = request.body(Full::new(body)).map_err(|e| e.to_string())?;

        // One that the webhook closed meanwhile gives the request back.
        while !attempt.is_elsewhere
            && let Some(mut connection) = client.take_idle()
        {
            match connection.try_send_request(request).await {
                Ok(response) => return Ok((response, connection)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(exchange_words(error.error())),
                },
            }
        }
        let mut connection = self
            .connect(client, config, &uri, attempt.is_elsewhere)
            .await?;
        let response = connection.send_request(request).await;
        Ok((
            response.map_err(|error| exchange_words(&error))?,
            connection,
        ))
    }

    /// Sends a review until an answer is no redirect and the webhook is not busy, and gives the head of that answer. The
    /// connection is given if it can be kept.
    async fn exchange(
        &self,
        client: &Connections,
        config: &ClientConfig,
        first: &Attempt,
        deadline: Instant,
    ) -> Result<(Response<Incoming>, Option<Connection>), CallError> {
        let mut attempt = first.clone();
        let (mut requests, mut retries) = (0, 0);
        loop {
            let sent = timeout_at(deadline, self.send(client, config, &attempt)).await;
            let sent = sent.map_err(|_| failed(&attempt.url, LATE))?;
            let (response, connection) = sent.map_err(|words| failed(&attempt.url, &words))?;
            requests += 1;
            // A connection to another server is not kept: the next call begins at the webhook.
            let connection = Some(connection).filter(|_| !attempt.is_elsewhere);
            if let Some((place, next)) = attempt.redirected(response.status(), response.headers()) {
                let next = next.map_err(|words| failed(&attempt.url, &words))?;
                if requests == MAX_REQUESTS {
                    let words = format!("stopped after {MAX_REQUESTS} redirects");
                    return Err(failed(&place, &words));
                }
                let read = client.keep_after(response, connection, MAX_REDIRECT_BYTES);
                let read = timeout_at(deadline, read).await;
                read.map_err(|_| failed(&attempt.url, LATE))?;
                attempt = next;
                continue;
            }

            let code = response.status().as_u16();
            match seconds(response.headers()) {
                Some(wait) if (code == 429 || code >= 500) && retries < MAX_RETRIES => {
                    retries += 1;
                    let wait = async {
                        let read = client.keep_after(response, connection, MAX_ANSWER_BYTES);
                        read.await;
                        sleep(Duration::from_secs(wait)).await;
                    };
                    let waited = timeout_at(deadline, wait).await;
                    waited.map_err(|_| failed(&attempt.url, LATE))?;
                    (attempt, requests) = (first.clone(), 0);
                }
                _ => return Ok((response, connection)),
            }
        }
    }

    /// Posts a body and reads the answer.
    async fn post(
        &self,
        config: &ClientConfig,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let client = self.client(config).map_err(CallError::Unusable)?;
        let first = Attempt {
            url: config.url(timeout),
            review: Some(body),
            is_elsewhere: false,
        };
        // One deadline for all attempts: a webhook that is busy does not get more time.
        let deadline = Instant::now() + timeout;
        let (response, connection) = self.exchange(&client, config, &first, deadline).await?;

        let (head, body) = response.into_parts();
        let body = timeout_at(deadline, Limited::new(body, MAX_ANSWER_BYTES).collect()).await;
        // From here on the webhook has seen the review, which the words tell from a failed call.
        let unread = |words: &str| {
            let prefix =
                "unexpected error when reading response body. Please retry. Original error";
            CallError::Failed(format!("{prefix}: {words}"))
        };
        let body = match body {
            Err(_) => return Err(unread(LATE)),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return Err(unread(&format!("more than {MAX_ANSWER_BYTES} bytes")));
            }
            Ok(Err(_)) => return Err(unread("unexpected EOF")),
            Ok(Ok(body)) => body.to_bytes(),
        };
        client.keep(connection);

        let kind = head
            .headers
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default();
        match head.status.as_u16() {
            code @ 200..=206 if body.is_empty() => Err(CallError::Failed(format!(
                "0-length response with status code: {code} and content type: {kind}"
            ))),
            200..=206 => Ok(body.to_vec()),
            code => Err(CallError::Status {
                code,
                body: body.to_vec(),
                is_text: kind.is_empty() || kind.starts_with("text/"),
            }),
        }
    }
}

impl Caller for HttpCaller {
    fn call<'a>(
        &'a self,
        client: &'a ClientConfig,
        body: Vec<u8>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Vec<u8>, CallError>> {
        Box::pin(self.post(client, body.into(), timeout))
    }
}

impl Connections {
    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|connection| !connection.is_closed());
        idle.pop()
    }

    /// Reads the rest of an answer, and keeps its connection if that was at most so many bytes: while an answer is not read to
    /// its end, its connection takes no other request.
    async fn keep_after(
        &self,
        answer: Response<Incoming>,
        connection: Option<Connection>,
        bytes: usize,
    ) {
        let rest = Limited::new(answer.into_body(), bytes).collect().await;
        if rest.is_ok() {
            self.keep(connection);
        }
    }

    fn keep(&self, connection: Option<Connection>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.extend(connection);
        }
    }
}

/// A call without an answer.
fn failed(url: &str, words: &str) -> CallError {
    CallError::Failed(format!("Post {}: {words}", quote(url)))
}

/// The seconds of `Retry-After`.
fn seconds(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

/// Connects to the first address of a name that answers.
async fn dial(address: &str) -> Result<TcpStream, String> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let missing = || format!("dial tcp: lookup {host}: no such host");
    let found = tokio::net::lookup_host(address)
        .await
        .map_err(|_| missing())?;
    let mut first = None;
    for address in found {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => {
                let words = io_words("connect", &error);
                // The first address is the preferred one, so its failure says most.
                first.get_or_insert_with(|| format!("dial tcp {address}: {words}"));
            }
        }
    }
    Err(first.unwrap_or_else(missing))
}

/// Starts HTTP on a stream.
async fn speak<S>(stream: S) -> Result<Connection, String>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|e| e.to_string())?;
    tokio::spawn(connection);
    Ok(sender)
}
