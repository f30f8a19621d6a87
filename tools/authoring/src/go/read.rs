//! Reads Go source. Source with syntax errors is read as far as possible.

use std::sync::Arc;

use tree_sitter::{Node, Parser, Tree};

use super::marker::{self, Marker};
use super::model::{Constant, GoField, GoFields, GoTypeExpr, ParsedFile, TypeDecl};
use crate::fault::{Fault, Position};

/// The maximum nesting of types, such as pointers to lists of maps of structs. Deeper types are ignored.
const MAX_DEPTH: usize = 64;

/// The maximum number of reported syntax errors per file.
const MAX_ERRORS: usize = 10;

/// Reads a file, and returns its syntax errors.
pub(crate) fn file(path: &str, text: &str) -> (ParsedFile, Vec<Fault>) {
    let mut file = ParsedFile {
        path: path.to_owned(),
        ..ParsedFile::default()
    };
    let fault = |at, message: &str| Fault {
        file: path.to_owned(),
        at,
        message: message.to_owned(),
    };
    let Some(tree) = parse(text) else {
        return (file, vec![fault(None, "cannot be parsed as Go source")]);
    };

    let mut faults = Vec::new();
    syntax_errors(&tree, |at, message| faults.push(fault(Some(at), message)));
    let reader = GoReader { text };
    reader.documented(tree.root_node(), |node, markers| match node.kind() {
        "package_clause" => {
            file.markers = markers;
            file.package = reader
                .child_of_kind(node, "package_identifier")
                .map_or_else(String::new, |n| reader.text(n));
        }
        "import_declaration" => reader.imports(node, &mut file.imports),
        "type_declaration" => reader.types(node, markers, &mut file.types),
        "const_declaration" => reader.constants(node, &mut file.constants),
        _ => {}
    });

    (file, faults)
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_go::LANGUAGE.into()).ok()?;
    parser.parse(text, None)
}

fn position(node: Node<'_>) -> Position {
    let start = node.start_position();
    Position {
        line: start.row + 1,
        column: start.column + 1,
    }
}

