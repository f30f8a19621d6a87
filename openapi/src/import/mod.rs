//! Converts OpenAPI schemas to types.

mod convert;
mod definitions;
mod document;
mod extensions;
mod fault;
mod imported;
mod keys;
mod kinds;
mod options;
mod targets;
mod unions;

pub use definitions::import_definitions;
pub use document::LoadError;
pub use document::types_document;
pub use fault::Fault;
pub use imported::{ImportError, Imported, UnionForm, UnionOrigin};
pub use options::{Importer, ListUnions};
