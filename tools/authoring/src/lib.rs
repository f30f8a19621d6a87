//! Adds the unions that markers of Go source declare to the CustomResourceDefinitions and OpenAPI documents that were
//! generated from it.
//!
//! ```
//! use fieldmanager_authoring::internal::{Document, GoFile, GoTypes, insert};
//!
//! let source = "
//! package v1
//!
//! // +kubebuilder:object:root=true
//! type App struct {
//!     Source Source `json:\"source\"`
//! }
//!
//! // +union
//! type Source struct {
//!     // +optional
//!     Git *string `json:\"git,omitempty\"`
//!     // +optional
//!     Image *string `json:\"image,omitempty\"`
//! }
//! ";
//! let crd = "
//! apiVersion: apiextensions.k8s.io/v1
//! kind: CustomResourceDefinition
//! spec:
//!   group: example.com
//!   names: {kind: App, plural: apps}
//!   versions:
//!   - name: v1
//!     schema:
//!       openAPIV3Schema:
//!         type: object
//!         properties:
//!           source: # where from
//!             type: object
//!             properties: {git: {type: string}, image: {type: string}}
//! ";
//! let types = GoTypes::read(&[GoFile { path: "api/v1/types.go", import_path: None, text: source }]);
//! let out = insert(&types, &[Document { name: "app.yaml", text: crd }])?;
//! assert!(out[0].text.starts_with(crd));
//! assert!(out[0].text.ends_with("
//!             x-kubernetes-unions:
//!             - fields-to-discriminateBy:
//!                 git: Git
//!                 image: Image
//! "));
//! # Ok::<(), fieldmanager_authoring::internal::Faults>(())
//! ```

mod document;
mod fault;
mod go;
mod place;

/// Items for the command. This crate has no public API yet.
#[doc(hidden)]
pub mod internal {
    pub use crate::fault::{Fault, Position};
    pub use crate::go::{GoFile, GoTypes};
    pub use crate::place::{DeclaredUnion, Document, Faults, Inserted, insert};
}
