//! Errors of reading schemas and walking objects.

use fieldmanager_value::{Kind, MAX_DEPTH};

use crate::{FieldError, FieldPath};

/// An error of reading a schema or walking an object.
///
/// The messages of the first three variants equal those of `NewStructural` in the API server and do not contain the
/// path, which the field `path` provides.
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
    /// The schema has a keyword that structural schemas do not support.
    #[error("OpenAPIV3Schema '{keyword}' is not supported")]
    Unsupported {
        /// The path of the schema.
        path: FieldPath,
        /// The keyword; `schema` for `$schema`.
        keyword: &'static str,
    },
    /// `items` is a list with one schema per item.
    #[error("OpenAPIV3Schema 'items' must be a schema, but is an array")]
    ItemsList {
        /// The path of the schema.
        path: FieldPath,
    },
    /// `x-kubernetes-preserve-unknown-fields` is false.
    #[error("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")]
    PreserveFalse {
        /// The path of the schema.
        path: FieldPath,
    },
    /// A keyword has a value of a wrong type.
    #[error("{} must be {expected}, but is {}", whole(path), article(*found))]
    WrongType {
        /// The path of the keyword.
        path: FieldPath,
        /// The accepted types.
        expected: &'static str,
        /// The type of the value.
        found: Kind,
    },
    /// The schema or the object nests deeper than [`MAX_DEPTH`].
    #[error("lists and maps nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The defaults of the schema add too much to an object.
    #[error(
        "{}: the defaults of the schema add more than {limit} bytes to the object",
        whole(path)
    )]
    DefaultsTooLarge {
        /// The path at which the limit was exceeded.
        path: FieldPath,
        /// The limit in bytes of JSON.
        limit: usize,
    },
    /// The default of the whole object is not a map.
    #[error("failed to prune default value: object root default value must be of object type")]
    RootDefault,
    /// The `apiVersion`, `kind` or `metadata` of a resource is malformed.
    #[error(transparent)]
    Metadata(FieldError),
}

fn whole(path: &FieldPath) -> String {
    if *path == FieldPath::default() {
        "the schema".to_owned()
    } else {
        format!("`{path}`")
    }
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
