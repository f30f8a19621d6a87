//! The schema of the built-in Kubernetes types, bundled with the library.
//!
//! The crate `bundle` of the repository generates the schema from the OpenAPI definitions of a release, with
//! corrections where the definitions are less precise than the API server.
//!
//! ```
//! use fieldmanager_openapi::{GroupVersionKind, builtin};
//!
//! let deployment = builtin::types().for_kind(&GroupVersionKind::from_api_version_kind("apps/v1", "Deployment"))?;
//! assert_eq!(deployment.name(), "io.k8s.api.apps.v1.Deployment");
//! # Ok::<(), fieldmanager_openapi::KindError>(())
//! ```

use std::sync::LazyLock;

use fieldmanager_value::Value;
use fieldmanager_value::internal::embedded;

use crate::Types;

const TEXT: &str = include_str!("builtin/kubernetes.json");

/// The built-in types of Kubernetes. The first call loads them, which takes a few milliseconds.
///
/// ```
/// use fieldmanager_openapi::builtin;
/// use fieldmanager_value::Value;
///
/// let object = Value::from_yaml("{apiVersion: v1, kind: Pods}")?;
/// let error = builtin::types().for_object(&object).unwrap_err();
/// assert!(error.to_string().starts_with("no corresponding type for /v1, Kind=Pods, did you mean v1 Pod"));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn types() -> Types {
    static TYPES: LazyLock<Types> = LazyLock::new(|| {
        let document = embedded("types", Value::from_json(TEXT));
        embedded("types", Types::load(&document))
    });
    TYPES.clone()
}
