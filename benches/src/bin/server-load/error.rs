//! Errors of the program.

/// An error with a message about the failed operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("`{path}`: {source}")]
    File {
        path: String,
        source: std::io::Error,
    },
    #[error("`{program}` {message}")]
    Program { program: String, message: String },
    #[error("{request}: {message}")]
    Request { request: String, message: String },
    #[error("cannot draw: {0}")]
    Plot(String),
}

impl Error {
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Error::File { path, source }
    }

    pub(crate) fn request(request: &str, message: impl ToString) -> Self {
        Error::Request {
            request: request.to_owned(),
            message: message.to_string(),
        }
    }
}
