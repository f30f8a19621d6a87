//! Runs that a signal stops.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::conformance::Server;

/// A case that creates a definition and an object with a finalizer, and then waits.
const LONG: &str = r#"
name: long
needs: [status]
schema:
  apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: shops.example.com}
  spec:
    group: example.com
    scope: Namespaced
    names: {plural: shops, singular: shop, kind: Shop, listKind: ShopList}
    versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
steps:
- apply: {manager: a, object: {apiVersion: example.com/v1, kind: Shop, metadata: {name: a, finalizers: [example.com/keep]}}}
- wait: 60
"#;

impl Server {
    /// Starts a run of the long case, and waits until it has created everything.
    fn begin(&self, arguments: &[&str]) -> Child {
        let path = self.folder.path().join("long.yaml");
        std::fs::write(&path, LONG).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
            .args(["conformance", "--server", &self.url, path.to_str().unwrap()])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        while !self.has_shop() {
            assert!(
                begin.elapsed() < Duration::from_secs(100),
                "the run did not begin"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        process
    }

    /// Whether the long case has created its definition and its object, and the probe is gone.
    fn has_shop(&self) -> bool {
        let definitions = self.names("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        match definitions.as_slice() {
            [shops] => shops.strip_prefix("shops.").is_some_and(|group| {
                self.left() == (1, 1) && self.names(&format!("/apis/{group}/v1/shops")) == ["a"]
            }),
            _ => false,
        }
    }
}

fn send_signal(process: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &process.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn stopped_run_removes_what_it_created() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let server = Server::start(&[]);
        let process = server.begin(&["--report", "json"]);
        send_signal(&process, signal);
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{signal}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            error,
            "stopped before the end of 1 cases; what the run created is removed\n"
        );
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["notRun"].as_i64(), Some(1));
        assert_eq!(server.left(), (0, 0));
    }
}

#[test]
fn stopped_run_that_keeps_its_objects_says_so() {
    let server = Server::start(&[]);
    let process = server.begin(&["--keep"]);
    send_signal(&process, "-INT");
    let error = String::from_utf8(process.wait_with_output().unwrap().stderr).unwrap();
    assert_eq!(
        error,
        "stopped before the end of 1 cases; what the run created is kept\n"
    );
    assert_eq!(server.left(), (1, 1));
}

#[test]
fn second_signal_ends_a_run_on_a_silent_server() {
    let server = Server::start(&[]);
    let mut process = server.begin(&[]);
    send_signal(&server.process, "-STOP");
    send_signal(&process, "-INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(
        process.try_wait().unwrap().is_none(),
        "the run removes what it created"
    );
    send_signal(&process, "-INT");
    assert_eq!(process.wait().unwrap().code(), Some(130));
}
