//! `serve`: the server as a process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot continue must fail"
)]

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
fn tokens_are_required_if_there_are_any() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    std::fs::write(&tokens, "# users\nsecret,alice,1\n").unwrap();
    let server = Server::with(&["--token-file", tokens.to_str().unwrap()]);
    assert_eq!(
        server.get("/api/v1/nodes", "").0,
        "HTTP/1.1 401 Unauthorized"
    );
    assert_eq!(server.get("/livez", "").0, "HTTP/1.1 200 OK");
    assert_eq!(
        server
            .get("/api/v1/nodes", "Authorization: Bearer secret\r\n")
            .0,
        "HTTP/1.1 200 OK"
    );
    let token = server.kubeconfig().pointer("/users/0/user/token").cloned();
    assert_eq!(token, Some("secret".into()));
    assert_eq!(server.stop(), Some(0));
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
fn other_machines_need_tls_and_tokens() {
    let run = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
        .args(["serve", "--listen", "0.0.0.0"])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    let error = String::from_utf8(run.stderr).unwrap();
    assert!(error.contains("add --tls"), "{error}");
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
fn hostile_requests_write_one_line_each_without_control_characters() {
    let hostile = "h\u{9b}31m\u{85}\u{202e}\u{2028}\u{200b}\u{feff}";
    let escaped = "%1b%5b31m%0d%0a2026-01-31T12:00:00Z%20ERROR%20forged";
    for options in [&["-vv"][..], &["-vv", "--log-json"]] {
        let server = Server::start(options);
        let path = "/api/v1/namespaces/default/configmaps";
        let mut sent = 0;
        for path in [
            format!("{path}/{escaped}"),
            format!("{path}/{hostile}"),
            format!("/{hostile}?x={hostile}"),
        ] {
            let (status, _) = server.get(&path, &format!("User-Agent: {hostile}/{escaped}\r\n"));
            assert!(status.starts_with("HTTP/1.1 4"), "{status}");
            // One with a path that is no URI is refused before it is a request.
            sent += usize::from(!status.contains("400"));
        }
        for name in [
            "a\n2026-01-31T12:00:00Z ERROR forged",
            "a\u{1b}[31m",
            hostile,
        ] {
            let object = serde_json::json!({"metadata": {"name": name, "labels": {name: name}}});
            let status = server.create(&format!("{path}?fieldManager={escaped}"), &object);
            assert_eq!(status, "HTTP/1.1 422 Unprocessable Entity");
            sent += 1;
        }

        let log = server.log();
        let is_safe = |c: char| c == '\n' || fieldmanager_value::internal::go_format::is_print(c);
        assert!(log.chars().all(is_safe), "{log:?}");
        let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        let is_text = |line: &str| line.starts_with("20") && !line.contains("Z ERROR");
        assert!(
            log.lines().all(|line| is_json(line) || is_text(line)),
            "{log}"
        );
        let answers = log.lines().filter(|line| line.contains("INFO"));
        assert_eq!(answers.count(), sent, "{log}");
        assert_eq!(server.stop(), Some(0));
    }
}

/// The files and folders in a folder, with their modes.
fn modes(folder: &std::path::Path) -> Vec<(String, u32)> {
    use std::os::unix::fs::PermissionsExt;
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mode = |entry: &std::fs::DirEntry| entry.metadata().unwrap().permissions().mode() & 0o777;
    let mut modes: Vec<_> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), mode(&entry)))
        .collect();
    modes.sort();
    modes
}

