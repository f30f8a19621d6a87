//! Patches of Kubernetes objects: strategic merge patch, JSON merge patch and JSON patch.
//!
//! - [`strategic`]: applies patches by the merge strategies of a schema ([`PatchTypes`]), makes them from two or
//!   three objects, merges them and finds conflicts between them, with all directives: `$patch`, `$retainKeys`,
//!   `$deleteFromPrimitiveList` and `$setElementOrder`.
//! - [`json_merge`]: RFC 7386, and the three-way patches that clients make for custom resources.
//! - [`json_patch`]: RFC 6902, with the limits of an API server.
//!
//! `builtin`, behind the feature of that name, has the strategies of the Kubernetes types.
//!
//! ```
//! use fieldmanager_patch::{PatchSchema, strategic};
//! use fieldmanager_value::Value;
//!
//! let live = Value::from_yaml("{metadata: {labels: {app: web, tier: front}}, spec: {replicas: 1}}")?;
//! let patch = Value::from_yaml("{metadata: {labels: {tier: null}}}")?;
//! let new = strategic::apply(&live, &patch, PatchSchema::free())?;
//! assert_eq!(new.to_json(), r#"{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":1}}"#);
//! assert!(new.get("spec").unwrap().ptr_eq(live.get("spec").unwrap()));    // unpatched parts are shared
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate knows
//!
//! Values, paths in messages, and the patch rules of OpenAPI schemas. It knows no managed fields and no request.
//!
//! # Guarantees
//!
//! A refused patch changes nothing, and its error has the path of the fault. No walk goes deeper than
//! [`MAX_DEPTH`](fieldmanager_value::MAX_DEPTH). A directive of a strategic merge patch never becomes data.

#[cfg(feature = "builtin")]
pub mod builtin;
mod error;
pub mod json_merge;
pub mod json_patch;
mod media;
pub mod strategic;
mod types;

pub use error::{Error, Fault, Response};
pub use media::PatchType;
pub use types::{PatchSchema, PatchTypes, TypesError};

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::error::is_unexpected;
    pub use crate::json_patch::document::apply_of_policy;
    pub use crate::strategic::left::left;
    pub use crate::strategic::preconditions::{Precondition, check_preconditions};
    pub use crate::types::{read_types, write_types};
}
