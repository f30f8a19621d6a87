//! The server on a port.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{CONFIG_MAPS, Client, config_map};
use bytes::Bytes;
use fieldmanager_apiserver::net::{Listening, Tls};
use fieldmanager_apiserver::{ApiServer, Collection, Limits};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

#[tokio::test]
async fn requests_in_process_and_on_a_port_have_the_same_bytes() {
    let (one, other) = (Client::new().await, Client::new().await);
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), None)
        .await
        .unwrap();
    let address = listening.address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(listening.run(other.server.clone(), async move {
        let _ = stopped.await;
    }));
    let body = config_map("a").to_string();
    let requests = [
        ("POST", CONFIG_MAPS.to_owned(), body),
        ("GET", CONFIG_MAPS.to_owned(), String::new()),
        ("GET", "/apis".to_owned(), String::new()),
        ("GET", format!("{CONFIG_MAPS}/missing"), String::new()),
        ("DELETE", format!("{CONFIG_MAPS}/a"), String::new()),
        ("GET", "/nowhere".to_owned(), String::new()),
    ];
    for (method, path, body) in requests {
        let host = address.to_string();
        let in_process = one
            .send(method, &path, &[("host", host.as_str())], body.clone())
            .await;
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let text = String::from_utf8(answer).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with(&format!("HTTP/1.1 {} ", in_process.code)),
            "{method} {path}: {head}"
        );
        assert_eq!(body.as_bytes(), in_process.bytes, "{method} {path}");
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn headers_over_the_limit_are_refused() {
    let client = Client::new().await;
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), None)
        .await
        .unwrap();
    let address = listening.address();
    let running = tokio::spawn(listening.run(client.server.clone(), std::future::pending()));
    // One below the limit of 1 MiB, and one above it.
    for (size, expected) in [(1_000_000, "HTTP/1.1 200 "), (1_100_000, "HTTP/1.1 431 ")] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head = format!(
            "GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: {}\r\n\r\n",
            "x".repeat(size)
        );
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(head.as_bytes()).await;
        let mut answer = vec![0; expected.len()];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), expected, "{size}");
    }
    running.abort();
}

