//! How the product code reads on the page, measured over the functions of the whole workspace.
//!
//! ```sh
//! cargo test -p fieldmanager-invariants --test all page -- --nocapture
//! ```
//!
//! prints the measures of every crate, and fails if one is worse than listed. With `PAGE=server/handlers` it also prints
//! every finding in that folder, with `PAGE=shrink` it lowers the list to what it found.
//!
//! The targets are in `docs/style.md`. What did not reach them yet is listed in `page.txt`, one line for each measure
//! and place with its count. The list can only shrink: neither may a count be exceeded, nor may a line stay whose count
//! is lower by now. Test code, macros by example and generated data are not measured.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::{Ident, Span};
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, ExprMatch, Item, Lit, Pat};
use walkdir::WalkDir;

/// A function of more lines of code has paragraphs and says why.
const NEEDS_ROOM: usize = 30;
const MAX_FUNCTION: usize = 60;
const MAX_FILE: usize = 600;
/// A type name that more definitions share says too little about each.
const MAX_DEFINITIONS: usize = 2;
const MIN_BLANK_PERCENT: f64 = 2.0;
const MIN_COMMENT_PERCENT: f64 = 3.0;

/// Folders whose sources are tests, or programs to start from.
const NOT_PRODUCT: [&str; 6] = ["target", "tests", "benches", "examples", "fuzz", ".git"];

/// Counts by measure and place.
type Exceptions = BTreeMap<(String, String), usize>;

#[test]
fn functions_have_room_and_types_have_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let listed_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page.txt");
    let setting = env::var("PAGE").unwrap_or_default();

    let measured = Measured::read(&root);
    print!("{}", measured.table());
    let found = measured.exceptions();
    if !setting.is_empty() && setting != "shrink" {
        print!("{}", measured.details_below(&setting));
    }

    let listed = parse_exceptions(&fs::read_to_string(&listed_in).unwrap());
    let mut shrunk = Exceptions::new();
    let mut faults = String::new();
    for (key @ (measure, place), &count) in &found {
        let allowed = listed.get(key).copied().unwrap_or(0);
        if count > allowed {
            let details = measured.details_of(measure, place);
            writeln!(
                faults,
                "{measure} {place}: {count}, {allowed} allowed{details}"
            )
            .unwrap();
        }
        if allowed > 0 {
            shrunk.insert(key.clone(), count.min(allowed));
        }
    }

    if setting == "shrink" {
        fs::write(&listed_in, write_exceptions(&shrunk)).unwrap();
    } else if shrunk != listed {
        for ((measure, place), allowed) in &listed {
            let key = (measure.clone(), place.clone());
            let count = found.get(&key).copied().unwrap_or(0);
            if count < *allowed {
                writeln!(faults, "{measure} {place}: {count}, {allowed} listed").unwrap();
            }
        }
        faults += "lower the list with `PAGE=shrink`\n";
    }
    assert!(faults.is_empty(), "the style guide is not kept:\n{faults}");
}

/// Reads lines of the form `MEASURE COUNT PLACE`.
fn parse_exceptions(text: &str) -> Exceptions {
    text.lines()
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let mut next = || words.next().unwrap_or_else(|| panic!("page.txt: `{line}`"));
            let (measure, count, place) = (next(), next(), next());
            let key = (measure.to_owned(), place.to_owned());
            (key, count.parse().unwrap())
        })
        .collect()
}

fn write_exceptions(exceptions: &Exceptions) -> String {
    exceptions
        .iter()
        .map(|((measure, place), count)| format!("{measure} {count} {place}\n"))
        .collect()
}

/// Something that is counted: its measure, where it counts, and a line for people.
struct Finding {
    measure: &'static str,
    place: String,
    detail: String,
}

/// Lines of function bodies of one crate.
#[derive(Default, Clone, Copy)]
struct BodyLines {
    all: usize,
    blank: usize,
    comments: usize,
}

