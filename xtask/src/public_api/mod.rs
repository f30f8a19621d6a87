//! Compares the public API of the published crates with the snapshots in `docs/api`, and counts its items.
//!
//! ```sh
//! cargo xtask public-api          # fails if a snapshot differs
//! cargo xtask public-api --write  # writes the snapshots
//! ```
//!
//! A snapshot has everything that rustdoc shows except derived, blanket and automatic implementations of traits.
//! Modules named `internal` and items with `#[doc(hidden)]` are not part of the public API: only the crates of this
//! workspace use them.
//!
//! Items that count are modules, structs, enums, traits, functions, methods, constants, types and macros. Fields,
//! variants and the methods of trait implementations do not count: they are part of the item that has them. Neither do
//! the root of a crate and a re-export from another crate, which is an item there.
//!
//! The engine, which is what the facade is made of, has a limit on its items, and so have the request handlers and the
//! server. The other crates (the harness, the derive, the crate for `kube`) are counted, and have none.

mod rustdoc;

use std::fs;

use anyhow::{Context, Result, bail};
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

pub(crate) use rustdoc::{is_rustdoc_wrapper, run_rustdoc};

use crate::run::workspace;

/// The folders of the crates of the engine, bottom to top.
const ENGINE: &[&str] = &[
    "value",
    "schema",
    "fieldpath",
    "typed",
    "merge",
    "patch",
    "structural",
    "openapi",
    "managedfields",
];

/// The folders of the other published libraries. The last one is the facade.
const ADAPTERS: &[&str] = &[
    "authoring",
    "blame",
    "union",
    "derive",
    "kube",
    "builtin",
    "cel",
    "access",
    "admission",
    "handlers",
    "apiserver",
    "harness",
    "conformance-suite",
    ".",
];

/// The largest number of items that the crates of the engine may have together.
const MAX_ITEMS: usize = 400;

/// The largest numbers of items of other crates.
const MAX_ITEMS_OF: &[(&str, usize)] = &[("structural", 100), ("handlers", 80), ("apiserver", 250)];

/// The message for a crate that has more items than it may have.
fn excess(folder: &str, items: usize) -> Option<String> {
    let (_, limit) = MAX_ITEMS_OF.iter().find(|(name, _)| *name == folder)?;
    (items > *limit).then(|| format!("{folder} has {items} public items, expected at most {limit}"))
}

/// Compares the public API with the snapshots, or writes them.
pub(crate) fn compare(write: bool) -> Result<()> {
    let root = workspace();
    let mut output = String::new();
    let (mut total, mut engine, mut differs) = (0, 0, false);
    let mut beyond = Vec::new();
    // One run of `cargo doc` writes the JSON of all crates.
    let folders = [ENGINE, ADAPTERS].concat();
    for (folder, json) in folders.iter().zip(rustdoc::json(&root, &folders)?) {
        let name = if *folder == "." {
            "fieldmanager"
        } else {
            folder
        };
        let api = rustdoc::read(&json)?;
        total += api.items;
        engine += if ENGINE.contains(folder) {
            api.items
        } else {
            0
        };

        output += &format!("{name}: {} items\n", api.items);
        beyond.extend(excess(folder, api.items));
        let snapshot = root.join("docs/api").join(format!("{name}.txt"));
        if write {
            fs::write(&snapshot, api.text).with_context(|| snapshot.display().to_string())?;
            continue;
        }

        // A crate without a snapshot differs in all of its lines.
        let expected = fs::read_to_string(&snapshot).unwrap_or_default();
        if expected != api.text {
            differs = true;
            let lines = InternedInput::new(expected.as_str(), api.text.as_str());
            let diff = Diff::compute(Algorithm::Histogram, &lines);
            let mut config = UnifiedDiffConfig::default();
            config.context_len(1);
            let printer = BasicLineDiffPrinter(&lines.interner);
            let changes = diff.unified_diff(&printer, config, &lines);
            output += &format!("--- docs/api/{name}.txt\n+++ the sources\n{changes}");
        }
    }

    output +=
        &format!("the engine: {engine} items, at most {MAX_ITEMS}; all crates: {total} items\n");
    print!("{output}");
    // All differences are printed before the command fails.
    if differs {
        bail!(
            "the public API differs from docs/api: if the change is intended, write the snapshots with \
             `cargo xtask public-api --write` and commit them"
        );
    }

    if engine > MAX_ITEMS {
        bail!(
            "{engine} public items in the engine, expected at most {MAX_ITEMS}: what only sibling crates use belongs in `internal`"
        );
    }
    if !beyond.is_empty() {
        bail!("{}", beyond.join("; "));
    }
    Ok(())
}
