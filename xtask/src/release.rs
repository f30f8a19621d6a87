//! Makes what a release uploads, in `dist/` of the target folder: archives, packages for other languages, manifests with
//! their checksums, and the licences of everything in the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value as Json;
use xshell::{Shell, cmd};

use crate::run::{has, target, variable, workspace};
use crate::third_party::{check_program, third_party};

/// The platforms of archives, and how each is built.
const PLATFORMS: [(&str, Linking); 2] = [
    ("x86_64-unknown-linux-musl", Linking::Static),
    ("x86_64-unknown-linux-gnu", Linking::Glibc("2.31")),
];

/// Files that state the version, and the text around it.
const VERSIONED: [(&str, &str); 9] = [
    ("integrations/javascript/package.json", "\"version\": \"@\""),
    (
        "integrations/javascript/package.json",
        "fieldmanager/linux-x64\": \"@\"",
    ),
    ("integrations/java/pom.xml", "<version>@</version>"),
    ("integrations/java/example/pom.xml", "<version>@</version>"),
    ("integrations/go/clientgo/go.mod", "integrations/go v@"),
    ("action.yml", "default: @"),
    ("tools/packaging/krew/fieldmanager.yaml", "version: v@"),
    ("tools/packaging/homebrew/fieldmanager.rb", "version \"@\""),
    ("docs/versions.md", "| Version | @."),
];

/// How a program for Linux finds the functions of C.
#[derive(Clone, Copy)]
enum Linking {
    /// They are in the program.
    Static,
    /// In the glibc of the system, of this version or a later one.
    Glibc(&'static str),
}

/// Writes the page of the licences to `THIRD-PARTY.md` of the target folder, and compares it with what a program has.
pub(crate) fn licences(program: &str) -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(workspace());
    let page = third_party(&shell, "x86_64-unknown-linux-gnu")?;
    check_program(&shell, Path::new(program), &page)?;
    let file = target().join("THIRD-PARTY.md");
    shell.write_file(&file, page)?;
    println!("{}", file.display());
    Ok(())
}

/// Makes the release. Nothing is uploaded.
///
/// `RELEASE_PROFILE` is the profile of the program, `release` by default; `RELEASE_TWICE=1` builds each program twice, and
/// fails if the bytes differ.
pub(crate) fn release() -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(workspace());
    let version = version(&shell)?;
    check_versions(&shell, &version)?;
    // Files of an earlier release would be in the checksums.
    let dist = target().join("dist");
    shell.remove_path(&dist)?;
    shell.create_dir(&dist)?;

    crate::packages::packages()?;
    // The packages are the same with either library of C.
    let licences = third_party(&shell, "x86_64-unknown-linux-gnu")?;
    shell.write_file(dist.join("THIRD-PARTY.md"), licences)?;
    for (platform, linking) in PLATFORMS {
        match linking {
            Linking::Glibc(_) if !has("cargo-zigbuild") => {
                println!(
                    "skipped: {platform}: cargo-zigbuild is not installed (pip install cargo-zigbuild)"
                );
            }
            _ => archive(&shell, &dist, &version, platform, linking)?,
        }
    }
    other_languages(&shell, &dist)?;

    let sums = sums(&shell, &dist)?;
    for manifest in [
        "tools/packaging/krew/fieldmanager.yaml",
        "tools/packaging/homebrew/fieldmanager.rb",
    ] {
        let text = with_sums(&shell.read_file(manifest)?, &sums);
        let name = Path::new(manifest).file_name().unwrap_or_default();
        shell.write_file(dist.join(name), text)?;
    }
    println!("{}", dist.display());
    Ok(())
}

/// The version of the workspace.
fn version(shell: &Shell) -> Result<String> {
    let metadata = cmd!(
        shell,
        "cargo metadata --no-deps --locked --format-version 1"
    )
    .quiet()
    .read()?;
    let metadata: Json = serde_json::from_str(&metadata)?;
    let packages = members(&metadata).context("cargo metadata has no packages")?;
    let program = packages
        .iter()
        .find(|package| text(package, "name") == "fieldmanager-cli");
    let version = program.map(|package| text(package, "version"));
    Ok(version
        .context("there is no package of the command")?
        .to_owned())
}

