//! Errors of the program itself; the result of a case is part of its verdict.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the conformance program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The oracle is a Go program, and `go` is not installed.
    #[error(
        "the oracle needs Go: cannot run `go`: install Go 1.26 or later, or pass the path of a built oracle"
    )]
    GoMissing(#[source] io::Error),
    /// Building the oracle failed.
    #[error("cannot build the oracle in `{}`: {message}", folder.display())]
    OracleBuild {
        /// The folder of the Go module.
        folder: PathBuf,
        /// The error output of Go.
        message: String,
    },
    /// A program that answers requests could not be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// A program that answers requests closed the connection.
    #[error("lost the connection to `{program}`: {source}")]
    Connection {
        /// The program.
        program: String,
        /// The error of its input or output.
        source: io::Error,
    },
    /// An answer is not one line of JSON.
    #[error("`{program}` answered `{line}`, which is not JSON: {source}")]
    Answer {
        /// The program.
        program: String,
        /// The received line.
        line: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// A file could not be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is not JSON.
    #[error("`{}` is not JSON: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// The report could not be written.
    #[error("standard output: {0}")]
    Output(#[source] io::Error),
    /// The oracle does not understand a case, which is a fault of its generator.
    #[error("the oracle does not understand the case: {0}")]
    Request(String),
    /// A server could not be asked.
    #[error("`{url}`: {message}")]
    Http {
        /// The URL of the request.
        url: String,
        /// The cause.
        message: String,
    },
    /// The library could not answer a case at all.
    #[error("the library cannot answer: {0}")]
    Engine(String),
    /// A worker thread ended before its work did.
    #[error("a worker ended early")]
    Worker,
}

impl Error {
    /// Says which file could not be read or written.
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> Error + Copy + '_ {
        move |source| Error::File {
            path: path.to_owned(),
            source,
        }
    }
}
