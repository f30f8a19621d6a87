//! Errors of patches.

use std::fmt;

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_value::{Kind, MAX_DEPTH, Value};

/// The error of a patch that cannot be created or applied. Nothing was changed.
///
/// The message has the path and the fault; [`response`](Self::response) is the answer of an API server.
///
/// ```
/// use fieldmanager_patch::{Fault, PatchSchema, strategic};
/// use fieldmanager_value::Value;
///
/// let live = Value::from_yaml("{spec: {strategy: {type: RollingUpdate}}}")?;
/// let patch = Value::from_yaml("{spec: {strategy: {$retainKeys: [type], type: Recreate, extra: 1}}}")?;
/// let error = strategic::apply(&live, &patch, PatchSchema::free()).unwrap_err();
/// assert!(matches!(error.fault(), Fault::NotRetained { .. }));
/// assert_eq!(
///     error.to_string(),
///     ".spec.strategy: field `extra` is set but not in $retainKeys: expected every field of the patch in it",
/// );
/// assert_eq!(error.response().code, 400);
/// assert_eq!(error.response().message, "invalid patch format of retainKeys");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    fault: Box<Fault>,
    /// The path from the innermost element to the outermost, the order in which the callers add them.
    trail: Vec<PathElement>,
}

/// The fault of a patch.
///
/// ```
/// use fieldmanager_patch::Fault;
/// assert_eq!(Fault::TooDeep.to_string(), "nesting is deeper than 256 levels");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Lists and maps nest deeper than [`MAX_DEPTH`].
    #[error("nesting is deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A document is not an object.
    #[error("the {what} is not an object: expected a map, got {found}")]
    NotAnObject {
        /// The document.
        what: &'static str,
        /// Its kind.
        found: Kind,
    },
    /// A value is of another kind than the directive, the schema or the other side requires.
    #[error("expected {expected}, got {found}")]
    WrongType {
        /// What would be accepted.
        expected: &'static str,
        /// What was found.
        found: Kind,
    },
    /// The value of `$patch` is invalid at this path.
    #[error("unknown patch type: {found}: expected {expected}")]
    PatchDirective {
        /// What would be accepted.
        expected: &'static str,
        /// What was found.
        found: Value,
    },
    /// `$retainKeys` is not a list of names.
    #[error("invalid $retainKeys: expected a list of field names, got {found}")]
    RetainKeys {
        /// What was found.
        found: Kind,
    },
    /// A patch sets a field that its `$retainKeys` does not list.
    #[error(
        "field `{field}` is set but not in $retainKeys: expected every field of the patch in it"
    )]
    NotRetained {
        /// The field.
        field: String,
    },
    /// `$deleteFromPrimitiveList` has no field, or is not a list of scalars.
    #[error(
        "invalid `{directive}`: expected `$deleteFromPrimitiveList/FIELD` with a list of scalars"
    )]
    DeleteFromPrimitiveList {
        /// The name in the patch.
        directive: String,
    },
    /// `$setElementOrder` has no field, or is not a list.
    #[error("invalid `{directive}`: expected `$setElementOrder/FIELD` with a list")]
    SetElementOrder {
        /// The name in the patch.
        directive: String,
    },
    /// Two patches have different orders for a field, or different fields to retain.
    #[error("`{directive}` differs between the patches: expected the same in both")]
    DirectivesDiffer {
        /// The name in the patches.
        directive: String,
    },
    /// The items of a patch are not in the order of its `$setElementOrder`, or not listed in it.
    #[error(
        "the order of the items does not match `$setElementOrder/{field}`: expected the items of the patch in that order"
    )]
    OrderMismatch {
        /// The field.
        field: String,
    },
    /// A list of lists has no strategic merge.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// Lists that are merged or compared must have items of one type.
    #[error("list element types are not identical: expected {expected}, got {found}")]
    MixedList {
        /// The type of the first item.
        expected: Kind,
        /// The type of this item.
        found: Kind,
    },
    /// Null is not an item that can be merged.
    #[error("null in a list that is merged: expected maps, or scalars of one type")]
    NullItem,
    /// Both lists are empty, so the type of their items is unknown.
    #[error("no items in either list: expected at least one in the list or in the patch")]
    NoItems,
    /// An item has no merge key.
    #[error("item does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The name of the key.
        key: String,
    },
    /// The merge key of an item is a list or a map.
    #[error("merge key `{key}` is a {found}: expected a string, a number or a boolean")]
    MergeKeyType {
        /// The name of the key.
        key: String,
        /// The kind of its value.
        found: Kind,
    },
    /// A list of maps is merged, but the schema has no merge key for it.
    #[error(
        "cannot merge lists without merge key: expected `x-kubernetes-patch-merge-key` in the schema"
    )]
    NoDeclaredKey,
    /// A field is merged, but the schema does not have it.
    #[error("unable to find api field \"{field}\"")]
    UnknownField {
        /// The field.
        field: String,
    },
    /// The schema is invalid.
    #[error("{message}")]
    Schema {
        /// The reason.
        message: String,
    },
    /// A field that the patch changes has been changed to another value since.
    #[error("patch:\n{patch}\nconflicts with changes made from original to current:\n{changes}\n")]
    Conflict {
        /// The patch.
        patch: Value,
        /// The other changes, as a patch.
        changes: Value,
    },
    /// A patch changes a field that it must not change.
    #[error("precondition failed: the patch changes the field, expected it to be left alone")]
    Precondition,
    /// The content type is not accepted.
    #[error("the body of the request was in an unknown format - accepted media types include: {}", .accepted.join(", "))]
    MediaType {
        /// What would be accepted.
        accepted: Vec<&'static str>,
    },
    /// A JSON merge patch of an object is not an object.
    #[error("Invalid JSON Patch: expected an object, got {found}")]
    MergePatch {
        /// The kind of the patch.
        found: Kind,
    },
    /// A JSON patch is not a list of operations.
    #[error("invalid JSON patch: expected a list of operations, each a map, got {found}")]
    Operations {
        /// What was found.
        found: Kind,
    },
    /// A JSON patch has more operations than an API server accepts.
    #[error("The allowed maximum operations in a JSON patch is {limit}, got {found}")]
    TooManyOperations {
        /// The maximum number of operations.
        limit: usize,
        /// The number of operations.
        found: usize,
    },
    /// Items of a strategic merge patch with the same merge key merge more items again than
    /// [`MAX_MERGED_AGAIN`](crate::strategic::MAX_MERGED_AGAIN).
    #[error(
        "items of the patch with the same merge key merge more than {limit} items again: expected one item for each key"
    )]
    MergedAgain {
        /// The maximum number of items and fields that may be merged again.
        limit: usize,
    },
    /// An operation of a JSON patch does not apply.
    #[error("operation {index}: {fault}")]
    Operation {
        /// The index of the operation.
        index: usize,
        /// The fault.
        fault: crate::json_patch::OperationFault,
    },
}

