//! Expressions about named inputs.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::cell::RefCell;

use fieldmanager_cel::{
    AccessDecision, AccessQuestion, Activation, Authorizer, BUDGET, Environment, EvaluationError,
    ExpressionInput, ExpressionType, InputType,
};
use fieldmanager_structural::Structural;
use fieldmanager_value::Value;

fn environment() -> Environment {
    let request = Value::from_yaml(
        "
title: kubernetes.AdmissionRequest
type: object
properties:
  kind: {type: object, title: kubernetes.GroupVersionKind, properties: {kind: {type: string}}}
  namespace: {type: string}
  options: {x-kubernetes-int-or-string: true}
  userInfo: {type: object, title: kubernetes.UserInfo, properties: {groups: {type: array, items: {type: string}}}}
",
    );
    let request = Structural::from_value(&request.unwrap()).unwrap();
    Environment::new()
        .with_input("object", InputType::Dynamic)
        .with_input("params", InputType::Dynamic)
        .with_input(
            "request",
            InputType::Typed("kubernetes.AdmissionRequest".into(), request),
        )
        .with_input("authorizer", InputType::Authorizer)
        .with_input("authorizer.requestResource", InputType::ResourceCheck)
        .with_input("variables", InputType::Variables)
}

/// Answers with the verb of the question, and keeps the questions.
#[derive(Default)]
struct Known(RefCell<Vec<AccessQuestion>>);

impl Authorizer for Known {
    fn decide(&self, question: &AccessQuestion) -> Option<AccessDecision> {
        self.0.borrow_mut().push(question.clone());
        (question.verb != "unknown").then(|| AccessDecision {
            allowed: question.verb == "get",
            reason: "so it is".to_owned(),
            error: String::new(),
        })
    }
}

/// The value of an expression, and what it cost.
fn evaluate(environment: &Environment, source: &str) -> (Result<String, EvaluationError>, u64) {
    let expected = [ExpressionType::Bool, ExpressionType::String];
    let expression = environment.compile(source, &expected).unwrap();
    let object = Value::from_yaml(
        "{metadata: {name: a, labels: {a.b/c: x}, annotations: null}, list: [1, {b: 2.5}], a-b: 1}",
    )
    .unwrap();
    let request = Value::from_yaml("{kind: {kind: Pod}, namespace: team, userInfo: {}}").unwrap();
    let authorizer = Known::default();
    let resource = AccessQuestion {
        resource: "pods".to_owned(),
        ..AccessQuestion::default()
    };
    let inputs = [
        ("object", ExpressionInput::Value(&object)),
        ("request", ExpressionInput::Value(&request)),
        (
            "authorizer",
            ExpressionInput::Authorizer(AccessQuestion::default()),
        ),
        (
            "authorizer.requestResource",
            ExpressionInput::ResourceCheck(resource),
        ),
    ];
    let mut activation: Activation<'_> = environment.activate(&inputs, Some(&authorizer), BUDGET);
    let value = activation.evaluate(&expression);
    let cost = BUDGET - activation.budget();
    let value = value.map(|value| match value.as_bool() {
        Some(flag) => flag.to_string(),
        None => value.as_str().unwrap().to_owned(),
    });
    (value, cost)
}

#[test]
fn values_are_read_as_they_are() {
    let environment = environment();
    for (source, expected) in [
        ("object.metadata.labels['a.b/c'] == 'x'", "true"),
        ("object['a-b'] == 1", "true"),
        ("has(object.metadata.annotations)", "true"),
        ("object.metadata.annotations == null", "true"),
        ("has(object.metadata.missing)", "false"),
        ("object.list[1].b == 2.5", "true"),
        ("object.list.exists(item, item == 1)", "true"),
        (
            "object.metadata.all(key, key in ['name', 'labels', 'annotations'])",
            "true",
        ),
        ("request.namespace", "team"),
        (
            "request.kind.kind == 'Pod' && !has(request.userInfo.groups)",
            "true",
        ),
    ] {
        assert_eq!(
            evaluate(&environment, source).0.as_deref(),
            Ok(expected),
            "{source}"
        );
    }
}

