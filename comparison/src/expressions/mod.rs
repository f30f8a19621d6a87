//! Compares the expressions of policies with those of the API server.
//!
//! A case is a request to the oracle `expressions`: an expression of any type with variables, and what it is evaluated with:
//! objects, parameters, a namespace and a request. `generate` makes it, `write` writes expressions by templates, and `spoil`
//! changes some of them so that they do not compile.

mod check;
mod generate;
mod spoil;
mod write;

pub use check::Expressions;
