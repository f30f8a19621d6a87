//! Errors from reading a schema.

use std::fmt;

/// A single error in a schema.
///
/// ```
/// use fieldmanager_schema::Schema;
/// let error = Schema::from_yaml("types: [{name: app, scalar: text}]").unwrap_err();
/// let fault = &error.faults()[0];
/// assert_eq!(fault.type_name.as_deref(), Some("app"));
/// assert_eq!(fault.path, r#".types[name="app"].scalar"#);
/// assert!(fault.message.starts_with("unknown scalar `text`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name of the type that contains the error, if any.
    pub type_name: Option<String>,
    /// The location in the schema document, in field-path notation.
    pub path: String,
    /// A description of the error and of the accepted input.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.type_name {
            write!(f, "type `{name}`: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// An error from reading a schema.
///
/// ```
/// use fieldmanager_schema::{Error, Schema};
/// assert!(matches!(Schema::from_yaml("types: ["), Err(Error::Text(_))));
/// let error = Schema::from_yaml("{kinds: []}").unwrap_err();
/// assert_eq!(error.to_string(), ".kinds: unknown field, accepted are types");
/// assert_eq!(error.faults().len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The document is neither valid JSON nor valid YAML.
    #[error(transparent)]
    Text(#[from] fieldmanager_value::Error),
    /// The document is not a valid schema. Contains all errors that were found.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Fault>),
}

impl Error {
    /// The errors of an invalid schema.
    pub fn faults(&self) -> &[Fault] {
        match self {
            Error::Invalid(faults) => faults,
            Error::Text(_) => &[],
        }
    }
}
