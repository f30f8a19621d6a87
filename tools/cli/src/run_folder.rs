//! The folder of a run in the temporary folder, for files that other users must not read.

use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use tempfile::TempDir;

/// The beginning of the names of folders.
const PREFIX: &str = "fieldmanager-serve-";

const KUBECONFIG: &str = "kubeconfig";

/// A folder with the kubeconfig of a run. Only its user can open it, and it is removed with this value.
pub(crate) struct RunFolder {
    folder: TempDir,
    /// Locked as long as the process runs.
    _handle: File,
}

impl RunFolder {
    /// Makes the folder under a name that nothing has, and removes those of runs that were killed.
    pub(crate) fn new() -> io::Result<Self> {
        for entry in fs::read_dir(std::env::temp_dir())?.flatten() {
            // A folder that cannot be removed is of no harm.
            let _ = remove_if_stale(&entry);
        }
        loop {
            let only_user = fs::Permissions::from_mode(0o700);
            let folder = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(only_user)
                .tempdir()?;
            let handle =
                File::open(folder.path()).and_then(|handle| handle.lock().map(|()| handle));

            // Another start may have taken the folder, before it was locked, for that of a run that has ended.
            if folder.path().exists() {
                return Ok(RunFolder {
                    folder,
                    _handle: handle?,
                });
            }
        }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join(KUBECONFIG)
    }
}

/// Removes the folder of a run of this user that has ended: one that is not locked.
fn remove_if_stale(entry: &DirEntry) -> io::Result<()> {
    let has_prefix = entry.file_name().to_string_lossy().starts_with(PREFIX);
    // Links are not followed: another user may have made one.
    let is_own =
        |found: fs::Metadata| found.is_dir() && found.uid() == rustix::process::getuid().as_raw();
    if !has_prefix || !is_own(entry.metadata()?) {
        return Ok(());
    }
    let handle = File::open(entry.path())?;
    handle.try_lock()?;

    // A run that was killed early has no file. Other files do not belong to a run, and keep their folder.
    let _ = fs::remove_file(entry.path().join(KUBECONFIG));
    fs::remove_dir(entry.path())
}
