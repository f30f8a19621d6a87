//! Schemas: the types of the parts of an object and their ownership semantics.
//!
//! A schema is a list of named types. A type is a scalar, a list, a map, or a choice of these. Lists are *atomic* (one
//! set of owners for the entire list) or *associative* (items are identified by key, or by value in a set); maps are
//! *separable* (each entry has its own owners) or *atomic*. Schemas are read and written in the format of
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
//! # Definitions and resolved types
//!
//! `TypeDef` and its parts are the *definitions*, structured like a schema file. [`Schema`] also holds their
//! *resolved* form: every reference is a `TypeId`, field-level `elementRelationship` overrides are applied, and field
//! lookups do not allocate. Walkers borrow an `Atom` and clone nothing.
//!
//! # What this crate knows
//!
//! Types and the default values of fields. It knows no objects and no managers.

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

/// Items shared by the crates of this workspace. Not part of the public API.
#[doc(hidden)]
pub mod internal {
    pub use crate::along::{Along, along};
    pub use crate::definition::{
        AtomDef, FieldDef, ListDef, MapDef, Relationship, Scalar, TypeDef, TypeRef, Union,
        UnionField,
    };
    pub use crate::nested::Nested;
    pub use crate::read::{meta_schema, resolve_definitions};
    pub use crate::resolved::{
        Atom, Field, KeyField, ListType, MapType, TypeId, has_no_polymorphic_types, has_unions,
        has_unions_anywhere, type_definitions,
    };
    pub use crate::similar::{FAULTS_WITH_SUGGESTIONS, similar_names};
}
pub use resolved::{Schema, Type};

/// The name of the type that is atomic for any value.
///
/// ```
/// use fieldmanager_schema::{Schema, UNTYPED_ATOMIC};
/// let any = Schema::deduced();
/// let atomic = any.schema().type_named(UNTYPED_ATOMIC).unwrap();
/// assert!(atomic.atom().map.as_ref().unwrap().atomic);
/// ```
pub const UNTYPED_ATOMIC: &str = "__untyped_atomic_";

/// The name of the type whose structure is deduced from the value: maps are separable, lists are atomic.
///
/// ```
/// use fieldmanager_schema::{Schema, UNTYPED_DEDUCED};
/// assert_eq!(Schema::deduced().name(), UNTYPED_DEDUCED);
/// ```
pub const UNTYPED_DEDUCED: &str = "__untyped_deduced_";
