//! The checks of a change.
//!
//! Variables of the environment:
//!
//! | variable | meaning |
//! |---|---|
//! | `FUZZ_SECONDS` | seconds for each fuzz target, 20 by default |
//! | `CONFORMANCE_CASES` | scenarios that are compared with Go, 50000 by default |
//! | `UNION_CASES` | scenarios of unions that are compared with Go, 10000 by default |
//! | `SCHEMA_CASES` | schemas, definitions and objects that are compared with Kubernetes, 20000 by default |
//! | `MANAGED_OPERATIONS` | operations of the field manager that are compared with Kubernetes, 20000 by default |
//! | `RULE_CASES` | validation rules that are compared with Kubernetes, 10000 by default |
//! | `EXPRESSION_CASES` | expressions of policies that are compared with Kubernetes, 8000 by default |
//! | `EXPRESSION_SEED` | their seed, 85000000 by default |
//! | `PATCH_CASES` | patches that are compared with Kubernetes, 20000 by default |
//! | `DECODE_CASES` | objects of built-in kinds that are compared with Kubernetes, none by default: the first build of the Go module takes 12 minutes of CPU |
//! | `KUBERNETES_TESTS` | 1 to run the integration tests of Kubernetes on a server, which takes half an hour |
//! | `FRESH` | seed of the comparisons; a random one by default |
//! | `FIELDMANAGER_ADVISORIES` | 1 to check for advisories; downloads their database |
//! | `FIELDMANAGER_SHARED` | a folder with recorded scenarios in `vectors` and documents in `data`; `../shared` by default |

use anyhow::{Context, Result, bail};
use xshell::cmd;

use crate::ahead::Ahead;
use crate::comparison;
use crate::run::{Run, Section, apt_install, has, install, succeeds, variable};

/// The sections of each part, in the order in which they run.
const PARTS: &[(&str, &[Section])] = &[
    (
        "lint",
        &[
            ("Lock files", lock_files),
            ("Format", format),
            ("Lints", lints),
            (
                "The public API compared with its snapshot in docs/api",
                public_api,
            ),
            ("Documentation", documentation),
            ("Licences, sources and duplicate crates", licences),
            ("Combinations of features", features),
            ("The oldest supported Rust", oldest_rust),
            ("The public API against the last release", last_release),
            ("Packages", packages),
        ],
    ),
    (
        "test",
        &[
            ("Tests (the command of the README)", tests),
            (
                "Tests of features that are off by default",
                tests_of_features,
            ),
            ("Conformance suite", conformance_suite),
            ("Recorded scenarios", recorded_scenarios),
        ],
    ),
    ("comparison", comparison::SECTIONS),
    (
        "speed",
        &[
            ("Instructions of key operations", instructions),
            ("The API server under load, for some seconds", load),
        ],
    ),
    ("fuzz", &[("Fuzz targets", fuzz)]),
];

/// Runs the sections of some parts, or of all parts. The first section that fails ends the run.
pub(crate) fn check(parts: &[&str]) -> Result<()> {
    let all: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
    if let Some(part) = parts.iter().find(|part| !all.contains(part)) {
        eprintln!("error: no part `{part}`; parts: {}", all.join(" "));
        std::process::exit(2);
    }
    let wanted = if parts.is_empty() { &all } else { parts };
    let run = Run::new(wanted)?;
    let sections = PARTS
        .iter()
        .filter(|(part, _)| wanted.contains(part))
        .flat_map(|(_, sections)| *sections);

    // The tools are a section of every run, whichever parts it has.
    let result = run.section("Tools", tools).and_then(|()| {
        let _ahead = Ahead::start(&run);
        sections
            .into_iter()
            .try_for_each(|(title, check)| run.section(title, *check))
    });
    run.summary(usize::from(result.is_err()));
    result
}

/// Installs what is missing, and finds the folder of recorded scenarios.
fn tools(run: &Run) -> Result<()> {
    let shell = run.shell.clone();
    // Not every toolchain includes rustfmt and clippy.
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !succeeds(cmd!(shell, "cargo {tool} --version")) {
            cmd!(shell, "rustup component add {component}").run()?;
        }
    }

    let (lint, test) = (run.wants("lint"), run.wants("test"));
    if run.wants("comparison") && !has("go") {
        bail!(
            "go is missing: the comparison with the Go packages needs Go 1.26 or later, https://go.dev/dl"
        );
    }

    if run.wants("fuzz") && !succeeds(cmd!(shell, "cargo fuzz --version")) {
        // In its own target folder, outside the workspace, whose profiles do not apply.
        let _folder = shell.push_dir("/");
        let tools = run.target.join("tools");
        cmd!(shell, "cargo install cargo-fuzz --locked")
            .env("CARGO_TARGET_DIR", tools)
            .run()?;
    }

    // valgrind counts the instructions of key operations.
    if run.wants("speed") {
        install(&shell, "valgrind", &["valgrind"])?;
    }

    // A test opens the page of `blame --html` in chromium.
    if test || run.wants("comparison") {
        install(&shell, "chromium", &["chromium"])?;
    }

    // The client of etcd is made from its protobuf definitions, and tests start an etcd.
    if lint || test {
        install(&shell, "protoc", &["protobuf-compiler", "libprotobuf-dev"])?;
    }
    if test {
        install(&shell, "etcd", &["etcd-server"])?;
    }

    // Clients of `fieldmanager serve`.
    if run.wants("comparison") {
        install(&shell, "mvn", &["maven", "default-jdk-headless"])?;
        install(&shell, "npm", &["npm"])?;
        install(&shell, "openssl", &["openssl"])?;
        if !succeeds(cmd!(shell, "python3 -c 'import ensurepip, venv'")) {
            apt_install(&shell, &["python3-venv"])?;
        }
    }

    cmd!(shell, "cargo --version").quiet().run()?;
    cmd!(shell, "rustc --version").quiet().run()?;
    if run.wants("comparison") {
        cmd!(shell, "go version").quiet().run()?;
    }

    if run.shared.is_none() {
        run.skip(
            "there is no folder ../shared (FIELDMANAGER_SHARED names it): no tests with real documents",
        );
    }
    Ok(())
}

