//! Items with `#[doc(hidden)]` are few: what only the crates of the workspace use is in the module `internal` of a crate,
//! which is one hidden item.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, ItemImpl};
use walkdir::WalkDir;

/// The number of hidden items, which may only become smaller.
const HIDDEN: usize = 80;

/// Folders without crates of the workspace.
const SKIPPED: [&str; 3] = ["target", "fuzz", ".git"];

#[test]
fn hidden_items_become_fewer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_read = |entry: &walkdir::DirEntry| {
        !SKIPPED.contains(&entry.file_name().to_string_lossy().as_ref())
    };
    let mut hidden = HiddenItems::default();
    for entry in WalkDir::new(&root).into_iter().filter_entry(is_read) {
        let path = entry.unwrap().into_path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let parsed = syn::parse_file(&text);
            let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            hidden.visit_file(&parsed);
        }
    }

    let count = hidden.count;
    assert!(
        count <= HIDDEN,
        "{count} hidden items, at most {HIDDEN}: move them to `internal`"
    );
    assert!(count >= HIDDEN, "lower `HIDDEN` to {count}");
}

#[derive(Default)]
struct HiddenItems {
    count: usize,
}

impl<'ast> Visit<'ast> for HiddenItems {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        self.count += usize::from(is_hidden(attribute));
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        // One attribute hides every item of the block.
        if item.trait_.is_none() && item.attrs.iter().any(is_hidden) {
            self.count += item.items.len();
        }
        visit::visit_item_impl(self, item);
    }
}

fn is_hidden(attribute: &Attribute) -> bool {
    let argument = attribute.parse_args::<syn::Ident>();
    attribute.path().is_ident("doc") && argument.is_ok_and(|argument| argument == "hidden")
}
