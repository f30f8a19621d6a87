//! A write, from the request to its outcome. Each step makes a value from those before it:
//!
//! | value | step | what it is |
//! |---|---|---|
//! | [`Sent`] | `decode` | the body of the request |
//! | [`Read`] | `read` | the live object as the request sees it, whose preconditions hold |
//! | [`Edited`] | `edit` | the object that the request makes of it, with the owners of its fields |
//! | `Pending` | admission | the same, changed by others |
//! | [`Edited`] | `whole` | the object of a `Scale` that was edited, and what any new object lacks |
//! | [`Prepared`] | `prepare` | the object without what the request cannot change |
//! | [`Prepared`] | `check` | the same, valid |
//! | [`Outcome`] | `outcome` | the object to store, and the effect on the storage |

use fieldmanager_builtin::KindDescription;
use fieldmanager_managedfields::internal::update_no_errors;
use fieldmanager_managedfields::{
    Details, RequestKind, Status, UpdateRequest, ignore_timestamp_only_changes,
};
use fieldmanager_patch::PatchType;
use fieldmanager_value::Value;

use crate::body::{self, Body, Given};
use crate::edited::Edited;
use crate::kind::{Change, Form, Unseen};
use crate::metadata;
use crate::outcome::{Action, Outcome, Refused};
use crate::part::{Inner, Options};
use crate::patch::Patch;
use crate::preconditions::{check_uid, check_version};
use crate::request::{Method, Request, Subresource};
use crate::state::Write;
use crate::status::{Target, unsupported_media_type};
use crate::warnings::Warnings;

/// The body of a request.
enum Sent {
    Object(Edited),
    Patch(Patch),
    /// The configuration of an apply.
    Config(Body<'static>),
}

/// The object before the request.
pub(crate) struct Read<'r> {
    /// The object as it is stored; `None` if there is none, or if the request creates another one.
    pub(crate) stored: Option<&'r Value>,
    /// The object at the version of the request, with today's defaults.
    live: Value,
    /// What the request edits: the object, or its `Scale`.
    pub(crate) seen: Value,
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
    /// Reads an object that is not stored.
    pub(crate) fn ask(
        resource: &'r Inner,
        options: Options,
        request: &'r Request<'r>,
        body: &[u8],
    ) -> Result<Outcome, Refused> {
        let mut write = Write::new(resource, options, request)?;
        match write.question(body) {
            Ok(outcome) => Ok(Outcome {
                warnings: write.warnings.into_vec(),
                ..outcome
            }),
            Err(status) => Err(write.refused(status.into())),
        }
    }

    pub(crate) fn new(
        resource: &'r Inner,
        options: Options,
        request: &'r Request<'r>,
    ) -> Result<Self, Refused> {
        let mut warnings = Warnings::default();
        resource
            .object
            .policy
            .deprecation
            .iter()
            .for_each(|text| warnings.add(text));

        // A missing subresource is an unknown path; even this answer has the warning of a deprecated version.
        let Some(part) = resource.part(request.subresource) else {
            let kind = &resource.object.gvk;
            let target = Target {
                kind,
                plural: &resource.plural,
                name: request.name,
            };
            return Err(Refused {
                warnings: warnings.into_vec(),
                ..target.not_found().into()
            });
        };

        let manager = request.manager_name();
        Ok(Write {
            resource,
            part,
            options,
            request,
            manager,
            warnings,
        })
    }

    /// The refusal with the warnings of the steps before: they are sent with any answer.
    pub(crate) fn refused(self, refused: Refused) -> Refused {
        Refused {
            warnings: self.warnings.into_vec(),
            ..refused
        }
    }

    /// The steps before admission.
    pub(crate) fn before_admission(
        &mut self,
        method: Method,
        stored: Option<&'r Value>,
        body: Given<'_>,
    ) -> Result<(Read<'r>, Edited), Refused> {
        let sent = self.decode(method, body)?;
        let read = self.read(method, stored, &sent)?;
        let edited = self.edit(&read, sent)?;
        Ok((read, edited))
    }

