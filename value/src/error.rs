//! Errors of reading and converting values.

use std::fmt;

/// A place in a text: both numbers start at 1.
///
/// ```
/// use fieldmanager_value::{Error, Value};
/// let Err(Error::Json { position, .. }) = Value::from_json("{\n  x") else { panic!() };
/// assert_eq!((position.line, position.column), (2, 3));
/// assert_eq!(position.to_string(), "line 2 column 3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// Why a text is no value, or a value no instance of a type.
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
    /// The text is not JSON, or has a key twice where [`Value::from_json_strict`](crate::Value::from_json_strict) reads it.
    #[error("not valid JSON at {position}: {message}")]
    Json {
        /// Where the text stops being valid.
        position: TextPosition,
        /// What was found there.
        message: String,
    },
    /// The text is not YAML, or its aliases stand for more than is accepted.
    #[error("not valid YAML{}: {message}", position.map(|p| format!(" at {p}")).unwrap_or_default())]
    Yaml {
        /// Where the text stops being valid, where the parser knows.
        position: Option<TextPosition>,
        /// What was found there.
        message: String,
    },
    /// A text holds another number of documents than the one that is wanted.
    #[error("expected one document, found {found}")]
    Documents {
        /// How many documents there are.
        found: usize,
    },
    /// Lists and maps nest deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    #[error("nesting is deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    /// A float that JSON cannot express.
    #[error("number {found} is not finite: only finite numbers are accepted")]
    NotFinite {
        /// `NaN`, `inf` or `-inf`.
        found: String,
    },
    /// A map key that is not a string.
    #[error("map key {found} is not a string: only strings are accepted as map keys")]
    KeyNotString {
        /// What was found.
        found: String,
    },
    /// A type's own conversion failed.
    #[error("{message}")]
    Conversion {
        /// What the type said.
        message: String,
    },
}

impl serde::ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        of_message(message.to_string())
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        of_message(message.to_string())
    }
}

/// A value that is too deep reports that to any format as a message, so also to this one.
fn of_message(message: String) -> Error {
    if message == Error::TooDeep.to_string() { Error::TooDeep } else { Error::Conversion { message } }
}
