//! The connection to a server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fieldmanager_apiserver::{ApiServer, Random};
use fieldmanager_value::Value;
use http::{HeaderMap, Request, Uri};
use kube::Client;
use kube::client::Body;
use tokio::time::{Instant, sleep, timeout};

use crate::fault::{ConnectError, shortened, with_causes};
use crate::stop::Stop;

/// How long a request may take, and one to a server that no longer answers.
const PATIENCE: Duration = Duration::from_secs(30);
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// How long a request may be repeated because the server has too many, and the shortest time between.
const THROTTLED: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

/// The maximum size of an answer in bytes. The OpenAPI document of Kubernetes, the largest one, has 5 MB.
const MAX_ANSWER: usize = 64 << 20;

/// The beginning of the message about a longer answer.
pub const TOO_LONG: &str = "the answer has more than";

/// The number of requests in a row without an answer that ends a run.
const ROW: usize = 10;

/// The client of the requests, and so the manager of those that name none.
const AGENT: &str = concat!("fieldmanager-comparison/", env!("CARGO_PKG_VERSION"));

/// A connection to a server.
#[derive(Clone)]
pub struct Connection {
    client: Client,
    url: String,
    /// Arguments of `curl`, without secrets.
    curl: Vec<String>,
    silence: Arc<Silence>,
}

/// An answer of a server.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub text: String,
}

impl Answer {
    /// The message of a `Status`, otherwise the body.
    pub fn message(&self) -> String {
        let status = Value::from_json(&self.text).unwrap_or_default();
        let message = status
            .get("message")
            .and_then(Value::as_str)
            .map(str::to_owned);
        message.unwrap_or_else(|| shortened(&self.text))
    }
}

/// A request as it is sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// The method.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// The headers, beyond those that every request has.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: String,
}

impl Message {
    /// A request without headers.
    pub fn new(method: &str, path: impl Into<String>, body: String) -> Self {
        Message {
            method: method.into(),
            path: path.into(),
            headers: Vec::new(),
            body,
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The headers with those that every request has.
    fn all_headers(&self) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        let defaults = [
            ("User-Agent", AGENT),
            ("Accept", "application/json"),
            ("Content-Type", "application/json"),
        ];

        for (name, value) in defaults {
            if self.header(name).is_none() && (name != "Content-Type" || !self.body.is_empty()) {
                headers.push((name.into(), value.into()));
            }
        }
        headers
    }
}

impl Connection {
    pub(crate) fn by_client(client: Client, url: String, curl: Vec<String>) -> Self {
        Connection {
            client,
            url,
            curl,
            silence: Arc::default(),
        }
    }

    /// A connection to a new server of this project inside the program, with the time of the system.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Silent`].
    pub async fn in_process() -> Result<Self, ConnectError> {
        let url = "http://localhost".to_owned();
        let server = ApiServer::builder().source(Random::system()).build().await;
        let server = server.map_err(|error| ConnectError::Silent {
            url: url.clone(),
            reason: error.to_string(),
        })?;
        Ok(Connection::by_client(
            Client::new(server, "default"),
            url,
            Vec::new(),
        ))
    }

    /// The address of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The release of the server.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Silent`] if there is no answer, or one that is not that of an API server.
    pub async fn version(&self) -> Result<String, ConnectError> {
        let silent = |reason: String| ConnectError::Silent {
            url: self.url.clone(),
            reason,
        };
        let answer = self
            .send(&Message::new("GET", "/version", String::new()))
            .await
            .map_err(silent)?;
        let version: serde_json::Value = serde_json::from_str(&answer.text).unwrap_or_default();

        match version
            .get("gitVersion")
            .and_then(serde_json::Value::as_str)
        {
            Some(version) if answer.code == 200 => Ok(version.to_owned()),
            // A fake has no version, but it answers; one answers with a list, as for any path.
            _ if answer.code == 404 || answer.code == 200 && version.is_object() => {
                Ok("unknown".to_owned())
            }
            _ => Err(silent(format!(
                "expected its version at /version, got the code {}: {}",
                answer.code,
                shortened(&answer.text)
            ))),
        }
    }

    /// Ends when the server has not answered several requests in a row.
    pub(crate) async fn silence(&self) {
        self.silence.stop.wait().await;
    }

    /// The fault if the server has not answered several requests in a row.
    pub(crate) fn silence_error(&self) -> Option<String> {
        let reason = self.silence.reason.lock().ok()?.clone()?;
        Some(format!(
            "{} has not answered {ROW} requests in a row: {reason}",
            self.url
        ))
    }

