//! The walk takes linear time.

use super::*;
use crate::go::GoFile;

/// The number of lookups to add the unions of the source to a document.
fn steps(source: &str, document: &str) -> usize {
    let types = GoTypes::read(&[GoFile {
        path: "api/v1/t.go",
        import_path: None,
        text: source,
    }]);
    let (mut placed, mut faults) = (BTreeSet::new(), Vec::new());
    let mut place = DocumentWalk::new(&types, "crd.yaml", &mut placed, &mut faults);
    place.documents(document);
    place.steps
}

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

/// A kind whose field `spec` is a map of `Spec`.
fn source(fields: &str) -> String {
    format!(
        "package v1\n\n// +kubebuilder:object:root=true\ntype App struct {{\n\tSpec map[string]Spec `json:\"spec\"`\n\tList []*Deep `json:\"list\"`\n}}\n\ntype Spec struct {{\n{fields}}}\n"
    )
}

fn crd(versions: usize, properties: &str) -> String {
    let version = format!(
        "  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n            additionalProperties:\n              properties: {{{properties}}}\n"
    );
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g\n  names: {{kind: App}}\n  versions:\n{}",
        version.repeat(versions)
    )
}

fn optional(name: usize, markers: &str) -> String {
    format!("{markers}\tF{name} *int `json:\"f{name},omitempty\"`\n")
}

/// Creates inputs of a size: Go source and a document.
type Inputs = fn(usize) -> (String, String);

const INPUTS: [(&str, Inputs); 5] = [
    ("many places of a struct with many fields", |n| {
        (
            source(&lines(n, |i| optional(i, ""))),
            crd(n, "f0: {type: integer}"),
        )
    }),
    ("many places without the members of a large union", |n| {
        (
            source(&lines(n, |i| optional(i, "\t// +unionDeprecated\n"))),
            crd(n, "f0: {type: integer}"),
        )
    }),
    ("many places of a struct with many unions", |n| {
        let of = |i: usize| optional(i, &format!("\t// +k8s:unionMember(union: \"u{i}\")\n"));
        (source(&lines(n, of)), crd(n, "f0: {type: integer}"))
    }),
    (
        "one place of a struct with many fields in many unions",
        |n| {
            let of = |i: usize| optional(i, &format!("\t// +k8s:unionMember(union: \"u{i}\")\n"));
            (
                source(&lines(n, of)),
                crd(1, &lines(n, |i| format!("f{i}: {{type: integer}}, "))),
            )
        },
    ),
    ("many embedded structs, and many properties", |n| {
        let structs = lines(n, |i| {
            format!("type E{i} struct {{\n{}}}\n", optional(i, ""))
        });
        let source = source(&lines(n, |i| format!("\tE{i}\n"))) + &structs;
        (
            source,
            crd(1, &lines(n, |i| format!("f{i}: {{type: integer}}, "))),
        )
    }),
];

#[test]
fn steps_of_the_walk_grow_with_the_input() {
    const SIZE: usize = 500;
    for (name, inputs) in INPUTS {
        let measure = |size| {
            let (source, document) = inputs(size);
            (steps(&source, &document), source.len() + document.len())
        };
        let ((small, small_input), (large, large_input)) = (measure(SIZE), measure(4 * SIZE));
        let growth = large as f64 / small as f64;
        let input = large_input as f64 / small_input as f64;
        assert!(
            growth < 1.5 * input,
            "{name}: {small} steps, then {large} for {input:.1} times the input"
        );
    }
}
