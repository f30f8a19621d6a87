//! Facts about the built-in kinds of Kubernetes: how the API server decodes, defaults, converts and validates their
//! objects.
//!
//! A [`Kind`] is a built-in kind at one version, with the facts that Go sources hold: its Go type, which
//! [decodes](Kind::decode) objects and has a [zero value](Kind::zero), the [fields that its registry
//! resets](Kind::reset_fields), its [resource](Kind::resource) and the [conversion](Kind::convert) to other versions.
//!
//! ```
//! use fieldmanager_builtin::Kind;
//! use fieldmanager_structural::GroupVersionKind;
//! use fieldmanager_value::Value;
//!
//! let pod = Value::from_yaml("
//! apiVersion: v1
//! kind: Pod
//! spec:
//!   containers:
//!   - name: main
//!     imaeg: nginx
//!     resources: {limits: {cpu: 0.5}}
//! ")?;
//! let kind = Kind::of(&GroupVersionKind::new("", "v1", "Pod")).unwrap();
//! let decoded = kind.decode(&pod)?;
//! assert_eq!(decoded.unknown, ["spec.containers[0].imaeg"]);
//! assert_eq!(
//!     decoded.object.get("spec").unwrap().to_json(),
//!     r#"{"containers":[{"name":"main","resources":{"limits":{"cpu":"500m"}}}]}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate knows
//!
//! The kinds of kube-apiserver 1.37, from tables that programs in `comparison/oracle/server` write from its sources, and
//! for each kind a [`KindDescription`] of what is not recorded. It knows no managers, no requests and no storage.

mod amount;
mod base64;
mod convert;
mod decode;
mod defaults;
mod diff;
mod encode;
mod error;
mod functions;
mod image;
mod kinds;
mod number;
mod place;
mod protobuf;
mod quantity;
mod reset;
mod shown;
mod strategy;
mod table;
mod time;
mod trail;
mod types;
mod unstructured;
mod validation;
mod warnings;

pub use convert::ConvertError;
pub use decode::Decoded;
pub use defaults::defaulted;
pub use error::DecodeError;
pub use functions::families::prepare_allocation;
pub use kinds::{
    Column, CountsEmpty, DerivedLabel, Kind, KindDescription, ResourceFacts, Review, StoredForm,
    SubresourceFacts,
};
pub use protobuf::{
    ProtobufError, from_protobuf, item_to_protobuf, list_to_protobuf, to_protobuf,
    watch_event_to_protobuf,
};
pub use strategy::{prepare_create, prepare_update};
pub use validation::{validate_create, validate_update};
pub use warnings::warnings;
