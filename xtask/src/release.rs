//! Makes what a release uploads, in `dist/` of the target folder: archives, packages for other languages, manifests with
//! their checksums, and the licences of everything in the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder};
use xshell::{Shell, cmd};

use crate::run::{has, succeeds, target, variable, workspace};
use crate::third_party::{check_program, third_party};

/// The version of every package of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The platforms of archives.
const PLATFORMS: [Platform; 6] = [
    Platform::new("x86_64-unknown-linux-musl", Linking::Static, "linux-x64"),
    Platform::new("x86_64-unknown-linux-gnu", Linking::Glibc("2.31"), ""),
    Platform::new("aarch64-unknown-linux-musl", Linking::Static, "linux-arm64"),
    Platform::new("x86_64-apple-darwin", Linking::System, "darwin-x64"),
    Platform::new("aarch64-apple-darwin", Linking::System, "darwin-arm64"),
    Platform::new("x86_64-pc-windows-msvc", Linking::System, "win32-x64"),
];

/// Those that are made on Linux for x86-64.
const OF_THIS_MACHINE: [&str; 2] = ["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"];

/// Manifests that name archives.
const MANIFESTS: [&str; 2] = [
    "tools/packaging/krew/fieldmanager.yaml",
    "tools/packaging/homebrew/fieldmanager.rb",
];

/// Files that state the version, and the text around it.
const VERSIONED: [(&str, &str); 8] = [
    ("integrations/javascript/package.json", "\"version\": \"@\""),
    ("integrations/java/pom.xml", "<version>@</version>"),
    ("integrations/java/example/pom.xml", "<version>@</version>"),
    ("integrations/go/clientgo/go.mod", "integrations/go v@"),
    ("action.yml", "default: @"),
    ("tools/packaging/krew/fieldmanager.yaml", "version: v@"),
    ("tools/packaging/homebrew/fieldmanager.rb", "version \"@\""),
    ("docs/versions.md", "| Version | @."),
];

/// A platform for which there is a program.
#[derive(Clone, Copy)]
struct Platform {
    triple: &'static str,
    linking: Linking,
    /// What npm calls it; empty if another platform has the packages for other languages.
    npm: &'static str,
}

/// How a program finds the functions of C.
#[derive(Clone, Copy)]
enum Linking {
    /// They are in the program.
    Static,
    /// In the glibc of the system, of this version or a later one.
    Glibc(&'static str),
    /// In what every system of the platform has.
    System,
}

impl Platform {
    const fn new(triple: &'static str, linking: Linking, npm: &'static str) -> Self {
        Platform {
            triple,
            linking,
            npm,
        }
    }

    fn named(triple: &str) -> Result<Self> {
        let found = PLATFORMS.into_iter().find(|known| known.triple == triple);
        found.with_context(|| {
            let known = PLATFORMS.map(|known| known.triple).join(", ");
            format!("no platform `{triple}`; platforms: {known}")
        })
    }

    /// The file of the program.
    fn program(self) -> &'static str {
        if self.triple.contains("windows") {
            "fieldmanager.exe"
        } else {
            "fieldmanager"
        }
    }
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

/// Makes the release of this machine: Linux for x86-64. Nothing is uploaded.
///
/// `RELEASE_PROFILE` is the profile of the program, `release` by default; `RELEASE_TWICE=1` builds each program twice, and
/// fails if the bytes differ.
pub(crate) fn release() -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(workspace());
    check_versions(&shell)?;
    if let Some(reason) = last_release(&shell)? {
        println!("skipped: {reason}");
    }

    // Files of an earlier release would be in the checksums.
    shell.remove_path(dist())?;
    crate::packages::packages(true)?;
    for platform in OF_THIS_MACHINE {
        platform_files(platform)?;
    }
    let licences = licences_file(OF_THIS_MACHINE[0]);
    shell.copy_file(licences, dist().join("THIRD-PARTY.md"))?;
    checksums()
}

/// The folder of what is uploaded.
fn dist() -> PathBuf {
    target().join("dist")
}

