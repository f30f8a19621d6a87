//! `conformance`: the suite on a server of this project as a process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue must fail"
)]

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::browser::in_browser;
use common::{Folder, Run, line, run};
use fieldmanager_conformance_suite::{Suite, area};
use fieldmanager_harness::Scenario;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// A case that passes, one that fails, one that is skipped, and one whose names would be markup.
const CASES: &str = r#"
name: a config map is created
why: It is one.
source: https://example.com/create
schema: builtin:kubernetes
steps:
- request: {verb: apply, manager: alice, body: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "1"}}}
  expect: {code: 201}
---
name: a config map has another value
why: It has not.
source: https://example.com/value
schema: builtin:kubernetes
steps:
- apply: {manager: alice, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "it's 1"}}}
  expect: {contains: {data: {x: "2"}}}
---
name: a step is not a request
source: https://example.com/step
schema: builtin:kubernetes
steps: [{set: {op: leaves, lhs: {}}}]
---
name: "</td><script>hacked()</script>"
source: "javascript:hacked()"
schema: builtin:kubernetes
steps:
- request: {verb: get, apiVersion: v1, kind: ConfigMap, name: "<img src=x onerror=hacked()>"}
"#;

/// A server as a process, which ends with the value.
struct Server {
    process: Child,
    url: String,
    folder: Folder,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let folder = Folder::new(&[("cases.yaml", CASES), ("tokens", "secret,admin\n")]);
        let arguments: Vec<_> = arguments.iter().map(|argument| folder.line(argument)).collect();
        let mut process = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
            .args(["serve", "--kubeconfig", &folder.line("@/kubeconfig")])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.strip_prefix("serving ").unwrap().split(';').next().unwrap().to_owned();
        Server { process, url, folder }
    }

    /// Runs `conformance` on the server; `@` is its folder.
    fn conformance(&self, arguments: &str) -> Run {
        let line = self.folder.line(&format!("conformance --server {} {arguments}", self.url));
        run(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// The names of objects.
    fn names(&self, path: &str) -> Vec<String> {
        let url = format!("{}{path}", self.url);
        let output = Command::new("curl").args(["-sS", "--noproxy", "*", &url]).output().unwrap();
        let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The namespaces and definitions that runs have left.
    fn left(&self) -> (usize, usize) {
        let namespaces = self.names("/api/v1/namespaces");
        let definitions = self.names("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        (namespaces.iter().filter(|name| name.starts_with("fm-")).count(), definitions.len())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn all_cases_pass_and_nothing_is_left() {
    let server = Server::start(&[]);
    let begin = Instant::now();
    let run = server.conformance("");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    assert!(run.out.contains("AREA") && !run.out.contains("FAIL "), "{}", run.out);
    let sum = run.out.lines().last().unwrap();
    assert!(sum.ends_with(" passed, 0 failed"), "{sum}");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    assert_eq!(server.left(), (0, 0));
}

/// A scenario without requests, which the library runs too.
const SCENARIO: &str = r#"
name: an owner conflicts
schema: builtin:kubernetes
steps:
- apply: {manager: alice, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "1", y: "1"}}}
- apply: {manager: bob, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "2"}}}
  expect: {conflicts: [{manager: alice, path: .data.x}]}
- update: {manager: carol, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "3", y: "1"}}}
  expect: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "3", y: "1"}}}
"#;

#[test]
fn a_scenario_of_the_library_runs_on_a_server_too() {
    let server = Server::start(&[]);
    std::fs::write(server.folder.path().join("scenario.yaml"), SCENARIO).unwrap();
    let of_library = line(&server.folder.line("test @/scenario.yaml"));
    assert_eq!((of_library.code, of_library.out.as_str()), (0, "1 passed, 0 failed\n"), "{}", of_library.err);
    let of_server = server.conformance("@/scenario.yaml");
    assert_eq!(of_server.code, 0, "{}{}", of_server.out, of_server.err);
}

#[test]
fn watches_that_fail_have_a_command_that_repeats_them() {
    let case = r#"
name: the event is of another type
schema: builtin:kubernetes
steps:
- watch:
    apiVersion: v1
    kind: ConfigMap
    steps:
    - apply: {manager: alice, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
  expect: {events: [{type: DELETED}]}
"#;
    let server = Server::start(&[]);
    std::fs::write(server.folder.path().join("watch.yaml"), case).unwrap();
    let run = server.conformance("@/watch.yaml");
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("repeat it with") && run.out.contains("watch=true"), "{}", run.out);
}

