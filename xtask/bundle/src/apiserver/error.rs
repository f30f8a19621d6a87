//! The error of the recording.

use std::path::PathBuf;

/// An error of the recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server cannot be started, or a request failed.
    #[error(transparent)]
    Server(#[from] fieldmanager_comparison::Error),
    /// The server answered a request for a document with an error.
    #[error("`{path}`: status {code}: {body}")]
    Status {
        /// The path of the request.
        path: String,
        /// The status code.
        code: u16,
        /// The body of the answer.
        body: String,
    },
    /// A document has not the expected form.
    #[error("`{path}`: {message}")]
    Document {
        /// The path of the request.
        path: String,
        /// The fault.
        message: String,
    },
    /// A file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}
