//! Compares managed fields with Kubernetes: sequences of writes to one object, and entries by themselves.
//!
//! A case is a request to the oracle `kubernetes` with op `managed`, `entries`, `scale`, `extract`, `upgrade` or
//! `requestvalidation`. `candidate` answers a sequence with the library, step by step beside the answer of the oracle, so
//! that a listed deviation does not end the comparison: the next step starts with the object that Go has.

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
mod schema;
mod steps;

pub use check::Managed;
pub use generate::Real;
