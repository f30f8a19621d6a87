//! The examples of RFC 7386 and RFC 6902.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot read its own table must fail"
)]

use fieldmanager_patch::internal::apply_of_policy;
use fieldmanager_patch::{json_merge, json_patch};
use fieldmanager_value::Value;

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn merge_patches_of_rfc_7386_appendix_a() {
    for (original, patch, result) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{}"#),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (
            r#"{"a":{"b":"c"}}"#,
            r#"{"a":{"b":"d","c":null}}"#,
            r#"{"a":{"b":"d"}}"#,
        ),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, r#"null"#, r#"null"#),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#),
        (r#"[1,2]"#, r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        (
            r#"{}"#,
            r#"{"a":{"bb":{"ccc":null}}}"#,
            r#"{"a":{"bb":{}}}"#,
        ),
    ] {
        assert_eq!(
            json_merge::apply(&json(original), &json(patch))
                .unwrap()
                .to_json(),
            result,
            "{original} + {patch}"
        );
    }
}

#[test]
fn the_document_of_rfc_7386_section_3() {
    let original = json(
        r#"{"title": "Goodbye!", "author": {"givenName": "John", "familyName": "Doe"},
            "tags": ["example", "sample"], "content": "This will be unchanged"}"#,
    );
    let patch = json(
        r#"{"title": "Hello!", "phoneNumber": "+01-123-456-7890", "author": {"familyName": null},
            "tags": ["example"]}"#,
    );
    let result = json(
        r#"{"title": "Hello!", "author": {"givenName": "John"}, "tags": ["example"],
            "content": "This will be unchanged", "phoneNumber": "+01-123-456-7890"}"#,
    );
    assert_eq!(json_merge::apply(&original, &patch).unwrap(), result);
    assert_eq!(json_merge::create(&original, &result).unwrap(), patch);
}

#[test]
fn patches_of_rfc_6902_appendix_a() {
    for (name, original, patch, result) in [
        (
            "A.1",
            r#"{"foo":"bar"}"#,
            r#"[{"op":"add","path":"/baz","value":"qux"}]"#,
            r#"{"baz":"qux","foo":"bar"}"#,
        ),
        (
            "A.2",
            r#"{"foo":["bar","baz"]}"#,
            r#"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
            r#"{"foo":["bar","qux","baz"]}"#,
        ),
        (
            "A.3",
            r#"{"baz":"qux","foo":"bar"}"#,
            r#"[{"op":"remove","path":"/baz"}]"#,
            r#"{"foo":"bar"}"#,
        ),
        (
            "A.4",
            r#"{"foo":["bar","qux","baz"]}"#,
            r#"[{"op":"remove","path":"/foo/1"}]"#,
            r#"{"foo":["bar","baz"]}"#,
        ),
        (
            "A.5",
            r#"{"baz":"qux","foo":"bar"}"#,
            r#"[{"op":"replace","path":"/baz","value":"boo"}]"#,
            r#"{"baz":"boo","foo":"bar"}"#,
        ),
        (
            "A.6",
            r#"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
            r#"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
            r#"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#,
        ),
        (
            "A.7",
            r#"{"foo":["all","grass","cows","eat"]}"#,
            r#"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
            r#"{"foo":["all","cows","eat","grass"]}"#,
        ),
        (
            "A.8",
            r#"{"baz":"qux","foo":["a",2,"c"]}"#,
            r#"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
            r#"{"baz":"qux","foo":["a",2,"c"]}"#,
        ),
        (
            "A.10",
            r#"{"foo":"bar"}"#,
            r#"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
            r#"{"child":{"grandchild":{}},"foo":"bar"}"#,
        ),
        (
            "A.11",
            r#"{"foo":"bar"}"#,
            r#"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#,
            r#"{"baz":"qux","foo":"bar"}"#,
        ),
        (
            "A.14",
            r#"{"/":9,"~1":10}"#,
            r#"[{"op":"test","path":"/~01","value":10}]"#,
            r#"{"/":9,"~1":10}"#,
        ),
        (
            "A.16",
            r#"{"foo":["bar"]}"#,
            r#"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
            r#"{"foo":["bar",["abc","def"]]}"#,
        ),
    ] {
        assert_eq!(
            json_patch::apply(&json(original), &json(patch))
                .unwrap()
                .to_json(),
            result,
            "{name}"
        );
    }
    for (name, original, patch) in [
        (
            "A.9",
            r#"{"baz":"qux"}"#,
            r#"[{"op":"test","path":"/baz","value":"bar"}]"#,
        ),
        (
            "A.12",
            r#"{"foo":"bar"}"#,
            r#"[{"op":"add","path":"/baz/bat","value":"qux"}]"#,
        ),
        (
            "A.15",
            r#"{"/":9,"~1":10}"#,
            r#"[{"op":"test","path":"/~01","value":"10"}]"#,
        ),
    ] {
        let error = json_patch::apply(&json(original), &json(patch)).unwrap_err();
        assert_eq!(error.response().code, 422, "{name}: {error}");
    }
}

