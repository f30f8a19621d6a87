//! Conversion between the versions of an object.

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_typed::TypedValue;

/// Converts objects from one version to another.
///
/// Managers own fields at the version at which they wrote. To find the managers that a change affects, the updater
/// converts the object before and after to each of these versions. It never converts an object to its own version.
///
/// Behaviour: `Converter` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
///
/// ```
/// use fieldmanager_fieldpath::ApiVersion;
/// use fieldmanager_merge::{ConvertError, Converter};
/// use fieldmanager_typed::TypedValue;
/// /// An object that is the same at every served version.
/// struct Served(Vec<ApiVersion>);
/// impl Converter for Served {
///     fn convert(&self, object: &TypedValue, version: &ApiVersion) -> Result<TypedValue, ConvertError> {
///         match self.0.contains(version) {
///             true => Ok(object.clone()),
///             false => Err(ConvertError::MissingVersion { version: version.clone() }),
///         }
///     }
/// }
/// let object = TypedValue::null(fieldmanager_schema::Schema::deduced());
/// let error = Served(vec!["v1".into()]).convert(&object, &"v2".into()).unwrap_err();
/// assert_eq!(error.to_string(), "there is no version `v2`");
/// ```
pub trait Converter: Send + Sync {
    /// The object at a version.
    ///
    /// # Errors
    ///
    /// [`ConvertError::MissingVersion`] if the version no longer exists: managers at it are dropped. Any other error
    /// fails the whole operation.
    fn convert(
        &self,
        object: &TypedValue,
        version: &ApiVersion,
    ) -> Result<TypedValue, ConvertError>;
}

/// The maximum number of versions, besides that of the request, at which the managers of one object may own fields.
///
/// An operation converts the object to each of them, so its cost is the product of their number and the size of the
/// object. An API server has no such limit, because a kind has only the versions that it serves.
pub const MAX_VERSIONS: usize = 100;

/// The error of a conversion.
///
/// ```
/// use fieldmanager_merge::ConvertError;
/// let error = ConvertError::Failed { version: "v2".into(), message: "no answer".into() };
/// assert_eq!(error.to_string(), "cannot convert to version `v2`: no answer");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The version does not exist, or no longer exists.
    #[error("there is no version `{version}`")]
    MissingVersion {
        /// The requested version.
        version: ApiVersion,
    },
    /// The version is not of the form `VERSION` or `GROUP/VERSION`.
    #[error("cannot convert to version `{version}`: unexpected GroupVersion string: {version}")]
    MalformedVersion {
        /// The requested version.
        version: ApiVersion,
    },
    /// The managers of an object own fields at more versions than [`MAX_VERSIONS`].
    #[error("managers own fields at more than {limit} versions of the object")]
    TooManyVersions {
        /// The maximum number of versions.
        limit: usize,
    },
    /// The version exists and the object cannot be converted to it.
    #[error("cannot convert to version `{version}`: {message}")]
    Failed {
        /// The requested version.
        version: ApiVersion,
        /// The reason.
        message: String,
    },
}

/// A converter for objects that are the same at every version.
///
/// ```
/// use fieldmanager_merge::{Converter, SameVersion};
/// use fieldmanager_typed::TypedValue;
/// let object = TypedValue::null(fieldmanager_schema::Schema::deduced());
/// assert!(SameVersion.convert(&object, &"v2".into()).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SameVersion;

impl Converter for SameVersion {
    fn convert(&self, object: &TypedValue, _: &ApiVersion) -> Result<TypedValue, ConvertError> {
        Ok(object.clone())
    }
}
