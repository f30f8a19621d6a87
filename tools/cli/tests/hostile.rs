//! Hostile input: control and bidi characters in objects, schemas, scenarios, arguments and file names; unlimited
//! input; managed fields that an API server refuses.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Write;

use crate::common::{Folder, Run, run, run_with};
use flate2::Compression;
use flate2::write::GzEncoder;

/// A terminal escape, C1 controls, bidi controls, separators, a zero-width space and a byte order mark.
const HOSTILE: &str =
    "h\u{1b}[31m\u{9b}1m\u{85}\u{202e}\u{2066}\u{61c}\u{2028}\u{200b}\u{feff}\u{7f}\u{7}";

/// The same string in JSON.
const IN_JSON: &str = r"h\u001b[31m\u009b1m\u0085\u202e\u2066\u061c\u2028\u200b\ufeff\u007f\u0007";

fn is_safe(c: char) -> bool {
    c == '\n' || fieldmanager_value::internal::go_format::is_print(c)
}

/// The characters of the output that a terminal must not receive.
fn unsafe_characters(text: &str) -> String {
    text.chars()
        .filter(|c| !is_safe(*c))
        .flat_map(char::escape_unicode)
        .collect()
}

/// Creates files with hostile names and contents.
fn folder() -> Folder {
    let h = IN_JSON;
    let entry = |manager: &str, operation: &str| {
        format!(
            r#"{{"manager":"{manager}","operation":"{operation}","apiVersion":"v1","subresource":"{h}","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:{h}":{{}}}}}}}}"#
        )
    };
    let live = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{h}","managedFields":[{}, {}, {{"manager":"{h}","operation":"{h}"}}]}},"data":{{"{h}":"{h}"}}}}"#,
        entry("good", "Apply"),
        entry(h, "Update"),
    );
    let fine = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{h}","managedFields":[{{"manager":"good","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:{h}":{{}}}}}}}}]}},"data":{{"{h}":"{h}"}}}}"#,
    );
    let config = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{h}"}},"data":{{"{h}":"{h}{h}"}}}}"#
    );
    let unknown =
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","{h}":1,"data":{{"{h}":["{h}"]}}}}"#);
    let kind = format!(r#"{{"apiVersion":"{h}","kind":"{h}"}}"#);
    let schema = format!(
        r#"{{"types":[{{"name":"{h}","map":{{"fields":[{{"name":"{h}","type":{{"scalar":"string"}}}},{{"name":"u","type":{{"scalar":"string"}}}}],"unions":[{{"discriminator":"{h}","fields":[{{"fieldName":"u","discriminatorValue":"{h}"}}]}}]}}}}]}}"#
    );
    let bad_schema = format!(
        r#"{{"types":[{{"name":"{h}","scalar":"{h}"}},{{"name":"b","list":{{"elementType":{{"namedType":"{h}"}},"elementRelationship":"{h}"}}}}]}}"#
    );
    let crd = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{h}"}},"spec":{{"group":"example.com","scope":"Namespaced","names":{{"kind":"Shop","plural":"shops","singular":"shop","listKind":"ShopList"}},"versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","default":{{}},"properties":{{"{h}":{{"type":"string","default":"{h}"}}}}}}}}}}}}}}]}}}}"#
    );
    let bad_crd = crd.replace(r#""type":"string""#, &format!(r#""type":"{h}""#));
    let shop = format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Shop","{h}":"{h}","spec":{{"x{h}":1}}}}"#
    );
    let scenario = format!(
        r#"{{"name":"{h}","schema":{{"types":[{{"name":"app","map":{{"elementType":{{"scalar":"string"}}}}}}]}},"types":{{"v1":"app"}},"steps":[{{"apply":{{"manager":"{h}","apiVersion":"v1","object":{{"{h}":"{h}"}}}},"expect":{{"object":{{"{h}":"x{h}"}},"managed":{{"{h}x":{{"apiVersion":"v1","operation":"Apply","fields":{{}}}}}}}}}}]}}"#
    );
    let bad_scenario = scenario.replace(r#""apply":"#, &format!(r#""{h}":"#));
    let named = format!("{HOSTILE}.yaml");
    Folder::new(&[
        ("live.json", &live),
        ("fine.json", &fine),
        ("config.json", &config),
        ("unknown.json", &unknown),
        ("kind.json", &kind),
        ("schema.json", &schema),
        ("bad-schema.json", &bad_schema),
        ("crd.json", &crd),
        ("bad-crd.json", &bad_crd),
        ("shop.json", &shop),
        ("scenario.json", &scenario),
        ("bad-scenario.json", &bad_scenario),
        (
            "patch.json",
            &format!(r#"{{"data":{{"{h}":"{h}x","$retainKeys":["{h}"]}}}}"#),
        ),
        (
            "operations.json",
            &format!(r#"[{{"op":"remove","path":"/{h}"}}]"#),
        ),
        ("bad.yaml", &format!("a: 1\n? [{HOSTILE}]\n: x\n")),
        (&named, "{a: [}"),
    ])
}

/// Runs a command. `@` is the folder, `^` the hostile string.
fn check(folder: &Folder, arguments: &str) -> Run {
    let arguments = folder.line(arguments).replace('^', HOSTILE);
    let run = run(&arguments.split(' ').collect::<Vec<_>>());
    let found = unsafe_characters(&run.out) + &unsafe_characters(&run.err);
    assert_eq!(
        found, "",
        "{arguments:?} prints\n{:?}\n{:?}",
        run.out, run.err
    );
    run
}

#[cfg(unix)]
#[test]
fn no_subcommand_prints_control_or_bidi_characters() {
    let folder = folder();
    let mut codes = [0_usize; 3];
    for arguments in [
        "apply --manager other -f @/config.json --live @/fine.json",
        "apply --manager other -f @/config.json --live @/fine.json --dry-run",
        "apply --manager other -f @/config.json --live @/fine.json -o json",
        "apply --manager other -f @/config.json --live @/fine.json --force -o json",
        "apply --manager other -f @/config.json --live @/live.json",
        "apply --manager ^ -f @/config.json",
        "apply --manager ^ -f @/config.json -o json",
        "apply --manager m -f @/unknown.json",
        "apply --manager m -f @/unknown.json -o json",
        "apply --manager m -f @/kind.json",
        "apply --manager m --type ^ -f @/config.json",
        "apply --manager m -f @/^.yaml",
        "apply --manager m -f @/^.none",
        "apply --manager m -f @/bad.yaml",
        "apply --manager m --time ^ -f @/config.json",
        "update --manager m -f @/config.json --live @/fine.json --dry-run",
        "update --manager m -f @/config.json --live @/live.json",
        "update --manager m -f @/live.json --live @/fine.json -o json",
        "update --user-agent ^ -f @/config.json --live @/fine.json -o json",
        "patch --manager m --live @/fine.json -f @/patch.json -o json",
        "patch --manager m --live @/fine.json -f @/patch.json --type merge --dry-run",
        "patch --manager m --live @/fine.json -f @/operations.json --type json",
        "patch --type ^ --live @/fine.json -f @/patch.json",
        "diff @/config.json @/kind.json",
        "diff @/config.json @/fine.json -o json",
        "blame -f @/live.json",
        "blame -f @/live.json --manager ^",
        "blame -f @/live.json --manager x^",
        "blame -f @/live.json --html",
        "blame -f @/fine.json --html --manager ^",
        "managers -f @/live.json",
        "managers -f @/live.json -o json",
        "managers -f @/^.none",
        "extract -f @/fine.json --manager good -o json",
        "extract -f @/fine.json --manager ^",
        "extract -f @/live.json --manager good",
        "upgrade-csa -f @/fine.json --csa-manager ^ --manager ^ -o json",
        "upgrade-csa -f @/live.json --csa-manager ^ --manager ^ -o json",
        "strip -f @/live.json -o json",
        "lint -f @/live.json",
        "lint -f @/live.json -o json",
        "lint -f @/fine.json --served ^",
        "migrate -f @/fine.json --from good --to ^ -o json",
        "migrate -f @/fine.json --drop ^",
        "migrate -f @/live.json --drop ^",
        "validate -f @/config.json",
        "validate -f @/unknown.json",
        "validate -f @/kind.json",
        "merge --live @/fine.json -f @/config.json -o json",
        "merge --live @/fine.json -f @/unknown.json",
        "compare @/fine.json @/config.json",
        "compare @/fine.json @/config.json -o json",
        "normalize --new @/config.json -o json",
        "normalize --new @/unknown.json",
        "fieldset -f @/config.json",
        "fieldset -f @/config.json --paths",
        "prune --schema @/crd.json -f @/shop.json -o json",
        "prune --schema @/crd.json -f @/kind.json",
        "default --schema @/crd.json -f @/shop.json -o json",
        "default --schema @/bad-crd.json -f @/shop.json -o json",
        "schema types @/schema.json",
        "schema types @/bad-schema.json",
        "schema show ^ --schema @/schema.json",
        "schema show x^ --schema @/schema.json",
        "schema check @/schema.json",
        "schema check @/bad-schema.json",
        "schema check @/crd.json",
        "schema check @/bad-crd.json",
        "schema import @/crd.json -o json",
        "schema import @/bad-crd.json --keep-good -o json",
        "schema ^",
        "test @/scenario.json",
        "test @/scenario.json --format json",
        "test @/scenario.json --filter ^x",
        "test @/bad-scenario.json",
        "test @/^.yaml",
        "test @/^.none",
        "^",
        "strip --^ -f @/live.json",
    ] {
        let run = check(&folder, arguments);
        codes[usize::try_from(run.code).unwrap()] += 1;
    }
    assert!(
        codes[0] >= 20 && codes[1] >= 8 && codes[2] >= 25,
        "{codes:?}"
    );
}

#[test]
fn yaml_documents_escape_control_characters_as_kubectl_does() {
    let folder = folder();
    let run = run(&["strip", "-f", &folder.line("@/live.json")]);
    let controls: String = run
        .out
        .chars()
        .filter(|c| *c != '\n' && c.is_control())
        .collect();
    assert_eq!((run.code, controls.as_str()), (0, ""));
    let again = run_with(&["strip", "-f", "-", "-o", "json"], &run.out);
    assert!(
        again.out.contains(IN_JSON.trim_start_matches('h')),
        "{}",
        again.out
    );
}

#[test]
fn junit_reports_are_valid_xml() {
    let folder = folder();
    let file = folder.path().join("report.xml");
    let run = check(&folder, "test @/scenario.json --junit @/report.xml");
    assert_eq!(run.code, 1);
    let xml = std::fs::read_to_string(file).unwrap();
    assert_eq!(unsafe_characters(&xml), "");
    assert!(xml.contains(r"h\u{1b}[31m\u{9b}1m"), "{xml}");
}

#[cfg(unix)]
#[test]
fn unlimited_input_is_refused_at_the_limit() {
    let limited = |arguments: &[&str]| {
        let run = run(arguments);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{arguments:?}");
        run.err
    };
    let hint =
        "the limit on input: `--max-input` of the command or `Loader::max_input` raises it\n";
    assert_eq!(
        limited(&["--max-input", "1MiB", "strip", "-f", "/dev/zero"]),
        format!("error: /dev/zero: has more than 1048576 bytes, {hint}")
    );
    assert_eq!(
        limited(&["test", "--max-input", "1kB", "/dev/zero"]),
        format!("error: /dev/zero: has more than 1000 bytes, {hint}")
    );
    assert!(
        limited(&["schema", "types", "/dev/zero", "--max-input", "10"])
            .contains("more than 10 bytes")
    );
    let long = run_with(
        &["strip", "-f", "-", "--max-input", "10"],
        "a: 1 # a comment\n",
    );
    assert_eq!(
        long.err,
        format!("error: standard input: has more than 10 bytes, {hint}")
    );

    // A file that decompresses to a thousand times its size, given by name and inside a folder.
    let folder = Folder::new(&[]);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b' '; 3_000_000]).unwrap();
    std::fs::write(
        folder.path().join("bomb.yaml.gz"),
        encoder.finish().unwrap(),
    )
    .unwrap();
    let bomb = folder.line("@/bomb.yaml.gz");
    for arguments in [
        ["strip", "-f", &bomb, "--max-input", "1MB"],
        [
            "test",
            &folder.line("@"),
            "--max-input",
            "1MB",
            "--filter=x",
        ],
    ] {
        assert!(
            limited(&arguments).contains("bomb.yaml.gz: has more than 1000000 bytes"),
            "{arguments:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn files_that_are_found_must_be_regular_and_a_fifo_can_be_an_argument() {
    use std::process::Command;

    let folder = Folder::new(&[
        ("api.yaml", "name: a\nschema: schema.yaml\nsteps: []\n"),
        ("a.go", "package a\n\ntype A struct{}\n"),
    ]);
    for name in ["schema.yaml", "go.mod", "b.go"] {
        assert!(
            Command::new("mkfifo")
                .arg(folder.path().join(name))
                .status()
                .unwrap()
                .success()
        );
    }

    // Reading one of them would wait without an end.
    let unions = run(&["unions", "--go", &folder.line("@"), "--crd", "-"]);
    assert_eq!(unions.code, 2, "{}", unions.err);
    let scenario = run(&["test", &folder.line("@/api.yaml")]);
    assert_eq!(scenario.code, 2, "{}", scenario.err);
    assert!(
        scenario
            .err
            .contains("schema.yaml: cannot be read: not a regular file"),
        "{}",
        scenario.err
    );

    let command = format!(
        "{} strip -f <(echo '{{a: 1}}') --max-input 1kB",
        env!("CARGO_BIN_EXE_fieldmanager")
    );
    let substituted = Command::new("bash")
        .args(["-c", &command])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(substituted.stdout).unwrap(), "a: 1\n");
}

#[test]
fn times_of_options_end_within_a_year() {
    for option in [
        "--request-time",
        "--stop-time",
        "--header-time",
        "--stall-time",
        "--idle-time",
        "--event-ttl",
    ] {
        let run = run(&["serve", option, "9223372036854775807s"]);
        assert_eq!(run.code, 2, "{option}");
        assert!(run.err.contains("at most `8760h`"), "{option}: {}", run.err);
    }
}

#[test]
fn json_input_uses_the_json_parser() {
    let key = "k".repeat(2_000);
    let text = format!(
        "{{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"data\": {{\"{key}\": \"x\"}}}}"
    );
    let run = run_with(&["validate", "-f", "-"], &text);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    // YAML flow style begins like JSON.
    let run = run_with(
        &["validate", "-f", "-"],
        "{apiVersion: v1, kind: ConfigMap}",
    );
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let run = run_with(
        &["validate", "-f", "-"],
        "{\"apiVersion\": \"v1\"} {\"kind\": \"Pod\"}",
    );
    assert_eq!(
        (run.code, run.err.as_str()),
        (2, "error: standard input: expected one document, found 2\n")
    );
    let run = run_with(
        &["validate", "-f", "-"],
        "{\"apiVersion\": \"v1\",\n \"kind\" \"Pod\"}",
    );
    assert_eq!(
        run.err,
        "error: standard input: not valid JSON at line 2 column 9: expected `:`\n"
    );
    let run = run_with(
        &["validate", "-f", "-"],
        "{\"apiVersion\": \"v1\",\n \"apiVersion\": \"v2\"}",
    );
    assert_eq!(
        (run.code, run.err.as_str()),
        (
            2,
            "error: standard input: not valid JSON at line 2 column 13: duplicate key `apiVersion`\n"
        )
    );
}

#[test]
fn invalid_entries_are_refused_as_by_an_api_server() {
    let long = "m".repeat(200);
    let object = |manager: &str, fields: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x","managedFields":[{{"manager":"{manager}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:a":{{}}}}}}}}]}},"data":{{"a":"1"{fields}}}}}"#
        )
    };
    let folder = Folder::new(&[
        ("live.json", &object("ok", "")),
        ("long.json", &object(&long, "")),
        ("control.json", &object(r"a\u0007b", "")),
        ("patch.json", r#"{"data":{"b":"2"}}"#),
    ]);
    let refused = |arguments: &str| {
        let arguments = folder.line(arguments);
        let run = run(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(
            (run.code, run.out.as_str()),
            (1, ""),
            "{arguments}: {}",
            run.err
        );
        run.err
    };
    let too_long = "ConfigMap \"x\" is invalid: metadata.managedFields[0].manager: Too long: may not be more than 128 bytes";
    for arguments in [
        "update --manager m --live @/live.json -f @/long.json",
        "update --manager m --live @/live.json -f @/long.json --dry-run",
        "patch --manager a --live @/long.json -f @/patch.json",
    ] {
        // Ignored in the comparison: the order of entries depends on their times.
        let err = refused(arguments).replace("managedFields[1]", "managedFields[0]");
        assert_eq!(err, format!("error: {too_long}\n"), "{arguments}");
    }
    assert_eq!(
        refused("update --manager m --live @/live.json -f @/control.json"),
        "error: ConfigMap \"x\" is invalid: metadata.managedFields[0].manager: Invalid value: \"a\\ab\": \
         invalid character U+0007 (at position 1)\n"
    );
    let status = refused("update --manager m --live @/live.json -f @/long.json -o json");
    assert!(
        status.contains("\"code\": 422") && status.contains("\"reason\": \"Invalid\""),
        "{status}"
    );
}
