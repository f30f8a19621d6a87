//! Runs the steps of a scenario.

use fieldmanager_fieldpath::{ApiVersion, Owners, Set};
use fieldmanager_merge::{ApplyRequest, Converter, UpdateRequest, Updater};
use fieldmanager_patch::{PatchType, PatchTypes};
use fieldmanager_typed::{Duplicates, KeyFields, TypedValue};
use fieldmanager_value::Value;

use crate::convert::Versions;
use crate::outcome::{ErrorKind, Outcome, Refusal, State, StepError};
use crate::patches;
use crate::scenario::{
    Action, ManagedWrite, ObjectFunction, PairFunction, Scenario, SetOperation, WriteVerb,
};
use crate::schemas::{SchemaError, SchemaSource};
use crate::types::Types;

/// A running scenario.
///
/// The caller runs each step, so it can inspect the state between steps, or run steps that are not in the scenario. A
/// failed step does not change the state.
///
/// ```
/// use fieldmanager_harness::internal::Runner;
/// use fieldmanager_harness::Scenario;
///
/// let scenario = Scenario::from_yaml("
/// schema: {types: [{name: app, map: {fields: [{name: replicas, type: {scalar: numeric}}]}}]}
/// types: {v1: app}
/// steps:
/// - apply: {manager: alice, apiVersion: v1, object: {replicas: 1}}
/// ")?;
/// let mut runner = Runner::new(&scenario)?;
/// assert!(runner.state().object.is_null());
/// let outcome = runner.step(&scenario.steps[0].action);
/// assert_eq!(runner.state().object.to_json(), r#"{"replicas":1}"#);
/// assert!(outcome.to_value().get("managed").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Runner<'s> {
    scenario: &'s Scenario,
    versions: Versions,
    updater: Updater,
    strategies: Option<PatchTypes>,
    live: Option<TypedValue>,
    owners: Owners,
    /// The managers that the steps so far visited.
    visited: usize,
}

/// The maximum number of managers that the steps visit together. Each apply and update looks at all managers of the
/// object, so thousands of managers that apply one after the other visit millions.
const MAX_VISITED: usize = 20_000_000;

impl<'s> Runner<'s> {
    /// Starts a scenario without a live object and without managers.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if the schema cannot be used.
    pub fn new(scenario: &'s Scenario) -> Result<Self, SchemaError> {
        let (versions, updater) = set_up(scenario, scenario.schema.types()?);
        let strategies = scenario.schema.strategies();
        Ok(Runner {
            scenario,
            versions,
            updater,
            strategies,
            live: None,
            owners: Owners::new(),
            visited: 0,
        })
    }

    /// The state after the steps so far.
    pub fn state(&self) -> State {
        State {
            object: self
                .live
                .as_ref()
                .map(|live| live.value().clone())
                .unwrap_or_default(),
            managed: self.owners.clone(),
        }
    }

    /// The live object, at the version of the last step that wrote it.
    #[cfg(feature = "apiserver")]
    pub(crate) fn live(&self) -> Option<&TypedValue> {
        self.live.as_ref()
    }

    /// Runs one step.
    pub fn step(&mut self, action: &Action) -> Outcome {
        self.visited = self.visited.saturating_add(self.owners.len());
        if self.visited > MAX_VISITED {
            let message =
                format!("the steps of a scenario visit at most {MAX_VISITED} managers together");
            return Outcome::from(Refusal::from(StepError {
                kind: ErrorKind::Other,
                message,
            }));
        }
        self.attempt(action).unwrap_or_else(Outcome::from)
    }

    fn attempt(&mut self, action: &Action) -> Result<Outcome, Refusal> {
        match action {
            Action::Write(write) => self.write(write),
            Action::ChangeSchema { schema } => self.change_schema(schema),
            Action::OfObject {
                function,
                api_version,
                object,
            } => self.of_object(function, object, api_version),
            Action::OfPair {
                function,
                api_version,
                old,
                new,
            } => {
                let old = self.typed(old, api_version, Duplicates::Allow)?;
                let new = self.typed(new, api_version, Duplicates::Allow)?;
                of_pair(*function, &old, &new)
            }
            Action::Set {
                operation,
                lhs,
                rhs,
            } => Ok(Outcome::Sets(vec![(
                "fields",
                compute(*operation, lhs, rhs),
            )])),
            Action::Request(_) | Action::Parallel(_) | Action::Watch(_) | Action::Wait(_) => Err(
                Refusal::unsupported(&format!("`{}` needs an API server", action.name())),
            ),
        }
    }

