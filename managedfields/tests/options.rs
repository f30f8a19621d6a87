//! Names of managers, and options of requests.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_managedfields::{
    RequestKind, RequestOptions, manager_name, validate_managed_fields,
};
use fieldmanager_structural::FieldPath;
use fieldmanager_value::Value;

#[test]
fn the_manager_is_the_parameter_or_the_start_of_the_user_agent() {
    let long = "a".repeat(200);
    let cases = [
        ("name", "agent/1", "name".to_owned()),
        ("", "kubectl/v1.37 (linux)", "kubectl".to_owned()),
        ("", "no slash at all", "no slash at all".to_owned()),
        ("", "", String::new()),
        ("", "bell\u{7}\u{200b}\u{a0}é/1", "bellé".to_owned()),
        ("", &long, "a".repeat(128)),
        // A character that does not fit ends the name.
        ("", &format!("{}éa", "a".repeat(127)), "a".repeat(127)),
        // The parameter is not changed.
        (&long, "agent", long.clone()),
    ];
    for (manager, agent, expected) in cases {
        assert_eq!(
            manager_name(manager, agent),
            expected,
            "{manager:?} {agent:?}"
        );
    }
}

#[test]
fn options_are_validated_by_the_kind_of_the_request() {
    use RequestKind::{Apply, Create, Patch, Update};
    let of = |manager: &str| RequestOptions::default().field_manager(manager);
    let cases: [(RequestKind, RequestOptions, &[&str]); 9] = [
        (
            Apply,
            of(""),
            &["fieldManager: Required value: is required for apply patch"],
        ),
        (Patch, of(""), &[]),
        (Create, of("ci"), &[]),
        (
            Update,
            of("é\0"),
            &[r#"fieldManager: Invalid value: "é\x00": invalid character U+0000 (at position 2)"#],
        ),
        (
            Apply,
            of(&"a".repeat(129)),
            &["fieldManager: Too long: may not be more than 128 bytes"],
        ),
        (Apply, of("ci").force(true), &[]),
        (
            Patch,
            of("a\nb")
                .force(false)
                .dry_run("x")
                .dry_run("All")
                .field_validation("y"),
            &[
                "force: Forbidden: may not be specified for non-apply patch",
                r#"fieldManager: Invalid value: "a\nb": invalid character U+000A (at position 1)"#,
                r#"dryRun: Unsupported value: ["x","All"]: supported values: "All""#,
                r#"fieldValidation: Unsupported value: "y": supported values: "", "Ignore", "Strict", "Warn""#,
            ],
        ),
        (Create, of("").dry_run("All"), &[]),
        (Update, of("").field_validation("Strict").force(true), &[]),
    ];
    for (kind, options, expected) in cases {
        let found: Vec<String> = match options.validate(kind) {
            Ok(()) => Vec::new(),
            Err(invalid) => invalid.errors.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(found, expected, "{kind:?} {options:?}");
    }
}

#[test]
fn invalid_options_are_answered_with_422() {
    let invalid = RequestOptions::default()
        .validate(RequestKind::Apply)
        .unwrap_err();
    assert_eq!(
        serde_json::to_value(invalid.status()).unwrap(),
        serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 422, "reason": "Invalid",
            "message": "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
            "details": {
                "group": "meta.k8s.io", "kind": "PatchOptions",
                "causes": [{
                    "reason": "FieldValueRequired", "field": "fieldManager",
                    "message": "Required value: is required for apply patch",
                }],
            },
        }),
    );
}

#[test]
fn entries_of_requests_are_validated() {
    let long = format!(
        r#"[{{"operation":"Apply","subresource":"{}"}}]"#,
        "s".repeat(257)
    );
    let cases: [(&str, &[&str]); 9] = [
        ("null", &[]),
        (r#"[{"operation":"Apply"}]"#, &[]),
        (
            r#"[{"manager":"a\u0007é","operation":"","fieldsType":"X"}]"#,
            &[
                "metadata.managedFields[0].operation: Required value: must not be empty",
                "metadata.managedFields[0].fieldsType: Invalid value: \"X\": must be `FieldsV1`",
                r#"metadata.managedFields[0].manager: Invalid value: "a\aé": invalid character U+0007 (at position 1)"#,
            ],
        ),
        (
            r#"[{"operation":"Update"},{"operation":"Patch","manager":"w\u200b nb\u00a0 \ufffd"}]"#,
            &[
                r#"metadata.managedFields[1].operation: Unsupported value: "Patch": supported values: "Apply", "Update""#,
                r#"metadata.managedFields[1].manager: Invalid value: "w\u200b nb\u00a0 �": invalid character U+200B (at position 1)"#,
                r#"metadata.managedFields[1].manager: Invalid value: "w\u200b nb\u00a0 �": invalid character U+00A0 (at position 7)"#,
            ],
        ),
        (
            &long,
            &["metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes"],
        ),
        (
            "[null]",
            &["metadata.managedFields[0].operation: Required value: must not be empty"],
        ),
        (
            "{}",
            &["metadata.managedFields: Invalid value: {}: expected list, got map"],
        ),
        (
            "[1]",
            &["metadata.managedFields[0]: Invalid value: 1: expected map, got integer"],
        ),
        (
            r#"[{"operation":1}]"#,
            &[
                "metadata.managedFields[0].operation: Invalid value: 1: expected string, got integer",
            ],
        ),
    ];
    let path = FieldPath::root("metadata").child("managedFields");
    for (list, expected) in cases {
        let list = Value::from_json(list).unwrap();
        let found: Vec<String> = validate_managed_fields(Some(&list), &path)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expected, "{list}");
    }
}
