//! Why a resource cannot be served.

use fieldmanager_structural::GroupVersionKind;

/// Why a [`Resource`](crate::Resource) cannot be made.
///
/// ```
/// use fieldmanager_handlers::{Resource, ResourceError};
/// use fieldmanager_structural::GroupVersionKind;
/// let shop = GroupVersionKind::from_api_version_kind("example.com/v1", "Shop");
/// let error = Resource::builtin(&shop).unwrap_err();
/// assert_eq!(error.to_string(), "example.com/v1, Kind=Shop is not built in");
/// assert_eq!(error, ResourceError::NotBuiltIn { kind: shop });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// Kubernetes does not serve the kind.
    #[error("{kind} is not built in")]
    NotBuiltIn {
        /// The kind.
        kind: GroupVersionKind,
    },
    /// The definition of a custom resource lacks the version, or has a schema that cannot be used.
    #[error("{kind}: {message}")]
    Definition {
        /// The kind at the version.
        kind: GroupVersionKind,
        /// The fault.
        message: String,
    },
    /// The types do not have the kind.
    #[error("{message}")]
    Types {
        /// The fault.
        message: String,
    },
}
