//! Which requests a server refuses because a web page of another site may have sent them. `comparison/page/attack.test.js` shows the same
//! with a browser.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::net::SocketAddr;

use crate::common::{CONFIG_MAPS, Client, config_map};
use fieldmanager_apiserver::net::{Listening, Tls};
use fieldmanager_apiserver::{ApiServer, Limits, StaticTokens};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A server for tests that runs until the test ends, and its address.
async fn running(tokens: &[&str], names: &[&str]) -> (Client, SocketAddr) {
    let tokens = match tokens {
        [] => StaticTokens::default(),
        tokens => StaticTokens::from_csv(&tokens.join("\n")).unwrap(),
    };
    let server = ApiServer::builder()
        .tokens(tokens)
        .test_api(true)
        .build()
        .await
        .unwrap();
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), None)
        .await
        .unwrap();
    let address = listening.address();
    let listening = listening.names(names.iter().map(|name| (*name).to_owned()).collect());
    tokio::spawn(listening.run(server.clone(), std::future::pending()));
    (Client { server }, address)
}

/// Sends a request in HTTP/1.1 with lines of headers, and returns the answer as a string.
async fn raw(address: SocketAddr, line: &str, headers: &[&str], body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let headers: String = headers
        .iter()
        .map(|header| format!("{header}\r\n"))
        .collect();
    let length = body.len();
    let request =
        format!("{line}\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

fn code(answer: &str) -> u16 {
    answer
        .split(' ')
        .nth(1)
        .unwrap_or_else(|| panic!("{answer:?}"))
        .parse()
        .unwrap()
}

const READ: &str = "GET /api/v1/secrets HTTP/1.1";

#[tokio::test]
async fn foreign_hosts_are_refused() {
    for tokens in [&[][..], &["secret"]] {
        let (_client, address) = running(tokens, &["dev.example"]).await;
        let accepted = if tokens.is_empty() { 200 } else { 401 };
        let port = address.port();
        for host in [
            "localhost",
            "127.0.0.1",
            "LocalHost",
            "[::1]",
            "dev.example",
            "DEV.example",
        ] {
            for host in [
                host.to_owned(),
                format!("{host}:{port}"),
                format!("{host}:1"),
            ] {
                let answer = raw(address, READ, &[&format!("Host: {host}")], "").await;
                assert_eq!(code(&answer), accepted, "{host}: {answer}");
            }
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.1.2.3",
            "169.254.169.254",
        ] {
            for host in [host.to_owned(), format!("{host}:{port}")] {
                let host = format!("Host: {host}");
                for line in [
                    READ,
                    "GET /healthz HTTP/1.1",
                    "GET /ui HTTP/1.1",
                    "POST /test/reset HTTP/1.1",
                ] {
                    let answer =
                        raw(address, line, &[&host, "Authorization: Bearer secret"], "").await;
                    assert_eq!(code(&answer), 403, "{host}: {answer}");
                    assert!(answer.contains("is not a name of this server"), "{answer}");
                }
            }
        }
        // The target of a request can have a host, too.
        let answer = raw(
            address,
            "GET http://evil.example/version HTTP/1.1",
            &["Host: localhost"],
            "",
        )
        .await;
        assert_eq!(code(&answer), 403, "{answer}");
    }
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let (client, address) = running(&[], &[]).await;
    let own = format!("Host: {address}");
    let port = address.port();
    let foreign = [
        "Origin: http://evil.example".to_owned(),
        "Origin: null".to_owned(),
        "Origin: http://localhost:3000".to_owned(),
        format!("Origin: http://localhost:{port}"),
        "Origin: http://127.0.0.1".to_owned(),
        format!("Origin: http://127.0.0.1:{port}.evil.example"),
        "Origin: chrome-extension://abc".to_owned(),
        "Sec-Fetch-Site: cross-site".to_owned(),
        "Sec-Fetch-Site: same-site".to_owned(),
        "Sec-Fetch-Site: anything".to_owned(),
    ];
    for header in &foreign {
        for line in [
            READ.to_owned(),
            "GET /ui HTTP/1.1".to_owned(),
            "GET /test/log HTTP/1.1".to_owned(),
            "POST /test/reset HTTP/1.1".to_owned(),
            format!("OPTIONS {CONFIG_MAPS} HTTP/1.1"),
            format!("POST {CONFIG_MAPS} HTTP/1.1"),
            format!("DELETE {CONFIG_MAPS} HTTP/1.1"),
        ] {
            let body = config_map("evil").to_string();
            let body = if line.starts_with("POST /api") {
                body.as_str()
            } else {
                ""
            };
            let answer = raw(
                address,
                &line,
                &[&own, header, "Content-Type: application/json"],
                body,
            )
            .await;
            assert_eq!(code(&answer), 403, "{line}, {header}: {answer}");
            assert!(
                answer.contains("pages of other sites are refused"),
                "{answer}"
            );
            assert!(
                !answer.to_ascii_lowercase().contains("access-control-allow"),
                "{answer}"
            );
        }
    }
    let origin = format!("Origin: http://{address}");
    let schemeless = format!("Origin: {address}");
    for headers in [
        &[own.as_str(), &origin][..],
        &[&own, &schemeless],
        &[&own, &origin, "Sec-Fetch-Site: same-origin"],
        &[&own, "Sec-Fetch-Site: none"],
    ] {
        assert_eq!(
            code(&raw(address, READ, headers, "").await),
            200,
            "{headers:?}"
        );
    }
    assert_eq!(
        client.get(CONFIG_MAPS).await.json()["items"],
        serde_json::json!([])
    );
    // In process too: the program may have a port of its own.
    for (headers, expected) in [
        (&[("origin", "http://evil.example")][..], 403),
        (
            &[("origin", "http://own.example"), ("host", "own.example")],
            200,
        ),
        (&[("host", "own.example")], 200),
        (&[("sec-fetch-site", "cross-site")], 403),
    ] {
        assert_eq!(
            client.send("GET", CONFIG_MAPS, headers, "").await.code,
            expected,
            "{headers:?}"
        );
    }
}

#[tokio::test]
async fn websockets_of_other_sites_are_refused() {
    for tokens in [&[][..], &["secret"]] {
        let (_client, address) = running(tokens, &[]).await;
        let watch = "GET /api/v1/secrets?watch=true HTTP/1.1";
        let socket = [
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        ];
        let own = format!("Host: {address}");
        for foreign in [
            &["Host: localhost", "Origin: http://evil.example"][..],
            &["Host: evil.example", "Origin: http://evil.example"],
            &[&own, "Sec-Fetch-Site: cross-site"],
        ] {
            let headers = [&socket[..], foreign, &["Authorization: Bearer secret"]].concat();
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!("{watch}\r\n{}\r\n\r\n", headers.join("\r\n"));
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut begin = [0; 12];
            stream.read_exact(&mut begin).await.unwrap();
            assert_eq!(&begin, b"HTTP/1.1 403", "{foreign:?}");
        }
        // The second is what programs send, and pages cannot: those of another port have no header for the token.
        for origin in [
            format!("Origin: http://{address}"),
            "Origin: http://localhost".to_owned(),
        ] {
            let headers = [
                &socket[..],
                &[&own, &origin, "Authorization: Bearer secret"],
            ]
            .concat();
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!("{watch}\r\n{}\r\n\r\n", headers.join("\r\n"));
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut begin = [0; 12];
            stream.read_exact(&mut begin).await.unwrap();
            assert_eq!(&begin, b"HTTP/1.1 101", "{origin}");
        }
    }
}

#[tokio::test]
async fn http2_requests_to_foreign_hosts_are_refused() {
    let (_client, address) = running(&[], &[]).await;
    let stream = TcpStream::connect(address).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    for (authority, host, expected) in [
        ("localhost", None, 200),
        ("127.0.0.1:80", Some("localhost"), 200),
        ("evil.example", None, 403),
        ("evil.example", Some("localhost"), 403),
        ("localhost", Some("evil.example"), 403),
    ] {
        let mut request = http::Request::get(format!("http://{authority}/version"));
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let (response, _) = client
            .clone()
            .ready()
            .await
            .unwrap()
            .send_request(request.body(()).unwrap(), true)
            .unwrap();
        assert_eq!(
            response.await.unwrap().status(),
            expected,
            "{authority}, {host:?}"
        );
    }
}

#[tokio::test]
async fn host_headers_in_http1_are_checked_as_go_does() {
    let (_client, address) = running(&[], &[]).await;
    let plain = "\r\ncontent-type: text/plain; charset=utf-8\r\n";
    for (line, headers, code_, body) in [
        (
            "GET /livez HTTP/1.1",
            &[][..],
            400,
            "400 Bad Request: missing required Host header",
        ),
        (
            "GET http://localhost/livez HTTP/1.1",
            &[],
            400,
            "400 Bad Request: missing required Host header",
        ),
        (
            "GET /livez HTTP/1.1",
            &["Host: localhost", "Host: localhost"],
            400,
            "400 Bad Request",
        ),
        (
            "GET /livez HTTP/1.0",
            &["Host: localhost", "Host: localhost"],
            400,
            "400 Bad Request",
        ),
        (
            "GET /livez HTTP/1.1",
            &["Host: a b"],
            400,
            "400 Bad Request: malformed Host header",
        ),
        ("GET /livez HTTP/1.1", &["Host:"], 200, "ok"),
        ("GET /livez HTTP/1.0", &[], 200, "ok"),
    ] {
        let answer = raw(address, line, headers, "").await;
        assert_eq!(code(&answer), code_, "{line} {headers:?}: {answer}");
        assert!(
            answer.contains(plain) && answer.ends_with(&format!("\r\n\r\n{body}")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn scheme_of_a_bearer_token_is_in_any_case() {
    let (client, _) = running(&["secret", "other"], &[]).await;
    for (authorization, expected) in [
        ("Bearer secret", 200),
        ("bearer secret", 200),
        ("BEARER other", 200),
        (" Bearer secret ", 200),
        ("Bearer secret more", 200),
        ("Bearer  secret", 401),
        ("Bearer\tsecret", 401),
        ("Bearer", 401),
        ("Bearer ", 401),
        ("Bearer secre", 401),
        ("Bearer secrett", 401),
        ("Bearer SECRET", 401),
        ("Basic secret", 401),
        ("secret", 401),
    ] {
        let answer = client
            .send(
                "GET",
                "/api/v1/nodes",
                &[("authorization", authorization)],
                "",
            )
            .await;
        assert_eq!(answer.code, expected, "{authorization:?}");
    }
}

#[tokio::test]
async fn bodies_have_the_content_types_of_kube_apiserver() {
    let (client, address) = running(&[], &[]).await;
    let accepted = "accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let json = [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json ; a=b",
        "application/json;",
    ];
    let others = [
        "text/plain",
        "text/plain; a=\u{e9}",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json, text/plain",
        "; charset=utf-8",
    ];
    let eviction = r#"{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}"#;
    let review = r#"{"spec": {"nonResourceAttributes": {"path": "/"}}}"#;
    let requests = [
        (
            "POST",
            "/api/v1/namespaces/default/configmaps",
            r#"{"metadata": {"generateName": "a"}}"#,
            201,
        ),
        (
            "DELETE",
            "/api/v1/namespaces/default/configmaps/missing",
            "{}",
            404,
        ),
        ("DELETE", "/api/v1/namespaces/default/configmaps", "{}", 200),
        (
            "POST",
            "/api/v1/namespaces/default/pods/a/eviction",
            eviction,
            404,
        ),
        (
            "POST",
            "/api/v1/namespaces/default/pods/a/binding",
            r#"{"metadata": {"name": "a"}, "target": {"name": "x"}}"#,
            404,
        ),
        (
            "PUT",
            "/api/v1/namespaces/default/finalize",
            r#"{"metadata": {"name": "default"}}"#,
            200,
        ),
        (
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            review,
            201,
        ),
    ];
    let origin = format!("http://{address}");
    for (method, path, body, expected) in requests {
        let answer = client.send(method, path, &[], body).await;
        assert_eq!(answer.code, expected, "{method} {path} without a type");
        for media in json {
            let answer = client
                .send(method, path, &[("content-type", media)], body)
                .await;
            assert_eq!(answer.code, expected, "{method} {path} {media}");
        }
        for media in others {
            let answer = client
                .send(method, path, &[("content-type", media)], body)
                .await;
            assert_eq!(answer.code, 415, "{method} {path} {media}");
            assert!(
                answer.json()["message"]
                    .as_str()
                    .unwrap()
                    .ends_with(accepted)
            );
        }
        // A page of the server itself.
        let headers = [
            ("origin", origin.as_str()),
            ("host", origin.trim_start_matches("http://")),
        ];
        assert_eq!(
            client.send(method, path, &headers, body).await.code,
            415,
            "{method} {path} from a page"
        );
    }
    // Patches have types of their own, in lower case.
    for media in [
        "",
        "text/plain",
        "application/json",
        "Application/Merge-Patch+Json",
    ] {
        let path = format!("{CONFIG_MAPS}/a");
        assert_eq!(
            client
                .send("PATCH", &path, &[("content-type", media)], "{}")
                .await
                .code,
            415,
            "{media}"
        );
    }
}

#[tokio::test]
async fn test_requests_have_json_bodies() {
    let (client, _) = running(&[], &[]).await;
    let fault = r#"{"fault": "conflict"}"#;
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/yaml",
        "",
    ] {
        for (method, path, body) in [
            ("POST", "/test/reset", ""),
            ("POST", "/test/faults", fault),
            ("DELETE", "/test/log", ""),
        ] {
            let answer = client
                .send(method, path, &[("content-type", media)], body)
                .await;
            // Nothing is a type too, if it is said.
            let expected = if media.is_empty() && body.is_empty() {
                200..=204
            } else {
                415..=415
            };
            assert!(
                expected.contains(&answer.code),
                "{method} {path} {media:?}: {}",
                answer.code
            );
        }
    }
    for (headers, method, path, body, expected) in [
        (&[][..], "POST", "/test/faults", fault, 415),
        (&[], "POST", "/test/reset", "", 200),
        (&[], "GET", "/test/faults", "", 200),
        (
            &[("content-type", "application/json; charset=utf-8")],
            "POST",
            "/test/faults",
            fault,
            201,
        ),
        (
            &[("origin", "http://own"), ("host", "own")],
            "POST",
            "/test/reset",
            "",
            415,
        ),
    ] {
        assert_eq!(
            client.send(method, path, headers, body).await.code,
            expected,
            "{method} {path} {headers:?}"
        );
    }
}

#[tokio::test]
async fn one_port_serves_https_and_http() {
    let mut limits = Limits::default();
    limits.stop_time = std::time::Duration::from_secs(3600);
    let server = ApiServer::builder().limits(limits).build().await.unwrap();
    let listening = Listening::bind(
        "127.0.0.1:0".parse().unwrap(),
        Some(Tls::made(&[]).unwrap()),
    )
    .await
    .unwrap();
    assert!(listening.url().starts_with("https://"));
    let listening = listening.plain_too();
    let address = listening.address();
    assert_eq!(listening.url(), format!("http://{address}"));
    assert!(
        listening
            .kubeconfig(None)
            .to_string()
            .contains(&format!("https://{address}"))
    );
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(listening.run(server, async move {
        let _ = stopped.await;
    }));
    let host = format!("Host: {address}");
    assert_eq!(
        code(&raw(address, "GET /livez HTTP/1.1", &[&host], "").await),
        200
    );
    let stream = TcpStream::connect(address).await.unwrap();
    let (_client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    // A client that sends nothing does not hold up the end.
    let silent = TcpStream::connect(address).await.unwrap();
    stop.send(()).unwrap();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(100), running).await;
    assert!(
        ended.is_ok(),
        "the server waits for a client that sends nothing"
    );
    drop(silent);
}
