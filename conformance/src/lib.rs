//! Compares the library with the Go implementation of Server-Side Apply.
//!
//! Random scenarios are made from seeds ([`generate`]), run by the Go package
//! as a separate program ([`oracle`]) and by the library ([`candidate`]), and
//! the answers are compared step by step ([`mod@compare`]). The first difference is
//! made small ([`mod@shrink`]) and kept as a file that every later run replays.

pub mod candidate;
pub mod compare;
pub mod deviations;
pub mod document;
mod engine;
mod error;
pub mod generate;
pub mod managed;
pub mod oracle;
pub mod patches;
pub mod program;
pub mod run;
pub mod schemas;
pub mod shrink;
pub mod speed;
pub mod tally;
pub mod unions;

pub use engine::Implementation;
pub use error::Error;
