//! Outcomes of steps.

use std::fmt;

use fieldmanager_fieldpath::{Owners, Set};
use fieldmanager_merge as merge;
use fieldmanager_typed as typed;
use fieldmanager_value::{Map, Value};

use crate::scenario::ConflictAt;
use crate::schemas::SchemaError;
use crate::server::ExpectedEntry;

/// The outcome of a step.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A step that acts on the state succeeded.
    State(State),
    /// An object.
    Object(Value),
    /// Sets of fields, each with its name in the file: `fields`, or `added`, `modified` and `removed`.
    Sets(Vec<(&'static str, Set)>),
    /// The faults of an object's unions; empty if they are valid.
    Faults(Vec<typed::UnionFault>),
    /// The object is valid.
    Valid,
    /// Other managers own fields that the configuration would change; sorted by manager, then path.
    Conflicts(Vec<ConflictAt>),
    /// The step failed.
    Error(StepError),
}

/// The state on which the steps of a scenario act.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The live object, null before the first step.
    pub object: Value,
    /// The owners of its fields.
    pub managed: Owners,
}

/// The error of a failed step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StepError {
    /// The cause.
    pub kind: ErrorKind,
    /// The message.
    pub message: String,
}

/// The cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The schema.
    Schema,
    /// The object.
    Validation,
    /// The objects cannot be merged or compared.
    Merge,
    /// The object cannot be converted to another version.
    Conversion,
    /// The scenario requires something that its schema does not support.
    Unsupported,
    /// Any other cause.
    Other,
}

impl ErrorKind {
    /// The name in the conformance protocol.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Schema => "schema",
            ErrorKind::Validation => "validation",
            ErrorKind::Merge => "merge",
            ErrorKind::Conversion => "conversion",
            ErrorKind::Unsupported | ErrorKind::Other => "other",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Outcome {
    /// The outcome in the conformance protocol.
    ///
    /// ```
    /// use fieldmanager_harness::internal::{ErrorKind, Outcome, StepError};
    ///
    /// let failed = Outcome::Error(StepError {
    ///     kind: ErrorKind::Validation,
    ///     message: "expected numeric".into(),
    /// });
    /// assert_eq!(failed.to_value().to_json(), r#"{"error":"expected numeric","kind":"validation"}"#);
    /// ```
    pub fn to_value(&self) -> Value {
        match self {
            Outcome::State(state) => map([
                ("object", state.object.clone()),
                (
                    "managed",
                    entries_to_value(&ExpectedEntry::of_owners(&state.managed)),
                ),
            ]),
            Outcome::Object(object) => map([("object", object.clone())]),
            Outcome::Sets(sets) => {
                let sets = sets.iter().map(|(name, set)| (*name, set.to_value()));
                Value::Map(sets.collect())
            }
            Outcome::Faults(faults) => map([("faults", faults_to_value(faults))]),
            Outcome::Valid => map([]),
            Outcome::Conflicts(conflicts) => map([("conflicts", conflicts_to_value(conflicts))]),
            Outcome::Error(error) => map([
                ("error", error.message.as_str().into()),
                ("kind", error.kind.name().into()),
            ]),
        }
    }
}

pub(crate) fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(Map::from_iter(entries))
}

/// Managers in the format of scenarios: each has one entry, or a list of them.
pub(crate) fn entries_to_value(entries: &[ExpectedEntry]) -> Value {
    let of_manager = |entries: &[ExpectedEntry]| match entries {
        [one] => entry_to_value(one),
        several => Value::List(several.iter().map(entry_to_value).collect()),
    };
    // The entries of a manager are adjacent.
    let managers = entries.chunk_by(|a, b| a.manager == b.manager);
    let managers = managers.filter_map(|own| Some((own.first()?.manager.clone(), of_manager(own))));
    Value::Map(managers.collect())
}

