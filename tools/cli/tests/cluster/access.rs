//! Kubeconfigs, credentials, and hostile answers.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};

use super::{Live, config_map, run_line};
use crate::common::Folder;

#[test]
fn credentials_of_a_plugin_lead_to_the_cluster_and_are_not_shown() {
    let live = Live::start();
    live.apply("helm", &config_map("a", &json!({"x": "1"})));
    let path = live.0.folder.path().join("kubeconfig");
    let mut kubeconfig: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let exec = |script: &str| json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script], "interactiveMode": "Never"}});
    let credential = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "secret"}});
    kubeconfig["users"][0]["user"] = exec(&format!("echo '{credential}'"));
    // The namespace of the context is that of objects that name none.
    kubeconfig["contexts"][0]["context"]["namespace"] = json!("shop");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    assert!(live.prints("managers cm/a").contains("helm"));

    kubeconfig["users"][0]["user"] = exec("echo secret; echo secret >&2; exit 3");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let failed = live.run("managers cm/a");
    assert_eq!(failed.code, 2);
    assert!(
        failed
            .err
            .contains("the plugin of the kubeconfig failed with exit status: 3"),
        "{}",
        failed.err
    );
    kubeconfig["users"][0]["user"] = json!({"token": "not-the-secret-one"});
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let refused = run_line(
        &live
            .0
            .folder
            .line("managers cm/a --kubeconfig @/kubeconfig"),
    );
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("the cluster answers 401"),
        "{}",
        refused.err
    );
    assert!(
        !refused.err.contains("not-the-secret-one"),
        "{}",
        refused.err
    );
}

/// A server that answers a request for a path, and counts its connections.
fn fake(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
            let first = lines.next().unwrap_or_default();
            lines.find(String::is_empty);
            let path = first.split(' ').nth(1).unwrap_or_default();
            // The client may have enough before the end.
            let _ = (&stream).write_all(answer(path).as_bytes());
        }
    });
    (url, count)
}

/// A folder with the kubeconfig of a server.
fn kubeconfig(url: &str) -> Folder {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": url}}],
        "users": [{"name": "test", "user": {"token": "geheim"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    });
    Folder::new(&[("kubeconfig", &kubeconfig.to_string())])
}

/// More than an answer may have.
fn endless() -> String {
    format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}",
        " ".repeat((64 << 20) + 1)
    )
}

#[test]
fn large_objects_come_in_small_pages() {
    let (url, count) = fake(|path| {
        let resource = json!({
            "resource": "configmaps", "responseKind": {"group": "", "version": "v1", "kind": "ConfigMap"}, "scope": "Namespaced",
            "singularResource": "configmap", "verbs": ["list"], "shortNames": ["cm"],
        });
        let item = |name: &str| json!({"metadata": {"name": name, "namespace": "default"}});
        let body = match path {
            "/api" => {
                json!({"items": [{"metadata": {}, "versions": [{"version": "v1", "resources": [resource]}]}]})
            }
            "/apis" => json!({"items": []}),
            _ if path.contains("limit=100") => return endless(),
            _ if path.contains("continue=a%2Fb") => {
                json!({"items": [item("b\u{1b}[31m\u{202e}")], "metadata": {}})
            }
            _ => json!({"items": [item("a")], "metadata": {"continue": "a/b"}}),
        };
        let body = body.to_string();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    });
    let run = run_line(&kubeconfig(&url).line("owners cm --kubeconfig @/kubeconfig -o json"));
    let report: Json = serde_json::from_str(&run.out).unwrap_or_default();
    assert_eq!(
        (run.code, &report["objects"]),
        (0, &json!(2)),
        "{}",
        run.err
    );
    assert_eq!(count.load(Ordering::SeqCst), 5);
    // What a cluster says does not reach the terminal as it is.
    let blame = run_line(&kubeconfig(&url).line("blame cm --kubeconfig @/kubeconfig"));
    assert!(
        blame.out.contains(r"b\u{1b}[31m\u{202e}"),
        "{}{}",
        blame.out,
        blame.err
    );
}

