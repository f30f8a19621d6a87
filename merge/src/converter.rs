//! Conversion between the versions of an object.

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_typed::TypedValue;

/// Converts objects from one version to another.
///
/// Managers own fields at the version at which they wrote; to see who is affected by a change, the object
/// before and after is converted to each of these versions. An object is never converted to the version
/// that it is known to have.
pub trait Converter: Send + Sync {
    /// The object at a version.
    ///
    /// # Errors
    ///
    /// [`ConvertError::MissingVersion`] if there is no such version any more: managers at it are forgotten.
    /// [`ConvertError::Failed`] for anything else, which fails the whole operation.
    fn convert(&self, object: &TypedValue, version: &ApiVersion) -> Result<TypedValue, ConvertError>;
}

/// Why an object was not converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The version does not exist, or not any more.
    #[error("there is no version `{version}`")]
    MissingVersion {
        /// The version that was asked for.
        version: ApiVersion,
    },
    /// The version exists and the object cannot be converted to it.
    #[error("cannot convert to version `{version}`: {message}")]
    Failed {
        /// The version that was asked for.
        version: ApiVersion,
        /// Why not.
        message: String,
    },
}

/// For objects that are the same at every version.
#[derive(Clone, Copy, Debug, Default)]
pub struct SameVersion;

impl Converter for SameVersion {
    fn convert(&self, object: &TypedValue, _: &ApiVersion) -> Result<TypedValue, ConvertError> {
        Ok(object.clone())
    }
}
