//! The end of the server under load.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::CONFIG_MAPS;
use crate::server::{Connection, PATIENCE, Server, TURN, config_map};

/// Creates and updates a ConfigMap until the server ends, and returns the number that it acknowledged last. `writes` has
/// those of all clients.
async fn write(address: String, name: String, writes: Arc<AtomicU64>) -> u64 {
    let mut connection = Connection::new(&address).await;
    let mut acknowledged = 0;
    loop {
        let next = acknowledged + 1;
        let body = config_map(&name, &next.to_string());
        let (method, path) = match acknowledged {
            0 => ("POST", CONFIG_MAPS.to_owned()),
            _ => ("PUT", format!("{CONFIG_MAPS}/{name}")),
        };
        match connection.send(method, &path, &body).await {
            Ok((200 | 201, _)) => {
                acknowledged = next;
                writes.fetch_add(1, Ordering::Relaxed);
            }
            Ok((code, body)) => panic!("{code} {body}"),
            // The connection ended between two requests.
            Err(_) => return acknowledged,
        }
    }
}

/// Begins a watch.
async fn watch(address: &str) -> Connection {
    let mut connection = Connection::new(address).await;
    connection
        .write(&format!(
            "GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ))
        .await;
    assert_eq!(connection.head().await.unwrap().0, 200);
    connection
}

/// Reads a watch to its end, which has to be that of the answer.
async fn read(mut connection: Connection) -> usize {
    let mut text = Vec::new();
    connection.stream.read_to_end(&mut text).await.unwrap();
    assert!(
        text.ends_with(b"\n\r\n0\r\n\r\n"),
        "{}",
        String::from_utf8_lossy(&text[text.len() - 80..])
    );
    text.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_told_to_stop_answers_what_was_begun_and_loses_nothing() {
    let _turn = TURN.read().await;
    let folder = tempfile::tempdir().unwrap();
    let store = format!("file:{}", folder.path().join("state.redb").display());
    let mut server = Server::start(&["--store", &store, "--stop-time", "1h"]);
    let writes = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..16)
        .map(|n| {
            tokio::spawn(write(
                server.address.clone(),
                format!("a-{n}"),
                writes.clone(),
            ))
        })
        .collect();
    let mut watchers = Vec::new();
    for _ in 0..20 {
        watchers.push(tokio::spawn(read(watch(&server.address).await)));
    }
    let began = Instant::now();
    while writes.load(Ordering::Relaxed) < 100 {
        assert!(began.elapsed() < PATIENCE, "{writes:?} writes");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    // The server has the headers and a part of the body of these requests.
    let mut begun = Vec::new();
    let (first, rest) = ("{\"metadata\": {\"name\": \"begun-", "\"}}");
    for number in 0..10 {
        let mut connection = Connection::new(&server.address).await;
        let length = first.len() + 1 + rest.len();
        connection
            .write(&format!(
                "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\
                 Content-Length: {length}\r\n\r\n{first}{number}"
            ))
            .await;
        assert_eq!(connection.head().await.unwrap().0, 100);
        begun.push(connection);
    }
    server.terminate();
    tokio::time::sleep(Duration::from_millis(200)).await;
    for connection in &mut begun {
        connection.write(rest).await;
        let (code, body) = connection.answer().await.unwrap();
        assert_eq!(code, 201, "{body}");
    }
    let mut acknowledged = BTreeMap::new();
    for (number, writer) in writers.into_iter().enumerate() {
        acknowledged.insert(format!("a-{number}"), writer.await.unwrap());
    }
    for watcher in watchers {
        assert!(watcher.await.unwrap() > 100);
    }
    let began = Instant::now();
    let code = server.process.wait().unwrap().code();
    assert_eq!(code, Some(0));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert!(
        acknowledged.values().sum::<u64>() >= 100,
        "{acknowledged:?}"
    );

    let again = Server::start(&["--store", &store]);
    let (code, list) = Connection::new(&again.address)
        .await
        .send("GET", CONFIG_MAPS, "")
        .await
        .unwrap();
    assert_eq!(code, 200);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let stored: BTreeMap<&str, &serde_json::Value> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["metadata"]["name"].as_str().unwrap(), item))
        .collect();
    for number in 0..10 {
        assert!(stored.contains_key(format!("begun-{number}").as_str()));
    }
    for (name, number) in acknowledged {
        let found: u64 = stored[name.as_str()]["data"]["data"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        // A request whose answer did not arrive may have been made.
        assert!(
            found == number || found == number + 1,
            "{name} has {found}, acknowledged {number}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_told_to_stop_answers_http2_requests_and_ends_their_watches() {
    let _turn = TURN.read().await;
    let mut server = Server::start(&["--stop-time", "1h"]);
    let stream = TcpStream::connect(&server.address).await.unwrap();
    let (client, mut connection) = h2::client::handshake(stream).await.unwrap();
    let mut pings = connection.ping_pong().unwrap();
    let connection = tokio::spawn(connection);
    let request = |method: &str, query: &str| {
        let uri = format!("http://localhost{CONFIG_MAPS}{query}");
        http::Request::builder()
            .method(method)
            .uri(uri)
            .body(())
            .unwrap()
    };
    let mut watches = JoinSet::new();
    for _ in 0..20 {
        let mut ready = client.clone().ready().await.unwrap();
        let (answer, _) = ready
            .send_request(request("GET", "?watch=true"), true)
            .unwrap();
        let mut body = answer.await.unwrap().into_body();
        watches.spawn(async move {
            while let Some(data) = body.data().await {
                let length = data.unwrap().len();
                body.flow_control().release_capacity(length).unwrap();
            }
        });
    }
    let mut begun = Vec::new();
    for number in 0..10 {
        let mut ready = client.clone().ready().await.unwrap();
        let (answer, mut body) = ready.send_request(request("POST", ""), false).unwrap();
        let object = config_map(&format!("begun-{number}"), "");
        let (first, rest) = object.split_at(10);
        body.send_data(Bytes::copy_from_slice(first.as_bytes()), false)
            .unwrap();
        begun.push((answer, body, Bytes::copy_from_slice(rest.as_bytes())));
    }
    // The server answers a ping after the frames before it.
    pings.ping(h2::Ping::opaque()).await.unwrap();
    server.terminate();
    // Watches end without an error, and the end of the connection is announced, before or after.
    watches.join_all().await;
    let began = Instant::now();
    let announced = loop {
        match client.clone().ready().await {
            Ok(_) => assert!(began.elapsed() < PATIENCE, "no GOAWAY"),
            Err(error) => break error,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(announced.is_go_away(), "{announced}");
    for (answer, mut body, rest) in begun {
        body.send_data(rest, true).unwrap();
        assert_eq!(answer.await.unwrap().status(), 201);
    }
    let began = Instant::now();
    // A frame of the client that arrives after the end of the connection can break it.
    let _ = connection.await.unwrap();
    assert_eq!(server.process.wait().unwrap().code(), Some(0));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_do_not_read_do_not_keep_a_server_from_its_end() {
    let _turn = TURN.read().await;
    let mut server = Server::start(&["--stop-time", "1s"]);
    let mut connection = Connection::new(&server.address).await;
    for number in 0..20 {
        let object = config_map(&format!("a-{number}"), &"x".repeat(100_000));
        assert_eq!(
            connection
                .send("POST", CONFIG_MAPS, &object)
                .await
                .unwrap()
                .0,
            201
        );
    }
    let abusers = crate::attack::two_thousand(&server.address).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let began = Instant::now();
    server.terminate();
    let code = server.process.wait().unwrap().code();
    assert_eq!(code, Some(0));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    drop(abusers);
}
