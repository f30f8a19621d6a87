//! Adds entries to the maps of a document without changing anything else.

mod edit;
mod entries;
mod tree;

use crate::fault::Position;

pub(crate) use edit::{apply, documents};
pub(crate) use entries::{DocumentEdits, NodeStep, RefusedEdit, display};

/// The positions of the nodes at the given paths, as far as they can be found.
pub(crate) fn positions(text: &str, paths: &[&[NodeStep]]) -> Vec<Option<Position>> {
    let documents = tree::read(text).unwrap_or_default();
    let position = |path: &&[NodeStep]| {
        let at = tree::start(&documents, path)?;
        let before = text.get(..at)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Some(Position {
            line: before.matches('\n').count() + 1,
            column: at - line_start + 1,
        })
    };

    paths.iter().map(position).collect()
}
