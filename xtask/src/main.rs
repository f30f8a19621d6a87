//! `cargo xtask`: the checks of a change, and the programs around them.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

mod ahead;
mod check;
mod comparison;
mod kubernetes;

mod packages;
mod public_api;
mod release;
mod run;
mod third_party;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask COMMAND

  check [PART ..]                 the checks of a change: lint, test, comparison, speed, fuzz; all without a PART
  packages [--alone]              makes the packages that would be published, and uses them; builds each alone
  public-api [--write]            compares the public API with its snapshots in docs/api, or writes them
  release --dry-run               makes what a release uploads for Linux on x86-64, in dist/ of the target folder
  release --platform TRIPLE       makes the archive and the packages of a platform there
  release --checksums             writes the checksums of what is there
  licences PROGRAM                writes the licences of the packages in a program to THIRD-PARTY.md of the target folder
  kubernetes VERSION [--check] [--kube-apiserver FILE] [TABLE ..]
                                  writes what depends on the release of Kubernetes; docs/upgrading-kubernetes.md";

fn main() -> ExitCode {
    if public_api::is_rustdoc_wrapper() {
        return public_api::run_rustdoc();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["check", parts @ ..] => check::check(parts),
        ["packages"] => packages::packages(false),
        ["packages", "--alone"] => packages::packages(true),
        ["public-api"] => public_api::compare(false),
        ["public-api", "--write"] => public_api::compare(true),
        ["release", "--dry-run"] => release::release(),
        ["release", "--platform", triple] => release::platform_files(triple),
        ["release", "--checksums"] => release::checksums(),
        ["licences", program] => release::licences(program),
        ["kubernetes", version, options @ ..] => kubernetes::kubernetes(version, options),
        _ => bail!("no such command\n{USAGE}"),
    }
}
