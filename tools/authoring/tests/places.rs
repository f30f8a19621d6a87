//! Unions are added to every version of a definition and to every definition of an OpenAPI document, for all files and
//! packages of the source.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot continue must fail"
)]

use fieldmanager_authoring::internal::{Document, GoFile, GoTypes, insert};
use fieldmanager_openapi::{Importer, Types};
use fieldmanager_value::Value;

const SHARED: &str =
    "package shared\n\n// +enum\ntype Kind string\n\nconst (\n\tX Kind = \"X\"\n)\n";
const MORE: &str = "package more\n\nimport \"example.com/m/shared\"\n\nconst Y shared.Kind = \"Y\"\n\nconst Z = shared.Kind(\"\")\n";
const TYPES: &str = "// +groupName=example.com
package VERSION

import (
	metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"

	s \"example.com/m/shared\"
)

type App struct {
	metav1.TypeMeta `json:\",inline\"`
	Spec  *Spec            `json:\"spec\"`
	Named map[string]Spec `json:\"named\"`
	List  []*Spec          `json:\"list\"`
	Own   struct {
		Inner Spec `json:\"inner\"`
	} `json:\"own\"`
}

type Alias = Spec

type Spec struct {
	Embedded `json:\",inline\"`
	*Other
	Next *Alias `json:\"next\"`
}

type Embedded struct {
	// +unionDiscriminator
	Kind s.Kind `json:\"kind\"`
	// +unionMember
	// +unionDiscriminatedBy=Kind
	X *int `json:\"x,omitempty\"`
	// +unionMember=Y,optional
	// +unionDiscriminatedBy=Kind
	Why *int `json:\"why,omitempty\"`
	// +unionDiscriminator
	// +kubebuilder:validation:Enum=One;Two
	Second string `json:\"second\"`
	// +unionMember
	// +unionDiscriminatedBy=Second
	One *int `json:\"one,omitempty\"`
}

type Other struct {
	// +k8s:zeroOrOneOfMember(union: \"a\")
	P *int `json:\"p,omitempty\"`
	// +k8s:zeroOrOneOfMember(union: \"a\", memberName: \"Queue\")
	Q *int `json:\"q,omitempty\"`
	// +k8s:alpha(since: \"1.37\")=+k8s:unionMember(union: \"b\")
	R []int `json:\"r,omitempty\"`
	// +k8s:unionMember(union: \"b\")
	T string `json:\"t,omitempty\"`
	// +k8s:unionDiscriminator
	D s.Kind `json:\"d\"`
	// +k8s:unionMember(memberName: \"X\")
	E *int `json:\"e,omitempty\"`
}
";

fn types() -> GoTypes {
    let versions = ["v1", "v1beta1"].map(|version| {
        (
            format!("m/api/{version}/types.go"),
            TYPES.replace("VERSION", version),
        )
    });
    let mut files = vec![
        GoFile {
            path: "m/shared/t.go",
            import_path: Some("example.com/m/shared"),
            text: SHARED,
        },
        GoFile {
            path: "m/more/t.go",
            import_path: Some("example.com/m/more"),
            text: MORE,
        },
    ];
    files.extend(versions.iter().map(|(path, text)| GoFile {
        path,
        import_path: None,
        text,
    }));
    let types = GoTypes::read(&files);
    assert_eq!(types.faults(), []);
    types
}

fn spec(indent: usize, nested: bool) -> String {
    let pad = " ".repeat(indent);
    let mut text = format!("{pad}type: object\n{pad}properties:\n");
    for name in [
        "kind", "x", "why", "second", "one", "p", "q", "r", "t", "d", "e",
    ] {
        text += &format!("{pad}  {name}: {{type: string}}\n");
    }
    if nested {
        text += &format!("{pad}  next:\n{}", spec(indent + 4, false));
    }
    text
}

