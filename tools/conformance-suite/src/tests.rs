//! Runs on a server that misbehaves: the server of this project behind a rule that answers some requests itself.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use fieldmanager_apiserver::ApiServer;
use fieldmanager_harness::Loader;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{Either, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use tower::ServiceExt;

use crate::connection::{Connection, Message};
use crate::{Outcome, RunOptions, Suite};

/// What happens to a request.
#[derive(Clone, Copy)]
enum Fate {
    Pass,
    /// A code and a header in place of the answer.
    Answer(u16, Option<(&'static str, &'static str)>),
    /// The server does what is asked, and the answer is lost.
    Lost,
    /// The request has no answer.
    Silent,
    /// The server does it, and the answer is 504.
    TimedOut,
    /// A bookmark every second, without an end.
    Bookmarks,
    /// As many bytes as the client reads.
    Endless,
}

/// The requests of a run as `METHOD path`, in order.
type Log = Arc<Mutex<Vec<String>>>;

fn connection(
    server: ApiServer,
    rule: impl Fn(&str, &str) -> Fate + Send + Sync + 'static,
) -> (Connection, Log) {
    let log = Log::default();
    let (rule, requests) = (Arc::new(rule), log.clone());
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str())
            .to_owned();
        let fate = rule(request.method().as_str(), &path);
        requests
            .lock()
            .unwrap()
            .push(format!("{} {path}", request.method()));
        let server = server.clone();
        async move {
            let answer = |code: u16, header: Option<(&str, &str)>| {
                let mut response = Response::builder().status(code);
                if let Some((name, value)) = header {
                    response = response.header(name, value);
                }
                response
                    .body(Either::Left(Either::Left(Full::new(Bytes::from(
                        r#"{"message":"as configured"}"#,
                    )))))
                    .unwrap()
            };
            match fate {
                Fate::Answer(code, header) => return Ok::<_, Infallible>(answer(code, header)),
                Fate::Silent => return std::future::pending().await,
                Fate::Bookmarks | Fate::Endless => {
                    let (pause, data) = match fate {
                        Fate::Endless => (0, Bytes::from(vec![b' '; 1 << 20])),
                        _ => (1, Bytes::from("{\"type\":\"BOOKMARK\",\"object\":{}}\n")),
                    };
                    let frames = futures::stream::unfold(data, move |data| async move {
                        tokio::time::sleep(Duration::from_secs(pause)).await;
                        Some((Ok::<_, Infallible>(Frame::data(data.clone())), data))
                    });
                    return Ok(Response::new(Either::Left(Either::Right(StreamBody::new(
                        Box::pin(frames),
                    )))));
                }
                Fate::Pass | Fate::Lost | Fate::TimedOut => {}
            }
            let response = server.oneshot(request).await.unwrap();
            match fate {
                Fate::Lost => std::future::pending().await,
                Fate::TimedOut => Ok(answer(504, None)),
                _ => Ok(response.map(Either::Right)),
            }
        }
    });
    (
        Connection::by_client(
            Client::new(service, "default"),
            "http://test".into(),
            Vec::new(),
        ),
        log,
    )
}

async fn server() -> ApiServer {
    ApiServer::builder().build().await.unwrap()
}

fn suite(cases: &str) -> Suite {
    Suite {
        scenarios: Loader::new()
            .load_embedded(&[("area/cases.yaml", cases)])
            .unwrap(),
    }
}

async fn run(connection: &Connection, cases: &str) -> Outcome {
    run_until(connection, cases, std::future::pending()).await
}

async fn run_until(
    connection: &Connection,
    cases: &str,
    stop: impl Future<Output = ()>,
) -> Outcome {
    let options = RunOptions {
        name: "abcde".into(),
        jobs: 4,
        keep: false,
    };
    suite(cases).run(connection, &options, |_| {}, stop).await
}

async fn get(connection: &Connection, path: &str) -> (u16, String) {
    let answer = connection
        .send(&Message::new("GET", path, String::new()))
        .await
        .unwrap();
    (answer.code, answer.text)
}

/// A definition of a case, with the objects `Shop`.
const SHOPS: &str = "
  apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: shops.example.com}
  spec:
    group: example.com
    scope: Namespaced
    names: {plural: shops, singular: shop, kind: Shop, listKind: ShopList}
    versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";

const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole";

