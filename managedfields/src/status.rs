//! The `Status` objects of Kubernetes.

use ahash::AHashSet;
use fieldmanager_patch::Response;
use fieldmanager_structural::internal::cause_reason;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::Value;
use serde::Serialize;

/// The size of the errors of more than one field that a [`Status`] lists, in bytes. An API server has no such limit.
const MAX_ERROR_BYTES: usize = 1 << 20;

/// The answer of an API server to a failed request: `kind: Status` of `v1`.
///
/// It serializes to the JSON of the API.
///
/// ```
/// use fieldmanager_managedfields::Status;
/// let status = Status::bad_request("metadata.managedFields must be nil");
/// assert_eq!(
///     serde_json::to_string(&status)?,
///     r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"metadata.managedFields must be nil","reason":"BadRequest","code":400}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Status {
    kind: &'static str,
    api_version: &'static str,
    metadata: EmptyMetadata,
    status: &'static str,
    /// A message for people.
    pub message: String,
    /// A reason for programs: `Conflict`, `Invalid`, ...; empty if there is none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'static str,
    /// The object of the request, and the causes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
    /// The HTTP status code.
    pub code: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct EmptyMetadata {}

/// The details of a [`Status`].
///
/// ```
/// use fieldmanager_managedfields::Details;
/// assert_eq!(serde_json::to_string(&Details::default())?, "{}");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Details {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The object's group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The object's kind or resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The causes, one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
}

/// One cause of a [`Status`].
///
/// ```
/// use fieldmanager_managedfields::Cause;
/// let cause = Cause::new("FieldManagerConflict", r#"conflict with "ci""#, ".spec.replicas");
/// assert!(serde_json::to_string(&cause)?.ends_with(r#""field":".spec.replicas"}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Cause {
    /// For programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A message for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field, in the notation of the reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Cause {
    /// A cause from its parts.
    #[doc(hidden)]
    pub fn new(
        reason: impl Into<String>,
        message: impl Into<String>,
        field: impl Into<String>,
    ) -> Self {
        Cause {
            reason: reason.into(),
            message: message.into(),
            field: field.into(),
        }
    }
}

impl Status {
    /// A failure with any code, reason and details.
    #[doc(hidden)]
    pub fn failure(
        code: u16,
        reason: &'static str,
        message: String,
        details: Option<Details>,
    ) -> Self {
        Self::new(code, reason, message, details)
    }

    fn new(code: u16, reason: &'static str, message: String, details: Option<Details>) -> Self {
        let status = "Failure";
        Status {
            kind: "Status",
            api_version: "v1",
            metadata: EmptyMetadata {},
            status,
            message,
            reason,
            details,
            code,
        }
    }

    /// A failure with the group, the kind or resource, and the name of an object in its details.
    #[doc(hidden)]
    pub fn about(
        code: u16,
        reason: &'static str,
        (group, kind, name): (&str, &str, &str),
        message: String,
    ) -> Self {
        let details = Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes: Vec::new(),
        };
        Self::new(code, reason, message, Some(details))
    }

    /// 400: the request is malformed.
    #[doc(hidden)]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message.into(), None)
    }

    /// 404: the object does not exist. The message of an API server is `deployments.apps "web" not found`, but a field
    /// manager knows neither the name of the resource nor that of the object.
    #[doc(hidden)]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "NotFound", message.into(), None)
    }

    /// 409: the object has changed since the client read it.
    #[doc(hidden)]
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(409, "Conflict", message.into(), None)
    }

    /// 409: other managers own fields that the apply would change. The causes are the conflicts, in order.
    pub(crate) fn apply_conflict(message: impl Into<String>, causes: Vec<Cause>) -> Self {
        let details = Details {
            causes,
            ..Details::default()
        };
        Self::new(409, "Conflict", message.into(), Some(details))
    }

    /// 422: fields of the object or of the options of the request are invalid.
    ///
    /// Behaviour: `NewInvalid` of `k8s.io/apimachinery/pkg/api/errors`.
    ///
    /// ```
    /// use fieldmanager_managedfields::Status;
    /// use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
    /// let kind = GroupVersionKind::new("meta.k8s.io", "", "PatchOptions");
    /// let error = FieldError::required(FieldPath::root("fieldManager"), "is required for apply patch");
    /// let status = Status::invalid(&kind, "", &[error]);
    /// assert_eq!(
    ///     status.message,
    ///     r#"PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch"#,
    /// );
    /// assert_eq!(status.code, 422);
    /// ```
    #[doc(hidden)]
    pub fn invalid(kind: &GroupVersionKind, name: &str, errors: &[FieldError]) -> Self {
        let group_kind = if kind.group.is_empty() {
            kind.kind.to_string()
        } else {
            format!("{}.{}", kind.kind, kind.group)
        };

        // The first errors, within the limit.
        let mut bytes = 0_usize;
        let mut causes = Vec::new();
        for error in errors {
            let (message, field) = (error.message(), error.path.to_string());
            bytes = bytes.saturating_add(message.len() + field.len());
            if bytes > MAX_ERROR_BYTES && !causes.is_empty() {
                break;
            }
            causes.push(Cause {
                reason: cause_reason(error.kind).to_owned(),
                message,
                field,
            });
        }

        let unlisted = errors.len() - causes.len();

        // The message has each of them once.
        let mut known = AHashSet::new();
        let mut texts: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        texts.retain(|text| known.insert(text.clone()));
        if unlisted > 0 {
            texts.push(format!("at least {unlisted} more errors are not listed"));
        }

        let all = match texts.as_slice() {
            [one] => one.clone(),
            all => format!("[{}]", all.join(", ")),
        };
        let message = format!(
            "{group_kind} {} is invalid: {all}",
            fieldmanager_value::internal::go_format::quote(name)
        );
        let details = Details {
            name: name.to_owned(),
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            causes,
        };

        Self::new(422, "Invalid", message, Some(details))
    }

    /// 422: the patched object is not valid for its kind.
    ///
    /// Behaviour: `applyPatchToCurrentObject` in `endpoints/handlers/patch.go` of `k8s.io/apiserver`, which names
    /// neither kind nor object.
    pub(crate) fn invalid_patch(object: &Value, source: &impl ToString) -> Self {
        let error = FieldError::invalid(
            FieldPath::root("patch"),
            object.to_json(),
            source.to_string(),
        );
        Self::invalid(&GroupVersionKind::new("", "", ""), "", &[error])
    }

    /// 500: an error of the server.
    ///
    /// Behaviour: `NewInternalError`, and the handling of errors without a `Status` in `k8s.io/apiserver`.
    #[doc(hidden)]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "InternalError", message.into(), None)
    }
}

/// The answer to a refused patch.
///
/// ```
/// use fieldmanager_managedfields::Status;
/// use fieldmanager_patch::json_merge;
/// use fieldmanager_value::Value;
/// let error = json_merge::apply_to_object(&Value::from_json("{}")?, &Value::from_json("[1]")?).unwrap_err();
/// let status = Status::from(error.response());
/// assert_eq!((status.code, status.reason, status.message.as_str()), (400, "BadRequest", "Invalid JSON Patch"));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
impl From<Response> for Status {
    fn from(response: Response) -> Self {
        // The answer to an operation of a JSON patch that fails has details, which are empty.
        let details = (response.code == 422).then(Details::default);
        Self::new(response.code, response.reason, response.message, details)
    }
}
