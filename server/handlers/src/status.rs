//! The answers to refused requests that name a resource.

use fieldmanager_managedfields::Status;
use fieldmanager_structural::FieldError;
use fieldmanager_structural::GroupVersionKind;

/// The resource and the object that a request is for, as messages name them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) kind: &'a GroupVersionKind,
    pub(crate) plural: &'a str,
    pub(crate) name: &'a str,
}

impl Target<'_> {
    fn resource(&self) -> String {
        if self.kind.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.kind.group)
        }
    }

    fn failure(&self, code: u16, reason: &'static str, message: String) -> Status {
        let object = (&*self.kind.group, self.plural, self.name);
        Status::about(code, reason, object, message)
    }

    /// 404.
    pub(crate) fn not_found(&self) -> Status {
        self.failure(
            404,
            "NotFound",
            format!("{} {} not found", self.resource(), quoted(self.name)),
        )
    }

    /// 409: a request to create an object that exists.
    pub(crate) fn already_exists(&self) -> Status {
        let message = format!("{} {} already exists", self.resource(), quoted(self.name));
        self.failure(409, "AlreadyExists", message)
    }

    /// 409: a precondition does not hold.
    pub(crate) fn conflict(&self, reason: impl std::fmt::Display) -> Status {
        let (resource, name) = (self.resource(), quoted(self.name));
        let message = format!("Operation cannot be fulfilled on {resource} {name}: {reason}");
        self.failure(409, "Conflict", message)
    }

    /// 422.
    pub(crate) fn invalid(&self, errors: &[FieldError]) -> Status {
        Status::invalid(self.kind, self.name, errors)
    }

    /// 422 for an object of another kind than the resource, such as a `Scale`.
    pub(crate) fn invalid_kind(&self, kind: &GroupVersionKind, errors: &[FieldError]) -> Status {
        Status::invalid(kind, self.name, errors)
    }

    /// 422 that names the resource instead of the kind.
    pub(crate) fn invalid_resource(&self, errors: &[FieldError]) -> Status {
        let kind = GroupVersionKind::new(self.kind.group.clone(), "", self.plural);
        Status::invalid(&kind, self.name, errors)
    }
}

/// 415: the body is of a media type that the resource does not read.
pub fn unsupported_media_type(accepted: &[&str]) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        accepted.join(", ")
    );
    Status::failure(415, "UnsupportedMediaType", message, None)
}

/// A string as Go quotes it.
pub(crate) fn quoted(text: &str) -> String {
    fieldmanager_value::internal::go_format::quote(text).to_string()
}
