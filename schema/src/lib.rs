//! Schemas: what the types of an object are, and how their parts may be owned.
//!
//! A schema is a list of named types. A type is a scalar, a list, a map, or a choice between these. Lists
//! are *atomic* (one owner for the whole) or *associative* (items are matched by key, or by value in a
//! set); maps are *separable* (every entry has its own owners) or *atomic*. The text format is that of
//! `sigs.k8s.io/structured-merge-diff/v6/schema`, as YAML or JSON.
//!
//! ```
//! use fieldmanager_schema::Schema;
//!
//! let schema = Schema::from_yaml("
//! types:
//! - name: deployment
//!   map:
//!     fields:
//!     - {name: replicas, type: {scalar: numeric}}
//!     - name: containers
//!       type:
//!         list:
//!           elementRelationship: associative
//!           keys: [name]
//!           elementType:
//!             map:
//!               fields:
//!               - {name: name, type: {scalar: string}}
//!               - {name: image, type: {scalar: string}}
//! ")?;
//! let deployment = schema.type_named("deployment").unwrap();
//! let map = deployment.atom().map.as_ref().unwrap();
//! assert!(map.field("replicas").is_some());
//! assert_eq!(map.nearest_fields("replica"), ["replicas"]);
//! # Ok::<(), fieldmanager_schema::Error>(())
//! ```
//!
//! # Two forms
//!
//! `TypeDef` and its parts are the *definitions*, as they are written in a file. [`Schema`] also holds
//! their *resolved* form: every reference is a `TypeId`, field-level `elementRelationship` overrides are
//! applied, and fields are found without allocation. Walkers borrow an `Atom`; nothing is cloned.
//!
//! # What this crate knows
//!
//! Types, and the values of defaults. It knows no objects and no managers.

mod along;
mod build;
mod definition;
mod error;
mod names;
mod nested;
mod parse;
mod place;
mod read;
mod resolved;
mod similar;
mod write;

pub use error::{Error, Fault};

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::along::Along;
    pub use crate::definition::{
        AtomDef, FieldDef, ListDef, MapDef, Relationship, Scalar, TypeDef, TypeRef, Union, UnionField,
    };
    pub use crate::nested::Nested;
    pub use crate::resolved::{Atom, Field, KeyField, ListType, MapType, TypeId};
    pub use crate::similar::{FAULTS_WITH_SUGGESTIONS, similar_names};
}
pub use resolved::{Schema, Type};

/// The name of the type that is atomic whatever it holds.
///
/// ```
/// use fieldmanager_schema::{Schema, UNTYPED_ATOMIC};
/// let any = Schema::deduced();
/// let atomic = any.schema().type_named(UNTYPED_ATOMIC).unwrap();
/// assert!(atomic.atom().map.as_ref().unwrap().atomic);
/// ```
pub const UNTYPED_ATOMIC: &str = "__untyped_atomic_";

/// The name of the type that is deduced from what it holds: maps are separable, lists atomic.
///
/// ```
/// use fieldmanager_schema::{Schema, UNTYPED_DEDUCED};
/// assert_eq!(Schema::deduced().name(), UNTYPED_DEDUCED);
/// ```
pub const UNTYPED_DEDUCED: &str = "__untyped_deduced_";
