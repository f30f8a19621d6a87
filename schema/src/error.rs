//! Errors of reading a schema.

use std::fmt;

/// One fault of a schema.
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
    /// The type it is in, where that has a name.
    pub type_name: Option<String>,
    /// The place in the schema document, in field-path notation.
    pub path: String,
    /// What was found and what would be accepted.
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

/// Why a document is no schema.
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
    /// The document is neither JSON nor YAML.
    #[error(transparent)]
    Text(#[from] fieldmanager_value::Error),
    /// The document can be read and is no valid schema. All faults that were found.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Fault>),
}

impl Error {
    /// The faults of an invalid schema.
    pub fn faults(&self) -> &[Fault] {
        match self {
            Error::Invalid(faults) => faults,
            Error::Text(_) => &[],
        }
    }
}