/// The page of the licences of what a program has.
fn licences_file(platform: &str) -> PathBuf {
    target().join("archives").join(format!("{platform}.md"))
}

/// Makes the archive of a platform, and its packages for other languages, in `dist/`.
pub(crate) fn platform_files(platform: &str) -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(workspace());
    let platform = Platform::named(platform)?;
    shell.create_dir(dist())?;
    if matches!(platform.linking, Linking::Glibc(_)) && !has("cargo-zigbuild") {
        println!(
            "skipped: {}: cargo-zigbuild is not installed (pip install cargo-zigbuild)",
            platform.triple
        );
        return Ok(());
    }

    let page = third_party(&shell, platform.triple)?;
    let program = build(&shell, platform, &target())?;
    check_program(&shell, &program, &page)?;
    let licences = licences_file(platform.triple);
    shell.write_file(&licences, page)?;
    if variable("RELEASE_TWICE", "0") == "1" {
        let again = build(&shell, platform, &target().join("again"))?;
        if shell.read_binary_file(&program)? != shell.read_binary_file(&again)? {
            bail!("two builds for {} differ", platform.triple);
        }
    }

    archive(&shell, platform, &program, &licences)?;
    if platform.npm.is_empty() {
        return Ok(());
    }
    other_languages(&shell, platform, &program, &licences)
}

/// Writes the checksums of what is in `dist/`, and the manifests that have them.
pub(crate) fn checksums() -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(workspace());
    let sums = sums(&shell, &dist())?;
    for manifest in MANIFESTS {
        let text = with_sums(&shell.read_file(manifest)?, &sums);
        let name = Path::new(manifest).file_name().unwrap_or_default();
        shell.write_file(dist().join(name), text)?;
    }
    println!("{}", dist().display());
    Ok(())
}

/// Compares the public API with that of the last release. The answer is why it was not.
pub(crate) fn last_release(shell: &Shell) -> Result<Option<&'static str>> {
    let tag = cmd!(shell, "git describe --tags --abbrev=0 --match v*")
        .quiet()
        .ignore_stderr()
        .read();
    let Ok(tag) = tag else {
        return Ok(Some("there is no release to compare the public API with"));
    };
    if !succeeds(cmd!(shell, "cargo semver-checks --version")) {
        return Ok(Some(
            "cargo semver-checks is not installed (cargo install cargo-semver-checks --locked)",
        ));
    }

    cmd!(
        shell,
        "cargo semver-checks --workspace --baseline-rev {tag}"
    )
    .run()?;
    Ok(None)
}

/// Fails if a file states another version, or the changelog none.
fn check_versions(shell: &Shell) -> Result<()> {
    let stated = VERSIONED.map(|(file, around)| (file, around.replace('@', VERSION)));
    // The launcher of npm names the package of each platform.
    let packages = PLATFORMS.iter().filter(|known| !known.npm.is_empty());
    let packages = packages.map(|known| {
        let wanted = format!("fieldmanager/{}\": \"{VERSION}\"", known.npm);
        ("integrations/javascript/package.json", wanted)
    });
    for (file, wanted) in stated.into_iter().chain(packages) {
        if !shell.read_file(file)?.contains(&wanted) {
            bail!("{file}: expected `{wanted}`");
        }
    }
    if !shell.read_file("CHANGELOG.md")?.contains(VERSION) {
        bail!("CHANGELOG.md: expected a section for {VERSION}");
    }
    Ok(())
}

/// Packs a program with completions, man pages and licences.
fn archive(shell: &Shell, platform: Platform, program: &Path, licences: &Path) -> Result<()> {
    let name = format!("fieldmanager-{VERSION}-{}", platform.triple);
    let folder = target().join("archives").join(&name);
    shell.remove_path(&folder)?;
    shell.create_dir(folder.join("completions"))?;
    shell.copy_file(program, folder.join(platform.program()))?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        shell.copy_file(file, &folder)?;
    }
    shell.copy_file(licences, folder.join("THIRD-PARTY.md"))?;
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

    let archive = dist().join(format!("{name}.tar.gz"));
    let file = GzBuilder::new().write(std::fs::File::create(&archive)?, Compression::best());
    let mut packed = tar::Builder::new(file);
    // The bytes depend on the contents alone: not on times, users, or the order of a folder.
    packed.mode(tar::HeaderMode::Deterministic);
    pack(shell, &mut packed, &folder, Path::new(&name))?;
    packed.into_inner()?.finish()?;
    println!("{}", archive.display());
    Ok(())
}

