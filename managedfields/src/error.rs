//! Errors of requests.

use fieldmanager_fieldpath::Path;
use fieldmanager_merge::{Conflicts, ConvertError, ErrorKind as MergeErrorKind};
use fieldmanager_openapi::KindError;
use fieldmanager_typed::ValidationErrors;

use crate::conflict;
use crate::entry::EntryError;
use crate::status::Status;

/// The error of a request to a [`FieldManager`](crate::FieldManager). Nothing was changed.
///
/// Where an API server has a message for an error, it is the same; [`status`](Self::status) is the complete answer.
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
        /// Its group, version and kind.
        found: String,
    },
    /// A configuration has managed fields, which clients must not apply.
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsInConfig,
    /// A value is not an object, or its metadata is not a map.
    #[error("{what}: expected {expected}, got {found}")]
    NotAnObject {
        /// The value: `live object`, `new object`, `configuration` or `patched object`.
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
        /// The action that failed.
        action: &'static str,
        /// The object: namespace, name, group, version and kind.
        object: String,
        /// The reason.
        source: KindError,
    },
    /// An object does not fit its type.
    #[error("{}: {source}", doing(action, object, None))]
    Invalid {
        /// The action that failed.
        action: &'static str,
        /// The object: namespace, name, group, version and kind.
        object: String,
        /// Whether the caller sent the object; otherwise it is stored.
        callers: bool,
        /// The reason.
        source: ValidationErrors,
    },
    /// An object cannot be converted to a version.
    #[error("{}: {source}", doing(action, object, Some(source)))]
    Convert {
        /// The action that failed.
        action: &'static str,
        /// The object: namespace, name, group, version and kind.
        object: String,
        /// The reason.
        source: ConvertError,
    },
    /// An entry that the request sends is at a malformed version, or its entries are at too many versions.
    #[error("{0}")]
    RequestEntries(fieldmanager_merge::Error),
    /// The merge failed.
    #[error("{0}")]
    Merge(fieldmanager_merge::Error),
    /// An object or an owned field nests so deeply that the object could not be read again with its managed fields.
    #[error("failed to track object ({object}): {path}: nesting is deeper than {limit} levels")]
    TooDeep {
        /// The object: namespace, name, group, version and kind.
        object: String,
        /// Whether the caller sent the object; otherwise it is stored.
        callers: bool,
        /// The first field that is too deep.
        path: Box<Path>,
        /// The maximum number of levels: [`MAX_OWNED_DEPTH`](crate::MAX_OWNED_DEPTH) for owned fields,
        /// [`MAX_DEPTH`](fieldmanager_value::MAX_DEPTH) for an object.
        limit: usize,
    },
    /// A patch is malformed, does not apply, or has a content type that is not accepted.
    #[error(transparent)]
    Patch(#[from] fieldmanager_patch::Error),
    /// The object to patch does not exist.
    #[error("there is no object of {kind} to patch")]
    NoObject {
        /// Its group, version and kind.
        kind: String,
    },
    /// The patched object is not valid for its kind.
    #[error("the patched object is invalid: {source}")]
    PatchResult {
        /// The patched object, without managed fields.
        object: fieldmanager_value::Value,
        /// The reason.
        source: Box<Error>,
    },
    /// A patch names another `resourceVersion` or `uid` than the live object has.
    #[error(
        "Operation cannot be fulfilled on {object}: the object has been modified; please apply your changes to \
         the latest version and try again (metadata.{field} is `{found}`, got `{wanted}`)"
    )]
    Modified {
        /// The object: namespace, name, group, version and kind.
        object: String,
        /// `resourceVersion` or `uid`.
        field: &'static str,
        /// The value in the patch.
        wanted: String,
        /// The value in the live object.
        found: String,
    },
}

/// The cause of an [`Error`].
///
/// ```
/// use fieldmanager_managedfields::{Error, ErrorKind};
/// assert_eq!(Error::ManagedFieldsInConfig.kind(), ErrorKind::Request);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Other managers own fields that the apply would change.
    Conflict,
    /// The request is invalid.
    Request,
    /// The live object or its entries are invalid.
    Stored,
    /// The schema is invalid.
    Schema,
    /// A conversion failed.
    Conversion,
}

/// The failed action and its object, in the word order of Go, which puts the object before the goal of the action.
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
    /// The kind of the error.
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
            Error::Invalid { callers: true, .. } | Error::TooDeep { callers: true, .. } => {
                ErrorKind::Request
            }
            Error::Invalid { .. } | Error::TooDeep { .. } => ErrorKind::Stored,
            Error::Convert { .. } => ErrorKind::Conversion,
            Error::Merge(error) => match error.kind() {
                MergeErrorKind::Conflict => ErrorKind::Conflict,
                MergeErrorKind::Schema => ErrorKind::Schema,
                MergeErrorKind::Conversion => ErrorKind::Conversion,
                _ => ErrorKind::Request,
            },
            Error::Patch(error) if error.response().code == 500 => ErrorKind::Schema,
            Error::Patch(_)
            | Error::NoObject { .. }
            | Error::PatchResult { .. }
            | Error::Modified { .. } => ErrorKind::Request,
        }
    }

    /// The same error of an object that is stored, not sent by the caller.
    pub(crate) fn of_what_is_stored(self) -> Self {
        match self {
            Error::Invalid {
                action,
                object,
                source,
                ..
            } => Error::Invalid {
                action,
                object,
                callers: false,
                source,
            },
            Error::TooDeep {
                object,
                path,
                limit,
                ..
            } => Error::TooDeep {
                object,
                callers: false,
                path,
                limit,
            },
            other => other,
        }
    }

    /// The same error of an update whose entries are those of the request, so that an invalid version is the caller's fault.
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

    /// The answer of an API server: 409 for conflicts, 400 for invalid requests, 500 for anything else. The codes of refused
    /// patches are listed at [`FieldManager::patch`](crate::FieldManager::patch).
    ///
    /// An API server also answers 500 if the object of a request does not fit its type. Here this is 400, with the same
    /// message.
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