    /// Sends a request, again if the server asks for that by the code 429 and a time. Redirects are not followed.
    ///
    /// # Errors
    ///
    /// A message if there is no answer, or one that is too long, which then begins with `TOO_LONG`.
    #[doc(hidden)]
    pub async fn send(&self, message: &Message) -> Result<Answer, String> {
        let end = Instant::now() + THROTTLED;
        loop {
            let answer = self.exchange(message).await?;
            match retry_after(&answer) {
                Some(pause) if pause < end.saturating_duration_since(Instant::now()) => {
                    sleep(pause).await
                }
                _ => return Ok(answer),
            }
        }
    }

    async fn exchange(&self, message: &Message) -> Result<Answer, String> {
        use http_body_util::{BodyExt, LengthLimitError, Limited};
        self.within_patience(async {
            let response = self.respond(message).await?;
            let (parts, body) = response.into_parts();
            // The server is not trusted, so the size of its answer is bounded.
            let body = Limited::new(body, MAX_ANSWER).collect().await;
            let bytes = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => format!("{TOO_LONG} {MAX_ANSWER} bytes"),
                None => with_causes(&*error),
            })?;
            let bytes = bytes.to_bytes();
            let text = String::from_utf8_lossy(&bytes).into_owned();

            Ok(Answer {
                code: parts.status.as_u16(),
                headers: parts.headers,
                text,
            })
        })
        .await
    }

    /// Sends a request whose answer has no end, and waits for the headers of the answer.
    pub(crate) async fn open(&self, message: &Message) -> Result<http::Response<Body>, String> {
        self.within_patience(self.respond(message)).await
    }

    async fn within_patience<T>(
        &self,
        work: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        // Requests that remove objects still follow when the server no longer answers.
        let patience = if self.silence.stop.is_set() {
            LAST_PATIENCE
        } else {
            PATIENCE
        };
        let late = |_| format!("no answer in {} seconds", patience.as_secs());
        let result = timeout(patience, work)
            .await
            .map_err(late)
            .and_then(|result| result);
        self.silence.note(result.as_ref().err());

        result
    }

    async fn respond(&self, message: &Message) -> Result<http::Response<Body>, String> {
        let uri: Uri = message
            .path
            .parse()
            .map_err(|error| format!("the path {}: {error}", message.path))?;
        let mut request = Request::builder().method(message.method.as_str()).uri(uri);
        for (name, value) in message.all_headers() {
            request = request.header(name, value);
        }

        let body = Body::from(message.body.clone().into_bytes());
        let request = request.body(body).map_err(|error| error.to_string())?;
        self.client
            .send(request)
            .await
            .map_err(|error| with_causes(&error))
    }

    /// A command that repeats a request.
    pub(crate) fn curl(&self, message: &Message) -> String {
        let mut words = vec![format!("curl -sS -X {}", message.method)];
        words.extend(self.curl.iter().cloned());
        let headers = message.all_headers();
        words.extend(
            headers
                .iter()
                .map(|(name, value)| format!("-H {}", quoted(&format!("{name}: {value}")))),
        );
        if !message.body.is_empty() {
            words.push(format!("--data-binary {}", quoted(&message.body)));
        }
        words.push(quoted(&format!("{}{}", self.url, message.path)));

        words.join(" ")
    }
}

/// A word for a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// How long a server asks to wait before the request is repeated.
fn retry_after(answer: &Answer) -> Option<Duration> {
    let seconds = answer
        .headers
        .get("retry-after")
        .filter(|_| answer.code == 429)?
        .to_str()
        .ok()?;
    let seconds: u64 = seconds.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).max(PAUSE))
}

/// Counts requests without an answer.
#[derive(Debug, Default)]
struct Silence {
    row: AtomicUsize,
    /// The fault of the last one.
    reason: Mutex<Option<String>>,
    stop: Stop,
}

impl Silence {
    fn note(&self, error: Option<&String>) {
        // Any answer ends the row.
        let Some(error) = error else {
            return self.row.store(0, Ordering::Relaxed);
        };
        if self.row.fetch_add(1, Ordering::Relaxed) + 1 >= ROW && !self.stop.is_set() {
            if let Ok(mut reason) = self.reason.lock() {
                *reason = Some(error.clone());
            }
            self.stop.set();
        }
    }
}
