//! Compares the speed of the library with that of the Go package.
//!
//! Both sides run the same cells, which the crate `fieldmanager-benches` and `conformance/oracle-speed` define, on
//! the same files. They run in turn, round after round, so that a machine that becomes slower does so for both; the
//! fastest round counts. Before a cell is measured both sides say what it comes to, and that must be the same.

mod canvas;
mod cells;
mod go;
mod memory;
mod parts;
mod plot;
mod report;
mod run;
mod targets;

pub use cells::Plan;
pub use go::Go;
pub use memory::memory;
pub use plot::plots;
pub use report::markdown;
pub use run::{Measured, Results, Settings, measure};
pub use targets::{Verdict, verdicts};

/// What can go wrong; the message says it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("`{path}`: {source}")]
    File {
        /// The file.
        path: String,
        /// What happened.
        source: std::io::Error,
    },
    /// A program could not be built or run.
    #[error("`{program}`: {message}")]
    Program {
        /// The program.
        program: String,
        /// What happened.
        message: String,
    },
    /// The Go side could not be built, or does not answer.
    #[error(transparent)]
    Oracle(#[from] crate::Error),
    /// A plot could not be drawn.
    #[error("cannot draw: {0}")]
    Plot(String),
}