#[tokio::test]
async fn objects_that_a_case_did_not_create_are_left() {
    let (connection, log) = connection(server().await, |_, _| Fate::Pass);
    let role = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"cluster-admin"}}"#;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    connection
        .send(&Message::new("POST", roles, role.into()))
        .await
        .unwrap();
    let cases = format!(
        "
name: existing objects are changed
schema: builtin:kubernetes
steps:
- request: {{verb: patch, type: merge, {ROLE}, name: cluster-admin, body: {{metadata: {{labels: {{a: b}}}}}}}}
- request: {{verb: apply, manager: m, body: {{{ROLE}, metadata: {{name: cluster-admin, labels: {{c: d}}}}}}}}
- request: {{verb: apply, manager: m, dryRun: true, body: {{{ROLE}, metadata: {{name: dry}}}}}}
  expect: {{code: 201}}
- request: {{verb: apply, manager: m, body: {{{ROLE}, metadata: {{name: applied}}}}}}
- request: {{verb: create, manager: m, body: {{{ROLE}, metadata: {{name: created}}}}}}
- request: {{verb: create, manager: m, body: {{{ROLE}, metadata: {{generateName: generated-}}}}}}
- request: {{verb: create, path: {roles}, body: {{{ROLE}, metadata: {{name: by-path}}}}}}
- request: {{verb: create, body: {{apiVersion: v1, kind: Namespace, metadata: {{name: other}}}}}}
"
    );
    let outcome = run(&connection, &cases).await;
    assert_eq!(
        (outcome.report.passed(), outcome.left.len()),
        (1, 0),
        "{outcome:?}"
    );
    let (_, list) = get(&connection, roles).await;
    assert!(list.contains("cluster-admin"), "{list}");
    for name in ["applied", "created", "generated-", "by-path"] {
        assert!(
            !list.contains(&format!("\"name\":\"{name}")),
            "{name}: {list}"
        );
    }
    assert_eq!(get(&connection, "/api/v1/namespaces/other").await.0, 404);
    assert!(
        !log.lock()
            .unwrap()
            .iter()
            .any(|request| request.contains("DELETE") && request.contains("/dry"))
    );
}