    /// The steps after admission.
    pub(crate) fn after_admission(
        &mut self,
        method: Method,
        stored: Option<&'r Value>,
        read: &Read<'r>,
        edited: Edited,
    ) -> Result<Outcome, Status> {
        let edited = self.whole(method, read, edited)?;
        let version = metadata::text(&edited.object, "resourceVersion").to_owned();
        let prepared = self.prepare(read, edited)?;
        let prepared = self.check(read, prepared)?;
        if method == Method::Create {
            self.check_is_new(stored, &version, &prepared.object)?;
        }

        Ok(self.outcome(read, prepared))
    }

    /// The object of a body that is not stored.
    fn question(&mut self, body: &[u8]) -> Result<Outcome, Status> {
        self.check_options(RequestKind::Create)?;
        let Edited { object, .. } = self.object_of(Given::Text(body))?;
        // A request to an action of an object may say by the uid which one it means.
        let object = if self.request.name.is_empty() {
            metadata::without_system_fields(&object)
        } else {
            object
        };
        let object = metadata::in_namespace(&object, self.request.namespace)?;

        Ok(Outcome {
            object: self.track(&Value::Null, &object),
            scale: None,
            stored_status: None,
            stored: None,
            complete: None,
            warnings: Vec::new(),
            action: Action::Create,
        })
    }

    /// Reads the body, and checks what it and the request say by themselves.
    fn decode(&mut self, method: Method, body: Given<'_>) -> Result<Sent, Status> {
        if method == Method::Create {
            // A subresource has no collection to which an object can be posted.
            if self.request.subresource != Subresource::Object {
                let message = "the server does not allow this method on the requested resource";
                return Err(Status::failure(
                    405,
                    "MethodNotAllowed",
                    message.to_owned(),
                    None,
                ));
            }

            self.check_options(RequestKind::Create)?;
            let edited = self.object_of(body)?;
            let object = metadata::without_system_fields(&edited.object);
            let object = metadata::in_namespace(&object, self.namespace())?;
            let object = metadata::without_duplicate_owners(&object, &mut self.warnings, false);
            return Ok(Sent::Object(Edited { object, ..edited }));
        }

        // An update names its object; a create may leave the name to the server.
        if method == Method::Update {
            self.check_has_name()?;
            self.check_options(RequestKind::Update)?;
            let edited = self.object_of(body)?;
            let object = self.in_place(&edited.object)?;
            let object = metadata::without_duplicate_owners(&object, &mut self.warnings, false);
            return Ok(Sent::Object(Edited { object, ..edited }));
        }

        // An unknown type of patch is refused before the name and the options are checked.
        let patch_type = self.patch_type()?;
        self.check_has_name()?;
        if patch_type != PatchType::Apply {
            self.check_options(RequestKind::Patch)?;
            return Ok(Sent::Patch(Patch::read(patch_type, &body.bytes())?));
        }
        self.check_options(RequestKind::Apply)?;
        let config = body::read_yaml(&body.bytes())
            .map_err(|error| Status::bad_request(format!("error encoding patch: yaml: {error}")))?;

        Ok(Sent::Config(config))
    }

    /// Reads the live object, and checks that the request is for it.
    fn read(
        &self,
        method: Method,
        stored: Option<&'r Value>,
        sent: &Sent,
    ) -> Result<Read<'r>, Status> {
        // An apply to the object itself always creates a missing one; a patch never does.
        let creates = match sent {
            Sent::Object(_) => method == Method::Create || self.creates_on_update(),
            Sent::Config(_) => {
                self.request.subresource == Subresource::Object || self.creates_on_update()
            }
            Sent::Patch(_) => false,
        };

        // Only a whole object can have a uid here; that of a patch is checked after it is applied.
        let uid = match sent {
            Sent::Object(edited) => metadata::text(&edited.object, "uid"),
            _ => "",
        };
        let target = self.target(self.request.name);

        let Some(stored) = stored.filter(|_| method != Method::Create) else {
            // The edit runs first if an update might create the object.
            if !creates && !self.part.policy.allows_create_on_update {
                return Err(target.not_found());
            }
            if creates {
                check_uid(target, uid, "")?;
            }

            return Ok(Read {
                stored: None,
                live: Value::Null,
                seen: Value::Null,
                creates,
            });
        };