#[test]
fn runs_at_once_do_not_meet() {
    let server = Server::start(&[]);
    std::thread::scope(|scope| {
        let runs =
            [(); 3].map(|()| scope.spawn(|| server.conformance("--only create --only conflicts --jobs 2")));
        for run in runs {
            let run = run.join().unwrap();
            assert_eq!(run.code, 0, "{}", run.out);
        }
    });
    assert_eq!(server.left(), (0, 0));
}

#[test]
fn failure_has_the_request_the_answer_and_a_command_that_repeats_it() {
    let server = Server::start(&[]);
    let run = server.conformance("--keep @/cases.yaml");
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    let expected = [
        "FAIL a config map has another value",
        "  source: https://example.com/value",
        "  step 1 (apply): `contains` differs at .data.x",
        "    -  x: \"2\"",
        "    +  x: it's 1",
        "      PATCH /api/v1/namespaces/default/configmaps/a?fieldManager=alice",
        "      Content-Type: application/apply-patch+yaml",
    ];
    for line in expected {
        assert!(run.out.lines().any(|found| found == line), "{line}: {}", run.out);
    }
    assert_eq!(run.out.lines().last(), Some("1 passed, 2 failed, 1 skipped"));
    assert!(run.out.contains("the step `set` is not a request"), "{}", run.out);
    // The namespaces are kept, so the command repeats the request.
    let curl = run.out.lines().find(|line| line.contains("curl ")).unwrap().trim();
    let again =
        Command::new("sh").args(["-c", &curl.replacen("curl ", "curl --noproxy '*' ", 1)]).output().unwrap();
    let again = String::from_utf8(again.stdout).unwrap();
    assert!(again.contains("\"x\":\"it's 1\""), "{curl}: {again}");
    assert_eq!(server.left().0, 3);
}

