//! Kubernetes Server-Side Apply as a library.
//!
//! An object has several managers. Each manager *applies* a configuration, which contains only the fields that it has
//! an opinion about. The [`Updater`] merges the configuration into the live object, removes fields that the manager
//! applied before and no longer applies, and records the owners of all fields. Changing a field that another manager
//! owns is a conflict, unless the apply is forced.
//!
//! ```
//! use fieldmanager::merge::ApplyRequest;
//! use fieldmanager::{Duplicates, Schema, TypedValue, Updater, Value};
//!
//! let schema = Schema::from_yaml("
//! types:
//! - name: app
//!   map:
//!     fields:
//!     - {name: image, type: {scalar: string}}
//!     - {name: replicas, type: {scalar: numeric}}
//! ")?;
//! let app = schema.type_named("app").ok_or("the schema has this type")?;
//! let config = |text| -> Result<TypedValue, Box<dyn std::error::Error>> {
//!     Ok(TypedValue::new(Value::from_yaml(text)?, app.clone(), Duplicates::Refuse)?)
//! };
//! let updater = Updater::builder().build();
//!
//! // The shop applies first. There is no live object yet, and no field has an owner.
//! let nothing = TypedValue::null(app.clone());
//! let shop = config("{image: nginx, replicas: 3}")?;
//! let applied = updater.apply(ApplyRequest::new(&nothing, &shop).manager("shop"))?;
//! let live = applied.object.ok_or("the object has changed")?;
//!
//! // The autoscaler wants another number of replicas.
//! let autoscaler = config("{replicas: 10}")?;
//! let request = ApplyRequest::new(&live, &autoscaler).owners(&applied.owners).manager("autoscaler");
//! let refused = updater.apply(request.clone());
//! assert_eq!(refused.unwrap_err().to_string(), r#"conflict with "shop": .replicas"#);
//!
//! // Force transfers ownership of the field; the shop keeps the rest.
//! let forced = updater.apply(request.force())?;
//! let object = forced.object.ok_or("the object has changed")?;
//! assert_eq!(object.value().to_json(), r#"{"image":"nginx","replicas":10}"#);
//! let owned = |manager| forced.owners.get(manager).map(|entry| entry.set().to_json());
//! assert_eq!(owned("shop").as_deref(), Some(r#"{"f:image":{}}"#));
//! assert_eq!(owned("autoscaler").as_deref(), Some(r#"{"f:replicas":{}}"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! Every module re-exports a crate; each crate uses only those below it.
//!
//! | module | contents |
//! |---|---|
#![cfg_attr(feature = "harness", doc = "| [`harness`] | scenario files, how to run them, and reports |")]
#![cfg_attr(
    not(feature = "harness"),
    doc = "| `harness` (feature `harness`) | scenario files, how to run them, and reports |"
)]
#![cfg_attr(feature = "derive", doc = "| [`derive`](mod@derive) | unions that Rust types declare |")]
#![cfg_attr(
    not(feature = "derive"),
    doc = "| `derive` (feature `derive`) | unions that Rust types declare |"
)]
//! | [`managedfields`] | `metadata.managedFields`, and the operations of an API server on create, update, patch and apply |
//! | [`patch`] | JSON Patch, JSON Merge Patch and strategic merge patch: applying and creating them |
//! | [`openapi`] | schemas from OpenAPI documents and custom resource definitions, the bundled Kubernetes types |
//! | [`structural`] | custom resource definitions and structural schemas: checking, pruning, defaulting, validation |
//! | [`merge`] | the updater: apply, update, conflicts, pruning, version conversion |
//! | [`typed`] | a value of a type: validation, field sets, merge, comparison, removal, extraction, unions |
//! | [`fieldpath`] | path elements, paths, sets of paths and their algebra, FieldsV1, managers |
//! | [`schema`] | types and type references: parsing and checking a schema |
//! | [`value`] | persistent immutable trees of values, JSON and YAML in and out |
//!
//! # Behaviour
//!
//! The reference is the Go package `sigs.k8s.io/structured-merge-diff/v6`, version 6.4.2. The page `docs/deviations.md`
//! in the repository lists every intended difference with its reason.
//!
//! Everything public is `Send + Sync`. There is no mutable global state, no clock, no randomness and no I/O. No input
//! makes the library panic; nesting beyond [`value::MAX_DEPTH`] is an error.

pub use fieldmanager_fieldpath as fieldpath;
#[cfg(feature = "harness")]
pub use fieldmanager_harness as harness;
pub use fieldmanager_managedfields as managedfields;
pub use fieldmanager_merge as merge;
pub use fieldmanager_openapi as openapi;
pub use fieldmanager_patch as patch;
pub use fieldmanager_schema as schema;
pub use fieldmanager_structural as structural;
pub use fieldmanager_typed as typed;
#[cfg(feature = "derive")]
pub use fieldmanager_union as derive;
pub use fieldmanager_value as value;

pub use fieldmanager_fieldpath::{ApiVersion, Filter, Owners, Path, PathElement, Set, VersionedSet};
pub use fieldmanager_managedfields::{
    ApplyRequest, Entry, FieldManager, Identity, Interner, ManagedFields, Operation, Outcome, PatchRequest,
    Status, Time, UpdateRequest,
};
pub use fieldmanager_merge::{
    Applied, Conflict, Conflicts, ConvertError, Converter, SameVersion, Updated, Updater,
};
pub use fieldmanager_openapi::{Importer, Types};
pub use fieldmanager_patch::{PatchSchema, PatchType, PatchTypes};
pub use fieldmanager_schema::{Schema, Type};
pub use fieldmanager_structural::GroupVersionKind;
pub use fieldmanager_typed::{Comparison, Duplicates, KeyFields, TypedValue};
#[cfg(feature = "derive")]
pub use fieldmanager_union::KubeUnion;
pub use fieldmanager_value::{List, Map, Value};

/// Compiles and runs the Rust examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
