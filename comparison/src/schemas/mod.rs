//! Compares the library's treatment of schemas with that of the Kubernetes packages.
//!
//! A case is a request to the oracle `kubernetes`: `{"op": ..}` with a schema, definitions or a custom resource
//! definition, and for most ops an object. `generate` creates a request from a seed, `candidate` answers it with the
//! library in the format of the oracle, `compare` compares the answers, and `deviations` lists the intended
//! differences.

mod candidate;
mod check;
mod compare;
mod deviations;
mod generate;
mod published;
mod shared;

pub use check::Schemas;
