//! Evaluates rules: values by their schema, transitions, messages, functions, limits.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use fieldmanager_cel::{BUDGET, Evaluated, Rules};
use fieldmanager_structural::{FieldError, FieldPath, Structural};
use fieldmanager_value::Value;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

/// A schema whose field `f` has a schema and one rule.
fn with_rule(schema: &str, rule: &str) -> Rules {
    let rule = Value::from(rule).to_json();
    let schema = format!(
        "{{type: object, properties: {{f: {{x-kubernetes-validations: [{{rule: {rule}}}], {schema}}}}}}}"
    );
    Rules::compile(&Structural::from_value(&yaml(&schema)).unwrap())
}

fn evaluate(rules: &Rules, object: &str, old: Option<&str>) -> Evaluated {
    let old = old.map(yaml);
    rules.validate(&FieldPath::default(), &yaml(object), old.as_ref(), BUDGET)
}

#[track_caller]
fn check(schema: &str, rule: &str, value: &str, expected: &[&str]) {
    let found = evaluate(&with_rule(schema, rule), &format!("{{f: {value}}}"), None);
    let found: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{rule}: {value}");
}

/// Checks that an expression is true.
#[track_caller]
fn holds(expression: &str) {
    check("type: integer", expression, "1", &[]);
}

/// Checks the error of an expression.
#[track_caller]
fn fails(expression: &str, error: &str) {
    let expected = format!("f: Invalid value: \"integer\": {error} evaluating rule: {expression}");
    check("type: integer", expression, "1", &[&expected]);
}

/// Checks the error of an expression whose function has no overload for its arguments.
#[track_caller]
fn fails_to_compare(expression: &str, error: &str) {
    let expected = format!(
        "f: Invalid value: \"integer\": '{error}': call arguments did not match a supported operator, function or macro \
         signature for rule: {expression}"
    );
    check("type: integer", expression, "1", &[&expected]);
}

#[test]
fn values_have_the_types_of_the_schema() {
    check(
        "type: number",
        "self == 1.0 && type(self) == double",
        "1",
        &[],
    );
    check(
        "x-kubernetes-int-or-string: true",
        "type(self) == int ? self > 1 : self.endsWith('%')",
        "5%",
        &[],
    );
    check(
        "{type: string, format: byte}".trim_matches(['{', '}']),
        "self == b'hi'",
        "aGk=",
        &[],
    );
    check(
        "type: string, format: duration",
        "self.getHours() == 36",
        "1 day 12h",
        &[],
    );
    check(
        "type: string, format: date",
        "self.getFullYear() == 2024",
        "'2024-02-29'",
        &[],
    );
    check(
        "type: string, format: date-time",
        "self.getDate() == 29",
        "'2024-02-29T23:00:00-00:30'",
        &[],
    );
    check(
        "type: string, format: date-time",
        "self.getDate() == 29",
        "soon",
        &[
            "f: Invalid value: \"string\": Invalid date-time formatted string soon: cannot parse \"soon\" as a time \
           evaluating rule: self.getDate() == 29",
        ],
    );
}

#[test]
fn fields_are_escaped_and_nulls_are_absent() {
    let schema = "type: object, properties: {a-b: {type: integer}, namespace: {type: string, nullable: true}}";
    check(
        schema,
        "self.a__dash__b == 1 && !has(self.__namespace__)",
        "{a-b: 1, namespace: null}",
        &[],
    );
    check(
        schema,
        "self.__namespace__ == ''",
        "{}",
        &[
            "f: Invalid value: \"object\": no such key: __namespace__ evaluating rule: self.__namespace__ == ''",
        ],
    );
}

#[test]
fn a_scalar_has_no_keys() {
    check(
        "x-kubernetes-int-or-string: true",
        "self.a == 1",
        "5",
        &["f: Invalid value: \"\": no such key: a evaluating rule: self.a == 1"],
    );
    check("x-kubernetes-int-or-string: true", "!has(self.a)", "5", &[]);
}

