//! Errors from reading and converting values.

use std::fmt;

/// A position in the input. Lines and columns are counted from 1.
///
/// ```
/// use fieldmanager_value::{Error, Value};
/// let Err(Error::Json { position, .. }) = Value::from_json("{\n  x") else { panic!() };
/// assert_eq!((position.line, position.column), (2, 3));
/// assert_eq!(position.to_string(), "line 2 column 3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1.
    pub column: usize,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// An error from reading a document or converting a value.
///
/// ```
/// use fieldmanager_value::{Error, Value};
/// assert_eq!(Value::from_yaml("a\n---\nb\n"), Err(Error::Documents { found: 2 }));
/// let deep = "[".repeat(300) + &"]".repeat(300);
/// assert_eq!(Value::from_json(&deep), Err(Error::TooDeep));
/// assert_eq!(Error::TooDeep.to_string(), "nesting is deeper than 256 levels");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input is not valid JSON, or contains a duplicate key in
    /// [`Value::from_json_strict`](crate::Value::from_json_strict).
    #[error("not valid JSON at {position}: {message}")]
    Json {
        /// Where the error was detected.
        position: TextPosition,
        /// A description of the error.
        message: String,
    },
    /// The input is not valid YAML, or exceeds a limit on aliases.
    #[error("not valid YAML{}: {message}", position.map(|p| format!(" at {p}")).unwrap_or_default())]
    Yaml {
        /// Where the error was detected, if the parser reports it.
        position: Option<TextPosition>,
        /// A description of the error.
        message: String,
    },
    /// The input contains a different number of documents than the expected one.
    #[error("expected one document, found {found}")]
    Documents {
        /// The number of documents.
        found: usize,
    },
    /// Lists and maps nest more than [`MAX_DEPTH`](crate::MAX_DEPTH) levels deep.
    #[error("nesting is deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    /// A float that JSON cannot represent.
    #[error("number {found} is not finite: only finite numbers are accepted")]
    NotFinite {
        /// `NaN`, `inf` or `-inf`.
        found: String,
    },
    /// A map key that is not a string.
    #[error("map key {found} is not a string: only strings are accepted as map keys")]
    KeyNotString {
        /// The key that was found, as JSON.
        found: String,
    },
    /// A conversion to or from a Rust type failed.
    #[error("{message}")]
    Conversion {
        /// The error message of the type.
        message: String,
    },
}

impl serde::ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        from_message(message.to_string())
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        from_message(message.to_string())
    }
}

/// Restores [`Error::TooDeep`], which serde formats report as a message.
fn from_message(message: String) -> Error {
    if message == Error::TooDeep.to_string() {
        Error::TooDeep
    } else {
        Error::Conversion { message }
    }
}
