//! A line of an object, with its owners.

/// A line of YAML.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Indentation, and the dashes of items that begin on this line.
    pub(crate) lead: String,
    /// The name of the field that begins on this line, with its colon; empty on continuation lines of a string.
    pub(crate) key: String,
    pub(crate) rest: String,
    /// The owners of the part of the value that the line shows, as indices of entries.
    pub(crate) owners: Vec<usize>,
    /// Whether a part of the value that begins here has an owner, as in a map with owned fields.
    pub(crate) has_owned_parts: bool,
    /// The path of the value that begins here.
    pub(crate) path: String,
    /// The line that must be shown whenever this line is shown.
    pub(super) parent: Option<usize>,
}

impl Line {
    pub(crate) fn text(&self) -> String {
        format!("{}{}{}", self.lead, self.key, self.rest)
    }

    /// Whether neither the line nor any part of the value that begins on it has an owner.
    pub(crate) fn is_unowned(&self) -> bool {
        self.owners.is_empty() && !self.has_owned_parts
    }
}
