//! A line of an object, with its owners.

/// A line of YAML.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Line {
    /// Indentation, and the dashes of items that begin on this line.
    pub lead: String,
    /// The name of the field that begins on this line, with its colon; empty on continuation lines of a string.
    pub key: String,
    /// What follows the name: the scalar, or a line of a longer string.
    pub rest: String,
    /// The owners of the part of the value that the line shows, as indices of entries.
    pub owners: Vec<usize>,
    /// Whether a part of the value that begins here has an owner, as in a map with owned fields.
    pub has_owned_parts: bool,
    /// The path of the value that begins here.
    pub path: String,
    /// The line that must be shown whenever this line is shown.
    pub parent: Option<usize>,
}

impl Line {
    /// The line, without a line feed. It is not escaped.
    pub fn text(&self) -> String {
        format!("{}{}{}", self.lead, self.key, self.rest)
    }

    /// Whether neither the line nor any part of the value that begins on it has an owner.
    pub fn is_unowned(&self) -> bool {
        self.owners.is_empty() && !self.has_owned_parts
    }
}
