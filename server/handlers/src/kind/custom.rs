//! Custom resources.

use fieldmanager_cel::Evaluated;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::{Str, Value};

use super::unions::Unions;
use super::{Change, Checked, Decoded, Form, Kind, Origin, Policy, deprecated};
use crate::body;
use crate::custom::{Decoder, Validator};
use crate::metadata;
use crate::request::Subresource;

/// A custom resource at one version.
pub(crate) struct Custom {
    decoder: Decoder,
    validator: Validator,
    unions: Unions,
    /// Whether the version has the subresource `status`.
    has_status: bool,
    /// Whether objects are stored at the version.
    is_storage: bool,
    /// Whether the server reads and converts what is stored.
    converts_by_webhook: bool,
}

impl Custom {
    /// The kind at a version. The error is a message.
    pub(crate) fn new(
        definition: &CustomResource,
        version: &str,
        has_defaults: bool,
    ) -> Result<Self, String> {
        let declared = definition
            .version(version)
            .map_err(|error| error.to_string())?;
        let decoder = Decoder::new(definition, version).map_err(|error| error.to_string())?;
        let schema = decoder.schema().cloned();
        let validator = Validator::with_schema(definition, version, schema)
            .map_err(|error| error.to_string())?;
        Ok(Custom {
            decoder: decoder.with_defaults(has_defaults),
            validator,
            unions: Unions::of(definition, version),
            has_status: declared.status,
            is_storage: declared.storage,
            converts_by_webhook: definition.converts_by_webhook,
        })
    }

    /// What a custom resource allows at a version.
    pub(crate) fn policy(definition: &CustomResource, version: &str) -> Policy {
        let versions = definition.versions.iter();
        Policy {
            form: Form::Map,
            allows_unconditional_update: false,
            allows_create_on_update: false,
            deprecation: deprecated::warning(definition, version),
            converts_by_webhook: definition.converts_by_webhook,
            tracked: Some(
                versions
                    .map(|version| format!("{}/{}", definition.group, version.name))
                    .collect(),
            ),
        }
    }

    /// An object that an apply made, with defaults.
    pub(crate) fn applied(&self, object: &Value) -> Value {
        // Validation reports the fault of an object without a valid type.
        self.decoder
            .default(object)
            .unwrap_or_else(|_| object.clone())
    }
}

impl Kind for Custom {
    fn decode(&self, object: &Value, _: Origin) -> Result<Decoded, String> {
        let decoded = self
            .decoder
            .decode(object)
            .map_err(|error| error.to_string())?;
        Ok(Decoded {
            object: decoded.object,
            unknown: super::unknown_fields(&decoded.unknown),
        })
    }

    fn defaulted(&self, object: &Value) -> Value {
        // The decoder fills in defaults.
        object.clone()
    }

    fn read(&self, stored: &Value) -> Value {
        // What the server passes on was read and converted by it.
        if self.converts_by_webhook {
            return stored.clone();
        }
        self.decoder
            .read_stored(stored)
            .unwrap_or_else(|_| stored.clone())
    }

    fn stored(&self, object: &Value) -> (Value, Option<Value>) {
        let stored = if self.converts_by_webhook {
            object.clone()
        } else {
            match self.decoder.to_stored(object) {
                Ok(stored) => stored,
                Err(_) => return (object.clone(), None),
            }
        };
        let stored = with_whole_numbers(&stored).unwrap_or(stored);
        // The answer is what a read gives: fields that the stored version lacks are gone, and the status, which a create
        // cannot set, has its defaults. Of an object that a webhook converts, the server makes it.
        let read = match (self.converts_by_webhook, self.is_storage) {
            (true, _) => Ok(stored.clone()),
            (false, true) => self.decoder.default(&stored),
            (false, false) => self.decoder.read_stored(&stored),
        };

        let to_store = metadata::with(&stored, vec![("resourceVersion", None)]);
        (read.unwrap_or(stored), Some(to_store))
    }

