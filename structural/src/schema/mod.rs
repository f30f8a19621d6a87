//! Structural schemas and the operations that they define on objects.

mod complete;
mod declared;
mod default;
mod duplicates;
mod error;
mod lists;
mod metadata;
mod metadata_check;
mod model;
mod nested;
mod nulls;
mod object_meta;
pub(crate) mod pattern;
mod prune;
mod prune_defaults;
mod read;
mod source;
mod trail;
mod unfold;
mod union;
mod validate;
mod validate_metadata;
mod walk;
mod write;

pub use declared::declare_metadata;
pub use default::MAX_DEFAULT_BYTES;
pub use error::Error;
pub use metadata::Coerced;
pub use metadata_check::{
    NameSyntax, finalizer_warnings, validate_object_meta, validate_object_meta_update,
};
pub use model::{
    AdditionalProperties, Extensions, ExternalDocs, Generic, NestedValueValidation, Node,
    Structural, ValueValidation,
};
pub use prune::Pruned;
pub use prune_defaults::prune_defaults;
pub use unfold::unfold;
