//! Field paths and sets of field paths.
//!
//! A [`Path`] is the location of a field: `.spec.containers[name="app"].image`. A [`Set`] is a set of paths, stored as
//! a persistent trie with shared subtrees; [FieldsV1](Set::to_json) is its JSON encoding. [`Owners`] maps each manager
//! to the set that it owns and to the version of the object in which the paths are valid.
//!
//! ```
//! use fieldmanager_fieldpath::{Path, Set};
//!
//! let live = Set::from_json(br#"{"f:spec":{"f:replicas":{},"f:paused":{}}}"#)?;
//! let changed: Set = ["spec.replicas".parse::<Path>()?].into_iter().collect();
//! let conflict = live.intersection(&changed);
//! assert_eq!(conflict.to_json(), r#"{"f:spec":{"f:replicas":{}}}"#);
//! assert_eq!(conflict.paths().next().unwrap().to_string(), ".spec.replicas");
//! # Ok::<(), fieldmanager_fieldpath::Error>(())
//! ```
//!
//! # What this crate knows
//!
//! Paths, sets, and the declared fields of the structs of a schema. It knows no objects.

mod algebra;
mod element;
mod error;
mod fields_v1;
mod filter;
mod key_value;
mod owners;
mod path;
mod set;
mod set_builder;

pub use element::PathElement;
pub use error::Error;
pub use filter::{Filter, Matcher};
pub use owners::{ApiVersion, Owners, VersionedSet};
pub use path::Path;
pub use set::{MAX_PATH_LENGTH, Paths, Set};

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::algebra::add_declared_fields;
    pub use crate::owners::{edit_owners, is_reconciled_with, with_set};
    pub use crate::set::{Node, path_longer_than, set_depth, set_under};
    pub use crate::set_builder::{Level, SetBuilder};
}
