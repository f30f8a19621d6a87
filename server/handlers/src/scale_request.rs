//! A request to the subresource `scale`, which sees and edits a part of the object.

use fieldmanager_managedfields::internal::{decode_last, manager_version, to_parent_as_server};
use fieldmanager_managedfields::{ManagedFields, Status};
use fieldmanager_value::Value;

use crate::kind::{Change, Form};
use crate::metadata;
use crate::preconditions::check_uid;
use crate::request::Subresource;
use crate::scale::{self, ScaleFields};
use crate::state::Write;
use crate::status::{self, Target};

impl<'r> Write<'r> {
    /// The fields of the `Scale` that the request is for.
    pub(crate) fn scale(&self) -> Option<&'r ScaleFields> {
        let (_, fields) = self.resource.scale.as_ref()?;
        (self.request.subresource == Subresource::Scale).then_some(fields)
    }

    /// The `Scale` of an object, with its managed fields.
    pub(crate) fn scale_of(&self, live: &Value, fields: &ScaleFields) -> Value {
        let handler = fields.handler(manager_version(&self.resource.object.manager));
        let managed = managed_fields(live);
        let scale = handler.to_subresource(&managed).set_in(&fields.read(live));

        // A map has no default for the replicas. The mark of missing replicas makes `scaled` demand them.
        match self.resource.object.policy.form {
            Form::Map if !fields.has_replicas(live) => scale::without_replicas(&scale),
            _ => scale,
        }
    }

    /// The object whose `Scale` was edited.
    pub(crate) fn scaled(
        &self,
        live: &Value,
        fields: &ScaleFields,
        after: &Value,
    ) -> Result<Value, Status> {
        // A struct has a default for the replicas, so that no scale of it has the mark.
        let is_struct = self.resource.object.policy.form == Form::Struct;
        if !is_struct && scale::lacks_replicas(after) {
            let path = status::quoted(&fields.replicas_path());
            return Err(Status::bad_request(format!(
                "the spec replicas field {path} cannot be empty"
            )));
        }

        // The storage of the `Scale` of a struct names the subresource and validates it. A map is validated as a whole.
        if is_struct {
            let plural = format!("{}/scale", self.resource.plural);
            let target = Target {
                plural: &plural,
                ..self.target(self.request.name)
            };
            check_uid(
                target,
                metadata::text(after, "uid"),
                metadata::text(live, "uid"),
            )?;
            let subresource = Subresource::Object;
            let change = Change {
                subresource,
                object: after,
                live: None,
                now: self.request.now,
            };

            let errors = self.part.kind.check(&change, false).errors;
            if !errors.is_empty() && !self.options.skips_validation {
                return Err(self
                    .target(self.request.name)
                    .invalid_kind(&self.part.gvk, &errors));
            }
        }

        let object = fields.write(live, after);

        // The version of the `Scale` is the precondition of the update of the object.
        let object = match metadata::field(after, "resourceVersion").cloned() {
            Some(version) => metadata::with(&object, vec![("resourceVersion", Some(version))]),
            None => object,
        };

        let handler = fields.handler(manager_version(&self.resource.object.manager));
        let managed = to_parent_as_server(&handler, &managed_fields(live), &managed_fields(after));

        Ok(managed.set_in(&object))
    }
}

/// The managed fields of an object as kube-apiserver reads them: a list with a faulty entry counts as empty.
fn managed_fields(object: &Value) -> ManagedFields {
    let decoded = decode_last(metadata::field(object, "managedFields"));
    if decoded.faults.is_empty() {
        decoded.managed
    } else {
        ManagedFields::new()
    }
}
