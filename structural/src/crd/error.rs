//! Errors of custom resource definitions.

use fieldmanager_value::Str;

use crate::FieldError;

/// An error in a custom resource definition or in its use.
///
/// ```
/// use fieldmanager_structural::crd::{CrdError, CustomResource};
/// use fieldmanager_value::Value;
/// let error = CustomResource::from_value(&Value::from_yaml("
/// apiVersion: apiextensions.k8s.io/v1
/// kind: CustomResourceDefinition
/// spec: {group: example.com, names: {kind: Shop}, scope: Galaxy, versions: []}
/// ")?).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "spec.names.plural: Required value\n\
///      spec.scope: Unsupported value: \"Galaxy\": supported values: \"Cluster\", \"Namespaced\"\n\
///      spec.versions: Required value: a list of versions",
/// );
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CrdError {
    /// The document is not a custom resource definition, or has another API version.
    #[error("expected a CustomResourceDefinition of apiextensions.k8s.io/v1, got {found}")]
    NotCrd {
        /// The kind and API version of the document.
        found: String,
    },
    /// Fields of the definition are missing or have wrong values. Contains every fault.
    #[error("{}", lines(.0))]
    Fields(Vec<FieldError>),
    /// The definition has no such version.
    #[error("there is no version `{version}`: {}", versions(known))]
    UnknownVersion {
        /// The requested version.
        version: Str,
        /// The versions of the definition.
        known: Vec<Str>,
    },
    /// The schema of a version cannot be converted to a structural schema.
    #[error("version `{version}`: {source}")]
    Structural {
        /// The version.
        version: Str,
        /// The cause.
        source: crate::Error,
    },
}

fn lines(errors: &[FieldError]) -> String {
    errors
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

fn versions(known: &[Str]) -> String {
    match known {
        [] => "there are none".to_owned(),
        [one] => format!("the only one is {one}"),
        several => {
            let names: Vec<&str> = several.iter().map(Str::as_str).collect();
            format!("there are {}", names.join(", "))
        }
    }
}
