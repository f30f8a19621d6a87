//! Compares the mutations of policies with those of the API server.
//!
//! A case is a request to the oracle `mutating`: a schema, an object of one of its types, and the expression of an apply
//! configuration or of a JSON patch. `generate` writes a random configuration of the type, or random operations, as an
//! expression.

mod check;
mod generate;

pub use check::Mutating;
