//! The bundled merge strategies of the built-in Kubernetes types.
//!
//! The crate `bundle` of the repository makes them from the OpenAPI definitions of a release, for the kinds of
//! `fieldmanager_openapi::builtin`.
//!
//! ```
//! use fieldmanager_patch::{builtin, strategic};
//! use fieldmanager_value::Value;
//!
//! let live = Value::from_yaml("{apiVersion: v1, kind: Pod, spec: {containers: [{name: app, image: a:1}]}}")?;
//! let patch = Value::from_yaml("{spec: {containers: [{name: app, image: a:2}, {name: log}]}}")?;
//! let schema = builtin::types().for_object(&live).ok_or("a Pod is built in")?;
//! let new = strategic::apply(&live, &patch, schema)?;
//! assert_eq!(
//!     new.get("spec").unwrap().to_json(),
//!     r#"{"containers":[{"image":"a:2","name":"app"},{"name":"log"}]}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::LazyLock;

use fieldmanager_value::Value;
use fieldmanager_value::internal::embedded;

use crate::PatchTypes;
use crate::types::read_types;

const TEXT: &str = include_str!("builtin/patches.json");

/// The strategies of the built-in types of Kubernetes. They are read once, by the first call.
///
/// ```
/// let types = fieldmanager_patch::builtin::types();
/// assert!(types.for_kind("apps/v1", "Deployment").is_some());
/// ```
pub fn types() -> &'static PatchTypes {
    static TYPES: LazyLock<PatchTypes> = LazyLock::new(|| {
        let document = embedded("patches", Value::from_json(TEXT));
        embedded("patches", read_types(&document))
    });
    &TYPES
}
