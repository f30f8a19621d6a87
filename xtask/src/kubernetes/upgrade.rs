//! What the generators work with.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::run::workspace;

/// An upgrade to a release.
pub(super) struct Upgrade {
    pub(super) shell: Shell,
    /// The release, such as `1.37.1`.
    pub(super) version: String,
    /// The release of the tables in the workspace.
    pub(super) current: String,
    /// The files that generators write, and the Go modules that they run, below the same paths as in the workspace.
    pub(super) work: PathBuf,
    /// The built server of the release.
    pub(super) kube_apiserver: Option<PathBuf>,
}

impl Upgrade {
    /// The version without the number of the patch.
    pub(super) fn minor(&self) -> &str {
        minor(&self.version)
    }

    /// A path in the folder of work, whose parent exists.
    pub(super) fn path(&self, path: &str) -> Result<PathBuf> {
        let path = self.work.join(path);
        if let Some(folder) = path.parent() {
            self.shell.create_dir(folder)?;
        }
        Ok(path)
    }
}

/// A version without the number of the patch.
pub(super) fn minor(version: &str) -> &str {
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}

/// Copies the files of a folder that are in the index of git.
pub(super) fn copy_tracked(upgrade: &Upgrade, folder: &str) -> Result<PathBuf> {
    let shell = &upgrade.shell;
    for path in cmd!(shell, "git ls-files {folder}").quiet().read()?.lines() {
        let copy = upgrade.path(path)?;
        fs::copy(workspace().join(path), copy).with_context(|| path.to_owned())?;
    }
    Ok(upgrade.work.join(Path::new(folder)))
}