/// Reports the outermost error nodes.
fn syntax_errors(tree: &Tree, mut report: impl FnMut(Position, &str)) {
    let mut cursor = tree.walk();
    let mut found = 0;
    loop {
        let node = cursor.node();
        let is_fault = node.is_error() || node.is_missing();
        if is_fault {
            found += 1;
            if node.is_missing() {
                report(
                    position(node),
                    &format!("not valid Go: `{}` is missing", node.kind()),
                );
            } else {
                report(position(node), "not valid Go: syntax error");
            }

            if found == MAX_ERRORS {
                return;
            }
        }

        if !is_fault && node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

struct GoReader<'t> {
    text: &'t str,
}

impl<'t> GoReader<'t> {
    fn text(&self, node: Node<'_>) -> String {
        self.text
            .get(node.byte_range())
            .unwrap_or_default()
            .to_owned()
    }

    fn child_of_kind<'n>(&self, node: Node<'n>, kind: &str) -> Option<Node<'n>> {
        let mut cursor = node.walk();
        node.named_children(&mut cursor)
            .find(|child| child.kind() == kind)
    }

    /// Visits the children of a node, each with the markers of the preceding comments. A trailing comment on the line
    /// of other code belongs to no child.
    fn documented<'n>(&self, node: Node<'n>, mut visit: impl FnMut(Node<'n>, Vec<Marker>)) {
        let mut markers = Vec::new();
        let mut last = None;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if child.kind() == "comment" {
                if last != Some(child.start_position().row) {
                    markers.extend(marker::of_comment(&self.text(child), position(child)));
                }
                continue;
            }
            last = Some(child.end_position().row);
            visit(child, std::mem::take(&mut markers));
        }
    }

    /// The specifications of a declaration, which may be in parentheses.
    fn specifications<'n>(
        &self,
        declaration: Node<'n>,
        mut before: Vec<Marker>,
        mut visit: impl FnMut(Node<'n>, Vec<Marker>),
    ) {
        self.documented(declaration, |node, own| match node.kind() {
            "import_spec_list" => self.documented(node, &mut visit),
            _ => {
                let mut markers = std::mem::take(&mut before);
                markers.extend(own);
                visit(node, markers);
            }
        });
    }

    fn imports(&self, declaration: Node<'_>, imports: &mut Vec<(Option<String>, String)>) {
        self.specifications(declaration, Vec::new(), |spec, _| {
            if let Some(path) = spec
                .child_by_field_name("path")
                .and_then(|path| self.string(path))
            {
                imports.push((
                    spec.child_by_field_name("name").map(|name| self.text(name)),
                    path,
                ));
            }
        });
    }

    fn types(&self, declaration: Node<'_>, before: Vec<Marker>, types: &mut Vec<TypeDecl>) {
        self.specifications(declaration, before, |spec, markers| {
            let (Some(name), Some(ty)) = (
                spec.child_by_field_name("name"),
                spec.child_by_field_name("type"),
            ) else {
                return;
            };

            // Instances of generic types are not resolved.
            let generic = spec.child_by_field_name("type_parameters").is_some();
            let ty = if generic {
                GoTypeExpr::Other
            } else {
                self.ty(ty, MAX_DEPTH)
            };
            types.push(TypeDecl {
                name: self.text(name),
                at: position(name),
                markers,
                ty,
            });
        });
    }

    fn ty(&self, node: Node<'_>, depth: usize) -> GoTypeExpr {
        // The depth of recursive walks is bounded. A type below the limit is treated as one without unions.
        let Some(depth) = depth.checked_sub(1) else {
            return GoTypeExpr::Other;
        };
        let of = |child: Option<Node<'_>>| {
            Box::new(child.map_or(GoTypeExpr::Other, |child| self.ty(child, depth)))
        };

        // Types that no schema describes, such as functions and channels, are not distinguished.
        match node.kind() {
            "type_identifier" => GoTypeExpr::Named(self.text(node)),
            "qualified_type" => {
                match (
                    node.child_by_field_name("package"),
                    node.child_by_field_name("name"),
                ) {
                    (Some(package), Some(name)) => {
                        GoTypeExpr::Qualified(self.text(package), self.text(name))
                    }
                    _ => GoTypeExpr::Other,
                }
            }
            "pointer_type" => GoTypeExpr::Pointer(of(node.named_child(0))),
            "parenthesized_type" => *of(node.named_child(0)),
            "slice_type" | "array_type" => {
                GoTypeExpr::List(of(node.child_by_field_name("element")))
            }
            "map_type" => GoTypeExpr::Map(of(node.child_by_field_name("value"))),
            "struct_type" => {
                let mut fields = Vec::new();
                if let Some(list) = self.child_of_kind(node, "field_declaration_list") {
                    self.documented(list, |field, markers| {
                        self.fields(field, markers, depth, &mut fields)
                    });
                }
                GoTypeExpr::Struct(GoFields::new(fields))
            }
            _ => GoTypeExpr::Other,
        }
    }

    /// The fields of one line, which may declare several.
    fn fields(
        &self,
        node: Node<'_>,
        markers: Vec<Marker>,
        depth: usize,
        fields: &mut Vec<GoField>,
    ) {
        let Some(type_node) = node.child_by_field_name("type") else {
            return;
        };
        let markers: Arc<[Marker]> = markers.into();
        let tag = node
            .child_by_field_name("tag")
            .and_then(|tag| self.string(tag))
            .unwrap_or_default();
        // The rules of `encoding/json` decide the names of fields in a document; `inline` is an addition of Kubernetes.
        let json = json_tag(&tag);
        let mut options = json.as_deref().unwrap_or_default().split(',');
        let tag_name = options.next().unwrap_or_default();
        let options: Vec<&str> = options.collect();

        let inline = options.contains(&"inline");
        let omitted_if_empty = options
            .iter()
            .any(|option| matches!(*option, "omitempty" | "omitzero"));
        let mut add = |name: String, at, embedded: bool, ty: Arc<GoTypeExpr>| {
            let inlined = tag_name.is_empty() && (embedded || inline);
            // The tag `-` leaves a field out, while `-,` names it `-`.
            let skipped = tag_name == "-" && options.is_empty();
            let own = if tag_name.is_empty() {
                name.clone()
            } else {
                tag_name.to_owned()
            };
            fields.push(GoField {
                json: (!skipped && is_exported(&name, embedded) && !inlined).then_some(own),
                name,
                at,
                markers: Arc::clone(&markers),
                ty,
                inlined: inlined && !skipped,
                omitted_if_empty,
            });
        };

        let mut cursor = node.walk();
        let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
        let ty = self.ty(type_node, depth);
        if names.is_empty() {
            let (GoTypeExpr::Named(name) | GoTypeExpr::Qualified(_, name)) = &ty else {
                return;
            };
            let name = name.clone();

            // The grammar places the star of an embedded pointer beside its type.
            let pointer = self.text(node).starts_with('*');
            let ty = if pointer {
                GoTypeExpr::Pointer(Box::new(ty))
            } else {
                ty
            };
            return add(name, position(type_node), true, Arc::new(ty));
        }

        let ty = Arc::new(ty);
        for name in names {
            add(self.text(name), position(name), false, Arc::clone(&ty));
        }
    }

    fn constants(&self, declaration: Node<'_>, constants: &mut Vec<Constant>) {
        let mut beside: Option<Arc<GoTypeExpr>> = None;
        self.specifications(declaration, Vec::new(), |spec, _| {
            let ty = spec
                .child_by_field_name("type")
                .map(|node| Arc::new(self.ty(node, MAX_DEPTH)));
            beside = ty.clone().or(beside.take());
            let Some(values) = spec.child_by_field_name("value") else {
                return;
            };

            let mut cursor = values.walk();
            for value in values.named_children(&mut cursor) {
                if let Some(value) = self.string(value) {
                    constants.push(Constant {
                        ty: ty.clone(),
                        beside: beside.clone(),
                        value,
                    });
                } else if let Some((ty, value)) = self.conversion(value) {
                    constants.push(Constant {
                        ty: Some(Arc::new(ty)),
                        beside: None,
                        value,
                    });
                }
            }
        });
    }

    /// Parses a conversion: `Type("value")`.
    fn conversion(&self, node: Node<'_>) -> Option<(GoTypeExpr, String)> {
        if node.kind() != "call_expression" {
            return None;
        }
        let function = node.child_by_field_name("function")?;
        let ty = match function.kind() {
            "identifier" => GoTypeExpr::Named(self.text(function)),
            "selector_expression" => GoTypeExpr::Qualified(
                self.text(function.child_by_field_name("operand")?),
                self.text(function.child_by_field_name("field")?),
            ),
            _ => return None,
        };
        let value = node.child_by_field_name("arguments")?.named_child(0)?;

        Some((ty, self.string(value)?))
    }

    /// The value of a string literal.
    fn string(&self, node: Node<'_>) -> Option<String> {
        let text = self.text(node);
        match node.kind() {
            "raw_string_literal" => Some(text.strip_prefix('`')?.strip_suffix('`')?.to_owned()),
            "interpreted_string_literal" => unquoted(text.strip_prefix('"')?.strip_suffix('"')?),
            _ => None,
        }
    }
}

