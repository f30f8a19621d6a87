//! `apply` and `update` with the behaviour of an API server: managers, subresources, custom resources, dry runs,
//! errors.

use crate::common::{Folder, at_width, fails, line, prints, run_with, snapshot};
use fieldmanager_testing::definition;

const WEB: &str = "--manager shop -f examples/deployment/web.yaml";
const SCALE: &str = "--manager autoscaler -f examples/deployment/scale.yaml";

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn dry_run_shows_fields_owners_and_conflicts() {
    let live = prints(&format!("apply {WEB}"));
    let folder = Folder::new(&[("live.yaml", &live)]);
    let run = |more: &str| line(&folder.line(&format!("apply {SCALE} --live @/live.yaml {more}")));
    let dry = run("--dry-run");
    assert_eq!((dry.code, dry.err.as_str()), (1, ""));
    snapshot("dry-run-conflict.txt", &dry.out);
    let forced = run("--dry-run=server --force");
    assert_eq!((forced.code, forced.err.as_str()), (0, ""));
    assert!(
        dry.out.starts_with(&forced.out) && !forced.out.contains("conflicts"),
        "{}",
        forced.out
    );
    // With an output format, the object is printed.
    assert_eq!(run("--dry-run --force -o yaml").out, run("--force").out);
    assert_eq!(
        prints(&folder.line(&format!("apply {WEB} --live @/live.yaml --dry-run"))),
        "nothing would change\n"
    );
    let narrow = at_width(
        50,
        &folder.line(&format!("apply {SCALE} --live @/live.yaml --dry-run")),
    )
    .1;
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 50),
        "{narrow}"
    );
    let more = Folder::new(&[
        ("live.yaml", &live),
        ("new.yaml", &live.replace("replicas: 3", "replicas: 4")),
    ]);
    assert_eq!(
        prints(&more.line("update --manager x --live @/live.yaml -f @/new.yaml --dry-run")),
        "\
fields
  ~ .metadata.generation: 1 -> 2
  ~ .spec.replicas: 3 -> 4

owners
  shop (Apply)
    - .spec.replicas
  x (Update apps/v1)
    + .spec.replicas
"
    );
}

#[test]
fn json_errors_are_a_status() {
    let live = prints(&format!("apply {WEB}"));
    let run = run_with(&words(&format!("apply {SCALE} --live - -o json")), &live);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    snapshot("conflict.json", &run.err);
    let run = line("apply -f examples/deployment/web.yaml -o json");
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.contains(r#""code": 422"#), "{}", run.err);
    let run = line("apply --manager a\u{7}b -f examples/deployment/web.yaml");
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("invalid character U+0007 (at position 1)"),
        "{}",
        run.err
    );
}

#[test]
fn update_takes_its_manager_from_the_user_agent() {
    let file = "-f examples/deployment/web.yaml";
    for (arguments, name) in [
        ("--user-agent kubectl/v1.37.0", "kubectl"),
        ("--user-agent kubectl/v1.37.0 --manager mine", "mine"),
        ("", "unknown"),
    ] {
        let text = prints(&format!("update {file} {arguments}"));
        assert!(
            text.contains(&format!("    manager: {name}\n    operation: Update\n")),
            "{text}"
        );
    }
    let live = prints(&format!("update {file}"));
    let new = live.replace("status: {}", "status: {observedGeneration: 1}");
    let folder = Folder::new(&[("live.yaml", &live), ("new.yaml", &new)]);
    let status = "--subresource status --time 2026-01-31T12:00:00Z";
    let text = prints(&folder.line(&format!("update --live @/live.yaml -f @/new.yaml {status}")));
    assert!(
        text.contains("    subresource: status\n    time: \"2026-01-31T12:00:00Z\"\n"),
        "{text}"
    );
}

