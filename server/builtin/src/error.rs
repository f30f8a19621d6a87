//! The error of decoding.

/// An error for an object that does not fit the Go type of its kind. The message is that of Go's JSON decoder.
///
/// ```
/// use fieldmanager_builtin::Kind;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let kind = Kind::of(&GroupVersionKind::new("apps", "v1", "Deployment")).unwrap();
/// let error = kind.decode(&Value::from_json(r#"{"spec": {"replicas": "two"}}"#)?).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
/// );
/// assert!(error.message(&kind).starts_with(r#"Deployment in version "v1" cannot be handled as a Deployment: json: "#));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub(crate) String);

/// A fault at a place of the object.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A value of a wrong type.
    Type {
        /// What was found: `string`, `number 1.5`.
        found: String,
        /// The Go type at the place.
        wanted: String,
        /// The struct that has the innermost field on the path, and the path of fields.
        field: Option<(String, String)>,
    },
    /// Another fault, in Go's words.
    Other(String),
}

impl From<Fault> for DecodeError {
    fn from(fault: Fault) -> Self {
        DecodeError(match fault {
            Fault::Type {
                found,
                wanted,
                field: None,
            } => {
                format!("json: cannot unmarshal {found} into Go value of type {wanted}")
            }
            Fault::Type {
                found,
                wanted,
                field: Some((of, path)),
            } => {
                format!(
                    "json: cannot unmarshal {found} into Go struct field {of}.{path} of type {wanted}"
                )
            }
            Fault::Other(message) => message,
        })
    }
}
