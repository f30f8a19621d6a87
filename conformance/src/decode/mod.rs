//! Objects of built-in kinds: decoded into their Go types, and converted between versions.

mod check;
mod generate;
mod record;

pub use check::Decode;
pub use record::{record, replay};
