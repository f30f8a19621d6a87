//! Probes of other programs on this machine.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fieldmanager_value::internal::go_format::quote;
use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::header::HOST;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::words::{exchange_words, handshake_words};
use super::{dial, speak, tls};

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most bytes of an answer.
///
/// Behaviour: `maxRespBodyLength` of `k8s.io/kubernetes/pkg/probe/http`.
const MAX_BYTES: usize = 10 << 10;

/// Asks a program on a port of this machine whether it is healthy, whatever certificate it has, and returns its answer.
///
/// # Errors
///
/// Why it is not healthy, in the words of kube-apiserver.
pub async fn probe(port: u16) -> Result<String, String> {
    let url = format!("https://127.0.0.1:{port}/healthz");
    let failed = |words: &str| format!("Get {}: {words}", quote(&url));
    let answered = timeout(PATIENCE, get(port)).await;
    let late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
    let answered = answered.map_err(|_| failed(late))?;
    let (code, body) = answered.map_err(|words| failed(&words))?;
    if (200..300).contains(&code) {
        Ok(body)
    } else {
        Err(format!("HTTP probe failed with statuscode: {code}"))
    }
}

async fn get(port: u16) -> Result<(u16, String), String> {
    let address = format!("127.0.0.1:{port}");
    let stream = dial(&address).await?;
    let tls = TlsConnector::from(Arc::new(tls::unverified()?));
    let name = std::net::Ipv4Addr::LOCALHOST;
    let stream = tls.connect(std::net::IpAddr::from(name).into(), stream);
    let stream = stream.await.map_err(|error| handshake_words(&error))?;
    let mut connection = speak(stream).await?;

    let request = Request::get("/healthz").header(HOST, address);
    let request = request.body(Full::new(Bytes::new()));
    let request = request.map_err(|error| error.to_string())?;
    let response = connection.send_request(request).await;
    let (head, body) = response
        .map_err(|error| exchange_words(&error))?
        .into_parts();
    let body = Limited::new(body, MAX_BYTES).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    Ok((
        head.status.as_u16(),
        String::from_utf8_lossy(&body).into_owned(),
    ))
}
