//! Invariants for any input.
//!
//! The fuzz targets in `fuzz/` and the property tests of this crate share these checks. Both provide bytes, from which
//! this crate derives documents, objects and scenarios. Every check returns a message that describes the violated
//! invariant; the caller decides whether to panic.
//!
//! ```
//! use fieldmanager_invariants::{check_scenario, check_value};
//! check_value(br#"{"a": [1, 1.5, "x"]}"#)?;
//! check_scenario(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])?;
//! # Ok::<(), String>(())
//! ```
//!
//! - [`check_value`], [`check_schema`], [`check_fields_v1`] and [`check_paths`] parse their input. Most inputs are
//!   rejected, which must not panic. Accepted input must round-trip.
//! - [`check_protobuf`] reads objects of built-in kinds. Accepted objects must be objects of their kinds.
//! - [`check_patches`] parses objects and patches, one per line.
//! - [`check_handlers`] sends requests to built-in and custom resources, whose answers must be complete.
//! - [`check_server`] sends HTTP requests to an API server, whose answers must be complete.
//! - [`check_policies`] loads policies and the objects that they are about into an API server.
//! - [`check_reviews`] gives bytes as the answers of webhooks.
//! - [`check_go_markers`] parses Go source and inserts the unions of its markers into a document.
//! - [`check_scenario`] derives a schema and a sequence of applies and updates from bytes, and checks every step. It
//!   also sends requests with objects of any depth, whose results must round-trip and be valid input for further
//!   requests.
//! - [`run_cost`] runs every operation on a stream of documents; [`check_cost`] bounds the work.
//! - [`attacks`] generates hostile streams of any size.
//! - [`RulesInput`] is a schema with rules and an object; [`check_rules_compiled`] and [`check_rules_charged`] bound the
//!   memory of its validation by its length, the cost of rules and the steps.
//! - [`texts`] generates inputs that are accepted more often than raw bytes.

/// Fails with a message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

pub mod attacks;
mod choices;
mod cost;
mod fields_v1;
mod go;
mod handlers;
mod laws;
mod objects;
mod patch;
mod path;
mod policies;
mod protobuf;
mod requests;
mod reviews;
mod rules;
mod scenario;
mod schema;
mod schemas;
mod server;
mod state;
pub mod texts;
mod value;

pub use cost::{Cost, check_cost, run_cost};
pub use fields_v1::check_fields_v1;
pub use go::check_go_markers;
pub use handlers::check_handlers;
pub use patch::check_patches;
pub use path::check_paths;
pub use policies::check_policies;
pub use protobuf::check_protobuf;
pub use reviews::check_reviews;
pub use rules::{Charged, RulesInput, check_rules_charged, check_rules_compiled};
pub use scenario::check_scenario;
pub use schema::check_schema;
pub use server::check_server;
pub use value::check_value;
