//! Requests to write an object: from arguments to the field manager of its kind, and what an apiserver does around it.

use std::path::Path;

use fieldmanager_managedfields::{
    DryRun, Entry, Error, ErrorKind, FieldManager, Force, ManagedFields, Outcome, Time,
};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_openapi::Types;
use fieldmanager_openapi::structural::Structural;
use fieldmanager_patch::{PatchSchema, PatchType};
use fieldmanager_schema::Type;
use fieldmanager_value::{Str, Value};

use crate::args::{TypeArgs, WriteArgs};
use crate::custom::Reset;
use crate::error::Failure;
use crate::plain;
use crate::types::{self, Source};

/// The last second that there is, in place of a time that is not noted: who acts now is nobody's elder.
const NOT_NOTED: i64 = 253_402_207_200;

/// Serves requests for one kind.
pub(crate) struct Server {
    manager: FieldManager,
    /// Whether the objects have no `apiVersion` but that which they are given here.
    plain: bool,
    reset: Reset,
    structural: Option<Structural>,
}

/// When a request is made, and whether that is noted.
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

/// The object that a request makes of the live one.
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

impl Server {
    /// For the kind of the object that is given.
    pub(crate) fn new(args: &WriteArgs, given: &Value, live: &Value) -> Result<Self, Failure> {
        Self::with(&types::load(args.of.schema.as_deref())?, args, given, live)
    }

    /// With types that are loaded already.
    pub(crate) fn with(
        source: &Source,
        args: &WriteArgs,
        given: &Value,
        live: &Value,
    ) -> Result<Self, Failure> {
        let ty = source.of(args.of.type_name.as_deref(), given, &args.file)?;
        let plain = plain::is_plain(given);
        let kind = kind_of(&if plain { plain::versioned(given) } else { given.clone() });
        let types = match plain {
            true => plain::types(&ty, &kind)?,
            false => types_for(source, &args.of, &ty, &kind, live),
        };
        let mut builder = FieldManager::builder(kind.clone())
            .types(types)
            .subresource(args.subresource.as_str())
            .unions(args.unions);
        let mut server_reset = Reset::Nothing;
        let mut structural = None;
        if let Some(resource) = source.custom_resource(&kind)? {
            let fault = |error: fieldmanager_openapi::crd::CrdError| Failure::input(source.name(), error);
            for (version, set) in resource.reset_fields(&kind.version, &args.subresource).map_err(fault)? {
                builder = builder.reset_fields(version, set);
            }
            server_reset = Reset::of(resource.version(&kind.version).map_err(fault)?, &args.subresource);
            structural = resource.structural(&kind.version).map_err(fault)?;
        }
        if let Some(schema) = structural.clone() {
            // Too deep a default would be too deep an object, which the next step refuses.
            builder = builder
                .defaulter(move |object| schema.default_object(object).unwrap_or_else(|_| object.clone()));
        }
        let manager = builder.build().map_err(|error| Failure::input(source.name(), error))?;
        Ok(Server { manager, plain, reset: server_reset, structural })
    }

    pub(crate) fn apply(&self, request: &Request<'_>, force: Force) -> Result<Value, Error> {
        let (live, config) = (self.live(request), self.given(request));
        let outcome = self.manager.apply(&live, &config, request.manager, force, request.clock.time)?;
        Ok(self.after(request, &outcome))
    }

    pub(crate) fn update(&self, request: &Request<'_>) -> Result<Value, Error> {
        let (live, new) = (self.live(request), self.with_defaults(&self.given(request)));
        let outcome = self.manager.update(&live, &new, request.manager, request.clock.time)?;
        Ok(self.after(request, &outcome))
    }

    /// What is given is the patch.
    pub(crate) fn patch(
        &self,
        request: &Request<'_>,
        how: PatchType,
        schema: Option<PatchSchema<'_>>,
    ) -> Result<Value, Error> {
        let live = self.live(request);
        let (patch, time) = (request.given, request.clock.time);
        let outcome = self.manager.patch(&live, patch, how, schema, request.manager, time)?;
        Ok(self.after(request, &outcome))
    }

    pub(crate) fn dry_run_apply(&self, request: &Request<'_>) -> Result<DryRun, Error> {
        let (live, config) = (self.live(request), self.given(request));
        let run = self.manager.dry_run_apply(&live, &config, request.manager, request.clock.time)?;
        Ok(self.without_reset(run))
    }

    pub(crate) fn dry_run_update(&self, request: &Request<'_>) -> Result<DryRun, Error> {
        let (live, new) = (self.live(request), self.with_defaults(&self.given(request)));
        let run = self.manager.dry_run_update(&live, &new, request.manager, request.clock.time)?;
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
        let run = self.manager.dry_run_patch(&live, patch, how, schema, request.manager, time)?;
        Ok(self.without_reset(run))
    }

    /// A custom resource gets its defaults when it is decoded.
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
        // What cannot be read has failed the request before.
        let (before, _) = ManagedFields::decode_lossy(entries_of(request.live));
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

/// The types that a field manager needs. An object whose kind does not say its type has the type that was named or
/// found, at each version that somebody wrote at.
fn types_for(source: &Source, args: &TypeArgs, ty: &Type, kind: &GroupVersionKind, live: &Value) -> Types {
    if args.type_name.is_none() && !kind.kind.is_empty() {
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

/// What can be done where somebody wrote at a version with other fields.
const CONVERSION: &str = ": of one version only `apiVersion` can be changed to get another, \
    `fieldmanager migrate --drop NAME` takes out entries at others";

/// The one whose fault it is that an object is refused: the file that is given, or the live one.
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