/// The answer of an API server to a refused patch.
///
/// ```
/// use fieldmanager_patch::json_patch;
/// use fieldmanager_value::Value;
/// let patch = Value::from_json(r#"[{"op": "remove", "path": "/missing"}]"#)?;
/// let error = json_patch::apply(&Value::from_json("{}")?, &patch).unwrap_err();
/// assert_eq!((error.response().code, error.response().reason), (422, "Invalid"));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status code.
    pub code: u16,
    /// The reason of the `Status`.
    pub reason: &'static str,
    /// The message of the `Status`.
    pub message: String,
}

impl Error {
    /// The fault.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// The path of the fault, from the root of the object.
    ///
    /// ```
    /// use fieldmanager_patch::{PatchSchema, strategic};
    /// use fieldmanager_value::Value;
    /// let patch = Value::from_yaml("{spec: {$patch: merge}}")?;
    /// let error = strategic::apply(&Value::from_yaml("{spec: {a: 1}}")?, &patch, PatchSchema::free());
    /// assert_eq!(error.unwrap_err().path().to_string(), ".spec.$patch");
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn path(&self) -> Path {
        self.trail.iter().rev().cloned().collect()
    }

    /// The answer of an API server.
    ///
    /// Code and message are those of the patch handler where it has them for the fault: 400, 413, 415 or 422. It answers
    /// 500 to all other errors; here a fault of the caller is 400 and a fault of the schema is 500.
    ///
    /// Behaviour: `interpretStrategicMergePatchError` and `applyJSPatch` in `endpoints/handlers/patch.go` of
    /// `k8s.io/apiserver`.
    pub fn response(&self) -> Response {
        const REJECTED: &str = "the server rejected our request due to an error in our request";
        // An API server names neither path nor field for some faults, so their messages are constant.
        let (code, message) = match self.fault.as_ref() {
            Fault::NotAnObject { .. } => (400, "invalid JSON document".to_owned()),
            Fault::RetainKeys { .. } | Fault::NotRetained { .. } => {
                (400, "invalid patch format of retainKeys".to_owned())
            }
            Fault::DeleteFromPrimitiveList { .. } => {
                (400, "invalid patch format of primitive list".to_owned())
            }
            Fault::SetElementOrder { .. } => (
                400,
                "invalid patch format of setElementOrder list".to_owned(),
            ),
            Fault::MergePatch { .. } => (400, "Invalid JSON Patch".to_owned()),
            Fault::TooManyOperations { .. } => {
                (413, format!("Request entity too large: {}", self.fault))
            }
            Fault::MergedAgain { .. } => (413, self.to_string()),
            Fault::MediaType { .. } => (415, self.fault.to_string()),
            Fault::ListOfLists | Fault::Operation { .. } => (422, REJECTED.to_owned()),
            Fault::Conflict { .. } => (409, self.to_string()),
            Fault::Schema { .. } | Fault::NoDeclaredKey => (500, self.to_string()),
            _ => (400, self.to_string()),
        };

        let reason = match code {
            409 => "Conflict",
            413 => "RequestEntityTooLarge",
            415 => "UnsupportedMediaType",
            422 => "Invalid",
            500 => "InternalError",
            _ => "BadRequest",
        };

        Response {
            code,
            reason,
            message,
        }
    }

