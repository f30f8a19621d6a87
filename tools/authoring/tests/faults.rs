//! Faults of markers and documents, with their positions, all reported at once.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot continue must fail"
)]

use fieldmanager_authoring::internal::{Document, GoFile, GoTypes, insert};

/// The faults of the fields of a struct that starts in line 2, and of the constants after it.
fn faults(body: &str) -> Vec<String> {
    let text = format!("package v1\n{body}\n");
    let types = GoTypes::read(&[GoFile {
        path: "t.go",
        import_path: None,
        text: &text,
    }]);
    types.faults().iter().map(ToString::to_string).collect()
}

const ENUM: &str = "// +enum\ntype T string\nconst (\n\tA T = \"A\"\n\tB T = \"B\"\n)\n";

fn check(rows: &[(&str, &[&str])]) {
    for (body, expected) in rows {
        assert_eq!(faults(&format!("{body}\n{ENUM}")), *expected, "{body}");
    }
}

#[test]
fn unexpected_marker_arguments_are_faults() {
    check(&[
        (
            "type S struct {\n\t// +unionDiscriminator=x\n\tType T `json:\"type\"`\n\t// +unionMember=A,maybe\n\t// +optional\n\tA *int `json:\"a\"`\n\t// +unionMember A\n\tB *int `json:\"b,omitempty\"`\n}",
            &[
                "t.go:3:5: `+unionDiscriminator` takes no argument, got `=x`",
                "t.go:5:5: `+unionMember` with the unknown argument `maybe`: expected `optional`",
                "t.go:8:5: `+unionMember` with `A`: expected `=<name>` or `,optional`",
            ],
        ),
        (
            "// +union=yes\ntype S struct {\n\t// +unionMembers\n\tA *int `json:\"a,omitempty\"`\n\t// +union\n\tB *int `json:\"b,omitempty\"`\n}",
            &[
                "t.go:2:4: `+union` takes no argument, got `=yes`",
                "t.go:4:5: unknown marker `+unionMembers`: expected one of `union`, `unionDeprecated`, `unionDiscriminator`, `unionMember`, `unionDiscriminatedBy`",
                "t.go:6:5: `+union` on a field: it belongs to a struct",
            ],
        ),
        (
            "type S struct {\n\t// +k8s:unionMember(union: \"a\", optional: true)\n\tA *int `json:\"a\"`\n\t// +k8s:unionMember(\"x\")\n\tB *int `json:\"b\"`\n\t// +k8s:unionMember(union: \"a\"=x\n\tC *int `json:\"c\"`\n\t// +k8s:unionMember=x\n\tD []int `json:\"d\"`\n\t// +k8s:unions\n\tE []int `json:\"e\"`\n}",
            &[
                "t.go:3:5: `+k8s:unionMember` with the unknown argument `optional`: expected `union`, `memberName`, with a value",
                "t.go:5:5: `+k8s:unionMember` with the unknown argument `x`: expected `union`, `memberName`, with a value",
                "t.go:7:5: `+k8s:unionMember(union: \"a\"=x`: expected `,` or `)`, got `=`",
                "t.go:9:5: `+k8s:unionMember` takes no value, got `x`",
                "t.go:11:5: unknown marker `+k8s:unions`: expected one of `k8s:unionDiscriminator`, `k8s:unionMember`, `k8s:zeroOrOneOfMember`",
            ],
        ),
    ]);
}