fn crd() -> String {
    let mut text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: apps.example.com}\nspec:\n  group: example.com\n  names: {kind: App, plural: apps}\n  scope: Cluster\n  versions:\n".to_owned();
    for version in ["v1", "v1beta1"] {
        text += &format!(
            "  - name: {version}\n    served: true\n    storage: {}\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n",
            version == "v1"
        );
        text += &format!("          spec:\n{}", spec(12, true));
        text += &format!(
            "          named:\n            type: object\n            additionalProperties:\n{}",
            spec(14, false)
        );
        text += &format!(
            "          list:\n            type: array\n            items:\n{}",
            spec(14, false)
        );
        text += &format!(
            "          own:\n            type: object\n            properties:\n              inner:\n{}",
            spec(16, false)
        );
    }
    text
}

const KIND: &str = r#"{"fieldMembers":{"":null,"X":{"name":"x","optional":false},"Y":{"name":"why","optional":true}}}"#;
const SECOND: &str = r#"{"fieldMembers":{"One":{"name":"one","optional":false},"Two":null}}"#;
const D: &str = r#"{"fieldMembers":{"":null,"X":{"name":"e","optional":false},"Y":null}}"#;
const LIST: &str = r#"[{"fields-to-discriminateBy":{"p":"P","q":"Queue"}},{"fields-to-discriminateBy":{"r":"R","t":"T"},"required":true}]"#;

/// Whether a schema of `Spec` has all unions of `Spec`.
fn has_all(schema: &Value) -> bool {
    let at = |name: &str| {
        schema
            .get("properties")
            .and_then(|p| p.get(name)?.get("x-kubernetes-unions"))
            .map(Value::to_json)
    };
    let own = schema.get("x-kubernetes-unions").map(Value::to_json);
    let found = [own, at("kind"), at("second"), at("d")];
    found == [LIST, KIND, SECOND, D].map(|text| Some(text.to_owned()))
}

#[test]
fn unions_are_added_at_every_place_of_every_version() {
    let text = crd();
    let out = &insert(
        &types(),
        &[Document {
            name: "crd.yaml",
            text: &text,
        }],
    )
    .unwrap()[0];
    // Two versions with five places each, and five unions at each place.
    assert_eq!((out.unions, out.changes), (50, 40));
    let value = Value::from_yaml(&out.text).unwrap();
    for version in value
        .get("spec")
        .unwrap()
        .get("versions")
        .unwrap()
        .as_list()
        .unwrap()
    {
        let schema = version
            .get("schema")
            .unwrap()
            .get("openAPIV3Schema")
            .unwrap();
        let at = |path: &[&str]| {
            path.iter()
                .fold(schema, |at, name| at.get(name).unwrap())
                .clone()
        };
        for path in [
            &["properties", "spec"][..],
            &["properties", "spec", "properties", "next"],
            &["properties", "named", "additionalProperties"],
            &["properties", "list", "items"],
            &["properties", "own", "properties", "inner"],
        ] {
            assert!(has_all(&at(path)), "{path:?}");
        }
    }
    let again = &insert(
        &types(),
        &[Document {
            name: "crd.yaml",
            text: &out.text,
        }],
    )
    .unwrap()[0];
    assert_eq!((&again.text, again.changes), (&out.text, 0));
    let imported = Types::load_all(&[value], &Importer::new()).unwrap();
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
}

