//! Faults and their positions.

use std::fmt;

/// A position in a file. Lines and columns count from 1; columns count bytes, as in the Go tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A fault: its position, what was found, and what is accepted.
///
/// ```
/// use fieldmanager_authoring::internal::{Fault, Position};
/// let fault = Fault { file: "types.go".into(), at: Some(Position { line: 3, column: 5 }), message: "odd".into() };
/// assert_eq!(fault.to_string(), "types.go:3:5: odd");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The position, if a single position is at fault.
    pub at: Option<Position>,
    /// The fault, and what is accepted.
    pub message: String,
}

impl Fault {
    /// The file with line and column, as far as they are known: `types.go:3:5`.
    pub fn place(&self) -> String {
        match self.at {
            Some(at) => format!("{}:{}:{}", self.file, at.line, at.column),
            None => self.file.clone(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.message)
    }
}

/// The maximum number of names that a message lists.
const MAX_LISTED: usize = 20;

/// Quotes and lists names or values for a message. Only the first ones are listed, to bound the size of messages about
/// many members.
pub(crate) fn quoted<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    listed(items.into_iter().map(|item| format!("`{item}`")))
}

/// The same for items that are already quoted.
pub(crate) fn listed(items: impl IntoIterator<Item = String>) -> String {
    let mut items = items.into_iter();
    let first: Vec<String> = items.by_ref().take(MAX_LISTED).collect();
    match items.count() {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_of_names_are_truncated() {
        assert_eq!(quoted(["a", "b"]), "`a`, `b`");
        let long = quoted(vec!["a"; MAX_LISTED + 3]);
        assert!(long.ends_with("`a`, and 3 more"), "{long}");
        assert_eq!(long.matches("`a`").count(), MAX_LISTED);
    }
}
