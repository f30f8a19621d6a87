//! The cost of parsing Go source, and of inserting its unions into documents, is linear in the input.
//!
//! This measures the number and the size of allocations, which do not depend on the machine. A test of
//! `fieldmanager-authoring` counts the steps of the walk over a document, which allocates little.

use fieldmanager_authoring::internal::{Document, GoFile, GoTypes, insert};

/// The ratio of the two sizes of an input.
const GROWTH: usize = 4;

/// The maximum growth of the work relative to the growth of the input. Quadratic work grows by another factor of
/// [`GROWTH`].
const MOST: f64 = 1.6;

/// Go files with their paths, and a document.
struct Input {
    files: Vec<(String, String)>,
    document: String,
    /// Whether the unions can be inserted. Otherwise the input is invalid.
    is_valid: bool,
}

impl Input {
    fn new(source: String, document: String) -> Self {
        Input {
            files: vec![("api/v1/types.go".to_owned(), source)],
            document,
            is_valid: true,
        }
    }

    fn with_faults(source: String) -> Self {
        Input {
            is_valid: false,
            ..Input::new(source, String::new())
        }
    }

    fn len(&self) -> usize {
        self.document.len()
            + self
                .files
                .iter()
                .map(|(path, text)| path.len() + text.len())
                .sum::<usize>()
    }

    fn run(&self) -> bool {
        let files: Vec<GoFile<'_>> = self
            .files
            .iter()
            .map(|(path, text)| GoFile {
                path,
                import_path: None,
                text,
            })
            .collect();
        insert(
            &GoTypes::read(&files),
            &[Document {
                name: "document",
                text: &self.document,
            }],
        )
        .is_ok()
    }
}

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

const ROOT: &str = "// +kubebuilder:object:root=true\n";
const UNION: &str = "\t// +unionDeprecated\n\tA *int `json:\"a,omitempty\"`\n";

fn definition(kind: &str, schemas: &[(String, &str)]) -> String {
    let versions: String = schemas
        .iter()
        .map(|(name, properties)| {
            format!(
                "  - name: {name}\n    schema:\n      openAPIV3Schema:\n        properties: {properties}\n"
            )
        })
        .collect();
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g\n  names: {{kind: {kind}}}\n  versions:\n{versions}"
    )
}

/// Nested structs, each with several fields of the same type on one line.
fn nested_lines(n: usize) -> Input {
    // Types may nest at most 64 levels deep.
    let depth = n / 8;
    let source = format!(
        "package v1\n\ntype S {}int{}\n",
        "struct { A, B, C ".repeat(depth),
        " `json:\"x\"` }".repeat(depth)
    );
    Input {
        is_valid: true,
        ..Input::new(source, definition("X", &[]))
    }
}

fn imports(n: usize) -> Input {
    let mut files: Vec<(String, String)> = (0..n)
        .map(|i| {
            (
                format!("m{i}/api/v1/t.go"),
                format!("package v1\n\ntype T{i} struct {{\n{UNION}}}\n"),
            )
        })
        .collect();
    let source = format!(
        "package v2\n\nimport (\n{})\n\n{ROOT}type App struct {{\n{}}}\n",
        lines(n, |i| format!("\tp{i} \"example.com/m{i}/api/v1\"\n")),
        lines(n, |i| format!("\tF{i} p{i}.T{i} `json:\"f{i}\"`\n")),
    );
    files.push(("api/v2/t.go".to_owned(), source));
    let properties = lines(n, |i| {
        format!("\n          f{i}:\n            properties:\n              a: {{}}")
    });
    Input {
        files,
        document: definition("App", &[("v2".to_owned(), &properties)]),
        is_valid: true,
    }
}

fn versions(n: usize) -> Input {
    let source = |i: usize| format!("package v{i}\n\n{ROOT}type App struct {{\n{UNION}}}\n");
    let files = (0..n)
        .map(|i| (format!("api/v{i}/t.go"), source(i)))
        .collect();
    let schemas: Vec<(String, &str)> = (0..n)
        .map(|i| (format!("v{i}"), "\n          a: {}"))
        .collect();
    Input {
        files,
        document: definition("App", &schemas),
        is_valid: true,
    }
}

fn kinds(n: usize) -> String {
    format!(
        "package v1\n\n{}",
        lines(n, |i| format!("{ROOT}type App{i} struct {{\n{UNION}}}\n\n"))
    )
}

fn definitions_in_a_list(n: usize) -> Input {
    let items = lines(n, |i| {
        let definition = definition(
            &format!("App{i}"),
            &[("v1".to_owned(), "\n          a: {}")],
        );
        format!("- {}", definition.trim_end().replace('\n', "\n  ")) + "\n"
    });
    Input::new(
        kinds(n),
        format!("kind: List\napiVersion: v1\nitems:\n{items}"),
    )
}

fn stream_of_definitions(n: usize) -> Input {
    let definitions = lines(n, |i| {
        definition(
            &format!("App{i}"),
            &[("v1".to_owned(), "\n          a: {}")],
        ) + "---\n"
    });
    Input::new(kinds(n), definitions)
}

fn definitions_of_an_openapi_document(n: usize) -> Input {
    let schemas = lines(n, |i| {
        format!("    \"g.v1.App{i}\": {{\n      \"properties\": {{\"a\": {{}}}}\n    }},\n")
    });
    let document = format!("{{\n  \"definitions\": {{\n{schemas}    \"x\": {{}}\n  }}\n}}\n");
    Input::new(kinds(n), document)
}

