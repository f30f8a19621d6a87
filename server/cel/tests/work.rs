//! The work of evaluations is counted before it is done, so that it is bounded and can be stopped.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a failed test panics"
)]

use fieldmanager_cel::{BUDGET, Evaluated, Rules};
use fieldmanager_structural::{FieldPath, Structural};
use fieldmanager_value::Value;
use fieldmanager_value::internal::Work;

fn rules(schema: &str, rule: &str) -> Rules {
    let rule = Value::from(rule).to_json();
    let schema = format!("{{{schema}, x-kubernetes-validations: [{{rule: {rule}}}]}}");
    Rules::compile_value(&Structural::from_value(&Value::from_yaml(&schema).unwrap()).unwrap())
}

fn evaluate(rules: &Rules, value: &Value) -> Evaluated {
    rules.validate(&FieldPath::root("f"), value, None, BUDGET)
}

const STRING: &str = "type: string";

/// An evaluation that ends with the error about costs after few steps, without a limit from outside.
#[track_caller]
fn costs_too_much(rule: &str, text: &str) {
    let rules = rules(STRING, rule);
    let work = Work::new();
    let evaluated = work.run(|| evaluate(&rules, &Value::from(text))).unwrap();
    assert!(
        evaluated.errors[0].to_string().contains("cost"),
        "{:?}",
        evaluated.errors
    );
    assert!(work.steps() < 4_000_000, "{rule}: {}", work.steps());
}

#[test]
fn results_that_are_too_large_are_not_made() {
    let text = "a".repeat(1 << 20);
    costs_too_much("self.replace('', self) != ''", &text);
    costs_too_much("self.replace('a', self) != ''", &text);
    costs_too_much("self.split('').join(self) != ''", &text[..20_000]);
}

/// How many steps beyond its limit a stopped evaluation may take: those of one operation.
const SLACK: u64 = 20_000_000;

/// An evaluation that a limit of steps stops: its work is counted as it takes place.
#[track_caller]
fn is_stopped(schema: &str, rule: &str, value: &Value) {
    let rules = rules(schema, rule);
    let limit = 1_000_000;
    let work = Work::with_limit(limit);
    assert!(
        work.run(|| evaluate(&rules, value)).is_err(),
        "{rule}: {} steps",
        work.steps()
    );
    assert!(
        work.steps() < limit + SLACK,
        "{rule}: {} steps",
        work.steps()
    );
}

#[test]
fn cheap_operations_count_their_work() {
    let text = Value::from("a".repeat(1 << 20).as_str());
    let clauses = "%s".repeat(100);
    let values = ["self"; 100].join(", ");
    is_stopped(
        STRING,
        &format!("'{clauses}'.format([{values}]) != ''"),
        &text,
    );
    is_stopped(
        STRING,
        "lists.range(100).all(x, self.findAll('a', 9000).size() > 0)",
        &text,
    );
    is_stopped(
        STRING,
        "lists.range(10000).all(x, isURL(self) || true)",
        &text,
    );

    let query = format!("http://a/?{}", "a=1&".repeat(1000));
    is_stopped(
        STRING,
        "lists.range(100).all(x, url(self).getQuery().size() > 0)",
        &Value::from(query.as_str()),
    );

    let bytes = Value::from("YWFh".repeat(50_000).as_str());
    is_stopped(
        "type: string, format: byte",
        "lists.range(1000).all(x, self != b'x')",
        &bytes,
    );
}

#[test]
fn visits_of_lists_and_maps_are_counted() {
    let lists = Value::from(vec![Value::from(vec![Value::from(1); 1000]); 100]);
    let schema = "type: array, items: {type: array, items: {type: integer}}";
    is_stopped(
        schema,
        "lists.range(1000).all(x, !((self[0] + [2]).slice(1, 1001) in self))",
        &lists,
    );
    is_stopped(
        schema,
        "lists.range(1000).all(x, self == self.map(y, y))",
        &lists,
    );
    is_stopped(
        schema,
        "lists.range(1000).all(x, (self[0] + self[1]).size() > 0)",
        &lists,
    );

    let names: Vec<String> = (0..10_000).map(|at| format!("k{at}")).collect();
    let map: fieldmanager_value::Map = names
        .iter()
        .map(|name| (name.as_str(), Value::from(1)))
        .collect();
    let schema = "type: object, additionalProperties: {type: integer}";
    is_stopped(
        schema,
        "lists.range(1000).all(x, self.exists(k, true))",
        &Value::Map(map),
    );

    let patterns: Vec<Value> = (0..1000)
        .map(|at| Value::from(format!("a{at}").as_str()))
        .collect();
    let schema = "type: array, items: {type: string}";
    is_stopped(
        schema,
        "self.all(p, !'b'.matches(p))",
        &Value::from(patterns),
    );
}

#[test]
fn a_pattern_that_is_no_constant_is_compiled_once() {
    let rules = rules(STRING, "lists.range(1000).all(x, 'aaa'.matches(self))");
    let work = Work::new();
    assert!(
        work.run(|| evaluate(&rules, &Value::from("^a*$")))
            .unwrap()
            .errors
            .is_empty()
    );
    assert!(work.steps() < 50_000, "{}", work.steps());
}

#[test]
fn at_most_100_errors_are_listed() {
    let schema =
        "{type: array, items: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}}";
    let rules =
        Rules::compile_value(&Structural::from_value(&Value::from_yaml(schema).unwrap()).unwrap());
    let list = Value::from(vec![Value::from(0); 1000]);
    let errors = evaluate(&rules, &list).errors;
    assert_eq!(errors.len(), 101);
    assert_eq!(errors[100].detail, "900 more errors are not listed");
    let update = rules.validate(&FieldPath::root("f"), &list, Some(&list), BUDGET);
    assert_eq!((update.errors.len(), update.warnings.len()), (0, 100));
}

#[test]
fn constant_patterns_are_compiled_when_a_value_needs_them() {
    let rules_of = |function: &str| {
        let rule =
            |number: u32| format!(r"{{rule: 'self.{function}(r''^\pL{{300}}{number}$'') != 1'}}");
        let rules: Vec<String> = (0..100).map(rule).collect();
        format!(
            "{{type: string, x-kubernetes-validations: [{}]}}",
            rules.join(", ")
        )
    };
    for (function, wanted) in [("matches", "false"), ("find", "''''")] {
        let schema = rules_of(function).replace("!= 1", &format!("== {wanted}"));
        let schema = Structural::from_value(&Value::from_yaml(&schema).unwrap()).unwrap();
        let work = Work::new();
        let rules = work.run(|| Rules::compile_value(&schema)).unwrap();
        assert!(
            work.steps() < 1_000_000,
            "{function}: {} steps",
            work.steps()
        );

        let work = Work::with_limit(10_000_000);
        assert!(
            work.run(|| evaluate(&rules, &Value::from("a"))).is_err(),
            "{function}"
        );
    }
}