fn entry_to_value(entry: &ExpectedEntry) -> Value {
    let mut fields = Map::from_iter([
        ("apiVersion", Value::from(entry.api_version.as_str())),
        ("operation", entry.operation.as_str().into()),
        (
            "fields",
            entry
                .fields
                .as_ref()
                .map_or_else(|| "any".into(), Set::to_value),
        ),
    ]);
    if !entry.subresource.is_empty() {
        fields.insert("subresource", entry.subresource.as_str());
    }

    Value::Map(fields)
}

/// Faults of unions in the format of scenarios.
pub(crate) fn faults_to_value(faults: &[typed::UnionFault]) -> Value {
    let faults = faults.iter().map(|fault| {
        map([
            ("path", fault.path.to_string().into()),
            ("message", fault.message.as_str().into()),
        ])
    });
    Value::List(faults.collect())
}

/// Conflicts in the format of scenarios.
pub(crate) fn conflicts_to_value<'c>(conflicts: impl IntoIterator<Item = &'c ConflictAt>) -> Value {
    let conflicts = conflicts.into_iter().map(|conflict| {
        map([
            ("manager", conflict.manager.as_str().into()),
            ("path", conflict.path.as_str().into()),
        ])
    });
    Value::List(conflicts.collect())
}

/// The reason why a step did not succeed: the outcomes that do not change the state.
pub(crate) enum Refusal {
    Conflicts(Vec<ConflictAt>),
    Error(StepError),
}

impl Refusal {
    pub(crate) fn other(message: String) -> Self {
        Refusal::Error(StepError {
            kind: ErrorKind::Other,
            message,
        })
    }

    pub(crate) fn unsupported(message: &str) -> Self {
        Refusal::Error(StepError {
            kind: ErrorKind::Unsupported,
            message: message.into(),
        })
    }

    fn from_error(kind: ErrorKind, error: &impl fmt::Display) -> Self {
        Refusal::Error(StepError {
            kind,
            message: error.to_string(),
        })
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Conflicts(conflicts) => Outcome::Conflicts(conflicts),
            Refusal::Error(error) => Outcome::Error(error),
        }
    }
}

impl From<StepError> for Refusal {
    fn from(error: StepError) -> Self {
        Refusal::Error(error)
    }
}

impl From<SchemaError> for Refusal {
    fn from(error: SchemaError) -> Self {
        Refusal::from_error(ErrorKind::Schema, &error)
    }
}

impl From<typed::ValidationErrors> for Refusal {
    fn from(errors: typed::ValidationErrors) -> Self {
        let schema = errors.is_schema_fault();
        let kind = if schema {
            ErrorKind::Schema
        } else {
            ErrorKind::Validation
        };
        Refusal::from_error(kind, &errors)
    }
}

impl From<typed::Error> for Refusal {
    fn from(error: typed::Error) -> Self {
        let kind = match &error {
            typed::Error::Invalid(errors) if errors.is_schema_fault() => ErrorKind::Schema,
            _ => ErrorKind::Merge,
        };
        Refusal::from_error(kind, &error)
    }
}

impl From<merge::ConvertError> for Refusal {
    fn from(error: merge::ConvertError) -> Self {
        Refusal::from_error(ErrorKind::Conversion, &error)
    }
}

impl From<merge::Error> for Refusal {
    fn from(error: merge::Error) -> Self {
        if let Some(conflicts) = error.conflicts() {
            let conflicts = conflicts.iter().map(|conflict| ConflictAt {
                manager: conflict.manager.to_string(),
                path: conflict.path.to_string(),
            });
            let mut conflicts: Vec<_> = conflicts.collect();
            conflicts.sort();
            return Refusal::Conflicts(conflicts);
        }

        let kind = match error.kind() {
            merge::ErrorKind::Schema => ErrorKind::Schema,
            merge::ErrorKind::Conversion => ErrorKind::Conversion,
            _ => ErrorKind::Merge,
        };
        Refusal::from_error(kind, &error)
    }
}
