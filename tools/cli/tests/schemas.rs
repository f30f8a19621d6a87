//! Sources of types, and the commands that inspect schemas.

use crate::common::{Folder, Run, fails, line, prints, run, run_with};
use fieldmanager_testing::definition;

/// The properties of `Shop`.
const PROPERTIES: &str = "
spec:
  type: object
  properties:
    size: {type: integer, default: 3}
    doors:
      type: array
      x-kubernetes-list-type: map
      x-kubernetes-list-map-keys: [side]
      items:
        type: object
        required: [side]
        properties: {side: {type: string}, open: {type: boolean, default: true}}
";

const OPENAPI: &str = r##"
definitions:
  Good: {type: object, properties: {type: {type: string, enum: [Card, None]}, card: {$ref: "#/definitions/Card"}},
    x-kubernetes-unions: [{discriminator: type, fields-to-discriminateBy: {card: Cards}}],
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Good}]}
  Card: {type: object, properties: {number: {type: string}}}
"##;

fn folder() -> Folder {
    let shop = definition("Shop", "", PROPERTIES);
    let unstructural = definition("Stall", "", "a: {}\nb: {type: array}");
    Folder::new(&[
        ("crd.yaml", &shop),
        (
            "both.yaml",
            &format!("{shop}---\napiVersion: v1\nkind: Namespace\n---{unstructural}"),
        ),
        ("openapi.yaml", OPENAPI),
        (
            "bad.yaml",
            "definitions: {a: {type: array}, b: {type: text}, c: {type: string}}",
        ),
        ("mixed.yaml", &format!("{shop}---\n{OPENAPI}")),
        (
            "smd.yaml",
            "types: [{name: app, map: {fields: [{name: replicas, type: {scalar: numeric}}]}}]",
        ),
        ("object.yaml", "{replicas: 1}"),
        (
            "shop.yaml",
            "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a}, spec: {doors: [{side: left, lock: x}], colour: red}, extra: 1}",
        ),
        ("shop2.yaml", "{apiVersion: example.com/v2, kind: Shop}"),
        ("sop.yaml", "{apiVersion: example.com/v1, kind: Sop}"),
        (
            "pod.yaml",
            "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, imag: b}]}}",
        ),
        (
            "configmap.yaml",
            "{apiVersion: v1, kind: ConfigMap, data: {a: b}}",
        ),
        ("zork.yaml", "{apiVersion: v1, kind: Zork}"),
        ("deployment.yaml", "{apiVersion: apps/v1, kind: Deploymnt}"),
    ])
}

/// Checks commands and their output. `@` is the folder.
fn check(rows: &[(&str, &str)]) {
    let folder = folder();
    for (arguments, expected) in rows {
        assert_eq!(
            folder.shortened(&prints(&folder.line(arguments))),
            *expected,
            "{arguments}"
        );
    }
}

