//! Apply configurations and JSON patches that expressions make, as kube-apiserver makes them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use fieldmanager_cel::{
    BUDGET, Environment, EvaluationError, ExpressionInput, ExpressionType, InputType,
};
use fieldmanager_value::Value;

/// What an expression makes, or why it makes nothing.
fn made(source: &str, of: ExpressionType) -> Result<String, String> {
    let environment = Environment::new().with_input("object", InputType::Dynamic);
    let expression = environment.compile(source, &[of])?;
    let object =
        Value::from_yaml("{spec: {size: 1, big: 9007199254740993, none: null, list: [{name: a}]}}");
    let object = object.unwrap();
    let inputs = [("object", ExpressionInput::Value(&object))];
    let mut activation = environment.activate(&inputs, None, BUDGET);
    let value = activation.evaluate(&expression);
    let value = value.map_err(|error| match error {
        EvaluationError::Failed(text) => text,
        other => panic!("{other:?}"),
    })?;
    let made = match of {
        ExpressionType::Patches => value.operations(),
        _ => value.configuration(),
    };
    made.map(|made| made.to_json())
}

fn check(of: ExpressionType, rows: &[(&str, &str)]) {
    for (source, expected) in rows {
        let found = made(source, of).unwrap_or_else(|error| error);
        let found = found.split("\n |").next().unwrap();
        assert_eq!(found, *expected, "{source}");
    }
}

