//! `apply` and `update`: the README example with two teams, and the remaining behaviour.

use crate::common::{self, Folder, Run, fails, line, prints, run_with};

const SHOP: &str =
    "apply --manager shop --schema examples/deployment/schema.yaml -f examples/deployment/web.yaml";
const LOAD: &str = "apply --manager load --schema examples/deployment/schema.yaml -f examples/deployment/scale.yaml";

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Applies the second team's configuration to the result of the first.
fn load(more: &str) -> Run {
    run_with(&words(&format!("{LOAD} --live - {more}")), &prints(SHOP))
}

const LIVE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app: web
  managedFields:
  - apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:labels:
          f:app: {}
      f:spec:
        f:replicas: {}
        f:selector: {}
        f:template:
          f:metadata:
            f:labels:
              f:app: {}
          f:spec:
            f:containers:
              k:{\"name\":\"nginx\"}:
                .: {}
                f:image: {}
                f:name: {}
                f:ports:
                  k:{\"containerPort\":80,\"protocol\":\"TCP\"}:
                    .: {}
                    f:containerPort: {}
    manager: shop
    operation: Apply
  name: web
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - image: nginx:1.29
        name: nginx
        ports:
        - containerPort: 80
";

const CONFLICT: &str = "\
error: apply failed with 1 conflict: other managers own these fields

 FIELD           OWNER         LIVE VALUE  WANTED VALUE
 .spec.replicas  shop (Apply)  3           10

Three ways to resolve them:
- take them: repeat with --force; the owners above lose these fields
- leave them: remove these fields from the configuration; they keep their live values
- share them: set these fields to their live values in the configuration; you become a co-owner
";

#[test]
fn first_apply_creates_the_object_and_owns_its_fields() {
    assert_eq!(prints(SHOP), LIVE);
}

#[test]
fn conflict_lists_owners_and_resolutions() {
    assert_eq!(
        load(""),
        Run {
            code: 1,
            out: String::new(),
            err: CONFLICT.into()
        }
    );
}

#[test]
fn force_takes_ownership() {
    let forced = load("--force");
    assert_eq!((forced.code, forced.err.as_str()), (0, ""));
    let managed = "\
  - apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:spec:
        f:replicas: {}
        f:template:
          f:spec:
            f:containers:
              k:{\"name\":\"exporter\"}:
                .: {}
                f:image: {}
                f:name: {}
                f:ports:
                  k:{\"containerPort\":9113,\"protocol\":\"TCP\"}:
                    .: {}
                    f:containerPort: {}
                    f:name: {}
    manager: load
    operation: Apply
";
    assert!(forced.out.contains(managed), "{}", forced.out);
    assert!(forced.out.contains("  replicas: 10\n"), "{}", forced.out);
    let shop = forced.out.split("manager: load").nth(1).unwrap_or_default();
    assert!(
        shop.contains("f:selector: {}") && !shop.contains("f:replicas"),
        "{}",
        forced.out
    );
    // Now the first team has the conflict.
    let error = run_with(&words(&format!("{SHOP} --live -")), &forced.out);
    assert_eq!(error.code, 1);
    assert!(
        error
            .err
            .contains(" .spec.replicas  load (Apply)  10          3\n"),
        "{}",
        error.err
    );
    // kubectl calls the option `--force-conflicts`.
    assert_eq!(load("--force-conflicts"), forced);
}

#[test]
fn omitted_field_stays_with_its_owner() {
    let folder = Folder::new(&[(
        "config.yaml",
        "{apiVersion: apps/v1, kind: Deployment, spec: {paused: true}}",
    )]);
    let arguments = folder.line(
        "apply --field-manager load --schema examples/deployment/schema.yaml --live - -f @/config.yaml -o json",
    );
    let run = run_with(&words(&arguments), &prints(SHOP));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(
        run.out.contains("\"paused\": true,\n    \"replicas\": 3,"),
        "{}",
        run.out
    );
}

#[test]
fn repeated_apply_changes_nothing() {
    let again = run_with(&words(&format!("{SHOP} --live -")), LIVE);
    assert_eq!(
        again,
        Run {
            code: 0,
            out: LIVE.into(),
            err: String::new()
        }
    );
}

#[test]
fn configuration_is_read_from_standard_input() {
    let arguments = "apply --manager a --schema examples/deployment/schema.yaml -f -";
    let config =
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1}}";
    let run = run_with(&words(arguments), config);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(
        run.out.ends_with("  name: web\nspec:\n  replicas: 1\n"),
        "{}",
        run.out
    );
    let run = run_with(&words(arguments), "spec: [");
    assert_eq!(
        run,
        Run {
            code: 2,
            out: String::new(),
            err: "error: standard input: not valid YAML at line 1 column 8: did not find expected node content while parsing a flow node\n"
                .into()
        }
    );
}

const SMALL: [(&str, &str); 5] = [
    (
        "schema.yaml",
        "types: [{name: app, map: {fields: [{name: a, type: {scalar: numeric}}, {name: metadata, type: {namedType: app}}, {name: b, type: {scalar: numeric}}]}}]",
    ),
    ("one.yaml", "{a: 1}"),
    ("two.yaml", "{a: 2, b: 2}"),
    ("three.yaml", "{a: 1, b: 2}"),
    (
        "live.yaml",
        "{a: 1, metadata: {managedFields: [{manager: m, operation: Apply, apiVersion: v1, time: '2026-01-31T12:00:00Z', fieldsType: FieldsV1, fieldsV1: {f:a: {}}}]}}",
    ),
];

#[test]
fn json_output_has_the_time_of_the_request() {
    let folder = Folder::new(&SMALL);
    let applied = "--manager m --schema @/schema.yaml --type app -f @/one.yaml --time 2026-01-31T13:00:00+01:00 -o json";
    assert_eq!(
        prints(&folder.line(&format!("apply {applied}"))),
        r#"{
  "a": 1,
  "metadata": {
    "managedFields": [
      {
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
          "f:a": {}
        },
        "manager": "m",
        "operation": "Apply",
        "time": "2026-01-31T12:00:00Z"
      }
    ]
  }
}
"#
    );
}

