//! Requests that write an object: the field manager of its kind, and the steps of an API server before and after it.

use std::path::Path;

use fieldmanager_managedfields::internal::DryRun;
use fieldmanager_managedfields::{
    ApplyRequest, Entry, Error, ErrorKind, FieldManager, ManagedFields, Outcome, PatchRequest, Status, Time,
    UpdateRequest,
};
use fieldmanager_openapi::Types;
use fieldmanager_patch::{PatchSchema, PatchType};
use fieldmanager_schema::Type;
use fieldmanager_structural::{FieldPath, GroupVersionKind, Structural, validate_managed_fields};
use fieldmanager_value::{Str, Value};

use crate::args::{RequestArgs, WriteArgs};
use crate::custom::Reset;
use crate::error::Failure;
use crate::files::Files;
use crate::plain;
use crate::types::{self, Source};

/// The time of a request without a time: the latest possible second, so that no entry is later.
const NOT_NOTED: i64 = 253_402_207_200;

/// Serves requests for one kind.
pub(crate) struct Server {
    manager: FieldManager,
    /// Whether the objects have no `apiVersion`.
    plain: bool,
    reset: Reset,
    structural: Option<Structural>,
}

/// The time of a request, and whether entries record it.
#[derive(Clone, Copy)]
struct Clock {
    time: Time,
    noted: bool,
}

impl Clock {
    fn new(noted: Option<Time>) -> Result<Self, Failure> {
        match noted {
            Some(time) => Ok(Clock { time, noted: true }),
            None => Time::from_unix_seconds(NOT_NOTED)
                .map(|time| Clock { time, noted: false })
                .map_err(|error| Failure::Other(error.to_string())),
        }
    }
}

/// The objects and the manager of a request.
pub(crate) struct Request<'a> {
    pub(crate) live: &'a Value,
    pub(crate) given: &'a Value,
    pub(crate) manager: &'a str,
    clock: Clock,
}

impl<'a> Request<'a> {
    pub(crate) fn new(
        live: &'a Value,
        given: &'a Value,
        manager: &'a str,
        time: Option<Time>,
    ) -> Result<Self, Failure> {
        Ok(Request { live, given, manager, clock: Clock::new(time)? })
    }
}

/// The object whose kind a [`Server`] serves, and the options of its field manager.
pub(crate) struct Target<'a> {
    /// The name of the type; by default the object determines it.
    pub(crate) type_name: Option<&'a str>,
    pub(crate) subresource: &'a str,
    pub(crate) unions: bool,
    pub(crate) object: &'a Value,
    pub(crate) file: &'a Path,
}

impl Server {
    /// Creates a server for the kind of the given object.
    pub(crate) fn new(args: &WriteArgs, given: &Value, live: &Value, files: Files) -> Result<Self, Failure> {
        let target = Target {
            type_name: args.of.type_name.as_deref(),
            subresource: &args.request.subresource,
            unions: args.unions,
            object: given,
            file: &args.file,
        };
        Self::with(&types::load(args.of.schema.as_deref(), files)?, &target, live)
    }

    /// Creates a server from loaded types.
    pub(crate) fn with(source: &Source, target: &Target<'_>, live: &Value) -> Result<Self, Failure> {
        let given = target.object;
        let ty = source.of(target.type_name, given, target.file)?;
        let plain = plain::is_plain(given);
        let kind = kind_of(&if plain { plain::versioned(given) } else { given.clone() });
        let types = match plain {
            true => plain::types(&ty, &kind)?,
            false => types_for(source, target, &ty, &kind, live),
        };
        let mut builder = FieldManager::builder(kind.clone())
            .types(types)
            .subresource(target.subresource)
            .unions(target.unions);
        let mut server_reset = Reset::Nothing;
        let mut structural = None;
        if let Some(resource) = source.custom_resource(&kind)? {
            let fault = |error: fieldmanager_structural::crd::CrdError| Failure::input(source.name(), error);
            for (version, set) in resource.reset_fields(&kind.version, target.subresource).map_err(fault)? {
                builder = builder.reset_fields(version, set);
            }
            server_reset = Reset::of(resource.version(&kind.version).map_err(fault)?, target.subresource);
            structural = resource.structural(&kind.version).map_err(fault)?;
        }
        if let Some(schema) = structural.clone() {
            // Defaulting fails only on objects that nest too deeply. The next step refuses such an object.
            builder = builder
                .defaulter(move |object| schema.default_object(object).unwrap_or_else(|_| object.clone()));
        }
        let manager = builder.build().map_err(|error| Failure::input(source.name(), error))?;
        Ok(Server { manager, plain, reset: server_reset, structural })
    }

