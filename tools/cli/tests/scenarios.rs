//! `test`: runs scenario files.

use crate::common::{Folder, fails, line, prints};

const PASSES: &str = "
name: it passes
schema: {types: [{name: app, scalar: numeric}]}
types: {v1: app}
steps:
- apply: {manager: a, apiVersion: v1, object: 1}
";

const FAILS: &str = "
name: it fails
schema: {types: [{name: app, scalar: numeric}]}
types: {v1: app}
steps:
- apply: {manager: a, apiVersion: v1, object: 1}
  expect: {object: 2}
";

#[test]
fn project_scenarios_pass() {
    let all = prints("test tests/scenarios");
    assert!(all.ends_with(" passed, 0 failed\n"), "{all}");
    let report = prints("test tests/scenarios --format json");
    assert!(
        report.starts_with("{\n  \"passed\": ") && report.contains("\"failed\": 0,"),
        "{report}"
    );
    // What Helm, Argo CD, Flux and kubectl send.
    assert_eq!(prints("test examples/tools"), "6 passed, 0 failed\n");
}

#[test]
fn filter_selects_scenarios_by_name() {
    let folder = Folder::new(&[("both.yaml", &format!("{PASSES}---{FAILS}"))]);
    assert_eq!(
        prints(&folder.line("test @ --filter passes")),
        "1 passed, 0 failed\n"
    );
    let (code, err) = fails(&folder.line("test @ --filter nothing"));
    assert_eq!(
        (code, err.as_str()),
        (2, "error: no scenario has a name that contains `nothing`\n")
    );
}

#[test]
fn failed_scenario_is_shown_and_exits_with_1() {
    let folder = Folder::new(&[("one.yaml", PASSES), ("two.yaml", FAILS)]);
    let run = line(&folder.line("test @"));
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    assert_eq!(
        folder.shortened(&run.out),
        "\
FAIL it fails
  @/two.yaml: line 2
  step 1 (apply): `object` differs at the object itself
    --- expected
    +++ actual
    @@ -1,1 +1,1 @@
    -2
    +1

1 passed, 1 failed
"
    );
}

#[test]
fn json_and_junit_reports_list_every_scenario() {
    let folder = Folder::new(&[("one.yaml", PASSES), ("two.yaml", FAILS)]);
    let run = line(&folder.line("test @ --format json --junit @/report.xml"));
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    assert!(
        run.out
            .starts_with("{\n  \"passed\": 1,\n  \"failed\": 1,\n"),
        "{}",
        run.out
    );
    for part in [
        "\"name\": \"it fails\"",
        "\"step\": 1",
        "\"expected\": 2",
        "\"actual\": 1",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let junit = std::fs::read_to_string(folder.path().join("report.xml")).unwrap();
    assert!(junit.starts_with("<?xml"), "{junit}");
    for part in [
        "tests=\"2\"",
        "failures=\"1\"",
        "name=\"it passes\"",
        "name=\"it fails\"",
        "<failure",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    let (code, err) = {
        let run = line(&folder.line("test @/one.yaml --junit @/none/report.xml"));
        (run.code, run.err)
    };
    assert_eq!(code, 2);
    assert!(
        folder
            .shortened(&err)
            .starts_with("error: @/none/report.xml: cannot be written: "),
        "{err}"
    );
}

#[test]
fn invalid_scenario_file_exits_with_2() {
    let folder = Folder::new(&[
        (
            "unknown.yaml",
            "name: a\nschema: {types: []}\nsteps:\n- aply: {manager: a}\n",
        ),
        ("text.yaml", "name: [\n"),
        ("empty.yaml", "# nothing\n"),
    ]);
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    for (arguments, expected) in [
        (
            "test @/unknown.yaml",
            "@/unknown.yaml: line 4 column 3: .steps[0]: unknown step `aply`, accepted are apply, update, extractApply, changeSchema, patch, validate, compare, merge, fieldset, remove, extract, set, normalize, validateUnions, request, parallel, watch and wait, and expect, save and within beside one of them",
        ),
        (
            "test @/text.yaml",
            "@/text.yaml: line 2 column 1: expected YAML: did not find expected node content while parsing a flow node",
        ),
        (
            "test @/empty.yaml",
            "@/empty.yaml: expected a document, found none",
        ),
        (
            "test @/folder",
            "no scenarios found: expected files with `schema` and `steps`",
        ),
    ] {
        let (code, err) = fails(&folder.line(arguments));
        assert_eq!(code, 2, "{arguments}");
        assert_eq!(
            folder.shortened(&err),
            format!("error: {expected}\n"),
            "{arguments}"
        );
    }
    let (code, err) = fails(&folder.line("test @/none.yaml @/text.yaml"));
    assert_eq!(code, 2);
    assert_eq!(err.lines().count(), 2, "{err}");
}