#[test]
fn configurations_are_objects_with_the_types_of_their_fields() {
    let rows = [
        ("Object{}", "{}"),
        (
            ".Object{spec: Object.spec{size: object.spec.size + 1}}",
            r#"{"spec":{"size":2}}"#,
        ),
        (
            "Object{?a: optional.none(), ?b: optional.of('c')}",
            r#"{"b":"c"}"#,
        ),
        ("Object{spec: {'a': 1}}", r#"{"spec":{"a":1}}"#),
        ("Object{`a-b`: 1, `in`: 2}", r#"{"a-b":1,"in":2}"#),
        ("true ? Object{a: 1} : Object{}", r#"{"a":1}"#),
        ("[Object{}][0]", "{}"),
        (
            "Object{a: object.spec.list + [Object.a{name: 'b'}]}",
            r#"{"a":[{"name":"a"},{"name":"b"}]}"#,
        ),
        (
            "Object{a: Object.a{b: 1}.b, c: has(Object{}.d), e: Object{}.?f.orValue(3)}",
            r#"{"a":1,"c":false,"e":3}"#,
        ),
        ("Object{a: Object{b: 1} == Object{b: 1}}", r#"{"a":true}"#),
        ("Object{a: optional.none()}", r#"{"a":null}"#),
        (
            "Object{spec: Object.speck{}}",
            r#"type mismatch: unexpected type name "Object.speck", expected "Object.spec", which matches field name path from root Object type"#,
        ),
        (
            "Object{a: {1: 2}}",
            "invalid return type: *dynamic.ObjectVal",
        ),
    ];
    check(ExpressionType::Configuration, &rows);
}

/// In Go, a sum is no list of values: the types in it are not checked, and its items are converted one by one.
#[test]
fn sums_of_lists_are_converted_item_by_item() {
    let wrong = r#"type mismatch: unexpected type name "Object.x", expected "Object.a", which matches field name path from root Object type"#;
    let invalid = "error applying patch: failed to convert patch object to typed object: proto: invalid type: ";
    let (list, null) = (
        format!("{invalid}[]ref.Val"),
        format!("{invalid}structpb.NullValue"),
    );
    let rows = [
        ("[Object.x{b: 1}]", wrong),
        ("[Object.x{b: 1}] + []", wrong),
        ("[] + [Object.x{b: 1}]", wrong),
        (
            "[Object.x{b: 1}] + [Object.x{c: 2}]",
            r#"{"a":[{"b":1},{"c":2}]}"#,
        ),
        ("[1] + [2] + [3]", r#"{"a":[1,2,3]}"#),
        ("[[1]] + [[2]]", r#"{"a":[[1],[2]]}"#),
        ("{'x': [1] + [2]}", r#"{"a":{"x":[1,2]}}"#),
        ("{'x': [[1]] + [[2]]}", &list),
        ("{'x': [dyn(null)] + [1]}", &null),
        (
            "[object.spec]",
            r#"{"a":[{"big":9007199254740993,"list":[{"name":"a"}],"none":null,"size":1}]}"#,
        ),
        ("[object.spec] + [object.spec]", &null),
    ];
    for (source, expected) in rows {
        let source = format!("Object{{a: {source}}}");
        check(ExpressionType::Configuration, &[(&source, expected)]);
    }
}

#[test]
fn other_types_are_refused() {
    let rows = [
        (
            "Object.spec{}",
            "must evaluate to Object but got Object.spec",
        ),
        ("1", "must evaluate to Object but got int"),
        ("object", "must evaluate to Object but got dyn"),
        (
            "Foo{}",
            "compilation failed: ERROR: <input>:1:4: undeclared reference to 'Foo' (in container '')",
        ),
        (
            "Object{?spec: 1}",
            "compilation failed: ERROR: <input>:1:15: expected type 'optional_type(int)' but found 'int'",
        ),
        (
            "Object{a: Object{} == 1}",
            "compilation failed: ERROR: <input>:1:20: found no matching overload for '_==_' applied to '(Object, int)'",
        ),
    ];
    check(ExpressionType::Configuration, &rows);

    let rows = [
        ("[]", "must evaluate to list(JSONPatch) but got list(dyn)"),
        (
            "JSONPatch{op: 'a'}",
            "must evaluate to list(JSONPatch) but got JSONPatch",
        ),
        (
            "[JSONPatch{op: 1}]",
            "compilation failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'",
        ),
        (
            "[JSONPatch{foo: 1}]",
            "compilation failed: ERROR: <input>:1:15: expected type of field 'foo' is '' but provided type is 'int'",
        ),
        (
            "[JSONPatch{op: dyn(1)}]",
            "expression '[JSONPatch{op: dyn(1)}]' resulted in error: unexpected type int64 for JSONPatchType 'op' field",
        ),
    ];
    check(ExpressionType::Patches, &rows);
}

#[test]
fn values_of_patches_are_json() {
    const NO_JSON: &str =
        "JSONPath valueExpression evaluated to a type that could not marshal to JSON: ";
    let rows = [
        ("object.spec.big", r#""9007199254740993""#),
        ("9007199254740991", "9007199254740991"),
        ("18446744073709551615u", r#""18446744073709551615""#),
        ("1.0", "1"),
        ("null", "null"),
        ("b'abc'", r#""YWJj""#),
        ("duration('1.5s')", r#""1.5s""#),
        (
            "timestamp('2020-01-01T00:00:00.5Z')",
            r#""2020-01-01T00:00:00.5Z""#,
        ),
        ("{'a': [{'b': [1]}]}", r#"{"a":[{"b":[1]}]}"#),
        (
            "Object.x{a: 9007199254740993, b: type(1)}",
            r#"{"a":9007199254740992,"b":"int"}"#,
        ),
        ("[optional.of(1)]", "[1]"),
        ("jsonpatch.escapeKey('a/b~c')", r#""a~1b~0c""#),
        ("type(1)", "type conversion not supported for 'type'"),
        (
            "quantity('1')",
            "type conversion error from 'Quantity' to '*structpb.Value'",
        ),
        ("{1: 2}", "unsupported type conversion from 'int' to string"),
        ("Object{a: null}", "proto: invalid type: structpb.NullValue"),
        ("Object{a: [[1]]}", "proto: invalid type: []ref.Val"),
        ("Object{a: [[1]] + [[2]]}", r#"{"a":[[1],[2]]}"#),
        (
            "[{'a': null}] + [{'a': null}]",
            r#"[{"a":null},{"a":null}]"#,
        ),
        (
            "[Object.x{a: null, b: [[null]], c: type(1)}] + [Object.x{}]",
            r#"[{"a":null,"b":[[null]],"c":"int"},{}]"#,
        ),
        ("[dyn(optional.none())] + [type(1)]", r#"[null,"int"]"#),
        (
            "[quantity('1.5Gi')] + [quantity('1')]",
            "unsupported conversion to ref.Val: (*resource.Quantity)1536Mi",
        ),
        (
            "[ip('::1')] + [ip('::1')]",
            "unsupported conversion to ref.Val: (netip.Addr)::1",
        ),
        (
            "[[quantity('1')]] + [[quantity('1')]]",
            "type conversion error from 'Quantity' to '*structpb.Value'",
        ),
        (
            "[[Object.x{a: null}]] + [[Object.x{}]]",
            "proto: invalid type: structpb.NullValue",
        ),
        (
            "[Object.x{a: [[Object.x{a: null}]] + [[]]}] + [Object.x{}]",
            r#"[{"a":[[{"a":null}],[]]},{}]"#,
        ),
        (
            "[Object.x{a: {1: 2}}] + [Object.x{}]",
            r#"fail to convert field "a": map key '\x01' is of type types.Int, not string"#,
        ),
        (
            "Object{a: {1: 1}}",
            r#"fail to convert field "a": map key '\x01' is of type types.Int, not string"#,
        ),
        (
            "JSONPatch{}",
            "cannot convert to native type: *structpb.Value",
        ),
    ];

    for (source, expected) in rows {
        let patch = format!("[JSONPatch{{op: 'add', path: '/a', value: {source}}}]");
        let found = made(&patch, ExpressionType::Patches);
        let wanted = if found.is_err() {
            Err(format!("{NO_JSON}{expected}"))
        } else {
            Ok(format!(
                r#"[{{"op":"add","path":"/a","value":{expected}}}]"#
            ))
        };
        assert_eq!(found, wanted, "{source}");
    }
}