/// Fails if a manifest has changed and its lock file has not.
fn lock_files(run: &Run) -> Result<()> {
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        run.run(
            cmd!(
                run.shell,
                "cargo metadata --locked --format-version 1 --manifest-path {manifest}"
            )
            .ignore_stdout(),
        )?;
    }
    Ok(())
}

fn format(run: &Run) -> Result<()> {
    run.run(cmd!(run.shell, "cargo fmt --all --check"))
}

fn lints(run: &Run) -> Result<()> {
    run.run(cmd!(
        run.shell,
        "cargo clippy --workspace --all-targets --all-features -- -D warnings"
    ))
}

fn public_api(run: &Run) -> Result<()> {
    run.run(cmd!(run.shell, "cargo xtask public-api"))
}

fn documentation(run: &Run) -> Result<()> {
    run.run(
        cmd!(run.shell, "cargo doc --workspace --no-deps --all-features")
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

fn licences(run: &Run) -> Result<()> {
    if !succeeds(cmd!(run.shell, "cargo deny --version")) {
        run.skip("cargo deny is not installed (cargo install cargo-deny --locked)");
        return Ok(());
    }
    run.run(cmd!(run.shell, "cargo deny check licenses bans sources"))?;
    if variable("FIELDMANAGER_ADVISORIES", "0") != "1" {
        run.skip("advisories: their database is downloaded, FIELDMANAGER_ADVISORIES=1 allows it");
        return Ok(());
    }
    run.run(cmd!(run.shell, "cargo deny check advisories"))
}

fn features(run: &Run) -> Result<()> {
    if !succeeds(cmd!(run.shell, "cargo hack --version")) {
        run.skip("cargo hack is not installed (cargo install cargo-hack --locked)");
        return Ok(());
    }
    run.run(cmd!(
        run.shell,
        "cargo hack check --feature-powerset --locked -p fieldmanager -p fieldmanager-openapi -p fieldmanager-patch -p fieldmanager-structural"
    ))?;

    // k8s-openapi requires a feature that selects the version of Kubernetes.
    run.run(cmd!(
        run.shell,
        "cargo hack check --feature-powerset --locked --features latest -p fieldmanager-kube"
    ))
}

fn oldest_rust(run: &Run) -> Result<()> {
    let manifest = run.shell.read_file("Cargo.toml")?;
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'))
        .context("Cargo.toml has no `rust-version`")?;
    // The toolchain is not installed by this program, so a machine without it skips the check.
    let toolchain = format!("+{version}");

    if !succeeds(cmd!(run.shell, "cargo {toolchain} --version")) {
        run.skip(format!(
            "Rust {version} is not installed (rustup toolchain install {version} --profile minimal)"
        ));
        return Ok(());
    }

    run.run(cmd!(
        run.shell,
        "cargo {toolchain} check --workspace --all-targets --locked"
    ))
}

fn last_release(run: &Run) -> Result<()> {
    if let Some(reason) = crate::release::last_release(&run.shell)? {
        run.skip(reason);
    }
    Ok(())
}

fn packages(run: &Run) -> Result<()> {
    run.run(cmd!(run.shell, "cargo xtask packages"))
}

fn tests(run: &Run) -> Result<()> {
    run.run(cmd!(run.shell, "cargo test --workspace"))
}

/// The store in etcd, whose build needs `protoc`. Other features are on in the tests of the workspace, since a crate of it uses them.
fn tests_of_features(run: &Run) -> Result<()> {
    run.run(cmd!(
        run.shell,
        "cargo test -q -p fieldmanager-apiserver --features etcd --test all -- store::etcd"
    ))
}

/// The conformance suite on a server as a process. A test of the command runs it in one process.
fn conformance_suite(run: &Run) -> Result<()> {
    let fieldmanager = run.command()?;
    run.run(cmd!(
        run.shell,
        "tools/conformance-suite/serve {fieldmanager}"
    ))
}

fn recorded_scenarios(run: &Run) -> Result<()> {
    let Some(vectors) = run.vectors() else {
        run.skip("there is no folder of recorded scenarios");
        return Ok(());
    };
    let fieldmanager = run.target.join("debug/fieldmanager");
    run.run(cmd!(run.shell, "{fieldmanager} test {vectors}"))
}

fn instructions(run: &Run) -> Result<()> {
    run.run(cmd!(
        run.shell,
        "cargo run -q -p fieldmanager-benches --release --no-default-features --bin instructions -- --check"
    ))
}

/// On a debug build: it shows that everything works. Figures are measured by hand, on a quiet machine.
fn load(run: &Run) -> Result<()> {
    run.build(&["fieldmanager", "server-load"])?;
    let programs = run.target.join("debug");
    let (load, fieldmanager) = (programs.join("server-load"), programs.join("fieldmanager"));
    run.run(cmd!(run.shell, "{load} {fieldmanager} --quick"))
}

/// Targets are built with instrumentation, so they have their own target folder.
fn fuzz(run: &Run) -> Result<()> {
    let seconds = variable("FUZZ_SECONDS", "20");
    run.run(
        cmd!(run.shell, "fuzz/smoke")
            .env("CARGO_TARGET_DIR", run.target.join("fuzz"))
            .env("FUZZ_SECONDS", seconds),
    )
}
