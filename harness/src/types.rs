//! The types of an object at its versions.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_schema::{Schema, Type, UNTYPED_DEDUCED};
use fieldmanager_value::Str;

use crate::outcome::{ErrorKind, StepError};
use crate::scenario::Scenario;

/// The type of the object at each version of a scenario, by one schema.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    by_version: BTreeMap<ApiVersion, Type>,
    names: BTreeMap<ApiVersion, Str>,
    schema: Schema,
}

impl Types {
    pub(crate) fn new(scenario: &Scenario, schema: Schema) -> Self {
        let mut types = Types { by_version: BTreeMap::new(), names: scenario.types.clone(), schema };
        let renames = scenario.conversion.iter().flat_map(|conversion| &conversion.renames);
        let separate = renames.clone().next().is_some();
        let mut versions: BTreeSet<&ApiVersion> = scenario.types.keys().collect();
        versions.extend(renames.flat_map(BTreeMap::keys));
        versions.extend(scenario.steps.iter().filter_map(|step| step.action.api_version()));
        for version in versions {
            let found = types.name_at(version).and_then(|name| types.named(name, separate));
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

    /// The type of a name. Where versions are converted by renaming fields, each has a copy of its own:
    /// the type of a value then says at which version the value is, even if the name is the same.
    fn named(&self, name: &str, separate: bool) -> Option<Type> {
        let found = match self.schema.type_named(name) {
            None if name == UNTYPED_DEDUCED => Schema::deduced(),
            found => found?,
        };
        if !separate {
            return Some(found);
        }
        let definitions = found.schema().definitions().to_vec();
        Schema::from_definitions(definitions).ok()?.type_named(name)
    }

    /// The type of the object at a version.
    pub(crate) fn at(&self, version: &ApiVersion) -> Result<Type, StepError> {
        if let Some(found) = self.by_version.get(version) {
            return Ok(found.clone());
        }
        if self.names.is_empty() {
            return Err(StepError {
                kind: ErrorKind::Unsupported,
                message: "a scenario without `types` is not supported yet".into(),
            });
        }
        let message = match self.name_at(version) {
            Some(name) => {
                format!("the schema has no type `{name}`, its types are {}", quoted(self.schema.type_names()))
            }
            None => format!(
                "no type for apiVersion `{version}`, `types` has {}",
                quoted(self.names.keys().map(ApiVersion::as_str))
            ),
        };
        Err(StepError { kind: ErrorKind::Schema, message })
    }

    /// The version, or one of the versions, that a type is of.
    pub(crate) fn version_of(&self, ty: &Type) -> Option<&ApiVersion> {
        let mut known = self.by_version.iter();
        known.find(|(_, known)| *known == ty).map(|(version, _)| version)
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
