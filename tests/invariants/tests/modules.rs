//! The modules of a crate form a hierarchy: no two modules import from each other, except for the recursion listed
//! here.
//!
//! A module is a file. It depends on the files that define the names it uses, not on modules that re-export them.
//! Re-exports are not dependencies, and test code is ignored.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// Files that depend on each other because their data or functions are recursive, with the reason.
const RECURSION: &[(&[&str], &str)] = &[
    (
        &[
            "tools/authoring/src/go/enums.rs",
            "tools/authoring/src/go/kubernetes.rs",
            "tools/authoring/src/go/lookup.rs",
            "tools/authoring/src/go/packages.rs",
            "tools/authoring/src/go/unions.rs",
        ],
        "the unions of the types are parsed from the types, and stored with them",
    ),
    (
        &[
            "patch/src/strategic/lists.rs",
            "patch/src/strategic/merge.rs",
        ],
        "merging a map merges its lists, and merging a list merges the maps in it",
    ),
    (
        &[
            "value/src/list.rs",
            "value/src/map.rs",
            "value/src/value.rs",
        ],
        "a value is a list or a map, and these contain values",
    ),
];

#[test]
fn modules_depend_on_each_other_only_for_recursion() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut expected: Vec<&[&str]> = RECURSION.iter().map(|(files, _)| *files).collect();
    let mut found = String::new();
    for source in crates(&root) {
        let program = Program::read(&root, &source);
        for cycle in program.cycles() {
            let names: Vec<&str> = cycle
                .iter()
                .map(|file| program.files[*file].as_str())
                .collect();
            if let Some(at) = expected.iter().position(|files| *files == names) {
                expected.remove(at);
            } else {
                found += &format!("\n{}\n", names.join(", "));
                for (from, to, name) in program.edges.all_edges() {
                    if cycle.contains(&from) && cycle.contains(&to) {
                        found += &format!(
                            "  {} uses {name} of {}\n",
                            program.files[from], program.files[to]
                        );
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "modules depend on each other:\n{found}");
    assert!(
        expected.is_empty(),
        "listed as recursion, but there is none: {expected:?}"
    );
}

/// The root files of all crates in the workspace.
fn crates(root: &Path) -> Vec<PathBuf> {
    let groups = ["", "server", "tools", "integrations", "tests", "xtask"];
    let mut folders: Vec<PathBuf> = groups
        .iter()
        .flat_map(|group| fs::read_dir(root.join(group)).unwrap())
        .map(|entry| entry.unwrap().path().join("src"))
        .collect();
    folders.push(root.join("src"));
    folders.sort();
    let roots = folders
        .iter()
        .flat_map(|folder| ["lib.rs", "main.rs"].map(|name| folder.join(name)));
    let roots: Vec<PathBuf> = roots.filter(|file| file.is_file()).collect();
    assert!(roots.len() > 25, "{roots:?}");
    roots
}

#[derive(Default)]
struct Module {
    /// The index of the file in the program. An inline module has the file of its parent.
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The names of the defined items.
    items: BTreeSet<String>,
    /// Imported names with their paths. The name of a glob import is `*`.
    uses: Vec<(String, Vec<String>)>,
    /// The re-exported names.
    exports: BTreeSet<String>,
    /// All imported or used paths.
    paths: Vec<Vec<String>>,
}

#[derive(Default)]
struct Program {
    files: Vec<String>,
    modules: Vec<Module>,
    edges: DiGraphMap<usize, String>,
}

impl Program {
    fn read(root: &Path, source: &Path) -> Program {
        let mut program = Program::default();
        program.file(root, source, &source.with_file_name(""), None);
        for at in 0..program.modules.len() {
            let module = &program.modules[at];
            for path in &module.paths {
                // Macro input may name a crate by a keyword: `#[serde(crate = ..)]`.
                if path.len() == 1 && path[0] == "crate" {
                    continue;
                }
                let Some(to) = program
                    .resolve(at, path, 0)
                    .map(|to| program.modules[to].file)
                else {
                    continue;
                };
                if to != module.file && !program.edges.contains_edge(module.file, to) {
                    program.edges.add_edge(module.file, to, path.join("::"));
                }
            }
        }
        program
    }

    /// Parses the module in a file. `folder` contains its child modules.
    fn file(&mut self, root: &Path, source: &Path, folder: &Path, parent: Option<usize>) -> usize {
        let text = fs::read_to_string(source).unwrap();
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        self.files.push(
            source
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned(),
        );
        self.module(root, self.files.len() - 1, parsed.items, folder, parent)
    }

    fn module(
        &mut self,
        root: &Path,
        file: usize,
        items: Vec<Item>,
        folder: &Path,
        parent: Option<usize>,
    ) -> usize {
        let at = self.modules.len();
        self.modules.push(Module {
            file,
            parent,
            ..Module::default()
        });
        let mut names = Names::default();
        for item in items {
            match item {
                Item::Mod(child) => {
                    if is_test(&child.attrs) {
                        continue;
                    }
                    let name = child.ident.to_string();
                    let below = folder.join(&name);
                    let child = match child.content {
                        Some((_, items)) => self.module(root, file, items, &below, Some(at)),
                        None => {
                            let flat = folder.join(format!("{name}.rs"));
                            let source = if flat.is_file() {
                                flat
                            } else {
                                below.join("mod.rs")
                            };
                            self.file(root, &source, &below, Some(at))
                        }
                    };
                    self.modules[at].children.insert(name, child);
                }
                item => names.visit_item(&item),
            }
        }
        let module = &mut self.modules[at];
        (module.items, module.uses, module.exports) = (names.items, names.uses, names.exports);
        module.paths = names.paths;
        at
    }

    /// Returns the module that defines the item at a path, or `None` for items of other crates and local names.
    fn resolve(&self, at: usize, path: &[String], depth: usize) -> Option<usize> {
        // Two globs that import from each other never resolve.
        if depth > 8 {
            return None;
        }
        let module = &self.modules[at];
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => 0,
            "self" => at,
            "super" => module.parent?,
            name => match module.children.get(name) {
                Some(child) if !rest.is_empty() => *child,
                _ if module.exports.contains(name) => return self.member(at, path, depth),
                _ => return None,
            },
        };
        match rest.first().map(String::as_str) {
            Some("super") => self.resolve(start, rest, depth + 1),
            _ => self.member(start, rest, depth),
        }
    }

    /// Returns the module that defines the item at a path relative to a module.
    fn member(&self, at: usize, path: &[String], depth: usize) -> Option<usize> {
        let module = &self.modules[at];
        let Some((first, rest)) = path.split_first() else {
            return Some(at);
        };
        if let Some(child) = module.children.get(first) {
            return self.member(*child, rest, depth);
        }
        if module.items.contains(first) {
            return Some(at);
        }
        for (name, target) in &module.uses {
            let mut target = target.clone();
            match name.as_str() {
                "*" => target.push(first.clone()),
                name if name == first => {}
                _ => continue,
            }
            // The path continues in a module that is imported by name.
            target.extend(rest.iter().cloned());
            let is_external = !["crate", "self", "super"].contains(&target[0].as_str())
                && !module.children.contains_key(&target[0]);
            match self.resolve(at, &target, depth + 1) {
                Some(found) => return Some(found),
                None if is_external && name != "*" => return None,
                None => {}
            }
        }
        // The name of a macro, or of an item imported from another crate by a glob.
        (depth == 0).then_some(at)
    }

    fn cycles(&self) -> Vec<Vec<usize>> {
        let mut cycles = tarjan_scc(&self.edges);
        cycles.retain(|cycle| cycle.len() > 1);
        for cycle in &mut cycles {
            cycle.sort_by_key(|file| &self.files[*file]);
        }
        cycles
    }
}

/// Collects the names that a module defines and uses.
#[derive(Default)]
struct Names {
    items: BTreeSet<String>,
    uses: Vec<(String, Vec<String>)>,
    exports: BTreeSet<String>,
    paths: Vec<Vec<String>>,
    /// The nesting depth. Only top-level items belong to the module.
    depth: usize,
}

impl Names {
    fn imports(&mut self, tree: &UseTree, path: &mut Vec<String>, exported: bool) {
        let (name, last) = match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.imports(&tree.tree, path, exported);
                path.pop();
                return;
            }
            UseTree::Group(group) => {
                group
                    .items
                    .iter()
                    .for_each(|tree| self.imports(tree, path, exported));
                return;
            }
            UseTree::Name(tree) => (tree.ident.to_string(), tree.ident.to_string()),
            UseTree::Rename(tree) => (tree.rename.to_string(), tree.ident.to_string()),
            UseTree::Glob(_) => ("*".to_owned(), "*".to_owned()),
        };
        let mut target = path.clone();
        let name = match last.as_str() {
            "self" if name == "self" => path.last().cloned().unwrap_or_default(),
            "self" | "*" => name,
            _ => {
                target.push(last);
                name
            }
        };
        match exported {
            true => {
                self.exports.insert(name.clone());
            }
            false => self.paths.push(target.clone()),
        }
        self.uses.push((name, target));
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.paths.push(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.paths.push(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.paths.push(path);
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Mod(item) => (&item.attrs, None),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Use(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        if is_test(attributes) {
            return;
        }
        if let (Some(name), 0) = (name, self.depth) {
            self.items.insert(name.to_string());
        }
        self.depth += 1;
        visit::visit_item(self, item);
        self.depth -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let exported = !matches!(item.vis, Visibility::Inherited);
        self.imports(&item.tree, &mut Vec::new(), exported);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.paths.push(
            path.segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect(),
        );
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// Whether an item is compiled for tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|condition| condition == "test")
    })
}