impl BodyLines {
    fn add(&mut self, other: BodyLines) {
        self.all += other.all;
        self.blank += other.blank;
        self.comments += other.comments;
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of lines are small")]
    fn percent(self) -> (f64, f64) {
        let of_all = |part: usize| part as f64 * 100.0 / self.all.max(1) as f64;
        (of_all(self.blank), of_all(self.comments))
    }
}

#[derive(Default)]
struct Measured {
    crates: BTreeMap<String, BodyLines>,
    findings: Vec<Finding>,
    /// Where each type name is defined.
    types: BTreeMap<String, Vec<String>>,
}

impl Measured {
    fn read(root: &Path) -> Measured {
        let mut measured = Measured::default();
        let mut files = 0;
        let is_product = |entry: &walkdir::DirEntry| {
            !NOT_PRODUCT.contains(&entry.file_name().to_string_lossy().as_ref())
        };
        for entry in WalkDir::new(root).into_iter().filter_entry(is_product) {
            let path = entry.unwrap().into_path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            let is_test = name.ends_with("/tests.rs") || name.ends_with("_tests.rs");
            if name.ends_with(".rs") && !is_test {
                measured.measure_file(&path, name);
                files += 1;
            }
        }
        assert!(files > 500, "only {files} files");

        let shared = measured
            .types
            .iter()
            .filter(|(name, places)| *name != "Error" && places.len() > MAX_DEFINITIONS);
        for (name, places) in shared {
            for place in places {
                measured.findings.push(Finding {
                    measure: "type-name",
                    place: name.clone(),
                    detail: place.clone(),
                });
            }
        }
        measured
    }

    fn measure_file(&mut self, path: &PathBuf, name: &str) {
        let text = fs::read_to_string(path).unwrap();
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > MAX_FILE {
            self.findings.push(Finding {
                measure: "file-over-600",
                place: name.to_owned(),
                detail: format!("{} lines", lines.len()),
            });
        }

        // The crate in the root has its sources in `src`; a build script is beside them.
        let folder = match name.rsplit_once("/src/").or(name.rsplit_once('/')) {
            Some((folder, _)) => folder,
            None => name,
        };
        let mut page = Page {
            file: name,
            lines: &lines,
            in_body: false,
            body: BodyLines::default(),
            findings: &mut self.findings,
            types: &mut self.types,
        };
        page.visit_file(&parsed);
        let body = page.body;
        self.crates.entry(folder.to_owned()).or_default().add(body);
    }

    /// All findings, and the crates whose functions have too few blank lines or comments.
    fn exceptions(&self) -> Exceptions {
        let mut counts = Exceptions::new();
        for finding in &self.findings {
            let key = (finding.measure.to_owned(), finding.place.clone());
            *counts.entry(key).or_default() += 1;
        }
        let crates = self.crates.iter();
        for (folder, body) in crates.filter(|(_, body)| body.all > NEEDS_ROOM) {
            let (blank, comments) = body.percent();
            let too_few = [
                ("few-blank-lines", blank < MIN_BLANK_PERCENT),
                ("few-comments", comments < MIN_COMMENT_PERCENT),
            ];
            for (measure, _) in too_few.into_iter().filter(|(_, is_below)| *is_below) {
                counts.insert((measure.to_owned(), folder.clone()), 1);
            }
        }
        counts
    }

    /// The density of each crate, then the number of findings by measure.
    fn table(&self) -> String {
        let mut table = "crate                     lines  blank  comments (in 100)\n".to_owned();
        let mut workspace = BodyLines::default();
        for body in self.crates.values() {
            workspace.add(*body);
        }
        let rows = self
            .crates
            .iter()
            .map(|(name, body)| (name.as_str(), *body));
        for (name, body) in rows.chain([("workspace", workspace)]) {
            let (blank, comments) = body.percent();
            writeln!(table, "{name:24} {:6} {blank:6.2} {comments:9.2}", body.all).unwrap();
        }

        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &self.findings {
            *counts.entry(finding.measure).or_default() += 1;
        }
        for (measure, count) in counts {
            writeln!(table, "{measure:24} {count:6}").unwrap();
        }
        table
    }