#[test]
fn refusals_have_the_words_of_kube_apiserver() {
    let mut environment = environment();
    environment.add_variable("size", "1 + 1").unwrap();
    environment.add_variable("other", "object.a").unwrap();
    let refused = |source: &str, expected: &[ExpressionType]| {
        let text = environment.compile(source, expected).unwrap_err();
        text.lines().next().unwrap().to_owned()
    };

    let bool = &[ExpressionType::Bool];
    for (source, text) in [
        ("object.a", "must evaluate to bool but got dyn"),
        ("[1]", "must evaluate to bool but got list(int)"),
        (
            "request.kind == 'Pod'",
            "compilation failed: ERROR: <input>:1:14: found no matching overload for '_==_' applied to '(kubernetes.GroupVersionKind, string)'",
        ),
        (
            "request.missing",
            "compilation failed: ERROR: <input>:1:8: undefined field 'missing'",
        ),
        (
            "variables.missing",
            "compilation failed: ERROR: <input>:1:10: undefined field 'missing'",
        ),
        (
            "variables.size == 'a'",
            "compilation failed: ERROR: <input>:1:16: found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            "missing",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'missing' (in container '')",
        ),
        (
            "variables",
            "must evaluate to bool but got kubernetes.variables",
        ),
        (
            "object.",
            "compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'",
        ),
        (
            "authorizer",
            "must evaluate to bool but got kubernetes.authorization.Authorizer",
        ),
    ] {
        assert_eq!(refused(source, bool), text, "{source}");
    }
    let texts = &[ExpressionType::String, ExpressionType::Null];
    assert_eq!(
        refused("1", texts),
        "must evaluate to one of [string null_type] but got int"
    );
    assert!(environment.compile("variables.other == 'a'", bool).is_ok());
}

#[test]
fn variables_are_evaluated_once() {
    let mut environment = environment();
    let plain = evaluate(&environment, "object.list.size() == 2").1;
    environment.add_variable("n", "object.list.size()").unwrap();
    environment
        .add_variable("twice", "variables.n * 2")
        .unwrap();
    environment
        .add_variable("broken", "object.missing")
        .unwrap();
    let refused = environment.add_variable("wrong", "1 + 'a'");
    assert!(
        refused
            .unwrap_err()
            .starts_with("compilation failed: ERROR: <input>:1:3: found no")
    );

    // The selection of a variable costs 2, in place of the 3 of what it stands for.
    assert_eq!(evaluate(&environment, "variables.n == 2").1, plain + 2);
    let once = evaluate(&environment, "variables.n == 2 && variables.n == 2");
    assert_eq!(once, (Ok("true".to_owned()), plain + 2 + 3));
    assert_eq!(
        evaluate(&environment, "variables.twice == 4").0.as_deref(),
        Ok("true")
    );
    assert_eq!(
        evaluate(&environment, "variables.broken == 4 || true")
            .0
            .as_deref(),
        Ok("true")
    );
    assert_eq!(
        evaluate(&environment, "variables.broken == 4").0,
        Err(EvaluationError::Failed(
            "expression 'variables.broken == 4' resulted in error: composited variable \"broken\" fails to \
             evaluate: no such key: missing"
                .to_owned()
        ))
    );
    let wrong = evaluate(&environment, "variables.wrong == 4")
        .0
        .unwrap_err();
    let EvaluationError::Failed(text) = wrong else {
        panic!("{wrong:?}");
    };
    assert!(
        text.contains("composited variable \"wrong\" fails to compile: compilation failed: ERROR")
    );
}