/// The packages of `cargo metadata`.
fn members(metadata: &Json) -> Option<&Vec<Json>> {
    metadata.get("packages")?.as_array()
}

/// A text of a package; empty if it has none.
fn text<'a>(package: &'a Json, name: &str) -> &'a str {
    let text = package.get(name).and_then(Json::as_str);
    text.unwrap_or_default()
}

/// Fails if a file states another version, or the changelog none.
fn check_versions(shell: &Shell, version: &str) -> Result<()> {
    for (file, around) in VERSIONED {
        let wanted = around.replace('@', version);
        if !shell.read_file(file)?.contains(&wanted) {
            bail!("{file}: expected `{wanted}`");
        }
    }
    if !shell.read_file("CHANGELOG.md")?.contains(version) {
        bail!("CHANGELOG.md: expected a section for {version}");
    }
    Ok(())
}

/// Builds the program for a platform, and packs it with completions, man pages and licences.
fn archive(
    shell: &Shell,
    dist: &Path,
    version: &str,
    platform: &str,
    linking: Linking,
) -> Result<()> {
    let program = build(shell, platform, linking, &target())?;
    if variable("RELEASE_TWICE", "0") == "1" {
        let again = build(shell, platform, linking, &target().join("again"))?;
        cmd!(shell, "cmp {program} {again}")
            .run()
            .context("two builds differ")?;
    }

    check_program(
        shell,
        &program,
        &shell.read_file(dist.join("THIRD-PARTY.md"))?,
    )?;

    let name = format!("fieldmanager-{version}-{platform}");
    let folder = target().join("archives").join(&name);
    shell.remove_path(&folder)?;
    shell.create_dir(folder.join("completions"))?;
    shell.copy_file(&program, folder.join("fieldmanager"))?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        shell.copy_file(file, &folder)?;
    }
    shell.copy_file(dist.join("THIRD-PARTY.md"), &folder)?;
    for (kind, file) in [
        ("bash", "fieldmanager.bash"),
        ("zsh", "_fieldmanager"),
        ("fish", "fieldmanager.fish"),
    ] {
        let script = cmd!(shell, "{program} completions {kind}").quiet().read()?;
        shell.write_file(folder.join("completions").join(file), script + "\n")?;
    }
    let man = folder.join("man");
    cmd!(shell, "{program} man {man}").quiet().run()?;

    // The bytes depend on the contents alone.
    let archives = target().join("archives");
    let archive = dist.join(format!("{name}.tar.gz"));
    let tar = "tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX,a+rX -cf -";
    let command = format!(
        "{tar} -C '{}' '{name}' | gzip -n -9 >'{}'",
        archives.display(),
        archive.display()
    );
    cmd!(shell, "sh -c {command}").quiet().run()?;
    println!("{}", archive.display());
    Ok(())
}

/// Builds the program for a platform into a target folder. Paths of this machine are not in it.
fn build(shell: &Shell, platform: &str, linking: Linking, folder: &Path) -> Result<PathBuf> {
    let profile = variable("RELEASE_PROFILE", "release");
    let (command, triple) = match linking {
        Linking::Static => ("build", platform.to_owned()),
        Linking::Glibc(version) => ("zigbuild", format!("{platform}.{version}")),
    };
    cmd!(
        shell,
        "cargo {command} --locked -p fieldmanager-cli --profile {profile} --target {triple}"
    )
    .env("CARGO_TARGET_DIR", folder)
    .envs(same_bytes())
    .run()?;
    let made = if profile == "dev" { "debug" } else { &profile };
    Ok(folder.join(platform).join(made).join("fieldmanager"))
}