#[test]
fn reports_have_every_format() {
    let server = Server::start(&[]);
    let run = server.conformance("--report json @/cases.yaml");
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (json["passed"].as_i64(), json["failed"].as_i64(), json["skipped"].as_i64()),
        (Some(1), Some(2), Some(1))
    );
    let curl = json["scenarios"][1]["failures"][0]["exchange"]["curl"].as_str().unwrap();
    assert!(curl.starts_with("curl -sS -X PATCH"), "{curl}");
    assert_eq!(json["server"]["url"], server.url.as_str());
    let version = json["server"]["version"].as_str().unwrap();
    let run = server.conformance("@/cases.yaml");
    let line = format!("server {}, version {version}", server.url);
    assert!(run.out.lines().any(|found| found == line), "{}", run.out);
    let run = server.conformance("--report junit @/cases.yaml");
    assert!(run.out.contains(&format!(r#"<property name="version" value="{version}"/>"#)), "{}", run.out);
    assert!(run.out.contains(r#"tests="4" skipped="1" failures="2" errors="0""#), "{}", run.out);
    let run = server.conformance("--report markdown @/cases.yaml");
    assert!(run.out.contains(": 1 passed, 2 failed, 1 skipped.\n"), "{}", run.out);
    assert!(
        run.out.contains("a config map has another value\n\nSource: <https://example.com/value>\n"),
        "{}",
        run.out
    );
    assert!(run.out.contains("&lt;/td>&lt;script>") && !run.out.contains("<script>"), "{}", run.out);
    assert_eq!(run.code, 1);
}

/// Operates the filters of the page and writes what it observes into the document.
const HOOK: &str = r#"{
const out = [];
const say = (name, value) => out.push(`${name}=${value}`);
const rows = [...document.querySelectorAll('tr[data-area]')];
const shown = () => rows.filter(row => !row.hidden).length;
window.hacked = () => document.documentElement.dataset.hacked = 'yes';
const only = name => document.querySelector(`button[data-only="${name}"]`).click();
say('rows', shown());
only('failed');
say('failed', shown());
document.querySelector('input[data-filter="passed"]').click();
say('and-passed', shown());
document.getElementById('all').click();
say('all', shown());
say('output', document.querySelector('output').textContent);
say('links', [...document.querySelectorAll('a')].every(a => a.href.startsWith('https://example.com/')));
say('details', document.querySelectorAll('details[open] pre').length > 2);
say('colour', getComputedStyle(document.querySelector('.name.failed')).backgroundColor !== 'rgba(0, 0, 0, 0)');
say('scripts', document.querySelectorAll('script').length);
say('foreign', document.querySelectorAll('img, [onerror], [style]').length);
say('hacked', document.documentElement.dataset.hacked || 'no');
const result = document.createElement('pre');
result.id = 'result';
result.textContent = out.join('\n');
document.body.append(result);
}"#;

#[test]
fn page_filters_cases_and_runs_nothing_of_them() {
    let server = Server::start(&[]);
    let page = server.conformance("--report html @/cases.yaml").out;
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    let Some(result) = in_browser(&page, HOOK) else { return };
    let expected = [
        "rows=4",
        "failed=2",
        "and-passed=3",
        "all=4",
        "output=4 of 4 cases",
        "links=true",
        "details=true",
        "colour=true",
        "scripts=2",
        "foreign=0",
        "hacked=no",
    ];
    assert_eq!(result, expected);
}

#[test]
fn baseline_fails_only_for_what_is_worse() {
    let server = Server::start(&[]);
    let missing = server.conformance("--baseline @/baseline.json @/cases.yaml");
    assert_eq!((missing.code, missing.out.as_str()), (2, ""), "{}", missing.err);
    assert!(missing.err.contains("does not exist: --update-baseline writes it"), "{}", missing.err);
    assert_eq!(server.conformance("--baseline @/baseline.json --update-baseline @/cases.yaml").code, 0);
    let run = server.conformance("--baseline @/baseline.json @/cases.yaml");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    // Another case fails, and one passes.
    let cases = CASES.replace("code: 201", "code: 200").replace("x: \"2\"", "x: \"it's 1\"");
    std::fs::write(server.folder.path().join("cases.yaml"), cases).unwrap();
    let run = server.conformance("--baseline @/baseline.json @/cases.yaml");
    assert_eq!(run.code, 1, "{}", run.out);
    let area = server.folder.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(
        run.err,
        format!(
            "worse than the baseline: {area}: a config map is created\n\
             better than the baseline: {area}: a config map has another value\n"
        )
    );
    // A case that no longer exists.
    let gone = r#"{"failed": ["old: gone"], "skipped": []}"#;
    std::fs::write(server.folder.path().join("baseline.json"), gone).unwrap();
    let run = server.conformance("--baseline @/baseline.json @/cases.yaml --filter created");
    assert!(run.err.contains("in the baseline, but there is no such case: old: gone\n"), "{}", run.err);
    let baseline = || std::fs::read_to_string(server.folder.path().join("baseline.json")).unwrap();
    server.conformance("--baseline @/baseline.json --update-baseline @/cases.yaml --filter created");
    assert!(baseline().contains("old: gone"));
    server.conformance("--baseline @/baseline.json --update-baseline @/cases.yaml");
    assert!(!baseline().contains("old: gone"));
    std::fs::write(server.folder.path().join("baseline.json"), "{}").unwrap();
    let run = server.conformance("--baseline @/baseline.json @/cases.yaml");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("expected a baseline, which --update-baseline writes"), "{}", run.err);
}

#[test]
fn areas_and_names_select_cases() {
    let list = run(&["conformance", "--list"]);
    assert_eq!((list.code, list.err.as_str()), (0, ""));
    assert!(list.out.lines().any(|line| line == "create: an apply creates an object that does not exist"));
    let only = run(&["conformance", "--list", "--only", "create"]).out;
    assert!(only.lines().all(|line| line.starts_with("create: ")), "{only}");
    let skip = run(&["conformance", "--list", "--skip", "create"]).out;
    assert_eq!(only.lines().count() + skip.lines().count(), list.out.lines().count());
    let filter = run(&["conformance", "--list", "--filter", "creates an object that does not"]).out;
    assert_eq!(filter.lines().count(), 1, "{filter}");
    let unknown = run(&["conformance", "--list", "--only", "magic"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("there is no area `magic`: expected one of "), "{}", unknown.err);
    assert_eq!(run(&["conformance", "--list", "--filter", "no such name"]).code, 2);
}

#[test]
fn names_of_cases_are_unique_and_cases_have_a_reason_and_a_source() {
    let suite = fieldmanager_conformance_suite::Suite::embedded().unwrap();
    let mut names = std::collections::BTreeSet::new();
    for scenario in &suite.scenarios {
        let case = scenario.case.as_ref().unwrap_or_else(|| panic!("{}: no source", scenario.name));
        assert!(case.why.is_some(), "{}: no reason", scenario.name);
        let source = case.source.as_deref().unwrap_or_default();
        assert!(source.starts_with("https://"), "{}: no source", scenario.name);
        assert!(names.insert(&scenario.name), "{}: twice", scenario.name);
    }
}

#[test]
fn servers_that_do_not_look_like_tests_are_refused() {
    let refused = run(&["conformance", "--server", "https://api.shop.example.com:6443"]);
    assert_eq!(
        (refused.code, refused.err.as_str()),
        (
            2,
            "error: https://api.shop.example.com:6443 does not look like a server for tests, and a run creates \
             namespaces and CustomResourceDefinitions: expected a word such as kind, k3d, dev or test in the name \
             of the context, of the cluster or of the host without its last label, or a loopback address by \
             --server; --yes runs on it nevertheless\n"
        )
    );
    let silent = run(&["conformance", "--server", "http://127.0.0.1:1"]);
    assert_eq!(silent.code, 2);
    assert!(silent.err.starts_with("error: http://127.0.0.1:1 does not answer: "), "{}", silent.err);
    assert!(silent.err.contains("Connection refused"), "{}", silent.err);
    let wrong = run(&["conformance", "--server", "nowhere"]);
    assert!(wrong.err.contains("`nowhere` is not the address of a server"), "{}", wrong.err);
}

#[test]
fn kubeconfig_leads_to_the_server_with_tokens_and_exec_plugins() {
    let server = Server::start(&["--tls", "--token-file", "@/tokens"]);
    let line = |arguments: &str| {
        let line = server.folder.line(&format!("conformance {arguments} @/cases.yaml --filter created"));
        run(&line.split_whitespace().collect::<Vec<_>>())
    };
    let by_file = line("--kubeconfig @/kubeconfig");
    assert_eq!((by_file.code, by_file.err.as_str()), (0, ""), "{}", by_file.out);
    let url = server.url.clone();
    let by_token = line(&format!("--server {url} --token secret --insecure"));
    assert_eq!(by_token.code, 0, "{}{}", by_token.out, by_token.err);
    let without = line(&format!("--server {url} --insecure"));
    assert_eq!(without.code, 2, "{}", without.out);
    let unknown_authority = line(&format!("--server {url} --token secret"));
    assert_eq!(unknown_authority.code, 2, "{}", unknown_authority.out);
    for part in ["certificate", "--certificate-authority", "--insecure"] {
        assert!(unknown_authority.err.contains(part), "{}", unknown_authority.err);
    }
    // The token by a plugin, the certificate by a file.
    let kubeconfig: serde_json::Value =
        serde_json::from_slice(&std::fs::read(server.folder.path().join("kubeconfig")).unwrap()).unwrap();
    let credential = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"secret"}}"#;
    let mut by_plugin = kubeconfig;
    by_plugin["users"][0]["user"] = serde_json::json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": [credential], "interactiveMode": "Never",
    }});
    let path = server.folder.path().join("plugin");
    std::fs::write(&path, by_plugin.to_string()).unwrap();
    let context = by_plugin["contexts"][0]["name"].as_str().unwrap().to_owned();
    let by_plugin = line(&format!("--kubeconfig @/plugin --context {context}"));
    assert_eq!(by_plugin.code, 0, "{}{}", by_plugin.out, by_plugin.err);
    let unknown = line("--kubeconfig @/plugin --context other");
    assert_eq!(unknown.code, 2, "{}", unknown.out);
    assert!(
        unknown.err.contains(&format!("no context `other`: expected one of {context}")),
        "{}",
        unknown.err
    );
}