#[test]
fn a_list_that_expires_goes_on_with_the_rest() {
    let resource = json!({
        "resource": "configmaps", "responseKind": {"group": "", "version": "v1", "kind": "ConfigMap"}, "scope": "Namespaced",
        "singularResource": "configmap", "verbs": ["list"],
    });
    let answers = move |path: &str| {
        let page = |name: &str, next: &str| {
            let item = json!({"metadata": {"name": name, "namespace": "default"}});
            (
                200,
                json!({"items": [item], "metadata": {"continue": next}}),
            )
        };
        let expired = |next: &str| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired", "metadata": {"continue": next}});
            (410, status)
        };
        let (code, body) = match path {
            "/api" => {
                let versions = json!([{"version": "v1", "resources": [resource]}]);
                (
                    200,
                    json!({"items": [{"metadata": {}, "versions": versions}]}),
                )
            }
            "/apis" => (200, json!({"items": []})),
            _ if path.contains("continue=old") => expired("new"),
            _ if path.contains("continue=new") => page("b", ""),
            _ if path.contains("/kube-system/") => expired("x"),
            _ => page("a", "old"),
        };
        let body = body.to_string();
        format!(
            "HTTP/1.1 {code} A\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let (url, count) = fake(answers);
    let folder = kubeconfig(&url);
    let run = run_line(&folder.line("owners configmaps --kubeconfig @/kubeconfig -o json"));
    let report: Json = serde_json::from_str(&run.out).unwrap_or_default();
    assert_eq!(
        (run.code, &report["objects"]),
        (0, &json!(2)),
        "{}",
        run.err
    );
    assert_eq!(count.load(Ordering::SeqCst), 5);

    // One that expires again and again ends.
    let run = run_line(&folder.line("owners configmaps -n kube-system --kubeconfig @/kubeconfig"));
    let expected =
        "/api/v1/namespaces/kube-system/configmaps: 11 pages of the list have no objects";
    assert!(run.code == 1 && run.err.contains(expected), "{run:?}");
}

#[test]
fn kubeconfig_of_ten_thousand_contexts_leads_to_the_cluster() {
    let live = Live::start();
    live.apply("helm", &config_map("a", &json!({"x": "1"})));
    let path = live.0.folder.path().join("kubeconfig");
    let mut kubeconfig: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let context = kubeconfig["contexts"][0].clone();
    for number in 0..10_000 {
        let mut context = context.clone();
        context["name"] = json!(format!("context-{number}"));
        kubeconfig["contexts"].as_array_mut().unwrap().push(context);
    }
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    assert!(
        live.prints("managers cm/a -n shop --context context-9999")
            .contains("helm")
    );
    let unknown = live.run("managers cm/a -n shop --context none");
    assert!(
        unknown.err.contains(", and 9981 more") && unknown.err.len() < 1000,
        "{}",
        unknown.err
    );
}

#[test]
fn redirects_are_not_followed_and_answers_are_bounded() {
    let (elsewhere, followed) = fake(|_| String::new());
    let redirect = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {elsewhere}/api\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let strange = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n[1]".to_owned();
    for (answer, message) in [
        (
            redirect,
            "/api: the cluster redirects, which is not followed",
        ),
        (endless(), "the answer has more than 67108864 bytes"),
        (strange, "/api: the cluster answers 200: [1]"),
    ] {
        let (url, count) = fake(move |_| answer.clone());
        let run = run_line(&kubeconfig(&url).line("blame deploy/web --kubeconfig @/kubeconfig"));
        assert!(
            run.code > 0 && run.err.contains(message),
            "{message}: {}",
            run.err
        );
        assert!(
            !run.err.contains("geheim") && run.out.is_empty(),
            "{}",
            run.err
        );
        assert_eq!(
            (
                count.load(Ordering::SeqCst),
                followed.load(Ordering::SeqCst)
            ),
            (1, 0)
        );
    }
}

#[test]
fn a_pod_without_a_kubeconfig_uses_its_service_account() {
    let output = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
        .args(["owners", "--cluster"])
        .env_remove("KUBECONFIG")
        .env("HOME", "/nonexistent")
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        .env("KUBERNETES_SERVICE_PORT", "1")
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    // This is no Pod, so there is no account.
    let expected = "there is none, and the service account of this Pod cannot be used: ";
    assert!(message.contains(expected), "{message}");
}
