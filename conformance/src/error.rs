//! Errors of the program itself; what a case leads to is part of its verdict.

use std::io;
use std::path::PathBuf;

/// An error of the conformance program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An oracle is a Go program, and there is no Go to build it with.
    #[error(
        "the oracle needs Go: cannot run `go`: install Go 1.26 or later, or pass the path of a built oracle"
    )]
    GoMissing(#[source] io::Error),
    /// Go refused to build the oracle.
    #[error("cannot build the oracle in `{}`: {message}", folder.display())]
    OracleBuild {
        /// The folder of the Go module.
        folder: PathBuf,
        /// What Go said.
        message: String,
    },
    /// A program that answers requests could not be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why it did not start.
        source: io::Error,
    },
    /// A program that answers requests stopped talking.
    #[error("lost the connection to `{program}`: {source}")]
    Connection {
        /// The program.
        program: String,
        /// What happened to its input or output.
        source: io::Error,
    },
    /// An answer is not one line of JSON.
    #[error("`{program}` answered `{line}`, which is not JSON: {source}")]
    Answer {
        /// The program.
        program: String,
        /// The line it wrote.
        line: String,
        /// Why it is not JSON.
        source: serde_json::Error,
    },
    /// A file could not be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// A file is not JSON.
    #[error("`{}` is not JSON: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why it is not JSON.
        source: serde_json::Error,
    },
    /// The report could not be written.
    #[error("standard output: {0}")]
    Output(#[source] io::Error),
    /// The oracle does not understand a case, which is a fault of its generator.
    #[error("the oracle does not understand the case: {0}")]
    Request(String),
    /// The library could not answer a case at all.
    #[error("the library cannot answer: {0}")]
    Engine(String),
    /// A worker thread ended before its work did.
    #[error("a worker ended early")]
    Worker,
}
