//! Errors of reading paths and sets.

use fieldmanager_value::{MAX_DEPTH, TextPosition};

/// Why a text is no path or no set of fields.
///
/// ```
/// use fieldmanager_fieldpath::{Error, Path, Set};
/// let error = "a..b".parse::<Path>().unwrap_err();
/// assert_eq!(error.to_string(), "`a..b` is no field path: expected a field name at byte 2");
/// assert!(matches!(Set::from_json(br#"{"a":{}}"#), Err(Error::Element { .. })));
/// assert!(matches!(Set::from_json(b"[]"), Err(Error::FieldsV1 { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text is no path in field-path notation.
    #[error("`{text}` is no field path: {message} at byte {at}")]
    Path {
        /// The text.
        text: String,
        /// Where it stops being a path, in bytes from 0.
        at: usize,
        /// What would be accepted there.
        message: String,
    },
    /// A key of a FieldsV1 object is no path element.
    #[error("key `{key}` is no path element: {message}")]
    Element {
        /// The key.
        key: String,
        /// What is wrong with it.
        message: String,
    },
    /// A text is no FieldsV1.
    #[error("not valid FieldsV1 at {position}: {message}")]
    FieldsV1 {
        /// Where it stops being valid.
        position: TextPosition,
        /// What is wrong there.
        message: String,
    },
    /// A value is no FieldsV1.
    #[error("not valid FieldsV1: {message}")]
    Fields {
        /// What is wrong.
        message: String,
    },
    /// A set nests deeper than the library accepts.
    #[error("fields nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
}