/// Variables of a build that make its bytes the same on each machine: they have no paths of it.
fn same_bytes() -> [(&'static str, String); 3] {
    let home = variable("CARGO_HOME", &(variable("HOME", "/") + "/.cargo"));
    let root = workspace();
    let flags = format!(
        "--remap-path-prefix={home}=/cargo --remap-path-prefix={}=/fieldmanager",
        root.display()
    );
    [
        ("RUSTFLAGS", flags),
        // The messages of assertions in C have paths of sources.
        ("CFLAGS", format!("-ffile-prefix-map={home}=/cargo")),
        // The profile says so; maturin would strip with an argument of the linker, which would be another build.
        ("MATURIN_STRIP", "false".to_owned()),
    ]
}

/// The wheel, and the packages of npm, with the program that is linked statically, and the licences of what is in it.
fn other_languages(shell: &Shell, dist: &Path) -> Result<()> {
    let profile = variable("RELEASE_PROFILE", "release");
    let made = if profile == "dev" { "debug" } else { &profile };
    let program = target()
        .join("x86_64-unknown-linux-musl")
        .join(made)
        .join("fieldmanager");
    let licences = dist.join("THIRD-PARTY.md");
    cmd!(
        shell,
        "node integrations/javascript/pack.js {program} linux-x64 {dist} {licences}"
    )
    .quiet()
    .run()?;
    if !has("maturin") {
        println!("skipped: the wheel: maturin is not installed (pip install maturin)");
        return Ok(());
    }
    let _folder = shell.push_dir("integrations/python");
    // Files outside its folder cannot be in a wheel.
    shell.copy_file(&licences, "THIRD-PARTY.md")?;
    cmd!(
        shell,
        "maturin build --locked --profile {profile} --target x86_64-unknown-linux-musl --compatibility musllinux_1_1 manylinux2014 --out {dist}"
    )
    .env("CARGO_TARGET_DIR", target())
    .envs(same_bytes())
    .run()?;
    Ok(())
}

/// The checksums of all files, by their names, which are written to `SHA256SUMS` too.
fn sums(shell: &Shell, dist: &Path) -> Result<BTreeMap<String, String>> {
    let _folder = shell.push_dir(dist);
    let list = cmd!(shell, "sh -c 'sha256sum -- *'").quiet().read()?;
    shell.write_file(dist.join("SHA256SUMS"), format!("{list}\n"))?;
    let pairs = list.lines().filter_map(|line| line.split_once("  "));
    Ok(pairs
        .map(|(sum, name)| (name.to_owned(), sum.to_owned()))
        .collect())
}

/// A manifest with the checksums of the archives that it names: each follows the address of its archive.
fn with_sums(manifest: &str, sums: &BTreeMap<String, String>) -> String {
    let empty = "0".repeat(64);
    let mut sum = None;
    let mut text = String::new();
    for line in manifest.lines() {
        if line.contains(".tar.gz") {
            // A formula writes the beginning of the name once, and then its end.
            let end = line.trim_end_matches(['"', ' ']);
            let end = end.rsplit(['/', '}']).next().unwrap_or_default();
            sum = sums
                .iter()
                .find(|(name, _)| name.ends_with(end))
                .map(|(_, sum)| sum);
        }
        let line = match sum {
            Some(sum) => line.replace(&empty, sum),
            None => line.to_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_get_the_checksums_of_the_archives_that_they_name() {
        let triples = ["x86_64-unknown-linux-musl", "aarch64-apple-darwin"];
        let sums: BTreeMap<String, String> = triples
            .iter()
            .map(|triple| {
                (
                    format!("fieldmanager-0.1.0-{triple}.tar.gz"),
                    format!("sum of {triple}"),
                )
            })
            .collect();
        for file in ["krew/fieldmanager.yaml", "homebrew/fieldmanager.rb"] {
            let path = workspace().join("tools/packaging").join(file);
            let text = with_sums(&std::fs::read_to_string(path).unwrap(), &sums);

            for triple in triples {
                let after = text.split(&format!("{triple}.tar.gz")).nth(1).unwrap();
                let line = after.lines().nth(1).unwrap();
                assert!(line.contains(&format!("sum of {triple}")), "{file}: {line}");
            }
            // The other two archives are made elsewhere.
            assert_eq!(text.matches(&"0".repeat(64)).count(), 2, "{file}");
        }
    }
}
