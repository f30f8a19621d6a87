//! The types of an object at its versions.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_openapi::{GroupVersionKind, KindError};
use fieldmanager_schema::internal::{resolve_definitions, type_definitions};
use fieldmanager_schema::{Schema, Type, UNTYPED_DEDUCED};
use fieldmanager_value::{Str, Value};

use crate::outcome::{ErrorKind, StepError};
use crate::scenario::Scenario;

/// The type of the object at each version of a scenario, from one schema.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    by_version: BTreeMap<ApiVersion, Type>,
    /// The errors of versions without a type, if types are found by kind.
    missing: BTreeMap<ApiVersion, KindError>,
    names: BTreeMap<ApiVersion, Str>,
    schema: Schema,
}

impl Types {
    pub(crate) fn new(scenario: &Scenario, source: fieldmanager_openapi::Types) -> Self {
        let mut types = Types {
            by_version: BTreeMap::new(),
            missing: BTreeMap::new(),
            names: scenario.types.clone(),
            schema: source.schema().clone(),
        };
        let kind = kind(scenario);
        let renames = scenario
            .conversion
            .iter()
            .flat_map(|conversion| &conversion.renames);
        // If versions differ by renamed fields, each has its own copy of the type, which then identifies the version.
        let separate = renames.clone().next().is_some();

        // Renames and steps may be at versions that `types` does not list.
        let mut versions: BTreeSet<&ApiVersion> = scenario.types.keys().collect();
        versions.extend(renames.flat_map(BTreeMap::keys));
        versions.extend(
            scenario
                .steps
                .iter()
                .filter_map(|step| step.action.api_version()),
        );

        // The kind of the objects selects the type only if `types` is empty. A version without a type fails in the
        // steps that use it, so its error is kept until then.
        for version in versions {
            let by_kind = if types.names.is_empty() {
                Some(type_for_kind(&source, version, kind))
            } else {
                None
            };
            let found = match by_kind {
                Some(Err(error)) => {
                    types.missing.insert(version.clone(), error);
                    None
                }
                Some(Ok(found)) => types.type_named(found.name(), separate),
                None => types
                    .name_at(version)
                    .and_then(|name| types.type_named(name, separate)),
            };

            if let Some(found) = found {
                types.by_version.insert(version.clone(), found);
            }
        }

        types
    }

    fn name_at(&self, version: &ApiVersion) -> Option<&Str> {
        self.names.get(version).or_else(|| {
            let mut names = self.names.values();
            names.next().filter(|_| names.next().is_none())
        })
    }

    /// The type with a name. If versions are converted by renaming fields, each version has a separate copy, so that
    /// the type of a value identifies its version even if the names are equal.
    fn type_named(&self, name: &str, separate: bool) -> Option<Type> {
        let found = match self.schema.type_named(name) {
            None if name == UNTYPED_DEDUCED => Schema::deduced(),
            found => found?,
        };
        if !separate {
            return Some(found);
        }
        let definitions = type_definitions(found.schema()).to_vec();
        resolve_definitions(definitions).ok()?.type_named(name)
    }

    /// The type of the object at a version.
    pub(crate) fn at(&self, version: &ApiVersion) -> Result<Type, StepError> {
        if let Some(found) = self.by_version.get(version) {
            return Ok(found.clone());
        }
        // The lookup by kind failed when the scenario began, and its error belongs to every step at this version.
        if let Some(error) = self.missing.get(version) {
            let message = match error {
                KindError::Unnamed => {
                    "no object has a `kind` to find its type by, and there is no `types`".into()
                }
                error => error.to_string(),
            };
            return Err(StepError {
                kind: ErrorKind::Schema,
                message,
            });
        }

        // Either the schema lacks the type, or `types` lacks the version: the correction differs.
        let message = match self.name_at(version) {
            Some(name) => {
                format!(
                    "the schema has no type `{name}`, its types are {}",
                    quoted(self.schema.type_names())
                )
            }
            None => format!(
                "no type for apiVersion `{version}`, `types` has {}",
                quoted(self.names.keys().map(ApiVersion::as_str))
            ),
        };

        Err(StepError {
            kind: ErrorKind::Schema,
            message,
        })
    }

    /// A version at which objects have the type.
    pub(crate) fn version_of(&self, ty: &Type) -> Option<&ApiVersion> {
        let mut known = self.by_version.iter();
        known
            .find(|(_, known)| *known == ty)
            .map(|(version, _)| version)
    }
}

/// The kind of the scenario's objects: that of the first object with a kind.
fn kind(scenario: &Scenario) -> Option<&str> {
    let objects = scenario.steps.iter().flat_map(|step| step.action.objects());
    objects
        .filter_map(|object| object.get("kind").and_then(Value::as_str))
        .find(|kind| !kind.is_empty())
}

fn type_for_kind(
    types: &fieldmanager_openapi::Types,
    version: &ApiVersion,
    kind: Option<&str>,
) -> Result<Type, KindError> {
    match kind {
        Some(kind) => types.for_kind(&GroupVersionKind::from_api_version_kind(
            version.as_str(),
            kind,
        )),
        // The schema may have a single type.
        None => types.for_object(&Value::Null),
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
