//! The folders of runs: their kubeconfigs, and who can read them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::Server;

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
