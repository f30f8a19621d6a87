//! Schemas from OpenAPI documents and custom resource definitions.
//!
//! A [`Types`] is a schema together with the kinds of objects that its types describe. It is loaded from an
//! OpenAPI document of version 2 or 3, from a `CustomResourceDefinition`, or from a schema in the format of
//! structured-merge-diff.
//!
//! # What this crate knows
//!
//! OpenAPI schemas and their `x-kubernetes-*` extensions, the lookup of types by kind, and the bundled types of
//! Kubernetes. `fieldmanager-structural` reads custom resource definitions. The crate does not know managers.

#[cfg(feature = "builtin")]
pub mod builtin;
mod custom_resource;
mod import;
mod sources;
mod types;

pub use fieldmanager_structural::GroupVersionKind;
pub use import::{Fault, ImportError, Imported, Importer, ListUnions, LoadError};
pub use sources::SourceError;
pub use types::{KindError, Types};

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::import::{UnionForm, UnionOrigin, import_definitions, types_document};
    pub use crate::sources::{SourceKind, sources};
    pub use crate::types::types_of;
    /// The Kubernetes release of the bundled types.
    ///
    /// ```
    /// assert_eq!(fieldmanager_openapi::internal::RELEASE, "1.37");
    /// ```
    #[cfg(feature = "builtin")]
    pub const RELEASE: &str = include_str!("builtin/release.txt");
}