#[test]
fn metadata_of_resources_has_names_only() {
    let schema = "{type: object, x-kubernetes-validations: [{rule: self.metadata.name == self.kind}, {rule: \
                  '!has(self.metadata.generateName)'}]}";
    let rules = Rules::compile(&Structural::from_value(&yaml(schema)).unwrap());
    let object = "{apiVersion: v1, kind: A, metadata: {name: A, labels: {a: b}}}";
    assert!(evaluate(&rules, object, None).errors.is_empty());
    let embedded = "type: object, x-kubernetes-embedded-resource: true";
    check(
        embedded,
        "self.metadata.name == 'a'",
        "{apiVersion: v1, kind: A, metadata: {name: a}}",
        &[],
    );
}

#[test]
fn sets_and_map_lists_are_equal_in_any_order() {
    let set = "type: array, x-kubernetes-list-type: set, items: {type: string}";
    check(
        set,
        "self == ['b', 'a'] && self + ['c', 'a'] == ['c', 'b', 'a']",
        "[a, b]",
        &[],
    );
    let map = "type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, \
               properties: {k: {type: string}, v: {type: integer}}}";
    check(
        map,
        "self + self == self && (self + self).size() == 2",
        "[{k: a, v: 1}, {k: b}]",
        &[],
    );
    let rules = with_rule(map, "self == oldSelf");
    let old = Some("{f: [{k: a, v: 1}, {k: b}]}");
    assert!(
        evaluate(&rules, "{f: [{k: b}, {k: a, v: 1}]}", old)
            .errors
            .is_empty()
    );
    assert_eq!(
        evaluate(&rules, "{f: [{k: b}, {k: a, v: 2}]}", old)
            .errors
            .len(),
        1
    );
    check(
        "type: array, items: {type: string}",
        "self != ['b', 'a']",
        "[a, b]",
        &[],
    );
}

#[test]
fn transitions_run_where_old_values_are_found() {
    let rules = with_rule("type: integer", "self >= oldSelf");
    assert!(evaluate(&rules, "{f: 1}", None).errors.is_empty());
    assert!(evaluate(&rules, "{f: 1}", Some("{}")).errors.is_empty());
    let errors = evaluate(&rules, "{f: 1}", Some("{f: 2}")).errors;
    assert_eq!(
        errors[0].to_string(),
        "f: Invalid value: 1: failed rule: self >= oldSelf"
    );
    // Items are found by key in lists of type map, and nowhere else.
    let list = |extensions: &str| {
        let schema = format!(
            "{{type: object, properties: {{l: {{type: array, {extensions} items: {{type: object, \
             x-kubernetes-validations: [{{rule: self.v >= oldSelf.v}}], properties: {{k: {{type: string}}, v: \
             {{type: integer}}}}}}}}}}}}"
        );
        Rules::compile(&Structural::from_value(&yaml(&schema)).unwrap())
    };
    let map = list("x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k],");
    let (old, new) = ("{l: [{k: a, v: 2}]}", "{l: [{k: b, v: 1}, {k: a, v: 1}]}");
    let errors = evaluate(&map, new, Some(old)).errors;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].path.to_string(), "l[1]");
    assert!(evaluate(&list(""), new, Some(old)).errors.is_empty());
}

#[test]
fn optional_old_values_run_without_an_old_value() {
    let schema = "{type: object, properties: {f: {type: integer, x-kubernetes-validations: [{rule: \
                  'oldSelf.orValue(5) <= self', optionalOldSelf: true}]}}}";
    let rules = Rules::compile(&Structural::from_value(&yaml(schema)).unwrap());
    assert_eq!(evaluate(&rules, "{f: 1}", None).errors.len(), 1);
    assert!(evaluate(&rules, "{f: 1}", Some("{f: 1}")).errors.is_empty());
}

