//! Who may send requests: tokens, hosts and origins.

use std::process::Command;

use super::Server;

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