#[tokio::test]
async fn an_object_that_took_a_name_later_is_left() {
    let (connection, _) = connection(server().await, |_, _| Fate::Pass);
    let cases = format!(
        "
name: the object is replaced by another
schema: builtin:kubernetes
steps:
- request: {{verb: create, body: {{{ROLE}, metadata: {{name: role}}}}}}
- request: {{verb: delete}}
- wait: 1
"
    );
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let replace = async {
        let body = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"role"}}"#;
        loop {
            let (code, _) = get(&connection, "/api/v1/namespaces/fm-abcde-0001").await;
            let exists = get(&connection, &format!("{role}/role")).await.0 == 200;
            if code == 200 && !exists {
                let answer = connection
                    .send(&Message::new("POST", role, body.into()))
                    .await
                    .unwrap();
                if answer.code == 201 {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let (outcome, ()) = futures::join!(run(&connection, &cases), replace);
    assert_eq!(outcome.left, []);
    // The first object of the name may still have been deleted by the case.
    let (code, _) = get(&connection, &format!("{role}/role")).await;
    assert!(code == 200 || outcome.report.failed() == 1, "{outcome:?}");
}

#[tokio::test]
async fn finalizers_of_a_stopped_run_are_removed() {
    let (connection, _) = connection(server().await, |_, _| Fate::Pass);
    let cases = format!(
        "
name: the case ends before it removes the finalizer
schema: {SHOPS}
steps:
- request: {{verb: create, body: {{apiVersion: example.com/v1, kind: Shop, metadata: {{name: a, finalizers: [example.com/keep]}}}}}}
- request: {{verb: delete}}
- wait: 60
"
    );
    let stop = async {
        let path = "/apis/s1.abcde.example.com/v1/namespaces/fm-abcde-0001/shops/a";
        while !get(&connection, path).await.1.contains("deletionTimestamp") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let outcome = run_until(&connection, &cases, stop).await;
    assert_eq!(
        (outcome.report.scenarios.len(), outcome.left.len()),
        (0, 0),
        "{outcome:?}"
    );
    for path in [
        "/api/v1/namespaces/fm-abcde-0001",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ] {
        let (code, text) = get(&connection, path).await;
        assert!(
            code == 404 || text.contains(r#""items":[]"#),
            "{path}: {text}"
        );
    }
}

#[tokio::test]
async fn objects_that_cannot_be_removed_are_returned() {
    let rule = |method: &str, path: &str| match (method, path) {
        ("DELETE", path) if path.contains("namespaces") => Fate::Answer(403, None),
        _ => Fate::Pass,
    };
    let (connection, _) = connection(server().await, rule);
    let case = "{name: a, schema: 'builtin:kubernetes', steps: [{wait: 0}]}";
    let outcome = run(&connection, case).await;
    let left: Vec<_> = outcome
        .left
        .iter()
        .map(|left| (left.path.as_str(), left.reason.as_str()))
        .collect();
    let reason = "its deletion was refused with the code 403: as configured";
    assert_eq!(left, [("/api/v1/namespaces/fm-abcde-0001", reason)]);
    let (_, namespace) = get(&connection, "/api/v1/namespaces/fm-abcde-0001").await;
    assert!(
        namespace.contains(r#""fieldmanager-comparison":"abcde""#),
        "{namespace}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_that_a_request_may_have_created_is_removed_or_returned() {
    let case = format!(
        "
name: a
schema: builtin:kubernetes
steps:
- request: {{verb: apply, manager: m, body: {{{ROLE}, metadata: {{name: role}}}}}}
"
    );
    for fate in [Fate::Lost, Fate::TimedOut] {
        let rule = move |method: &str, path: &str| match (method, path) {
            ("POST", "/api/v1/namespaces") => fate,
            _ => Fate::Pass,
        };
        let (namespaces, _) = connection(server().await, rule);
        let outcome = run(&namespaces, &case).await;
        assert_eq!(
            (outcome.report.failed(), outcome.left.len()),
            (1, 0),
            "{outcome:?}"
        );
        assert_eq!(
            get(&namespaces, "/api/v1/namespaces/fm-abcde-0001").await.0,
            404
        );
        let rule = move |method: &str, path: &str| match method {
            "PATCH" if path.contains("/clusterroles/") => fate,
            _ => Fate::Pass,
        };
        let (roles, _) = connection(server().await, rule);
        let outcome = run(&roles, &case).await;
        let left: Vec<_> = outcome.left.iter().map(|left| left.path.as_str()).collect();
        assert_eq!(
            left,
            ["/apis/rbac.authorization.k8s.io/v1/clusterroles/role"]
        );
    }
}

const WATCH: &str = "
name: a watch
schema: builtin:kubernetes
steps:
- watch: {apiVersion: v1, kind: ConfigMap, steps: []}
  expect: {events: [{type: ADDED}]}
";

#[tokio::test(start_paused = true)]
async fn a_watch_without_headers_fails_after_the_time_of_a_request() {
    let rule = |_: &str, path: &str| {
        if path.contains("watch=true") {
            Fate::Silent
        } else {
            Fate::Pass
        }
    };
    let (connection, _) = connection(server().await, rule);
    let outcome = run(&connection, WATCH).await;
    let text = outcome.report.text(fieldmanager_harness::Style::Plain);
    assert!(
        text.contains("no answer in 30 seconds") && text.contains("watch=true"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_with_bookmarks_only_fails_after_the_time_for_events() {
    let rule = |_: &str, path: &str| {
        if path.contains("watch=true") {
            Fate::Bookmarks
        } else {
            Fate::Pass
        }
    };
    let (connection, _) = connection(server().await, rule);
    let begin = tokio::time::Instant::now();
    let outcome = run(&connection, WATCH).await;
    assert_eq!(outcome.report.failed(), 1, "{outcome:?}");
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test]
async fn a_watch_without_headers_ends_with_the_run() {
    let rule = |_: &str, path: &str| {
        if path.contains("watch=true") {
            Fate::Silent
        } else {
            Fate::Pass
        }
    };
    let (connection, log) = connection(server().await, rule);
    let begin = std::time::Instant::now();
    let stop = async {
        while !log
            .lock()
            .unwrap()
            .iter()
            .any(|request| request.contains("watch=true"))
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let outcome = run_until(&connection, WATCH, stop).await;
    assert_eq!(outcome.report.scenarios.len(), 0);
    // The connection itself would give up after 30 s.
    assert!(
        begin.elapsed() < Duration::from_secs(25),
        "{:?}",
        begin.elapsed()
    );
}

const DEFINED: &str = "
steps:
- request: {verb: create, body: {apiVersion: example.com/v1, kind: Shop, metadata: {name: a}}}
";

#[tokio::test]
async fn cases_are_skipped_only_if_definitions_are_not_served() {
    let case = format!("name: a\nschema: {SHOPS}{DEFINED}");
    for (code, failed, skipped) in [(404, 0, 1), (403, 1, 0), (422, 1, 0), (500, 1, 0)] {
        let rule = move |method: &str, path: &str| match method {
            "POST" if path.ends_with("customresourcedefinitions") => Fate::Answer(code, None),
            _ => Fate::Pass,
        };
        let (connection, _) = connection(server().await, rule);
        for case in [
            case.clone(),
            case.replace("name: a\n", "name: a\nneeds: [status]\n")
                .replace(SHOPS, " 'builtin:kubernetes'")
                .replace("example.com/v1, kind: Shop", "v1, kind: ConfigMap"),
        ] {
            let outcome = run(&connection, &case).await;
            let report = &outcome.report;
            assert_eq!(
                (report.failed(), report.skipped()),
                (failed, skipped),
                "{code}: {report:?}"
            );
            let text = report.json();
            assert!(
                text.contains(&format!("refused with the code {code}: as configured")),
                "{text}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_repeated_when_the_server_asks_for_it() {
    let count = Arc::new(Mutex::new(0));
    let seen = count.clone();
    let rule = move |_: &str, path: &str| {
        let mut count = seen.lock().unwrap();
        if path == "/version" {
            *count += 1;
        }
        if path == "/version" && *count < 4 {
            Fate::Answer(429, Some(("retry-after", "15")))
        } else {
            Fate::Pass
        }
    };
    let (connection, _) = connection(server().await, rule);
    // Longer than the time of one request.
    assert_eq!(get(&connection, "/version").await.0, 200);
    *count.lock().unwrap() = -1000;
    let (code, _) = get(&connection, "/version").await;
    assert_eq!((code, *count.lock().unwrap()), (429, -996));
}

#[tokio::test]
async fn other_codes_are_reported_at_once() {
    for code in [429, 503, 504] {
        let (connection, log) = connection(server().await, move |_, _| Fate::Answer(code, None));
        assert_eq!(get(&connection, "/version").await.0, code);
        assert_eq!(log.lock().unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_when_the_server_no_longer_answers() {
    let steps = "- request: {verb: list, path: /api/v1/nodes}\n".repeat(40);
    let case = format!("name: a\nschema: builtin:kubernetes\nsteps:\n{steps}");
    let rule = |_: &str, path: &str| {
        if path.contains("nodes") {
            Fate::Silent
        } else {
            Fate::Pass
        }
    };
    let (connection, log) = connection(server().await, rule);
    let outcome = run(&connection, &case).await;
    let error = outcome.error.unwrap();
    assert_eq!(
        error,
        "http://test has not answered 10 requests in a row: no answer in 30 seconds"
    );
    // One more may begin before the run ends.
    let sent = log
        .lock()
        .unwrap()
        .iter()
        .filter(|request| request.contains("nodes"))
        .count();
    assert!((10..=11).contains(&sent), "{sent}");
}

/// The command's tests run all cases on the server.
#[test]
fn cases_that_need_no_server_pass_on_the_library_too() {
    let scenarios = Suite::embedded().unwrap().scenarios;
    let of_library: Vec<_> = scenarios
        .into_iter()
        .filter(|scenario| !scenario.needs_server())
        .collect();
    let report = fieldmanager_harness::run_all(&of_library);
    assert_eq!(
        report.failed() + report.skipped(),
        0,
        "{}",
        report.text(fieldmanager_harness::Style::Plain)
    );
    assert!(report.passed() >= 15, "{}", report.summary());
}

#[tokio::test]
async fn an_answer_without_an_end_and_a_pause_without_an_end_are_faults() {
    let (connection, _) = connection(server().await, |_, path| match path {
        "/endless" => Fate::Endless,
        _ => Fate::Answer(429, Some(("retry-after", "18446744073709551615"))),
    });
    let error = connection
        .send(&Message::new("GET", "/endless", String::new()))
        .await
        .unwrap_err();
    assert_eq!(error, "the answer has more than 67108864 bytes");
    assert_eq!(get(&connection, "/later").await.0, 429);
}
