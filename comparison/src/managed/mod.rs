//! Compares managed fields with Kubernetes: sequences of writes to one object, and separate entries.
//!
//! A case is a request to the oracle `kubernetes` with op `managed`, `entries`, `scale`, `extract`, `upgrade` or
//! `requestvalidation`. `candidate` answers a sequence with the library, in step with the oracle, so that a listed
//! deviation does not end the comparison: the next step starts with Go's object.

mod answers;
mod candidate;
mod check;
mod compare;
mod deviations;
mod entries;
mod generate;
mod kinds;
mod objects;
mod others;
mod resource;
mod steps;

pub use check::Managed;
pub use generate::Real;