#[test]
fn violations_of_unchanged_values_are_warnings() {
    let rules = with_rule("type: integer", "self > 5");
    let evaluated = evaluate(&rules, "{f: 1, g: 1}", Some("{f: 1}"));
    assert_eq!(
        evaluated.warnings,
        ["f: Invalid value: 1: failed rule: self > 5"]
    );
    assert!(evaluated.errors.is_empty());
    assert_eq!(evaluate(&rules, "{f: 2}", Some("{f: 1}")).errors.len(), 1);
}

#[test]
fn message_reason_and_path_shape_the_error() {
    let check = |rule: &str, expected: &str| {
        let schema = format!(
            "{{type: object, x-kubernetes-validations: [{{rule: 'false', {rule}}}], properties: {{a-b: {{type: \
             object, additionalProperties: {{type: string}}}}, s: {{type: string}}}}}}"
        );
        let rules = Rules::compile(&Structural::from_value(&yaml(&schema)).unwrap());
        assert_eq!(
            evaluate(&rules, "{s: x}", None).errors[0].to_string(),
            expected
        );
    };
    check("message: '  wrong '", "<nil>: Invalid value: wrong");
    check(
        "messageExpression: \"'s is ' + self.s\"",
        "<nil>: Invalid value: s is x",
    );
    check(
        "message: wrong, messageExpression: \"self.t\"",
        "<nil>: Invalid value: wrong",
    );
    check(
        "message: wrong, messageExpression: \"' '\"",
        "<nil>: Invalid value: wrong",
    );
    check(
        "reason: FieldValueForbidden",
        "<nil>: Forbidden: failed rule: false",
    );
    check(
        "reason: FieldValueRequired",
        "<nil>: Required value: failed rule: false",
    );
    check("reason: FieldValueDuplicate", "<nil>: Duplicate value");
    check("fieldPath: .s", "s: Invalid value: failed rule: false");
    check(
        "fieldPath: \"['a-b']['c.d']\"",
        "a-b[c.d]: Invalid value: failed rule: false",
    );
    check(
        "fieldPath: .absent",
        "<nil>: Invalid value: failed rule: false",
    );
}