    fn details_of(&self, measure: &str, place: &str) -> String {
        self.findings
            .iter()
            .filter(|finding| finding.measure == measure && finding.place == place)
            .map(|finding| format!("\n  {}", finding.detail))
            .collect()
    }

    fn details_below(&self, folder: &str) -> String {
        self.findings
            .iter()
            .filter(|finding| {
                finding.place.starts_with(folder) || finding.detail.starts_with(folder)
            })
            .map(|finding| format!("{} {} {}\n", finding.measure, finding.place, finding.detail))
            .collect()
    }
}

/// Measures one file.
struct Page<'a> {
    file: &'a str,
    lines: &'a [&'a str],
    /// Whether the visitor is inside a function: the lines of a nested function count once.
    in_body: bool,
    body: BodyLines,
    findings: &'a mut Vec<Finding>,
    types: &'a mut BTreeMap<String, Vec<String>>,
}

impl Page<'_> {
    fn find(&mut self, measure: &'static str, span: Span, what: &str) {
        let line = span.start().line;
        self.findings.push(Finding {
            measure,
            place: self.file.to_owned(),
            detail: format!("{}:{line} {what}", self.file),
        });
    }

    fn measure_function(&mut self, name: &Ident, block: &Block) {
        let braces = block.brace_token.span;
        let (first, last) = (braces.open().start().line, braces.close().end().line);
        let inside = self.lines.get(first..last - 1).unwrap_or_default();
        let count = |matches: fn(&str) -> bool| {
            let lines = inside.iter().map(|line| line.trim());
            lines.filter(|line| matches(line)).count()
        };
        let body = BodyLines {
            all: inside.len(),
            blank: count(str::is_empty),
            comments: count(|line| line.starts_with("//")),
        };

        // Room is no reason to split a function.
        let code = body.all - body.blank - body.comments;
        let what = format!("{name} ({code} lines)");
        if code > NEEDS_ROOM && body.blank == 0 {
            self.find("no-paragraph", name.span(), &what);
        }
        if code > NEEDS_ROOM && body.comments == 0 {
            self.find("no-comment", name.span(), &what);
        }
        if code > MAX_FUNCTION {
            self.find("function-over-60", name.span(), &what);
        }
        if !self.in_body {
            self.body.add(body);
        }

        let outer = std::mem::replace(&mut self.in_body, true);
        visit::visit_block(self, block);
        self.in_body = outer;
    }

    fn name_type(&mut self, name: &Ident) {
        let place = format!("{}:{}", self.file, name.span().start().line);
        self.types.entry(name.to_string()).or_default().push(place);
    }
}

impl<'ast> Visit<'ast> for Page<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, type_name): (&[Attribute], _) = match item {
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, None),
            Item::Impl(item) => (&item.attrs, None),
            Item::Mod(item) => (&item.attrs, None),
            _ => (&[], None),
        };
        if is_test(attributes) {
            return;
        }
        if let Some(name) = type_name {
            self.name_type(name);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure_function(&function.sig.ident, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            self.measure_function(&function.sig.ident, &function.block);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure_function(&function.sig.ident, block);
        }
    }

    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        let is_boolean = |pattern: &Pat| {
            let Pat::Lit(pattern) = pattern else {
                return false;
            };
            matches!(pattern.lit, Lit::Bool(_))
        };
        let is_unit =
            matches!(expression.expr.as_ref(), Expr::Tuple(tuple) if tuple.elems.is_empty());
        if is_unit || expression.arms.iter().any(|arm| is_boolean(&arm.pat)) {
            self.find("match-on-condition", expression.match_token.span, "match");
        }
        visit::visit_expr_match(self, expression);
    }
}

/// Whether an item is compiled for tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.parse_args::<syn::Ident>();
        attribute.path().is_ident("cfg") && condition.is_ok_and(|name| name == "test")
    })
}
