//! The messages about files that cannot be read as scenarios.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use std::fs;
use std::path::{Path, PathBuf};

use fieldmanager_harness::{CheckError, Scenario, check, load};
use flate2::{Compression, write::GzEncoder};

/// A folder for one test, with files in it.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("errors")
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The error of loading a path in a folder, without the folder.
fn error(folder: &Path, path: &str) -> String {
    let errors = load([folder.join(path)]).unwrap_err();
    errors
        .to_string()
        .replace(&format!("{}/", folder.display()), "")
}

#[test]
fn invalid_scenarios_are_reported_with_position_and_path() {
    let head = "schema: {types: []}\nsteps:\n";
    for (document, message) in [
        ("[]", "line 1 column 1: expected map, got list"),
        (
            "{name: a, steps: []}",
            "line 1 column 1: field `schema` is missing",
        ),
        (
            "types: [{name: a}]",
            "line 1 column 1: field `steps` is missing, expected a scenario",
        ),
        (
            "schema: {}\nsteps: []\nstep: []",
            "line 3 column 1: unknown field `step`, accepted are name, why, source, since, \
             needs, schema, types, options, conversion and steps",
        ),
        (
            "name: 1\nsteps: []",
            "line 1 column 7: .name: expected string, got integer",
        ),
        (
            "name: ''\nsteps: []",
            "line 1 column 7: .name: expected a non-empty string, got an empty one",
        ),
        (
            "schema: [a]\nsteps: []",
            "line 1 column 9: .schema: expected the path of a file, `builtin:NAME` or an inline schema, got list",
        ),
        (
            "schema: none.yaml\nsteps: []",
            "line 1 column 9: .schema: none.yaml: cannot be read: No such file or directory (os error 2)",
        ),
        (
            "schema: {}\nsteps: {}",
            "line 2 column 8: .steps: expected list, got map",
        ),
        (
            "schema: {}\nsteps: []\ntypes: {v1: [a]}",
            "line 3 column 13: .types.v1: expected string, got list",
        ),
        (
            "schema: {}\nsteps: []\noptions: {union: false}",
            "line 3 column 11: .options: unknown field `union`, \
             accepted are unions, returnInputOnNoop, ignoredFields and onlyFields",
        ),
        (
            "schema: {}\nsteps: []\noptions: {unions: 1}",
            "line 3 column 19: .options.unions: expected boolean, got integer",
        ),
        (
            "schema: {}\nsteps: []\noptions:\n  ignoredFields: {v1: {f:a: {}}}\n  onlyFields: {v1: [.a]}",
            "line 5 column 3: .options: expected either `ignoredFields` or `onlyFields`, got both",
        ),
        (
            "schema: {}\nsteps: []\noptions: {ignoredFields: {v1: {a: {}}}}",
            "line 3 column 31: .options.ignoredFields.v1: key `a` is not a path element: expected a prefix like `f:`",
        ),
        (
            "schema: {}\nsteps: []\noptions: {onlyFields: {v1: [.a, .a..b]}}",
            "line 3 column 33: .options.onlyFields.v1[1]: `.a..b` is not a field path: expected a field name at byte 3",
        ),
        (
            "schema: {}\nsteps: []\nconversion: {served: v1}",
            "line 3 column 22: .conversion.served: expected list, got string",
        ),
        (
            "schema: {}\nsteps: []\nneeds: [telepathy]",
            "line 3 column 9: .needs[0]: unknown word `telepathy`, accepted are scale, status and unions",
        ),
        (
            "schema: {}\nsteps: []\nconversion: {rename: []}",
            "line 3 column 14: .conversion: unknown field `rename`, accepted are renames and served",
        ),
    ] {
        let found = Scenario::from_yaml(document).unwrap_err().to_string();
        assert_eq!(found, message, "{document}");
    }
    for (step, message) in [
        ("1", "line 3 column 3: .steps[0]: expected map, got integer"),
        (
            "{}",
            "line 3 column 3: .steps[0]: no step, accepted are apply, update, extractApply, changeSchema, patch, \
             validate, compare, merge, fieldset, remove, extract, set, normalize, \
             validateUnions, request, parallel, watch and wait",
        ),
        (
            "expects: {}",
            "line 3 column 3: .steps[0]: unknown step `expects`, accepted are apply, update, extractApply, \
             changeSchema, patch, validate, compare, merge, fieldset, remove, extract, set, normalize, \
             validateUnions, request, parallel, watch and wait, and expect, save and within beside one of them",
        ),
        (
            "{apply: {manager: a, apiVersion: v1, object: {}}, update: {}}",
            "line 3 column 53: .steps[0]: expected one step, got both `apply` and `update`",
        ),
        (
            "apply: {manager: a, apiVersion: v1}",
            "line 3 column 10: .steps[0].apply: field `object` is missing",
        ),
        (
            "update: {manager: a, apiVersion: 1, object: {}}",
            "line 3 column 36: .steps[0].update.apiVersion: expected string, got integer",
        ),
        (
            "update: {manager: a, apiVersion: v1, object: {}, force: true}",
            "line 3 column 52: .steps[0].update: unknown field `force`, accepted are manager, apiVersion and object",
        ),
        (
            "extract: {apiVersion: v1, object: {}, fields: {f:a: []}}",
            "line 3 column 49: .steps[0].extract.fields: not valid FieldsV1: \
             invalid type: sequence, expected an object of path elements, or null",
        ),
        (
            "fieldset: {apiVersion: v1, object: {}}\n  expect: {fields: null}",
            "line 4 column 20: .steps[0].expect.fields: expected FieldsV1, got null",
        ),
        (
            "set: {op: sum, lhs: {}}",
            "line 3 column 13: .steps[0].set.op: unknown word `sum`, \
             accepted are union, intersection, difference, recursiveDifference and leaves",
        ),
        (
            "set: {op: union, lhs: {}}",
            "line 3 column 8: .steps[0].set: field `rhs` is missing",
        ),
        (
            "changeSchema: {}",
            "line 3 column 17: .steps[0].changeSchema: field `schema` is missing",
        ),
        (
            "patch: {manager: a, apiVersion: v1, type: yaml, patch: {}}",
            "line 3 column 45: .steps[0].patch.type: unknown word `yaml`, accepted are json, merge and strategic",
        ),
        (
            "validate: {apiVersion: v1, object: {}}\n  expect: {object: {}}",
            "line 4 column 12: .steps[0].expect: unknown field `object`, accepted are error and message",
        ),
        (
            "validate: {apiVersion: v1, object: {}}\n  expect: {error: false}",
            "line 4 column 19: .steps[0].expect.error: expected true or a part of the message, got false",
        ),
        (
            "changeSchema: {schema: {}}\n  expect: {managed: }",
            "line 4 column 21: .steps[0].expect.managed: expected map, got null",
        ),
        (
            "changeSchema: {schema: {}}\n  expect: {managed: {a: {apiVersion: v1, operation: Create, fields: {}}}}",
            "line 4 column 53: .steps[0].expect.managed.a.operation: unknown word `Create`, \
             accepted are Apply and Update",
        ),
        (
            "changeSchema: {schema: {}}\n  expect: {conflicts: [{manager: a}]}",
            "line 4 column 24: .steps[0].expect.conflicts[0]: field `path` is missing",
        ),
        (
            "request: {manager: a}",
            "line 3 column 12: .steps[0].request: field `verb` is missing",
        ),
        (
            "request: {verb: patch, name: a}",
            "line 3 column 12: .steps[0].request: field `type` is missing: a patch has one, or a `contentType`",
        ),
        (
            "request: {verb: get}\n  expect: {code: fine}",
            "line 4 column 18: .steps[0].expect.code: expected a code such as 200, got \"fine\"",
        ),
        (
            "parallel: [{times: 5000, steps: []}]",
            "line 3 column 22: .steps[0].parallel[0].times: expected a number from 1 to 1000, got 5000",
        ),
        (
            "wait: -1",
            "line 3 column 9: .steps[0].wait: expected a number of seconds from 0 to 1000, got -1",
        ),
        (
            "validateUnions: {apiVersion: v1, new: {}}\n  expect: {faults: [{path: 1}]}",
            "line 4 column 28: .steps[0].expect.faults[0].path: expected string, got integer",
        ),
    ] {
        let found = Scenario::from_yaml(&format!("{head}- {step}\n"))
            .unwrap_err()
            .to_string();
        assert_eq!(found, message, "{step}");
    }
}