#[test]
fn plugins_of_a_kubeconfig_run_after_the_guard_and_their_arguments_are_not_shown() {
    let folder = Folder::new(&[("cases.yaml", CASES)]);
    let marker = folder.path().join("marker");
    for (context, is_run) in [("shop", false), ("shop-prod", false), ("kind-shop", true)] {
        let script = format!("touch {}; echo geheim; exit 3", marker.display());
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": context,
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": {"exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
                "env": [{"name": "PASSWORD", "value": "geheim"}], "interactiveMode": "Never",
            }}}],
            "contexts": [{"name": context, "context": {"cluster": "c", "user": "u"}}],
        });
        std::fs::write(folder.path().join("config"), kubeconfig.to_string()).unwrap();
        let run = line(&folder.line("conformance --kubeconfig @/config @/cases.yaml"));
        assert_eq!((run.code, marker.exists()), (2, is_run), "{context}: {}", run.err);
        assert!(!run.err.contains("geheim"), "{}", run.err);
        let expected = if is_run {
            "the plugin of the kubeconfig failed with exit status: 3"
        } else {
            "does not look like"
        };
        assert!(run.err.contains(expected), "{}", run.err);
    }
}

/// Starts a TLS proxy that requires a client certificate, and returns its port.
fn guarded(runtime: &tokio::runtime::Runtime, target: String, config: ServerConfig) -> u16 {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, target) = (acceptor.clone(), target.clone());
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(stream).await else { return };
                let mut server = TcpStream::connect(target).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}

