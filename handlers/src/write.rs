//! The steps of a write, in the order in which they run.

use fieldmanager_managedfields::{
    ApplyRequest, Cause, Details, ManagedFields, RequestKind, Status, UpdateRequest,
    ignore_timestamp_only_changes,
};
use fieldmanager_patch::PatchType;
use fieldmanager_structural::internal::json_kind;
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::{Map, Value};

use crate::body::{self, Body};
use crate::kind::{Checked, Kind};
use crate::metadata;
use crate::outcome::{Action, Outcome, Refused};
use crate::part::{Inner, Options};
use crate::patch::Patch;
use crate::request::{Request, Subresource};
use crate::scale::{self, ScaleFields};
use crate::state::Write;
use crate::status::{self, Target, unsupported_media_type};
use crate::warnings::Warnings;

/// The object of a request that creates one.
static NO_OBJECT: Value = Value::Null;

impl<'r> Write<'r> {
    /// Runs a write and collects its warnings.
    pub(crate) fn run(
        resource: &'r Inner,
        options: Options,
        request: &'r Request<'r>,
        steps: impl FnOnce(&mut Self) -> Result<Outcome, Refused>,
    ) -> Result<Outcome, Refused> {
        let deprecation = resource.object.kind.deprecation().map(str::to_owned);
        let Some(part) = resource.part(request.subresource) else {
            let kind = &resource.object.gvk;
            let target = Target { kind, plural: &resource.plural, name: request.name };
            let warnings = deprecation.into_iter().collect();
            return Err(Refused { warnings, ..target.not_found().into() });
        };
        let manager = request.manager_name();
        let mut warnings = Warnings::default();
        deprecation.into_iter().for_each(|text| warnings.add(text));
        let mut write = Write {
            resource,
            part,
            options,
            request,
            manager,
            warnings,
            sees_empty: false,
            status: None,
            keeps_live: false,
        };
        match steps(&mut write) {
            Ok(outcome) => Ok(Outcome { warnings: write.warnings.into_vec(), ..outcome }),
            Err(refused) => Err(Refused { warnings: write.warnings.into_vec(), ..refused }),
        }
    }

