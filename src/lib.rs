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
//! Each module re-exports what programs use of one or two crates of the same name.
//!
//! | module | contents |
//! |---|---|
#![cfg_attr(
    feature = "handlers",
    doc = "| [`handlers`] | requests to an API server around the field manager |"
)]
#![cfg_attr(
    not(feature = "handlers"),
    doc = "| `handlers` (feature `handlers`) | requests to an API server around the field manager |"
)]
#![cfg_attr(
    feature = "harness",
    doc = "| [`harness`] | scenario files, how to run them, and reports |"
)]
#![cfg_attr(
    not(feature = "harness"),
    doc = "| `harness` (feature `harness`) | scenario files, how to run them, and reports |"
)]
//! | [`managedfields`] | `metadata.managedFields`, and the operations of an API server on create, update, patch and apply |
//! | [`patch`] | JSON Patch, JSON Merge Patch and strategic merge patch: applying and creating them |
//! | [`openapi`] | schemas from OpenAPI documents and custom resource definitions, the bundled Kubernetes types |
//! | [`merge`] | the updater: apply, update, conflicts, pruning, version conversion |
//! | [`unions`] | what happens to unions in an operation; with the feature `derive`, unions that Rust types declare |
//! | [`typed`] | a value of a type: validation, field sets, merge, comparison, removal, extraction |
//! | [`fieldpath`] | path elements, paths, sets of paths and their algebra, FieldsV1, owners |
//! | [`schema`] | types of a schema: parsing and checking it |
//! | [`value`] | persistent immutable trees of values, JSON and YAML in and out |
//!
//! # Behaviour
//!
//! The reference is the Go package `sigs.k8s.io/structured-merge-diff/v6`, version 6.4.2. The page `docs/deviations.md`
//! in the repository lists every intended difference with its reason.
//!
//! Everything public is `Send + Sync`. There is no mutable global state, no clock, no randomness and no I/O. No input
//! makes the library panic; nesting beyond [`value::MAX_DEPTH`] is an error.

pub mod fieldpath {
    //! Path elements, paths, sets of paths and their algebra, FieldsV1, owners.

    pub use fieldmanager_fieldpath::{
        ApiVersion, Error, Filter, MAX_PATH_LENGTH, Matcher, Owners, Path, PathElement, Paths, Set,
        VersionedSet,
    };
}

#[cfg(feature = "handlers")]
pub mod handlers {
    //! Requests to an API server: create, update, patch and apply, with decoding, defaults, validation, preconditions and
    //! subresources.

    pub use fieldmanager_handlers::{
        Action, Outcome, Refused, Request, Resource, ResourceError, Subresource,
    };
}

#[cfg(feature = "harness")]
pub mod harness {
    //! Scenario files, how to run them, and reports.

    pub use fieldmanager_harness::{
        CheckError, Error, Errors, Failure, Loader, MAX_INPUT, Origin, Report, Scenario,
        ScenarioReport, Style, check, load, run, run_all,
    };
}

pub mod managedfields {
    //! `metadata.managedFields`, and what an apiserver calls on create, update, patch and apply.

    pub use fieldmanager_managedfields::{
        ApplyRequest, Cause, ConvertError, CsaUpgrade, Details, Entry, EntryError, Error,
        ErrorKind, ExtractForm, ExtractRequest, FieldManager, FieldManagerBuilder, Identity,
        Interner, InvalidOptions, MAX_CAUSES, MAX_MANAGER, MAX_OWNED_DEPTH, MAX_UPDATERS,
        ManagedFields, MigrateError, ObjectConverter, ObjectError, ObjectOutcome, Operation,
        Outcome, PatchRequest, RequestKind, RequestOptions, SameFields, ScaleHandler, Selector,
        Status, StripOptions, Time, TimeError, UpdateRequest, extract,
        ignore_timestamp_only_changes, manager_name, strip_for_apply, validate_managed_fields,
    };
}

pub mod merge {
    //! The updater: apply, update, conflicts, pruning, version conversion.

    pub use fieldmanager_merge::{
        Applied, ApplyRequest, Conflict, Conflicts, ConvertError, Converter, Error, ErrorKind,
        MAX_VERSIONS, SameVersion, Stage, UpdateRequest, Updated, Updater, UpdaterBuilder,
    };
}

pub mod openapi {
    //! Schemas from OpenAPI documents and custom resource definitions, and the bundled Kubernetes types; structural
    //! schemas with what they do to objects: checking, pruning, defaulting, validation.

    #[cfg(feature = "builtin")]
    pub use fieldmanager_openapi::builtin;
    pub use fieldmanager_openapi::{
        Fault, ImportError, Imported, Importer, KindError, ListUnions, LoadError, SourceError,
        Types,
    };
    #[cfg(feature = "validation")]
    pub use fieldmanager_structural::validation;
    pub use fieldmanager_structural::{
        Coerced, Error as StructuralError, FieldError, FieldErrorKind, FieldPath, GroupVersionKind,
        MAX_DEFAULT_BYTES, Pruned, Structural, crd,
    };
}

pub mod patch {
    //! JSON Patch, JSON Merge Patch and strategic merge patch: applying and making them.

    #[cfg(feature = "builtin")]
    pub use fieldmanager_patch::builtin;
    pub use fieldmanager_patch::{
        Error, Fault, PatchSchema, PatchType, PatchTypes, Response, TypesError, json_merge,
        json_patch, strategic,
    };
}

pub mod schema {
    //! Types of a schema: parsing and checking it.

    pub use fieldmanager_schema::{Error, Fault, Schema, Type, UNTYPED_ATOMIC, UNTYPED_DEDUCED};
}

pub mod typed {
    //! A value of a type: validation, field sets, merge, comparison, removal, extraction.

    pub use fieldmanager_typed::{
        Comparison, Duplicates, Error, Fault, ItemFault, KeyFields, TypedValue, ValidationError,
        ValidationErrors,
    };
}

pub mod unions {
    //! What happens to unions in an operation: [`TypedValue::normalize_update`](crate::TypedValue::normalize_update)
    //! and [`validate_unions`](crate::TypedValue::validate_unions).
    //!
    //! With the feature `derive`, unions that Rust types declare: `#[derive(KubeUnion)]`.

    pub use fieldmanager_typed::{Normalized, Ratcheting, UnionAction, UnionChange, UnionFault};
    #[cfg(feature = "derive")]
    #[doc(hidden)]
    pub use fieldmanager_union::__private;
    #[cfg(feature = "derive")]
    pub use fieldmanager_union::{
        Declaration, Discriminator, EXTENSION, KubeUnion, Member, ReadError,
    };
}

pub mod value {
    //! Persistent immutable trees of values, JSON and YAML in and out.

    pub use fieldmanager_value::{
        Error, Kind, List, MAX_DEPTH, Map, Str, Text, TextPosition, Value, from_value, to_value,
    };
}

pub use fieldmanager_fieldpath::{
    ApiVersion, Filter, Owners, Path, PathElement, Set, VersionedSet,
};
pub use fieldmanager_managedfields::{
    ApplyRequest, Entry, FieldManager, Identity, Interner, ManagedFields, Operation, Outcome,
    PatchRequest, Status, Time, UpdateRequest,
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
