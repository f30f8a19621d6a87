//! The public API of a crate, from the JSON that rustdoc writes.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use public_api::Builder;
use serde_json::Value;

use crate::run::target;

/// The API of one crate.
pub(crate) struct Api {
    /// One line for each item, field, variant and trait implementation, sorted.
    pub(crate) text: String,
    /// How many items count.
    pub(crate) items: usize,
}

/// Reads the JSON of one crate.
pub(crate) fn read(json: &Path) -> Result<Api> {
    let mut lines = lines(json)?;
    lines.sort();
    lines.dedup();

    // Without implementations of traits, the lines that are left are items, fields and variants.
    let inherent = json.with_extension("inherent.json");
    let mut document = serde_json::from_slice(&fs::read(json)?)?;
    remove_trait_implementations(&mut document);
    fs::write(&inherent, document.to_string())?;
    let items = self::lines(&inherent)?
        .iter()
        .filter(|line| is_item(line))
        .count();
    fs::remove_file(&inherent)?;

    Ok(Api {
        text: lines.iter().map(|line| format!("{line}\n")).collect(),
        items,
    })
}

fn lines(json: &Path) -> Result<Vec<String>> {
    let api = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| json.display().to_string())?;
    Ok(api.items().map(ToString::to_string).collect())
}

fn remove_trait_implementations(document: &mut Value) {
    let Some(index) = document.get_mut("index").and_then(Value::as_object_mut) else {
        return;
    };
    index.retain(|_, item| item.pointer("/inner/impl/trait").is_none_or(Value::is_null));
    let ids: Vec<String> = index.keys().cloned().collect();

    // Types refer to their implementations by number, and a reference to a removed one could not be resolved.
    for item in index.values_mut() {
        let Some(inner) = item.get_mut("inner").and_then(Value::as_object_mut) else {
            continue;
        };
        for kind in inner.values_mut() {
            for list in ["impls", "implementations"] {
                if let Some(Value::Array(impls)) = kind.get_mut(list) {
                    impls.retain(|id| ids.binary_search(&id.to_string()).is_ok());
                }
            }
        }
    }
}

/// Whether a line is an item: not a field, a variant, the root of a crate or a re-export from another crate.
fn is_item(line: &str) -> bool {
    const KINDS: &[&str] = &[
        "async ", "const ", "enum ", "extern ", "fn ", "macro ", "mod ", "proc ", "static ",
        "struct ", "trait ", "type ", "union ", "unsafe ",
    ];
    let mut rest = line;

    // Attributes such as `#[non_exhaustive]`.
    while rest.starts_with("#[") {
        rest = rest.split_once("] ").map_or("", |(_, rest)| rest);
    }
    let is_root = rest.starts_with("pub mod ") && !rest.contains("::");
    !is_root
        && rest
            .strip_prefix("pub ")
            .is_some_and(|item| KINDS.iter().any(|kind| item.starts_with(kind)))
}

/// Writes the JSON of all crates, and returns its files.
pub(crate) fn json(root: &Path, folders: &[&str]) -> Result<Vec<PathBuf>> {
    let names: Vec<String> = folders
        .iter()
        .map(|folder| {
            if *folder == "." {
                "fieldmanager".to_owned()
            } else {
                format!("fieldmanager-{folder}")
            }
        })
        .collect();
    let status = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        // All packages, as for the documentation: dependencies are checked once for both.
        .args([
            "doc",
            "-q",
            "--workspace",
            "--lib",
            "--no-deps",
            "--all-features",
        ])
        .env(
            "RUSTDOCFLAGS",
            "-Zunstable-options --output-format=json --cap-lints=allow",
        )
        .env("RUSTDOC", env::current_exe()?)
        .env(WRAPPER, "1")
        .current_dir(root)
        .status()
        .context("cargo doc")?;

    if !status.success() {
        bail!("`cargo doc` failed");
    }
    Ok(names
        .iter()
        .map(|name| {
            target()
                .join("doc")
                .join(name.replace('-', "_"))
                .with_extension("json")
        })
        .collect())
}

const WRAPPER: &str = "FIELDMANAGER_PUBLIC_API_RUSTDOC";

/// Whether cargo runs this program in place of rustdoc.
pub(crate) fn is_rustdoc_wrapper() -> bool {
    env::var_os(WRAPPER).is_some()
}

/// Runs rustdoc with its unstable options. The variable that allows them is set here and not for cargo, because cargo
/// would then build every dependency anew.
pub(crate) fn run_rustdoc() -> ExitCode {
    let status = Command::new("rustdoc")
        .args(env::args_os().skip(1))
        .env("RUSTC_BOOTSTRAP", "1")
        .status();
    if status.is_ok_and(|status| status.success()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
