//! Documents as text: adding an entry to a map without changing anything else.

mod edit;
mod tree;

use fieldmanager_value::Value;

pub(crate) use edit::{apply, documents};

/// A step from a node of a document to one below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Field(String),
    Item(usize),
}

/// An entry that a map is to have.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// The map: the first step is the document.
    pub(crate) path: Vec<Step>,
    pub(crate) key: &'static str,
    pub(crate) value: Value,
}

/// The path in field-path notation, without the number of the document.
pub(crate) fn display(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path.iter().skip(1) {
        match step {
            Step::Field(name) if name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_')) => {
                text.push('.');
                text.push_str(name);
            }
            Step::Field(name) => text.push_str(&format!("[{name:?}]")),
            Step::Item(i) => text.push_str(&format!("[{i}]")),
        }
    }
    if text.is_empty() { ".".to_owned() } else { text }
}