    /// `POST`.
    pub(crate) fn create(&mut self, live: Option<&Value>, body: &[u8]) -> Result<Outcome, Refused> {
        if self.request.subresource != Subresource::Object {
            return Err(Status::failure(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource".to_owned(),
                None,
            )
            .into());
        }
        self.check_options(RequestKind::Create)?;
        let object = self.object_of(body)?;
        let object = metadata::without_system_fields(&object);
        let object = metadata::in_namespace(&object, self.namespace())?;
        let object = metadata::without_duplicate_owners(&object, &mut self.warnings, false);
        let object = self.tracked(&NO_OBJECT, &object);
        let outcome = self.stored_new(&object)?;
        // The store reads the version as a number, and takes no other string for one. A dry run does not reach it.
        let is_stored = self.request.options.dry_run.is_empty();
        if is_stored
            && metadata::text(&object, "resourceVersion").parse::<u64>().is_ok_and(|version| version > 0)
        {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Status::failure(500, "", message.to_owned(), None).into());
        }
        match live {
            Some(live) => {
                let mut status = self.target(metadata::text(&outcome.object, "name")).already_exists();
                if metadata::field(live, "deletionTimestamp").is_some() {
                    status.message = format!("object is being deleted: {}", status.message);
                }
                Err(status.into())
            }
            None => Ok(outcome),
        }
    }

    /// `PUT`.
    pub(crate) fn update(&mut self, live: Option<&Value>, body: &[u8]) -> Result<Outcome, Refused> {
        self.check_has_name()?;
        self.check_options(RequestKind::Update)?;
        let object = self.object_of(body)?;
        let object = metadata::in_namespace(&object, self.namespace())?;
        metadata::check_name(&object, self.request.name, self.request.namespace)?;
        let object = metadata::without_duplicate_owners(&object, &mut self.warnings, false);
        let uid = metadata::text(&object, "uid").to_owned();
        let create = self.creates_on_update();
        self.write(live, &uid, create, |write, live| Ok(write.tracked(live, &object)))
    }

    /// `PATCH`.
    pub(crate) fn patch(&mut self, live: Option<&Value>, body: &[u8]) -> Result<Outcome, Refused> {
        let patch_type = self.patch_type()?;
        self.check_has_name()?;
        let is_apply = patch_type == PatchType::Apply;
        self.check_options(if is_apply { RequestKind::Apply } else { RequestKind::Patch })?;
        if is_apply {
            return self.apply(live, body);
        }
        let patch = Patch::read(patch_type, body)?;
        self.write(live, "", false, |write, live| {
            if live.is_null() {
                return Err(write.target(write.request.name).not_found().into());
            }
            let object = patch.applied(write, live)?;
            let object = write.tracked(live, &object);
            Ok(write.checked_patch(live, object)?)
        })
    }

    /// `PATCH` with `application/apply-patch+yaml`.
    fn apply(&mut self, live: Option<&Value>, body: &[u8]) -> Result<Outcome, Refused> {
        let Body { value: config, duplicates, .. } = body::read_yaml(body)
            .map_err(|error| Status::bad_request(format!("error encoding patch: {error}")))?;
        // An empty document is an object without a kind.
        let config = if config.is_null() { Value::Map(Map::new()) } else { config };
        let create = self.request.subresource == Subresource::Object || self.creates_on_update();
        self.write(live, "", create, |write, live| {
            if config.as_map().is_none() {
                let found = json_kind(&config);
                return Err(Status::bad_request(format!(
                    "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal \
                     {found} into Go value of type map[string]interface {{}}"
                ))
                .into());
            }
            let request = ApplyRequest::new(live, &config)
                .manager(&write.request.options.field_manager)
                .force_if(write.request.options.force.unwrap_or(false))
                .at(write.request.now);
            let applied = write.part.manager.apply(request).map_err(|error| write.apply_refused(&error))?;
            if let Some(fault) = write.part.kind.malformed(&config) {
                return Err(write.unconvertible(&config, &fault).into());
            }
            write.sees_empty = write.part.kind.sees_empty(&config);
            write.status = write.part.kind.stored_status(&applied.object, &[live, &config]);
            write.keeps_live = !applied.is_merged;
            write.report_strict(&duplicates, |faults| {
                Status::bad_request(format!(
                    "error strict decoding patch: error converting YAML to JSON: {}",
                    body::yaml_faults(faults)
                ))
            })?;
            Ok(write.checked_patch(live, applied.object)?)
        })
    }

    /// Whether an update creates an object that does not exist. The status of a kind has the strategy of its objects.
    fn creates_on_update(&self) -> bool {
        let is_whole = matches!(self.request.subresource, Subresource::Object | Subresource::Status);
        is_whole && self.part.kind.allows_create_on_update()
    }

    /// The answer to an apply that the field manager refuses.
    fn apply_refused(&self, error: &fieldmanager_managedfields::Error) -> Refused {
        let status = error.status();
        use fieldmanager_managedfields::Error;
        let is_unexpected = match error {
            Error::Invalid { .. }
            | Error::Merge(_)
            | Error::Convert { .. }
            | Error::Entry(_)
            | Error::NotAnObject { .. } => true,
            _ => status.code == 500,
        };
        let status = match self.options.server_answers && is_unexpected {
            true => Status::failure(500, "", status.message, None),
            false => status,
        };
        Refused { conflicts: error.conflicts().cloned(), ..status.into() }
    }

    /// The answer to an apply of malformed values.
    fn unconvertible(&self, config: &Value, fault: &str) -> Status {
        let (namespace, name) = (metadata::text(config, "namespace"), metadata::text(config, "name"));
        let kind = &self.part.gvk;
        let message = format!(
            "failed to convert new object ({namespace}/{name}; {kind}) to proper version: unable to convert \
             unstructured object to {kind}: {fault}"
        );
        match self.options.server_answers {
            true => Status::failure(500, "", message, None),
            false => Status::bad_request(message),
        }
    }

    /// What must hold for an object that a patch made.
    fn checked_patch(&mut self, live: &Value, object: Value) -> Result<Value, Status> {
        let uid = metadata::text(&object, "uid");
        if !uid.is_empty() && metadata::text(live, "uid").is_empty() {
            let reason = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(self.target(self.request.name).conflict(reason));
        }
        let object = metadata::in_namespace(&object, self.namespace())?;
        metadata::check_name(&object, self.request.name, self.request.namespace)?;
        Ok(object)
    }

    /// Writes what an edit makes of the live object, or of no object if that creates one.
    fn write(
        &mut self,
        live: Option<&Value>,
        uid: &str,
        create: bool,
        edit: impl FnOnce(&mut Self, &Value) -> Result<Value, Refused>,
    ) -> Result<Outcome, Refused> {
        let Some(stored) = live else {
            if !create {
                // The edit runs first if an update might create the object.
                if self.part.kind.allows_create_on_update() {
                    edit(self, &NO_OBJECT)?;
                }
                return Err(self.target(self.request.name).not_found().into());
            }
            check_uid(self.target(self.request.name), uid, "")?;
            let object = edit(self, &NO_OBJECT)?;
            check_version(metadata::text(&object, "resourceVersion"))?;
            let object = metadata::without_duplicate_owners(&object, &mut self.warnings, true);
            return Ok(self.stored_new(&metadata::without_system_fields(&object))?);
        };
        let live = self.resource.object.kind.read(stored);
        check_uid(self.target(self.request.name), uid, metadata::text(&live, "uid"))?;
        let object = match (&self.resource.scale, self.request.subresource) {
            (Some((_, fields)), Subresource::Scale) => self.scaled(&live, fields, edit)?,
            _ => {
                let object = edit(self, &live)?;
                metadata::without_duplicate_owners(&object, &mut self.warnings, true)
            }
        };
        Ok(self.stored_update(stored, &live, &object)?)
    }

    /// The object whose `Scale` was edited.
    fn scaled(
        &mut self,
        live: &Value,
        fields: &ScaleFields,
        edit: impl FnOnce(&mut Self, &Value) -> Result<Value, Refused>,
    ) -> Result<Value, Refused> {
        let handler = fields.handler(self.resource.object.manager.version());
        let managed = ManagedFields::of_object(live).unwrap_or_default();
        let mut before = handler.to_subresource(&managed).set_in(&fields.read(live));
        if !self.resource.object.kind.is_builtin() && !fields.has_replicas(live) {
            before = scale::without_replicas(&before);
        }
        let after = edit(self, &before)?;
        let after = metadata::without_duplicate_owners(&after, &mut self.warnings, true);
        if scale::lacks_replicas(&after) {
            let path = status::quoted(&fields.replicas_path());
            return Err(Status::bad_request(format!("the spec replicas field {path} cannot be empty")).into());
        }
        // The storage of a built-in `Scale` names the subresource.
        let subresource = if self.resource.object.kind.is_builtin() { "/scale" } else { "" };
        let plural = format!("{}{subresource}", self.resource.plural);
        let target = Target { plural: &plural, ..self.target(self.request.name) };
        if self.resource.object.kind.is_builtin() {
            check_uid(target, metadata::text(&after, "uid"), metadata::text(live, "uid"))?;
        }
        // A custom resource is validated as a whole, and its `Scale` is not.
        let errors = match self.resource.object.kind.is_builtin() {
            true => self.part.kind.validate_create(&after).errors,
            false => Vec::new(),
        };
        if !errors.is_empty() {
            return Err(self.target(self.request.name).invalid_kind(&self.part.gvk, &errors).into());
        }
        let object = fields.write(live, &after);
        let object = match metadata::field(&after, "resourceVersion").cloned() {
            Some(version) => metadata::with(&object, vec![("resourceVersion", Some(version))]),
            None => object,
        };
        let scale = ManagedFields::of_object(&after).unwrap_or_default();
        Ok(handler.to_parent(&managed, &scale).set_in(&object))
    }

    /// The new object with its managed fields.
    fn tracked(&self, live: &Value, object: &Value) -> Value {
        let entries = metadata::field(object, "managedFields").and_then(Value::as_list).into_iter().flatten();
        let mut versions = entries.filter_map(|entry| entry.get("apiVersion")?.as_str());
        // A request to a subresource keeps the live entries, whatever its object has.
        let is_whole = self.request.subresource == Subresource::Object;
        let is_unknown = |version: &str| !version.is_empty() && !self.part.kind.tracks(version);
        let own = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        if is_unknown(own) || is_whole && versions.any(is_unknown) {
            return metadata::with(
                object,
                vec![("managedFields", metadata::field(live, "managedFields").cloned())],
            );
        }
        let request = UpdateRequest::new(live, object).manager(&self.manager).at(self.request.now);
        self.part.manager.update_no_errors(request).object
    }

    /// The outcome for a new object, from its fields with owners.
    fn stored_new(&mut self, object: &Value) -> Result<Outcome, Status> {
        let Request { now, uid, name_suffix, .. } = *self.request;
        let kind = &*self.resource.object.kind;
        let object = metadata::with_system_fields(object, now, uid, name_suffix);
        let object = match kind.default_name(uid) {
            Some(name) if metadata::text(&object, "name").is_empty() => {
                metadata::with(&object, vec![("name", Some(Value::from(name)))])
            }
            _ => object,
        };
        let object = metadata::in_namespace(&object, self.namespace())?;
        let object = kind.prepare_create(&object);
        let checked = self.with_union_faults(kind.validate_create(&object), &object, None);
        self.refuse_invalid(&object, checked)?;
        self.warn(Subresource::Object, &object, None);
        Ok(self.outcome(object, Action::Create))
    }

    /// The outcome for a changed object, from its fields with owners. `live` is the stored object as the request reads it.
    fn stored_update(&mut self, stored: &Value, live: &Value, object: &Value) -> Result<Outcome, Status> {
        let kind = &*self.resource.object.kind;
        let object = self.at_live_version(live, object)?;
        check_api_version(kind, &object)?;
        let object = metadata::in_namespace(&object, self.namespace())?;
        let object = metadata::with_generation(&object, metadata::generation(live));
        let subresource = match self.request.subresource {
            // The whole object is written, by the rules of the object.
            Subresource::Scale => Subresource::Object,
            other => other,
        };
        let object = kind.prepare_update(subresource, &object, live, self.request.now);
        let is_same_generation = metadata::generation(&object) == metadata::generation(live);
        let is_changed = || self.sees_empty || !self.keeps_live && kind.changes_stored(stored, &object);
        let object = match subresource == Subresource::Object && is_same_generation && is_changed() {
            true => metadata::with_generation(&object, metadata::generation(live) + 1),
            false => object,
        };
        let fault = kind.allocation_fault(&object).filter(|_| self.options.server_answers);
        if let Some(fault) = fault {
            return Err(Status::failure(500, "", fault, None));
        }
        let is_stored = self.request.options.dry_run.is_empty();
        let object = metadata::with_kept_fields(&object, live, is_stored);
        let checked = kind.validate_update(subresource, &object, live);
        let checked = self.with_union_faults(checked, &object, Some(live));
        self.refuse_invalid(&object, checked)?;
        self.warn(self.request.subresource, &object, Some(live));
        let is_converted = stored.get("apiVersion") != live.get("apiVersion");
        if is_converted && self.keeps_live && self.status.is_some() {
            self.status = stored.get("status").cloned();
        }
        // The conversion of the status can be the only other change.
        let changes_status = is_converted
            && self.request.subresource == Subresource::Status
            && self.status.as_ref().is_some_and(|status| stored.get("status") != Some(status));
        let object = if changes_status { object } else { ignore_timestamp_only_changes(live, &object) };
        let ends = metadata::ends(&object, live);
        let mut outcome = self.outcome(object, Action::Update);
        // Defaults that the stored object lacks are a change; a field that the version of the store lacks is none.
        let before = if is_converted { live } else { stored };
        outcome.action = match () {
            () if ends => Action::Delete,
            () if outcome.object.strict_eq(before) => Action::Nothing,
            () => Action::Update,
        };
        Ok(outcome)
    }

    /// Checks the `resourceVersion` of an update. Without one, most kinds take that of the live object.
    fn at_live_version(&self, live: &Value, object: &Value) -> Result<Value, Status> {
        let (wanted, found) =
            (metadata::text(object, "resourceVersion"), metadata::text(live, "resourceVersion"));
        if wanted == found {
            return Ok(object.clone());
        }
        check_version(wanted)?;
        let target = self.target(self.request.name);
        let is_unset = wanted.is_empty() || wanted == "0";
        if is_unset && self.resource.object.kind.allows_unconditional_update() {
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

    /// Adds the faults of unions to those that every API server finds.
    fn with_union_faults(&self, mut checked: Checked, object: &Value, live: Option<&Value>) -> Checked {
        if !self.options.ignores_unions {
            checked.errors.extend(self.resource.object.kind.union_faults(object, live));
        }
        checked
    }

    /// Refuses an object with faults, and collects warnings.
    fn refuse_invalid(&mut self, object: &Value, checked: Checked) -> Result<(), Status> {
        let Checked { mut errors, warnings, unchecked } = checked;
        warnings.into_iter().for_each(|text| self.warnings.add(text));
        for fault in unchecked {
            match self.options.strict_cel {
                true => {
                    let detail = format!("cannot be run: {}", fault.reason);
                    errors.push(FieldError::invalid(fault.path, fault.rule, detail));
                }
                false => self.warnings.add(fault.to_string()),
            }
        }
        if errors.is_empty() || self.options.skips_validation {
            return Ok(());
        }
        let target = self.target(metadata::text(object, "name"));
        let kind = &self.resource.object.gvk;
        Err(match self.part.kind.is_builtin() {
            // Both versions of events have one internal type, which is of the core group.
            true if kind.group == "events.k8s.io" && kind.kind == "Event" => {
                target.invalid_kind(&GroupVersionKind::new("", "v1", "Event"), &errors)
            }
            true => target.invalid(&errors),
            // An object of another kind is refused by the name of its own.
            false => target.invalid_kind(&body::own_kind(object), &errors),
        })
    }

    fn warn(&mut self, subresource: Subresource, object: &Value, live: Option<&Value>) {
        for text in self.resource.object.kind.warnings(subresource, object, live) {
            self.warnings.add(text);
        }
    }

    fn outcome(&self, object: Value, action: Action) -> Outcome {
        let object = self.resource.object.kind.stored(&object);
        let scale = match (&self.resource.scale, self.request.subresource) {
            (Some((_, fields)), Subresource::Scale) => Some(fields.read(&object)),
            _ => None,
        };
        let stored_status = self.status.clone().filter(|_| self.request.subresource == Subresource::Status);
        Outcome { object, scale, stored_status, warnings: Vec::new(), action }
    }

    fn patch_type(&mut self) -> Result<PatchType, Status> {
        let content_type = body::media_type(self.request.content_type);
        let accepted = self.resource.patch_types;
        let found = accepted.iter().copied().find(|patch_type| patch_type.content_type() == content_type);
        found.ok_or_else(|| {
            // The routes of built-in kinds list the types of patches, and refuse others themselves.
            if self.resource.object.kind.is_builtin() {
                self.warnings = Warnings::default();
                return Status::failure(
                    415,
                    "UnsupportedMediaType",
                    "415: Unsupported Media Type".to_owned(),
                    Some(Details::default()),
                );
            }
            let accepted: Vec<&str> = accepted.iter().map(|patch_type| patch_type.content_type()).collect();
            unsupported_media_type(&accepted)
        })
    }

    /// Refuses a request to a collection.
    fn check_has_name(&self) -> Result<(), Status> {
        match self.request.name {
            "" => Err(Status::bad_request("name must be provided".to_owned())),
            _ => Ok(()),
        }
    }

    fn check_options(&self, kind: RequestKind) -> Result<(), Status> {
        self.request.options.validate(kind).map_err(|error| error.status())
    }

    /// The namespace that objects of the resource have.
    fn namespace(&self) -> &'r str {
        if self.resource.namespaced { self.request.namespace } else { "" }
    }
}

/// Refuses a `resourceVersion` that is not a number, in the words of the store of kube-apiserver.
fn check_version(version: &str) -> Result<(), Status> {
    if version.is_empty() || version.parse::<u64>().is_ok() {
        return Ok(());
    }
    let message = format!("strconv.ParseUint: parsing {}: invalid syntax", status::quoted(version));
    Err(Status::failure(500, "", message, None))
}

/// Refuses an object that names no version: the registry of the API server finds no kind for a custom resource then.
fn check_api_version(kind: &dyn Kind, object: &Value) -> Result<(), Status> {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if kind.is_builtin() || !version.is_empty() {
        return Ok(());
    }
    let missing = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
    let mut details = Details::default();
    details.causes.push(Cause::new("", missing, ""));
    let message = format!("Internal error occurred: {missing}");
    Err(Status::failure(500, "InternalError", message, Some(details)))
}

fn check_uid(target: Target<'_>, wanted: &str, found: &str) -> Result<(), Status> {
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let reason = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
    Err(target.conflict(reason))
}
