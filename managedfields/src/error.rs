//! Why an operation failed.

use fieldmanager_fieldpath::Path;
use fieldmanager_merge::{Conflicts, ConvertError, ErrorKind as MergeErrorKind};
use fieldmanager_openapi::KindError;
use fieldmanager_typed::ValidationErrors;

use crate::conflict;
use crate::entry::EntryError;
use crate::status::Status;

/// Why an operation of a [`FieldManager`](crate::FieldManager) failed. Nothing was changed.
///
/// The texts are those that an apiserver sends, where it sends one; [`status`](Self::status) is the whole answer.
///
/// ```
/// use fieldmanager_managedfields::{Error, ErrorKind};
/// let error = Error::ObjectType { found: "/v1, Kind=Pod".into() };
/// assert_eq!(error.to_string(), "invalid object type: /v1, Kind=Pod");
/// assert_eq!((error.kind(), error.status().code), (ErrorKind::Request, 400));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Other managers own fields that the apply would change.
    #[error("{}", conflict::message(.0))]
    Conflicts(Conflicts),
    /// The configuration is of another group, version or kind than the field manager.
    #[error("invalid object type: {found}")]
    ObjectType {
        /// What it is.
        found: String,
    },
    /// A configuration has managed fields: they are not for clients to apply.
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsInConfig,
    /// A value is not an object, or its metadata is not a map.
    #[error("{what}: expected {expected}, got {found}")]
    NotAnObject {
        /// Which value: the live object, the new object, the configuration.
        what: &'static str,
        /// What would be accepted.
        expected: &'static str,
        /// What was found.
        found: fieldmanager_value::Kind,
    },
    /// The entries of the live object cannot be read.
    #[error("failed to decode managed fields: {0}")]
    Entry(#[from] EntryError),
    /// There is no type for the object.
    #[error("{}: {source}", doing(action, object, None))]
    Kind {
        /// What was being done.
        action: &'static str,
        /// Which object: namespace, name, group, version and kind.
        object: String,
        /// What is wrong.
        source: KindError,
    },
    /// An object does not fit its type.
    #[error("{}: {source}", doing(action, object, None))]
    Invalid {
        /// What was being done.
        action: &'static str,
        /// Which object: namespace, name, group, version and kind.
        object: String,
        /// Whether it is what the caller sent; otherwise it is what is stored.
        callers: bool,
        /// What is wrong.
        source: ValidationErrors,
    },
    /// An object cannot be converted to a version.
    #[error("{}: {source}", doing(action, object, Some(source)))]
    Convert {
        /// What was being done.
        action: &'static str,
        /// Which object: namespace, name, group, version and kind.
        object: String,
        /// What is wrong.
        source: ConvertError,
    },
    /// An entry that the request sends is at a malformed version, or its entries are at too many versions.
    #[error("{0}")]
    RequestEntries(fieldmanager_merge::Error),
    /// The merge itself failed.
    #[error("{0}")]
    Merge(fieldmanager_merge::Error),
    /// An object, or what a manager owns of it, nests so deeply that the object with its managed fields could not be read
    /// again: its fields have paths of at most [`MAX_OWNED_DEPTH`](crate::MAX_OWNED_DEPTH) elements.
    #[error("failed to track object ({object}): {path}: nesting is deeper than {limit} levels")]
    TooDeep {
        /// Which object: namespace, name, group, version and kind.
        object: String,
        /// Whether it is what the caller sent; otherwise it is what is stored.
        callers: bool,
        /// The first field that is too deep.
        path: Box<Path>,
        /// How many levels are accepted: [`MAX_OWNED_DEPTH`](crate::MAX_OWNED_DEPTH) of fields that are owned,
        /// [`MAX_DEPTH`](fieldmanager_value::MAX_DEPTH) of an object.
        limit: usize,
    },
    /// A patch is malformed, does not apply, or has a content type that is not accepted.
    #[error(transparent)]
    Patch(#[from] fieldmanager_patch::Error),
    /// There is no live object that could be patched.
    #[error("there is no object of {kind} to patch")]
    NoObject {
        /// Its group, version and kind.
        kind: String,
    },
    /// What a patch makes of the live object is no object of its kind.
    #[error("the patched object is invalid: {source}")]
    PatchResult {
        /// What it makes, without managed fields.
        object: fieldmanager_value::Value,
        /// What is wrong.
        source: Box<Error>,
    },
    /// A patch names another state of the object than the live one.
    #[error(
        "Operation cannot be fulfilled on {object}: the object has been modified; please apply your changes to \
         the latest version and try again (metadata.{field} is `{found}`, got `{wanted}`)"
    )]
    Modified {
        /// Which object: namespace, name, group, version and kind.
        object: String,
        /// `resourceVersion` or `uid`.
        field: &'static str,
        /// What the patch says.
        wanted: String,
        /// What the live object has.
        found: String,
    },
}