    pub(crate) fn apply(&self, request: &Request<'_>, force: bool) -> Result<Value, Error> {
        let (live, config) = (self.live(request), self.given(request));
        let outcome = self.manager.apply(
            ApplyRequest::new(&live, &config).manager(request.manager).force_if(force).at(request.clock.time),
        )?;
        Ok(self.after(request, &outcome))
    }

    pub(crate) fn update(&self, request: &Request<'_>) -> Result<Value, Error> {
        let (live, new) = (self.live(request), self.with_defaults(&self.given(request)));
        let outcome = self
            .manager
            .update(UpdateRequest::new(&live, &new).manager(request.manager).at(request.clock.time))?;
        Ok(self.after(request, &outcome))
    }

    /// Applies a patch. `given` is the patch.
    pub(crate) fn patch(
        &self,
        request: &Request<'_>,
        how: PatchType,
        schema: Option<PatchSchema<'_>>,
    ) -> Result<Value, Error> {
        let live = self.live(request);
        let (patch, time) = (request.given, request.clock.time);
        let outcome = self
            .manager
            .patch(PatchRequest::new(&live, patch, how).schema(schema).manager(request.manager).at(time))?;
        Ok(self.after(request, &outcome))
    }

    pub(crate) fn dry_run_apply(&self, request: &Request<'_>) -> Result<DryRun, Error> {
        let (live, config) = (self.live(request), self.given(request));
        let run = self.manager.dry_run_apply(
            ApplyRequest::new(&live, &config).manager(request.manager).at(request.clock.time),
        )?;
        Ok(self.without_reset(run))
    }

    pub(crate) fn dry_run_update(&self, request: &Request<'_>) -> Result<DryRun, Error> {
        let (live, new) = (self.live(request), self.with_defaults(&self.given(request)));
        let run = self.manager.dry_run_update(
            UpdateRequest::new(&live, &new).manager(request.manager).at(request.clock.time),
        )?;
        Ok(self.without_reset(run))
    }

    pub(crate) fn dry_run_patch(
        &self,
        request: &Request<'_>,
        how: PatchType,
        schema: Option<PatchSchema<'_>>,
    ) -> Result<DryRun, Error> {
        let live = self.live(request);
        let (patch, time) = (request.given, request.clock.time);
        let run = self.manager.dry_run_patch(
            PatchRequest::new(&live, patch, how).schema(schema).manager(request.manager).at(time),
        )?;
        Ok(self.without_reset(run))
    }

    /// Sets the defaults of a custom resource, as an API server does when it decodes the object.
    fn with_defaults(&self, object: &Value) -> Value {
        let defaults = self.structural.as_ref().and_then(|schema| schema.default_object(object).ok());
        defaults.unwrap_or_else(|| object.clone())
    }

    fn live(&self, request: &Request<'_>) -> Value {
        if self.plain { plain::versioned(request.live) } else { request.live.clone() }
    }

    fn given(&self, request: &Request<'_>) -> Value {
        if self.plain { plain::versioned(request.given) } else { request.given.clone() }
    }