    fn of_object(
        &self,
        function: &ObjectFunction,
        object: &Value,
        version: &ApiVersion,
    ) -> Result<Outcome, Refusal> {
        // Only validation is about duplicates: the other functions accept what a live object may have.
        let duplicates = match function {
            ObjectFunction::Validate(duplicates) => *duplicates,
            _ => Duplicates::Allow,
        };
        let object = self.typed(object, version, duplicates)?;
        Ok(match function {
            ObjectFunction::Validate(_) => Outcome::Valid,
            ObjectFunction::Fieldset => Outcome::Sets(vec![("fields", object.field_set())]),
            ObjectFunction::Remove(fields) => {
                Outcome::Object(object.remove_items(fields).value().clone())
            }
            ObjectFunction::Extract(fields, key_fields) => {
                Outcome::Object(object.extract_items(fields, *key_fields).value().clone())
            }
        })
    }

    fn typed(
        &self,
        object: &Value,
        version: &ApiVersion,
        duplicates: Duplicates,
    ) -> Result<TypedValue, Refusal> {
        let ty = self.versions.types.at(version)?;
        Ok(TypedValue::new(object.clone(), ty, duplicates)?)
    }

    /// The live object at the version of a step.
    fn live_at(&self, version: &ApiVersion) -> Result<TypedValue, Refusal> {
        let live = match &self.live {
            Some(live) => live.clone(),
            None => TypedValue::null(self.versions.types.at(version)?),
        };
        Ok(self.versions.convert(&live, version)?)
    }

    fn write(&mut self, write: &ManagedWrite) -> Result<Outcome, Refusal> {
        let ManagedWrite {
            verb,
            manager,
            api_version: version,
            given,
        } = write;
        // An apply refuses duplicate items, as the API server does, since their paths would be the same. An update
        // accepts them, because a live object may have them.
        let given = match verb {
            WriteVerb::Apply { .. } => self.typed(given, version, Duplicates::Refuse)?,
            WriteVerb::Update => self.typed(given, version, Duplicates::Allow)?,
            WriteVerb::Patch(how) => self.patched(version, *how, given)?,
            WriteVerb::ExtractApply => {
                let config = self.typed(given, version, Duplicates::Refuse)?;
                self.merged_over_owned(config, version, manager)?
            }
        };

        // The live object is at the version of the last write, and a step may be at another one.
        let live = self.live_at(version)?;
        let force = match verb {
            WriteVerb::Apply { force } => Some(*force),
            WriteVerb::ExtractApply => Some(true),
            WriteVerb::Update | WriteVerb::Patch(_) => None,
        };
        // A refused step returns before the assignment, so the live object and its owners stay.
        (self.live, self.owners) = match force {
            Some(force) => {
                let request = ApplyRequest::new(&live, &given).version(version);
                let request = request.owners(&self.owners).manager(manager);
                let applied = self.updater.apply(request.force_if(force))?;
                (Some(applied.object.unwrap_or(live)), applied.owners)
            }
            None => {
                let request = UpdateRequest::new(&live, &given).version(version);
                let request = request.owners(&self.owners).manager(manager);
                let updated = self.updater.update(request)?;
                (Some(updated.object), updated.owners)
            }
        };

        Ok(Outcome::State(self.state()))
    }

    /// Patches the live object at a version. The result must be valid.
    fn patched(
        &self,
        version: &ApiVersion,
        how: PatchType,
        patch: &Value,
    ) -> Result<TypedValue, Refusal> {
        let live = self.live_at(version)?;
        let strategies = self.strategies.as_ref();
        let new = patches::patched(live.value(), patch, how, strategies, live.ty().name())?;
        self.typed(&new, version, Duplicates::Allow)
    }

