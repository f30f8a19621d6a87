//! What must hold for any input.
//!
//! The fuzz targets in `fuzz/` and the property tests of this crate check the same things: both have bytes, and
//! this crate turns bytes into texts, objects and whole scenarios. Every check says in words what does not hold;
//! it is for the caller to panic.
//!
//! ```
//! use fieldmanager_invariants::{check_scenario, check_value};
//! check_value(br#"{"a": [1, 1.5, "x"]}"#)?;
//! check_scenario(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])?;
//! # Ok::<(), String>(())
//! ```
//!
//! - [`check_value`], [`check_schema`], [`check_fields_v1`] and [`check_paths`] read a text. Most texts are refused;
//!   that must not panic. What is read must be written and read back as the same.
//! - [`check_patches`] reads objects and patches, one a line.
//! - [`check_go_markers`] reads Go source and puts the unions of its markers into a document.
//! - [`check_scenario`] makes a schema and a row of applies and updates from bytes, and looks at every step. It also
//!   makes requests about objects of any depth; what they return must be read back as the same and be operated on again.
//! - [`run_cost`] runs every operation on a stream of documents; [`check_cost`] bounds the work that it did.
//! - [`attacks`] has hostile streams of any size.
//! - [`texts`] makes texts that are more often accepted than raw bytes are.

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
mod laws;
mod objects;
mod patch;
mod path;
mod requests;
mod scenario;
mod schema;
mod schemas;
mod state;
pub mod texts;
mod value;

pub use cost::{Cost, check_cost, run_cost};
pub use fields_v1::check_fields_v1;
pub use go::check_go_markers;
pub use patch::check_patches;
pub use path::check_paths;
pub use scenario::check_scenario;
pub use schema::check_schema;
pub use value::check_value;