/// What is at fault for an [`Error`].
///
/// ```
/// use fieldmanager_managedfields::{Error, ErrorKind};
/// assert_eq!(Error::ManagedFieldsInConfig.kind(), ErrorKind::Request);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Other managers own what was to be changed.
    Conflict,
    /// What the caller sent is at fault.
    Request,
    /// What is stored is at fault: the live object or its entries.
    Stored,
    /// The schema is at fault.
    Schema,
    /// A conversion failed.
    Conversion,
}

/// The failed action and its object in the word order of Go, which puts the object before the goal of the action.
fn doing(action: &str, object: &str, conversion: Option<&ConvertError>) -> String {
    let version = match conversion {
        Some(
            ConvertError::MissingVersion { version }
            | ConvertError::MalformedVersion { version }
            | ConvertError::Failed { version, .. },
        ) => version.as_str(),
        _ => "",
    };
    if let Some(action) = action.strip_suffix(" to proper version ()") {
        return format!("failed to {action} ({object}) to proper version ({version})");
    }
    for goal in [" to proper version", " to smd typed"] {
        if let Some(action) = action.strip_suffix(goal) {
            return format!("failed to {action} ({object}){goal}");
        }
    }
    format!("failed to {action} ({object})")
}

impl Error {
    /// What is at fault.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Conflicts(_) => ErrorKind::Conflict,
            Error::ObjectType { .. } | Error::ManagedFieldsInConfig | Error::RequestEntries(_) => {
                ErrorKind::Request
            }
            Error::NotAnObject { what, .. } if *what == "live object" => ErrorKind::Stored,
            Error::NotAnObject { .. } => ErrorKind::Request,
            Error::Entry(_) => ErrorKind::Stored,
            Error::Kind { .. } => ErrorKind::Schema,
            Error::Invalid { source, .. } if source.is_schema_fault() => ErrorKind::Schema,
            Error::Invalid { callers: true, .. } | Error::TooDeep { callers: true, .. } => ErrorKind::Request,
            Error::Invalid { .. } | Error::TooDeep { .. } => ErrorKind::Stored,
            Error::Convert { .. } => ErrorKind::Conversion,
            Error::Merge(error) => match error.kind() {
                MergeErrorKind::Conflict => ErrorKind::Conflict,
                MergeErrorKind::Schema => ErrorKind::Schema,
                MergeErrorKind::Conversion => ErrorKind::Conversion,
                _ => ErrorKind::Request,
            },
            Error::Patch(error) if error.response().code == 500 => ErrorKind::Schema,
            Error::Patch(_) | Error::NoObject { .. } | Error::PatchResult { .. } | Error::Modified { .. } => {
                ErrorKind::Request
            }
        }
    }

    /// The error, if it is about what is stored and not about what the caller sent.
    pub(crate) fn of_what_is_stored(self) -> Self {
        match self {
            Error::Invalid { action, object, source, .. } => {
                Error::Invalid { action, object, callers: false, source }
            }
            Error::TooDeep { object, path, limit, .. } => {
                Error::TooDeep { object, callers: false, path, limit }
            }
            other => other,
        }
    }

    /// The error of an update whose entries the request sends: a version that they must not have is the caller's fault.
    pub(crate) fn of_request_entries(self) -> Self {
        use fieldmanager_merge::Error as MergeError;
        match self {
            Error::Merge(
                error @ MergeError::Convert(
                    ConvertError::MalformedVersion { .. } | ConvertError::TooManyVersions { .. },
                ),
            ) => Error::RequestEntries(error),
            other => other,
        }
    }

    /// The conflicts, if the error is [`Error::Conflicts`].
    pub fn conflicts(&self) -> Option<&Conflicts> {
        match self {
            Error::Conflicts(conflicts) => Some(conflicts),
            _ => None,
        }
    }

    /// The answer of an apiserver: 409 for conflicts, 400 for what the caller sent, 500 for anything else. What
    /// patches are refused with is at [`FieldManager::patch`](crate::FieldManager::patch).
    ///
    /// An API server also answers 500 if an object does not fit its type. Here a fault of the caller is 400, with
    /// the same message.
    pub fn status(&self) -> Status {
        match self {
            Error::Conflicts(conflicts) => conflict::status(conflicts),
            Error::Patch(error) => Status::from(error.response()),
            Error::NoObject { .. } => Status::not_found(self.to_string()),
            Error::PatchResult { object, source } => Status::invalid_patch(object, source),
            Error::Modified { .. } => Status::conflict(self.to_string()),
            other => match other.kind() {
                ErrorKind::Request => Status::bad_request(other.to_string()),
                _ => Status::internal(other.to_string()),
            },
        }
    }
}

impl From<fieldmanager_merge::Error> for Error {
    fn from(error: fieldmanager_merge::Error) -> Self {
        match error {
            fieldmanager_merge::Error::Conflicts(conflicts) => Error::Conflicts(conflicts),
            other => Error::Merge(other),
        }
    }
}
