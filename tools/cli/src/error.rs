//! Failures of the command and their exit codes.

use std::io;

use fieldmanager_managedfields::Status;
use fieldmanager_merge::Conflicts;
use fieldmanager_typed::ValidationErrors;

use crate::line::{Line, Style};

/// A failure of the command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Other managers own fields that the manager wants to change.
    Conflicts {
        conflicts: Conflicts,
        manager: String,
    },
    /// A Status of an API server, because JSON output was requested.
    Status(Box<Status>),
    /// A Status of an API server that refuses the new object, because JSON output was requested.
    RefusedStatus(Box<Status>),
    /// The state of the object does not allow the request, or an API server would refuse the resulting object.
    Refused(String),
    /// An object does not fit its type.
    Invalid {
        file: String,
        errors: ValidationErrors,
    },
    /// Bad input: the file, and the fault with the accepted form.
    Input { file: String, message: String },
    /// Several faults of input, with their files.
    Several(Vec<String>),
    /// Arguments that exclude each other.
    Usage(String),
    /// A failure that is not caused by the input.
    Other(String),
    /// The reader of the output closed its end.
    Closed,
}

impl Failure {
    pub(crate) fn input(file: impl ToString, message: impl ToString) -> Self {
        Failure::Input {
            file: file.to_string(),
            message: message.to_string(),
        }
    }

    /// 1 if the objects cause the failure (a conflict, a refused object), 2 if the caller's files or arguments do.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Closed => 0,
            Failure::Conflicts { .. } | Failure::Refused(_) | Failure::RefusedStatus(_) => 1,
            Failure::Status(status) if status.code == 409 => 1,
            Failure::Status(_)
            | Failure::Invalid { .. }
            | Failure::Input { .. }
            | Failure::Several(_)
            | Failure::Usage(_)
            | Failure::Other(_) => 2,
        }
    }

    /// The message, with each fault in an item of its own.
    pub(crate) fn messages(&self) -> Vec<String> {
        match self {
            Failure::Invalid { file, errors } => errors
                .iter()
                .map(|error| format!("{file}: {error}"))
                .collect(),
            Failure::Several(messages) => messages.clone(),
            // A library may join several faults with newlines.
            Failure::Input { file, message } => format!("{file}: {message}")
                .split('\n')
                .map(str::to_owned)
                .collect(),
            Failure::Refused(message) | Failure::Usage(message) | Failure::Other(message) => {
                message.split('\n').map(str::to_owned).collect()
            }
            Failure::Conflicts { conflicts, .. } => conflicts
                .to_string()
                .split('\n')
                .map(str::to_owned)
                .collect(),
            Failure::Status(status) | Failure::RefusedStatus(status) => {
                status.message.split('\n').map(str::to_owned).collect()
            }
            Failure::Closed => Vec::new(),
        }
    }

    /// The message, with each fault on a line of its own. Lines after the first are indented.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let prefix = |i| {
            if i == 0 {
                Style::Error.paint("error:").and(" ")
            } else {
                Line::from("       ")
            }
        };

        self.messages()
            .iter()
            .enumerate()
            .map(|(i, message)| prefix(i).and(message.trim_start()))
            .collect()
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