#[test]
fn openapi_definitions_are_found_by_name_and_kind() {
    let json = |name: &str, schema: &str| {
        format!(
            "    {name:?}: {}",
            Value::from_yaml(schema)
                .unwrap()
                .to_json_pretty()
                .trim_end()
                .replace('\n', "\n    ")
        )
    };
    let reference = "{type: object, properties: {spec: {$ref: '#/definitions/v1.Spec'}}, x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: App}]}";
    let text = format!(
        "{{\n  \"swagger\": \"2.0\",\n  \"definitions\": {{\n{},\n{},\n{}\n  }}\n}}\n",
        json("any.name", reference),
        json("com.example.v1.Spec", &spec(0, false)),
        json("com.example.v1beta1.Spec", &spec(0, false)),
    );
    let out = &insert(
        &types(),
        &[Document {
            name: "openapi.json",
            text: &text,
        }],
    );
    // Embedded structs have no definition of their own.
    let out = &out.as_ref().unwrap()[0];
    assert_eq!((out.unions, out.changes), (10, 8));
    let value = Value::from_json(&out.text).unwrap();
    for name in ["com.example.v1.Spec", "com.example.v1beta1.Spec"] {
        assert!(
            has_all(value.get("definitions").unwrap().get(name).unwrap()),
            "{}",
            out.text
        );
    }
    assert_eq!(
        insert(
            &types(),
            &[Document {
                name: "openapi.json",
                text: &out.text
            }]
        )
        .unwrap()[0]
            .text,
        out.text
    );
    let text = text
        .replace("com.example.v1.Spec", "example.com/api/v1.Spec")
        .replace("\"definitions\"", "\"$defs\"");
    assert_eq!(
        insert(
            &types(),
            &[Document {
                name: "openapi.json",
                text: &text
            }]
        )
        .unwrap()[0]
            .unions,
        10
    );
}

#[test]
fn different_union_is_replaced_and_reordered_union_is_kept() {
    let source = "package api\n\n// +kubebuilder:object:root=true\ntype App struct {\n\t// +unionDeprecated\n\tA *int `json:\"a,omitempty\"`\n\t// +unionDeprecated\n\tB *int `json:\"b,omitempty\"`\n\t// +k8s:unionMember\n\tC *int `json:\"c,omitempty\"`\n}\n";
    let types = GoTypes::read(&[GoFile {
        path: "api/t.go",
        import_path: None,
        text: source,
    }]);
    let text = |unions: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g\n  names: {{kind: App}}\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties: {{a: {{}}, b: {{}}, c: {{}}}}\n        x-kubernetes-unions:{unions}\n        type: object # last\n"
        )
    };
    let run = |text: &str| {
        insert(&types, &[Document { name: "c", text }])
            .unwrap()
            .remove(0)
    };
    let kept = text(
        " [{fields-to-discriminateBy: {c: C}, required: true}, {fields-to-discriminateBy: {b: B, a: A}}]",
    );
    assert_eq!((run(&kept).text, run(&kept).changes), (kept.clone(), 0));
    let new = "\n        - fields-to-discriminateBy:\n            a: A\n            b: B\n        - fields-to-discriminateBy:\n            c: C\n          required: true";
    for old in [" []", "\n        - discriminator: a", " # none"] {
        assert_eq!(run(&text(old)).changes, 1, "{old}");
        let found = run(&text(old)).text;
        assert_eq!(found.replace(" # none", ""), text(new), "{old}");
    }
}

#[test]
fn recursive_embedding_terminates() {
    let source = "package v1\n\n// +kubebuilder:object:root=true\ntype App struct {\n\t*App `json:\",inline\"`\n\t*B `json:\",inline\"`\n\t// +unionDeprecated\n\tA *int `json:\"a,omitempty\"`\n}\n\ntype B struct {\n\t*App\n\t*B `json:\",inline\"`\n}\n\ntype L L\n\ntype M N\n\ntype N M\n\ntype U struct {\n\t// +k8s:unionDiscriminator\n\tL L `json:\"l\"`\n\t// +k8s:unionMember\n\tM M `json:\"m\"`\n}\n";
    let types = GoTypes::read(&[GoFile {
        path: "v1/t.go",
        import_path: None,
        text: source,
    }]);
    assert_eq!(
        (types.unions(), types.faults().len()),
        (1, 1),
        "{:?}",
        types.faults()
    );
    let source = source.split_once("type U").unwrap().0;
    let types = GoTypes::read(&[GoFile {
        path: "v1/t.go",
        import_path: None,
        text: source,
    }]);
    let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g\n  names: {kind: App}\n  versions:\n  - name: v1\n    schema: {openAPIV3Schema: {properties: {a: {}}}}\n";
    let out = insert(&types, &[Document { name: "c", text }]).unwrap();
    assert_eq!((out[0].unions, out[0].changes), (1, 1));
}

