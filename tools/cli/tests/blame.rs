//! `blame` and `managers` on terminals of several widths.

use crate::common::{Folder, at_width, fails, line, prints, run_with, snapshot};
use fieldmanager_testing::definition;

const BLAME: &str = "blame -f tools/cli/tests/data/web.yaml --now 2026-01-05T00:00:00Z";
const MANAGERS: &str = "managers -f tools/cli/tests/data/web.yaml --now 2026-01-05T00:00:00Z";

#[test]
fn blame_fits_the_terminal() {
    for columns in [60, 100, 160] {
        let (code, text) = at_width(columns, BLAME);
        assert_eq!(code, 0);
        assert!(
            text.lines().all(|line| line.chars().count() <= columns),
            "{text}"
        );
        snapshot(&format!("blame-{columns}.txt"), &text);
    }
}

#[test]
fn blame_into_a_file_has_one_row_per_line() {
    let text = prints(BLAME);
    snapshot("blame.txt", &text);
    // The object follows the bar.
    let yaml: String = text
        .lines()
        .map(|line| line.split_once("│ ").unwrap().1.to_owned() + "\n")
        .collect();
    let stripped = prints("migrate --drop shop -f tools/cli/tests/data/web.yaml");
    let spec = |text: &str| text.split("\nspec:").nth(1).unwrap_or_default().to_owned();
    assert_eq!(spec(&yaml), spec(&stripped));
}

#[test]
fn blame_of_chosen_managers_keeps_enclosing_lines() {
    let text = prints(&format!(
        "{BLAME} --manager autoscaler --manager kube-controller-manager"
    ));
    snapshot("blame-two.txt", &text);
    let (code, err) = fails(&format!("{BLAME} --manager ghost"));
    assert_eq!(code, 2);
    assert!(
        err.contains("tools/cli/tests/data/web.yaml: `ghost` owns nothing, owners are "),
        "{err}"
    );
}

#[test]
fn type_or_paths_determine_atomic_values() {
    let folder = Folder::new(&[
        (
            "object.yaml",
            "
apiVersion: example.com/v1
kind: Shop
metadata:
  managedFields:
  - {manager: a, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {'f:spec': {'f:counters': {'k:{\"name\":\"bread\",\"side\":\"left\"}': {'.': {}, 'f:name': {}}}, 'f:owners': {'v:\"ann\"': {}}, 'f:whole': {}}}}
  - {manager: b, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {'f:spec': {'f:owners': {'v:\"bob\"': {}}, 'f:list': {}}}}
spec:
  counters: [{name: bread, side: left}, {name: bread}, {name: cake}]
  owners: [ann, bob]
  whole: {x: {z: 1}}
  list: [1, [2]]
",
        ),
        ("crd.yaml", &definition("Shop", "", PROPERTIES)),
    ]);
    let deduced = prints(&folder.line("blame -f @/object.yaml"));
    assert_eq!(
        deduced,
        "\
-   │ apiVersion: example.com/v1
-   │ kind: Shop
-   │ metadata: {}
    │ spec:
    │   counters:
a A │   - name: bread
-   │     side: left
-   │   - name: bread
-   │   - name: cake
b U │   list:
b U │   - 1
b U │   - - 2
    │   owners:
a A │   - ann
b U │   - bob
a A │   whole:
a A │     x:
a A │       z: 1
"
    );
    let typed = prints(&folder.line("blame -f @/object.yaml --schema @/crd.yaml"));
    // The second item has the key of the first through its default.
    assert!(
        typed.contains("-   │     side: left\na A │   - name: bread\n"),
        "{typed}"
    );
    // This map is granular, so its parts have no owner.
    assert!(
        typed.contains("a A │   whole:\n-   │     x:\n-   │       z: 1\n"),
        "{typed}"
    );
}

/// The properties of `Shop`.
const PROPERTIES: &str = "
spec:
  type: object
  properties:
    owners: {type: array, x-kubernetes-list-type: set, items: {type: string}}
    list: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}
    whole: {type: object, additionalProperties: {type: object, additionalProperties: {type: integer}}}
    counters:
      type: array
      x-kubernetes-list-type: map
      x-kubernetes-list-map-keys: [name, side]
      items:
        type: object
        required: [name]
        properties: {name: {type: string}, side: {type: string, default: left}}
";

#[test]
fn managers_fit_the_terminal() {
    for columns in [60, 100, 160] {
        let (code, text) = at_width(columns, MANAGERS);
        assert_eq!(code, 0);
        assert!(
            text.lines().all(|line| line.chars().count() <= columns),
            "{text}"
        );
        snapshot(&format!("managers-{columns}.txt"), &text);
    }
    snapshot("managers.json", &prints(&format!("{MANAGERS} -o json")));
    assert!(prints(&format!("{MANAGERS} -o yaml")).starts_with("managers:\n- ageSeconds: "));
}

#[test]
fn undecodable_entry_is_reported_and_skipped() {
    let object = r#"{"metadata": {"managedFields": [
        {"manager": "bro\u001bken", "operation": "Apply"},
        {"manager": "", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}}
    ]}, "a": 1}"#;
    let warning = "warning: standard input: .metadata.managedFields[0].apiVersion: apiVersion must not be empty\n";
    let run = run_with(&["managers", "-f", "-"], object);
    assert_eq!((run.code, run.err.as_str()), (0, warning));
    assert!(
        run.out.contains("(no name)  Update     v1            1"),
        "{}",
        run.out
    );
    let run = run_with(&["blame", "-f", "-"], object);
    assert_eq!((run.code, run.err.as_str()), (0, warning));
    assert_eq!(run.out, "(no name) U │ a: 1\n-           │ metadata: {}\n");
}

#[test]
fn object_without_entries_is_shown_without_owners() {
    let run = run_with(&["managers", "-f", "-"], "{a: 1}");
    assert_eq!(
        run.out,
        "0 entries of 0 managers own 0 fields in 0 bytes, 0% of the object\n"
    );
    assert_eq!(run_with(&["blame", "-f", "-"], "{a: 1}").out, "- │ a: 1\n");
    let run = run_with(&["blame", "-f", "-"], "[a]");
    assert_eq!(
        run.err,
        "error: standard input: expected an object, got list\n"
    );
    assert_eq!(
        line("blame -f tools/cli/tests/data/web.yaml --type Nothing").code,
        2
    );
}

#[test]
fn managers_have_distinct_colours_on_a_terminal() {
    let text = |arguments: &str| {
        let mut command = assert_cmd::cargo::cargo_bin_cmd!("fieldmanager");
        command
            .env("CLICOLOR_FORCE", "1")
            .env("COLUMNS", "160")
            .current_dir("../..");
        String::from_utf8(
            command
                .args(arguments.split_whitespace())
                .output()
                .unwrap()
                .stdout,
        )
        .unwrap()
    };
    // The escape sequence before a name, at any position.
    let colour = |text: &str, name: &str| -> String {
        let at = text.find(name).unwrap();
        text[..at].rsplit('\x1b').next().unwrap().to_owned()
    };
    let (blame, managers) = (text(BLAME), text(MANAGERS));
    let names = [
        "shop ",
        "autoscaler",
        "kube-controller-manager",
        "kubectl-client",
        "platform-team",
    ];
    let mut colours: Vec<String> = names.iter().map(|name| colour(&blame, name)).collect();
    for (name, colour_of) in names.iter().zip(&colours) {
        assert_eq!(colour(&managers, name), *colour_of, "{name}");
    }
    colours.sort();
    colours.dedup();
    assert_eq!(colours.len(), names.len(), "{colours:?}");
}