#[test]
fn unions_that_violate_the_proposals_are_faults() {
    check(&[
        (
            "type S struct {\n\t// +unionMember\n\tA *int `json:\"a,omitempty\"`\n}",
            &[
                "t.go:3:5: member `A` has no discriminator: `+unionDiscriminator` on a field of the struct makes one",
            ],
        ),
        (
            "type S struct {\n\t// +unionDiscriminator\n\tType string `json:\"type\"`\n\t// +unionMember\n\tA *int `json:\"a,omitempty\"`\n}",
            &[
                "t.go:4:2: discriminator `Type` is a string without a list of values: expected a string type with constants (`+enum`)",
            ],
        ),
        (
            "type S struct {\n\t// +unionDiscriminator\n\tType int `json:\"type\"`\n\t// +unionMember\n\tA *int `json:\"a,omitempty\"`\n}",
            &[
                "t.go:4:2: discriminator `Type` is not a string enum, got int: expected a string type with constants (`+enum`)",
            ],
        ),
        (
            "type S struct {\n\t// +unionDiscriminator\n\tType T `json:\"type\"`\n\t// +unionMember=C\n\tA *int `json:\"a,omitempty\"`\n\t// +unionMember=B\n\tB *int `json:\"b\"`\n\t// +unionMember=B\n\tC *int `json:\"c,omitempty\"`\n}",
            &[
                "t.go:5:5: \"C\" is not a value of the discriminator `Type`: expected one of \"A\", \"B\"",
                "t.go:7:5: member `B` is required: a member must be optional (`+optional` or `omitempty`)",
                "t.go:9:5: value \"B\" selects two members, `b` and `c`: expected distinct values",
            ],
        ),
        (
            "type S struct {\n\t// +unionDiscriminator\n\tType *T `json:\"type,omitempty\"`\n\t// +unionMember\n\tA *int `json:\"a,omitempty\"`\n}",
            &[
                "t.go:4:2: discriminator `Type` is a pointer: expected a string type with constants (`+enum`)",
                "t.go:4:2: discriminator `Type` is optional: it must be required, have a `+default`, or have the value \"\"",
            ],
        ),
        (
            "type S struct {\n\t// +unionDiscriminator\n\tP T `json:\"p\"`\n\t// +unionDiscriminator\n\tQ T `json:\"q\"`\n\t// +unionMember\n\tA *int `json:\"a,omitempty\"`\n\t// +unionMember\n\t// +unionDiscriminatedBy=q\n\tB *int `json:\"b,omitempty\"`\n\t// +unionDiscriminatedBy=Q\n\tC *int `json:\"c,omitempty\"`\n}",
            &[
                "t.go:7:5: member `A` does not name its union, of which there are several: expected `+unionDiscriminatedBy=` with one of `P`, `Q`",
                "t.go:10:5: `q` is not a discriminator of the struct: expected one of `P`, `Q`",
                "t.go:12:5: `+unionDiscriminatedBy` on `C`, which is not a member: `+unionMember` makes it one",
            ],
        ),
        (
            "// +union\ntype S struct {\n\tO `json:\",inline\"`\n\t// +unionDiscriminator\n\tType T `json:\"type\"`\n\t// +unionDiscriminator\n\tKind int `json:\"kind,omitempty\"`\n\t// +unionDeprecated\n\t// +optional\n\tA *int `json:\"a\"`\n\tB int `json:\"b\"`\n}\ntype O struct{}",
            &[
                "t.go:4:2: `O` is embedded in a `+union` struct, whose fields are all members",
                "t.go:7:5: `Kind` is a second discriminator beside `Type`: a struct has one",
                "t.go:9:5: `+unionDeprecated` in a `+union` struct, whose fields are all members: remove one of them",
                "t.go:12:2: member `B` is required: a member must be optional (`+optional` or `omitempty`)",
            ],
        ),
        (
            "import other \"example.com/other/api\"\ntype S struct {\n\t// +unionDiscriminator\n\tType other.T `json:\"type\"`\n\t// +unionMember\n\tA *int `json:\"a,omitempty\"`\n}",
            &[
                "t.go:5:2: discriminator `Type` has the type other.T, whose package was not read: expected a string type with constants (`+enum`)",
            ],
        ),
        (
            "// +union\ntype S string",
            &["t.go:2:4: `+union` on `S`, which is not a struct"],
        ),
        (
            "type S struct {\n\t// +k8s:unionMember(union: \"a\")\n\t// +k8s:zeroOrOneOfMember(union: \"b\")\n\tA *int `json:\"a\"`\n\t// +k8s:unionMember(union: \"a\")\n\tB O `json:\"b\"`\n\t// +k8s:unionDiscriminator(union: \"c\")\n\tC T `json:\"c\"`\n\t// +k8s:ifEnabled(X)=+k8s:unionMember\n\tD *int `json:\"d\"`\n}\ntype O struct{}",
            &[
                "t.go:3:5: member `a` is in two unions, one without a discriminator and one without a discriminator: expected at most one",
                "t.go:6:5: member `B` is always set: expected a pointer, a list, a map or a scalar",
                "t.go:9:2: discriminator `C` has no members: `+k8s:unionMember` on a field makes one",
                "t.go:10:5: `+k8s:ifEnabled` contains `+k8s:unionMember`: accepted enclosing tags are `k8s:alpha`, `k8s:beta`",
            ],
        ),
    ]);
}

#[test]
fn discriminator_without_members_is_a_warning() {
    let body = "type S struct {\n\t// +unionDiscriminator\n\tType T `json:\"type\"`\n}";
    let text = format!("package v1\n{body}\n{ENUM}");
    let types = GoTypes::read(&[GoFile {
        path: "t.go",
        import_path: None,
        text: &text,
    }]);
    assert_eq!((types.faults(), types.unions()), (&[][..], 0));
    let warnings: Vec<String> = types.warnings().iter().map(ToString::to_string).collect();
    let expected = "t.go:3:5: discriminator `Type` has no members and declares no union: `+unionMember` on a field makes a member";
    assert_eq!(warnings, [expected]);
}

const SOURCE: &str = "// +groupName=example.com\npackage v1\n\n// +kubebuilder:object:root=true\ntype App struct {\n\tSpec Spec `json:\"spec\"`\n}\n\ntype Spec struct {\n\t// +unionDeprecated\n\tGit *string `json:\"git,omitempty\"`\n\t// +unionDeprecated\n\tImage *string `json:\"image,omitempty\"`\n}\n\n// +union\ntype Lost struct {\n\tA *int `json:\"a,omitempty\"`\n}\n";

