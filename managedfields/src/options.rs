//! The parameters of a request: its manager and its options.

use std::fmt;

use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_structural::MAX_MANAGER;
use fieldmanager_structural::internal::validate_manager;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::internal::go_format::is_print;

use crate::status::Status;

/// The name of the manager of a request: its `fieldManager` parameter, or else its `User-Agent` up to the first slash.
///
/// A user agent is reduced to its printable characters and to [`MAX_MANAGER`] bytes. The parameter is not changed;
/// [`RequestOptions::validate`] checks it. If the name is empty, it is `unknown` in the entries that a
/// [`FieldManager`](crate::FieldManager) writes.
///
/// Behaviour: `managerOrUserAgent` of `k8s.io/apiserver/pkg/endpoints/handlers`.
///
/// ```
/// use fieldmanager_managedfields::manager_name;
/// assert_eq!(manager_name("ci", "kubectl/v1.37.0"), "ci");
/// assert_eq!(manager_name("", "kubectl/v1.37.0 (linux/amd64)"), "kubectl");
/// assert_eq!(manager_name("", "a\u{7}b"), "ab");
/// assert_eq!(manager_name("", "/"), "");
/// ```
pub fn manager_name(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let name = user_agent.split('/').next().unwrap_or_default();
    let mut out = String::new();

    for c in name.chars().filter(|c| is_print(*c)) {
        // The first character that does not fit ends the name, even if a later, shorter one would fit.
        if out.len() + c.len_utf8() > MAX_MANAGER {
            break;
        }
        out.push(c);
    }

    out
}

/// The kinds of requests that write an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// `POST`.
    Create,
    /// `PUT`.
    Update,
    /// `PATCH` with a patch.
    Patch,
    /// `PATCH` with a configuration to apply.
    Apply,
}

impl RequestKind {
    /// The kind under which an API server reports invalid options.
    pub(crate) fn options_kind(self) -> GroupVersionKind {
        let kind = match self {
            RequestKind::Create => "CreateOptions",
            RequestKind::Update => "UpdateOptions",
            RequestKind::Patch | RequestKind::Apply => "PatchOptions",
        };
        GroupVersionKind::new("meta.k8s.io", "", kind)
    }
}

/// The kind of a request by the `Content-Type` of a `PATCH`.
///
/// ```
/// use fieldmanager_managedfields::RequestKind;
/// use fieldmanager_managedfields::internal::kind_of_patch as kind;
/// assert_eq!(kind("application/apply-patch+yaml"), RequestKind::Apply);
/// assert_eq!(kind("application/apply-patch+cbor"), RequestKind::Apply);
/// assert_eq!(kind("application/merge-patch+json; charset=utf-8"), RequestKind::Patch);
/// ```
pub fn kind_of_patch(content_type: &str) -> RequestKind {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    match kind {
        "application/apply-patch+yaml" | "application/apply-patch+cbor" => RequestKind::Apply,
        _ => RequestKind::Patch,
    }
}

/// The parameters of a request that writes an object.
///
/// ```
/// use fieldmanager_managedfields::{RequestKind, RequestOptions};
/// let options = RequestOptions::default().force(true);
/// assert_eq!(
///     options.validate(RequestKind::Apply).unwrap_err().to_string(),
///     "fieldManager: Required value: is required for apply patch",
/// );
/// let invalid = options.validate(RequestKind::Patch).unwrap_err();
/// assert_eq!(invalid.errors[0].to_string(), "force: Forbidden: may not be specified for non-apply patch");
/// assert_eq!((invalid.status().code, invalid.status().reason), (422, "Invalid"));
/// assert!(options.validate(RequestKind::Update).is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestOptions {
    /// `fieldManager`; empty if absent.
    pub field_manager: String,
    /// `force`, if present.
    pub force: Option<bool>,
    /// The values of `dryRun`.
    pub dry_run: Vec<String>,
    /// `fieldValidation`; empty if absent.
    pub field_validation: String,
}

/// The error of invalid options.
///
/// ```
/// use fieldmanager_managedfields::{RequestKind, RequestOptions};
/// let options = RequestOptions::default().field_manager("a\n");
/// let invalid = options.validate(RequestKind::Create).unwrap_err();
/// assert_eq!(
///     invalid.status().message,
///     r#"CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\n": invalid character U+000A (at position 1)"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InvalidOptions {
    /// The kind of the request.
    pub request: RequestKind,
    /// The faults, at least one.
    pub errors: Vec<FieldError>,
}

impl InvalidOptions {
    /// The answer of an API server: 422, with the kind of the options.
    ///
    /// Behaviour: the handlers of `k8s.io/apiserver/pkg/endpoints/handlers`.
    pub fn status(&self) -> Status {
        Status::invalid(&self.request.options_kind(), "", &self.errors)
    }
}

impl fmt::Display for InvalidOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidOptions {}

impl RequestOptions {
    /// Sets `fieldManager`.
    #[must_use]
    pub fn field_manager(mut self, name: impl Into<String>) -> Self {
        self.field_manager = name.into();
        self
    }

    /// Sets `force`.
    #[must_use]
    pub fn force(mut self, force: impl Into<Option<bool>>) -> Self {
        self.force = force.into();
        self
    }

    /// Adds a value of `dryRun`.
    #[must_use]
    pub fn dry_run(mut self, value: impl Into<String>) -> Self {
        self.dry_run.push(value.into());
        self
    }

    /// Sets `fieldValidation`.
    #[must_use]
    pub fn field_validation(mut self, value: impl Into<String>) -> Self {
        self.field_validation = value.into();
        self
    }

    /// Checks the options of a request.
    ///
    /// # Errors
    ///
    /// [`InvalidOptions`] with all faults. An apply must name its manager, and only an apply may have `force`. The name of
    /// a manager has only printable characters and at most [`MAX_MANAGER`] bytes. `dryRun` must be `All`, and
    /// `fieldValidation` must be `Ignore`, `Warn` or `Strict`.
    ///
    /// Behaviour: `ValidateCreateOptions`, `ValidateUpdateOptions` and `ValidatePatchOptions` of
    /// `k8s.io/apimachinery/pkg/apis/meta/v1/validation`.
    pub fn validate(&self, request: RequestKind) -> Result<(), InvalidOptions> {
        // As in an API server, one error reports all faults.
        let mut errors = Vec::new();
        let manager = FieldPath::root("fieldManager");
        match request {
            RequestKind::Apply if self.field_manager.is_empty() => {
                errors.push(FieldError::required(
                    manager.clone(),
                    "is required for apply patch",
                ));
            }
            RequestKind::Patch if self.force.is_some() => {
                let detail = "may not be specified for non-apply patch";
                errors.push(FieldError::forbidden(FieldPath::root("force"), detail));
            }
            _ => {}
        }

        errors.extend(validate_manager(&self.field_manager, &manager));
        if self.dry_run.iter().any(|value| value != "All") {
            let found: Vec<&str> = self.dry_run.iter().map(String::as_str).collect();
            errors.push(FieldError::not_supported(
                FieldPath::root("dryRun"),
                found,
                &["All"],
            ));
        }

        // An empty text is an option that is not given.
        let accepted = ["", "Ignore", "Strict", "Warn"];
        if !accepted.contains(&self.field_validation.as_str()) {
            let path = FieldPath::root("fieldValidation");
            errors.push(FieldError::not_supported(
                path,
                self.field_validation.as_str(),
                &accepted,
            ));
        }

        if errors.is_empty() {
            Ok(())
        } else {
            Err(InvalidOptions { request, errors })
        }
    }
}
