//! `unions`: adds the unions that Go markers declare to documents.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue must fail")]

use crate::common::{Folder, line, run_with};

const GO: &str = "examples/unions/go";
const CRD: &str = "examples/unions/go/program-crd.yaml";

fn crd() -> String {
    std::fs::read_to_string(format!("../../{CRD}")).unwrap()
}

/// The definition with its unions.
fn complete() -> String {
    let run = line(&format!("unions --go {GO} --crd {CRD}"));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    run.out
}

#[test]
fn unions_only_adds_lines() {
    let (before, after) = (crd(), complete());
    let mut lines = after.lines();
    assert!(
        before.lines().all(|line| lines.any(|other| other == line)),
        "{after}"
    );
    assert_eq!(after.lines().count(), before.lines().count() + 14);
    let again = run_with(&["unions", "--go", GO, "--crd", "-"], &after);
    assert_eq!((again.code, again.out), (0, after));
}

#[test]
fn check_compares_and_in_place_writes() {
    let folder = Folder::new(&[("a.yaml", &crd()), ("b.yaml", &complete())]);
    let check = folder.line(&format!("unions --go {GO} --crd @/a.yaml @/b.yaml --check"));
    let run = line(&check);
    let told = "@/a.yaml: 2 places are different from what the Go source declares: --in-place changes the file\n";
    assert_eq!(
        (
            run.code,
            folder.shortened(&run.out).as_str(),
            run.err.as_str()
        ),
        (1, told, "")
    );
    let run = line(&folder.line(&format!(
        "unions --go {GO} --crd @/a.yaml --crd @/b.yaml --in-place"
    )));
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", ""));
    assert_eq!(
        std::fs::read_to_string(folder.path().join("a.yaml")).unwrap(),
        complete()
    );
    let run = line(&check);
    assert_eq!((run.code, run.out.as_str()), (0, ""));
}

#[test]
fn out_dir_receives_documents_under_their_file_names() {
    let folder = Folder::new(&[("a.yaml", &crd())]);
    let run = line(&folder.line(&format!(
        "unions --go {GO} --crd @/a.yaml {CRD} --out-dir @/new/folder"
    )));
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", ""));
    for name in ["a.yaml", "program-crd.yaml"] {
        assert_eq!(
            std::fs::read_to_string(folder.path().join("new/folder").join(name)).unwrap(),
            complete()
        );
    }
    assert_eq!(
        std::fs::read_to_string(folder.path().join("a.yaml")).unwrap(),
        crd()
    );
}

#[test]
fn conflicting_arguments_are_refused() {
    let folder = Folder::new(&[("readme.md", ""), ("two_test.go", "package a")]);
    for (arguments, message) in [
        (
            format!("unions --go {GO} --crd {CRD} {CRD}"),
            "error: several documents: --in-place changes the files, --out-dir writes others, --check compares\n",
        ),
        (
            format!("unions --go {GO} --crd - --in-place"),
            "error: standard input cannot be changed: name a file, or leave out --in-place\n",
        ),
        (
            format!("unions --go {GO} --crd {CRD} ./{CRD} --out-dir @/out"),
            "error: several documents with the file name `program-crd.yaml`: --out-dir needs a name of its own for each\n",
        ),
        (
            format!("unions --go @ --crd {CRD}"),
            "error: @: no Go source: expected a file `*.go` or a folder that contains one\n",
        ),
        (
            format!("unions --go @/none --crd {CRD}"),
            "error: @/none: cannot be read: no such file or folder\n",
        ),
    ] {
        let run = line(&folder.line(&arguments));
        assert_eq!(
            (
                run.code,
                run.out.as_str(),
                folder.shortened(&run.err).as_str()
            ),
            (2, "", message),
            "{arguments}"
        );
    }
    assert_eq!(
        line(&format!("unions --go {GO}")).code,
        2,
        "a document is needed"
    );
}

#[test]
fn discriminator_without_members_is_a_warning() {
    let types = "package v1\n\n// +kubebuilder:object:root=true\ntype Program struct {\n\t// +unionDiscriminator\n\tType string `json:\"type\"`\n}\n";
    let folder = Folder::new(&[("types.go", types)]);
    let run = line(&folder.line(&format!("unions --go @/types.go --crd {CRD}")));
    let warning = "warning: @/types.go:5:5: discriminator `Type` has no members and declares no union: `+unionMember` on a field makes a member\n";
    assert_eq!(
        (run.code, run.out, folder.shortened(&run.err).as_str()),
        (0, crd(), warning)
    );
}

#[test]
fn schema_check_reports_unions_that_contradict_the_structural_schema() {
    let broken = complete()
        .replace("required: [type]", "required: [type, git]")
        .replace(
            "                    type: string\n                    x-kubernetes-unions",
            "                    type: integer\n                    x-kubernetes-unions",
        );
    let newer = broken.split_once("  - name: v1\n").unwrap().1;
    let newer = newer
        .replace("storage: true", "storage: false")
        .replace("                    wait: {type: string}\n", "")
        .replace("                      wait: Wait\n", "");
    let folder = Folder::new(&[("crd.yaml", &format!("{broken}  - name: v2\n{newer}"))]);
    let run = line(&folder.line("schema check @/crd.yaml"));
    let at = |version: usize| {
        format!("  spec.versions[{version}].schema.openAPIV3Schema.properties[spec].properties")
    };
    let ty = "[source].properties[type].x-kubernetes-unions: Invalid value:";
    let both = |version: usize| {
        format!(
            "{0}{ty} \"git\": is required: a member of a union must be optional\n\
             {0}{ty} \"type\": has the type integer: a discriminator must be a string\n",
            at(version)
        )
    };
    let pruned = format!(
        "{}[steps].items.x-kubernetes-unions[0]: Invalid value: \"wait\": is pruned in version `v2`, which does not have the field\n",
        at(0)
    );
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    assert_eq!(
        folder.shortened(&run.out),
        format!(
            "@/crd.yaml: programs.example.com: 5 faults\n{}{}{pruned}",
            both(0),
            both(1)
        )
    );
}

#[test]
fn schema_show_and_check_print_union_origins() {
    let run = run_with(&["schema", "check", "-"], &complete());
    let ty = "union of git, image by type: .properties.spec.properties.source.properties.type.x-kubernetes-unions, object form\n";
    let steps = "union of run, wait: .properties.spec.properties.steps.items.x-kubernetes-unions[0], list form\n";
    let expected = format!(
        "standard input: programs.example.com: valid, structural at v1\n  `com.example.v1.Program`: {ty}  `com.example.v1.Program`: {steps}"
    );
    assert_eq!((run.code, run.out), (0, expected));
    let run = run_with(
        &["schema", "show", "Program", "--schema", "-", "--depth", "1"],
        &complete(),
    );
    assert!(
        run.out.ends_with(&format!("\n\n{ty}{steps}")),
        "{}",
        run.out
    );
    let run = line("schema show app --schema examples/unions/schema.yaml");
    assert_eq!(run.code, 0, "{}", run.err);
    let run = line("schema show source --schema examples/unions/schema.yaml");
    assert!(
        run.out
            .ends_with("\n\nunions: `unions` of the type in examples/unions/schema.yaml\n"),
        "{run:?}"
    );
}