#[test]
fn authorizers_answer() {
    let environment = environment();
    for (source, expected) in [
        (
            "authorizer.group('').resource('pods').check('get').allowed()",
            "true",
        ),
        (
            "authorizer.path('/healthz').check('post').allowed()",
            "false",
        ),
        (
            "authorizer.requestResource.name('a').check('get').reason()",
            "so it is",
        ),
        ("authorizer.requestResource.check('get').errored()", "false"),
        (
            "authorizer.serviceAccount('a', 'b').group('g').resource('r').namespace('n').check('get').error()",
            "",
        ),
    ] {
        assert_eq!(
            evaluate(&environment, source).0.as_deref(),
            Ok(expected),
            "{source}"
        );
    }
    let check = "authorizer.path('/a').check('get').allowed()";
    assert_eq!(evaluate(&environment, check).1, 350_003);
    let three = [check; 3].join(" && ");
    assert_eq!(
        evaluate(&environment, &three).0,
        Err(EvaluationError::Failed(format!(
            "expression '{three}' resulted in error: operation cancelled: actual cost limit exceeded"
        )))
    );
    let undecided = "authorizer.path('/a').check('unknown').allowed() || true";
    assert_eq!(
        evaluate(&environment, undecided).0,
        Err(EvaluationError::Undecided)
    );
    let empty = evaluate(&environment, "authorizer.path(' ').check('get').allowed()").0;
    assert_eq!(
        empty,
        Err(EvaluationError::Failed(
            "expression 'authorizer.path(' ').check('get').allowed()' resulted in error: path must not be empty"
                .to_owned()
        ))
    );
}

#[test]
fn a_budget_is_for_all_expressions() {
    let environment = environment();
    let expression = environment
        .compile("[1, 2, 3].all(item, item > 0)", &[ExpressionType::Bool])
        .unwrap();
    let mut activation = environment.activate(&[], None, 20);
    assert!(activation.evaluate(&expression).is_ok());
    let left = activation.budget();
    assert!(left < 20);
    assert_eq!(
        activation.evaluate(&expression).unwrap_err(),
        EvaluationError::OutOfBudget
    );
}

