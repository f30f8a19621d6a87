//! What can be wrong with a custom resource definition, or with a question to it.

use fieldmanager_value::Str;

use crate::FieldError;

/// Why a custom resource definition gives no answer.
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
    /// It is no custom resource definition, or one of another version.
    #[error("expected a CustomResourceDefinition of apiextensions.k8s.io/v1, got {found}")]
    NotCrd {
        /// What it is.
        found: String,
    },
    /// Fields of the definition are missing or have wrong values; all of them.
    #[error("{}", lines(.0))]
    Fields(Vec<FieldError>),
    /// It has no such version.
    #[error("there is no version `{version}`: {}", versions(known))]
    UnknownVersion {
        /// The version that was asked for.
        version: Str,
        /// The versions that there are.
        known: Vec<Str>,
    },
    /// The schema of a version is none that a structural schema can be made of.
    #[error("version `{version}`: {source}")]
    Structural {
        /// The version.
        version: Str,
        /// Why not.
        source: crate::Error,
    },
}

fn lines(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
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
