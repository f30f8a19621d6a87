//! Compares patches with the Go packages that an apiserver and its clients use.
//!
//! A case is a request to the oracle in `oracle-kubernetes`: `smp`, `jsonmergepatch` or `jsonpatch`.

pub mod answer;
pub mod check;
mod documents;
pub mod generate;
mod pointers;
pub mod rules;
mod schemas;
pub mod shrink;
mod strategic;

pub use generate::case;
