//! Field paths, and sets of them: what it means to own a part of an object.
//!
//! A [`Path`] says where a field is: `.spec.containers[name="app"].image`. A [`Set`] is a set of paths, a
//! persistent trie that shares subtrees; [`FieldsV1`](Set::to_json) is its text. [`Managers`] says which
//! manager owns which set at which version of the object.
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
//! Paths and sets; of a schema only which fields a struct declares. It knows no objects.

mod algebra;
mod element;
mod error;
mod fields_v1;
mod fields_v1_plain;
#[cfg(test)]
mod fields_v1_tests;
mod fields_v1_value;
mod fields_v1_write;
mod filter;
mod key_text;
mod levels;
mod managers;
mod path;
mod seen;
mod set;
mod text;

pub use element::PathElement;
pub use error::Error;
pub use filter::{ElementMatcher, Filter, Matcher};
pub use levels::{Level, SetStack};
pub use managers::{ApiVersion, Managers, VersionedSet};
pub use path::Path;
pub use set::{Node, Paths, Set, SetBuilder};
