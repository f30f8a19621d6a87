//! `serve`: the server as a process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot continue must fail"
)]

mod folders;
mod guards;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

struct Server {
    process: Child,
    address: String,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts a server without tokens.
    fn start(arguments: &[&str]) -> Self {
        Self::with(&[&["--no-token"], arguments].concat())
    }

    /// Starts a server and waits for its line.
    fn with(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let mut process = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
            .args(["serve", "--kubeconfig", kubeconfig.to_str().unwrap()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let (url, file) = line
            .trim()
            .strip_prefix("serving ")
            .unwrap()
            .split_once("; kubeconfig ")
            .unwrap();
        assert_eq!(file, kubeconfig.to_str().unwrap());
        let address = url.split_once("://").unwrap().1.to_owned();
        Server {
            process,
            address,
            folder,
        }
    }

    fn kubeconfig(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.folder.path().join("kubeconfig")).unwrap())
            .unwrap()
    }

    /// Sends a request, and returns the status line and the body.
    fn send(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (
            head.lines().next().unwrap_or_default().to_owned(),
            body.to_owned(),
        )
    }

    /// Creates an object, and returns the status line.
    fn create(&self, path: &str, object: &serde_json::Value) -> String {
        let body = object.to_string();
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        self.send(&format!(
            "{head}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
        .0
    }

    /// What the server wrote to standard error.
    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    fn get(&self, path: &str, headers: &str) -> (String, String) {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
            self.address
        ))
    }

    /// Sends SIGTERM and returns the exit code.
    fn stop(mut self) -> Option<i32> {
        let pid = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        self.process.wait().unwrap().code()
    }
}

