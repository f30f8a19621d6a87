//! Compares the validation rules of custom resources with those of the API server.
//!
//! A case is a request to the oracle `kubernetes` with op `rules`: a schema with rules, an object, and in some cases an
//! old object. `generate` makes rules from templates over the functions and the types of fields. A rule that Go refuses
//! is counted and not compared, since the API server refuses a definition with it.

mod check;
mod estimates;
pub(crate) mod expressions;
pub(crate) mod generate;

pub use check::Rules;
pub use estimates::Estimates;
