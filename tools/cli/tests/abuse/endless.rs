//! Requests that never end: other clients do not wait for them, and they do not keep the server from its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::CONFIG_MAPS;
use crate::server::{Connection, PATIENCE, Server, TURN, config_map};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const LISTS: &str = "/apis/example.com/v1/namespaces/default/lists";

/// A short time in which the server ends, and requests that do not end by themselves within the patience of a test.
const STOP: [&str; 4] = ["--stop-time", "1s", "--request-deadline", "1h"];

/// The longest wait for an answer while others take long.
const SOON: Duration = Duration::from_millis(100);

/// How a client connects. It connects again for each request.
#[derive(Clone)]
pub(crate) enum Transport {
    Http1,
    Http2,
    /// HTTP/2 over TLS.
    Tls(TlsConnector),
}

/// Sends a request on a connection of its own, and returns the code and the body of the answer.
pub(crate) async fn send(
    address: &str,
    transport: &Transport,
    method: &str,
    path: &str,
    body: &str,
) -> std::io::Result<(u16, String)> {
    match transport {
        Transport::Http1 => {
            Connection::new(address)
                .await
                .send(method, path, body)
                .await
        }
        Transport::Http2 => {
            let stream = TcpStream::connect(address).await?;
            send_http2(stream, method, path, body)
                .await
                .map_err(std::io::Error::other)
        }
        Transport::Tls(connector) => {
            let stream = TcpStream::connect(address).await?;
            let stream = connector
                .connect("localhost".try_into().unwrap(), stream)
                .await?;
            send_http2(stream, method, path, body)
                .await
                .map_err(std::io::Error::other)
        }
    }
}

async fn send_http2<S>(
    stream: S,
    method: &str,
    path: &str,
    body: &str,
) -> Result<(u16, String), h2::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut builder = h2::client::Builder::new();
    let builder = builder
        .initial_window_size(1 << 24)
        .initial_connection_window_size(1 << 24);
    let (client, connection) = builder.handshake::<_, Bytes>(stream).await?;
    tokio::spawn(connection);
    let mut client = client.ready().await?;
    let request = http::Request::builder()
        .method(method)
        .uri(format!("https://localhost{path}"));
    let request = request
        .header("Content-Type", "application/json")
        .body(())
        .unwrap();
    let (response, mut sending) = client.send_request(request, body.is_empty())?;
    if !body.is_empty() {
        sending.send_data(Bytes::copy_from_slice(body.as_bytes()), true)?;
    }
    let response = response.await?;
    let (code, mut body) = (response.status().as_u16(), response.into_body());
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        bytes.extend_from_slice(&data?);
    }
    Ok((code, String::from_utf8(bytes).unwrap()))
}

/// What connects to a server with a certificate that it made.
pub(crate) fn connector(server: &Server) -> TlsConnector {
    let kubeconfig = serde_json::from_str::<serde_json::Value>(&server.kubeconfig()).unwrap();
    let authority = kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]
        .as_str()
        .unwrap();
    let authority = base64::engine::general_purpose::STANDARD
        .decode(authority)
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(&authority).unwrap())
        .unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// A definition each of whose items is checked against 20,000 schemas, and an object with 300,000 items.
fn definition_and_object() -> (String, String) {
    let parts = vec![serde_json::json!({"maximum": 7}); 20_000];
    let items = serde_json::json!({"type": "array", "items": {"type": "integer", "allOf": parts}});
    let definition = serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lists.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "lists", "kind": "List"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "properties": {"list": items}}}}]},
    });
    let object = serde_json::json!({"apiVersion": "example.com/v1", "kind": "List", "metadata": {"name": "a"},
        "list": vec![7; 300_000]});
    (definition.to_string(), object.to_string())
}

async fn others_do_not_wait(mut server: Server, transport: Transport) {
    let address = server.address.clone();
    let (definition, object) = definition_and_object();
    let (code, answer) = send(&address, &transport, "POST", CRDS, &definition)
        .await
        .unwrap();
    assert_eq!(code, 201, "{answer}");

    let threads = server.threads();
    let mut running = JoinSet::new();
    for _ in 0..8 {
        let (address, transport, object) = (address.clone(), transport.clone(), object.clone());
        running.spawn(async move {
            // An error: the server ended.
            while send(&address, &transport, "POST", LISTS, &object)
                .await
                .is_ok()
            {}
        });
    }
    // Each request has a thread; one may be left of the request before.
    let began = Instant::now();
    while server.threads() < threads + 7 {
        assert!(
            began.elapsed() < PATIENCE,
            "{} threads, before {threads}",
            server.threads()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    // The machine may have other work, so this is tried some times.
    let mut rounds = Vec::new();
    for _ in 0..20 {
        let mut longest = Duration::ZERO;
        for path in ["/healthz", "/api/v1/namespaces/default"] {
            let began = Instant::now();
            assert_eq!(
                send(&address, &transport, "GET", path, "").await.unwrap().0,
                200,
                "{path}"
            );
            longest = longest.max(began.elapsed());
        }
        rounds.push(longest);
        if longest <= SOON {
            break;
        }
    }
    println!("the longest waits: {rounds:?}");
    assert!(rounds.iter().any(|longest| *longest <= SOON), "{rounds:?}");
    assert_eq!(
        send(
            &address,
            &transport,
            "POST",
            CONFIG_MAPS,
            &config_map("a", "b")
        )
        .await
        .unwrap()
        .0,
        201
    );

    let began = Instant::now();
    server.terminate();
    let code = server.process.wait().unwrap().code();
    println!("ended after {:?}", began.elapsed());
    assert_eq!(code, Some(0));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_requests_do_not_wait_for_endless_ones() {
    let _turn = TURN.write().await;
    others_do_not_wait(Server::start(&STOP), Transport::Http1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_requests_do_not_wait_for_endless_ones() {
    let _turn = TURN.write().await;
    others_do_not_wait(Server::start(&STOP), Transport::Http2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_requests_do_not_wait_for_endless_ones() {
    let _turn = TURN.write().await;
    let server = Server::start(&[&STOP[..], &["--tls"]].concat());
    let transport = Transport::Tls(connector(&server));
    others_do_not_wait(server, transport).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_504_after_its_deadline() {
    let _turn = TURN.read().await;
    let (definition, object) = definition_and_object();
    // A definition that is loaded at the start has no deadline.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("definition.json");
    std::fs::write(&path, definition).unwrap();
    let server = Server::start(&["--request-deadline", "1s", "--crd", path.to_str().unwrap()]);
    let (code, answer) = send(&server.address, &Transport::Http1, "POST", LISTS, &object)
        .await
        .unwrap();
    let message =
        "Timeout: request did not complete within requested timeout - context deadline exceeded";
    assert!(code == 504 && answer.contains(message), "{code} {answer}");
}
