//! The path of a walk.

use crate::FieldPath;

/// The path of a walk as a linked list on the stack. A [`FieldPath`] is allocated only for a message.
#[derive(Clone, Copy)]
pub(super) enum Trail<'a> {
    Root(&'a FieldPath),
    Child(&'a Trail<'a>, &'a str),
    Key(&'a Trail<'a>, &'a str),
    Index(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    pub(super) fn path(&self) -> FieldPath {
        match self {
            Trail::Root(path) => (*path).clone(),
            Trail::Child(parent, name) => parent.path().child(*name),
            Trail::Key(parent, name) => parent.path().key(*name),
            Trail::Index(parent, at) => parent.path().index(*at),
        }
    }

    /// The path of a field at this position.
    pub(super) fn at(&self, name: &str) -> FieldPath {
        self.path().child(name)
    }
}
