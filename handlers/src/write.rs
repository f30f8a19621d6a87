//! A write, from the request to its outcome. Each step makes a value from those before it:
//!
//! | value | step | what it is |
//! |---|---|---|
//! | [`Sent`] | `decode` | the body of the request |
//! | [`Read`] | `read` | the live object as the request sees it, whose preconditions hold |
//! | [`Edited`] | `edit` | the object that the request makes of it, with the owners of its fields |
//! | [`Edited`] | `whole` | the object of a `Scale` that was edited, and what any new object lacks |
//! | [`Prepared`] | `prepare` | the object without what the request cannot change |
//! | [`Prepared`] | `check` | the same, valid |
//! | [`Outcome`] | `outcome` | the object to store, and the effect on the storage |

use fieldmanager_managedfields::{
    ApplyRequest, Cause, Details, ManagedFields, RequestKind, Status, UpdateRequest,
    ignore_timestamp_only_changes,
};
use fieldmanager_patch::PatchType;
use fieldmanager_structural::internal::json_kind;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use crate::body::{self, Body};
use crate::edited::Edited;
use crate::kind::{Change, Form, Unseen};
use crate::metadata;
use crate::outcome::{Action, Outcome, Refused};
use crate::part::{Inner, Options, Part};
use crate::patch::Patch;
use crate::request::{Request, Subresource};
use crate::scale::{self, ScaleFields};
use crate::state::Write;
use crate::status::{self, Target, unsupported_media_type};
use crate::warnings::Warnings;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    Update,
    Patch,
}

/// The body of a request.
enum Sent {
    Object(Edited),
    Patch(Patch),
    /// The configuration of an apply.
    Config(Body),
}

/// The object before the request.
struct Read<'r> {
    /// The object as it is stored; `None` if there is none, or if the request creates another one.
    stored: Option<&'r Value>,
    /// The object at the version of the request, with today's defaults.
    live: Value,
    /// What the request edits: the object, or its `Scale`.
    seen: Value,
    /// Whether a request without a stored object creates one.
    creates: bool,
}

/// The object as it will be stored.
struct Prepared {
    object: Value,
    /// The status at the version of the store, see [`Unseen`].
    status: Option<Value>,
}

impl<'r> Write<'r> {
    /// Runs a write and collects its warnings.
    pub(crate) fn run(
        resource: &'r Inner,
        options: Options,
        request: &'r Request<'r>,
        verb: Verb,
        stored: Option<&'r Value>,
        body: &[u8],
    ) -> Result<Outcome, Refused> {
        let mut warnings = Warnings::default();
        resource.object.policy.deprecation.iter().for_each(|text| warnings.add(text));
        let Some(part) = resource.part(request.subresource) else {
            let kind = &resource.object.gvk;
            let target = Target { kind, plural: &resource.plural, name: request.name };
            return Err(Refused { warnings: warnings.into_vec(), ..target.not_found().into() });
        };
        let manager = request.manager_name();
        let mut write = Write { resource, part, options, request, manager, warnings };
        let done = write.steps(verb, stored, body);
        let warnings = write.warnings.into_vec();
        match done {
            Ok(outcome) => Ok(Outcome { warnings, ..outcome }),
            Err(refused) => Err(Refused { warnings, ..refused }),
        }
    }

    fn steps(&mut self, verb: Verb, stored: Option<&'r Value>, body: &[u8]) -> Result<Outcome, Refused> {
        let sent = self.decode(verb, body)?;
        let read = self.read(verb, stored, &sent)?;
        let edited = self.edit(&read, sent)?;
        let edited = self.whole(verb, &read, edited)?;
        let version = metadata::text(&edited.object, "resourceVersion").to_owned();
        let prepared = self.prepare(&read, edited)?;
        let prepared = self.check(&read, prepared)?;
        if verb == Verb::Create {
            self.check_is_new(stored, &version, &prepared.object)?;
        }
        Ok(self.outcome(&read, prepared))
    }

