//! Webhooks that hang, lie, die or answer without end: what their requests get, and that others do not wait for them.
//!
//! The words are those of kube-apiserver 1.37.1, to which the same answers were sent. Certificates that do not fit are tested
//! with the caller, in `fieldmanager-admission`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fieldmanager_apiserver::ApiServer;
use futures::future::{join_all, select_all};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::common::{CONFIG_MAPS, Client, config_map};

const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// How a webhook goes on after its first bytes.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Close,
    Hang,
    /// It sends a byte now and then, for ever.
    Drip,
    /// It sends 100 MB.
    Flood,
}

/// Serves a webhook that answers each request with the same bytes. Gives its URL and the number of requests that it got.
async fn webhook(first: &'static str, then: Then) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, first, then, count.clone()));
        }
    });
    (url, calls)
}

async fn answer(mut stream: TcpStream, first: &str, then: Then, calls: Arc<AtomicUsize>) {
    // The review comes in one part or in several, and ends with its last brace.
    let mut received = Vec::new();
    while !received.ends_with(b"}}") {
        let mut part = [0; 16 << 10];
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(size) => received.extend_from_slice(&part[..size]),
        }
    }
    calls.fetch_add(1, Ordering::SeqCst);

    let mut is_open = stream.write_all(first.as_bytes()).await.is_ok();
    for _ in 0..100 {
        if then == Then::Flood && is_open {
            is_open = stream.write_all(&vec![b'x'; 1 << 20]).await.is_ok();
        }
    }
    while then == Then::Drip && is_open {
        tokio::time::sleep(Duration::from_millis(20)).await;
        is_open = stream.write_all(b"x").await.is_ok();
    }
    if then == Then::Hang {
        std::future::pending().await
    }
}

/// A server whose ConfigMaps are validated by a webhook.
async fn server(url: &str, seconds: u64, policy: &str) -> Client {
    let builder = ApiServer::builder().test_api(true);
    let builder = builder.webhook_service("default", "hook", url);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    let hook = json!({
        "name": "h.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": policy,
        "timeoutSeconds": seconds, "clientConfig": {"service": {"namespace": "default", "name": "hook", "path": "/x"}},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    });
    let configuration = json!({"metadata": {"name": "h"}, "webhooks": [hook]});
    client.post(HOOKS, &configuration).await.expect(201);
    client
}

fn secret(number: usize) -> Json {
    json!({"metadata": {"name": format!("s-{number}")}})
}

/// What a client is told of a webhook that answers wrongly.
async fn words(first: &'static str, then: Then, seconds: u64) -> String {
    let (url, calls) = webhook(first, then).await;
    let client = server(&url, seconds, "Fail").await;
    let refused = client.post(CONFIG_MAPS, &config_map("a")).await.expect(500);
    // One that redirects to itself is asked ten times, all others once.
    let expected = if first.contains("Location") { 10 } else { 1 };
    assert_eq!(calls.load(Ordering::SeqCst), expected);
    let message = refused["message"].as_str().unwrap().to_owned();
    let prefix = "Internal error occurred: failed calling webhook \"h.example.com\": failed to call webhook: ";
    message.strip_prefix(prefix).unwrap().to_owned()
}

#[tokio::test]
async fn wrong_answers_have_the_words_of_kube_apiserver() {
    let unread =
        "unexpected error when reading response body. Please retry. Original error: unexpected EOF";
    let url =
        |seconds: u64| format!("Post \"https://hook.default.svc:443/x?timeout={seconds}s\": ");
    let ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let cases = [
        ("", Then::Close, 9, url(9) + "EOF"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
            Then::Close,
            9,
            unread.to_owned(),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":",
            Then::Close,
            9,
            unread.to_owned(),
        ),
        (ok, Then::Hang, 1, url(1) + "context deadline exceeded"),
        (
            "HTTP/1.1 200 OK\r\nX-Slow: ",
            Then::Drip,
            1,
            url(1) + "context deadline exceeded",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n",
            Then::Drip,
            1,
            unread.replace("unexpected EOF", "context deadline exceeded"),
        ),
        // kube-apiserver reads all of it, and names the header of two lengths.
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n",
            Then::Flood,
            9,
            unread.replace("unexpected EOF", "more than 16777216 bytes"),
        ),
        (
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
            Then::Close,
            9,
            "Post \"/x\": stopped after 10 redirects".to_owned(),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n{}",
            Then::Close,
            9,
            url(9) + "net/http: HTTP/1.x transport connection broken: malformed HTTP response",
        ),
    ];
    for (first, then, seconds, expected) in cases {
        assert_eq!(words(first, then, seconds).await, expected, "{first:?}");
    }
}

