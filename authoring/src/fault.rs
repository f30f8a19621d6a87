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
/// use fieldmanager_authoring::internal::{Fault, Position};
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

/// The most names that a message lists.
const MAX_LISTED: usize = 20;

/// Names or values as a message lists them. Only the first ones are listed, so that messages about many members stay in
/// proportion to them.
pub(crate) fn quoted<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    listed(items.into_iter().map(|item| format!("`{item}`")))
}

/// The same for items that are quoted already.
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
    fn long_lists_of_names_are_cut() {
        assert_eq!(quoted(["a", "b"]), "`a`, `b`");
        let long = quoted(vec!["a"; MAX_LISTED + 3]);
        assert!(long.ends_with("`a`, and 3 more"), "{long}");
        assert_eq!(long.matches("`a`").count(), MAX_LISTED);
    }
}