    /// Reads the body, and checks what it and the request say by themselves.
    fn decode(&mut self, verb: Verb, body: &[u8]) -> Result<Sent, Status> {
        if verb == Verb::Create {
            if self.request.subresource != Subresource::Object {
                let message = "the server does not allow this method on the requested resource";
                return Err(Status::failure(405, "MethodNotAllowed", message.to_owned(), None));
            }
            self.check_options(RequestKind::Create)?;
            let edited = self.object_of(body)?;
            let object = metadata::without_system_fields(&edited.object);
            let object = metadata::in_namespace(&object, self.namespace())?;
            let object = metadata::without_duplicate_owners(&object, &mut self.warnings, false);
            return Ok(Sent::Object(Edited { object, ..edited }));
        }
        if verb == Verb::Update {
            self.check_has_name()?;
            self.check_options(RequestKind::Update)?;
            let edited = self.object_of(body)?;
            let object = self.in_place(&edited.object)?;
            let object = metadata::without_duplicate_owners(&object, &mut self.warnings, false);
            return Ok(Sent::Object(Edited { object, ..edited }));
        }
        let patch_type = self.patch_type()?;
        self.check_has_name()?;
        if patch_type != PatchType::Apply {
            self.check_options(RequestKind::Patch)?;
            return Ok(Sent::Patch(Patch::read(patch_type, body)?));
        }
        self.check_options(RequestKind::Apply)?;
        let config = body::read_yaml(body)
            .map_err(|error| Status::bad_request(format!("error encoding patch: {error}")))?;
        Ok(Sent::Config(config))
    }

