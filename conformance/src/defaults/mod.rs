//! Objects of built-in kinds: their defaults, what registries make of them, and their validation.

mod check;
mod generate;

pub use check::Defaults;
pub(crate) use check::judge as defaulted;
