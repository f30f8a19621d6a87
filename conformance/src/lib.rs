//! Compares the library with the Go implementation of Server-Side Apply.
//!
//! A [`Suite`] makes random cases from seeds, and compares what Go answers, as a separate program ([`oracle`]), with what
//! the library answers. The [`driver`] runs a suite on several threads, makes a failing case small ([`mod@shrink`]),
//! keeps it in a file that every later run replays, and counts what happened ([`tally`]).

pub mod driver;
pub mod engine;
mod error;
pub mod files;
pub mod generate;
mod json;
pub mod managed;
pub mod oracle;
pub mod patches;
pub mod schemas;
pub mod shrink;
mod suite;
pub mod tally;
pub mod unions;

pub use error::Error;
pub use suite::{Difference, GO_MAP_ORDER, GO_PANIC, Suite, Verdict};