#[test]
fn first_apply_conflicts_with_before_first_apply() {
    let live = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: '1', b: '2'}}";
    let folder = Folder::new(&[(
        "config.yaml",
        "{apiVersion: v1, kind: ConfigMap, data: {a: '2'}}",
    )]);
    let run = run_with(
        &words(&folder.line("apply --manager ci -f @/config.yaml --live -")),
        live,
    );
    assert_eq!(run.code, 1);
    assert!(
        run.err.contains("before-first-apply (Update v1)"),
        "{}",
        run.err
    );
}

#[test]
fn conflict_with_own_updates_suggests_upgrade_csa() {
    let live = prints("update --manager shop -f examples/deployment/web.yaml");
    let folder = Folder::new(&[("live.yaml", &live)]);
    let run = line(
        &folder.line("apply --manager shop -f examples/deployment/scale.yaml --live @/live.yaml"),
    );
    assert_eq!(run.code, 1);
    let last = run.err.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        "`shop` owns some of these fields through updates: `fieldmanager upgrade-csa --csa-manager shop --manager shop` turns them into applied fields"
    );
    // The suggested command resolves the conflict.
    let upgraded =
        prints(&folder.line("upgrade-csa --csa-manager shop --manager shop -f @/live.yaml"));
    // The configuration lacks required fields, which the manager has applied and would remove.
    let again = "apply --manager shop -f examples/deployment/scale.yaml --live - --no-validation";
    let run = run_with(&words(again), &upgraded);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
}

#[test]
fn entry_times_change_only_with_a_request_time() {
    let folder = Folder::new(&[
        (
            "one.yaml",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: '1'}}",
        ),
        (
            "two.yaml",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: '2'}}",
        ),
    ]);
    let apply = |file: &str, more: &str, live: &str| {
        let run = run_with(
            &words(&folder.line(&format!("apply --manager m -f @/{file} --live - {more}"))),
            live,
        );
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        run.out
    };
    let noon = "time: \"2026-01-31T12:00:00Z\"";
    let first = apply(
        "one.yaml",
        "--time 2026-01-31T12:00:00Z",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
    );
    assert!(first.contains(noon), "{first}");
    // Without a request time, the recorded time stays.
    let second = apply("two.yaml", "", &first);
    assert!(
        second.contains(noon) && second.contains("a: \"2\""),
        "{second}"
    );
    assert!(apply("one.yaml", "--time 2026-01-31T13:00:00Z", &second).contains("T13:00:00Z"));
    // A request without changes does not update the time.
    assert_eq!(
        apply("two.yaml", "--time 2026-01-31T13:00:00Z", &second),
        second
    );
}

/// The properties of `Shop`.
const PROPERTIES: &str = "
spec:
  type: object
  properties: {size: {type: integer}, open: {type: boolean, default: true}}
status:
  type: object
  properties: {ready: {type: integer}}
";

#[test]
fn custom_resources_have_defaults_and_a_status() {
    let shop = |size, ready| {
        format!(
            "{{apiVersion: example.com/v1, kind: Shop, metadata: {{name: x}}, spec: {{size: {size}}}, status: {{ready: {ready}}}}}"
        )
    };
    let (one, two) = (shop(1, 1), shop(2, 2));
    let crd = definition("Shop", "subresources: {status: {}}", PROPERTIES);
    let folder = Folder::new(&[("crd.yaml", &crd), ("one.yaml", &one), ("two.yaml", &two)]);
    let created = prints(&folder.line("apply --manager ci --schema @/crd.yaml -f @/one.yaml"));
    snapshot("custom-created.yaml", &created);
    let status =
        "--manager controller --schema @/crd.yaml -f @/two.yaml --live - --subresource status";
    let run = run_with(&words(&folder.line(&format!("apply {status}"))), &created);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    snapshot("custom-status.yaml", &run.out);
    let dry = run_with(
        &words(&folder.line(&format!("apply {status} --dry-run"))),
        &created,
    );
    assert_eq!(
        dry.out,
        "fields\n  + .status.ready: 2\n\nowners\n  controller (Apply, status)\n    + .status.ready\n"
    );
    // An apply to the object does not change its status.
    let again = run_with(
        &words(&folder.line("apply --manager ci --schema @/crd.yaml -f @/one.yaml --live -")),
        &run.out,
    );
    assert_eq!(again.out, run.out);
    // An update owns the defaults too, because they are set when the update is decoded.
    let updated = prints(&folder.line("update --manager ed --schema @/crd.yaml -f @/one.yaml"));
    assert!(
        updated.contains("f:open: {}") && !updated.contains("status:"),
        "{updated}"
    );
}

