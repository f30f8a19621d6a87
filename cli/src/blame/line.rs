//! A line of an object, with its owners.

/// A line of YAML.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Blanks, and the dashes of items that begin here.
    pub(crate) lead: String,
    /// The name of the field that begins here, with its colon; empty in the middle of a string.
    pub(crate) key: String,
    pub(crate) rest: String,
    /// The owners of what the line shows: numbers of entries.
    pub(crate) owners: Vec<usize>,
    /// Whether a part of what the line begins has an owner, as with a map whose fields have owners.
    pub(crate) has_owned_parts: bool,
    /// The path of the value that begins here.
    pub(crate) path: String,
    /// The line that must be shown if this one is.
    pub(super) parent: Option<usize>,
}

impl Line {
    pub(crate) fn text(&self) -> String {
        format!("{}{}{}", self.lead, self.key, self.rest)
    }

    /// Whether neither the line nor a part of what it begins has an owner.
    pub(crate) fn is_unowned(&self) -> bool {
        self.owners.is_empty() && !self.has_owned_parts
    }
}
