//! Compares patches with the Go packages that an API server and its clients use.
//!
//! A case is a request to the oracle `kubernetes` with op `smp`, `jsonmergepatch` or `jsonpatch`.

mod answer;
mod check;
mod documents;
mod generate;
mod pointers;
mod rules;
mod schemas;
mod strategic;

pub use check::Patches;
