//! Typed values: the operations of server-side apply on an object and a configuration.
//!
//! A [`TypedValue`] is a value that has been validated against a type of a schema. It supports computing its [set of
//! fields](TypedValue::field_set), [merging](TypedValue::merge) a configuration into it,
//! [comparing](TypedValue::compare) it with another value, and [removing](TypedValue::remove_items) and
//! [extracting](TypedValue::extract_items) items.
//!
//! ```
//! use fieldmanager_schema::Schema;
//! use fieldmanager_typed::{Duplicates, TypedValue};
//! use fieldmanager_value::Value;
//!
//! let any = Schema::deduced();
//! let typed = |yaml| TypedValue::new(Value::from_yaml(yaml).unwrap(), any.clone(), Duplicates::Refuse);
//! let live = typed("{replicas: 1, paused: true}")?;
//! let config = typed("{replicas: 2}")?;
//!
//! let merged = live.merge(&config)?;
//! assert_eq!(merged.value().to_json(), r#"{"paused":true,"replicas":2}"#);
//! assert_eq!(live.compare(&merged)?.modified.to_string(), ".replicas");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Sharing
//!
//! Results share all unchanged parts with their inputs, and walks skip shared parts. The cost of a merge is
//! proportional to the size of the configuration, that of a comparison to the number of differences.
//!
//! # What this crate knows
//!
//! Values, schemas, paths and sets. It knows no managers.

mod compare;
mod error;
mod extract;
mod field_set;
mod index;
mod items;
mod lookup;
mod merge;
mod merge_list;
mod prune;
mod reconcile;
mod remove;
mod shape;
mod typed_value;
mod unions;
mod validate;

pub use compare::Comparison;
pub use error::{Error, Fault, ValidationError, ValidationErrors};
pub use extract::KeyFields;
pub use items::ItemFault;
pub use typed_value::TypedValue;
pub use unions::{Normalized, Ratcheting, UnionAction, UnionChange, UnionFault};
pub use validate::Duplicates;

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::compare::filter_comparison;
    pub use crate::field_set::field_set_sharing;
    pub use crate::merge::{MergedValue, merge_tracked};
    pub use crate::prune::abandoned_items;
    pub use crate::reconcile::reconcile;
    pub use crate::typed_value::has_all_keys;
    pub use crate::unions::config::{normalize_applied, normalize_config};
    pub use crate::unions::discriminator_of;
}