fn is_exported(name: &str, embedded: bool) -> bool {
    embedded || name.starts_with(char::is_uppercase)
}

/// Unescapes a string; `None` for escapes that do not occur in names and tags.
fn unquoted(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        out.push(match c {
            '\\' => match rest.next()? {
                'n' => '\n',
                't' => '\t',
                c @ ('"' | '\\' | '\'') => c,
                _ => return None,
            },
            c => c,
        });
    }

    Some(out)
}

/// The value of the key `json` in a struct tag: `json:"name,omitempty" protobuf:"..."`.
fn json_tag(tag: &str) -> Option<String> {
    let mut rest = tag.trim_start();
    while let Some((key, value)) = rest.split_once(":\"") {
        let mut escaped = false;
        let end = value.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        let (value, behind) = value.split_at(end);
        if key == "json" {
            return unquoted(value);
        }
        rest = behind.get(1..)?.trim_start();
    }

    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn struct_tags_are_parsed_as_in_go() {
        assert_eq!(
            json_tag(r#"protobuf:"bytes,1,opt,name=type" json:"type,omitempty""#).as_deref(),
            Some("type,omitempty")
        );
        assert_eq!(
            json_tag(r#"yaml:"a\"b" json:",inline""#).as_deref(),
            Some(",inline")
        );
        assert_eq!(json_tag(r#"yaml:"a""#), None);
        assert_eq!(json_tag("json:name"), None);
        assert_eq!(json_tag(r#"json:"name"#), None);
    }

    #[test]
    fn declarations_are_read_in_every_form() {
        let text = "// +groupName=g\npackage v1\nimport (\n m \"k8s.io/m/v1\"\n \"a/b\"\n)\nimport c \"c/d\"\n\
                    // +enum\ntype T string\nconst (\n A T = \"a\" // +not\n // +doc\n B = `b`\n C, D m.T = \"c\", \"d\"\n E = T(\"e\")\n F int = 1\n)\n\
                    type (\n // +x\n S struct {\n  // +y\n  L []*T `json:\"l\"` // +trailing\n  *m.E `json:\",inline\"`\n  U\n  n int\n  H T `json:\"-\"`\n  M map[string][2]m.T\n }\n A2 = m.B\n G[X any] struct { X X }\n)\n";
        let (file, faults) = file("f.go", text);
        assert_eq!(faults, []);
        assert_eq!(
            (file.package.as_str(), file.markers[0].rest.as_str()),
            ("v1", "=g")
        );
        let imports: Vec<_> = file
            .imports
            .iter()
            .map(|(n, p)| (n.as_deref(), p.as_str()))
            .collect();
        assert_eq!(
            imports,
            [
                (Some("m"), "k8s.io/m/v1"),
                (None, "a/b"),
                (Some("c"), "c/d")
            ]
        );
        let constants: Vec<_> = file.constants.iter().map(|c| c.value.as_str()).collect();
        assert_eq!(constants, ["a", "b", "c", "d", "e"]);
        assert!(file.constants[1].ty.is_none() && file.constants[1].beside.is_some());
        let names: Vec<_> = file
            .types
            .iter()
            .map(|t| (t.name.as_str(), t.markers.len()))
            .collect();
        assert_eq!(names, [("T", 1), ("S", 1), ("A2", 0), ("G", 0)]);
        let GoTypeExpr::Struct(fields) = &file.types[1].ty else {
            panic!("a struct")
        };
        let fields: Vec<_> = fields
            .iter()
            .map(|f| {
                (
                    f.name.as_str(),
                    f.json.as_deref(),
                    f.inlined,
                    f.markers.len(),
                )
            })
            .collect();
        let expected = [
            ("L", Some("l"), false, 1),
            ("E", None, true, 0),
            ("U", None, true, 0),
            ("n", None, false, 0),
            ("H", None, false, 0),
            ("M", Some("M"), false, 0),
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn syntax_errors_have_positions_and_the_rest_is_read() {
        let (file, faults) = file(
            "f.go",
            "package a\n\ntype A struct {\n\tB int `json:\"b\"`\n}\n\nnot go at all\n\ntype C struct{}\n",
        );
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].at.map(|at| at.line), Some(7));
        assert_eq!(
            file.types
                .iter()
                .map(|t| t.name.as_str())
                .collect::<Vec<_>>(),
            ["A", "C"]
        );
    }

    #[test]
    fn deeply_nested_types_are_read() {
        let text = format!(
            "package a\ntype A struct {{ B {}T }}\n",
            "*".repeat(100_000)
        );
        assert_eq!(file("f.go", &text).0.types.len(), 1);
    }
}
