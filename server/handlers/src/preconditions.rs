//! The preconditions of a request and its object.

use fieldmanager_managedfields::{Cause, Details, RequestKind, Status};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use crate::kind::Form;
use crate::metadata;
use crate::state::Write;
use crate::status::{self, Target};

impl Write<'_> {
    /// The object in the namespace of the request, if it has the name of the path.
    pub(crate) fn in_place(&self, object: &Value) -> Result<Value, Status> {
        // The namespace of the path is filled in first, so that only an explicit other one is a mismatch.
        let object = metadata::in_namespace(object, self.namespace())?;
        metadata::check_name(&object, self.request.name, self.request.namespace)?;
        Ok(object)
    }

    /// What must hold for an object that a patch made.
    pub(crate) fn check_patched(&self, live: &Value, object: &Value) -> Result<Value, Status> {
        let uid = metadata::text(object, "uid");
        // A uid says that the client means an object that exists, so this patch or apply does not create one.
        if !uid.is_empty() && metadata::text(live, "uid").is_empty() {
            let reason = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(self.target(self.request.name).conflict(reason));
        }
        self.in_place(object)
    }

    /// Checks the `resourceVersion` of an update. Without one, most kinds take that of the live object.
    pub(crate) fn at_live_version(&self, live: &Value, object: &Value) -> Result<Value, Status> {
        let (wanted, found) = (
            metadata::text(object, "resourceVersion"),
            metadata::text(live, "resourceVersion"),
        );
        if wanted == found {
            return Ok(object.clone());
        }

        check_version(wanted)?;
        let target = self.target(self.request.name);

        // The version 0 counts as none.
        let is_unset = wanted.is_empty() || wanted == "0";
        if is_unset && self.resource.object.policy.allows_unconditional_update {
            let version = metadata::field(live, "resourceVersion").cloned();
            return Ok(metadata::with(object, vec![("resourceVersion", version)]));
        }

        if is_unset {
            let path = FieldPath::root("metadata").child("resourceVersion");
            let error = FieldError::invalid(path, 0, "must be specified for an update");
            return Err(target.invalid_resource(&[error]));
        }

        Err(target.conflict(
            "the object has been modified; please apply your changes to the latest version and try again",
        ))
    }

    /// Refuses a request to a collection.
    pub(crate) fn check_has_name(&self) -> Result<(), Status> {
        match self.request.name {
            "" => Err(Status::bad_request("name must be provided".to_owned())),
            _ => Ok(()),
        }
    }

    pub(crate) fn check_options(&self, kind: RequestKind) -> Result<(), Status> {
        self.request
            .options
            .validate(kind)
            .map_err(|error| error.status())
    }

    /// Refuses an object that names no version: the registry of the API server finds no kind for a map then.
    pub(crate) fn check_api_version(&self, object: &Value) -> Result<(), Status> {
        let version = object
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if self.resource.object.policy.form == Form::Struct || !version.is_empty() {
            return Ok(());
        }

        let missing = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        let mut details = Details::default();
        details.causes.push(Cause::new("", missing, ""));
        let message = format!("Internal error occurred: {missing}");
        Err(Status::failure(
            500,
            "InternalError",
            message,
            Some(details),
        ))
    }

    /// Refuses to create an object that exists, or at a version. The store reads the version as a number, and takes no
    /// other string for one. A dry run does not reach it.
    pub(crate) fn check_is_new(
        &self,
        stored: Option<&Value>,
        version: &str,
        object: &Value,
    ) -> Result<(), Status> {
        let is_stored = self.request.options.dry_run.is_empty();
        if is_stored && version.parse::<u64>().is_ok_and(|version| version > 0) {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Status::failure(500, "", message.to_owned(), None));
        }
        match stored {
            Some(live) => Err(exists(self.target(metadata::text(object, "name")), live)),
            None => Ok(()),
        }
    }
}

/// The answer to the creation of an object whose name a stored one has.
pub(crate) fn exists(target: Target<'_>, live: &Value) -> Status {
    let mut status = target.already_exists();
    if metadata::field(live, "deletionTimestamp").is_some() {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}

/// Refuses a `resourceVersion` that is not a number, in the words of the store of kube-apiserver.
pub(crate) fn check_version(version: &str) -> Result<(), Status> {
    if version.is_empty() || version.parse::<u64>().is_ok() {
        return Ok(());
    }
    let message = format!(
        "strconv.ParseUint: parsing {}: invalid syntax",
        status::quoted(version)
    );
    Err(Status::failure(500, "", message, None))
}

pub(crate) fn check_uid(target: Target<'_>, wanted: &str, found: &str) -> Result<(), Status> {
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let reason =
        format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
    Err(target.conflict(reason))
}