#[test]
fn kind_may_be_defined_by_a_struct_of_another_version() {
    let new = "package v1\n\n// +kubebuilder:object:root=true\ntype App struct {\n\t// +unionDeprecated\n\tA *int `json:\"a,omitempty\"`\n}\n\n// +kubebuilder:object:root=true\ntype Tool struct {\n\t// +unionDeprecated\n\tA *int `json:\"a,omitempty\"`\n}\n";
    let old = "package v1beta1\n\nimport \"example.com/m/v1\"\n\n// +kubebuilder:object:root=true\ntype App v1.App\n\n// +kubebuilder:object:root=true\ntype Tool = v1.Tool\n";
    let types = GoTypes::read(&[
        GoFile {
            path: "m/v1/t.go",
            import_path: Some("example.com/m/v1"),
            text: new,
        },
        GoFile {
            path: "m/v1beta1/t.go",
            import_path: Some("example.com/m/v1beta1"),
            text: old,
        },
    ]);
    for kind in ["App", "Tool"] {
        let version = |name: &str| {
            format!(
                "  - name: {name}\n    schema:\n      openAPIV3Schema:\n        properties:\n          a: {{}}\n"
            )
        };
        let text = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g\n  names: {{kind: {kind}}}\n  versions:\n{}{}",
            version("v1"),
            version("v1beta1")
        );
        let documents = [Document {
            name: "c",
            text: &text,
        }];
        let faults = insert(&types, &documents).unwrap_err().to_string();
        // The other kind occurs in no document; this one has its unions in both versions.
        assert_eq!(faults.lines().count(), 1, "{faults}");
        assert!(
            faults.contains("declares a union but occurs in no document"),
            "{faults}"
        );
    }
}

#[test]
fn fields_of_less_deeply_embedded_structs_take_precedence() {
    let source = "package v1\n\n// +kubebuilder:object:root=true\ntype App struct {\n\tOuter\n\tBeside\n}\n\ntype Outer struct {\n\tInner\n}\n\ntype Inner struct {\n\tX Hidden `json:\"x\"`\n}\n\ntype Beside struct {\n\tX Seen `json:\"x\"`\n}\n\ntype Hidden struct {\n\tA *int `json:\"a,omitempty\"`\n}\n\ntype Seen struct {\n\t// +unionDeprecated\n\tA *int `json:\"a,omitempty\"`\n}\n";
    let types = GoTypes::read(&[GoFile {
        path: "v1/t.go",
        import_path: None,
        text: source,
    }]);
    let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g\n  names: {kind: App}\n  versions:\n  - name: v1\n    schema: {openAPIV3Schema: {properties: {x: {properties: {a: {}}}}}}\n";
    let out = insert(&types, &[Document { name: "c", text }]).unwrap();
    assert_eq!((out[0].unions, out[0].changes), (1, 1));
}

#[test]
fn document_at_the_depth_limit_is_walked() {
    let source = "package v1\n\n// +kubebuilder:object:root=true\ntype App struct {\n\tM map[string]App `json:\"m\"`\n\t// +unionDeprecated\n\tA *int `json:\"a,omitempty\"`\n}\n";
    let types = GoTypes::read(&[GoFile {
        path: "v1/t.go",
        import_path: None,
        text: source,
    }]);
    let depth = (fieldmanager_value::MAX_DEPTH - 10) / 3;
    let open = r#"{"properties":{"a":{},"m":{"additionalProperties":"#.repeat(depth);
    let text = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{{"group":"g","names":{{"kind":"App"}},"versions":[{{"name":"v1","schema":{{"openAPIV3Schema":{open}{{"properties":{{"a":{{}}}}}}{}}}}}]}}}}"#,
        "}}}".repeat(depth)
    );
    let out = insert(
        &types,
        &[Document {
            name: "c",
            text: &text,
        }],
    )
    .unwrap();
    assert_eq!((out[0].unions, out[0].changes), (depth + 1, depth + 1));
}
