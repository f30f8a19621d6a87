//! Structural schemas: what a custom resource definition says about its objects.
//!
//! A [`Structural`] is a schema in which types and field names can be seen without understanding `allOf`, `anyOf`,
//! `oneOf` and `not`. That is what makes it possible to [prune](Structural::prune) unknown fields, to
//! [fill in defaults](Structural::default_object) and to check lists and metadata without a validator.
//!
//! The behaviour is that of `k8s.io/apiextensions-apiserver/pkg/apiserver/schema`, with unions
//! (`x-kubernetes-unions`) as the proposal for structural schemas has them.
//!
//! ```
//! use fieldmanager_openapi::FieldPath;
//! use fieldmanager_openapi::structural::Structural;
//! use fieldmanager_value::Value;
//!
//! let schema = Structural::from_value(&Value::from_yaml("
//! type: object
//! properties:
//!   spec:
//!     type: object
//!     properties:
//!       replicas: {type: integer, default: 1}
//! ")?)?;
//! assert!(schema.validate(&FieldPath::empty()).is_empty());
//!
//! let object = Value::from_yaml("{kind: Shop, spec: {color: red}}")?;
//! let pruned = schema.prune(&object, true)?;
//! assert_eq!(pruned.paths, ["spec.color"]);
//! let object = schema.default_object(&pruned.object)?;
//! assert_eq!(object.to_json(), r#"{"kind":"Shop","spec":{"replicas":1}}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Sharing
//!
//! A walk that changes an object shares with it everything that stays, and one that changes nothing allocates
//! nothing and returns the same allocation.
//!
//! # Depth
//!
//! Schemas and objects that nest deeper than [`MAX_DEPTH`](fieldmanager_value::MAX_DEPTH) are refused with
//! [`Error::TooDeep`].

mod complete;
mod default;
pub(crate) mod dns;
mod embedded;
mod error;
mod lists;
mod metadata;
mod model;
mod nested;
mod nulls;
mod object_meta;
mod pattern;
mod prune;
mod prune_defaults;
mod read;
mod same;
mod trail;
mod unfold;
mod union;
mod validate;
mod validate_metadata;
mod walk;
mod write;

pub use default::MAX_DEFAULT_BYTES;
pub use error::Error;
pub use metadata::Coerced;
pub use model::{
    AdditionalProperties, Extensions, ExternalDocs, Generic, NestedValueValidation, Node, Structural,
    ValueValidation,
};
pub use prune::Pruned;
