//! The comparison of managed fields with Kubernetes: whole sequences of writes to one object, and the entries by
//! themselves.
//!
//! A request is one of the Go oracle for Kubernetes (`oracle-kubernetes/README.md`): op `managed`, `entries`, ...
//! [`candidate`] answers it with the library, step by step beside the answer of the oracle, so that a listed
//! deviation ([`deviations`]) does not end the comparison: the next step begins with the object that Go has.

mod answers;
pub mod candidate;
pub mod check;
pub mod compare;
pub mod deviations;
mod entries;
pub mod generate;
mod kinds;
mod objects;
mod others;
mod resource;
mod schema;
mod steps;
pub mod tally;
