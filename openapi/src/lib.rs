//! Where schemas come from: OpenAPI documents and custom resource definitions.
//!
//! A [`Types`] is a schema together with the kinds of objects that its types describe. It is loaded from an
//! OpenAPI document of version 2 or 3, from a `CustomResourceDefinition`, or from a schema in the format of
//! structured-merge-diff.
//!
//! # What this crate knows
//!
//! OpenAPI schemas and their `x-kubernetes-*` extensions, custom resource definitions, structural schemas, and
//! that an object has `apiVersion`, `kind` and `metadata`. It knows no managers.

#[cfg(feature = "builtin")]
pub mod builtin;
pub mod crd;
mod field_error;
mod gvk;
mod import;
mod managed_fields;
mod sources;
pub mod structural;
mod time;
mod types;
#[cfg(feature = "validation")]
pub mod validation;

pub use field_error::{FieldError, FieldErrorKind, FieldPath};
#[doc(hidden)]
pub use fieldmanager_value::go_format::{is_print, quote as go_quote};
pub use gvk::GroupVersionKind;
pub use import::{Fault, ImportError, Imported, Importer, ListUnions, LoadError, UnionForm, UnionOrigin};
pub use managed_fields::{MAX_MANAGER, validate_managed_fields, validate_manager};
pub use sources::{SourceError, SourceKind, sources};
pub use time::{Timestamp, TimestampError};
pub use types::{KindError, Types};