fn crd(kind: &str, versions: &[(&str, &str)]) -> String {
    let mut text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: example.com\n  names: {{kind: {kind}}}\n  versions:\n"
    );
    for (version, properties) in versions {
        text += &format!(
            "  - name: {version}\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n            properties: {properties}\n"
        );
    }
    text
}

fn placed(text: &str) -> Vec<String> {
    let types = GoTypes::read(&[GoFile {
        path: "api/v1/t.go",
        import_path: None,
        text: SOURCE,
    }]);
    let faults = insert(
        &types,
        &[Document {
            name: "crd.yaml",
            text,
        }],
    )
    .unwrap_err();
    faults.to_string().lines().map(str::to_owned).collect()
}

#[test]
fn missing_structs_and_fields_in_documents_are_faults() {
    let lost =
        "api/v1/t.go:17:6: `Lost` declares a union but occurs in no document: searched `crd.yaml`";
    let expected = [
        "api/v1/t.go:12:5: field `image` of a union is not in crd.yaml at .spec.versions[0].schema.openAPIV3Schema.properties.spec: its properties are `git`",
        lost,
        "crd.yaml:13:5: .spec.versions[1]: version `v2` of App: no Go type `App` of example.com/v2: there are example.com/v1 (api/v1/t.go)",
    ];
    let both = crd(
        "App",
        &[
            ("v1", "{git: {type: string}}"),
            ("v2", "{git: {type: string}, image: {type: string}}"),
        ],
    );
    assert_eq!(placed(&both), expected);
    let spec =
        "api/v1/t.go:9:6: `Spec` declares a union but occurs in no document: searched `crd.yaml`";
    let expected = [
        lost,
        spec,
        "crd.yaml:7:5: .spec.versions[0]: version `v1` of Other: no Go type `Other`: expected a struct of that name with `+kubebuilder:object:root=true` or with TypeMeta",
    ];
    let mut found = placed(&crd("Other", &[("v1", "{}")]));
    found.sort();
    let mut expected = expected.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(found, expected);
    for (text, message) in [
        (
            "kind: Pod\napiVersion: v1\n",
            "crd.yaml:1:1: expected a CustomResourceDefinition of apiextensions.k8s.io/v1 or an OpenAPI document, got v1 Pod",
        ),
        (
            "",
            "crd.yaml: no document found: expected CustomResourceDefinitions or an OpenAPI document",
        ),
        ("a: [", "crd.yaml: not valid YAML at line 1 column 5: "),
    ] {
        let found = placed(text);
        assert!(
            found.iter().any(|line| line.starts_with(message)),
            "{found:?}"
        );
    }
    let aliased = both.replace("  - name: v2\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n            properties: {git: {type: string}, image: {type: string}}\n", "").replace("{git: {type: string}}", "&p {git: {type: string}, image: {type: string}}").replace("          spec:\n", "          spec: &s\n");
    let aliased = format!("{aliased}            type: object\n          other: *s\n");
    // An edit would also change the uses of the alias.
    let refused = "crd.yaml:11:11: .spec.versions[0].schema.openAPIV3Schema.properties.spec: an entry cannot be added to a document in this form: expected YAML in block style, or JSON";
    assert_eq!(placed(&aliased), [lost, refused]);
}

#[test]
fn search_for_faults_stops_at_the_limit() {
    let kinds: String = (0..2000)
        .map(|i| crd(&format!("Other{i}"), &[("v1", "{}")]) + "---\n")
        .collect();
    let found = placed(&kinds);
    let ended = "crd.yaml: there may be more faults: the search ended at 1000";
    assert!(found.iter().any(|line| line == ended), "{:?}", &found[..3]);
    assert!(found.len() < 1010, "{}", found.len());
}

#[test]
fn struct_with_too_many_embedded_structs_is_a_fault() {
    let embedded: String = (0..100).map(|i| format!("\tE{i}\n")).collect();
    let structs: String = (0..100)
        .map(|i| format!("type E{i} struct {{ F{i} int `json:\"f{i}\"` }}\n"))
        .collect();
    let source = format!(
        "package v1\n\n// +kubebuilder:object:root=true\ntype App struct {{\n{embedded}}}\n{structs}"
    );
    let types = GoTypes::read(&[GoFile {
        path: "v1/t.go",
        import_path: None,
        text: &source,
    }]);
    let text = crd("App", &[("v1", "{}")]);
    let faults = insert(
        &types,
        &[Document {
            name: "crd.yaml",
            text: &text,
        }],
    )
    .unwrap_err()
    .to_string();
    assert_eq!(
        faults,
        "v1/t.go:69:2: `E64` exceeds the limit on embedded structs: expected at most 64 in a struct, including nested ones"
    );
}