#[test]
fn server_answers_after_its_line_and_stops_at_a_signal() {
    let server = Server::start(&[]);
    let kubeconfig = server.kubeconfig();
    let url = format!("http://{}", server.address);
    assert_eq!(
        kubeconfig
            .pointer("/clusters/0/cluster/server")
            .and_then(|url| url.as_str()),
        Some(url.as_str())
    );
    let (status, body) = server.get("/readyz", "");
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", "ok"));
    let (status, body) = server.get("/api/v1/namespaces/default", "");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(body.contains(r#""kind":"Namespace""#), "{body}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn server_ends_with_its_standard_input_if_asked_to() {
    let mut server = Server::start(&["--stop-with-stdin"]);
    assert_eq!(server.get("/readyz", "").1, "ok");
    drop(server.process.stdin.take());
    assert_eq!(server.process.wait().unwrap().code(), Some(0));

    let mut server = Server::start(&[]);
    drop(server.process.stdin.take());
    assert_eq!(server.get("/readyz", "").1, "ok");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn watches_end_when_the_server_stops() {
    let server = Server::start(&[]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let request = format!(
        "GET /api/v1/namespaces?watch=1 HTTP/1.1\r\nHost: {}\r\n\r\n",
        server.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while !line.contains(r#""type":"ADDED""#) {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the watch ended");
    }
    assert_eq!(server.stop(), Some(0));
    let mut rest = String::new();
    let _ = reader.read_to_string(&mut rest);
}

#[test]
fn definitions_and_objects_of_files_exist_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file(
        "crd.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: shops.example.com}\n\
         spec: {group: example.com, scope: Namespaced, names: {plural: shops, kind: Shop}, versions: [{name: v1, served: true, \
         storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}\n",
    );
    file(
        "a.yaml",
        "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: corner, namespace: market}\n",
    );
    file(
        "b.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: market}\n",
    );
    for option in ["--load", "--crd"] {
        let server = Server::start(&[option, folder.path().to_str().unwrap()]);
        let (status, body) = server.get("/apis/example.com/v1/namespaces/market/shops/corner", "");
        assert_eq!(status, "HTTP/1.1 200 OK", "{body}");
        assert_eq!(server.stop(), Some(0));
    }
}

#[test]
fn a_server_for_tests_resets_to_what_was_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("team.yaml");
    std::fs::write(
        &file,
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n",
    )
    .unwrap();
    let arguments = [
        "--test-api",
        "--seed",
        "7",
        "--time",
        "2026-01-31T12:00:00Z",
        "--load",
        file.to_str().unwrap(),
    ];
    let (one, other) = (Server::start(&arguments), Server::start(&arguments));
    let send = |server: &Server, method: &str, path: &str, body: &str| {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        server.send(&(head + body))
    };
    let path = "/api/v1/namespaces/team";
    assert_eq!(one.get(path, ""), other.get(path, ""));
    assert_eq!(send(&one, "DELETE", path, "").0, "HTTP/1.1 200 OK");
    let (status, body) = send(&one, "POST", "/test/reset", "");
    assert_eq!(status, "HTTP/1.1 200 OK", "{body}");
    assert_eq!(one.get(path, ""), other.get(path, ""));
    let (status, body) = send(
        &one,
        "POST",
        "/test/faults",
        r#"{"fault": "loseAnswer", "name": "team"}"#,
    );
    assert_eq!(status, "HTTP/1.1 201 Created", "{body}");
    let mut stream = TcpStream::connect(&one.address).unwrap();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "");
    assert_eq!((one.stop(), other.stop()), (Some(0), Some(0)));

    let plain = Server::start(&[]);
    assert_eq!(
        send(&plain, "POST", "/test/reset", "").0,
        "HTTP/1.1 404 Not Found"
    );
    assert_eq!(plain.stop(), Some(0));
}

#[test]
fn large_bodies_are_refused() {
    let server = Server::start(&["--max-body", "1000B"]);
    let body = "x".repeat(2000);
    let (status, _) = server.send(&format!(
        "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert_eq!(status, "HTTP/1.1 413 Payload Too Large");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn large_headers_are_refused() {
    let server = Server::start(&["--max-headers", "10KiB"]);
    assert_eq!(
        server
            .get("/readyz", &format!("X-Small: {}\r\n", "x".repeat(5_000)))
            .0,
        "HTTP/1.1 200 OK"
    );
    let (status, _) = server.get("/readyz", &format!("X-Large: {}\r\n", "x".repeat(20_000)));
    assert_eq!(status, "HTTP/1.1 431 Request Header Fields Too Large");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn kinds_without_an_effect_are_logged_once() {
    let server = Server::start(&[]);
    assert_eq!(
        server.log(),
        "",
        "the objects that exist from the start are no reason for a warning"
    );
    let created = "HTTP/1.1 201 Created";
    for name in ["a", "b"] {
        let spec = serde_json::json!({"priorityLevelConfiguration": {"name": "exempt"}});
        let object = serde_json::json!({"metadata": {"name": name}, "spec": spec});
        for resource in [
            "rbac.authorization.k8s.io/v1/clusterroles",
            "flowcontrol.apiserver.k8s.io/v1/flowschemas",
        ] {
            assert_eq!(
                server.create(&format!("/apis/{resource}"), &object),
                created
            );
        }
        assert_eq!(
            server.create("/api/v1/namespaces/default/configmaps", &object),
            created
        );
    }
    let log = server.log();
    let messages: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split_once("WARN "))
        .map(|(_, text)| text.trim())
        .collect();
    assert_eq!(
        messages,
        [
            "objects of the kind ClusterRole are stored and have no effect: every request is allowed",
            "objects of the kind FlowSchema are stored and have no effect: requests have no priority",
        ],
        "{log}"
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn the_link_to_the_page_is_the_second_line() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
        .args(["serve", "-v"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    let (mut first, mut second) = (String::new(), String::new());
    output.read_line(&mut first).unwrap();
    output.read_line(&mut second).unwrap();
    let url = first
        .strip_prefix("serving ")
        .unwrap()
        .split_once(';')
        .unwrap()
        .0;
    let code = second
        .trim()
        .strip_prefix(&format!("page {url}/ui?code="))
        .unwrap()
        .to_owned();
    assert_eq!(code.len(), 43);
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /ui?code={code} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 303 ") && answer.contains("set-cookie: fieldmanager-"),
        "{answer}"
    );
    let pid = process.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    let mut log = String::new();
    process
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut log)
        .unwrap();
    process.wait().unwrap();
    assert!(log.contains("/ui") && !log.contains(&code), "{log}");
}
