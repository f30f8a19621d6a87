//! What the command can fail with.

use std::io;

use fieldmanager_managedfields::Status;
use fieldmanager_merge::Conflicts;
use fieldmanager_typed::ValidationErrors;

/// Why the command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Other managers own what was to be changed.
    #[error("{conflicts}")]
    Conflicts { conflicts: Conflicts, manager: String },
    /// The answer of an apiserver, for a caller who asked for JSON.
    #[error("{}", .0.message)]
    Status(Box<Status>),
    /// An object does not fit its type.
    #[error("{}", each_line(.file, .errors))]
    Invalid { file: String, errors: ValidationErrors },
    /// Bad input: which file, and what would be accepted.
    #[error("{file}: {message}")]
    Input { file: String, message: String },
    /// Arguments that do not go together.
    #[error("{0}")]
    Usage(String),
    /// Something failed that the input is not to blame for.
    #[error("{0}")]
    Other(String),
    /// The reader of the output went away.
    #[error("output closed")]
    Closed,
}

fn each_line(file: &str, errors: &ValidationErrors) -> String {
    let lines: Vec<String> = errors.iter().map(|error| format!("{file}: {error}")).collect();
    lines.join("\n       ")
}

impl Failure {
    pub(crate) fn input(file: impl ToString, message: impl ToString) -> Self {
        Failure::Input { file: file.to_string(), message: message.to_string() }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Closed => 0,
            Failure::Conflicts { .. } => 1,
            Failure::Status(status) if status.code == 409 => 1,
            Failure::Status(_)
            | Failure::Invalid { .. }
            | Failure::Input { .. }
            | Failure::Usage(_)
            | Failure::Other(_) => 2,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Other(format!("cannot write the output: {error}")),
        }
    }
}
