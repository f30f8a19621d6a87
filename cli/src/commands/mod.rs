//! The commands, by what they do.

pub(crate) mod inspect;
pub(crate) mod schema;
pub(crate) mod test;
pub(crate) mod write;