fn many_openapi_documents(n: usize) -> Input {
    Input::new(
        kinds(n),
        lines(n, |i| {
            format!("definitions:\n  g.v1.App{i}:\n    properties:\n      a: {{}}\n---\n")
        }),
    )
}

fn values(n: usize) -> Input {
    let source = format!(
        "package v1\n\ntype T string\n\nconst (\n{})\n\n{ROOT}type App struct {{\n\t// +unionDiscriminator\n\tType T `json:\"type\"`\n{}}}\n",
        lines(n, |i| format!("\tF{i} T = \"F{i}\"\n")),
        lines(n, |i| format!(
            "\t// +unionMember\n\tF{i} *int `json:\"f{i},omitempty\"`\n"
        )),
    );
    let properties =
        "\n          type: {}".to_owned() + &lines(n, |i| format!("\n          f{i}: {{}}"));
    Input::new(source, definition("App", &[("v1".to_owned(), &properties)]))
}

fn members_without_value(n: usize) -> Input {
    let Input {
        mut files,
        document,
        ..
    } = values(n);
    for (_, text) in &mut files {
        *text = text.replace("// +unionMember", "// +unionMember=X");
    }
    Input {
        files,
        document,
        is_valid: false,
    }
}

fn discriminators(n: usize) -> Input {
    let field = |i: usize| {
        format!(
            "\t// +unionDiscriminator\n\tD{i} T `json:\"d{i}\"`\n\t// +unionMember=A\n\t// +unionDiscriminatedBy=D{i}\n\tF{i} *int `json:\"f{i},omitempty\"`\n"
        )
    };
    let source = format!(
        "package v1\n\ntype T string\n\nconst A T = \"A\"\n\n{ROOT}type App struct {{\n{}}}\n",
        lines(n, field)
    );
    let properties = lines(n, |i| {
        format!("\n          d{i}: {{}}\n          f{i}: {{}}")
    });
    Input::new(source, definition("App", &[("v1".to_owned(), &properties)]))
}

fn members_of_unknown_unions(n: usize) -> Input {
    let field = |i: usize| {
        format!(
            "\t// +unionDiscriminator\n\tD{i} T `json:\"d{i}\"`\n\t// +unionMember=B\n\tF{i} int `json:\"f{i}\"`\n\t// +unionMembers\n\tG{i} int\n"
        )
    };
    Input::with_faults(format!(
        "package v1\n\ntype App struct {{\n{}}}\n",
        lines(n, field)
    ))
}

fn member_of_many_unions(n: usize) -> Input {
    let marker = |i: usize| format!("\t// +k8s:unionMember(union: \"u{i}\")\n");
    let other = |i: usize| marker(i) + &format!("\tB{i} *int `json:\"b{i}\"`\n");
    let source = format!(
        "package v1\n\n{ROOT}type App struct {{\n{}{}\tA *int `json:\"a\"`\n\tM map[string]App `json:\"m\"`\n}}\n",
        lines(n, other),
        lines(n, marker)
    );
    let properties =
        "\n          a: {}\n          m: {additionalProperties: {properties: {a: {}}}}";
    let schemas: Vec<(String, &str)> = (0..n).map(|_| ("v1".to_owned(), properties)).collect();
    Input {
        is_valid: false,
        ..Input::new(source, definition("App", &schemas))
    }
}

fn unknown_kinds(n: usize) -> Input {
    let files = vec![("t.go".to_owned(), "package v1\n".to_owned())];
    Input {
        files,
        is_valid: false,
        ..stream_of_definitions(n)
    }
}

#[test]
fn allocations_grow_linearly_with_the_input() {
    type Inputs = fn(usize) -> Input;
    let inputs: [(&str, Inputs, usize); 13] = [
        ("fields of nested structs on one line", nested_lines, 128),
        ("imports", imports, 200),
        ("versions", versions, 200),
        ("definitions in a list", definitions_in_a_list, 200),
        ("a stream of definitions", stream_of_definitions, 200),
        (
            "definitions of an OpenAPI document",
            definitions_of_an_openapi_document,
            200,
        ),
        ("many OpenAPI documents", many_openapi_documents, 200),
        ("values of a discriminator", values, 200),
        ("members without a value", members_without_value, 400),
        ("discriminators", discriminators, 200),
        ("members of unknown unions", members_of_unknown_unions, 400),
        ("a member of many unions", member_of_many_unions, 400),
        ("unknown kinds", unknown_kinds, 400),
    ];
    let mut wrong = Vec::new();
    for (name, input, size) in inputs {
        let measure = |size| {
            let input = input(size);
            let mut is_valid = false;
            let found = allocation_counter::measure(|| is_valid = input.run());
            assert_eq!(is_valid, input.is_valid, "{name}");
            [
                input.len() as f64,
                found.count_total as f64,
                found.bytes_total as f64,
            ]
        };
        let ([input, count, bytes], [large_input, large_count, large_bytes]) =
            (measure(size), measure(GROWTH * size));
        for (metric, growth) in [
            ("allocations", large_count / count),
            ("allocated bytes", large_bytes / bytes),
        ] {
            if growth > MOST * large_input / input {
                wrong.push(format!(
                    "{name}: {metric} grow by a factor of {growth:.1}, the input by {:.1}",
                    large_input / input
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
