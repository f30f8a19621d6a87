//! `conformance`: the suite on a server of this project as a process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue must fail"
)]

mod kubeconfig;
mod stop;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::common::browser::in_browser;
use crate::common::{Folder, Run, line, run};
use fieldmanager_conformance_suite::{Suite, area};
use fieldmanager_harness::Scenario;

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
pub(crate) struct Server {
    process: Child,
    pub(crate) url: String,
    pub(crate) folder: Folder,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let folder = Folder::new(&[("cases.yaml", CASES), ("tokens", "secret,admin\n")]);
        let arguments: Vec<_> = arguments
            .iter()
            .map(|argument| folder.line(argument))
            .collect();
        let mut process = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
            .args(["serve", "--kubeconfig", &folder.line("@/kubeconfig")])
            .args(
                (!arguments.iter().any(|argument| argument == "--token-file"))
                    .then_some("--no-token"),
            )
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .strip_prefix("serving ")
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        Server {
            process,
            url,
            folder,
        }
    }

    /// Runs `conformance` on the server; `@` is its folder.
    fn conformance(&self, arguments: &str) -> Run {
        let line = self
            .folder
            .line(&format!("conformance --server {} {arguments}", self.url));
        run(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// The names of objects.
    fn names(&self, path: &str) -> Vec<String> {
        let url = format!("{}{path}", self.url);
        let output = Command::new("curl")
            .args(["-sS", "--noproxy", "*", &url])
            .output()
            .unwrap();
        let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The namespaces and definitions that runs have left.
    fn left(&self) -> (usize, usize) {
        let namespaces = self.names("/api/v1/namespaces");
        let definitions = self.names("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        (
            namespaces
                .iter()
                .filter(|name| name.starts_with("fm-"))
                .count(),
            definitions.len(),
        )
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
    let run = server.conformance("");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    assert!(
        run.out.contains("AREA") && !run.out.contains("FAIL "),
        "{}",
        run.out
    );
    let sum = run.out.lines().last().unwrap();
    assert!(sum.ends_with(" passed, 0 failed"), "{sum}");
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
    assert_eq!(
        (of_library.code, of_library.out.as_str()),
        (0, "1 passed, 0 failed\n"),
        "{}",
        of_library.err
    );
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
    assert!(
        run.out.contains("repeat it with") && run.out.contains("watch=true"),
        "{}",
        run.out
    );
}

#[test]
fn runs_at_once_do_not_meet() {
    let server = Server::start(&[]);
    std::thread::scope(|scope| {
        let runs = [(); 3].map(|()| {
            scope.spawn(|| server.conformance("--only create --only conflicts --jobs 2"))
        });
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
        assert!(
            run.out.lines().any(|found| found == line),
            "{line}: {}",
            run.out
        );
    }
    assert_eq!(
        run.out.lines().last(),
        Some("1 passed, 2 failed, 1 skipped")
    );
    assert!(
        run.out.contains("the step `set` is not a request"),
        "{}",
        run.out
    );
    // The namespaces are kept, so the command repeats the request.
    let curl = run
        .out
        .lines()
        .find(|line| line.contains("curl "))
        .unwrap()
        .trim();
    let again = Command::new("sh")
        .args(["-c", &curl.replacen("curl ", "curl --noproxy '*' ", 1)])
        .output()
        .unwrap();
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
        (
            json["passed"].as_i64(),
            json["failed"].as_i64(),
            json["skipped"].as_i64()
        ),
        (Some(1), Some(2), Some(1))
    );

    let curl = json["scenarios"][1]["failures"][0]["exchange"]["curl"]
        .as_str()
        .unwrap();
    assert!(curl.starts_with("curl -sS -X PATCH"), "{curl}");
    assert_eq!(json["server"]["url"], server.url.as_str());
    let version = json["server"]["version"].as_str().unwrap();

    let run = server.conformance("@/cases.yaml");
    let line = format!("server {}, version {version}", server.url);
    assert!(run.out.lines().any(|found| found == line), "{}", run.out);

    let run = server.conformance("--report junit @/cases.yaml");
    assert!(
        run.out
            .contains(&format!(r#"<property name="version" value="{version}"/>"#)),
        "{}",
        run.out
    );
    assert!(
        run.out
            .contains(r#"<testsuites name="fieldmanager" tests="4" failures="2" errors="0">"#),
        "{}",
        run.out
    );
    assert!(
        run.out
            .contains(r#"tests="4" skipped="1" errors="0" failures="2""#),
        "{}",
        run.out
    );

    let run = server.conformance("--report markdown @/cases.yaml");
    assert!(
        run.out.contains(": 1 passed, 2 failed, 1 skipped.\n"),
        "{}",
        run.out
    );
    assert!(
        run.out
            .contains("a config map has another value\n\nSource: <https://example.com/value>\n"),
        "{}",
        run.out
    );
    assert!(
        run.out.contains("&lt;/td>&lt;script>") && !run.out.contains("<script>"),
        "{}",
        run.out
    );
    assert_eq!(run.code, 1);
}

/// Operates the filters, and says what it observes.
const HOOK: &str = r#"
const rows = [...document.querySelectorAll('tr[data-area]')];
const shown = () => rows.filter(row => !row.hidden).length;
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
say('hacked', document.documentElement.dataset.hacked || 'no');"#;

#[test]
fn page_filters_cases_and_runs_nothing_of_them() {
    let server = Server::start(&[]);
    let page = server.conformance("--report html @/cases.yaml").out;
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    let Some(result) = in_browser(&page, HOOK) else {
        return;
    };
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
    assert_eq!(
        (missing.code, missing.out.as_str()),
        (2, ""),
        "{}",
        missing.err
    );
    assert!(
        missing
            .err
            .contains("does not exist: --update-baseline writes it"),
        "{}",
        missing.err
    );
    assert_eq!(
        server
            .conformance("--baseline @/baseline.json --update-baseline @/cases.yaml")
            .code,
        0
    );
    let run = server.conformance("--baseline @/baseline.json @/cases.yaml");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    // Another case fails, and one passes.
    let cases = CASES
        .replace("code: 201", "code: 200")
        .replace("x: \"2\"", "x: \"it's 1\"");
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
    assert!(
        run.err
            .contains("in the baseline, but there is no such case: old: gone\n"),
        "{}",
        run.err
    );
    let baseline = || std::fs::read_to_string(server.folder.path().join("baseline.json")).unwrap();
    server
        .conformance("--baseline @/baseline.json --update-baseline @/cases.yaml --filter created");
    assert!(baseline().contains("old: gone"));
    server.conformance("--baseline @/baseline.json --update-baseline @/cases.yaml");
    assert!(!baseline().contains("old: gone"));
    std::fs::write(server.folder.path().join("baseline.json"), "{}").unwrap();
    let run = server.conformance("--baseline @/baseline.json @/cases.yaml");
    assert_eq!(run.code, 2);
    assert!(
        run.err
            .contains("expected a baseline, which --update-baseline writes"),
        "{}",
        run.err
    );
}

#[test]
fn areas_and_names_select_cases() {
    let list = run(&["conformance", "--list"]);
    assert_eq!((list.code, list.err.as_str()), (0, ""));
    assert!(
        list.out
            .lines()
            .any(|line| line == "create: an apply creates an object that does not exist")
    );
    let only = run(&["conformance", "--list", "--only", "create"]).out;
    assert!(
        only.lines().all(|line| line.starts_with("create: ")),
        "{only}"
    );
    let skip = run(&["conformance", "--list", "--skip", "create"]).out;
    assert_eq!(
        only.lines().count() + skip.lines().count(),
        list.out.lines().count()
    );
    let filter = run(&[
        "conformance",
        "--list",
        "--filter",
        "creates an object that does not",
    ])
    .out;
    assert_eq!(filter.lines().count(), 1, "{filter}");
    let unknown = run(&["conformance", "--list", "--only", "magic"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown
            .err
            .contains("there is no area `magic`: expected one of "),
        "{}",
        unknown.err
    );
    assert_eq!(
        run(&["conformance", "--list", "--filter", "no such name"]).code,
        2
    );
}

#[test]
fn names_of_cases_are_unique_and_cases_have_a_reason_and_a_source() {
    let suite = fieldmanager_conformance_suite::Suite::embedded().unwrap();
    let mut names = std::collections::BTreeSet::new();
    for scenario in &suite.scenarios {
        let case = scenario
            .case
            .as_ref()
            .unwrap_or_else(|| panic!("{}: no source", scenario.name));
        assert!(case.why.is_some(), "{}: no reason", scenario.name);
        let source = case.source.as_deref().unwrap_or_default();
        assert!(
            source.starts_with("https://"),
            "{}: no source",
            scenario.name
        );
        assert!(names.insert(&scenario.name), "{}: twice", scenario.name);
    }
}

#[test]
fn scenario_of_a_server_runs_in_process() {
    let folder = Folder::new(&[("cases.yaml", CASES)]);
    let run = run(&folder
        .line("test @/cases.yaml")
        .split_whitespace()
        .collect::<Vec<_>>());
    assert_eq!(run.code, 1);
    // The library runs the step that is not a request.
    assert_eq!(run.out.lines().last(), Some("2 passed, 2 failed"));
}

#[test]
fn the_documents_list_the_cases_that_older_releases_fail() {
    let suite = Suite::embedded().unwrap();
    let row = |scenario: &Scenario| {
        let since = scenario.case.as_ref()?.since.as_ref()?;
        Some(format!(
            "| {since} | {} | {} |",
            area(scenario),
            scenario.name
        ))
    };
    let mut rows: Vec<String> = suite.scenarios.iter().filter_map(row).collect();
    rows.sort();
    let page = std::fs::read_to_string("../../docs/conformance.md").unwrap();
    let listed: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| 1."))
        .collect();
    assert_eq!(listed, rows);
}
