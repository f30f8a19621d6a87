//! Compares the public API of the published crates with the snapshots in `docs/api`, and counts its items.
//!
//! ```sh
//! cargo run -p fieldmanager-public-api             # fails if a snapshot differs
//! cargo run -p fieldmanager-public-api -- --write  # writes the snapshots
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
//! The engine, which is what the facade is made of, has a limit on its items. Its adapters (the harness, the derive, the
//! crate for `kube`) are counted, and have none.

mod api;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use similar::TextDiff;

/// The folders of the crates of the engine, bottom to top.
const ENGINE: &[&str] =
    &["value", "schema", "fieldpath", "typed", "merge", "patch", "structural", "openapi", "managedfields"];

/// The folders of the other published libraries. The last one is the facade.
const ADAPTERS: &[&str] = &[
    "authoring",
    "blame",
    "union",
    "derive",
    "kube",
    "builtin",
    "rules",
    "handlers",
    "apiserver",
    "harness",
    "conformance-suite",
    ".",
];

/// The largest number of items that the crates of the engine may have together.
const MAX_ITEMS: usize = 400;

fn main() -> Result<ExitCode> {
    if api::is_rustdoc_wrapper() {
        return api::run_rustdoc();
    }
    let write = match env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [option] if option == "--write" => true,
        _ => bail!("expected no argument or `--write`"),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut output = String::new();
    let (mut total, mut engine, mut differs) = (0, 0, false);
    let folders = [ENGINE, ADAPTERS].concat();
    for (folder, json) in folders.iter().zip(api::rustdoc_json(&root, &folders)?) {
        let name = if *folder == "." { "fieldmanager" } else { folder };
        let api = api::read(&json)?;
        total += api.items;
        engine += if ENGINE.contains(folder) { api.items } else { 0 };
        output += &format!("{name}: {} items\n", api.items);
        let snapshot = root.join("docs/api").join(format!("{name}.txt"));
        if write {
            fs::write(&snapshot, api.text).with_context(|| snapshot.display().to_string())?;
            continue;
        }
        let expected = fs::read_to_string(&snapshot).unwrap_or_default();
        if expected != api.text {
            differs = true;
            let diff = TextDiff::from_lines(&expected, &api.text);
            let header = format!("docs/api/{name}.txt");
            output += &diff.unified_diff().context_radius(1).header(&header, "the sources").to_string();
        }
    }
    output += &format!("the engine: {engine} items, at most {MAX_ITEMS}; all crates: {total} items\n");
    std::io::Write::write_all(&mut std::io::stdout(), output.as_bytes())?;
    if differs {
        bail!(
            "the public API differs from docs/api: if the change is intended, write the snapshots with \
             `cargo run -p fieldmanager-public-api -- --write` and commit them"
        );
    }
    if engine > MAX_ITEMS {
        bail!(
            "{engine} public items in the engine, expected at most {MAX_ITEMS}: what only sibling crates use belongs in `internal`"
        );
    }
    Ok(ExitCode::SUCCESS)
}
