//! The run of the checks: its commands, what it skips, and the seconds of its sections.

use std::cell::{Cell, RefCell};
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use xshell::{Cmd, Shell, cmd};

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().unwrap_or(folder).to_path_buf()
}

/// The folder of the builds: `CARGO_TARGET_DIR`, relative to the workspace.
pub(crate) fn target() -> PathBuf {
    workspace().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The value of a variable, or its default.
pub(crate) fn variable(name: &str, default: &str) -> String {
    env::var(name)
        .ok()
        .filter(|value| !value.is_empty())
        .unwrap_or_else(|| default.to_owned())
}

/// A title and the function that checks.
pub(crate) type Section = (&'static str, fn(&Run) -> Result<()>);

/// The checks that run, and what they found so far.
pub(crate) struct Run {
    pub(crate) shell: Shell,
    pub(crate) target: PathBuf,
    /// The folder with recorded scenarios and real documents, if there is one.
    pub(crate) shared: Option<PathBuf>,
    /// The seed of the comparisons.
    pub(crate) seed: String,
    parts: Vec<String>,
    started: Instant,
    sections: RefCell<Vec<(String, u64)>>,
    passed: Cell<usize>,
    skipped: RefCell<Vec<String>>,
}

impl Run {
    pub(crate) fn new(parts: &[&str]) -> Result<Self> {
        let shell = Shell::new()?;
        shell.change_dir(workspace());
        let shared = variable("FIELDMANAGER_SHARED", "../shared");
        let shared = workspace().join(shared).canonicalize().ok();
        if let Some(folder) = &shared {
            shell.set_var("FIELDMANAGER_SHARED", folder);
        }

        // The keys of `RandomState` are random, which makes a seed without a crate for random numbers.
        let random = RandomState::new().hash_one(std::process::id()) >> 32;
        Ok(Self {
            shell,
            target: target(),
            shared,
            seed: variable("FRESH", &random.to_string()),
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            started: Instant::now(),
            sections: RefCell::default(),
            passed: Cell::default(),
            skipped: RefCell::default(),
        })
    }

    /// Whether a part was asked for.
    pub(crate) fn wants(&self, part: &str) -> bool {
        self.parts.iter().any(|wanted| wanted == part)
    }

    /// Prints the title of a section, runs it, and keeps its seconds.
    pub(crate) fn section(&self, title: &str, check: fn(&Self) -> Result<()>) -> Result<()> {
        println!(
            "\n== {title} (after {} s)",
            self.started.elapsed().as_secs()
        );
        let started = Instant::now();
        let result = check(self);
        let seconds = started.elapsed().as_secs();
        self.sections.borrow_mut().push((title.to_owned(), seconds));
        result.with_context(|| title.to_owned())
    }

    /// Prints a command, and runs it as a check.
    pub(crate) fn run(&self, command: Cmd<'_>) -> Result<()> {
        println!("+ {command}");
        // Tests with real documents skip themselves without the variable.
        let command = match self.shared {
            Some(_) => command,
            None => command.env_remove("FIELDMANAGER_SHARED"),
        };
        command.quiet().run()?;
        self.passed.set(self.passed.get() + 1);
        Ok(())
    }

    pub(crate) fn skip(&self, what: impl Into<String>) {
        let what = what.into();
        println!("skipped: {what}");
        self.skipped.borrow_mut().push(what);
    }

    /// The arguments of `cargo test` that select a package. All packages are selected where their tests are built
    /// already: the features of one package alone would build its dependencies again.
    pub(crate) fn package(&self, name: &str) -> Vec<String> {
        if self.wants("test") {
            return vec!["--workspace".to_owned()];
        }
        vec!["-p".to_owned(), name.to_owned()]
    }

    /// Builds programs with the features of the build of the tests, so that nothing is compiled twice.
    pub(crate) fn build(&self, programs: &[&str]) -> Result<()> {
        // A test among the targets includes the development dependencies in the choice of features.
        let targets = programs.iter().flat_map(|name| ["--bin", name]);
        self.run(cmd!(
            self.shell,
            "cargo build -q --workspace --test abuse {targets...}"
        ))
    }

    /// Builds the command `fieldmanager`.
    pub(crate) fn command(&self) -> Result<PathBuf> {
        self.build(&["fieldmanager"])?;
        Ok(self.target.join("debug/fieldmanager"))
    }

    /// Prints the seconds of each section, what was skipped, and the number of checks.
    pub(crate) fn summary(&self, failed: usize) {
        println!("\n== Done (after {} s)", self.started.elapsed().as_secs());
        for (title, seconds) in self.sections.borrow().iter() {
            println!("{seconds:6} s  {title}");
        }
        println!("{:6} s  in all", self.started.elapsed().as_secs());
        for what in self.skipped.borrow().iter() {
            println!("skipped: {what}");
        }
        println!("{} passed, {failed} failed", self.passed.get());
    }
}

/// Whether a command succeeds; it prints nothing.
pub(crate) fn succeeds(command: Cmd<'_>) -> bool {
    let command = command.quiet().ignore_stdout().ignore_stderr();
    command.run().is_ok()
}

/// Whether a program is in the search path.
pub(crate) fn has(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| {
        env::split_paths(&path).any(|folder| {
            folder.join(program).is_file() || folder.join(format!("{program}.exe")).is_file()
        })
    })
}

/// Installs the packages of a program that is not in the search path.
pub(crate) fn install(shell: &Shell, program: &str, packages: &[&str]) -> Result<()> {
    if has(program) {
        return Ok(());
    }
    apt_install(shell, packages)
}

pub(crate) fn apt_install(shell: &Shell, packages: &[&str]) -> Result<()> {
    let names = packages.join(" ");
    if !has("apt-get") {
        bail!("{names} is missing: please install it");
    }
    let is_root = cmd!(shell, "id -u").quiet().read()? == "0";
    if !is_root && !has("sudo") {
        bail!("{names} is missing, and there is no sudo to install it with");
    }

    // Root needs no sudo, and `env` also accepts a variable before the command.
    let prefix = if is_root { "env" } else { "sudo" };
    cmd!(shell, "{prefix} apt-get update -q").run()?;
    cmd!(
        shell,
        "{prefix} DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends {packages...}"
    )
    .run()?;

    Ok(())
}
