//! The warnings of a request.

/// The warnings of a request in progress. A text that occurs again is dropped.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<String>);

impl Warnings {
    pub(crate) fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<String> {
        self.0
    }
}
