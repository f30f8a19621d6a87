//! The folders of the root are few, and the first table of ARCHITECTURE.md says what is in each.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// As many as fit on a screen before the first file.
const MAX_FOLDERS: usize = 20;

#[test]
fn the_root_has_at_most_20_visible_folders() {
    let found = folders();
    assert!(found.len() <= MAX_FOLDERS, "{}: {found:?}", found.len());
}

#[test]
fn the_first_table_of_architecture_names_every_folder_of_the_root() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = text.lines().skip_while(|line| !line.starts_with('|'));
    let named: BTreeSet<String> = table
        .take_while(|line| line.starts_with('|'))
        .flat_map(|line| line.split('|').nth(1).unwrap_or_default().split('`'))
        .filter_map(|word| Some(word.strip_suffix('/')?.to_owned()))
        .collect();
    assert_eq!(named, folders());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of the folders in the root, without hidden ones and that of builds.
fn folders() -> BTreeSet<String> {
    let entries = fs::read_dir(root()).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    folders
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.') && name != "target")
        .collect()
}