#[test]
fn limits_and_bad_patches() {
    let operation = json(r#"{"op":"add","path":"/a","value":1}"#);
    let many = |count: usize| Value::from(vec![operation.clone(); count]);
    assert!(json_patch::apply(&json("{}"), &many(10_000)).is_ok());
    let response = json_patch::apply(&json("{}"), &many(10_001))
        .unwrap_err()
        .response();
    assert_eq!(
        (response.code, response.reason),
        (413, "RequestEntityTooLarge")
    );
    assert_eq!(
        response.message,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    );
    for (patch, code, text) in [
        (
            "{}",
            400,
            "invalid JSON patch: expected a list of operations, each a map, got map",
        ),
        (
            "[1]",
            400,
            "invalid JSON patch: expected a list of operations, each a map, got integer",
        ),
        (
            "[{}]",
            422,
            "operation 0: unexpected kind `unknown`: expected add, remove, replace, move, copy or test",
        ),
        (
            r#"[{"op":"add"}]"#,
            422,
            "operation 0: missing `path`: expected a JSON pointer",
        ),
        (
            r#"[{"op":"add","path":1}]"#,
            422,
            "operation 0: `path` is a integer: expected a JSON pointer",
        ),
        (
            r#"[{"op":"add","path":"a"}]"#,
            422,
            "operation 0: `a` is no JSON pointer: expected it to start with `/`",
        ),
        (
            r#"[{"op":"copy","path":"/a","from":""}]"#,
            422,
            "operation 0: the path is the whole document: expected one that names a member or an item",
        ),
        (
            r#"[{"op":"remove","path":"/l/1"}]"#,
            422,
            "operation 0: `/l/1` is no item of the list: expected an index below 1",
        ),
        (
            r#"[{"op":"move","from":"/m","path":"/m/a"}]"#,
            422,
            "operation 0: doc is missing path: there is no map or list that could hold `/m/a`",
        ),
        (
            r#"[{"op":"replace","path":"","value":1}]"#,
            422,
            "operation 0: replace operation value must be object or array: got integer",
        ),
    ] {
        let error = json_patch::apply(&json(r#"{"l":[1],"m":{}}"#), &json(patch)).unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.response().code),
            (text, code)
        );
    }
}

/// A patch that copies a map into itself doubles it each time. Its size and its depth are limited.
#[test]
fn copies_are_bounded() {
    let copy = json(r#"{"op":"copy","from":"/a","path":"/a/b"}"#);
    let error =
        json_patch::apply(&json(r#"{"a":{"x":1}}"#), &Value::from(vec![copy; 1000])).unwrap_err();
    assert!(error.to_string().contains("nesting is deeper"), "{error}");
    let copy = json(r#"{"op":"copy","from":"/a","path":"/a/-"}"#);
    let error =
        json_patch::apply(&json(r#"{"a":[1]}"#), &Value::from(vec![copy; 100])).unwrap_err();
    assert!(error.to_string().contains("accumulated size"), "{error}");
}

#[test]
fn a_null_of_a_policy_is_passed_as_an_empty_map() {
    // The operations, and whether they hold: for a policy, and for a body.
    for (patch, policy, body) in [
        (
            r#"[{"op":"add","path":"/a","value":null},{"op":"remove","path":"/a"}]"#,
            "",
            "",
        ),
        (
            r#"[{"op":"add","path":"/a","value":null},{"op":"test","path":"/a/9","value":null}]"#,
            "testing value",
            "missing path",
        ),
        (
            r#"[{"op":"add","path":"/a","value":null},{"op":"test","path":"/a/9"}]"#,
            "",
            "missing path",
        ),
        (
            r#"[{"op":"add","path":"/a","value":null},{"op":"test","path":"/a/9/b","value":1}]"#,
            "missing path",
            "missing path",
        ),
        (
            r#"[{"op":"add","path":"/a","value":null},{"op":"remove","path":"/a/9"}]"#,
            "no value",
            "missing path",
        ),
        (
            r#"[{"op":"add","path":"/l/-","value":null},{"op":"copy","from":"/l/1","path":"/b"},{"op":"test","path":"/b","value":{}}]"#,
            "",
            "testing value",
        ),
        (
            r#"[{"op":"add","path":"/a"},{"op":"test","path":"/a/9"}]"#,
            "missing path",
            "missing path",
        ),
        (
            r#"[{"op":"replace","path":"","value":null}]"#,
            "must be object or array",
            "must be object or array",
        ),
        (
            r#"[{"op":"replace","path":"","value":null},{"op":"remove","path":"/a/b"}]"#,
            "missing path",
            "must be object or array",
        ),
        (
            r#"[{"op":"test","path":"/n","value":null}]"#,
            "testing value",
            "",
        ),
        (
            r#"[{"op":"test","path":"/n"},{"op":"test","path":"/missing"}]"#,
            "",
            "",
        ),
        (
            r#"[{"op":"replace","path":"/l","value":[]},{"op":"test","path":"/l","value":null}]"#,
            "",
            "testing value",
        ),
    ] {
        let (original, patch) = (json(r#"{"n":null,"l":[1]}"#), json(patch));
        for (outcome, expected) in [
            (apply_of_policy(&original, &patch), policy),
            (json_patch::apply(&original, &patch), body),
        ] {
            let fault = outcome.err().map(|error| error.to_string());
            let fault = fault.unwrap_or_default();
            assert_eq!(fault.is_empty(), expected.is_empty(), "{patch}: {fault}");
            assert!(fault.contains(expected), "{patch}: {fault}");
        }
    }
}
