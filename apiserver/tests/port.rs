//! The server on a port.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod common;

use common::{CONFIG_MAPS, Client, config_map};
use fieldmanager_apiserver::net::Listening;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn requests_in_process_and_on_a_port_have_the_same_bytes() {
    let (one, other) = (Client::new().await, Client::new().await);
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), None).await.unwrap();
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
        let in_process = one.send(method, &path, &[("host", host.as_str())], body.clone()).await;
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
        assert!(head.starts_with(&format!("HTTP/1.1 {} ", in_process.code)), "{method} {path}: {head}");
        assert_eq!(body.as_bytes(), in_process.bytes, "{method} {path}");
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn headers_over_the_limit_are_refused() {
    let client = Client::new().await;
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), None).await.unwrap();
    let address = listening.address();
    let running = tokio::spawn(listening.run(client.server.clone(), std::future::pending()));
    // One below the limit of 1 MiB, and one above it.
    for (size, expected) in [(1_000_000, "HTTP/1.1 200 "), (1_100_000, "HTTP/1.1 431 ")] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head = format!(
            "GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: {}\r\n\r\n",
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

    let client = Client::new().await;
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), None).await.unwrap();
    let address = listening.address();
    let running = tokio::spawn(listening.run(client.server.clone(), std::future::pending()));
    let connect = async |path: String| {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        tokio_tungstenite::client_async(format!("ws://{address}{path}"), stream).await
    };
    let (mut socket, _) = connect(format!("{CONFIG_MAPS}?watch=true")).await.unwrap();
    for name in ["a", "b"] {
        client.post(CONFIG_MAPS, &config_map(name)).await.expect(201);
    }
    for name in ["a", "b"] {
        let message = socket.next().await.unwrap().unwrap();
        let event: serde_json::Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&"ADDED".into(), &name.into()));
    }
    socket.send("clients have nothing to say".into()).await.unwrap();
    socket.close(None).await.unwrap();

    // The end of the watch is the end of the connection.
    let (mut socket, _) =
        connect(format!("{CONFIG_MAPS}?watch=true&resourceVersion=1&timeoutSeconds=1")).await.unwrap();
    while let Some(message) = socket.next().await {
        assert!(message.is_ok(), "{message:?}");
    }

    // Errors, and what is no watch, are ordinary answers.
    for (path, code) in
        [(format!("{CONFIG_MAPS}/a"), 200), (format!("{CONFIG_MAPS}?watch=true&labelSelector=!!"), 400)]
    {
        match connect(path).await.unwrap_err() {
            tokio_tungstenite::tungstenite::Error::Http(answer) => assert_eq!(answer.status(), code),
            error => panic!("{error}"),
        }
    }
    running.abort();
}