#[test]
fn configuration_with_managed_fields_is_refused() {
    let alone = "--no-defaults --no-validation";
    let live = prints(&format!("apply {WEB} {alone}"));
    let folder = Folder::new(&[("read.yaml", &live)]);
    let (code, err) = fails(&folder.line("apply --manager shop -f @/read.yaml"));
    assert_eq!(code, 2);
    assert!(err.contains(
        "metadata.managedFields must be nil in a configuration: `fieldmanager strip` removes it"
    ));
    let stripped = prints(&folder.line("strip -f @/read.yaml"));
    let applied = run_with(
        &words(&format!("apply --manager shop -f - {alone}")),
        &stripped,
    );
    assert_eq!((applied.code, applied.out), (0, live));
}

#[test]
fn built_in_objects_have_defaults_and_are_validated() {
    let web = |more: &str| {
        let container = format!("{{name: nginx{more}}}");
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{selector: {{matchLabels: {{a: b}}}}, \
             template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{container}]}}}}}}}}"
        )
    };
    let folder = Folder::new(&[
        ("good.yaml", &web(", image: 'nginx:1'")),
        ("bad.yaml", &web("")),
    ]);
    let invalid = "Deployment.apps \"web\" is invalid: spec.template.spec.containers[0].image: Required value";
    for (verb, status) in [("apply --manager ci", "422"), ("update", "422")] {
        let good = prints(&folder.line(&format!("{verb} -f @/good.yaml")));
        assert!(
            good.contains("\n  namespace: default\nspec:\n  progressDeadlineSeconds: 600\n"),
            "{good}"
        );
        assert!(
            !good.contains("uid") && !good.contains("creationTimestamp"),
            "{good}"
        );
        let (code, err) = fails(&folder.line(&format!("{verb} -f @/bad.yaml")));
        assert_eq!((code, err), (1, format!("error: {invalid}\n")));
        let (code, err) = fails(&folder.line(&format!("{verb} -f @/bad.yaml -o json")));
        assert_eq!(code, 1);
        assert!(err.contains(&format!("\"code\": {status}")), "{err}");
        // Either step can be left out.
        let invalid = prints(&folder.line(&format!("{verb} -f @/bad.yaml --no-validation")));
        assert!(
            invalid.contains("progressDeadlineSeconds: 600") && !invalid.contains("image:"),
            "{invalid}"
        );
        let bare = prints(&folder.line(&format!(
            "{verb} -f @/bad.yaml --no-validation --no-defaults"
        )));
        assert!(
            !bare.contains("progressDeadlineSeconds") && !bare.contains("generation"),
            "{bare}"
        );
        let (_, err) = fails(&folder.line(&format!("{verb} -f @/good.yaml --no-defaults")));
        assert!(
            err.contains("spec.template.spec.restartPolicy: Required value"),
            "{err}"
        );
    }
    // The time of a request is that of the creation.
    let timed = prints(&folder.line("update -f @/good.yaml --time 2026-01-31T12:00:00Z"));
    assert!(
        timed.contains("\n  creationTimestamp: \"2026-01-31T12:00:00Z\"\n"),
        "{timed}"
    );
}

#[test]
fn fields_that_a_built_in_kind_lacks_are_warnings_of_an_update() {
    let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, dat: {a: b}}";
    let folder = Folder::new(&[("object.yaml", object)]);
    let run = line(&folder.line("update -f @/object.yaml"));
    assert_eq!(run.code, 0);
    assert_eq!(
        folder.shortened(&run.err),
        "warning: @/object.yaml: unknown field \"dat\"\n"
    );
    assert!(!run.out.contains("\ndat:"), "{}", run.out);
}
