//! What can go wrong.

use fieldmanager_value::{Kind, MAX_DEPTH};

use crate::{FieldError, FieldPath};

/// Why a schema is not read, or an object not walked.
///
/// The texts of the first three are those of `NewStructural` in the apiserver, which do not name the path; the
/// field does.
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Value::from_yaml("{properties: {a: {$ref: other}}}")?;
/// let error = Structural::from_value(&schema).unwrap_err();
/// assert_eq!(error.to_string(), "OpenAPIV3Schema '$ref' is not supported");
/// let error = Structural::from_value(&Value::from_yaml("{properties: {a: {type: [string]}}}")?).unwrap_err();
/// assert_eq!(error.to_string(), "`properties[a].type` must be a string, but is a list");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A keyword that structural schemas do not have.
    #[error("OpenAPIV3Schema '{keyword}' is not supported")]
    Unsupported {
        /// The schema that has it.
        path: FieldPath,
        /// The keyword; `schema` for `$schema`.
        keyword: &'static str,
    },
    /// `items` with one schema for each item.
    #[error("OpenAPIV3Schema 'items' must be a schema, but is an array")]
    ItemsList {
        /// The schema that has it.
        path: FieldPath,
    },
    /// `x-kubernetes-preserve-unknown-fields: false`.
    #[error("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")]
    PreserveFalse {
        /// The schema that has it.
        path: FieldPath,
    },
    /// A keyword with a value of the wrong type.
    #[error("{} must be {expected}, but is {}", whole(path), article(*found))]
    WrongType {
        /// The keyword.
        path: FieldPath,
        /// What would be accepted.
        expected: &'static str,
        /// What is there.
        found: Kind,
    },
    /// The schema or the object nests deeper than [`MAX_DEPTH`].
    #[error("lists and maps nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The defaults of the schema add too much to an object.
    #[error("{}: the defaults of the schema add more than {limit} bytes to the object", whole(path))]
    DefaultsTooLarge {
        /// Where the limit was exceeded.
        path: FieldPath,
        /// How many bytes of JSON defaults may add.
        limit: usize,
    },
    /// A default of the whole object that is not a map.
    #[error("failed to prune default value: object root default value must be of object type")]
    RootDefault,
    /// The `apiVersion`, `kind` or `metadata` of a resource is malformed.
    #[error(transparent)]
    Metadata(FieldError),
}

fn whole(path: &FieldPath) -> String {
    if *path == FieldPath::empty() { "the schema".to_owned() } else { format!("`{path}`") }
}

fn article(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "a boolean",
        Kind::Int => "an integer",
        Kind::Float => "a float",
        Kind::String => "a string",
        Kind::List => "a list",
        Kind::Map => "a map",
    }
}