    /// Reads the live object, and checks that the request is for it.
    fn read(&self, verb: Verb, stored: Option<&'r Value>, sent: &Sent) -> Result<Read<'r>, Status> {
        let creates = match sent {
            Sent::Object(_) => verb == Verb::Create || self.creates_on_update(),
            Sent::Config(_) => self.request.subresource == Subresource::Object || self.creates_on_update(),
            Sent::Patch(_) => false,
        };
        let uid = match sent {
            Sent::Object(edited) => metadata::text(&edited.object, "uid"),
            _ => "",
        };
        let target = self.target(self.request.name);
        let Some(stored) = stored.filter(|_| verb != Verb::Create) else {
            // The edit runs first if an update might create the object.
            if !creates && !self.part.policy.allows_create_on_update {
                return Err(target.not_found());
            }
            if creates {
                check_uid(target, uid, "")?;
            }
            return Ok(Read { stored: None, live: Value::Null, seen: Value::Null, creates });
        };
        let live = self.resource.object.kind.read(stored);
        check_uid(target, uid, metadata::text(&live, "uid"))?;
        let seen = match self.scale() {
            Some(fields) => self.scale_of(&live, fields),
            None => live.clone(),
        };
        Ok(Read { stored: Some(stored), live, seen, creates })
    }

    /// The object that the request makes of what it sees, with managed fields.
    fn edit(&mut self, read: &Read<'_>, sent: Sent) -> Result<Edited, Refused> {
        let edited = match sent {
            Sent::Object(edited) => Edited { object: self.track(&read.seen, &edited.object), ..edited },
            Sent::Patch(_) if read.seen.is_null() => {
                return Err(self.target(self.request.name).not_found().into());
            }
            Sent::Patch(patch) => {
                let edited = patch.apply(self, &read.seen)?;
                let object = self.track(&read.seen, &edited.object);
                Edited { object: self.check_patched(&read.seen, &object)?, ..edited }
            }
            Sent::Config(config) => self.apply(&read.seen, config)?,
        };
        if read.stored.is_none() && !read.creates {
            return Err(self.target(self.request.name).not_found().into());
        }
        Ok(edited)
    }

    /// The object of an apply.
    fn apply(&mut self, live: &Value, config: Body) -> Result<Edited, Refused> {
        let Body { value: config, duplicates, .. } = config;
        // An empty document is an object without a kind.
        let config = if config.is_null() { Value::Map(Map::new()) } else { config };
        if config.as_map().is_none() {
            let found = json_kind(&config);
            let message = format!(
                "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into \
                 Go value of type map[string]interface {{}}"
            );
            return Err(Status::bad_request(message).into());
        }
        let Part { kind, manager, .. } = self.part;
        let request = ApplyRequest::new(live, &config)
            .manager(&self.request.options.field_manager)
            .force_if(self.request.options.force.unwrap_or(false))
            .at(self.request.now);
        let applied = manager.apply(request).map_err(|error| self.apply_refused(&error))?;
        if let Some(fault) = kind.malformed(&config) {
            return Err(self.unconvertible(&config, &fault).into());
        }
        self.report_strict(&duplicates, |faults| {
            let faults = body::yaml_faults(faults);
            Status::bad_request(format!(
                "error strict decoding patch: error converting YAML to JSON: {faults}"
            ))
        })?;
        let unseen = kind.unseen(&config, &applied.object, &[live, &config]);
        let object = self.check_patched(live, &applied.object)?;
        Ok(Edited { object, unseen, keeps_live: !applied.is_merged })
    }

    /// The whole object: that of an edited `Scale`, without owners that occur again, and a new one without what only the
    /// server sets.
    fn whole(&mut self, verb: Verb, read: &Read<'_>, edited: Edited) -> Result<Edited, Status> {
        let deduplicated = |object: &Value, warnings: &mut Warnings| {
            metadata::without_duplicate_owners(object, warnings, true)
        };
        let object = match (read.stored, self.scale()) {
            (None, _) if verb == Verb::Create => edited.object,
            (None, _) => {
                check_version(metadata::text(&edited.object, "resourceVersion"))?;
                let object = deduplicated(&edited.object, &mut self.warnings);
                metadata::without_system_fields(&object)
            }
            (Some(_), Some(fields)) => {
                let scale = deduplicated(&edited.object, &mut self.warnings);
                self.scaled(&read.live, fields, &scale)?
            }
            (Some(_), None) => deduplicated(&edited.object, &mut self.warnings),
        };
        Ok(Edited { object, ..edited })
    }

    /// The object as it will be stored, if it is valid.
    fn prepare(&self, read: &Read<'_>, edited: Edited) -> Result<Prepared, Status> {
        let Edited { object, unseen: Unseen { has_empty, mut status }, keeps_live } = edited;
        let (kind, live) = (&*self.resource.object.kind, &read.live);
        let Request { now, uid, name_suffix, .. } = *self.request;
        let subresource = self.strategy();
        let Some(stored) = read.stored else {
            let object = metadata::with_system_fields(&object, now, uid, name_suffix);
            let object = metadata::in_namespace(&object, self.namespace())?;
            let object = kind.prepare(&Change { subresource, object: &object, live: None, now });
            return Ok(Prepared { object, status });
        };

        // What the request can write, at the version of the live object.
        let object = self.at_live_version(live, &object)?;
        self.check_api_version(&object)?;
        let object = metadata::in_namespace(&object, self.namespace())?;
        let object = metadata::with_generation(&object, metadata::generation(live));
        let object = kind.prepare(&Change { subresource, object: &object, live: Some(live), now });

        // A change that only the store sees raises the generation too.
        let generation = metadata::generation(live);
        let is_same_generation = metadata::generation(&object) == generation;
        let is_changed = || has_empty || !keeps_live && kind.changes_stored(stored, &object);
        let object = match subresource == Subresource::Object && is_same_generation && is_changed() {
            true => metadata::with_generation(&object, generation + 1),
            false => object,
        };
        if let Some(fault) = kind.allocation_fault(&object).filter(|_| self.options.server_answers) {
            return Err(Status::failure(500, "", fault, None));
        }
        let is_stored = self.request.options.dry_run.is_empty();
        let object = metadata::with_kept_fields(&object, live, is_stored);
        if is_converted(read) && keeps_live && status.is_some() {
            status = stored.get("status").cloned();
        }
        Ok(Prepared { object, status })
    }

    /// Refuses an object with faults, and collects warnings.
    fn check(&mut self, read: &Read<'_>, prepared: Prepared) -> Result<Prepared, Status> {
        if self.options.skips_validation {
            return Ok(prepared);
        }
        let Prepared { object, .. } = &prepared;
        let live = read.stored.map(|_| &read.live);
        let change = Change { subresource: self.strategy(), object, live, now: self.request.now };
        let found = self.resource.object.kind.check(&change, !self.options.ignores_unions);
        let errors = found.errors;
        found.warnings.into_iter().for_each(|text| self.warnings.add(text));
        if !errors.is_empty() {
            let target = self.target(metadata::text(object, "name"));
            return Err(match found.named {
                Some(kind) => target.invalid_kind(&kind, &errors),
                None => target.invalid(&errors),
            });
        }
        found.notes.into_iter().for_each(|text| self.warnings.add(text));
        Ok(prepared)
    }

    /// The outcome of a valid object.
    fn outcome(&self, read: &Read<'_>, prepared: Prepared) -> Outcome {
        let Prepared { object, status } = prepared;
        let is_status = self.request.subresource == Subresource::Status;
        let status = status.filter(|_| is_status);
        let ends = read.stored.is_some() && metadata::ends(&object, &read.live);

        // The conversion of the status can be the only other change.
        let is_converted = is_converted(read);
        let stored_status = read.stored.and_then(|stored| stored.get("status"));
        let changes_status = is_converted && status.is_some() && status.as_ref() != stored_status;
        let object = match read.stored {
            Some(_) if !changes_status => ignore_timestamp_only_changes(&read.live, &object),
            _ => object,
        };
        let object = self.resource.object.kind.stored(&object);
        let scale = self.scale().map(|fields| fields.read(&object));

        // Defaults that the stored object lacks are a change; a field that the version of the store lacks is none.
        let action = match read.stored {
            None => Action::Create,
            Some(_) if ends => Action::Delete,
            Some(stored) if object.strict_eq(if is_converted { &read.live } else { stored }) => {
                Action::Nothing
            }
            Some(_) => Action::Update,
        };
        Outcome { object, scale, stored_status: status, warnings: Vec::new(), action }
    }

    /// Refuses to create an object that exists, or at a version. The store reads the version as a number, and takes no
    /// other string for one. A dry run does not reach it.
    fn check_is_new(&self, stored: Option<&Value>, version: &str, object: &Value) -> Result<(), Status> {
        let is_stored = self.request.options.dry_run.is_empty();
        if is_stored && version.parse::<u64>().is_ok_and(|version| version > 0) {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Status::failure(500, "", message.to_owned(), None));
        }
        let Some(live) = stored else { return Ok(()) };
        let mut status = self.target(metadata::text(object, "name")).already_exists();
        if metadata::field(live, "deletionTimestamp").is_some() {
            status.message = format!("object is being deleted: {}", status.message);
        }
        Err(status)
    }

