//! Errors of the updater.

use fieldmanager_typed::Error as TypedError;

use crate::conflict::Conflicts;
use crate::converter::ConvertError;

/// The stage of an operation that failed.
///
/// ```
/// use fieldmanager_merge::Stage;
/// assert_eq!(Stage::Merge.to_string(), "merge the configuration");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Merging the configuration into the live object.
    Merge,
    /// Normalizing the unions of the configuration or the new object.
    Unions,
    /// Comparing the object before and after.
    Compare,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stage::Merge => "merge the configuration",
            Stage::Unions => "normalize the unions",
            Stage::Compare => "compare the objects",
        })
    }
}

/// Why an apply or update failed. The live object and the managers are unchanged.
///
/// ```
/// use fieldmanager_merge::{ConvertError, Error};
/// let error = Error::from(ConvertError::MissingVersion { version: "v0".into() });
/// assert_eq!(error.to_string(), "failed to convert the object: there is no version `v0`");
/// assert!(error.conflicts().is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Other managers own fields that the apply would change.
    #[error(transparent)]
    Conflicts(#[from] Conflicts),
    /// An object cannot be merged, normalized or compared.
    #[error("failed to {stage}: {source}")]
    Typed {
        /// The stage that failed.
        stage: Stage,
        /// The reason.
        source: TypedError,
    },
    /// An object could not be converted to the version of a manager.
    #[error("failed to convert the object: {0}")]
    Convert(#[from] ConvertError),
}

/// The cause of an [`Error`].
///
/// ```
/// # use fieldmanager_merge::{ApplyRequest, ErrorKind, Updater};
/// # use fieldmanager_testing::typed;
/// # let updater = Updater::builder().build();
/// # let nothing = fieldmanager_testing::nothing();
/// # let config = typed("{a: 1, b: 1}")?;
/// # let applied = updater.apply(ApplyRequest::new(&nothing, &config).manager("ci"))?;
/// # let live = applied.object.unwrap();
/// let config = typed("{a: 2, b: 2}")?;
/// let request = ApplyRequest::new(&live, &config).owners(&applied.owners).manager("ops");
/// let error = updater.apply(request).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Conflict);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Other managers own fields that the apply would change.
    Conflict,
    /// The schema is invalid.
    Schema,
    /// The objects are invalid.
    Objects,
    /// The converter failed.
    Conversion,
}

impl Error {
    /// The conflicts, if the error is [`Error::Conflicts`].
    pub fn conflicts(&self) -> Option<&Conflicts> {
        match self {
            Error::Conflicts(conflicts) => Some(conflicts),
            _ => None,
        }
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Conflicts(_) => ErrorKind::Conflict,
            Error::Convert(_) => ErrorKind::Conversion,
            Error::Typed {
                source: TypedError::Invalid(errors),
                ..
            } if errors.is_schema_fault() => ErrorKind::Schema,
            Error::Typed { .. } => ErrorKind::Objects,
        }
    }
}

/// An error of unions. If the objects are of different types, it is an error of the next stage, which would find that too.
pub(crate) fn union_error(source: TypedError, next: Stage) -> Error {
    let stage = match source {
        TypedError::TypesDiffer { .. } => next,
        _ => Stage::Unions,
    };
    Error::Typed { stage, source }
}