/// Values, errors and costs are those of cel-go.
#[test]
fn values_of_any_type_are_those_of_cel_go() {
    let environment = environment();
    let object = Value::from_yaml(
        "{metadata: {name: a, labels: {a.b/c: x}, annotations: null}, list: [1, {b: 2.5}], a-b: 1}",
    )
    .unwrap();
    let request = Value::from_yaml("{kind: {kind: Pod}, options: {kind: CreateOptions}}").unwrap();
    let inputs = [
        ("object", ExpressionInput::Value(&object)),
        ("request", ExpressionInput::Value(&request)),
    ];

    for (source, expected, cost) in [
        ("object.missing.sort()", "no such key: missing", 3),
        ("object.missing.lastIndexOf('b')", "no such key: missing", 2),
        (
            "object.list.sort()",
            "list elements must have the same type",
            3,
        ),
        (
            "[dyn(object.metadata), dyn(1)].sort()",
            "list elements must be comparable",
            14,
        ),
        (
            "object.metadata.name.reverse()",
            "no such overload: reverse(string)",
            15,
        ),
        ("dyn(object.metadata) == 1", "false", 4),
        ("dyn(request.kind) == 1", "no such overload", 4),
        ("dyn(request.kind) != 1", "true", 4),
        ("dyn(1) in dyn(object.metadata)", "false", 4),
        (
            "dyn(1) in dyn(request.kind)",
            "unsupported map key type: types.Int",
            4,
        ),
        ("dyn(object.metadata)[0]", "no such key: 0", 5),
        (
            "object.metadata[object.list]",
            "invalid qualifier type: *types.baseList",
            4,
        ),
        ("dyn(b'a') in [dyn(object.metadata), dyn(1)]", "false", 15),
        ("dyn(1) && object.missing", "no such overload", 2),
        ("dyn(1) && dyn(false)", "false", 0),
        ("object.list.join()", "no such overload: join(list)", 3),
        ("[dyn('a'), dyn(null)].join()", "join: invalid input: 0", 1),
        ("['a'].join(object.missing)", "no such key: missing", 3),
        (
            "cidr('10.0.0.0/8').containsIP(object.missing)",
            "no such key: missing",
            4,
        ),
        (
            "dyn(timestamp('2024-02-29T12:30:45Z')).size()",
            "no such overload",
            1,
        ),
        (
            "object.metadata.annotations.matches(object.metadata.name)",
            "no such overload: matches",
            7,
        ),
        ("'%.2f'.format([-2.0 * 0.0])", "\"0.00\"", 12),
        (
            "timestamp('2024-02-29T12:30:45Z').getHours('::1')",
            "strconv.Atoi: parsing \"\": invalid syntax",
            1,
        ),
        (
            "timestamp('2024-02-29T12:30:45Z').getHours('-02:30')",
            "10",
            1,
        ),
        (
            "timestamp('2024-02-29T12:30:45Z').getHours('/a/b')",
            "time: invalid location name",
            1,
        ),
        (
            "ip(dyn(cidr('10.0.0.0/8')))",
            "no such overload: ip(net.CIDR)",
            3,
        ),
        ("cidr('10.0.0.0/8').ip()", "ip(10.0.0.0)", 2),
        // The cost of such a call cannot be computed, which ends the evaluation.
        (
            "dyn(1).distinct() == [] || true",
            "internal error: interface conversion: types.Int is not traits.Lister: missing method Contains",
            0,
        ),
        (
            "dyn(true).distinct() == []",
            "internal error: interface conversion: types.Bool is not traits.Lister: missing method Add",
            0,
        ),
        // Functions of cel-go look into optional values for their cost.
        (
            "dyn(optional.of('twenty characters ..')) + 'a'",
            "no such overload: _+_",
            5,
        ),
        (
            "dyn(optional.of('twenty characters ..')).contains('a')",
            "no such overload",
            4,
        ),
        (
            "'a' < dyn(optional.of('twenty characters ..'))",
            "no such overload",
            3,
        ),
        (".object.metadata.name", "\"a\"", 3),
        // Items that cannot be compared make no lists different, and sums of lists an error.
        ("[quantity('1')] == [dyn('x')]", "true", 12),
        ("{'a': dyn(quantity('1'))} == {'a': dyn('x')}", "true", 33),
        (
            "[dyn(quantity('1'))] + [dyn(1)] == [dyn('x'), dyn(1)]",
            "no such overload",
            14,
        ),
        (
            "[dyn(quantity('1'))] + [dyn(1)] == [dyn('x'), dyn(2)]",
            "false",
            14,
        ),
        ("[dyn(request.kind)] == [dyn(1)]", "true", 14),
        // The options of a request are a map, and no struct.
        ("dyn(request.options) == 1", "false", 4),
        ("[request.options, dyn(1)] == [dyn(2), dyn(1)]", "false", 13),
        // A quantity with a fraction is no integer, and nothing is compared with one that was computed.
        ("quantity('2.0').isInteger()", "false", 2),
        ("quantity('1000m').isInteger()", "false", 2),
        ("quantity('0.0').add(quantity('0')).isInteger()", "false", 4),
        (
            "quantity('2') == quantity('1').add(1)",
            "no such overload",
            4,
        ),
        ("quantity('1').add(1) == quantity('2')", "true", 4),
        ("quantity('0').add(1000)", "quantity(1e3)", 2),
        (
            "[1][dyn(quantity('1').add(1))]",
            "invalid qualifier type: *cel.Quantity",
            5,
        ),
        ("dyn(variables) == dyn(variables)", "true", 4),
        (
            "sets.contains([dyn(object)], [dyn(ip('::1'))])",
            "false",
            26,
        ),
        ("[dyn(ip('::1')), dyn(1)].distinct() == []", "false", 31),
        (
            "ip(dyn(object.?metadata.?name))",
            "no such overload: ip(optional_type)",
            5,
        ),
        ("dyn(variables)[0]", "no such overload", 4),
        ("object.list[2.5]", "unsupported index value 2.5 in list", 3),
        (
            "[object.metadata.name == string(timestamp('2024-02-29T2:30:45Z'))]",
            "[false]",
            14,
        ),
        ("{1u: object.metadata.name}", "{1u: \"a\"}", 33),
        ("{1u: object.metadata.name}.map(key, key + 1u)", "[2u]", 48),
        ("{1: object.metadata.name}[dyn(1u)]", "\"a\"", 35),
        (
            "[[1, int(object.missing)].sort()]",
            "internal error: interface conversion: *types.Err is not traits.Lister: missing method Add",
            13,
        ),
        (
            "object.metadata.name.all(i, e, true)",
            "unsupported comprehension range type: types.String",
            3,
        ),
    ] {
        let expression = environment.compile(source, &[ExpressionType::Any]).unwrap();
        let mut activation = environment.activate(&inputs, None, BUDGET);
        let found = match activation.evaluate(&expression) {
            Ok(value) => value.written(),
            Err(EvaluationError::Failed(text)) => text
                .split_once(" resulted in error: ")
                .unwrap()
                .1
                .to_owned(),
            Err(other) => format!("{other:?}"),
        };
        let spent = BUDGET - activation.budget();
        assert_eq!((found.as_str(), spent), (expected, cost), "{source}");
    }
}