/// Packs the files of a folder below a name, sorted.
fn pack<W: std::io::Write>(
    shell: &Shell,
    packed: &mut tar::Builder<W>,
    folder: &Path,
    name: &Path,
) -> Result<()> {
    for path in shell.read_dir(folder)? {
        let name = name.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            pack(shell, packed, &path, &name)?;
        } else {
            packed.append_path_with_name(&path, name)?;
        }
    }
    Ok(())
}

/// Builds the program for a platform into a target folder. Paths of this machine are not in it.
fn build(shell: &Shell, platform: Platform, folder: &Path) -> Result<PathBuf> {
    let profile = variable("RELEASE_PROFILE", "release");
    let (command, triple) = match platform.linking {
        Linking::Glibc(version) => ("zigbuild", format!("{}.{version}", platform.triple)),
        Linking::Static | Linking::System => ("build", platform.triple.to_owned()),
    };
    cmd!(
        shell,
        "cargo {command} --locked -p fieldmanager-cli --profile {profile} --target {triple}"
    )
    .env("CARGO_TARGET_DIR", folder)
    .envs(same_bytes())
    .run()?;
    let made = if profile == "dev" { "debug" } else { &profile };
    let folder = folder.join(platform.triple).join(made);
    Ok(folder.join(platform.program()))
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

/// The wheel, and the packages of npm, with a program and the licences of what is in it.
fn other_languages(
    shell: &Shell,
    platform: Platform,
    program: &Path,
    licences: &Path,
) -> Result<()> {
    let (dist, npm, triple) = (dist(), platform.npm, platform.triple);
    cmd!(
        shell,
        "node integrations/javascript/pack.js {program} {npm} {dist} {licences}"
    )
    .quiet()
    .run()?;
    if !has("maturin") {
        println!("skipped: the wheel: maturin is not installed (pip install maturin)");
        return Ok(());
    }

    let profile = variable("RELEASE_PROFILE", "release");
    // A program without a library of C runs with each.
    let tags: &[&str] = match platform.linking {
        Linking::Static => &["--compatibility", "musllinux_1_1", "manylinux2014"],
        Linking::Glibc(_) | Linking::System => &[],
    };
    let _folder = shell.push_dir("integrations/python");
    // Files outside its folder cannot be in a wheel.
    shell.copy_file(licences, "THIRD-PARTY.md")?;
    cmd!(
        shell,
        "maturin build --locked --profile {profile} --target {triple} {tags...} --out {dist}"
    )
    .env("CARGO_TARGET_DIR", target())
    .envs(same_bytes())
    .run()?;
    Ok(())
}

/// The checksums of all files, by their names, which are written to `SHA256SUMS` too.
fn sums(shell: &Shell, dist: &Path) -> Result<BTreeMap<String, String>> {
    let _folder = shell.push_dir(dist);
    shell.remove_path("SHA256SUMS")?;
    // Who checks them is in another folder.
    let files = shell.read_dir(".")?;
    let names = files.iter().filter_map(|file| file.file_name());
    let list = cmd!(shell, "sha256sum -- {names...}").quiet().read()?;
    shell.write_file("SHA256SUMS", format!("{list}\n"))?;
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
    fn checksums_are_of_names_without_a_folder() {
        let shell = Shell::new().unwrap();
        let folder = shell.create_temp_dir().unwrap();
        shell.write_file(folder.path().join("a.tgz"), "a").unwrap();
        let found = sums(&shell, folder.path()).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a.tgz"]);
        let list = shell.read_file(folder.path().join("SHA256SUMS")).unwrap();
        assert!(list.ends_with("  a.tgz\n"), "{list}");
    }

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