#[tokio::test]
async fn a_watch_over_websocket_has_one_event_in_each_message() {
    use futures::{SinkExt, StreamExt};

    let (client, address) = running(None).await;
    let connect = async |path: String| {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        tokio_tungstenite::client_async(format!("ws://{address}{path}"), stream).await
    };
    let (mut socket, _) = connect(format!("{CONFIG_MAPS}?watch=true")).await.unwrap();
    for name in ["a", "b"] {
        client
            .post(CONFIG_MAPS, &config_map(name))
            .await
            .expect(201);
    }
    for name in ["a", "b"] {
        let message = socket.next().await.unwrap().unwrap();
        let event: serde_json::Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["metadata"]["name"]),
            (&"ADDED".into(), &name.into())
        );
    }
    socket
        .send("clients have nothing to say".into())
        .await
        .unwrap();
    socket.close(None).await.unwrap();

    // The end of the watch is the end of the connection.
    let (mut socket, _) = connect(format!(
        "{CONFIG_MAPS}?watch=true&resourceVersion=1&timeoutSeconds=1"
    ))
    .await
    .unwrap();
    while let Some(message) = socket.next().await {
        assert!(message.is_ok(), "{message:?}");
    }

    // Errors, and what is no watch, are ordinary answers.
    for (path, code) in [
        (format!("{CONFIG_MAPS}/a"), 200),
        (format!("{CONFIG_MAPS}?watch=true&labelSelector=!!"), 400),
    ] {
        match connect(path).await.unwrap_err() {
            tokio_tungstenite::tungstenite::Error::Http(answer) => {
                assert_eq!(answer.status(), code)
            }
            error => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn heads_that_are_not_finished_take_memory_of_the_budget() {
    let (_client, address) = running_with(Client::with_buffers(1 << 20).await, None).await;
    let mut cut = JoinSet::new();
    for _ in 0..20 {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        cut.spawn(async move {
            let head = format!(
                "GET /version HTTP/1.1\r\nHost: localhost\r\nX: {}",
                "x".repeat(500 << 10)
            );
            // The server may end the connection before it has read everything.
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.read(&mut [0]).await;
        });
    }
    // There is memory for two of them at most.
    for _ in 0..18 {
        let next = tokio::time::timeout(Duration::from_secs(100), cut.join_next()).await;
        next.expect("the server ends the connection")
            .unwrap()
            .unwrap();
    }
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(
        answer.starts_with(b"HTTP/1.1 200 OK\r\n"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
}

/// The request for a watch of ConfigMaps over WebSocket.
fn websocket() -> String {
    format!(
        "GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
}

#[tokio::test]
async fn pings_with_unread_answers_are_not_read() {
    let mut limits = Limits::default();
    limits.stall_time = Duration::from_millis(200);
    let (_client, address) = running_with(limited(limits).await, None).await;
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(websocket().as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 101");

    // A ping of 125 bytes with a mask of zeros. A server that does not read ends the connection.
    let ping: Vec<u8> = [0x89, 0x80 | 125].into_iter().chain([0; 4 + 125]).collect();
    let pings = ping.repeat(500);
    let mut sent = 0;
    while stream.write_all(&pings).await.is_ok() {
        sent += pings.len();
        // What the system keeps of both directions.
        assert!(sent < 100 << 20, "the server reads on");
    }
}

#[tokio::test]
async fn events_over_websocket_take_memory_of_the_budget_until_they_are_read() {
    use futures::StreamExt;

    let (client, address) = running_with(Client::with_buffers(3 << 20).await, None).await;
    let connect = async || {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let stream = socket.connect(address).await.unwrap();
        tokio_tungstenite::client_async(format!("ws://{address}{CONFIG_MAPS}?watch=true"), stream)
            .await
            .unwrap()
            .0
    };
    let (mut read, unread) = (connect().await, connect().await);
    // The event has two frames, and takes the larger part of 1.5 MiB.
    let mut object = config_map("large");
    object["data"]["text"] = "x".repeat(1_000_000).into();
    client.post(CONFIG_MAPS, &object).await.expect(201);
    let get = async || client.get(&format!("{CONFIG_MAPS}/large")).await.code;
    until(async || get().await == 429).await;

    let (message, ()) = tokio::join!(read.next(), async {
        // The other event may have the memory.
        drop(unread);
    });
    let event: serde_json::Value =
        serde_json::from_str(message.unwrap().unwrap().to_text().unwrap()).unwrap();
    assert_eq!(event["object"]["data"]["text"], object["data"]["text"]);
    until(async || get().await == 200).await;
}

/// Waits until something is so.
async fn until(is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting)
        .await
        .expect("it becomes so");
}

async fn limited(limits: Limits) -> Client {
    let builder = ApiServer::builder()
        .limits(limits)
        .collection(Collection::Stepped);
    Client {
        server: builder.build().await.unwrap(),
    }
}

/// The codes of the answers to requests on one connection, until the server ends it.
async fn codes(address: SocketAddr, requests: &[u8]) -> Vec<u16> {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(requests).await;
    let mut answers = Vec::new();
    let _ = stream.read_to_end(&mut answers).await;
    let answers = String::from_utf8(answers).unwrap();
    answers
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|answer| answer[..3].parse().unwrap())
        .collect()
}

/// Every request ends where its head says, or ends the connection. A body that looks like a request is none.
#[tokio::test]
async fn requests_with_two_meanings_are_refused_or_have_that_of_kubernetes() {
    let mut limits = Limits::default();
    limits.stall_time = Duration::from_millis(500);
    limits.header_time = Duration::from_millis(500);
    let (_client, address) = running_with(limited(limits).await, None).await;
    // A request in a body: 404 would be the answer to it.
    let hidden = "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let last = "GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let length = hidden.len();
    let chunk = format!("{length:x}\r\n{hidden}\r\n0\r\n\r\n");

    // The lines after the first one, the body, and the answers. The path has no other method than GET.
    let (read, refused): (&[u16], &[u16]) = (&[405, 200], &[400]);
    let cases = [
        (format!("Content-Length: {length}"), hidden.to_owned(), read),
        (
            format!("Content-Length: {length}\r\nContent-Length: {length}"),
            hidden.to_owned(),
            read,
        ),
        ("Transfer-Encoding: chunked".to_owned(), chunk.clone(), read),
        (
            format!("Content-Length: 0\r\nContent-Length: {length}"),
            hidden.to_owned(),
            refused,
        ),
        (
            format!("Content-Length: {length}\r\nContent-Length: 0"),
            hidden.to_owned(),
            refused,
        ),
        (
            format!("Content-Length: {length}, {length}"),
            hidden.to_owned(),
            refused,
        ),
        (
            format!("Content-Length: +{length}"),
            hidden.to_owned(),
            refused,
        ),
        (
            format!("Content-Length: -{length}"),
            hidden.to_owned(),
            refused,
        ),
        (
            format!("Content-Length: 0x{length:x}"),
            hidden.to_owned(),
            refused,
        ),
        (
            format!("Content-Length: {length}\r\n 0"),
            hidden.to_owned(),
            refused,
        ),
        (
            format!("Content-Length : {length}"),
            hidden.to_owned(),
            refused,
        ),
        (
            format!("Content-Length: {length}\rX: x"),
            hidden.to_owned(),
            refused,
        ),
        (
            format!("Content-Length: {length}\0"),
            hidden.to_owned(),
            refused,
        ),
        // The length of chunks counts, whichever is first, and the connection ends.
        (
            "Content-Length: 3\r\nTransfer-Encoding: chunked".to_owned(),
            chunk.clone(),
            &[405],
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 3".to_owned(),
            chunk.clone(),
            &[405],
        ),
        (
            "Transfer-Encoding: chunked, identity".to_owned(),
            chunk.clone(),
            refused,
        ),
        (
            "Transfer-Encoding: identity".to_owned(),
            chunk.clone(),
            refused,
        ),
        (
            "Transfer-Encoding: xchunked".to_owned(),
            chunk.clone(),
            refused,
        ),
        (
            "Transfer-Encoding : chunked".to_owned(),
            chunk.clone(),
            refused,
        ),
        (
            "Transfer-Encoding:\r\n chunked".to_owned(),
            chunk.clone(),
            refused,
        ),
        (
            "Transfer-Encoding: \x0bchunked".to_owned(),
            chunk.clone(),
            refused,
        ),
        // Extensions and trailers of a body have no meaning.
        (
            "Transfer-Encoding: chunked".to_owned(),
            chunk.replacen("\r\n", ";a=\"b\"\r\n", 1),
            read,
        ),
        (
            "Transfer-Encoding: chunked".to_owned(),
            "0\r\nContent-Length: 10\r\n\r\n".to_owned(),
            read,
        ),
        (
            "Transfer-Encoding: chunked".to_owned(),
            format!("0x{chunk}"),
            refused,
        ),
        (
            "Transfer-Encoding: chunked".to_owned(),
            format!("-{chunk}"),
            refused,
        ),
        (
            "Transfer-Encoding: chunked".to_owned(),
            format!("ffffffffffffffff0\r\n{hidden}"),
            refused,
        ),
        (
            "Transfer-Encoding: chunked".to_owned(),
            format!("3\r\n{chunk}"),
            refused,
        ),
    ];
    for (lines, body, expected) in cases {
        let request =
            format!("PUT /version HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n\r\n{body}{last}");
        assert_eq!(
            codes(address, request.as_bytes()).await,
            expected,
            "{lines:?} {body:?}"
        );
    }

    // Lines may end without a carriage return, as in Go. Older versions have no chunks.
    for (request, expected) in [
        (
            format!("GET /version HTTP/1.1\nHost: localhost\n\n{last}"),
            vec![200, 200],
        ),
        (
            format!("PUT /version HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{last}"),
            vec![400],
        ),
        (format!("GET /version\r\n{last}"), vec![400]),
        (
            format!("GET /version HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n{last}"),
            vec![400],
        ),
    ] {
        assert_eq!(
            codes(address, request.as_bytes()).await,
            expected,
            "{request:?}"
        );
    }
}

/// A server that runs until the test ends.
async fn running(tls: Option<Tls>) -> (Client, SocketAddr) {
    running_with(Client::new().await, tls).await
}

async fn running_with(client: Client, tls: Option<Tls>) -> (Client, SocketAddr) {
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), tls)
        .await
        .unwrap();
    let address = listening.address();
    tokio::spawn(listening.run(client.server.clone(), std::future::pending()));
    (client, address)
}

type Http2 = h2::client::SendRequest<Bytes>;

async fn http2(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Http2 {
    // The window of a connection of Go clients.
    let mut builder = h2::client::Builder::new();
    let builder = builder.initial_connection_window_size(1 << 30);
    let (client, connection) = builder.handshake::<_, Bytes>(stream).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Sends a request, and returns the code and the body of the answer, which can be read.
async fn begin(client: &Http2, method: &str, path: &str, body: String) -> (u16, h2::RecvStream) {
    let mut client = client.clone().ready().await.unwrap();
    let uri = format!("https://localhost{path}");
    let request = http::Request::builder()
        .method(method)
        .uri(uri)
        .body(())
        .unwrap();
    let (response, mut sending) = client.send_request(request, body.is_empty()).unwrap();
    if !body.is_empty() {
        sending.send_data(body.into(), true).unwrap();
    }
    let response = response.await.unwrap();
    (response.status().as_u16(), response.into_body())
}

async fn send(client: &Http2, method: &str, path: &str, body: String) -> (u16, Vec<u8>) {
    let (code, mut body) = begin(client, method, path, body).await;
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        bytes.extend_from_slice(&data.unwrap());
    }
    (code, bytes)
}

/// The requests of a client: writes and reads, beside more watches on the connection than kube-apiserver allows.
async fn use_http2(client: &Http2) {
    let mut watches = Vec::new();
    for _ in 0..300 {
        watches.push(
            begin(
                client,
                "GET",
                &format!("{CONFIG_MAPS}?watch=true"),
                String::new(),
            )
            .await,
        );
    }
    let (code, created) = send(client, "POST", CONFIG_MAPS, config_map("a").to_string()).await;
    assert_eq!(code, 201, "{}", String::from_utf8_lossy(&created));
    let (code, read) = send(client, "GET", &format!("{CONFIG_MAPS}/a"), String::new()).await;
    assert_eq!((code, read), (200, created));
    let head = send(client, "HEAD", "/apis", String::new()).await;
    assert_eq!(head, (200, Vec::new()));
    for (code, body) in &mut watches {
        assert_eq!(*code, 200);
        let event = body.data().await.unwrap().unwrap();
        assert!(
            event.starts_with(br#"{"type":"ADDED""#) || event.starts_with(br#"{"object""#),
            "{event:?}"
        );
    }
}

#[tokio::test]
async fn http2_is_served_without_tls_to_clients_that_begin_with_it() {
    let (_client, address) = running(None).await;
    let client = http2(tokio::net::TcpStream::connect(address).await.unwrap()).await;
    use_http2(&client).await;
}

#[tokio::test]
async fn watch_that_is_not_read_does_not_hold_up_its_connection() {
    let (_client, address) = running(None).await;
    let client = http2(tokio::net::TcpStream::connect(address).await.unwrap()).await;
    let (code, unread) = begin(
        &client,
        "GET",
        &format!("{CONFIG_MAPS}?watch=true"),
        String::new(),
    )
    .await;
    assert_eq!(code, 200);
    // Its events are larger than the windows of the stream and of the connection.
    for name in 0..40 {
        let mut object = config_map(&format!("a{name}"));
        object["data"]["color"] = "x".repeat(8000).into();
        let (code, _) = send(&client, "POST", CONFIG_MAPS, object.to_string()).await;
        assert_eq!(code, 201);
    }
    drop(unread);
}

#[tokio::test]
async fn clients_over_tls_choose_http2() {
    let tls = Tls::made(&[]).unwrap();
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(tls.authority().as_bytes()).unwrap())
        .unwrap();
    let (_client, address) = running(Some(tls)).await;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    for (offered, chosen) in [
        (vec!["h2", "http/1.1"], Some("h2")),
        (vec!["http/1.1"], Some("http/1.1")),
        (vec![], None),
    ] {
        config.alpn_protocols = offered
            .into_iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let connector = TlsConnector::from(Arc::new(config.clone()));
        let mut stream = connector
            .connect("localhost".try_into().unwrap(), stream)
            .await
            .unwrap();
        assert_eq!(
            stream.get_ref().1.alpn_protocol(),
            chosen.map(str::as_bytes)
        );
        if chosen == Some("h2") {
            use_http2(&http2(stream).await).await;
            continue;
        }
        stream
            .write_all(b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(
            answer.starts_with(b"HTTP/1.1 200 OK\r\n"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
}