#[test]
fn unreadable_files_are_reported() {
    let good = "{schema: {types: []}, steps: []}\n";
    let stream =
        format!("# comment\n{good}---\n# more\n\nschema: {{}}\nsteps:\n- update: {{manager: 1}}\n");
    let cases = [
        (
            "a.yaml",
            "a: [1\n",
            "a.yaml: line 2 column 1: expected YAML: did not find expected ',' or ']' while parsing a flow sequence (line 1 column 4)",
        ),
        (
            "b.json",
            "{\n  \"a\" 1}\n",
            "b.json: line 2 column 7: expected JSON: expected `:`",
        ),
        (
            "c.yml",
            stream.as_str(),
            "c.yml: line 8 column 21: .steps[0].update.manager: expected string, got integer",
        ),
        (
            "d.jsonl",
            "{\"schema\": {}, \"steps\": []}\n\n{\"schema\": {}, \"steps\": [{}, 1]}\n",
            "d.jsonl: line 3 column 26: .steps[0]: no step, accepted are apply, update, extractApply, changeSchema, \
             patch, validate, compare, merge, fieldset, remove, extract, set, normalize, \
             validateUnions, request, parallel, watch and wait",
        ),
        (
            "e.jsonl",
            "{\"schema\": {}, \"steps\": []}\n{]\n",
            "e.jsonl: line 2 column 2: expected JSON: key must be a string",
        ),
        (
            "f.yaml",
            "# nothing\n---\n",
            "f.yaml: expected a document, found none",
        ),
        (
            "g.yaml",
            "{schema: {}, steps: []}\n---\na: 1\na: 2\n",
            "g.yaml: line 4 column 1: expected YAML: duplicate key `a`",
        ),
        (
            "h.yaml",
            "schema: bad/schema.yaml\nsteps: []\n",
            "h.yaml: line 1 column 9: .schema: bad/schema.yaml: line 1 column 8: expected YAML: did not find expected node content while parsing a flow node",
        ),
    ];
    let files: Vec<_> = cases.iter().map(|(name, text, _)| (*name, *text)).collect();
    let here = folder("unreadable", &files);
    fs::create_dir(here.join("bad")).unwrap();
    fs::write(here.join("bad/schema.yaml"), "a: {b: ]").unwrap();
    for (name, _, message) in cases {
        assert_eq!(error(&here, name), message);
    }
    assert_eq!(
        error(&here, "none.yaml"),
        "none.yaml: cannot be read: No such file or directory (os error 2)"
    );
    fs::write(here.join("i.yaml"), b"a: 1\nb: \xff\n").unwrap();
    assert_eq!(
        error(&here, "i.yaml"),
        "i.yaml: line 2 column 4: expected UTF-8, found other bytes"
    );
    fs::write(here.join("j.yaml.gz"), b"\x1f\x8bno gzip at all").unwrap();
    assert_eq!(
        error(&here, "j.yaml.gz"),
        "j.yaml.gz: cannot be read: invalid gzip header"
    );
}

