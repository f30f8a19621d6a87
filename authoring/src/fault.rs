//! Faults and where they are.

use std::fmt;

/// A place in a text. Lines and columns count from 1; columns count bytes, as the Go tools do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Something that is wrong: where, what was found, and what is accepted.
///
/// ```
/// use fieldmanager_authoring::{Fault, Position};
/// let fault = Fault { file: "types.go".into(), at: Some(Position { line: 3, column: 5 }), message: "odd".into() };
/// assert_eq!(fault.to_string(), "types.go:3:5: odd");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The place in it, where one place is at fault.
    pub at: Option<Position>,
    /// What was found, and what is accepted.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{}:{}:{}: {}", self.file, at.line, at.column, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// Names or values as a message lists them.
pub(crate) fn quoted<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| format!("`{item}`")).collect();
    items.join(", ")
}
