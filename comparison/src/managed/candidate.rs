//! The library's side: a sequence of writes to one object, as the oracle describes them.

use fieldmanager_managedfields::internal::update_no_errors;
use fieldmanager_managedfields::{
    ApplyRequest, Error, ObjectConverter, Outcome, Time, UpdateRequest,
};
use fieldmanager_value::{Map, Str, Value};
use serde_json::{Value as Json, json};

use super::resource::{Known, Resource, parse, with};
use crate::json::{back, flag, own, text};

/// The object of a request during its steps.
pub(crate) struct Sequence {
    resource: Resource,
    live: Option<Value>,
    subresource: String,
}

/// Why a step failed: an error of the library, or one before the library is called.
enum Failure {
    Library(Box<Error>),
    Before(String),
}

impl Sequence {
    /// The state before the first step.
    pub(crate) fn new(request: &Json, known: &mut Known) -> Result<Self, String> {
        Ok(Sequence {
            resource: Resource::new(request, known)?,
            live: request.get("live").filter(|live| live.is_object()).map(own),
            subresource: text(request, "subresource").to_owned(),
        })
    }

    /// Continues with another live object.
    pub(crate) fn adopt(&mut self, live: &Json) {
        self.live = Some(own(live));
    }

    /// Continues with another live object, or without one if it is null.
    pub(crate) fn adopt_or_none(&mut self, live: &Json) {
        self.live = live.is_object().then(|| own(live));
    }

    /// Runs a step. The answer is `{"live"}`, `{"status", "kind"}` or `{"before"}`. A failed step does not change the
    /// live object.
    pub(crate) fn step(&mut self, step: &Json, index: usize) -> Json {
        match self.write(step, index) {
            Ok(live) => {
                let answer = json!({"live": back(&live)});
                self.live = Some(live);
                answer
            }
            Err(Failure::Before(message)) => json!({"before": message}),
            Err(Failure::Library(error)) => {
                let status = serde_json::to_value(error.status()).unwrap_or_default();
                json!({"status": status, "kind": format!("{:?}", error.kind()), "error": name(&error)})
            }
        }
    }

    fn write(&mut self, step: &Json, index: usize) -> Result<Value, Failure> {
        let object = step
            .get("object")
            .filter(|object| object.is_object())
            .map_or(Value::Map(Map::new()), own);
        let (kind, subresource) = match text(step, "kind") {
            "status-update" => ("update", "status"),
            "status-apply" => ("apply", "status"),
            "set" => return Ok(object),
            kind @ ("create" | "update" | "apply") => (kind, text(step, "subresource")),
            other => return Err(Failure::Before(format!("unknown kind of step `{other}`"))),
        };
        // A step without a subresource is for the handler that the request names.
        let subresource = if subresource.is_empty() {
            self.subresource.clone()
        } else {
            subresource.to_owned()
        };

        // The oracle also counts seconds from 2020-01-01 on; equal times would hide the order of entries.
        let now = match text(step, "time") {
            "" => Time::from_unix_seconds(1_577_836_800 + i64::try_from(index).unwrap_or_default()),
            time => time.parse(),
        };
        let now = now.map_err(|error| Failure::Before(error.to_string()))?;
        let version = self.version(step, kind, &object);

        if parse(&version).is_none() {
            return Err(Failure::Before(format!(
                "unexpected GroupVersion string: {version}"
            )));
        }

        // A create does not see the live object, even if there is one.
        let manager = self
            .resource
            .manager(&version, &subresource)
            .map_err(Failure::Before)?;
        let created = self.live.is_none() || kind == "create";
        let live = if created {
            Value::Null
        } else {
            self.live.clone().unwrap_or(Value::Null)
        };
        let name = text(step, "manager");
        let library = |error: Error| Failure::Library(Box::new(error));

        // The field manager converts a configuration; the handler converts the object of any other write before.
        let result = if kind == "apply" {
            let force = flag(step, "force");
            manager
                .apply(
                    ApplyRequest::new(&live, &object)
                        .manager(name)
                        .force_if(force)
                        .at(now),
                )
                .map_err(library)?
                .object
        } else {
            let object = self.to_hub(&object)?;
            if flag(step, "noErrors") {
                update_no_errors(
                    &manager,
                    UpdateRequest::new(&live, &object).manager(name).at(now),
                )
                .object
            } else {
                let Outcome { object, .. } = manager
                    .update(UpdateRequest::new(&live, &object).manager(name).at(now))
                    .map_err(library)?;
                object
            }
        };

        Ok(self.stored(result, &live, &version, &subresource, created))
    }

