//! The warnings of a request.

use std::collections::BTreeSet;

/// The warnings of a request in progress. A string that occurs again is dropped.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    all: Vec<String>,
    known: BTreeSet<String>,
}

impl Warnings {
    pub(crate) fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.known.insert(text.clone()) {
            self.all.push(text);
        }
    }

    pub(crate) fn all(&self) -> &[String] {
        &self.all
    }

    pub(crate) fn into_vec(self) -> Vec<String> {
        self.all
    }
}
