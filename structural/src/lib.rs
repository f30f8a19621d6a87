//! Custom resource definitions and structural schemas.
//!
//! A [`Structural`] is a schema whose types and field names can be determined without evaluating `allOf`, `anyOf`,
//! `oneOf` and `not`. This makes it possible to [prune](Structural::prune) unknown fields, to [fill in
//! defaults](Structural::default_object) and to check lists and metadata without a validator. A
//! [`CustomResource`](crd::CustomResource) is a `CustomResourceDefinition`: its names, its versions with their schemas,
//! the definitions that an API server publishes for them, and all its violations.
//!
//! The behaviour follows `k8s.io/apiextensions-apiserver/pkg/apiserver/schema`, with unions (`x-kubernetes-unions`) as
//! in the proposal for structural schemas.
//!
//! ```
//! use fieldmanager_structural::{FieldPath, Structural};
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
//! assert!(schema.validate(&FieldPath::default()).is_empty());
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
//! A walk that changes an object shares all unchanged parts with the original. A walk without changes allocates nothing
//! and returns the same allocation.
//!
//! # Depth
//!
//! Schemas and objects that nest deeper than [`MAX_DEPTH`](fieldmanager_value::MAX_DEPTH) are refused with
//! [`Error::TooDeep`].
//!
//! # What this crate knows
//!
//! Custom resource definitions, structural schemas, and that an object has `apiVersion`, `kind` and `metadata`. It does
//! not know the types of server-side apply or managers.

mod address;
mod correlation;
pub mod crd;
mod dns;
mod field_error;
mod field_path;
mod go_duration;
mod go_types;
mod gvk;
mod managed_fields;
mod object_ext;
mod quantity;
mod quantity_sum;
mod schema;
mod selector;
mod time;
mod url;
#[cfg(feature = "validation")]
pub mod validation;
mod webhook;

pub use field_error::{FieldError, FieldErrorKind, FieldPath};
pub use gvk::GroupVersionKind;
pub use managed_fields::{MAX_MANAGER, validate_managed_fields};
pub use schema::{Coerced, Error, MAX_DEFAULT_BYTES, Pruned, Structural};

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::correlation::{Correlated, Correlations};
    pub use crate::dns::{
        CEL_RESERVED, label_1035, label_value, path_segment, qualified_name, subdomain_1123,
    };
    pub use crate::field_error::{cause_reason, is_below};
    pub use crate::field_path::{Fields, Resolved, resolve as resolve_field};
    pub use crate::go_duration::parse_go_duration;
    pub use crate::go_types::{go_type, json_kind};
    pub use crate::managed_fields::validate_manager;
    pub use crate::object_ext::ObjectExt;
    pub use crate::quantity::{Quantity, QuantityError, canonical_quantity};
    pub use crate::schema::{
        AdditionalProperties, Extensions, ExternalDocs, Generic, NameSyntax, NestedValueValidation,
        Node, ValueValidation, declare_metadata, finalizer_warnings, prune_defaults, unfold,
        validate_object_meta, validate_object_meta_update,
    };
    pub use crate::selector::selects;
    pub use crate::time::{Timestamp, TimestampError};
    /// IP addresses and ranges.
    pub mod address {
        pub use crate::address::{cidr, contains, first, ip};
    }
    pub use crate::crd::internal::*;
    #[cfg(feature = "validation")]
    pub use crate::validation::internal::*;
    /// URLs.
    pub mod url {
        pub use crate::url::{Url, parse, split_host};
    }
    /// The address of a webhook.
    pub mod webhook {
        pub use crate::webhook::{service, url};
    }
}