    fn prepare(&self, change: &Change<'_>) -> Value {
        let Change {
            subresource,
            object,
            live,
            ..
        } = *change;

        // With the subresource, only requests to `status` set the status.
        let Some(live) = live else {
            let object = if self.has_status {
                with_field(object, "status", None)
            } else {
                object.clone()
            };
            return metadata::with_generation(&object, 1);
        };

        if subresource == Subresource::Status {
            let updated = with_status_of(object, live);
            // An object of another kind or version was decoded without defaults.
            let is_own = ["apiVersion", "kind"]
                .iter()
                .all(|name| object.get(name) == live.get(name));
            return if is_own {
                updated
            } else {
                self.applied(&updated)
            };
        }

        let object = if self.has_status {
            with_field(object, "status", live.get("status").cloned())
        } else {
            object.clone()
        };

        // The generation counts changes of what controllers act on, which metadata is not part of.
        if same_apart_from_metadata(&object, live) {
            object
        } else {
            metadata::with_generation(&object, metadata::generation(live) + 1)
        }
    }

    fn check(&self, change: &Change<'_>, unions: bool) -> Checked {
        let Change {
            subresource,
            object,
            live,
            ..
        } = *change;

        // A new object has no old values, so all of its faults count.
        let found = match (live, subresource) {
            (None, _) => Evaluated {
                errors: self.validator.validate_create(object),
                ..Evaluated::default()
            },
            (Some(live), Subresource::Status) => {
                self.validator.validate_status_update(object, live)
            }
            (Some(live), _) => self.validator.validate_update(object, live),
        };

        let mut errors = found.errors;
        if unions {
            errors.extend(self.unions.faults(object, live));
        }
        Checked {
            errors,
            // An object of another kind is refused by the name of its own.
            named: Some(body::own_kind(object)),
            warnings: found.warnings,
            notes: self.validator.warnings(object, live),
        }
    }

    fn missing_kind(&self, object: &Value) -> Option<String> {
        let kind = object
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default();
        kind.is_empty()
            .then(|| format!("Object 'Kind' is missing in '{}'", object.to_json()))
    }
}

/// The value as Go reads what it wrote: 3.0 is written as 3, which is an integer. `None` if there is no such number.
fn with_whole_numbers(value: &Value) -> Option<Value> {
    match value {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the number is whole and fits"
        )]
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 9.2e18 => {
            Some(Value::Int(*number as i64))
        }
        Value::Map(fields) => {
            let changed = fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), Some(with_whole_numbers(value)?))));
            let edits: Vec<(Str, Option<Value>)> = changed.collect();
            (!edits.is_empty()).then(|| Value::Map(fields.with_edits(edits)))
        }
        Value::List(items) => {
            let changed: Vec<Option<Value>> = items.iter().map(with_whole_numbers).collect();
            changed.iter().any(Option::is_some).then(|| {
                let items = items.iter().zip(changed);
                Value::List(
                    items
                        .map(|(old, new)| new.unwrap_or_else(|| old.clone()))
                        .collect(),
                )
            })
        }
        _ => None,
    }
}

fn with_field(object: &Value, name: &str, value: Option<Value>) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    if fields.get(name) == value.as_ref() {
        return object.clone();
    }
    Value::Map(fields.with_edits(vec![(Str::from(name), value)]))
}

/// The live object with the status and the managed fields of a request.
///
/// Behaviour: `PrepareForUpdate` of `statusStrategy` in `k8s.io/apiextensions-apiserver/pkg/registry/customresource`.
fn with_status_of(object: &Value, live: &Value) -> Value {
    let new = with_field(live, "status", object.get("status").cloned());
    let managed = metadata::field(object, "managedFields").cloned();
    let version = metadata::field(object, "resourceVersion").cloned();
    metadata::with(
        &new,
        vec![("managedFields", managed), ("resourceVersion", version)],
    )
}

fn same_apart_from_metadata(a: &Value, b: &Value) -> bool {
    let rest = |object: &Value| {
        let fields = object.as_map().cloned().unwrap_or_default();
        Value::Map(fields.with_edits(vec![("metadata".into(), None)]))
    };
    // In Go, 3 and 3.0 are values of two types.
    rest(a).strict_eq(&rest(b))
}
