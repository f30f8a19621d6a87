//! Errors of the program.

/// An error with a message about the failed operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("`{path}`: {source}")]
    File {
        path: String,
        source: std::io::Error,
    },
    #[error("`{program}`: {message}")]
    Program { program: String, message: String },
    #[error("cannot draw: {0}")]
    Plot(String),
}

impl Error {
    /// A failure of the Go side.
    pub(crate) fn go(error: impl std::fmt::Display) -> Self {
        Error::Program {
            program: "oracle-speed".to_owned(),
            message: error.to_string(),
        }
    }
}