#[test]
fn update_owns_the_fields_it_changes() {
    let folder = Folder::new(&SMALL);
    let update = "update --manager m --schema @/schema.yaml --live @/live.yaml -f @/two.yaml";
    assert_eq!(
        prints(&folder.line(update)),
        "\
a: 2
b: 2
metadata:
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:a: {}
      f:b: {}
    manager: m
    operation: Update
"
    );
    // One manager can be an applier of some fields and an updater of others.
    let update = update.replace("two", "three");
    assert_eq!(
        prints(&folder.line(&update)),
        "\
a: 1
b: 2
metadata:
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:a: {}
    manager: m
    operation: Apply
    time: \"2026-01-31T12:00:00Z\"
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:b: {}
    manager: m
    operation: Update
"
    );
}

/// Checks commands and the ends of their error messages. `@` is the folder.
fn check_error(rows: &[(&str, &str)]) {
    let folder = Folder::new(
        &[
            &SMALL[..],
            &[
                ("bad.yaml", "a: 1\nb: [\n"),
                ("twice.yaml", "a: 1\na: 2\n"),
                ("several.yaml", "a: 1\n---\na: 2\n"),
                ("list.yaml", "[]"),
                ("undeclared.yaml", "{aa: 1, metadat: {}}"),
                ("wrong.yaml", "{a: x, b: {}}"),
                ("managed.yaml", "{a: 1, metadata: {managedFields: [{manager: m}]}}"),
                ("operation.yaml", "{metadata: {managedFields: [{manager: m, operation: Change}]}}"),
                ("version.yaml", "{metadata: {managedFields: [{manager: m, operation: Apply}]}}"),
                ("type.yaml", "{metadata: {managedFields: [{manager: m, operation: Apply, apiVersion: v1}]}}"),
                (
                    "fields.yaml",
                    "{metadata: {managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {a: {}}}]}}",
                ),
                (
                    "time.yaml",
                    "{metadata: {managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, time: now}]}}",
                ),
                ("nolist.yaml", "{metadata: {managedFields: m}}"),
                ("schema-bad.yaml", "types: [{name: app, scalar: text}, {name: b, map: {elementType: {namedType: ap}}}]"),
                ("schema-two.yaml", "types: [{name: app, scalar: string}, {name: apple, scalar: string}]"),
            ],
        ]
        .concat(),
    );
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
fn bad_input_is_reported_with_file_and_path() {
    let apply = "apply --manager m --schema @/schema.yaml";
    check_error(&[
        (
            &format!("{apply} -f @/none.yaml"),
            "@/none.yaml: cannot be read: No such file or directory (os error 2)",
        ),
        (
            &format!("{apply} -f @/bad.yaml"),
            "@/bad.yaml: not valid YAML at line 3 column 1: did not find expected node content while parsing a flow node",
        ),
        (
            &format!("{apply} -f @/twice.yaml"),
            "@/twice.yaml: not valid YAML at line 2 column 1: duplicate key `a`",
        ),
        (
            &format!("{apply} -f @/several.yaml"),
            "@/several.yaml: expected one document, found 2",
        ),
        (
            &format!("{apply} -f @/list.yaml"),
            "@/list.yaml: expected an object, got list",
        ),
        (
            &format!("{apply} -f @/undeclared.yaml"),
            "@/undeclared.yaml: .aa: field not declared in schema, the nearest declared are `a`\n       @/undeclared.yaml: .metadat: field not declared in schema, the nearest declared are `metadata`",
        ),
        (
            &format!("{apply} -f @/wrong.yaml"),
            "@/wrong.yaml: .a: expected numeric, got \"x\"\n       @/wrong.yaml: .b: expected numeric, got map",
        ),
        (
            &format!("{apply} -f @/managed.yaml"),
            "@/managed.yaml: metadata.managedFields must be nil in a configuration: `fieldmanager strip` removes it",
        ),
        (
            &format!("{apply} -f @/one.yaml --type ap"),
            "@/schema.yaml: there is no type `ap`: similar are app",
        ),
        (
            &format!("{apply} -f @/one.yaml --type zzz"),
            "@/schema.yaml: there is no type `zzz`: `schema types` lists the known types",
        ),
        (
            "apply --manager m --schema @/none.yaml -f @/one.yaml",
            "@/none.yaml: cannot be read: No such file or directory (os error 2)",
        ),
        (
            "apply --manager m --schema @/schema-bad.yaml -f @/one.yaml",
            r#"@/schema-bad.yaml: type `app`: .types[name="app"].scalar: unknown scalar `text`, accepted are numeric, string, boolean and untyped"#,
        ),
        (
            "apply --manager m --schema @/schema-two.yaml -f @/one.yaml",
            "@/one.yaml: the object has no apiVersion and kind: name its type with --type (`schema types` lists them)",
        ),
        (
            "apply --manager m --schema examples/deployment/schema.yaml -f @/one.yaml",
            "@/one.yaml: the object has no apiVersion and kind: name its type with --type (`schema types` lists them)",
        ),
    ]);
}

#[test]
fn bad_managed_fields_are_reported_with_their_path() {
    let apply = "apply --manager m --schema @/schema.yaml -f @/one.yaml";
    check_error(&[
        (
            &format!("{apply} --live @/nolist.yaml"),
            "@/nolist.yaml: .metadata.managedFields[0]: expected a list of entries, got string",
        ),
        (
            &format!("{apply} --live @/operation.yaml"),
            "@/operation.yaml: .metadata.managedFields[0].operation: operation must be `Apply` or `Update`, got `Change`",
        ),
        (
            &format!("{apply} --live @/version.yaml"),
            "@/version.yaml: .metadata.managedFields[0].apiVersion: apiVersion must not be empty",
        ),
        (
            &format!("{apply} --live @/type.yaml"),
            "@/type.yaml: .metadata.managedFields[0].fieldsType: missing fieldsType, `FieldsV1` is accepted",
        ),
        (
            &format!("{apply} --live @/fields.yaml"),
            "@/fields.yaml: .metadata.managedFields[0].fieldsV1: key `a` is not a path element: expected a prefix like `f:`",
        ),
        (
            &format!("{apply} --live @/time.yaml"),
            "@/time.yaml: .metadata.managedFields[0].time: expected a time like 2026-01-31T12:00:00Z, got `now`",
        ),
    ]);
}

#[test]
fn live_object_at_another_version_is_refused() {
    let folder = Folder::new(&[
        ("v1.yaml", "{apiVersion: apps/v1, kind: Deployment}"),
        ("v2.yaml", "{apiVersion: apps/v2, kind: Deployment}"),
    ]);
    let arguments =
        "apply --manager m --schema examples/deployment/schema.yaml --type apps.v1.Deployment";
    let (code, err) = fails(&folder.line(&format!("{arguments} --live @/v1.yaml -f @/v2.yaml")));
    assert_eq!(code, 2);
    assert_eq!(
        folder.shortened(&err),
        "error: @/v1.yaml: apiVersion is `apps/v1`, expected `apps/v2` as in @/v2.yaml\n"
    );
}

#[test]
fn invalid_arguments_are_refused() {
    for (arguments, expected) in [
        (
            "apply --schema a -f b",
            "fieldManager: Required value: is required for apply patch (--manager NAME)",
        ),
        ("apply --manager m --schema a", "--filename <FILE>"),
        (
            "apply --manager m --schema a -f b -o xml",
            "[possible values: yaml, json]",
        ),
        (
            "apply --manager m --schema a -f b --time yesterday",
            "--time <TIME>",
        ),
        ("aply", "'apply'"),
    ] {
        let run = line(arguments);
        assert_eq!(run.code, 2, "{arguments}");
        assert!(
            run.err.starts_with("error: ") && run.err.contains(expected),
            "{arguments}: {}",
            run.err
        );
    }
    let run = common::run(&["apply", "--manager", "", "--schema", "a", "-f", "b"]);
    assert_eq!(
        run,
        Run {
            code: 2,
            out: String::new(),
            err: "error: fieldManager: Required value: is required for apply patch (--manager NAME)\n".into()
        }
    );
}
