//! Compares the library with the Go implementation of Server-Side Apply.
//!
//! A [`Suite`] generates random cases from seeds, and compares the answers of Go, a separate program ([`oracle`]), with
//! those of the library. The [`driver`] runs a suite on several threads, shrinks a failing case ([`mod@shrink`]), keeps
//! it in a file that every later run replays, and counts the outcomes ([`tally`]).

pub mod access;
pub mod builtin;
pub mod driver;
pub mod engine;
mod error;
pub mod expressions;
pub mod files;
pub mod generate;
mod json;
pub mod managed;
pub mod mutating;
pub mod oracle;
pub mod patches;
pub mod record;
pub mod rules;
pub mod schemas;
pub mod server;
pub mod shrink;
mod suite;
pub mod tally;
pub mod unions;

pub use error::Error;
pub use suite::{Difference, GO_MAP_ORDER, GO_PANIC, Judged, Suite, Verdict};