#[test]
fn functions_have_the_results_of_the_api_server() {
    for expression in [
        "[1, 2, 3].sum() == 6 && [].sum() == 0 && [1.5, 2.0].max() == 2.0",
        "['a', 'b', 'a'].lastIndexOf('a') == 2 && [2, 1].isSorted() == false",
        "'abc'.find('[b-z]+') == 'bc' && 'a1b2'.findAll('[0-9]', 1) == ['1']",
        "'a-b'.split('-') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b' && 'föö'.charAt(1) == 'ö'",
        "'hello'.substring(1, 3) == 'el' && 'hello'.indexOf('l', 3) == 3 && 'hello'.lastIndexOf('l') == 3",
        "'a'.indexOf('b', 5) == -1 && 'a'.indexOf('', 5) == 1",
        "'%s: %d, %.2f, %x'.format(['a', 1, 1.5, 255]) == 'a: 1, 1.50, ff'",
        "'%s'.format([['a\"b', 1, 2u, 1.5, [null, true], b'ab']]) == '[\"a\\\\\"b\", 1, 2, 1.500000, [null, true], b\"ab\"]'",
        "'%s'.format([{'b': 1, 1: 2, true: {'x': [-0.0]}}]) == '{\"b\":1, 1:2, true:{\"x\":[-0.000000]}}'",
        "'%s'.format([[duration('90m'), timestamp('2020-01-01T00:00:00.120Z'), type('a')]]) == \
         '[duration(\"5400s\"), timestamp(\"2020-01-01T00:00:00.12Z\"), string]'",
        "'%s %s'.format([1.0 / 0.0, [-1.0 / 0.0, 0.0 / 0.0]]) == '+Inf [\"-Inf\", \"NaN\"]'",
        "'%.3f %f %f'.format([1234567.5, 1.0 / 0.0, 'NaN']) == '1,234,567.500 ∞ NaN'",
        "'%e %.2e'.format([1234.5, 0.00012]) == '1.234500×10⁰³ 1.200000×10⁻⁰⁴'",
        "'%b %b %o %X %x'.format([5u, true, -8, -255, b'hi']) == '101 1 -10 -FF 6869' && '%.3s%%'.format(['abcd']) == 'abcd%'",
        "url('https://u@[::1]:80/a b?x=1').getHostname() == '::1' && !isURL('a')",
        "quantity('1.5Gi').isGreaterThan(quantity('1G')) && quantity('1k').asInteger() == 1000",
        "quantity('12E').isInteger() == false && quantity('0.0000000001').isGreaterThan(quantity('0'))",
        "ip('::1').isLoopback() && cidr('10.0.0.0/8').containsIP('10.1.2.3') && !isIP('::ffff:1.2.3.4')",
        "string(cidr('192.168.1.7/24').masked()) == '192.168.1.0/24' && ip.isCanonical('::1')",
        "semver('v1.2', true).minor() == 2 && semver('1.0.0-a').isLessThan(semver('1.0.0'))",
        "format.dns1123Label().validate('A').hasValue() && !format.uuid().validate('\
         123e4567-e89b-12d3-a456-426614174000').hasValue()",
        "sets.contains([1, 2], [1]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])",
        "['a', 'b'].transformMap(i, v, i > 0, v + 'x') == {1: 'bx'} && {'a': 1}.all(k, v, k == 'a' && v == 1)",
        "optional.of(1).optMap(x, x + 1).orValue(0) == 2 && {'a': 1}[?'b'].or(optional.of(3)).value() == 3",
        "[1, 2].map(x, x > 1, x * 2) == [4] && [1, 2].exists_one(x, x == 1) && size('föö') == 3",
        "timestamp('2024-01-01T00:00:00Z') + duration('1h30m') > timestamp('2024-01-01T01:00:00Z')",
        "string(1.5) == '1.5' && string(1e6) == '1e+06' && string(-1234567.5) == '-1.2345675e+06'",
        "duration('90s').getMinutes() == 1 && string(duration('1500ms')) == '1.5s'",
        "1 / 0 > 1 || true",
        "[0, 1].exists(x, 1 / x == 1) && ![0, 1].all(x, 1 / x == 2)",
        "'a' in {'a': 1} && 2 in [1, 2] && dyn(1) == 1.0 && dyn('a') != dyn(1)",
        "type(1) == int && type('a') == string && type(timestamp(0)) == google.protobuf.Timestamp",
        "timestamp('2024-07-29T22:30:45Z').getHours('America/New_York') == 18",
        "timestamp('2024-07-29T22:30:45Z').getMinutes('Asia/Kathmandu') == 15",
        r#"strings.quote('a\n\x01"') == '"a\\n\x01\\""'"#,
        "1u + 2u == 3u && b'a' + b'b' == b'ab' && -7 % 3 == -1 && double('1e3') == 1000.0",
    ] {
        holds(expression);
    }
    fails("1 / 0 == 1", "division by zero");
    fails("[{'a': optional.of([1])}][0].a[0] == 1", "no such key: 0");
    holds("{'a': [1]}.?a[0].orValue(2) == 1 && optional.of({'a': [1]}).a[0] == optional.of(1)");
    fails(
        "[?dyn(1)] == [1]",
        "cannot initialize optional list element from non-optional value 1",
    );
    fails(
        "{?'a': dyn(1)} == {'a': 1}",
        "cannot initialize optional entry 'a' from non-optional value 1",
    );
    fails(
        "dyn([1])[dyn(9223372036854775807.0)] == 1",
        "unsupported index value 9.223372036854776e+18 in list",
    );
    for (zone, error) in [
        ("Nowhere/None", "unknown time zone Nowhere/None"),
        ("europe/berlin", "unknown time zone europe/berlin"),
        ("America", "is a directory"),
        (".", "is a directory"),
    ] {
        fails(&format!("timestamp(0).getHours('{zone}') == 0"), error);
    }
    fails(
        "'%d'.format([dyn('a')]) == ''",
        "error during formatting: decimal clause can only be used on integers, was given string",
    );
    fails(
        "'%s'.format([[ip('::1')]]) == ''",
        "error during formatting: no formatting function for net.IP",
    );
    fails("'%s %s'.format(['a']) == ''", "index 1 out of range");
    fails(
        "'%q'.format(['a']) == ''",
        "could not parse formatting clause: unrecognized formatting clause \"q\"",
    );
    fails("9223372036854775807 + self > 0", "integer overflow");
    fails("[1][5] == 1", "index out of bounds: 5");
    fails("{'a': 1}['b'] == 1", "no such key: b");
    fails(
        "int('x') == 1",
        "type conversion error from 'string' to 'int'",
    );
    fails("[].max() == 1", "max called on empty list");
    check(
        "type: string, nullable: true",
        "[self, null].all(x, x < '')",
        "b",
        &["f: Invalid value: \"b\": failed rule: [self, null].all(x, x < '')"],
    );
    fails_to_compare("null < dyn(1)", "no such overload: _<_");
    // Strings and times receive the calls of any operator, so that it is not named.
    for (expression, error) in [
        ("dyn('a') % 1 == 1", "no such overload"),
        ("dyn(duration('1s')) * dyn(2) == 1", "no such overload"),
        ("dyn(-dyn('a')) == 1", "no such overload"),
        ("!dyn(1)", "no such overload"),
        ("dyn(true) * dyn(2) == 1", "no such overload: _*_"),
        ("dyn(1).size() == 1", "no such overload: size"),
        ("dyn(['a']).sum() == 1", "no such overload: sum(list)"),
    ] {
        fails_to_compare(expression, error);
    }
    fails(
        "dyn(1).all(x, true)",
        "got 'types.Int', expected iterable type",
    );
    fails(
        "dyn(ip('1.2.3.4')).all(x, true)",
        "got 'cel.IP', expected iterable type",
    );
    fails_to_compare("dyn(1) < dyn('a')", "no such overload");
    check(
        "x-kubernetes-int-or-string: true",
        "self < 3",
        "'1'",
        &[
            "f: Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, function \
           or macro signature for rule: self < 3",
        ],
    );
}

