//! The error of conversion.

/// An error of [`Kind::convert`](crate::Kind::convert).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The other kind is not a version of this one.
    #[error("cannot convert {from} to {to}: expected a version of the same kind")]
    Unrelated {
        /// The kind of the object.
        from: String,
        /// The wanted kind.
        to: String,
    },
    /// An annotation does not have a number. The message is that of Go.
    #[error("{0}")]
    Annotation(String),
}