#[test]
fn kubeconfig_leads_to_the_server_with_a_client_certificate() {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.signed_by(&key, &authority).unwrap(), key)
    };
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
    let (certificate, key) = signed("127.0.0.1");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients)
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .unwrap();
    let server = Server::start(&[]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let target = server.url.strip_prefix("http://").unwrap().to_owned();
    let port = guarded(&runtime, target, config);

    let (certificate, key) = signed("alice");
    let encoded = |text: String| STANDARD.encode(text);
    let user = serde_json::json!({"client-certificate-data": encoded(certificate.pem()), "client-key-data": encoded(key.serialize_pem())});
    for (user, code) in [(user, 0), (serde_json::json!({}), 2)] {
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": format!("https://127.0.0.1:{port}"), "certificate-authority-data": encoded(authority.pem())}}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        });
        std::fs::write(server.folder.path().join("guarded"), kubeconfig.to_string()).unwrap();
        let run = line(
            &server.folder.line("conformance --yes --kubeconfig @/guarded @/cases.yaml --filter created"),
        );
        assert_eq!(run.code, code, "{}{}", run.out, run.err);
    }
}

/// A case with a definition that waits, in a step of a second before one that ends late.
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
            assert!(begin.elapsed() < Duration::from_secs(20), "the run did not begin");
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
    let sent = Command::new("kill").args([signal, &process.id().to_string()]).status().unwrap();
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
        assert_eq!(error, "stopped before the end of 1 cases; what the run created is removed\n");
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
    assert_eq!(error, "stopped before the end of 1 cases; what the run created is kept\n");
    assert_eq!(server.left(), (1, 1));
}

#[test]
fn second_signal_ends_a_run_on_a_silent_server() {
    let server = Server::start(&[]);
    let mut process = server.begin(&[]);
    send_signal(&server.process, "-STOP");
    send_signal(&process, "-INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(process.try_wait().unwrap().is_none(), "the run removes what it created");
    send_signal(&process, "-INT");
    assert_eq!(process.wait().unwrap().code(), Some(130));
}

#[test]
fn scenario_of_a_server_runs_in_process() {
    let folder = Folder::new(&[("cases.yaml", CASES)]);
    let run = run(&folder.line("test @/cases.yaml").split_whitespace().collect::<Vec<_>>());
    assert_eq!(run.code, 1);
    // The library runs the step that is not a request.
    assert_eq!(run.out.lines().last(), Some("2 passed, 2 failed"));
}

#[test]
fn the_documents_list_the_cases_that_older_releases_fail() {
    let suite = Suite::embedded().unwrap();
    let row = |scenario: &Scenario| {
        let since = scenario.case.as_ref()?.since.as_ref()?;
        Some(format!("| {since} | {} | {} |", area(scenario), scenario.name))
    };
    let mut rows: Vec<String> = suite.scenarios.iter().filter_map(row).collect();
    rows.sort();
    let page = std::fs::read_to_string("../docs/conformance.md").unwrap();
    let listed: Vec<&str> = page.lines().filter(|line| line.starts_with("| 1.")).collect();
    assert_eq!(listed, rows);
}