#[test]
fn items_of_what_is_declared_as_an_object_have_no_type() {
    let schema = "{type: object, properties: {f: {type: object, items: {type: object,
        x-kubernetes-validations: [{rule: 'true'}], properties: {a: {type: integer,
        x-kubernetes-validations: [{rule: 'self > 0'}]}}}}}}";
    let rules = Rules::compile(&Structural::from_value(&yaml(schema)).unwrap());
    let found = evaluate(&rules, "{f: [{a: 0}]}", None);
    let found: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "f[0]: Invalid value: \"object\": rule compiler initialization error: failed to convert to declType for CEL validation rules"
        ]
    );
    assert!(evaluate(&rules, "{f: {a: 0}}", None).errors.is_empty());
}

#[test]
fn rules_that_cannot_run_are_refused() {
    let deep = format!(
        "{}{}{}",
        "[1].map(x, ".repeat(249),
        "self.size().b.c",
        ")".repeat(249)
    );
    for (rule, reason) in [
        (&*deep, "max recursion depth exceeded"),
        ("self.a(", "Syntax error"),
        ("other > 1", "undeclared reference to 'other'"),
        ("self.odd()", "undeclared reference to 'odd'"),
        (
            "[1].existsOne(i, i == 1)",
            "undeclared reference to 'existsOne'",
        ),
        ("self.matches('(?=a)')", "pattern `(?=a)`"),
    ] {
        let schema = format!(
            "{{type: string, x-kubernetes-validations: [{{rule: {}}}, {{rule: '  '}}]}}",
            Value::from(rule).to_json()
        );
        let rules = Rules::compile(&Structural::from_value(&yaml(&schema)).unwrap());
        let errors = rules
            .validate(&FieldPath::root("f"), &Value::from("a"), None, BUDGET)
            .errors;
        let [error] = errors.as_slice() else {
            panic!("{errors:?}")
        };
        let expected = "f: Invalid value: \"string\": rule compile error: compilation failed: ";
        let detail = error.to_string();
        assert!(
            detail.starts_with(expected) && detail.contains(reason),
            "{detail}"
        );
    }
}

