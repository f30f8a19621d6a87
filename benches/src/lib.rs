//! Measures the library: objects, operations on them, and their time.
//!
//! [`mod@objects`] and [`sizes`] generate the inputs, and [`operations`] prepares a *cell*, an operation on an input
//! under a name like `table/Pod/Apply`. The benchmarks of this crate, the comparison with Go (`compare`), the record of
//! instruction counts and the allocation counts all run the same cells.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "the inputs are generated here, so a failure is a bug of the benchmark"
)]

pub mod inputs;
pub mod key;
mod measure;
pub mod objects;
pub mod operations;
pub mod sizes;
pub mod threads;

pub use measure::{Prepared, Runner, per_run};