/// The others are counted: all their requests end before one of those that hang.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_requests_do_not_wait_for_hanging_webhooks() {
    const HANGING: usize = 200;
    let (url, calls) = webhook("", Then::Hang).await;
    let client = server(&url, 30, "Fail").await;
    let names: Vec<Json> = (0..HANGING)
        .map(|number| config_map(&format!("a-{number}")))
        .collect();
    let hanging = names
        .iter()
        .map(|map| Box::pin(client.post(CONFIG_MAPS, map)));
    let hanging = select_all(hanging);
    let others = async {
        while calls.load(Ordering::SeqCst) < HANGING {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let secrets: Vec<Json> = (0..100).map(secret).collect();
        for made in join_all(secrets.iter().map(|secret| client.post(SECRETS, secret))).await {
            made.expect(201);
        }
        client.get(SECRETS).await.expect(200)
    };

    tokio::select! {
        _ = hanging => panic!("a request ended before its webhook"),
        listed = others => assert_eq!(listed["items"].as_array().unwrap().len(), 100),
    }
    assert_eq!(
        calls.load(Ordering::SeqCst),
        HANGING,
        "each request has a connection of its own"
    );
}

/// A request ends at the time that its client gives it, also if the webhook may fail.
#[tokio::test]
async fn a_request_ends_when_its_client_wants_it_to() {
    let (url, calls) = webhook("", Then::Hang).await;
    let client = server(&url, 30, "Ignore").await;
    let path = format!("{CONFIG_MAPS}?timeout=1s");
    let late = client.post(&path, &config_map("a")).await.expect(504);
    assert_eq!(late["reason"], "Timeout");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    client.get(&format!("{CONFIG_MAPS}/a")).await.expect(404);
}

#[tokio::test]
async fn calls_are_counted_by_webhook_and_outcome() {
    let (url, _) = webhook("", Then::Close).await;
    for (policy, code) in [("Fail", 500), ("Ignore", 201)] {
        let client = server(&url, 9, policy).await;
        client
            .post(CONFIG_MAPS, &config_map("a"))
            .await
            .expect(code);
        let text = String::from_utf8(client.get("/metrics").await.bytes.to_vec()).unwrap();
        let has = |line: &str| text.lines().any(|own| own == line);
        let rejected = code == 500;
        let labels = r#"name="h.example.com",operation="CREATE""#;
        let prefix = "apiserver_admission_webhook";
        assert!(has(&format!(
            r#"{prefix}_request_total{{code="503",{labels},rejected="{rejected}",type="validating"}} 1"#
        )));
        assert!(has(&format!(
            r#"{prefix}_admission_duration_seconds_count{{{labels},rejected="{rejected}",type="validating"}} 1"#
        )));
        let refusal = format!(
            r#"{prefix}_rejection_count{{error_type="calling_webhook_error",{labels},rejection_code="503",type="validating"}} 1"#
        );
        assert_eq!(has(&refusal), rejected);
        let open =
            format!(r#"{prefix}_fail_open_count{{name="h.example.com",type="validating"}} 1"#);
        assert_eq!(has(&open), !rejected);

        let entries = client.server.log();
        let annotated = entries.iter().any(|entry| {
            let key = "failed-open.validating.webhook.admission.k8s.io/round_0_index_0";
            entry
                .annotations
                .get(key)
                .is_some_and(|name| name == "h.example.com")
        });
        assert_eq!(annotated, !rejected);
    }
}
