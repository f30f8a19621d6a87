//! Reports of scenarios that pass and fail.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_harness::{Report, Scenario, Style, run_all};

fn report() -> Report {
    let schema =
        "schema: {types: [{name: app, map: {elementType: {scalar: numeric}}}]}\ntypes: {v1: app}";
    let scenarios = [
        format!("name: passes\n{schema}\nsteps: []"),
        format!(
            "name: differs <in \"much\">
{schema}
steps:
- apply: {{manager: alice, apiVersion: v1, object: {{a: 1, b: 2, c: 3, d: 4, e: 5}}}}
  expect:
    object: {{a: 1, b: 3, d: 5, e: 6, f: 1}}
    managed:
      alice: {{apiVersion: v2, operation: Update, fields: {{f:a: {{}}, f:b: {{}}, f:c: {{}}, f:d: {{}}}}}}
      bob: {{apiVersion: v1, operation: Apply, fields: {{f:a: {{}}}}}}
- apply: {{manager: bob, apiVersion: v1, object: {{a: 2, b: 3}}}}
  expect: {{conflicts: [{{manager: alice, path: .a}}]}}
- validate: {{apiVersion: v1, object: {{a: x, b: x}}}}
"
        ),
        "name: no schema\nschema: {types: [{name: a, scalar: b}]}\nsteps: []".to_owned(),
    ];
    let read = scenarios
        .iter()
        .map(|text| Scenario::from_yaml(text).unwrap());
    let mut scenarios: Vec<_> = read.collect();
    scenarios[2].origin.file = Some("tests/no-schema.yaml".into());
    run_all(&scenarios)
}

const TEXT: &str = r#"FAIL differs <in "much">
  step 1 (apply): `object` differs at .b, .c, .d and 2 more
    --- expected
    +++ actual
    @@ -1,5 +1,5 @@
     a: 1
    -b: 3
    -d: 5
    -e: 6
    -f: 1
    +b: 2
    +c: 3
    +d: 4
    +e: 5
  step 1 (apply): `managed` differs at alice: apiVersion, alice: operation, alice: .e and 1 more
    --- expected
    +++ actual
    @@ -1,13 +1,9 @@
     alice:
    -  apiVersion: v2
    +  apiVersion: v1
       fields:
         f:a: {}
         f:b: {}
         f:c: {}
         f:d: {}
    -  operation: Update
    -bob:
    -  apiVersion: v1
    -  fields:
    -    f:a: {}
    +    f:e: {}
       operation: Apply
  step 2 (apply): `conflicts` differs at .b
    --- expected
    +++ actual
    @@ -1,2 +1,4 @@
     - manager: alice
       path: .a
    +- manager: alice
    +  path: .b
  step 3 (validate): expected success, got the error: .a: expected numeric, got "x"
    .b: expected numeric, got "x"

FAIL no schema
  tests/no-schema.yaml
  schema: type `a`: .types[name="a"].scalar: unknown scalar `b`, accepted are numeric, string, boolean and untyped

1 passed, 2 failed
"#;

#[test]
fn text_report_shows_failures() {
    let report = report();
    assert_eq!((report.passed(), report.failed()), (1, 2));
    assert_eq!(report.text(Style::Plain), TEXT);
    assert_eq!(
        report.text(Style::Plain).lines().last(),
        Some("1 passed, 2 failed")
    );
}

#[test]
fn ansi_report_has_colours() {
    let text = report().text(Style::Ansi);
    for line in [
        "\x1b[1;31mFAIL no schema\x1b[0m\n",
        "\n    \x1b[31m-b: 3\x1b[0m\n",
        "\n    \x1b[32m+b: 2\x1b[0m\n",
        "\n    \x1b[36m@@ -1,2 +1,4 @@\x1b[0m\n",
        "\n     a: 1\n",
        "\n1 passed, 2 failed\n",
    ] {
        assert!(text.contains(line), "{line:?} {text}");
    }
    let plain = ["\x1b[1;31m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"];
    assert_eq!(
        plain.iter().fold(text, |text, code| text.replace(code, "")),
        TEXT
    );
}

#[test]
fn json_report_has_every_scenario() {
    let json = serde_json::from_str::<serde_json::Value>(&report().json()).unwrap();
    assert_eq!((&json["passed"], &json["failed"]), (&1.into(), &2.into()));
    let scenarios = json["scenarios"].as_array().unwrap();
    assert_eq!(
        scenarios[0],
        serde_json::json!({"name": "passes", "passed": true, "failures": []})
    );
    assert_eq!(
        scenarios[1]["failures"][2],
        serde_json::json!({
            "step": 2,
            "action": "apply",
            "what": "conflicts",
            "message": "`conflicts` differs at .b",
            "paths": [".b"],
            "expected": [{"manager": "alice", "path": ".a"}],
            "actual": [{"manager": "alice", "path": ".a"}, {"manager": "alice", "path": ".b"}],
            "diff": "--- expected\n+++ actual\n@@ -1,2 +1,4 @@\n - manager: alice\n   path: .a\n\
                     +- manager: alice\n+  path: .b\n",
        })
    );
    assert_eq!(scenarios[2]["file"], "tests/no-schema.yaml");
}

#[test]
fn junit_report_has_a_suite_per_file() {
    let xml = report().junit();
    for part in [
        r#"<testsuites name="fieldmanager" tests="3" skipped="0" failures="2" errors="0">"#,
        r#"<testsuite name="scenarios" tests="2" skipped="0" errors="0" failures="1">"#,
        r#"<testcase name="passes" classname="scenarios"/>"#,
        r#"<testcase name="differs &lt;in &quot;much&quot;&gt;" classname="scenarios">"#,
        r#"<failure message="step 1 (apply): `object` differs at .b, .c, .d and 2 more" type="object">FAIL differs"#,
        r#"<testsuite name="tests/no-schema.yaml" tests="1" skipped="0" errors="0" failures="1">"#,
    ] {
        assert!(xml.contains(part), "{part}\n{xml}");
    }
}
