//! What measures the library: objects, the operations on them, and how long they take.
//!
//! [`mod@objects`] and [`sizes`] make the inputs, [`operations`] prepares a *cell*, an operation on an input under a name
//! like `table/Pod/Apply`. The benchmarks of this crate, the comparison with Go in `conformance/`, the record of
//! instruction counts and the counting of allocations all run the same cells.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "it measures inputs that it made itself: a failure is a fault of the benchmark and has to end it"
)]

pub mod inputs;
pub mod key;
mod measure;
pub mod objects;
pub mod operations;
pub mod sizes;
pub mod threads;

pub use measure::{Prepared, Runner, per_run};
