//! Errors from parsing paths and sets.

use fieldmanager_value::{MAX_DEPTH, TextPosition};

/// An error from parsing a path or a set.
///
/// ```
/// use fieldmanager_fieldpath::{Error, Path, Set};
/// let error = "a..b".parse::<Path>().unwrap_err();
/// assert_eq!(error.to_string(), "`a..b` is not a field path: expected a field name at byte 2");
/// assert!(matches!(Set::from_json(br#"{"a":{}}"#), Err(Error::Element { .. })));
/// assert!(matches!(Set::from_json(b"[]"), Err(Error::FieldsV1 { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input is not a path in field-path notation.
    #[error("`{text}` is not a field path: {message} at byte {at}")]
    Path {
        /// The input.
        text: String,
        /// The byte offset of the error, counted from 0.
        at: usize,
        /// The expected input.
        message: String,
    },
    /// A key of a FieldsV1 object is not a path element.
    #[error("key `{key}` is not a path element: {message}")]
    Element {
        /// The key.
        key: String,
        /// A description of the error.
        message: String,
    },
    /// The input is not valid FieldsV1.
    #[error("not valid FieldsV1 at {position}: {message}")]
    FieldsV1 {
        /// Where the error was detected.
        position: TextPosition,
        /// A description of the error.
        message: String,
    },
    /// The value is not valid FieldsV1.
    #[error("not valid FieldsV1: {message}")]
    Fields {
        /// A description of the error.
        message: String,
    },
    /// The set nests deeper than [`MAX_DEPTH`] levels.
    #[error("fields nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
}
