//! Errors of the updater.

use fieldmanager_typed::Error as TypedError;

use crate::conflict::Conflicts;
use crate::converter::ConvertError;

/// What the updater was doing when it failed.
///
/// ```
/// use fieldmanager_merge::Stage;
/// assert_eq!(Stage::Merge.to_string(), "merge the configuration");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The objects cannot be combined.
    #[error("failed to {stage}: {source}")]
    Typed {
        /// The stage that failed.
        stage: Stage,
        /// What is wrong.
        source: TypedError,
    },
    /// An object could not be converted to the version of a manager.
    #[error("failed to convert the object: {0}")]
    Convert(#[from] ConvertError),
}

/// What is at fault for an [`Error`].
///
/// ```
/// # use fieldmanager_fieldpath::Managers;
/// # use fieldmanager_merge::{Error, ErrorKind, Force, Stage, Updater};
/// # use fieldmanager_schema::Schema;
/// # use fieldmanager_typed::{Duplicates, TypedValue};
/// # use fieldmanager_value::Value;
/// # let value = |yaml| Value::from_yaml(yaml).unwrap();
/// # let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
/// # let updater = Updater::builder().build();
/// # let (nothing, v1) = (TypedValue::null(Schema::deduced()), "v1".into());
/// # let config = typed("{a: 1, b: 1}")?;
/// # let applied = updater.apply(&nothing, &config, &v1, &Managers::new(), "ci", Force::No)?;
/// # let live = applied.object.unwrap();
/// let config = typed("{a: 2, b: 2}")?;
/// let error = updater.apply(&live, &config, &v1, &applied.managers, "ops", Force::No).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Conflict);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Other managers own what was to be changed.
    Conflict,
    /// The schema is at fault.
    Schema,
    /// The objects are at fault.
    Objects,
    /// The converter is at fault, or the object cannot be converted.
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

    /// The kind of fault.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Conflicts(_) => ErrorKind::Conflict,
            Error::Convert(_) => ErrorKind::Conversion,
            Error::Typed { source: TypedError::Invalid(errors), .. } if errors.is_schema_fault() => {
                ErrorKind::Schema
            }
            Error::Typed { .. } => ErrorKind::Objects,
        }
    }
}