/// Checks failing commands and their messages.
fn check_error(rows: &[(&str, &str)]) {
    let folder = folder();
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
fn types_are_loaded_from_the_bundle_or_any_document() {
    check(&[
        (
            "validate -f @/configmap.yaml",
            "@/configmap.yaml: valid `io.k8s.api.core.v1.ConfigMap`\n",
        ),
        (
            "validate --schema @/smd.yaml -f @/object.yaml",
            "@/object.yaml: valid `app`\n",
        ),
        (
            "fieldset -f @/configmap.yaml --paths",
            ".apiVersion\n.kind\n.data.a\n",
        ),
        (
            "fieldset --type ConfigMap -f @/configmap.yaml --paths",
            ".apiVersion\n.kind\n.data.a\n",
        ),
        (
            "fieldset --type v1/ConfigMap -f @/configmap.yaml --paths",
            ".apiVersion\n.kind\n.data.a\n",
        ),
    ]);
    check_error(&[
        (
            "validate -f @/pod.yaml",
            "@/pod.yaml: .spec.containers[name=\"a\"].imag: field not declared in schema, the nearest declared are `image`, `imagePullPolicy`",
        ),
        (
            "validate -f @/deployment.yaml",
            "@/deployment.yaml: no corresponding type for apps/v1, Kind=Deploymnt, did you mean apps/v1 Deployment",
        ),
        (
            "validate -f @/zork.yaml",
            "@/zork.yaml: no corresponding type for /v1, Kind=Zork in the bundled schema (Kubernetes 1.37): --schema FILE loads another",
        ),
        (
            "validate --schema @/crd.yaml -f @/sop.yaml",
            "@/sop.yaml: no corresponding type for example.com/v1, Kind=Sop, did you mean example.com/v1 Shop",
        ),
        (
            "validate --schema @/crd.yaml -f @/zork.yaml",
            "@/zork.yaml: no corresponding type for /v1, Kind=Zork in @/crd.yaml: name one with --type (`schema types` lists them)",
        ),
        (
            "validate --schema @/crd.yaml -f @/shop.yaml",
            "@/shop.yaml: .extra: field not declared in schema\n       @/shop.yaml: .spec.colour: field not declared in schema\n       @/shop.yaml: .spec.doors[side=\"left\"].lock: field not declared in schema",
        ),
        (
            "validate --schema @/mixed.yaml -f @/shop.yaml",
            "@/mixed.yaml: a CustomResourceDefinition and an OpenAPI document in one file: only custom resource definitions may share a file",
        ),
        (
            "validate --schema @/pod.yaml -f @/shop.yaml",
            "@/pod.yaml: expected a schema, an OpenAPI document or a CustomResourceDefinition, found v1 Pod",
        ),
    ]);
}

#[test]
fn built_in_kind_needs_no_schema() {
    let applied = run_with(
        &["apply", "--manager", "me", "-f", "-", "-o", "json"],
        "{apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {ports: [{name: a, port: 53}, {name: b, port: 53, protocol: UDP}]}}",
    );
    assert_eq!((applied.code, applied.err.as_str()), (0, ""));
    for key in [
        r#""k:{\"port\":53,\"protocol\":\"TCP\"}""#,
        r#""k:{\"port\":53,\"protocol\":\"UDP\"}""#,
    ] {
        assert!(applied.out.contains(key), "{}", applied.out);
    }
}

#[test]
fn schema_types_lists_types_and_kinds() {
    check(&[
        ("schema types @/smd.yaml", "app\n"),
        (
            "schema types @/openapi.yaml",
            "Card\nGood                example.com/v1 Good\n__untyped_atomic_\n__untyped_deduced_\n",
        ),
        (
            "schema types @/openapi.yaml --kinds",
            "example.com/v1  Good  Good\n",
        ),
        ("schema types @/smd.yaml --kinds", ""),
    ]);
    let kinds = prints("schema types --kinds");
    assert!(kinds.lines().any(|line| line.split_whitespace().eq([
        "apps/v1",
        "Deployment",
        "io.k8s.api.apps.v1.Deployment"
    ])));
    let types = prints("schema types examples/deployment/schema.yaml");
    assert_eq!(
        (types.lines().next(), types.lines().count()),
        (Some("apps.v1.Deployment"), 15)
    );
    check_error(&[
        (
            "schema types @/none.yaml",
            "@/none.yaml: cannot be read: No such file or directory (os error 2)",
        ),
        (
            "schema types @/bad.yaml",
            "@/bad.yaml: definition `a`: `items` must be specified on arrays\n       @/bad.yaml: definition `b`: .type: unrecognized type `text`: array, boolean, integer, number, object and string are accepted",
        ),
    ]);
}

#[test]
fn schema_show_prints_a_tree() {
    check(&[
        (
            "schema show Shop --schema @/crd.yaml --depth 1",
            "com.example.v1.Shop (example.com/v1 Shop)\n\napiVersion  string\nkind        string\nmetadata    ObjectMeta …\nspec        object …\n",
        ),
        (
            "schema show SeccompProfile",
            "io.k8s.api.core.v1.SeccompProfile\n\nlocalhostProfile  string, if and only if type is Localhost\ntype              string, Localhost selects localhostProfile, RuntimeDefault and Unconfined select\n                  nothing\n\nunions: `x-kubernetes-unions` in the OpenAPI document of Kubernetes 1.37, with corrections\n",
        ),
        (
            "schema show io.k8s.api.apps.v1.DeploymentStrategy",
            "io.k8s.api.apps.v1.DeploymentStrategy\n\nrollingUpdate     RollingUpdateDeployment\n  maxSurge        IntOrString (scalar)\n  maxUnavailable  IntOrString (scalar)\ntype              string\n",
        ),
        (
            "schema show LabelSelector --depth 1",
            "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector\n\n(the type itself)  LabelSelector, atomic\nmatchExpressions   list of LabelSelectorRequirement, atomic …\nmatchLabels        map of string\n",
        ),
        (
            "schema show Quantity",
            "io.k8s.apimachinery.pkg.api.resource.Quantity\n\n(the type itself)  Quantity (scalar)\n",
        ),
    ]);
    let service = prints("schema show svc");
    assert!(
        service.starts_with("io.k8s.api.core.v1.Service (v1 Service)\n"),
        "{service}"
    );
    assert!(
        service.contains("list of ServicePort, by port and protocol (default TCP) …\n"),
        "{service}"
    );
    assert_eq!(prints("schema show v1/Service"), service);
    assert!(
        prints("schema show JSONSchemaProps")
            .contains("not                                   JSONSchemaProps ↑\n")
    );
    assert!(
        prints("schema show hpa").starts_with("io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler ")
    );
    check_error(&[
        (
            "schema show Deploymnt",
            "bundled schema (Kubernetes 1.37): there is no type `Deploymnt`: similar are apps/v1/Deployment, io.k8s.api.apps.v1.DeploymentSpec, io.k8s.api.apps.v1.DeploymentStatus",
        ),
        (
            "schema show apps/v2/Deployment",
            "bundled schema (Kubernetes 1.37): no corresponding type for apps/v2, Kind=Deployment, did you mean apps/v1 Deployment",
        ),
        (
            "schema show zzz --schema @/smd.yaml",
            "@/smd.yaml: there is no type `zzz`: `schema types` lists the known types",
        ),
    ]);
}

#[test]
fn schema_check_reports_faults_and_warnings() {
    check(&[
        (
            "schema check examples/deployment/schema.yaml",
            "examples/deployment/schema.yaml: valid, 15 types\n",
        ),
        (
            "schema check @/openapi.yaml",
            "@/openapi.yaml: warning: definition `Good`: .x-kubernetes-unions[0]: value `Cards` of member `card` is not in the enum of `type`: Card, None\n@/openapi.yaml: valid, 4 types, 1 kind\n  `Good`: union of card by type: .x-kubernetes-unions[0], list form\n",
        ),
        (
            "schema check @/crd.yaml",
            "@/crd.yaml: shops.example.com: valid, structural at v1\n",
        ),
    ]);
    check_error(&[(
        "schema check @/object.yaml",
        "@/object.yaml: expected a schema, an OpenAPI document or a CustomResourceDefinition, found a map without them",
    )]);
    let folder = folder();
    let both = line(&folder.line("schema check @/both.yaml"));
    assert_eq!((both.code, both.err.as_str()), (1, ""));
    let out = folder.shortened(&both.out);
    assert!(
        out.starts_with(
            "@/both.yaml: shops.example.com: valid, structural at v1\n@/both.yaml: stalls.example.com: "
        ),
        "{out}"
    );
    assert!(
        out.contains(
            "properties[a].type: Required value: must not be empty for specified object fields\n"
        ),
        "{out}"
    );
}

#[test]
fn schema_import_converts_documents() {
    let folder = folder();
    let imported = line(&folder.line("schema import @/openapi.yaml -o json"));
    assert_eq!(imported.code, 0);
    assert_eq!(
        folder.shortened(&imported.err),
        "warning: @/openapi.yaml: definition `Good`: .x-kubernetes-unions[0]: value `Cards` of member `card` is not in the enum of `type`: Card, None\n"
    );
    assert!(
        imported
            .out
            .contains("\"deduceInvalidDiscriminator\": true"),
        "{}",
        imported.out
    );
    let respecting = line(&folder.line("schema import @/openapi.yaml -o json --respecting"));
    assert!(
        !respecting.out.contains("deduceInvalidDiscriminator"),
        "{}",
        respecting.out
    );

    // An imported document is a schema with kinds again.
    let again = run_with(&["schema", "types", "-", "--kinds"], &imported.out);
    assert_eq!(
        again,
        Run {
            code: 0,
            out: "example.com/v1  Good  Good\n".into(),
            err: String::new()
        }
    );

    let good = line(&folder.line("schema import @/bad.yaml --keep-good"));
    assert_eq!((good.code, good.err.lines().count()), (0, 2));
    assert_eq!(
        folder.shortened(good.err.lines().next().unwrap()),
        "warning: @/bad.yaml: definition `a`: `items` must be specified on arrays, skipped"
    );
    assert!(
        prints(&folder.line("schema import @/crd.yaml --from crd"))
            .contains("name: com.example.v1.Shop\n")
    );
    check_error(&[(
        "schema import @/crd.yaml --from openapi",
        "@/crd.yaml: expected an OpenAPI document, found a CustomResourceDefinition",
    )]);
}

#[test]
fn prune_and_default_change_custom_resources() {
    let folder = folder();
    let run_line = |arguments: &str| {
        let arguments = folder.line(arguments);
        run(&arguments.split_whitespace().collect::<Vec<_>>())
    };
    let pruned = run_line("prune --schema @/crd.yaml -f @/shop.yaml");
    assert_eq!(
        pruned,
        Run {
            code: 0,
            out: "apiVersion: example.com/v1\nkind: Shop\nmetadata:\n  name: a\nspec:\n  doors:\n  - side: left\n".into(),
            err: "- .extra\n- .spec.colour\n- .spec.doors[0].lock\n".into(),
        }
    );
    let defaulted = run_line("default --schema @/crd.yaml -f @/shop.yaml -o json");
    assert_eq!(
        (defaulted.code, defaulted.err.as_str()),
        (0, "+ .spec.doors[0].open\n+ .spec.size\n")
    );
    assert!(defaulted.out.contains("\"size\": 3"), "{}", defaulted.out);
    check_error(&[
        (
            "prune --schema @/crd.yaml -f @/shop2.yaml",
            "@/crd.yaml: there is no version `v2`: the only one is v1",
        ),
        (
            "default --schema @/crd.yaml -f @/pod.yaml",
            "@/crd.yaml: there is no definition of /v1, Kind=Pod, known are Shop of example.com",
        ),
        (
            "prune --schema @/smd.yaml -f @/pod.yaml",
            "@/smd.yaml: expected a CustomResourceDefinition, found none",
        ),
    ]);
}