    /// The same error with the path of the level above.
    pub(crate) fn under(mut self, element: PathElement) -> Self {
        self.trail.push(element);
        self
    }
}

/// Whether an API server has no code and no reason for this fault of a strategic merge patch, so that it answers with 500,
/// where [`response`](Error::response) is 400 for a fault of the client.
///
/// ```
/// use fieldmanager_patch::internal::is_unexpected;
/// use fieldmanager_patch::{PatchSchema, strategic};
/// use fieldmanager_value::Value;
/// let live = Value::from_yaml("{spec: {a: 1}}")?;
/// let refused = |patch: &str| {
///     strategic::apply(&live, &Value::from_yaml(patch).unwrap(), PatchSchema::free()).unwrap_err()
/// };
/// assert!(is_unexpected(&refused("{spec: {$patch: odd}}")));
/// assert!(!is_unexpected(&refused("{spec: {$retainKeys: [b], a: 2}}")));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn is_unexpected(error: &Error) -> bool {
    matches!(
        error.fault.as_ref(),
        Fault::WrongType { .. }
            | Fault::PatchDirective { .. }
            | Fault::DirectivesDiffer { .. }
            | Fault::OrderMismatch { .. }
            | Fault::MixedList { .. }
            | Fault::NullItem
            | Fault::NoItems
            | Fault::NoMergeKey { .. }
            | Fault::NoDeclaredKey
            | Fault::MergeKeyType { .. }
            | Fault::UnknownField { .. }
    )
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error {
            fault: Box::new(fault),
            trail: Vec::new(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.trail.is_empty() {
            write!(f, "{}: ", self.path())?;
        }
        self.fault.fmt(f)
    }
}

impl std::error::Error for Error {}

/// Adds a path element to the error of a result.
pub(crate) trait Under<T> {
    /// Below a field.
    fn under_field(self, name: &str) -> Result<T, Error>;
    /// Below the item at a position.
    fn under_index(self, at: usize) -> Result<T, Error>;
    /// Below the item with a merge key.
    fn under_key(self, name: &str, value: &Value) -> Result<T, Error>;
}

impl<T, E: Into<Error>> Under<T> for Result<T, E> {
    fn under_field(self, name: &str) -> Result<T, Error> {
        self.map_err(|error| error.into().under(PathElement::field(name)))
    }

    fn under_index(self, at: usize) -> Result<T, Error> {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        self.map_err(|error| error.into().under(PathElement::Index(at)))
    }

    fn under_key(self, name: &str, value: &Value) -> Result<T, Error> {
        self.map_err(|error| {
            error
                .into()
                .under(PathElement::key([(name, value.clone())]))
        })
    }
}

/// One level deeper; fails at the limit.
pub(crate) fn deeper(depth: usize) -> Result<usize, Error> {
    if depth >= MAX_DEPTH {
        Err(Fault::TooDeep.into())
    } else {
        Ok(depth + 1)
    }
}