    fn after(&self, request: &Request<'_>, outcome: &Outcome) -> Value {
        let mut object = self.reset.object(request.live, &outcome.object);
        if self.plain {
            object = plain::unversioned(&object);
        }
        if request.clock.noted {
            return object;
        }
        // Entries that cannot be decoded have already failed the request.
        let before = ManagedFields::decode_lossy(entries_of(request.live)).managed;
        let mut managed = ManagedFields::new();
        for mut entry in outcome.managed.entries() {
            if entry.time == Some(request.clock.time) {
                entry.time = time_of(&before, &entry);
            }
            managed.add(entry);
        }
        managed.set_in(&object)
    }

    fn without_reset(&self, mut run: DryRun) -> DryRun {
        run.changes.retain(|change| !self.reset.resets(&change.path));
        run
    }
}

fn time_of(managed: &ManagedFields, entry: &Entry) -> Option<Time> {
    let identity = entry.identity();
    managed.entries().into_iter().find(|known| known.identity() == identity)?.time
}

pub(crate) fn entries_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

fn kind_of(object: &Value) -> GroupVersionKind {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    GroupVersionKind::from_api_version_kind(text("apiVersion"), text("kind"))
}

/// The types that a field manager needs. If the object's kind does not determine its type, the object has the same type
/// at every version of its entries.
fn types_for(
    source: &Source,
    target: &Target<'_>,
    ty: &Type,
    kind: &GroupVersionKind,
    live: &Value,
) -> Types {
    if target.type_name.is_none() && !kind.kind.is_empty() {
        return source.types.clone();
    }
    let entries = entries_of(live).and_then(Value::as_list);
    let versions = entries.into_iter().flatten().filter_map(|entry| entry.get("apiVersion")?.as_str());
    let mut kinds: Vec<(GroupVersionKind, Str)> = vec![(kind.clone(), ty.name().into())];
    for version in versions {
        kinds.push((GroupVersionKind::from_api_version_kind(version, &kind.kind), ty.name().into()));
    }
    Types::new(ty.schema().clone(), kinds)
}

/// Checks the managed fields of a new object as an API server does before it stores the object.
pub(crate) fn check_managed_fields(object: &Value, args: &RequestArgs) -> Result<(), Failure> {
    let path = FieldPath::root("metadata").child("managedFields");
    let errors = validate_managed_fields(entries_of(object), &path);
    if errors.is_empty() {
        return Ok(());
    }
    let name = object.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
    let status = Status::invalid(&kind_of(object), name.unwrap_or_default(), &errors);
    Err(match args.wants_status() {
        true => Failure::RefusedStatus(Box::new(status)),
        false => Failure::Refused(status.message),
    })
}

/// The remedy for entries at a version with other fields.
const CONVERSION: &str = ": only versions that differ in nothing but `apiVersion` can be converted, \
    `fieldmanager migrate --drop NAME` removes entries at other versions";

/// Converts an error and names the file that caused it: the given one or the live one.
pub(crate) fn failure(error: Error, manager: &str, given: &Path, live: Option<&Path>) -> Failure {
    let given = crate::files::name(given);
    let live = live.map_or_else(|| "live object".to_owned(), crate::files::name);
    match error {
        Error::Conflicts(conflicts) => Failure::Conflicts { conflicts, manager: manager.to_owned() },
        Error::Invalid { callers: true, source, .. } => Failure::Invalid { file: given, errors: source },
        Error::Invalid { source, .. } => Failure::Invalid { file: live, errors: source },
        Error::Entry(fault) => Failure::input(live, fault),
        Error::ManagedFieldsInConfig => {
            Failure::input(given, format!("{error} in a configuration: `fieldmanager strip` removes it"))
        }
        other => match other.kind() {
            ErrorKind::Stored => Failure::input(live, other),
            ErrorKind::Conversion => Failure::input(live, format!("{other}{CONVERSION}")),
            _ => Failure::input(given, other),
        },
    }
}
