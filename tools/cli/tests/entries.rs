//! `extract`, `upgrade-csa`, `strip`, `lint` and `migrate`.

use crate::common::{Folder, fails, line, prints, run_with, snapshot};

const FILE: &str = "-f tools/cli/tests/data/web.yaml";

#[test]
fn extract_prints_the_fields_of_an_applier() {
    snapshot(
        "extract.yaml",
        &prints(&format!("extract --manager shop {FILE}")),
    );
    let (code, err) = fails(&format!("extract --manager autoscaler {FILE}"));
    assert_eq!(code, 2);
    assert_eq!(
        err,
        "error: tools/cli/tests/data/web.yaml: `autoscaler` has applied nothing, \
         managers that have: shop (Apply), platform-team-sidecar-injector (Apply)\n"
    );
    let (_, err) = fails(&format!(
        "extract --manager shop --subresource status {FILE}"
    ));
    assert!(
        err.contains("`shop` has applied nothing to status"),
        "{err}"
    );
    // Go omits the name, which the manager does not own.
    assert!(!prints(&format!("extract --manager shop --as-go {FILE}")).contains("name: shop-web"));
}

#[test]
fn applying_an_extracted_configuration_changes_nothing() {
    let folder = Folder::new(&[(
        "config.yaml",
        &prints(&format!("extract --manager shop {FILE}")),
    )]);
    // The live object lacks defaults, and has a label that no API server accepts.
    let alone = "--no-defaults --no-validation";
    let apply =
        "apply --manager shop --live tools/cli/tests/data/web.yaml -f @/config.yaml --dry-run";
    let dry = folder.line(&format!("{apply} {alone}"));
    assert_eq!(prints(&dry), "nothing would change\n");
}

#[test]
fn upgrade_csa_transfers_ownership() {
    let upgrade =
        format!("upgrade-csa --csa-manager kubectl-client-side-apply --manager kubectl {FILE}");
    let upgraded = prints(&upgrade);
    assert!(
        upgraded.contains("    manager: kubectl\n    operation: Apply\n"),
        "{upgraded}"
    );
    assert!(
        !upgraded.contains("kubectl-client-side-apply"),
        "{upgraded}"
    );
    let patch = prints(&format!("{upgrade} --patch -o json"));
    assert!(
        patch.starts_with("[\n")
            && patch.contains("\"path\": \"/metadata/resourceVersion\",\n    \"value\": \"4711\"")
    );
    assert_eq!(
        prints(&format!(
            "upgrade-csa --csa-manager x --manager y {FILE} --patch"
        )),
        "[]\n"
    );
}

#[test]
fn strip_removes_server_fields() {
    let stripped = prints(&format!("strip {FILE}"));
    for gone in [
        "managedFields",
        "uid",
        "resourceVersion",
        "generation:",
        "creationTimestamp",
        "status:",
    ] {
        assert!(!stripped.contains(gone), "{gone}: {stripped}");
    }
    assert!(prints(&format!("strip --keep-status {FILE}")).contains("\nstatus:\n"));
}

#[test]
fn lint_reports_findings() {
    let run = line(&format!("lint {FILE} --served apps/v2"));
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    snapshot("lint.txt", &run.out);
    // A note alone is not a failure.
    let run = line(&format!("lint {FILE}"));
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(
        run.out
            .starts_with("note: tools/cli/tests/data/web.yaml: managedFields are "),
        "{}",
        run.out
    );
    assert_eq!(
        prints(&format!("lint --large 100 {FILE}")),
        "tools/cli/tests/data/web.yaml: nothing found\n"
    );
    let broken = r#"{"metadata": {"managedFields": [{"manager": "x"}]}}"#;
    let run = run_with(&["lint", "-f", "-", "-o", "json", "--large", "100"], broken);
    assert_eq!(run.code, 1);
    assert!(run.out.contains(r#""level": "error""#), "{}", run.out);
}

#[test]
fn migrate_renames_transfers_or_drops_entries() {
    let renamed = prints(&format!("migrate --from shop --to market {FILE}"));
    assert!(
        renamed.contains("manager: market\n") && !renamed.contains("manager: shop\n"),
        "{renamed}"
    );
    let dropped = prints(&format!("migrate --drop kubectl-client-side-apply {FILE}"));
    assert!(!dropped.contains("kubectl-client-side-apply"), "{dropped}");
    let given = prints(&format!(
        "migrate --from kubectl-client-side-apply --to shop --to-applier {FILE}"
    ));
    assert!(
        !given.contains("kubectl-client-side-apply")
            && given.matches("manager: shop\n").count() == 1,
        "{given}"
    );
    let (code, err) = fails(&format!(
        "migrate --drop autoscaler --operation apply {FILE}"
    ));
    assert_eq!(code, 2);
    assert!(
        err.contains("`autoscaler` has no such entry, known entries are shop (Apply), "),
        "{err}"
    );
    for arguments in [
        "migrate -f x",
        "migrate --from a -f x",
        "migrate --drop a --to b -f x",
        "migrate --from a --to b --drop c -f x",
    ] {
        assert_eq!(line(arguments).code, 2, "{arguments}");
    }
}
