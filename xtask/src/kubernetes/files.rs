//! The files of the tables, compared entry by entry.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use serde_json::Value;

/// How two files differ.
pub(super) enum Difference {
    None,
    /// The numbers of entries that only one of them has.
    Entries {
        added: usize,
        removed: usize,
    },
}

/// Compares a file with a new one. Compressed files are compared by their contents.
pub(super) fn difference(kept: &Path, made: &Path) -> Result<Difference> {
    let made = read(made)?;
    let kept = if kept.exists() {
        read(kept)?
    } else {
        String::new()
    };
    if kept == made {
        return Ok(Difference::None);
    }

    // Equal entries can occur more than once, so they are counted.
    let mut counts: HashMap<String, isize> = HashMap::new();
    for entry in entries(&made) {
        *counts.entry(entry).or_default() += 1;
    }
    for entry in entries(&kept) {
        *counts.entry(entry).or_default() -= 1;
    }

    let sum = |sign: isize| {
        counts
            .values()
            .map(|count| (count * sign).max(0))
            .sum::<isize>()
    };
    Ok(Difference::Entries {
        added: sum(1).unsigned_abs(),
        removed: sum(-1).unsigned_abs(),
    })
}

fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let bytes = if path.extension().is_some_and(|end| end == "gz") {
        let mut content = Vec::new();
        MultiGzDecoder::new(bytes.as_slice())
            .read_to_end(&mut content)
            .with_context(|| path.display().to_string())?;
        content
    } else {
        bytes
    };

    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines of a text; of JSON, the members of the lists and objects in it.
fn entries(text: &str) -> Vec<String> {
    let Ok(document) = serde_json::from_str(text) else {
        return text.lines().map(str::to_owned).collect();
    };
    // Tables are maps of maps or of lists, so an entry is what is two levels below the root.
    let mut out = Vec::new();
    for (name, value) in members(&document) {
        match members(&value) {
            inner if inner.is_empty() => out.push(format!("{name} {value}")),
            inner => out.extend(
                inner
                    .into_iter()
                    .map(|(inner, value)| format!("{name} {inner} {value}")),
            ),
        }
    }

    out
}

/// The members of an object with their names, or the items of a list.
fn members(value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| (String::new(), item.clone()))
            .collect(),
        _ => Vec::new(),
    }
}