#[test]
fn expensive_rules_end_with_an_error() {
    let nested = "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))";
    check(
        "type: integer",
        nested,
        "1",
        &[&format!(
            "f: Invalid value: \"integer\": 'operation cancelled: actual cost limit exceeded': no further validation \
             rules will be run due to call cost exceeds limit for rule: {nested}"
        )],
    );
    for expression in [
        "lists.range(1000000).size() > 0",
        "lists.range(1000).map(a, lists.range(1000)).map(b, b + b).size() > 0",
        "lists.range(100000).map(a, 'x').join('y').split('').map(b, lists.range(20)).flatten().distinct().size() > 0",
    ] {
        let errors = evaluate(&with_rule("type: integer", expression), "{f: 1}", None).errors;
        assert!(errors[0].to_string().contains("cost"), "{}", errors[0]);
    }
    // The budget of the object is shared by all rules.
    let rules = with_rule("type: integer", "lists.range(100).all(a, a >= 0)");
    let evaluated = rules.validate(&FieldPath::default(), &yaml("{f: 1}"), None, 50);
    assert_eq!(
        evaluated.errors[0].to_string(),
        "f: Invalid value: \"integer\": validation failed due to running out of cost budget, no further validation \
         rules will be run"
    );
}

#[test]
fn deep_expressions_are_refused_or_run_on_a_small_stack() {
    fieldmanager_testing::on_small_stack("rules", || {
        let evaluate = |expression: &str| {
            let mut rule = fieldmanager_value::Map::single("rule", expression);
            rule.insert("message", "m");
            let mut schema = fieldmanager_value::Map::single("type", "integer");
            schema.insert(
                "x-kubernetes-validations",
                Value::from(vec![Value::Map(rule)]),
            );
            let rules = Rules::compile(&Structural::from_value(&Value::Map(schema)).unwrap());
            rules
                .validate(&FieldPath::default(), &Value::from(1), None, BUDGET)
                .errors
        };
        let is_refused =
            |errors: &[FieldError]| errors[0].detail.starts_with("rule compile error: ");
        for (open, middle, close) in [
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("!", "true", ""),
            ("-", "1", ""),
            ("1 + ", "1", ""),
            ("true && ", "true", ""),
            ("true ? 1 : ", "1", ""),
            ("{'a': ", "1", "}"),
            ("", "self", ".a"),
            ("", "self", "[0]"),
            ("", "''", ".trim()"),
            ("[1].map(x, ", "1", ")"),
        ] {
            for levels in [10, 90, 200, 500, 3000] {
                let expression = format!(
                    "{}{middle}{} == 1",
                    open.repeat(levels),
                    close.repeat(levels)
                );
                let errors = evaluate(&expression);
                assert!(errors.len() <= 1);
                // The parser merges repeated signs and balances conjunctions.
                let is_merged = matches!(open, "!" | "-" | "true && ");
                assert!(
                    levels < 3000 || is_merged || is_refused(&errors),
                    "{open}{close}"
                );
            }
        }
        assert!(is_refused(&evaluate(&format!(
            "{}1 > 0",
            "1 + ".repeat(8_000)
        ))));
        assert!(is_refused(&evaluate(&"1 + ".repeat(40_000))));
    });
}
