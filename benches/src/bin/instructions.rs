//! Counts the instructions of the key operations, with callgrind, and compares them with the record.
//!
//! `--check` fails if an operation needs over 5% more than the record, `--record` rewrites the record, and without either
//! the counts are printed. Unlike times, instruction counts do not depend on the load of the machine, so they can be
//! checked anywhere; they depend on the compiler, which the record names.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that reports"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs, io};

use fieldmanager_benches::key::OPERATIONS;

/// The tolerated growth of an operation in percent.
const TOLERANCE: f64 = 5.0;
/// Runs of each operation under callgrind; the mean is recorded.
const RUNS: u64 = 10;

fn main() -> ExitCode {
    let argument = env::args().nth(1);
    match start(argument.as_deref()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn start(argument: Option<&str>) -> Result<bool, Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.toml");
    let (compiler, program) = (compiler()?, program()?);
    let record = match argument {
        Some("--record") => BTreeMap::new(),
        Some("--check") | None => read(&fs::read_to_string(&path).unwrap_or_default())?,
        Some(other) => {
            return Err(
                format!("unknown argument `{other}`: expected `--check` or `--record`").into(),
            );
        }
    };
    let mut written = format!(
        "# Instructions of one run of each key operation, counted by callgrind.\n\
         # Written by `cargo run -p fieldmanager-benches --release --bin instructions -- --record`.\n\
         compiler = \"{compiler}\"\n\n[instructions]\n"
    );
    let mut good = true;
    for (name, _) in OPERATIONS {
        let count = count(&program, name)?;
        let _ = writeln!(written, "{name} = {count}");
        let Some(before) = record.get(name).and_then(|text| text.parse::<u64>().ok()) else {
            good &= argument != Some("--check");
            println!("{name:20} {count:>12}  (not in the record)");
            continue;
        };
        let growth = (count as f64 / before as f64 - 1.0) * 100.0;
        let grown = growth > TOLERANCE;
        good &= !grown;
        println!(
            "{name:20} {count:>12}  {growth:+.2}%{}",
            if grown { "  too much" } else { "" }
        );
    }
    if argument == Some("--record") {
        fs::write(&path, written)?;
        return Ok(true);
    }
    if record
        .get("compiler")
        .is_some_and(|recorded| *recorded != compiler)
    {
        println!(
            "note: counted with {compiler}, recorded with another compiler: update the record with `--record`"
        );
    }
    if !good && argument == Some("--check") {
        println!(
            "over {TOLERANCE}% more than recorded: fix it, or record the new counts with `--record`"
        );
    }
    Ok(good || argument.is_none())
}

/// The names and values of the record, in all tables.
fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut out = BTreeMap::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', '[']) {
            continue;
        }
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("the record has the line `{line}`"))?;
        out.insert(
            name.trim().to_owned(),
            value.trim().trim_matches('"').to_owned(),
        );
    }
    Ok(out)
}

/// The compiler, by its version.
fn compiler() -> io::Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .split_whitespace()
        .take(2)
        .collect::<Vec<_>>()
        .join(" "))
}

/// Builds the program that runs an operation, and returns its path, beside this program.
fn program() -> Result<PathBuf, Box<dyn std::error::Error>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--release",
            "--package",
            "fieldmanager-benches",
            // Without what measures API servers, which takes minutes to build.
            "--no-default-features",
            "--bin",
            "key-operation",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()?;
    if !status.success() {
        return Err("cannot build `key-operation`".into());
    }
    let own = env::current_exe()?;
    let folder = own.parent().ok_or("a program that is in no folder")?;
    if folder.file_name().is_none_or(|name| name != "release") {
        return Err("counts are of the release build: run this one with `--release`".into());
    }
    Ok(folder.join(format!("key-operation{}", env::consts::EXE_SUFFIX)))
}

/// The instructions of one run; only the measured function counts.
fn count(program: &Path, name: &str) -> Result<u64, Box<dyn std::error::Error>> {
    let out = env::temp_dir().join(format!(
        "fieldmanager-{name}-{}.callgrind",
        std::process::id()
    ));
    let run = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--collect-atstart=no",
            "--toggle-collect=*fieldmanager_benches*measure*timed*",
        ])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args([name, &RUNS.to_string()])
        .output()
        .map_err(|error| format!("cannot run `valgrind`: {error}"))?;
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    let _ = fs::remove_file(&out);
    if !run.status.success() {
        return Err(format!("valgrind failed for `{name}`: {text}").into());
    }
    let found = text
        .lines()
        .find_map(|line| line.split_once("Collected :")?.1.trim().parse::<u64>().ok());
    match found {
        Some(total) if total > 0 => Ok(total / RUNS),
        _ => Err(format!("callgrind counted nothing for `{name}`: {text}").into()),
    }
}