        let live = self.resource.object.kind.read(stored);
        check_uid(target, uid, metadata::text(&live, "uid"))?;
        let seen = match self.scale() {
            Some(fields) => self.scale_of(&live, fields),
            None => live.clone(),
        };
        Ok(Read {
            stored: Some(stored),
            live,
            seen,
            creates,
        })
    }

    /// The object that the request makes of what it sees, with managed fields.
    fn edit(&mut self, read: &Read<'_>, sent: Sent) -> Result<Edited, Refused> {
        let edited = match sent {
            Sent::Object(edited) => Edited {
                object: self.track(&read.seen, &edited.object),
                ..edited
            },
            Sent::Patch(_) if read.seen.is_null() => {
                return Err(self.target(self.request.name).not_found().into());
            }
            Sent::Patch(patch) => {
                let edited = patch.apply(self, &read.seen)?;
                let object = self.track(&read.seen, &edited.object);
                Edited {
                    object: self.check_patched(&read.seen, &object)?,
                    ..edited
                }
            }
            Sent::Config(config) => self.apply(&read.seen, config)?,
        };

        // The faults of the request precede the missing object.
        if read.stored.is_none() && !read.creates {
            return Err(self.target(self.request.name).not_found().into());
        }
        Ok(edited)
    }

    /// The whole object: that of an edited `Scale`, without owners that occur again, and a new one without what only the
    /// server sets.
    fn whole(&mut self, method: Method, read: &Read<'_>, edited: Edited) -> Result<Edited, Status> {
        // kube-apiserver looks for duplicate owners again after admission. Those that a patch or an apply adds are
        // found only now.
        let deduplicated = |object: &Value, warnings: &mut Warnings| {
            metadata::without_duplicate_owners(object, warnings, true)
        };
        let object = match (read.stored, self.scale()) {
            (None, _) if method == Method::Create => {
                deduplicated(&edited.object, &mut self.warnings)
            }
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
        match read.stored {
            None => self.prepare_new(edited),
            Some(stored) => self.prepare_changed(read, stored, edited),
        }
    }

    /// A new object, with what only the server sets.
    fn prepare_new(&self, edited: Edited) -> Result<Prepared, Status> {
        let Request {
            now,
            uid,
            name_suffix,
            ..
        } = *self.request;
        let object = metadata::with_system_fields(&edited.object, now, uid, name_suffix);
        let object = metadata::in_namespace(&object, self.namespace())?;

        // The strategy of the kind sees the uid, by which some kinds are named.
        let object = self.resource.object.kind.prepare(&Change {
            subresource: self.strategy(),
            object: &object,
            live: None,
            now,
        });
        let status = edited.unseen.status;

        Ok(Prepared { object, status })
    }

    /// A changed object, without what the request cannot change.
    fn prepare_changed(
        &self,
        read: &Read<'_>,
        stored: &Value,
        edited: Edited,
    ) -> Result<Prepared, Status> {
        let (kind, live, subresource) = (&*self.resource.object.kind, &read.live, self.strategy());

        // What the request can write, at the version of the live object.
        let object = self.at_live_version(live, &edited.object)?;
        self.check_api_version(&object)?;
        let object = metadata::in_namespace(&object, self.namespace())?;
        let object = metadata::with_generation(&object, metadata::generation(live));
        let object = kind.prepare(&Change {
            subresource,
            object: &object,
            live: Some(live),
            now: self.request.now,
        });

        // A change that only the store sees raises the generation too.
        let generation = metadata::generation(live);
        let is_same_generation = metadata::generation(&object) == generation;
        let Unseen { has_empty, status } = edited.unseen;
        let is_changed = || has_empty || !edited.keeps_live && kind.changes_stored(stored, &object);
        let raises = subresource == Subresource::Object && is_same_generation && is_changed();
        let object = if raises {
            metadata::with_generation(&object, generation + 1)
        } else {
            object
        };

        // Allocation precedes validation in kube-apiserver and answers 500; by default the object goes on to
        // validation.
        if let Some(fault) = kind
            .allocation_fault(&object)
            .filter(|_| self.options.server_answers)
        {
            return Err(Status::failure(500, "", fault, None));
        }

        let is_stored = self.request.options.dry_run.is_empty();
        let object = metadata::with_kept_fields(&object, live, is_stored);
        let status = match status {
            Some(_) if is_converted(read) && edited.keeps_live => stored.get("status").cloned(),
            status => status,
        };
        Ok(Prepared { object, status })
    }

    /// Refuses an object with faults, and collects warnings.
    fn check(&mut self, read: &Read<'_>, prepared: Prepared) -> Result<Prepared, Status> {
        if self.options.skips_validation {
            return Ok(prepared);
        }
        let Prepared { object, .. } = &prepared;
        let live = read.stored.map(|_| &read.live);
        let change = Change {
            subresource: self.strategy(),
            object,
            live,
            now: self.request.now,
        };
        let found = self
            .resource
            .object
            .kind
            .check(&change, !self.options.ignores_unions);

        // Warnings are sent with any answer, notes only with the answer to a valid object.
        let errors = found.errors;
        found
            .warnings
            .into_iter()
            .for_each(|text| self.warnings.add(text));

        if !errors.is_empty() {
            let target = self.target(metadata::text(object, "name"));
            return Err(match found.named {
                Some(kind) => target.invalid_kind(&kind, &errors),
                None => target.invalid(&errors),
            });
        }

        found
            .notes
            .into_iter()
            .for_each(|text| self.warnings.add(text));
        Ok(prepared)
    }

    /// The outcome of a valid object.
    fn outcome(&self, read: &Read<'_>, prepared: Prepared) -> Outcome {
        let Prepared { object, status } = prepared;
        let is_status = self.request.subresource == Subresource::Status;
        let status = status.filter(|_| is_status);
        let is_namespace = KindDescription::find(&self.resource.object.gvk).is_namespace;
        let ends = read.stored.is_some() && metadata::ends(&object, &read.live, is_namespace);

        // The conversion of the status can be the only other change.
        let is_converted = is_converted(read);
        let stored_status = read.stored.and_then(|stored| stored.get("status"));
        let changes_status = is_converted && status.is_some() && status.as_ref() != stored_status;
        let object = match read.stored {
            Some(_) if !changes_status => ignore_timestamp_only_changes(&read.live, &object),
            _ => object,
        };
        let kind = &self.resource.object.kind;
        let (answer, stored) = kind.stored(&object);
        // Validating webhooks see an object before it is stored, and fields end with that.
        let complete = stored.as_ref().map(|_| object);
        let object = answer;
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

        Outcome {
            object,
            scale,
            stored_status: status,
            stored,
            complete,
            warnings: Vec::new(),
            action,
        }
    }

    /// Whether an update creates an object that does not exist. The status of a kind has the strategy of its objects.
    fn creates_on_update(&self) -> bool {
        let is_whole = matches!(
            self.request.subresource,
            Subresource::Object | Subresource::Status
        );
        is_whole && self.part.policy.allows_create_on_update
    }

    /// The new object with its managed fields.
    fn track(&self, live: &Value, object: &Value) -> Value {
        let entries = metadata::field(object, "managedFields")
            .and_then(Value::as_list)
            .into_iter()
            .flatten();
        let mut versions = entries.filter_map(|entry| entry.get("apiVersion")?.as_str());

        // A request to a subresource keeps the live entries, whatever its object has.
        let is_whole = self.request.subresource == Subresource::Object;
        let tracked = &self.part.policy.tracked;
        let tracks = |version: &str| {
            tracked
                .as_ref()
                .is_none_or(|known| known.iter().any(|known| known == version))
        };
        let is_unknown = |version: &str| !version.is_empty() && !tracks(version);
        let own = object
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();

        // The server records nothing of a request whose entries it cannot convert: the live entries stay.
        if is_unknown(own) || is_whole && versions.any(is_unknown) {
            return metadata::with(
                object,
                vec![(
                    "managedFields",
                    metadata::field(live, "managedFields").cloned(),
                )],
            );
        }

        let request = UpdateRequest::new(live, object)
            .manager(&self.manager)
            .at(self.request.now);
        update_no_errors(&self.part.manager, request).object
    }

    fn patch_type(&mut self) -> Result<PatchType, Status> {
        let content_type = body::media_type(self.request.content_type);
        let accepted = self.resource.patch_types;
        let found = accepted
            .iter()
            .copied()
            .find(|patch_type| patch_type.content_type() == content_type);
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

            let accepted: Vec<&str> = accepted
                .iter()
                .map(|patch_type| patch_type.content_type())
                .collect();
            unsupported_media_type(&accepted)
        })
    }
}

/// Whether the object is stored at another version than that of the request.
fn is_converted(read: &Read<'_>) -> bool {
    read.stored
        .is_some_and(|stored| stored.get("apiVersion") != read.live.get("apiVersion"))
}
