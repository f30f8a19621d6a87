//! Compares what the library makes of schemas with what the Kubernetes packages make of them.
//!
//! A case is a request to the oracle `kubernetes`: `{"op": ..}` with a schema, definitions or a custom resource
//! definition, and for most ops an object. `generate` makes one from a seed, `candidate` answers it with the library in
//! the terms of the oracle, `compare` says what has to agree, and `deviations` lists where the library differs.

mod candidate;
mod check;
mod compare;
mod deviations;
mod generate;
mod published;
mod shared;

pub use check::Schemas;
