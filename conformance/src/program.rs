//! What the programs of this crate have in common: how they end, where their oracle comes from, how they use threads.

use std::env;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

use crate::Error;

/// How a program ends: as it says, or with an error on standard error and the code 2.
pub fn end(outcome: Result<ExitCode, impl Display>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        // Nobody is left to tell when standard error is gone too.
        let _ = writeln!(io::stderr(), "error: {error}");
        ExitCode::from(2)
    })
}

/// The folder for what the programs build and write: inside the target folder of Cargo.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("target"), PathBuf::from)
        .join("conformance")
}

/// The oracle that is given, or else the one of a folder of this crate: built in the target folder of Cargo. Go sees to
/// it that a second build costs next to nothing.
///
/// # Errors
///
/// When there is no Go, or the oracle does not build.
pub fn oracle(given: Option<&Path>, folder: &str) -> Result<PathBuf, Error> {
    if let Some(program) = given {
        return Ok(program.to_owned());
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = format!("fieldmanager-{folder}{}", env::consts::EXE_SUFFIX);
    let folder = package.join(folder);
    let target = target();
    let failed = |source| Error::File { path: target.clone(), source };
    std::fs::create_dir_all(&target).map_err(failed)?;
    let program = target.canonicalize().map_err(failed)?.join(name);
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(&program).arg(".").current_dir(&folder);
    let output = command.output().map_err(Error::GoMissing)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::OracleBuild { folder, message });
    }
    Ok(program)
}

/// How many threads there are to be: as many as are asked for, or one for each processor.
pub fn threads(wanted: Option<usize>) -> usize {
    wanted.or_else(|| thread::available_parallelism().ok().map(Into::into)).unwrap_or(1).max(1)
}

/// Does the work on some threads at once.
///
/// # Errors
///
/// The first that one of them met.
pub fn in_threads(count: usize, work: impl Fn() -> Result<(), Error> + Sync) -> Result<(), Error> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..count.max(1)).map(|_| scope.spawn(&work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| Error::Worker)?)
    })
}
