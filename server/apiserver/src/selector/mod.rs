//! Label selectors and field selectors, as the query of a list, a watch or a deletion has them.

mod fields;
mod labels;
#[cfg(test)]
mod tests;

pub(crate) use fields::FieldSelector;
pub(crate) use labels::LabelSelector;

/// A selector that cannot be read. Its message is that of kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SelectorError(String);
