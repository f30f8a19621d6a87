//! The integration tests of a crate are one program, and it names every file: `autotests = false` would leave out a
//! forgotten one in silence.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

/// Tests that are a program of their own, because they measure the memory or the time of their process.
const ALONE: &[&str] = &["tools/cli/tests/abuse", "tests/invariants/tests/cost.rs"];

#[test]
fn the_test_program_of_a_crate_names_every_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut programs = 0;
    for entry in WalkDir::new(&root)
        .max_depth(4)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != "target")
    {
        let entry = entry.unwrap();
        let folder = entry.path();
        if !folder.ends_with("tests") || !folder.join("../Cargo.toml").is_file() {
            continue;
        }
        let Ok(main) = fs::read_to_string(folder.join("main.rs")) else {
            let sources = sources(folder);
            assert!(
                sources <= 1,
                "{} has several programs: add main.rs",
                folder.display()
            );
            programs += sources;
            continue;
        };
        programs += 1;
        let named: BTreeSet<&str> = main
            .lines()
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
            .collect();
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let is_module =
                path.extension().is_some_and(|end| end == "rs") || path.join("mod.rs").is_file();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let alone = ALONE.iter().any(|alone| path.ends_with(alone));
            assert!(
                !is_module || alone || name == "main" || named.contains(name),
                "{}: add `mod {name};` to main.rs beside it",
                path.display()
            );
        }
    }
    let all = programs + ALONE.len();
    assert!(
        all <= 30,
        "{all} test programs: each links its crate again, which takes long"
    );
}

fn sources(folder: &Path) -> usize {
    let files = fs::read_dir(folder).unwrap();
    files
        .filter(|file| {
            file.as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|end| end == "rs")
        })
        .count()
}