#[test]
fn wrong_constants_are_refused_with_the_words_of_cel_go() {
    let environment = environment();
    for (source, expected) in [
        (
            "bool(dyn(timestamp('2024-02-29T12:30:45Z')))",
            "program instantiation failed: no such overload: bool(google.protobuf.Timestamp)",
        ),
        (
            "int(string(timestamp('2024-02-29T12:30:45Z')))",
            "program instantiation failed: type conversion error from 'string' to 'int'",
        ),
        (
            "int(dyn([1]))",
            "program instantiation failed: no such overload: int(list)",
        ),
        (
            "double(dyn({1: 2}))",
            "program instantiation failed: no such overload: double(map)",
        ),
        (
            "duration(dyn(-1))",
            "program instantiation failed: no such overload: duration(int)",
        ),
        (
            "'a'.find('(')",
            "program instantiation failed: error parsing regexp: missing closing ): `(`",
        ),
        (
            "dyn(object)[dyn(duration('1h'))]",
            "program instantiation failed: invalid qualifier type: types.Duration",
        ),
        (
            "timestamp",
            "program instantiation failed: reference to undefined type: timestamp",
        ),
        (
            "timestamp + duration",
            "compilation failed: ERROR: <input>:1:11: found no matching overload for '_+_' applied to \
             '(type(timestamp), type(duration))'",
        ),
        // The second fault of the same place is that of the format.
        (
            "[object, '%s|%s'.format([1])]",
            "compilation failed: ERROR: <input>:1:24: expected type 'dyn' but found 'string'",
        ),
        (
            "-9223372036854775809",
            "compilation failed: ERROR: <input>:1:1: invalid int literal",
        ),
        (
            "1 + -1e400",
            "compilation failed: ERROR: <input>:1:5: invalid double literal",
        ),
        (
            "'\\ud800'",
            "compilation failed: ERROR: <input>:1:1: invalid unicode code point",
        ),
        (
            "b'\\u00e9'",
            "compilation failed: ERROR: <input>:1:1: unable to unescape string",
        ),
    ] {
        // The other lines show the place in the source.
        let refused = environment.compile(source, &[ExpressionType::Any]);
        let text = refused.unwrap_err();
        assert_eq!(text.lines().next(), Some(expected), "{source}");
    }
}

#[test]
fn lists_with_nan_are_sorted_without_a_fault() {
    let environment = environment();
    let evaluated = |source: &str| {
        let expression = environment.compile(source, &[ExpressionType::Any]).unwrap();
        let mut activation = environment.activate(&[], None, BUDGET);
        activation.evaluate(&expression).unwrap().written()
    };
    // As in Go, a NaN in a short list stays where it is, and nothing passes it.
    let short = evaluated("[3.0, 2.0, 0.0 / 0.0, 1.0, 0.0].sort()");
    assert_eq!(
        short,
        "[double(2), double(3), double(NaN), double(0), double(1)]"
    );
    for count in [13, 64, 300] {
        let list = format!(
            "lists.range({count}).map(i, i % 3 == 0 ? 0.0 / 0.0 : double(i * 7919 % 641)).sort()"
        );
        assert_eq!(evaluated(&format!("{list}.size()")), count.to_string());
        assert_eq!(evaluated(&format!("{list}[{count} - 1]")), "double(NaN)");
    }
}
