//! The entries to add, and the places of nodes in a document.

use std::collections::BTreeMap;

use fieldmanager_value::Value;

/// A step from a node of a document to a child.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NodeStep {
    Field(String),
    Item(usize),
}

/// The entries to add to a map and to the descendants of a node. The steps from the root are documents.
#[derive(Debug, Default)]
pub(crate) struct DocumentEdits {
    /// The value of the entry that the map needs.
    pub(crate) entry: Option<Value>,
    pub(crate) below: BTreeMap<NodeStep, DocumentEdits>,
}

impl DocumentEdits {
    pub(crate) fn is_empty(&self) -> bool {
        self.entry.is_none() && self.below.is_empty()
    }

    /// Adds the entries below a step. Of two entries for the same map, the later one is kept.
    pub(crate) fn add(&mut self, step: NodeStep, below: DocumentEdits) {
        if !below.is_empty() {
            self.below.entry(step).or_default().merge(below);
        }
    }

    fn merge(&mut self, other: DocumentEdits) {
        self.entry = other.entry.or(self.entry.take());
        for (step, below) in other.below {
            self.below.entry(step).or_default().merge(below);
        }
    }

    /// The number of entries.
    pub(crate) fn count(&self) -> usize {
        usize::from(self.entry.is_some())
            + self.below.values().map(DocumentEdits::count).sum::<usize>()
    }
}

/// A fault of a node of a document, or of the whole document if there is no path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RefusedEdit {
    pub(crate) path: Vec<NodeStep>,
    pub(crate) message: String,
}

/// The path in field-path notation, without the index of the document.
pub(crate) fn display(path: &[NodeStep]) -> String {
    let mut text = String::new();
    for step in path.iter().skip(1) {
        match step {
            NodeStep::Field(name)
                if name
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_')) =>
            {
                text.push('.');
                text.push_str(name);
            }
            NodeStep::Field(name) => text.push_str(&format!("[{name:?}]")),
            NodeStep::Item(i) => text.push_str(&format!("[{i}]")),
        }
    }

    if text.is_empty() {
        ".".to_owned()
    } else {
        text
    }
}
