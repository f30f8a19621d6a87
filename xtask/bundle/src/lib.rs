//! Generates the schema that `fieldmanager-openapi` bundles, in a compact form, from the OpenAPI definitions of a
//! Kubernetes release and a file of corrections, and the merge strategies that `fieldmanager-patch` bundles.
//!
//! ```
//! use fieldmanager_bundle::{Corrections, bundle};
//! use fieldmanager_value::Value;
//!
//! let openapi = Value::from_yaml("
//! definitions:
//!   Shop:
//!     type: object
//!     properties:
//!       kind: {type: string}
//!       owners:
//!         type: array
//!         items: {$ref: '#/definitions/Owner'}
//!         x-kubernetes-list-type: map
//!         x-kubernetes-list-map-keys: [role]
//!     x-kubernetes-group-version-kind: [{group: '', version: v1, kind: Shop}]
//!   Owner: {type: object, properties: {name: {type: string}, role: {type: string}}}
//!   Unused: {type: string}
//! ")?;
//! let corrections = Corrections::from_yaml("
//! - reason: the document omits defaults
//!   fields: [Owner.role]
//!   default: keeper
//! ")?;
//! let text = bundle(&openapi, &corrections)?;
//! assert!(text.contains(r#"{"default":"keeper","name":"role","type":{"scalar":"string"}}"#));
//! assert!(!text.contains("Unused"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod apiserver;
mod corrections;
mod patches;
mod select;
mod text;

use fieldmanager_openapi::internal::types_of;
use fieldmanager_openapi::{Importer, LoadError};
use fieldmanager_schema::internal::{resolve_definitions, type_definitions};
use fieldmanager_value::Value;

pub use corrections::{Corrections, Fault};
pub use patches::patches;

/// An error of creating a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The OpenAPI document has faults.
    #[error(transparent)]
    Import(#[from] LoadError),
    /// Corrections do not fit the document.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Corrections(Vec<Fault>),
    /// The corrected schema is not valid.
    #[error(transparent)]
    Schema(#[from] fieldmanager_schema::Error),
    /// The merge strategies cannot be read from the OpenAPI document.
    #[error(transparent)]
    Patches(#[from] fieldmanager_patch::TypesError),
}

/// The serialized bundle: the kinds and types of an OpenAPI document with corrections, without types that no object
/// uses. [`Types::load`](fieldmanager_openapi::Types::load) reads it.
///
/// # Errors
///
/// [`Error`]. A correction that changes nothing, or names something that does not exist, is an error.
pub fn bundle(openapi: &Value, corrections: &Corrections) -> Result<String, Error> {
    let imported = Importer::new().document(openapi)?.types;
    // A correction can add a reference to a type, so the types that are used are selected afterwards.
    let mut definitions = type_definitions(imported.schema()).to_vec();
    corrections
        .apply(&mut definitions)
        .map_err(Error::Corrections)?;
    let kinds = imported
        .kinds()
        .flat_map(|(kind, names)| names.iter().map(|name| (kind.clone(), name.clone())));
    let (definitions, kinds) = select::needed(definitions, kinds.collect());

    Ok(text::write(&types_of(
        resolve_definitions(definitions)?,
        kinds,
    )))
}
