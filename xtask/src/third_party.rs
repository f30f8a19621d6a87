//! The page of the packages in the program, with their licences and the texts of these.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value as Json;
use xshell::{Shell, cmd};

/// What the page begins with.
const TOP: &str = "\
# Third-party licences

The program contains these packages, the standard library of Rust (MIT OR Apache-2.0), and, where it is linked statically, musl
(MIT, copyright © 2005-2020 Rich Felker and others). Its table of the built-in kinds is made from the OpenAPI documents of
Kubernetes (Apache-2.0). LICENSE-MIT and LICENSE-APACHE beside this file have the words of these licences.

| package | version | licence |
|---|---|---|
";

/// How files with licences begin, in capitals.
const TEXTS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// The page: a table of the packages that the program has on a platform, and each text once. Fails if a package states no licence.
pub(crate) fn third_party(shell: &Shell, platform: &str) -> Result<String> {
    let metadata = cmd!(
        shell,
        "cargo metadata --locked --format-version 1 --filter-platform {platform}"
    );
    let metadata: Json = serde_json::from_str(&metadata.quiet().read()?)?;
    let used = packages_of_program(shell, platform)?;
    let packages = metadata.get("packages").and_then(Json::as_array);
    let packages = packages.context("cargo metadata has no packages")?;

    let (mut page, mut without_text) = (TOP.to_owned(), Vec::new());
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut listed = BTreeSet::new();
    for package in packages {
        let member = |name: &str| package.get(name).and_then(Json::as_str).unwrap_or_default();
        let (name, version, licence) = (member("name"), member("version"), member("license"));
        let full = format!("{name} {version}");
        if !used.contains(&full) || !listed.insert(full.clone()) {
            continue;
        }
        if licence.is_empty() && member("license_file").is_empty() {
            bail!("{full} states no licence");
        }
        writeln!(page, "| {name} | {version} | {licence} |")?;

        let folder = Path::new(member("manifest_path")).parent();
        let found = texts_in(shell, folder.context("a manifest has no folder")?)?;
        if found.is_empty() {
            without_text.push(format!("{full} ({licence})"));
        }
        for text in found {
            texts.entry(text).or_default().push(full.clone());
        }
    }

    if let Some(missing) = used.difference(&listed).next() {
        bail!("cargo metadata has no package {missing}");
    }
    let without_text = without_text.join(", ");
    writeln!(page, "\nWithout a file with the text: {without_text}.")?;
    for (text, names) in texts {
        // A fence that the text does not have.
        write!(
            page,
            "\n## {}\n\n~~~~text\n{text}\n~~~~\n",
            names.join(", ")
        )?;
    }
    Ok(page)
}

/// The names and versions of the packages of others that are linked into the program, or that make code of it.
fn packages_of_program(shell: &Shell, platform: &str) -> Result<BTreeSet<String>> {
    let format = "{p}";
    let tree = cmd!(
        shell,
        "cargo tree --locked -p fieldmanager-cli -e normal --target {platform} --prefix none --format {format}"
    );
    let tree = tree.quiet().read()?;
    // A package of this workspace has its folder behind the version.
    let others = tree.lines().filter(|line| !line.contains(" (/"));
    let mut names = BTreeSet::new();
    for line in others {
        let mut words = line.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            continue;
        };
        names.insert(format!("{name} {}", version.trim_start_matches('v')));
    }
    Ok(names)
}

/// The texts of licences in the folder of a package.
fn texts_in(shell: &Shell, folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for file in shell.read_dir(folder)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_uppercase();
        if TEXTS.iter().any(|start| name.starts_with(start)) && file.is_file() {
            let text = shell.read_file(&file)?.replace('\r', "");
            texts.push(text.trim().to_owned());
        }
    }
    Ok(texts)
}

/// Fails if a program has code of a package that the page does not name. Its messages of panics have paths of sources, such as
/// `…/registry/src/INDEX/serde_json-1.0.140/src/de.rs`.
pub(crate) fn check_program(shell: &Shell, program: &Path, page: &str) -> Result<()> {
    let pattern = "registry/src/[^/]*/[^/]*/";
    let paths = cmd!(shell, "grep -aoE {pattern} {program}")
        .quiet()
        .read()?;
    let folders = paths
        .lines()
        .filter_map(|path| path.trim_end_matches('/').rsplit('/').next());
    let folders: BTreeSet<&str> = folders.collect();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let listed: BTreeSet<String> = rows
        .filter_map(|row| {
            let mut cells = row.split(" | ");
            Some(format!("{}-{}", cells.next()?, cells.next()?))
        })
        .filter(|row| row != "package-version")
        .collect();

    if let Some(missing) = folders.iter().find(|folder| !listed.contains(**folder)) {
        bail!("the page of licences does not name {missing}, which the program has");
    }
    println!(
        "the page of licences names {} packages, {} of which have paths in the program",
        listed.len(),
        folders.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_with_a_path_in_the_program_must_have_a_row() {
        let shell = Shell::new().unwrap();
        let folder = shell.create_temp_dir().unwrap();
        let program = folder.path().join("program");
        let bytes = b"\0/cargo/registry/src/index-1/itoa-1.0.1/src/lib.rs\0registry/src/index-1/ryu-2.0.0/src/a.rs\xff";
        shell.write_file(&program, bytes).unwrap();
        let mut page = format!("{TOP}| itoa | 1.0.1 | MIT |\n| ryu | 1.0.0 | MIT |\n");

        let error = check_program(&shell, &program, &page).unwrap_err();
        assert!(error.to_string().contains("ryu-2.0.0"), "{error}");

        page.push_str("| ryu | 2.0.0 | MIT |\n");
        check_program(&shell, &program, &page).unwrap();
    }
}