#[test]
fn schemas_in_folders_are_skipped() {
    let scenario = "{schema: schema.yaml, steps: []}";
    let here = folder(
        "mixed",
        &[
            ("schema.yaml", "types: []"),
            ("crd.yml", "kind: CustomResourceDefinition"),
            ("openapi.json", "{\"openapi\": \"3.0.0\"}"),
            ("notes.txt", "no: scenario: here"),
            (".hidden/a.yaml", "no: scenario: here"),
            ("empty.yaml", ""),
            ("b/a.yaml", "{schema: ../schema.yaml, steps: []}"),
            ("c.yaml", scenario),
        ],
    );
    let compress = |name: &str, text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        fs::write(here.join(name), encoder.finish().unwrap()).unwrap();
    };
    compress(
        "d.jsonl.gz",
        "{\"schema\": \"types.json.gz\", \"steps\": []}\n{\"schema\": {}, \"steps\": []}\n",
    );
    compress("types.json.gz", "{\"types\": []}");
    let found = load([&here]).unwrap();
    let origins: Vec<_> = found
        .iter()
        .map(|scenario| scenario.origin.to_string())
        .collect();
    let at = |place: &str| format!("{}/{place}", here.display());
    assert_eq!(
        origins,
        [
            at("b/a.yaml: line 1 column 1"),
            at("c.yaml: line 1 column 1"),
            at("d.jsonl.gz: line 1 column 1"),
            at("d.jsonl.gz: line 2 column 1"),
        ]
    );
    assert_eq!(
        error(&here, "schema.yaml"),
        "schema.yaml: line 1 column 1: field `steps` is missing, expected a scenario"
    );
    // Every file that cannot be read is named.
    fs::write(here.join("e.yaml"), "kind: Pod").unwrap();
    fs::write(here.join("f.yaml"), "a: b: c").unwrap();
    assert_eq!(
        error(&here, ""),
        "e.yaml: line 1 column 1: expected a scenario, which has `steps`, or a schema, which has `types`\n\
         f.yaml: line 1 column 5: expected YAML: mapping values are not allowed in this context"
    );
}

#[test]
fn check_reports_failures() {
    let here = folder("checks", &[("empty/schema.yaml", "types: []")]);
    let nothing = check([here.join("empty")]).unwrap_err();
    assert_eq!(
        format!("{nothing:?}"),
        "expected at least one scenario, found none"
    );
    let unreadable = check(["no/such/file"]).unwrap_err();
    assert!(matches!(unreadable, CheckError::Unreadable(_)));
    fs::write(
        here.join("a.yaml"),
        "{name: bad, schema: {types: 1}, steps: []}",
    )
    .unwrap();
    let failed = check([here.join("a.yaml")]).unwrap_err();
    assert_eq!(
        format!("{failed:?}").replace(&format!("{}/", here.display()), ""),
        "FAIL bad\n  a.yaml: line 1\n  schema: .types: expected list, got integer\n\n0 passed, 1 failed"
    );
}
