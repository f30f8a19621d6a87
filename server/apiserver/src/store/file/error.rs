//! Errors of a file.

use std::path::PathBuf;

/// Why a file cannot be the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Another process, or another store of this one, uses the file.
    #[error("{}: another process uses the file", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be created, read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file has another content than a store writes, or it was changed since. It was not changed by the attempt to open
    /// it, apart from the end of a commit that was interrupted.
    #[error("{}: the file is damaged, or it is not a store: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The file was written by another version.
    #[error("{}: the file has format {found}, and this version reads format {expected}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The number of its format.
        found: u64,
        /// The number of the format that this version reads.
        expected: u64,
    },
}