    /// The result after the strategy of the resource, with the UID of a new object.
    fn stored(
        &self,
        result: Value,
        live: &Value,
        version: &str,
        subresource: &str,
        created: bool,
    ) -> Value {
        // A create has no old object, so an empty one stands for it.
        let mut result = result;
        if self.resource.has_status {
            let header = [
                ("apiVersion", version),
                ("kind", self.resource.kind.as_str()),
            ];
            let empty = || {
                Value::Map(
                    header
                        .iter()
                        .map(|(name, text)| (Str::from(*name), Value::from(*text)))
                        .collect(),
                )
            };

            let old = if live.is_null() {
                empty()
            } else {
                live.clone()
            };
            result = other_half(&result, &old, subresource, created);
        }

        // A registry gives a new object a UID unless it has one.
        let uid = result
            .get("metadata")
            .and_then(|metadata| metadata.get("uid"))
            .and_then(Value::as_str);
        if created && !self.resource.uid.is_empty() && uid.is_none_or(str::is_empty) {
            result = with(
                &result,
                "metadata",
                "uid",
                Some(self.resource.uid.as_str().into()),
            );
        }

        result
    }

    fn version(&self, step: &Json, kind: &str, object: &Value) -> String {
        let requested = text(step, "apiVersion");
        if !requested.is_empty() {
            return requested.to_owned();
        }
        let own = object
            .get("apiVersion")
            .and_then(Value::as_str)
            .filter(|own| kind != "apply" && !own.is_empty());
        own.unwrap_or(&self.resource.version).to_owned()
    }

    /// Handlers convert the object of a request to the stored version.
    fn to_hub(&self, object: &Value) -> Result<Value, Failure> {
        let hub = &self.resource.hub;
        match object.get("apiVersion").and_then(Value::as_str) {
            None | Some("") => Ok(object.clone()),
            Some(own) if own == hub => Ok(object.clone()),
            Some(_) => {
                let converted = self
                    .resource
                    .converter
                    .convert(object, &hub.as_str().into());
                converted.map_err(|error| Failure::Before(error.to_string()))
            }
        }
    }
}

/// The strategies of a custom resource with a status subresource, which run after the field manager: a write does not
/// change the other half of the object, and managed fields are always the new ones.
fn other_half(result: &Value, old: &Value, subresource: &str, created: bool) -> Value {
    let edit = |object: &Value, status: Option<&Value>| {
        let fields = object.as_map().cloned().unwrap_or_default();
        Value::Map(fields.with_edits(vec![("status".into(), status.cloned())]))
    };
    match subresource {
        "status" => {
            let list = result
                .get("metadata")
                .and_then(|metadata| metadata.get("managedFields"))
                .cloned();
            edit(
                &with(old, "metadata", "managedFields", list),
                result.get("status"),
            )
        }
        "" => edit(result, old.get("status").filter(|_| !created)),
        _ => result.clone(),
    }
}

/// The variant of an error.
fn name(error: &Error) -> &'static str {
    match error {
        Error::Conflicts(_) => "conflicts",
        Error::ObjectType { .. } => "object type",
        Error::ManagedFieldsInConfig => "managed fields in configuration",
        Error::NotAnObject { .. } => "not an object",
        Error::Entry(_) => "entry",
        Error::Kind { .. } | Error::Invalid { .. } | Error::Convert { .. } => "object",
        Error::Merge(_) => "merge",
        _ => "other",
    }
}
