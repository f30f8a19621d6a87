//! Scenarios with objects at the depth limit run on a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_harness::internal::{Runner, answer_line, outcomes, parse_documents};
use fieldmanager_harness::{Scenario, Style, run, run_all};
use fieldmanager_testing::on_small_stack;
use fieldmanager_value::{MAX_DEPTH, Map, Value};

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().collect::<Map>())
}

fn object(levels: usize, value: i64) -> Value {
    (0..levels).fold(value.into(), |below, _| map([("a", below)]))
}

fn fields(levels: usize) -> Value {
    (0..levels).fold(Map::new().into(), |below, _| map([("f:a", below)]))
}

/// A scenario with a step of each kind, for objects with the given number of levels.
fn scenario(levels: usize) -> Value {
    let step = |name: &str, of: Value| map([(name, of)]);
    let at = |manager: &str, value: i64| {
        map([
            ("manager", manager.into()),
            ("apiVersion", "v1".into()),
            ("object", object(levels, value)),
        ])
    };
    let pair = |value: i64| {
        map([
            ("apiVersion", "v1".into()),
            ("lhs", object(levels, 1)),
            ("rhs", object(levels, value)),
        ])
    };
    let sets = map([
        ("op", "union".into()),
        ("lhs", fields(levels)),
        ("rhs", fields(levels)),
    ]);
    let wrong = map([
        ("apply", at("carol", 4)),
        ("expect", map([("object", object(levels, 5))])),
    ]);
    map([
        (
            "schema",
            map([(
                "types",
                Value::from(vec![map([
                    ("name", "t".into()),
                    ("scalar", "untyped".into()),
                    (
                        "map",
                        map([("elementType", map([("namedType", "t".into())]))]),
                    ),
                ])]),
            )]),
        ),
        ("types", map([("v1", "t".into())])),
        (
            "steps",
            Value::from(vec![
                step("apply", at("alice", 1)),
                step("apply", at("bob", 2)),
                step("update", at("carol", 3)),
                step("merge", pair(2)),
                step("compare", pair(2)),
                step(
                    "validate",
                    map([("apiVersion", "v1".into()), ("object", object(levels, 1))]),
                ),
                step("set", sets),
                wrong,
            ]),
        ),
    ])
}

#[test]
fn scenarios_run_on_a_small_stack() {
    on_small_stack("scenario", || {
        for levels in [100, MAX_DEPTH - 5, MAX_DEPTH, 10_000] {
            let document = scenario(levels);
            let Ok(scenario) = Scenario::from_value(&document) else {
                assert!(levels > 100);
                continue;
            };
            outcomes(&scenario).unwrap();
            Runner::new(&scenario).unwrap().state();
            let report = run(&scenario);
            assert!(!report.text(Style::Plain).is_empty());
            let report = run_all(std::slice::from_ref(&scenario));
            for text in [report.text(Style::Ansi), report.json(), report.junit()] {
                assert!(!text.is_empty());
            }
            let text = document.to_json();
            answer_line(&text);
            parse_documents(&text).ok();
            Scenario::from_yaml(&text).ok();
            assert!(!format!("{scenario:?}").is_empty());
        }
        Scenario::from_value(&scenario(100)).unwrap();
    });
}
