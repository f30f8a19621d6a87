//! Requests that write an object, and who answers them: the handlers of an API server, or the field manager alone.

use std::path::Path;

use fieldmanager_handlers::{Refused, Resource, Subresource};
use fieldmanager_managedfields::internal::Difference;
use fieldmanager_managedfields::{
    Entry, ManagedFields, RequestKind, RequestOptions, Status, Time, manager_name,
};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Str, Value};

use crate::alone::{self, Alone};
use crate::answer::{Asked, NO_UID, Verb, answer, stored, unstored};
use crate::args::RequestArgs;
use crate::error::Failure;
use crate::files;
use crate::types::Source;

/// The time of a request without a time: the latest of all, so that no entry is later.
const LATEST: &str = "9999-12-31T23:59:59Z";

/// The end of a generated name.
const NAME_SUFFIX: &str = "xxxxx";

/// A request to write an object.
pub(crate) struct Request<'a> {
    pub(crate) verb: Verb,
    pub(crate) args: &'a RequestArgs,
    pub(crate) user_agent: &'a str,
    pub(crate) unions: bool,
    /// The name of the type; by default the object determines it.
    pub(crate) type_name: Option<&'a str>,
    /// The live object; null if there is none.
    pub(crate) live: Value,
    pub(crate) live_file: Option<&'a Path>,
    /// The configuration, the new object, or the patch.
    pub(crate) given: Value,
    pub(crate) file: &'a Path,
}

impl<'a> Request<'a> {
    /// The object that has the kind: a patch may have none.
    pub(crate) fn object(&self) -> &Value {
        if self.is_patch() { &self.live } else { &self.given }
    }

    /// The name of the manager.
    pub(crate) fn manager(&self) -> String {
        manager_name(&self.args.manager, self.user_agent)
    }

    /// The parameters of the request.
    pub(crate) fn options(&self, force: bool) -> RequestOptions {
        let force = (self.verb == Verb::Apply).then_some(force);
        RequestOptions::default().field_manager(&*self.args.manager).force(force)
    }

    /// Checks the parameters as an API server does.
    pub(crate) fn check_options(&self) -> Result<(), Failure> {
        let kind = match self.verb {
            Verb::Apply => RequestKind::Apply,
            Verb::Update => RequestKind::Update,
            Verb::Patch(_) => RequestKind::Patch,
        };
        self.options(false).validate(kind).map_err(|invalid| match self.args.wants_status() {
            true => Failure::Status(Box::new(invalid.status())),
            false if self.args.manager.is_empty() => Failure::Usage(format!("{invalid} (--manager NAME)")),
            false => Failure::Usage(invalid.to_string()),
        })
    }

    fn is_patch(&self) -> bool {
        matches!(self.verb, Verb::Patch(_))
    }

    fn now(&self) -> Result<Time, Failure> {
        let latest =
            || LATEST.parse().map_err(|error: fieldmanager_managedfields::TimeError| error.to_string());
        self.args.time.map_or_else(latest, Ok).map_err(Failure::Other)
    }
}

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
        let live_file = request.live_file.filter(|_| request.is_patch());
        let ty = source.of(request.type_name, request.object(), live_file.unwrap_or(request.file))?;
        let RequestArgs { no_validation, no_defaults, .. } = *request.args;
        if request.type_name.is_none()
            && !(no_validation && no_defaults)
            && let Some(resource) = source.resource(&kind_of(request.object()), !no_defaults)?
        {
            let resource = resource.server_answers(true).unions(request.unions).validation(!no_validation);
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
                    let known = "expected status, scale or ephemeralcontainers";
                    Failure::Usage(format!("--subresource {}: {known}", request.args.subresource))
                })?;
                let asked = Asked {
                    verb: request.verb,
                    subresource,
                    live: &stored(resource, &request.live),
                    given: &request.given,
                    options: request.options(force),
                    user_agent: request.user_agent,
                    now,
                    uid: NO_UID,
                    name_suffix: NAME_SUFFIX,
                };
                let outcome = answer(resource, &asked).map_err(|refused| refusal(refused, request))?;
                (unstored(&request.live, &outcome.object), outcome.warnings)
            }
        };
        let object = if request.args.time.is_some() { object } else { untimed(&request.live, &object, now) };
        Ok(Written { object, warnings })
    }

    /// What a new object changes.
    pub(crate) fn difference(&self, request: &Request<'_>, new: &Value) -> Result<Difference, Failure> {
        let found = match self {
            Server::Handlers(resource) => {
                let live = unstored(&request.live, &stored(resource, &request.live));
                resource.difference(&live, new)
            }
            Server::Alone(alone) => alone.difference(&request.live, new),
        };
        let file = files::name(request.file);
        let live = request.live_file.map_or_else(|| "live object".to_owned(), files::name);
        found.map_err(|error| alone::with_files(error, &request.args.manager, file, live))
    }
}

/// Converts the answer to a refused request. The objects cause a conflict or an invalid object, the given file all others.
fn refusal(refused: Refused, request: &Request<'_>) -> Failure {
    let Refused { status, conflicts, .. } = refused;
    let (is_refused, wants_status) = (matches!(status.code, 409 | 422), request.args.wants_status());
    match conflicts {
        Some(conflicts) if !wants_status => {
            Failure::Conflicts { conflicts, manager: request.args.manager.clone() }
        }
        _ if is_refused => Failure::refused(status, wants_status),
        _ if wants_status => Failure::Status(status),
        _ => Failure::input(files::name(request.file), strip_hint(&status.message)),
    }
}

/// A message with the remedy for a configuration that has managed fields.
pub(crate) fn strip_hint(message: &str) -> String {
    match message {
        "metadata.managedFields must be nil" => {
            format!("{message} in a configuration: `fieldmanager strip` removes it")
        }
        other => other.to_owned(),
    }
}

/// The new object with the times of the live one in place of the time of the request.
fn untimed(live: &Value, object: &Value, now: Time) -> Value {
    let mut object = object.clone();
    for (part, name) in [("metadata", "creationTimestamp"), ("status", "lastPhaseTransitionTime")] {
        let Some(Value::Map(fields)) = object.get(part) else { continue };
        if fields.get(name).and_then(Value::as_str) == Some(LATEST) {
            let before = live.get(part).and_then(|part| part.get(name)).cloned();
            object = with_field(&object, part, &fields.with_edits(vec![(name.into(), before)]).into());
        }
    }
    // Entries that cannot be decoded have already failed the request.
    let [before, after] =
        [live, &object].map(|object| ManagedFields::decode_lossy(entries_of(object)).managed);
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
    managed.entries().into_iter().find(|known| known.identity() == identity)?.time
}

pub(crate) fn entries_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

pub(crate) fn kind_of(object: &Value) -> GroupVersionKind {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    GroupVersionKind::from_api_version_kind(text("apiVersion"), text("kind"))
}

impl Failure {
    /// An API server would refuse the object: a `Status` if JSON output was requested.
    pub(crate) fn refused(status: Box<Status>, wants_status: bool) -> Self {
        if wants_status { Failure::RefusedStatus(status) } else { Failure::Refused(status.message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_later_than_that_of_a_request_without_a_time() {
        let latest: Time = LATEST.parse().unwrap_or_else(|error| panic!("{error}"));
        assert!(Time::from_unix_seconds(latest.unix_seconds() + 1).is_err());
    }
}