    /// Whether an update creates an object that does not exist. The status of a kind has the strategy of its objects.
    fn creates_on_update(&self) -> bool {
        let is_whole = matches!(self.request.subresource, Subresource::Object | Subresource::Status);
        is_whole && self.part.policy.allows_create_on_update
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
    fn check_patched(&self, live: &Value, object: &Value) -> Result<Value, Status> {
        let uid = metadata::text(object, "uid");
        if !uid.is_empty() && metadata::text(live, "uid").is_empty() {
            let reason = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(self.target(self.request.name).conflict(reason));
        }
        self.in_place(object)
    }

    /// The object in the namespace of the request, if it has the name of the path.
    fn in_place(&self, object: &Value) -> Result<Value, Status> {
        let object = metadata::in_namespace(object, self.namespace())?;
        metadata::check_name(&object, self.request.name, self.request.namespace)?;
        Ok(object)
    }

    /// The fields of the `Scale` that the request is for.
    fn scale(&self) -> Option<&'r ScaleFields> {
        let (_, fields) = self.resource.scale.as_ref()?;
        (self.request.subresource == Subresource::Scale).then_some(fields)
    }

    /// The part of the object by whose rules it is written: a request for `scale` writes the whole object.
    fn strategy(&self) -> Subresource {
        match self.request.subresource {
            Subresource::Scale => Subresource::Object,
            other => other,
        }
    }

