//! The scenarios of this crate, which cover every kind of step.

use fieldmanager_harness::internal::answer_line;
use fieldmanager_harness::{CheckError, Scenario, check, load, run};
use fieldmanager_value::{Map, Value};

const FOLDER: &str = "tests/scenarios";

#[test]
fn scenarios() -> Result<(), CheckError> {
    check([FOLDER])
}

/// No step meets these expectations, and each must be reported.
#[test]
fn every_expectation_is_checked() {
    let wrong = |name: &str, value: &Value| -> Value {
        match name {
            "object" => Value::from("wrong"),
            "error" => Value::from("no such message"),
            "conflicts" => Value::from_yaml("[{manager: nobody, path: .nothing}]").unwrap(),
            "managed" => {
                let entry = "{nobody: {apiVersion: v1, operation: Apply, fields: {f:a: {}}}}";
                Value::from_yaml(entry).unwrap()
            }
            "message" => value.clone(),
            _ => Value::from_yaml("{f:nothing: {}}").unwrap(),
        }
    };
    let mut changed = 0;
    for file in ["state.yaml", "versions.yml", "values.yaml"] {
        let text = std::fs::read_to_string(format!("{FOLDER}/{file}")).unwrap();
        for document in
            Value::all_from_yaml(&text.replace(": schema.yaml", ": tests/scenarios/schema.yaml"))
                .unwrap()
        {
            let steps = document.get("steps").unwrap().as_list().unwrap();
            for (i, step) in steps.iter().enumerate() {
                let Some(expect) = step.get("expect").and_then(Value::as_map) else {
                    continue;
                };
                for (name, value) in expect.iter().filter(|(name, _)| *name != "message") {
                    let with = |map: &Value, name: &str, value: Value| {
                        let mut map: Map = map.as_map().unwrap().clone();
                        map.insert(name, value);
                        Value::Map(map)
                    };
                    let expect = with(&Value::Map(expect.clone()), name, wrong(name, value));
                    let mut steps = steps.clone();
                    steps.set(i, with(step, "expect", expect));
                    let document = with(&document, "steps", steps.into());
                    let report = run(&Scenario::from_value(&document).unwrap());
                    assert_eq!(report.failures.len(), 1, "{file} {i} {name}");
                    assert_eq!(report.failures[0].what, name.as_str(), "{file} {i}");
                    assert_eq!(report.failures[0].step, Some(i + 1));
                    changed += 1;
                }
            }
        }
    }
    assert!(changed > 50, "{changed}");
}

/// Steps that unexpectedly succeed, fail or conflict.
#[test]
fn every_ending_is_checked() {
    let failed = |expect: &str| {
        let scenario = format!(
            "
schema: tests/scenarios/schema.yaml
types: {{v1: app}}
steps:
- apply: {{manager: a, apiVersion: v1, object: {{replicas: 1, paused: true}}}}
  expect: {}
- apply: {{manager: b, apiVersion: v1, object: {{replicas: 2, paused: false}}}}
  expect: {}
- apply: {{manager: b, apiVersion: v1, object: {{replicas: x}}}}
  expect: {}
",
            expect, expect, expect
        );
        let report = run(&Scenario::from_yaml(&scenario).unwrap());
        let failures = report.failures.iter();
        failures
            .map(|f| (f.step.unwrap(), f.message.clone()))
            .collect::<Vec<_>>()
    };
    let error = ".replicas: expected numeric, got \"x\"";
    let conflicts = "conflicts with `a` at .paused and 1 more";
    assert_eq!(
        failed("{}"),
        [
            (2, format!("expected success, got {conflicts}")),
            (3, format!("expected success, got the error: {error}")),
        ]
    );
    assert_eq!(
        failed("{error: true}"),
        [
            (1, "expected an error, but the step succeeded".into()),
            (2, format!("expected an error, got {conflicts}")),
        ]
    );
    assert_eq!(
        failed("{error: numerical}"),
        [
            (
                1,
                "expected an error with `numerical` in its message, but the step succeeded".into()
            ),
            (
                2,
                format!("expected an error with `numerical` in its message, got {conflicts}")
            ),
            (
                3,
                format!(
                    "expected an error with `numerical` in its message, got the error: {error}"
                )
            ),
        ]
    );
    assert_eq!(
        failed("{conflicts: [{manager: a, path: .replicas}]}"),
        [
            (
                1,
                "expected conflicts with `a` at .replicas, but the step succeeded".into()
            ),
            (2, "`conflicts` differs at .paused".into()),
            (3, format!("expected conflicts, got the error: {error}")),
        ]
    );
}

/// Unsupported actions fail even if an error is expected.
#[test]
fn unsupported_actions_fail() {
    for (schema, step, message) in [
        (
            "{types: [{name: a, map: {elementType: {scalar: untyped}}}]}",
            "update: {manager: a, apiVersion: v1, object: {a: 1}}\n\
             - patch: {manager: a, apiVersion: v1, type: strategic, patch: {}}",
            "step 2 (patch): the schema has no strategies for a strategic merge patch: expected an OpenAPI document \
             or `builtin:kubernetes` as `schema`, or `type: merge`",
        ),
        (
            "builtin:openshift",
            "validate: {apiVersion: v1, object: {}}",
            "schema: there is no schema `builtin:openshift`, the only one is `builtin:kubernetes`",
        ),
        (
            "{swagger: '2.0'}",
            "validate: {apiVersion: v1, object: {}}",
            "schema: not an OpenAPI document: expected `definitions` (version 2), `components.schemas` (version 3) \
             or `$defs`",
        ),
        (
            "{definitions: {a: {type: array}}}",
            "validate: {apiVersion: v1, object: {}}",
            "schema: definition `a`: `items` must be specified on arrays",
        ),
        (
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {}}",
            "validate: {apiVersion: v1, object: {}}",
            "schema: a definition without a name: spec.group: Required value",
        ),
    ] {
        let text = format!("schema: {schema}\nsteps:\n- {step}\n  expect: {{error: true}}\n");
        let report = run(&Scenario::from_yaml(&text).unwrap());
        let text = report.text(Default::default());
        let head = format!("FAIL scenario 1\n  {message}\n");
        assert!(text.starts_with(&head), "expected {head:?}, got {text:?}");
    }
}