#[test]
fn tokens_are_in_no_log_and_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    std::fs::write(
        &file,
        "first-secret,root,0,system:masters\nother-secret,alice\n",
    )
    .unwrap();
    let server = Server::with(&[
        "--token-file",
        file.to_str().unwrap(),
        "--authorization",
        "rbac",
        "--test-api",
        "-vv",
    ]);
    let post = |path: &str, body: &str| {
        let (status, body) = server.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer first-secret\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(status, "HTTP/1.1 201 Created", "{body}");
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    post(accounts, r#"{"metadata": {"name": "robot"}}"#);
    let granted = post(&format!("{accounts}/robot/token"), "{}");
    let made = post("/test/users", r#"{"name": "bob", "groups": ["dev"]}"#);
    let robot = granted["status"]["token"].as_str().unwrap();
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    post(
        reviews,
        &serde_json::json!({"spec": {"token": robot}}).to_string(),
    );

    let tokens = ["other-secret", robot, made["token"].as_str().unwrap()];
    for token in tokens {
        let header = format!("Authorization: Bearer {token}\r\n");
        assert_eq!(server.get("/version", &header).0, "HTTP/1.1 200 OK");
        let (status, body) = server.get("/api/v1/secrets", &header);
        assert_eq!(status, "HTTP/1.1 403 Forbidden");
        assert!(!body.contains(token), "{body}");
    }
    let header = "Authorization: Bearer first-secret\r\n";
    let mut shown = server.log();
    for path in ["/test/log", "/ui", "/metrics", "/api/v1/serviceaccounts"] {
        let (status, body) = server.get(path, header);
        assert_eq!(status, "HTTP/1.1 200 OK", "{path}");
        shown += &body;
    }
    // The requests are in the log, with their users.
    assert!(
        shown.contains("system:serviceaccount:default:robot"),
        "{shown}"
    );
    for token in tokens.into_iter().chain(["first-secret"]) {
        assert!(!shown.contains(token), "{shown}");
    }
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_token_is_made_for_each_run() {
    let (one, other) = (Server::with(&[]), Server::with(&[]));
    let token = |server: &Server| {
        server
            .kubeconfig()
            .pointer("/users/0/user/token")
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(
        token(&one).len() >= 43 && token(&one) != token(&other),
        "32 random bytes"
    );
    for authorization in [
        String::new(),
        format!("Authorization: Bearer {}\r\n", token(&other)),
    ] {
        for path in ["/api/v1/nodes", "/metrics", "/ui", "/", "/apis"] {
            assert_eq!(
                one.get(path, &authorization).0,
                "HTTP/1.1 401 Unauthorized",
                "{path}"
            );
        }
        assert_eq!(one.get("/readyz", &authorization).0, "HTTP/1.1 200 OK");
    }
    let authorization = format!("Authorization: Bearer {}\r\n", token(&one));
    assert_eq!(
        one.get("/api/v1/nodes", &authorization).0,
        "HTTP/1.1 200 OK"
    );
    // Go clients send tokens over TLS only.
    let cluster = one
        .kubeconfig()
        .pointer("/clusters/0/cluster")
        .cloned()
        .unwrap();
    assert_eq!(cluster["server"], format!("https://{}", one.address));
    assert!(cluster.get("certificate-authority-data").is_some());
    assert!(!one.log().contains(&token(&one)));
    assert_eq!((one.stop(), other.stop()), (Some(0), Some(0)));
}

#[test]
fn a_server_without_tokens_refuses_other_hosts_and_origins() {
    let server = Server::start(&["--host-name", "dev.example"]);
    let get = |host: &str, header: &str| {
        server
            .send(&format!(
                "GET /api HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{header}\r\n"
            ))
            .0
    };
    assert_eq!(get("localhost", ""), "HTTP/1.1 200 OK");
    assert_eq!(get("dev.example:80", ""), "HTTP/1.1 200 OK");
    assert_eq!(get("evil.example", ""), "HTTP/1.1 403 Forbidden");
    assert_eq!(
        get("localhost", "Origin: http://evil.example\r\n"),
        "HTTP/1.1 403 Forbidden"
    );
    assert_eq!(server.stop(), Some(0));
    let both = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
        .args(["serve", "--no-token", "--token-file", "tokens"])
        .output()
        .unwrap();
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn only_the_user_can_read_the_store_and_the_kubeconfig() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    for name in ["new", "old"] {
        let path = folder.path().join(name);
        let store = format!("file:{}", path.display());
        if name == "old" {
            // Another version, or a copy, may have left it open to others.
            assert_eq!(Server::start(&["--store", &store]).stop(), Some(0));
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        }
        let server = Server::start(&["--store", &store]);
        assert_eq!(
            modes(folder.path())
                .into_iter()
                .find(|(file, _)| file == name)
                .unwrap()
                .1,
            0o600
        );
        assert_eq!(server.stop(), Some(0));
    }

    // A kubeconfig that exists, and that others can read or that leads elsewhere, is replaced.
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "").unwrap();
    std::fs::set_permissions(&victim, PermissionsExt::from_mode(0o644)).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    for path in [&victim, &link] {
        let mut server = Own::start(folder.path(), &["--kubeconfig", path.to_str().unwrap()]);
        let metadata = std::fs::symlink_metadata(path).unwrap();
        assert!(metadata.is_file() && metadata.permissions().mode() & 0o777 == 0o600);
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        std::fs::write(&victim, "").unwrap();
    }
    assert_eq!(std::fs::read(&victim).unwrap(), b"");
}

/// A server with a temporary folder of the test.
struct Own {
    process: Child,
    kubeconfig: std::path::PathBuf,
}

impl Own {
    fn start(temporary: &std::path::Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
            .arg("serve")
            .args(arguments)
            .env("TMPDIR", temporary)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let kubeconfig = line.trim().split_once("; kubeconfig ").unwrap().1.into();
        Own {
            process,
            kubeconfig,
        }
    }

    fn end(&mut self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        self.process.wait().unwrap();
    }
}

#[test]
fn kubeconfigs_are_in_folders_of_their_own_that_end_with_the_run() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    // Files of others, under names that the folder could have.
    std::fs::create_dir(root.join("elsewhere")).unwrap();
    std::fs::write(root.join("elsewhere/kubeconfig"), "theirs").unwrap();
    std::os::unix::fs::symlink(root.join("elsewhere"), root.join("fieldmanager-serve-link"))
        .unwrap();
    std::fs::create_dir(root.join("fieldmanager-serve-more")).unwrap();
    std::fs::write(root.join("fieldmanager-serve-more/notes"), "").unwrap();
    std::fs::write(root.join("fieldmanager-serve-file"), "").unwrap();
    let left = modes(root);

    let (mut killed, mut stopped) = (Own::start(root, &[]), Own::start(root, &[]));
    for server in [&killed, &stopped] {
        let folder = server.kubeconfig.parent().unwrap();
        assert_eq!(modes(folder), [("kubeconfig".to_owned(), 0o600)]);
        let name = folder.file_name().unwrap().to_str().unwrap();
        assert!(modes(root).contains(&(name.to_owned(), 0o700)), "{name}");
    }
    stopped.end("-TERM");
    assert!(!stopped.kubeconfig.parent().unwrap().exists());
    killed.end("-KILL");
    assert!(killed.kubeconfig.exists());

    // The next start removes it, and those of servers that run stay.
    let (mut next, mut last) = (Own::start(root, &[]), Own::start(root, &[]));
    assert!(!killed.kubeconfig.parent().unwrap().exists());
    assert!(next.kubeconfig.exists() && last.kubeconfig.exists());
    next.end("-TERM");
    last.end("-TERM");
    assert_eq!(modes(root), left);
    assert_eq!(
        std::fs::read(root.join("elsewhere/kubeconfig")).unwrap(),
        b"theirs"
    );
}

#[test]
fn starts_at_the_same_time_keep_their_folders() {
    let temporary = tempfile::tempdir().unwrap();
    let mut servers: Vec<Own> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..12)
            .map(|_| scope.spawn(|| Own::start(temporary.path(), &[])))
            .collect();
        starts
            .into_iter()
            .map(|start| start.join().unwrap())
            .collect()
    });
    for server in &servers {
        assert!(server.kubeconfig.exists());
    }
    servers.iter_mut().for_each(|server| server.end("-TERM"));
    assert_eq!(modes(temporary.path()), []);
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
