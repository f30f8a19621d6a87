//! Types of expressions, and the costs that they may have. The expected values are those of
//! `k8s.io/apiextensions-apiserver` 0.37.
#![allow(clippy::unwrap_used, missing_docs)]

use fieldmanager_cel::internal::{RuleChecks, RuleOptions};
use fieldmanager_structural::Structural;
use fieldmanager_value::Value;

const SCHEMA: &str = "
type: object
properties:
  'n': {type: integer}
  s: {type: string, maxLength: 10}
  namespace: {type: string}
  l: {type: array, items: {type: object, properties: {a: {type: string}}}}
";

fn check(source: &str) -> Result<u64, String> {
    let schema = Structural::from_value(&Value::from_yaml(SCHEMA).unwrap()).unwrap();
    RuleChecks::new(&schema)
        .rule(source, RuleOptions::default())
        .map(|checked| checked.cost)
        .map_err(|refused| refused.reason)
}

#[test]
fn costs_are_those_of_the_api_server() {
    for (source, cost) in [
        ("self.n == 1", 2),
        ("self.`n` == 1", 2),
        ("self.namespace == 'a'", 3),
        ("[].all(x, x)", 11),
        ("self.l.all(x, x.a.size() > 3)", 7_340_028),
        ("type(self) == type", 3),
        ("self.l.sortBy(x, x.a) == []", 2_308_984_694_409),
        ("google.protobuf.Timestamp == type(self)", 3),
        ("!true", 1),
        ("true || false", 0),
    ] {
        assert_eq!(check(source), Ok(cost), "{source}");
    }
}

#[test]
fn faults_have_the_words_of_the_api_server() {
    for (source, faults) in [
        (
            "self.n + 's' == 1",
            &["1:8: found no matching overload for '_+_' applied to '(int, string)'"][..],
        ),
        (
            "self.x == 1 && self.y",
            &["1:5: undefined field 'x'", "1:20: undefined field 'y'"],
        ),
        (
            "quantity('1').x == 1",
            &["1:14: unexpected failed resolution of 'kubernetes.Quantity'"],
        ),
        (
            "list + 1 == 2",
            &["1:6: found no matching overload for '_+_' applied to '(type(list(dyn)), int)'"],
        ),
        (
            "[1, 's'].size() == 1",
            &["1:5: expected type 'int' but found 'string'"],
        ),
        (
            "[1, dyn('s')].size() == 1",
            &["1:8: expected type 'int' but found 'dyn'"],
        ),
        (
            "['s', - 1].size() == 1",
            &["1:7: expected type 'string' but found 'int'"],
        ),
        (
            "10.0.0.1",
            &["1:5: Syntax error: mismatched input '.0' expecting <EOF>"],
        ),
        (
            "duration('x') == duration('1s')",
            &["1:10: invalid duration argument"],
        ),
        (
            "[1].includes(1)",
            &["1:13: undeclared reference to 'includes' (in container '')"],
        ),
        (
            "self.n.f == 1",
            &["1:7: type 'int' does not support field selection"],
        ),
        (
            "self.l.transformMap(1, y, true) == {}",
            &["1:21: argument must be a simple name"],
        ),
        (
            "'ö' == 'ä' && self.l.exists(1, true)",
            &["1:29: argument must be a simple name"],
        ),
        (
            "null == 1",
            &["1:6: found no matching overload for '_==_' applied to '(null, int)'"],
        ),
        (
            "self.?n.orValue('x') == 1",
            &[
                "1:16: found no matching overload for 'orValue' applied to 'optional_type(int).(string)'",
            ],
        ),
        (
            "[1 + 's'].first().optMap(x, x).hasValue()",
            &["1:4: found no matching overload for '_+_' applied to '(int, string)'"; 2],
        ),
    ] {
        let text = check(source).unwrap_err();
        let text = text.strip_prefix("compilation failed: ").unwrap();
        let found: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("ERROR: <input>:"))
            .collect();
        assert_eq!(found, faults, "{source}");
    }
    assert_eq!(
        check("self.n").unwrap_err(),
        "cel expression must evaluate to a bool"
    );
    let fault = check("double('a') > 1.0").unwrap_err();
    assert_eq!(
        fault,
        "program instantiation failed: type conversion error from 'string' to 'double'"
    );
    let fault = check("'ä' == 's' &&\n\tself.n == 'ö'").unwrap_err();
    assert!(
        fault.ends_with("\n |  self.n == 'ö'\n | ........^"),
        "{fault}"
    );
}

#[test]
fn expressions_are_limited_before_they_are_parsed() {
    const RULES: &str =
        "compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
    const TREE: &str = "compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded";
    let nested = |open: &str, inner: &str, close: &str, count: usize| {
        format!("{}{inner}{}", open.repeat(count), close.repeat(count))
    };
    for (make, most, fault) in [
        (
            &(|count| format!("1{} == 1", "+1".repeat(count))) as &dyn Fn(usize) -> String,
            249,
            TREE,
        ),
        (&|count| nested("(", "true", ")", count), 249, RULES),
        (
            &|count| format!("{} == 1", nested("1+(", "1", ")", count)),
            124,
            RULES,
        ),
        (
            &|count| format!("{} == 1", nested("1+2*(", "1", ")", count)),
            83,
            RULES,
        ),
        (
            &|count| format!("{}true", "true ? true : ".repeat(count)),
            249,
            RULES,
        ),
        (
            &|count| format!("{} == []", nested("[", "", "]", count)),
            250,
            RULES,
        ),
        (&|count| nested("true == (", "true", ")", count), 124, RULES),
    ] {
        assert!(check(&make(most)).is_ok(), "{}", make(most));
        assert_eq!(
            check(&make(most + 1)).unwrap_err(),
            fault,
            "{}",
            make(most + 1)
        );
    }
    let fault = check(&format!("self{}", ".a".repeat(251))).unwrap_err();
    assert_eq!(fault, TREE);
    let long = format!("'{}' == ''", "a".repeat(100_000));
    let fault = check(&long).unwrap_err();
    assert!(
        fault.ends_with("expression code point size exceeds limit: size: 100008, limit 100000"),
        "{fault}"
    );
    // Such a text is not parsed.
    for text in ["(", "[", "a.", "1+"] {
        assert!(check(&text.repeat(40_000)).is_err(), "{text}");
    }
}

#[test]
fn steps_are_linear_in_the_length() {
    let schema = Structural::from_value(&Value::from_yaml(SCHEMA).unwrap()).unwrap();
    let steps = |count: usize| {
        let rule = vec!["self.l.all(x, x.a.size() > self.n)"; count].join(" || ");
        RuleChecks::new(&schema)
            .rule(&rule, RuleOptions::default())
            .unwrap()
            .steps
    };
    let (small, large) = (steps(10), steps(100));
    assert!(large <= small * 11, "{small} {large}");

    // Targets of `optMap` are used twice, and the types of pairs double.
    let chain = format!("optional.of(1){}.hasValue()", ".optMap(x, x)".repeat(60));
    assert!(check(&chain).is_ok());
    let pairs = format!(
        "optional.of(1){}.hasValue()",
        ".optMap(x, {x: x})".repeat(60)
    );
    assert!(
        check(&pairs)
            .unwrap_err()
            .ends_with("the types of the expression are too large")
    );
}