#[test]
fn types_are_found_by_kind() {
    let said = |schema: &str, object: &str| -> String {
        let text =
            format!("schema: {schema}\nsteps:\n- validate: {{apiVersion: v1, object: {object}}}\n");
        run(&Scenario::from_yaml(&text).unwrap()).text(Default::default())
    };
    assert_eq!(
        said("builtin:kubernetes", "{kind: ConfigMap, data: {a: b}}"),
        ""
    );
    // A schema with a single type needs no kind.
    assert_eq!(
        said(
            "{types: [{name: app, map: {elementType: {scalar: string}}}]}",
            "{a: b}"
        ),
        ""
    );
    for (schema, object, message) in [
        (
            "builtin:kubernetes",
            "{}",
            "no object has a `kind` to find its type by, and there is no `types`",
        ),
        (
            "builtin:kubernetes",
            "{kind: ConfigMp}",
            "no corresponding type for /v1, Kind=ConfigMp, did you mean v1 ConfigMap",
        ),
        (
            "builtin:kubernetes",
            "{kind: ConfigMap, date: {}}",
            ".date: field not declared in schema, the nearest declared are `data`",
        ),
    ] {
        let said = said(schema, object);
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn all_scenarios_are_found() {
    let names = |paths: &[&str]| -> Vec<String> {
        load(paths)
            .unwrap()
            .into_iter()
            .map(|scenario| scenario.name)
            .collect()
    };
    let all = names(&[FOLDER]);
    assert_eq!(all.len(), 13);
    assert_eq!(all[..2], ["deduced types", "scenario 2"]);
    assert_eq!(
        names(&[
            "tests/scenarios/versions.yml",
            "tests/scenarios/lines.jsonl"
        ])[3..],
        all[..2]
    );
}

#[test]
fn answer_follows_the_conformance_protocol() {
    let scenario = r#"{"schema": {"types": [{"name": "app", "map": {"elementType": {"scalar": "numeric"}}}]},
        "types": {"v1": "app"}, "steps": [
        {"apply": {"manager": "b", "apiVersion": "v1", "object": {"x": 1, "y": 1}}},
        {"apply": {"manager": "a", "apiVersion": "v1", "object": {"y": 2, "x": 2}}, "expect": {"error": true}},
        {"apply": {"manager": "a", "apiVersion": "v1", "object": {"y": "z"}}},
        {"compare": {"apiVersion": "v1", "lhs": {}, "rhs": {"a": 1}}},
        {"merge": {"apiVersion": "v1", "lhs": {"b": 1.5}, "rhs": {"a": 1}}},
        {"set": {"op": "leaves", "lhs": {"f:a": {}}}},
        {"validate": {"apiVersion": "v1", "object": {}}},
        {"validate": {"apiVersion": "v1", "object": {}}},
        {"patch": {"manager": "a", "apiVersion": "v1", "type": "json", "patch": []}},
        {"patch": {"manager": "a", "apiVersion": "v1", "type": "merge", "patch": {"x": "z"}}}]}"#;
    let results = concat!(
        r#"{"results":["#,
        r#"{"managed":{"b":{"apiVersion":"v1","fields":{"f:x":{},"f:y":{}},"operation":"Apply"}},"object":{"x":1,"y":1}},"#,
        r#"{"conflicts":[{"manager":"b","path":".x"},{"manager":"b","path":".y"}]},"#,
        r#"{"error":".y: expected numeric, got \"z\"","kind":"validation"},"#,
        r#"{"added":{"f:a":{}},"modified":{},"removed":{}},"#,
        r#"{"object":{"a":1,"b":1.5}},"#,
        r#"{"fields":{"f:a":{}}},"#,
        r#"{},{},"#,
        r#"{"managed":{"b":{"apiVersion":"v1","fields":{"f:x":{},"f:y":{}},"operation":"Apply"}},"object":{"x":1,"y":1}},"#,
        r#"{"error":".x: expected numeric, got \"z\"","kind":"validation"}]}"#,
    );
    assert_eq!(answer_line(scenario), results);
    assert_eq!(
        answer_line(&format!(r#"{{"repeat": 3, "scenario": {scenario}}}"#)),
        results
    );
    assert_eq!(
        answer_line(r#"{"schema": {"types": [{"name": "a", "scalar": "b"}]}, "steps": []}"#),
        r#"{"schemaError":"type `a`: .types[name=\"a\"].scalar: unknown scalar `b`, accepted are numeric, string, boolean and untyped"}"#
    );
    assert_eq!(
        answer_line(r#"{"schema": {}}"#),
        r#"{"error":"scenario: field `steps` is missing, expected a scenario"}"#
    );
    assert_eq!(
        answer_line("{"),
        r#"{"error":"not valid JSON at line 1 column 1: EOF while parsing an object"}"#
    );
}