    /// The `Scale` of an object, with its managed fields.
    fn scale_of(&self, live: &Value, fields: &ScaleFields) -> Value {
        let handler = fields.handler(self.resource.object.manager.version());
        let managed = ManagedFields::of_object(live).unwrap_or_default();
        let scale = handler.to_subresource(&managed).set_in(&fields.read(live));
        match self.resource.object.policy.form {
            Form::Map if !fields.has_replicas(live) => scale::without_replicas(&scale),
            _ => scale,
        }
    }

    /// The object whose `Scale` was edited.
    fn scaled(&self, live: &Value, fields: &ScaleFields, after: &Value) -> Result<Value, Status> {
        if scale::lacks_replicas(after) {
            let path = status::quoted(&fields.replicas_path());
            return Err(Status::bad_request(format!("the spec replicas field {path} cannot be empty")));
        }
        // The storage of the `Scale` of a struct names the subresource and validates it. A map is validated as a whole.
        if self.resource.object.policy.form == Form::Struct {
            let plural = format!("{}/scale", self.resource.plural);
            let target = Target { plural: &plural, ..self.target(self.request.name) };
            check_uid(target, metadata::text(after, "uid"), metadata::text(live, "uid"))?;
            let subresource = Subresource::Object;
            let change = Change { subresource, object: after, live: None, now: self.request.now };
            let errors = self.part.kind.check(&change, false).errors;
            if !errors.is_empty() && !self.options.skips_validation {
                return Err(self.target(self.request.name).invalid_kind(&self.part.gvk, &errors));
            }
        }
        let object = fields.write(live, after);
        let object = match metadata::field(after, "resourceVersion").cloned() {
            Some(version) => metadata::with(&object, vec![("resourceVersion", Some(version))]),
            None => object,
        };
        let handler = fields.handler(self.resource.object.manager.version());
        let managed = ManagedFields::of_object(live).unwrap_or_default();
        let scale = ManagedFields::of_object(after).unwrap_or_default();
        Ok(handler.to_parent(&managed, &scale).set_in(&object))
    }

    /// The new object with its managed fields.
    fn track(&self, live: &Value, object: &Value) -> Value {
        let entries = metadata::field(object, "managedFields").and_then(Value::as_list).into_iter().flatten();
        let mut versions = entries.filter_map(|entry| entry.get("apiVersion")?.as_str());
        // A request to a subresource keeps the live entries, whatever its object has.
        let is_whole = self.request.subresource == Subresource::Object;
        let tracked = &self.part.policy.tracked;
        let tracks =
            |version: &str| tracked.as_ref().is_none_or(|known| known.iter().any(|known| known == version));
        let is_unknown = |version: &str| !version.is_empty() && !tracks(version);
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

    fn patch_type(&mut self) -> Result<PatchType, Status> {
        let content_type = body::media_type(self.request.content_type);
        let accepted = self.resource.patch_types;
        let found = accepted.iter().copied().find(|patch_type| patch_type.content_type() == content_type);
        found.ok_or_else(|| {
            // The routes of built-in kinds list the types of patches, and refuse others themselves.
            if self.resource.object.policy.form == Form::Struct {
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

    /// Refuses an object that names no version: the registry of the API server finds no kind for a map then.
    fn check_api_version(&self, object: &Value) -> Result<(), Status> {
        let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        if self.resource.object.policy.form == Form::Struct || !version.is_empty() {
            return Ok(());
        }
        let missing = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        let mut details = Details::default();
        details.causes.push(Cause::new("", missing, ""));
        let message = format!("Internal error occurred: {missing}");
        Err(Status::failure(500, "InternalError", message, Some(details)))
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

/// Whether the object is stored at another version than that of the request.
fn is_converted(read: &Read<'_>) -> bool {
    read.stored.is_some_and(|stored| stored.get("apiVersion") != read.live.get("apiVersion"))
}

fn check_uid(target: Target<'_>, wanted: &str, found: &str) -> Result<(), Status> {
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let reason = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
    Err(target.conflict(reason))
}
