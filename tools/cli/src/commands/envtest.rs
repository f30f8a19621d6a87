//! `envtest`: programs for test suites that start kube-apiserver and etcd.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::args::EnvtestArgs;
use crate::envtest::Role;
use crate::error::Failure;
use crate::output;

/// Writes the programs, unless they are there.
pub(crate) fn run(args: &EnvtestArgs) -> Result<ExitCode, Failure> {
    let failed = |path: &Path, error: io::Error| Failure::input(path.display(), error);
    fs::create_dir_all(&args.folder).map_err(|error| failed(&args.folder, error))?;
    let folder = fs::canonicalize(&args.folder).map_err(|error| failed(&args.folder, error))?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::Other(format!("cannot find this program: {error}")))?;

    for role in [Role::ApiServer, Role::Etcd] {
        let link = folder.join(role.name());
        link_to(&program, &link).map_err(|error| failed(&link, error))?;
    }
    // Suites use kubectl of the folder, if at all, through a client of its own that needs the real one.
    let kubectl = folder.join("kubectl");
    if fs::symlink_metadata(&kubectl).is_err()
        && let Some(found) = in_path("kubectl")
    {
        link_to(&found, &kubectl).map_err(|error| failed(&kubectl, error))?;
    }

    let folder = folder.display().to_string();
    let line = if args.print_env {
        format!("export KUBEBUILDER_ASSETS={}", quoted(&folder))
    } else {
        folder
    };
    output::out().line(line)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a link to a program, or a copy where there are no links. What is there already stays: a link of an earlier release is
/// replaced, and any other file is an error.
fn link_to(program: &Path, link: &Path) -> io::Result<()> {
    match fs::symlink_metadata(link) {
        Ok(found) if found.is_symlink() => {
            if fs::read_link(link)? == program {
                return Ok(());
            }
            fs::remove_file(link)?;
        }
        Ok(_) if fs::read(link)? == fs::read(program)? => return Ok(()),
        Ok(_) => {
            let message = "another program is there; choose an empty folder, or remove it";
            return Err(io::Error::new(ErrorKind::AlreadyExists, message));
        }
        Err(_) => {}
    }
    symlink(program, link).or_else(|_| fs::copy(program, link).map(|_| ()))
}

/// The first program of a name in the folders of PATH.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| {
            fs::metadata(file)
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
