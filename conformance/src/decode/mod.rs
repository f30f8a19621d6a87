//! Objects of built-in kinds: decoded into their Go types, and converted between versions.

mod check;
mod generate;

pub use check::Decode;
