//! Makes the packages that would be published, and builds and runs the example of the README against them alone.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::run::{target, workspace};

/// The licences of this project, which each package has.
pub(crate) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// `verifies` builds each package alone, as a release does; without it, the consumer builds most of them.
pub(crate) fn packages(verifies: bool) -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(workspace());
    // Cargo keeps the packages of a dry run in a folder of its own below this one.
    let made = target().join("package");
    shell.remove_path(&made)?;

    // Files that are not committed would be refused. A fresh clone has none.
    let is_dirty = !cmd!(shell, "git status --porcelain")
        .quiet()
        .read()?
        .is_empty();

    let options = [(is_dirty, "--allow-dirty"), (!verifies, "--no-verify")];
    let options = options.iter().filter(|(is_set, _)| *is_set);
    let options = options.map(|(_, option)| option);
    cmd!(
        shell,
        "cargo publish --workspace --dry-run --locked {options...}"
    )
    .run()?;

    let folder = shell.create_temp_dir()?;
    let mut manifest = String::from(
        "[package]\nname = \"consumer\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\nfieldmanager = \"*\"\n\n\
         [workspace]\n\n[patch.crates-io]\n",
    );
    let mut found = 0;

    // Cargo can keep a package in two folders.
    let folders = shell.read_dir(&made)?;
    let archives = folders.iter().filter_map(|made| shell.read_dir(made).ok());
    let is_archive = |path: &PathBuf| path.extension().is_some_and(|end| end == "crate");
    for archive in archives.flatten().filter(is_archive) {
        let unpacked = folder.path();
        let stem = archive.file_stem().context("a package has no name")?;
        let package = unpacked.join(stem);
        if package.is_dir() {
            continue;
        }

        cmd!(shell, "tar -xzf {archive} -C {unpacked}")
            .quiet()
            .run()?;
        check(&shell, &package).with_context(|| archive.display().to_string())?;

        // The name is what precedes the version.
        let stem = stem.to_string_lossy();
        let (name, _) = stem
            .rsplit_once('-')
            .with_context(|| format!("{stem} has no version"))?;
        manifest += &format!(
            "{name} = {{ path = {:?} }}\n",
            package.display().to_string()
        );
        found += 1;
    }

    let consumer = folder.path().join("consumer");
    shell.write_file(consumer.join("Cargo.toml"), manifest)?;
    shell.write_file(consumer.join("src/main.rs"), example(&shell)?)?;
    shell.copy_file("Cargo.lock", &consumer)?;
    shell.change_dir(consumer);
    cmd!(shell, "cargo run -q")
        .env("CARGO_TARGET_DIR", target())
        .run()?;
    println!("{found} packages; the example of the README runs against them");

    Ok(())
}

/// The first Rust example of the README, which is a program.
fn example(shell: &Shell) -> Result<String> {
    let text = shell.read_file("README.md")?;
    let (_, code) = text
        .split_once("```rust\n")
        .context("README.md has no Rust example")?;
    let (code, _) = code
        .split_once("```")
        .context("README.md has an example without an end")?;
    Ok(code.to_owned())
}

/// Checks that an unpacked package has what each one has.
fn check(shell: &Shell, package: &Path) -> Result<()> {
    if !package.join("README.md").is_file() {
        bail!("the package has no README.md");
    }
    for file in LICENCES {
        // A link that git stored as a file would be a path instead of a text.
        if shell.read_file(package.join(file))? != shell.read_file(workspace().join(file))? {
            bail!("{file} is not that of the workspace");
        }
    }
    Ok(())
}