    /// What a client applies that extracts its own fields and changes them.
    fn merged_over_owned(
        &self,
        config: TypedValue,
        version: &ApiVersion,
        manager: &str,
    ) -> Result<TypedValue, Refusal> {
        // Without a live object the manager owns nothing, and the configuration is all that it applies.
        let Some(live) = &self.live else {
            return Ok(config);
        };
        let live = self.versions.convert(live, version)?;
        let owned = match self.owners.get(manager) {
            Some(entry) if entry.api_version() != version => {
                return Err(Refusal::other(format!(
                    "manager `{manager}` owns its fields at version `{}`, \
                     they can be extracted only there and not at `{version}`",
                    entry.api_version()
                )));
            }
            // A member that is not a leaf would include all its descendants.
            Some(entry) => entry.set().leaves(),
            None => Set::new(),
        };

        Ok(live
            .extract_items(&owned, KeyFields::AsGiven)
            .merge(&config)?)
    }

    fn change_schema(&mut self, schema: &SchemaSource) -> Result<Outcome, Refusal> {
        let (versions, updater) = set_up(self.scenario, schema.types()?);
        // The version of the live object is found by its type, which the new schema does not know.
        let live = match &self.live {
            None => None,
            Some(live) => {
                let Some(version) = self.versions.types.version_of(live.ty()) else {
                    return Err(Refusal::from(StepError {
                        kind: ErrorKind::Schema,
                        message: "the live object is at an unknown version".into(),
                    }));
                };

                let ty = versions.types.at(version)?;
                Some(TypedValue::new(
                    live.value().clone(),
                    ty,
                    Duplicates::Allow,
                )?)
            }
        };

        // Nothing is replaced until the live object is valid in the new schema, so a refused step changes nothing.
        self.live = live;
        self.versions = versions;
        self.updater = updater;
        self.strategies = schema.strategies();
        Ok(Outcome::State(self.state()))
    }
}

fn set_up(scenario: &Scenario, schema: fieldmanager_openapi::Types) -> (Versions, Updater) {
    let versions = Versions {
        types: Types::new(scenario, schema),
        conversion: scenario.conversion.clone(),
    };
    let options = &scenario.options;
    let builder = Updater::builder()
        .converter(versions.clone())
        .return_input_on_noop(options.return_input_on_noop)
        .unions(options.unions);
    let filters = options.filters.iter();
    let builder = filters.fold(builder, |builder, (version, filter)| {
        builder.filter(version.clone(), filter.clone())
    });

    (versions, builder.build())
}

fn of_pair(function: PairFunction, old: &TypedValue, new: &TypedValue) -> Result<Outcome, Refusal> {
    Ok(match function {
        PairFunction::Compare => {
            let compared = old.compare(new)?;
            Outcome::Sets(vec![
                ("added", compared.added),
                ("modified", compared.modified),
                ("removed", compared.removed),
            ])
        }
        PairFunction::Merge => Outcome::Object(old.merge(new)?.into_value()),
        PairFunction::Normalize => Outcome::Object(old.normalize_update(new)?.value.into_value()),
        PairFunction::ValidateUnions(ratcheting) => {
            Outcome::Faults(old.validate_unions(new, ratcheting))
        }
    })
}

fn compute(operation: SetOperation, lhs: &Set, rhs: &Set) -> Set {
    match operation {
        SetOperation::Union => lhs.union(rhs),
        SetOperation::Intersection => lhs.intersection(rhs),
        SetOperation::Difference => lhs.difference(rhs),
        SetOperation::RecursiveDifference => lhs.recursive_difference(rhs),
        SetOperation::Leaves => lhs.leaves(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_visit_a_bounded_number_of_managers() {
        let step = |n| format!("- apply: {{manager: m{n}, apiVersion: v1, object: {{k{n}: 1}}}}\n");
        let text = format!(
            "schema: {{types: [{{name: app, map: {{elementType: {{scalar: numeric}}}}}}]}}\ntypes: {{v1: app}}\nsteps:\n{}",
            (0..5).map(step).collect::<String>()
        );
        let scenario = Scenario::from_yaml(&text).unwrap();
        let mut runner = Runner::new(&scenario).unwrap();
        // Before the last step, 0 + 1 + 2 + 3 managers were visited.
        runner.visited = MAX_VISITED - 6;
        let outcomes: Vec<String> = scenario
            .steps
            .iter()
            .map(|step| runner.step(&step.action).to_value().to_json())
            .collect();
        assert!(outcomes[3].contains("m3"), "{}", outcomes[3]);
        assert!(
            outcomes[4].contains("visit at most 20000000 managers"),
            "{}",
            outcomes[4]
        );
        assert_eq!(runner.state().managed.len(), 4);
    }
}
