//! Commands that inspect objects and schemas.

use crate::common::{Folder, fails, prints};

const FILES: [(&str, &str); 5] = [
    (
        "schema.yaml",
        "
types:
- name: app
  map:
    fields:
    - {name: replicas, type: {scalar: numeric}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - {name: finalizers, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
",
    ),
    ("old.yaml", "{replicas: 1, labels: {a: x, b: x}, finalizers: [p]}"),
    ("new.yaml", "{replicas: 2, labels: {a: x, c: x}, finalizers: [p, q]}"),
    ("twice.yaml", "{finalizers: [p, p]}"),
    ("wrong.yaml", "{replica: 1, labels: {a: 1}}"),
];

/// Checks commands and their output. `@` is the folder.
fn check(rows: &[(&str, &str)]) {
    let folder = Folder::new(&FILES);
    for (arguments, expected) in rows {
        let printed = prints(&folder.line(arguments));
        assert_eq!(folder.shortened(&printed), *expected, "{arguments}");
    }
}

/// Checks failing commands and their messages.
fn check_error(rows: &[(&str, &str)]) {
    let folder = Folder::new(&FILES);
    for (arguments, expected) in rows {
        let (code, err) = fails(&folder.line(arguments));
        assert_eq!(code, 2, "{arguments}");
        assert_eq!(
            folder.shortened(&err),
            format!("error: {expected}\n"),
            "{arguments}"
        );
    }
}

#[test]
fn validate_lists_every_fault() {
    let validate = "validate --schema @/schema.yaml";
    check(&[
        (
            &format!("{validate} -f @/old.yaml -f @/new.yaml"),
            "@/old.yaml: valid `app`\n@/new.yaml: valid `app`\n",
        ),
        (
            &format!("{validate} -f @/twice.yaml --allow-duplicates"),
            "@/twice.yaml: valid `app`\n",
        ),
    ]);
    check_error(&[
        (
            &format!("{validate} -f @/wrong.yaml"),
            "@/wrong.yaml: .labels.a: expected string, got 1\n       @/wrong.yaml: .replica: field not declared in schema, the nearest declared are `replicas`",
        ),
        (
            &format!("{validate} -f @/twice.yaml"),
            r#"@/twice.yaml: .finalizers[="p"]: duplicate entries for one key"#,
        ),
    ]);
}

#[test]
fn merge_combines_two_objects() {
    let merge = "merge --schema @/schema.yaml --live @/old.yaml -f @/new.yaml";
    check(&[
        (
            merge,
            "finalizers:\n- p\n- q\nlabels:\n  a: x\n  b: x\n  c: x\nreplicas: 2\n",
        ),
        (
            &format!("{merge} -o json"),
            "{\n  \"finalizers\": [\n    \"p\",\n    \"q\"\n  ],\n  \"labels\": {\n    \"a\": \"x\",\n    \"b\": \"x\",\n    \"c\": \"x\"\n  },\n  \"replicas\": 2\n}\n",
        ),
    ]);
    check_error(&[(
        "merge --schema @/schema.yaml --live @/old.yaml -f @/twice.yaml",
        r#"@/twice.yaml: .finalizers[="p"]: duplicate entries for one key"#,
    )]);
}

#[test]
fn compare_lists_changed_fields() {
    let compare = "compare --schema @/schema.yaml @/old.yaml @/new.yaml";
    check(&[
        (
            compare,
            "+ .finalizers[=\"q\"]\n+ .labels.c\n~ .replicas\n- .labels.b\n",
        ),
        (
            &format!("{compare} -o yaml"),
            "added:\n  f:finalizers:\n    v:\"q\": {}\n  f:labels:\n    f:c: {}\nmodified:\n  f:replicas: {}\nremoved:\n  f:labels:\n    f:b: {}\n",
        ),
        (
            &format!("{compare} -o json"),
            "{\n  \"added\": {\n    \"f:finalizers\": {\n      \"v:\\\"q\\\"\": {}\n    },\n    \"f:labels\": {\n      \"f:c\": {}\n    }\n  },\n  \"modified\": {\n    \"f:replicas\": {}\n  },\n  \"removed\": {\n    \"f:labels\": {\n      \"f:b\": {}\n    }\n  }\n}\n",
        ),
        ("compare --schema @/schema.yaml @/old.yaml @/old.yaml", ""),
    ]);
}

#[test]
fn fieldset_prints_fieldsv1_or_paths() {
    let fieldset = "fieldset --schema @/schema.yaml -f @/old.yaml";
    check(&[
        (
            fieldset,
            "{\"f:finalizers\":{\"v:\\\"p\\\"\":{}},\"f:labels\":{\"f:a\":{},\"f:b\":{}},\"f:replicas\":{}}\n",
        ),
        (
            &format!("{fieldset} --paths"),
            ".replicas\n.finalizers[=\"p\"]\n.labels.a\n.labels.b\n",
        ),
        (
            "fieldset --schema @/schema.yaml -f @/twice.yaml --paths",
            ".finalizers[=\"p\"]\n",
        ),
    ]);
}

#[test]
fn help_explains_the_exit_codes() {
    let help = prints("--help");
    for command in [
        "apply",
        "update",
        "blame",
        "managers",
        "extract",
        "upgrade-csa",
        "strip",
        "lint",
        "migrate",
        "validate",
        "merge",
        "compare",
        "fieldset",
        "schema",
        "test",
    ] {
        assert!(
            help.lines()
                .any(|line| line.trim_start().starts_with(command)),
            "{command}"
        );
        assert!(!prints(&format!("{command} --help")).is_empty());
    }
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains(
            "Exit codes: 0 success; 1 conflicts, refused objects, findings or failed tests; 2 bad input"
        ),
        "{help}"
    );
    assert!(prints("--version").starts_with("fieldmanager "));
}
