//! Writes every table and recording that depends on the release of Kubernetes. `docs/upgrading-kubernetes.md` describes
//! them one by one.

mod files;
mod generators;
mod upgrade;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::run::{target, workspace};
use files::{Difference, difference};
use generators::{GENERATORS, Generator};
use upgrade::{Upgrade, minor};

/// Runs the generators, reports what they changed, and copies it to the workspace.
pub(crate) fn kubernetes(version: &str, options: &[&str]) -> Result<()> {
    let (mut writes, mut server, mut names) = (true, None, Vec::new());
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--check" => writes = false,
            "--kube-apiserver" => {
                let file = options.next().context("--kube-apiserver expects a file")?;
                let file = fs::canonicalize(file).with_context(|| (*file).to_owned())?;
                // The server is a manager of objects, with the name of its program.
                if !file.ends_with("kube-apiserver") {
                    bail!(
                        "expected a program named kube-apiserver, found `{}`",
                        file.display()
                    );
                }
                server = Some(file);
            }
            name if GENERATORS.iter().any(|generator| generator.name == name) => names.push(name),
            other => {
                let known: Vec<&str> = GENERATORS.iter().map(|generator| generator.name).collect();
                bail!(
                    "expected --check, --kube-apiserver or a table, found `{other}`; tables: {}",
                    known.join(" ")
                );
            }
        }
    }

    let upgrade = prepare(version.trim_start_matches('v'), server)?;
    // All other generators use the modules, so these are never left out.
    let chosen = |generator: &&Generator| {
        generator.name == "modules" || names.is_empty() || names.contains(&generator.name)
    };
    for generator in GENERATORS.iter().filter(chosen) {
        println!("\n== {}", generator.title);
        run(&upgrade, generator, writes)?;
    }
    println!("\n== For a person");

    person(&upgrade)
}

fn prepare(version: &str, kube_apiserver: Option<PathBuf>) -> Result<Upgrade> {
    if version.split('.').count() != 3 {
        bail!("expected a version such as 1.37.1, found `{version}`");
    }
    let shell = Shell::new()?;
    shell.change_dir(workspace());
    let manifest = shell.read_file("comparison/oracle/server/go.mod")?;
    let current = manifest
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes v"))
        .context("comparison/oracle/server/go.mod does not require k8s.io/kubernetes")?;
    // Files of an earlier run would count as made by this one.
    let work = target().join("kubernetes").join(version);
    shell.remove_path(&work)?;

    shell.create_dir(&work)?;
    Ok(Upgrade {
        shell,
        version: version.to_owned(),
        current: current.to_owned(),
        work,
        kube_apiserver,
    })
}

/// Runs a generator, and prints a line for each of its files. One that fails leaves its files to a person.
fn run(upgrade: &Upgrade, generator: &Generator, writes: bool) -> Result<()> {
    let report = |what: &str, file: &str, why: &str| println!("{what:<14} {file}{why}");
    if let Some(reason) = generator.skips(upgrade) {
        // Files that are edited by hand are compared only: their changes need a decision.
        for file in generator.files {
            report("skipped", file, &format!(": {reason}"));
        }
        return Ok(());
    }

    // Other generators do not need these files, so the upgrade goes on.
    if let Err(error) = (generator.write)(upgrade) {
        println!("error: {error:#}");
        for file in generator.files {
            report("needs a person", file, ": the error above");
        }
        return Ok(());
    }

    for file in generator.files {
        let (made, kept) = (upgrade.work.join(file), workspace().join(file));
        match difference(&kept, &made).with_context(|| (*file).to_owned())? {
            Difference::None => report("unchanged", file, ""),
            Difference::Entries { added, removed } => {
                let count = format!(": {added} added, {removed} removed");
                let what = if generator.is_by_hand {
                    "needs a person"
                } else {
                    "changed"
                };
                report(what, file, &count);
                if writes && !generator.is_by_hand {
                    upgrade.shell.copy_file(&made, &kept)?;
                }
            }
        }
    }

    Ok(())
}

/// What no program writes, with what has to be compared.
const BY_HAND: &[(&str, &str)] = &[
    (
        "server/builtin/src/data/defaults.yaml",
        "defaults of new fields: `zz_generated.defaults.go` of `k8s.io/kubernetes/pkg/apis`; the suite `defaults` finds them",
    ),
    (
        "server/builtin/src/data/strategy.yaml",
        "what `PrepareForCreate` and `PrepareForUpdate` of `pkg/registry` change; the suite `defaults` finds it",
    ),
    (
        "server/builtin/src/validation",
        "validation of built-in kinds: `pkg/apis/*/validation`; the suite `defaults` finds it",
    ),
    (
        "server/builtin/src/warnings",
        "warnings: `pkg/api/*/warnings.go`; the suite `server` finds them",
    ),
    (
        "server/apiserver/tests/data/metrics.txt",
        "names, types and labels of `/metrics`, written from a running kube-apiserver",
    ),
    (
        "server/apiserver/tests/data/forbidden.json.gz",
        "answers to users who may do little, which `comparison/forbidden/record.py` writes",
    ),
    (
        "server/admission/tests/data/webhooks.jsonl.gz",
        "what webhooks are sent and make of requests, which `comparison/admission/webhooks.py` writes",
    ),
    (
        "server/cel/src/check/overloads.txt",
        "functions of CEL that a release adds: `k8s.io/apiserver/pkg/cel/environment/base.go`",
    ),
    (
        "comparison/src/server/kinds.yaml",
        "templates of objects: new kinds and fields of them are not generated otherwise",
    ),
    (
        "xtask/bundle/corrections.yaml",
        "the table `schema` fails on corrections that change nothing",
    ),
    (
        "tools/conformance-suite/cases",
        "`since` of cases that servers of the release pass first",
    ),
    (
        "docs/limits.md, docs/deviations.md, docs/conformance.md",
        "limits and deviations from the sources of the release, and its row of results",
    ),
];

/// Prints what no generator writes: the tables by hand, and every other file that names the current release.
fn person(upgrade: &Upgrade) -> Result<()> {
    if upgrade.minor() == minor(&upgrade.current) {
        println!(
            "nothing: {} is a patch of the release of the tables",
            upgrade.version
        );
        return Ok(());
    }

    for (path, what) in BY_HAND {
        println!("needs a person {path}: {what}");
    }
    let pattern = minor(&upgrade.current);
    let shell = &upgrade.shell;
    let names = cmd!(
        shell,
        "git grep -lIF {pattern} -- *.rs *.md *.yaml *.toml *.txt"
    )
    .quiet();
    // The files of generators are up to date, even if they name the old release.
    let written = |path: &&str| {
        let mut files = GENERATORS.iter().flat_map(|generator| generator.files);
        !files.any(|file| file == path)
    };

    for path in names.ignore_status().read()?.lines().filter(written) {
        println!("needs a person {path}: it names {pattern}");
    }
    Ok(())
}
