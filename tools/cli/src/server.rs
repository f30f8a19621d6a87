//! The answers to requests of the command: by the handlers of an API server, or by the field manager alone.

use fieldmanager_handlers::internal::difference;
use fieldmanager_handlers::{Refused, Resource, Subresource};
use fieldmanager_managedfields::internal::{Difference, decode_lossy};
use fieldmanager_managedfields::{Entry, ManagedFields, Status, Time};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Str, Value};

use crate::alone::{self, Alone};
use crate::answer::{NO_UID, answer, stored, unstored};
use crate::args::RequestArgs;
use crate::error::Failure;
use crate::files;
use crate::request::{LATEST, Request, strip_hint};
use crate::types::{Source, resource};

/// The end of a generated name.
const NAME_SUFFIX: &str = "xxxxx";

/// A new object, and the warnings of the request that made it.
pub(crate) struct Written {
    pub(crate) object: Value,
    pub(crate) warnings: Vec<String>,
}

/// What answers the requests to one kind.
pub(crate) enum Server {
    /// A built-in kind or a custom resource.
    Handlers(Resource),
    /// A type.
    Alone(Alone),
}

impl Server {
    /// The server of the kind of a request.
    pub(crate) fn new(source: &Source, request: &Request<'_>) -> Result<Self, Failure> {
        // A patch has no kind of its own, so a fault about the type names the live file.
        let live_file = request.live_file.filter(|_| request.is_patch());
        let ty = source.of(
            request.type_name,
            request.object(),
            live_file.unwrap_or(request.file),
        )?;
        let RequestArgs {
            no_validation,
            no_defaults,
            ..
        } = *request.args;

        // Validation and defaults are those of a kind. Without either, and for a named type, the field manager is
        // enough.
        if request.type_name.is_none()
            && !(no_validation && no_defaults)
            && let Some(resource) = resource(
                source.documents(),
                &request.object().declared_kind(),
                !no_defaults,
            )
            .map_err(|error| Failure::input(source.name(), error))?
        {
            let resource = resource.unions(request.unions).validation(!no_validation);
            return Ok(Server::Handlers(resource));
        }

        Alone::new(source, &ty, request).map(Server::Alone)
    }

    /// Carries out a request.
    pub(crate) fn write(&self, request: &Request<'_>, force: bool) -> Result<Written, Failure> {
        let now = request.now()?;
        let (object, warnings) = match self {
            Server::Alone(alone) => (alone.write(request, force, now)?, Vec::new()),
            Server::Handlers(resource) => {
                let subresource = Subresource::of(&request.args.subresource).ok_or_else(|| {
                    let known = "expected status, scale, resize or ephemeralcontainers";
                    Failure::Usage(format!(
                        "--subresource {}: {known}",
                        request.args.subresource
                    ))
                })?;
                let sent = fieldmanager_handlers::Request::new(now)
                    .subresource(subresource)
                    .options(request.options(force))
                    .user_agent(request.user_agent)
                    .uid(NO_UID)
                    .name_suffix(NAME_SUFFIX);

                // The handlers expect an object as a server stores it. What only a store gives is removed from the
                // answer.
                let live = stored(resource, &request.live);
                let outcome = answer(resource, request.verb, &live, &request.given, sent)
                    .map_err(|refused| refusal(refused, request))?;
                (unstored(&request.live, &outcome.object), outcome.warnings)
            }
        };

        // Without `--time` the output does not depend on the clock.
        let object = if request.args.time.is_some() {
            object
        } else {
            untimed(&request.live, &object, now)
        };
        Ok(Written { object, warnings })
    }

    /// What a new object changes.
    pub(crate) fn difference(
        &self,
        request: &Request<'_>,
        new: &Value,
    ) -> Result<Difference, Failure> {
        let found = match self {
            Server::Handlers(resource) => {
                // The new object has the namespace that a server gives and not its version, so the live object must be
                // alike.
                let live = unstored(&request.live, &stored(resource, &request.live));
                difference(resource, &live, new)
            }
            Server::Alone(alone) => alone.difference(&request.live, new),
        };
        let file = files::name(request.file);
        let live = request
            .live_file
            .map_or_else(|| "live object".to_owned(), files::name);

        found.map_err(|error| alone::with_files(error, &request.args.manager, file, live))
    }
}

/// Converts the answer to a refused request. The objects cause a conflict or an invalid object, the given file all others.
fn refusal(refused: Refused, request: &Request<'_>) -> Failure {
    let Refused {
        status, conflicts, ..
    } = refused;
    // The state of the object causes these, so the command fails with another exit code than for wrong files.
    let (is_refused, wants_status) = (
        matches!(status.code, 409 | 422),
        request.args.wants_status(),
    );

    match conflicts {
        Some(conflicts) if !wants_status => Failure::Conflicts {
            conflicts,
            manager: request.args.manager.clone(),
        },
        _ if is_refused => Failure::refused(status, wants_status),
        _ if wants_status => Failure::Status(status),
        _ => Failure::input(files::name(request.file), strip_hint(&status.message)),
    }
}

/// The new object with the times of the live one in place of the time of the request.
pub(crate) fn untimed(live: &Value, object: &Value, now: Time) -> Value {
    let mut object = object.clone();
    for (part, name) in [
        ("metadata", "creationTimestamp"),
        ("status", "lastPhaseTransitionTime"),
    ] {
        let Some(Value::Map(fields)) = object.get(part) else {
            continue;
        };
        if fields.get(name).and_then(Value::as_str) == Some(LATEST) {
            let before = live.get(part).and_then(|part| part.get(name)).cloned();
            object = with_field(
                &object,
                part,
                &fields.with_edits(vec![(name.into(), before)]).into(),
            );
        }
    }

    // Entries that cannot be decoded have already failed the request.
    let [before, after] =
        [live, &object].map(|object| decode_lossy(object.managed_fields()).managed);
    let mut managed = ManagedFields::new();
    for mut entry in after.entries() {
        if entry.time == Some(now) {
            entry.time = time_of(&before, &entry);
        }
        managed.add(entry);
    }

    managed.set_in(&object)
}

fn with_field(object: &Value, name: &'static str, value: &Value) -> Value {
    let fields = object.as_map().cloned().unwrap_or_default();
    Value::Map(fields.with_edits(vec![(Str::from(name), Some(value.clone()))]))
}

fn time_of(managed: &ManagedFields, entry: &Entry) -> Option<Time> {
    let identity = entry.identity();
    managed
        .entries()
        .into_iter()
        .find(|known| known.identity() == identity)?
        .time
}

impl Failure {
    /// An API server would refuse the object: a `Status` if JSON output was requested.
    pub(crate) fn refused(status: Box<Status>, wants_status: bool) -> Self {
        if wants_status {
            Failure::RefusedStatus(status)
        } else {
            Failure::Refused(status.message)
        }
    }
}
