//! Runs the steps of a scenario.

use fieldmanager_fieldpath::{ApiVersion, Owners, Set};
use fieldmanager_merge::{ApplyRequest, Converter, UpdateRequest, Updater};
use fieldmanager_patch::PatchTypes;
use fieldmanager_typed::{Duplicates, KeyFields, Ratcheting, TypedValue};
use fieldmanager_value::Value;

use crate::convert::Versions;
use crate::outcome::{ErrorKind, Outcome, Refusal, State, StepError};
use crate::patches;
use crate::scenario::{Action, PatchFormat, Scenario, SetOperation};
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
        Ok(Runner { scenario, versions, updater, strategies, live: None, owners: Owners::new(), visited: 0 })
    }

    /// The state after the steps so far.
    pub fn state(&self) -> State {
        State {
            object: self.live.as_ref().map(|live| live.value().clone()).unwrap_or_default(),
            managed: self.owners.clone(),
        }
    }

    /// Runs one step.
    pub fn step(&mut self, action: &Action) -> Outcome {
        self.visited = self.visited.saturating_add(self.owners.len());
        if self.visited > MAX_VISITED {
            let message = format!("the steps of a scenario visit at most {MAX_VISITED} managers together");
            return Outcome::from(Refusal::from(StepError { kind: ErrorKind::Other, message }));
        }
        self.attempt(action).unwrap_or_else(Outcome::from)
    }

    fn attempt(&mut self, action: &Action) -> Result<Outcome, Refusal> {
        match action {
            Action::Apply { manager, api_version, object, force } => {
                let config = self.typed(object, api_version, Duplicates::Refuse)?;
                self.apply(&config, api_version, manager, *force)
            }
            Action::Update { manager, api_version, object } => {
                let new = self.typed(object, api_version, Duplicates::Allow)?;
                self.update(&new, api_version, manager)
            }
            Action::ExtractApply { manager, api_version, object } => {
                let config = self.typed(object, api_version, Duplicates::Refuse)?;
                self.extract_apply(&config, api_version, manager)
            }
            Action::Patch { manager, api_version, format, patch } => {
                let new = self.patched(api_version, *format, patch)?;
                self.update(&new, api_version, manager)
            }
            Action::ChangeSchema { schema } => self.change_schema(schema),
            Action::Validate { api_version, object, duplicates } => {
                self.typed(object, api_version, *duplicates)?;
                Ok(Outcome::Valid)
            }
            Action::Compare { api_version, lhs, rhs } => {
                let (lhs, rhs) = self.pair(api_version, lhs, rhs)?;
                let compared = lhs.compare(&rhs)?;
                Ok(Outcome::Compared {
                    added: compared.added,
                    modified: compared.modified,
                    removed: compared.removed,
                })
            }
            Action::Merge { api_version, lhs, rhs } => {
                let (lhs, rhs) = self.pair(api_version, lhs, rhs)?;
                Ok(Outcome::Object(lhs.merge(&rhs)?.value().clone()))
            }
            Action::Fieldset { api_version, object } => {
                let object = self.typed(object, api_version, Duplicates::Allow)?;
                Ok(Outcome::Fields(object.field_set()))
            }
            Action::Remove { api_version, object, fields } => {
                let object = self.typed(object, api_version, Duplicates::Allow)?;
                Ok(Outcome::Object(object.remove_items(fields).value().clone()))
            }
            Action::Extract { api_version, object, fields, key_fields } => {
                let object = self.typed(object, api_version, Duplicates::Allow)?;
                let extracted = object.extract_items(fields, *key_fields);
                Ok(Outcome::Object(extracted.value().clone()))
            }
            Action::Set { operation, lhs, rhs } => Ok(Outcome::Fields(compute(*operation, lhs, rhs))),
            Action::Normalize { api_version, old, new } => {
                let (old, new) = self.pair(api_version, old, new)?;
                Ok(Outcome::Object(old.normalize_update(&new)?.value.into_value()))
            }
            Action::ValidateUnions { api_version, old, new, ratcheting } => {
                let (old, new) = self.pair(api_version, old, new)?;
                let ratcheting = if *ratcheting { Ratcheting::On } else { Ratcheting::Off };
                Ok(Outcome::Faults(old.validate_unions(&new, ratcheting)))
            }
            Action::Request(_) | Action::Parallel(_) | Action::Watch(_) | Action::Wait(_) => Err(StepError {
                kind: ErrorKind::Unsupported,
                message: format!("`{}` needs an API server", action.name()),
            }
            .into()),
        }
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

    fn pair(
        &self,
        version: &ApiVersion,
        lhs: &Value,
        rhs: &Value,
    ) -> Result<(TypedValue, TypedValue), Refusal> {
        let lhs = self.typed(lhs, version, Duplicates::Allow)?;
        Ok((lhs, self.typed(rhs, version, Duplicates::Allow)?))
    }

    /// The live object at the version of a step.
    fn live_at(&self, version: &ApiVersion) -> Result<TypedValue, Refusal> {
        let live = match &self.live {
            Some(live) => live.clone(),
            None => TypedValue::null(self.versions.types.at(version)?),
        };
        Ok(self.versions.convert(&live, version)?)
    }

    fn reach(&mut self, live: TypedValue, owners: Owners) -> Outcome {
        self.live = Some(live);
        self.owners = owners;
        Outcome::State(self.state())
    }

    fn apply(
        &mut self,
        config: &TypedValue,
        version: &ApiVersion,
        manager: &str,
        force: bool,
    ) -> Result<Outcome, Refusal> {
        let live = self.live_at(version)?;
        let applied = self.updater.apply(
            ApplyRequest::new(&live, config)
                .version(version)
                .owners(&self.owners)
                .manager(manager)
                .force_if(force),
        )?;
        Ok(self.reach(applied.object.unwrap_or(live), applied.owners))
    }

    fn update(&mut self, new: &TypedValue, version: &ApiVersion, manager: &str) -> Result<Outcome, Refusal> {
        let live = self.live_at(version)?;
        let updated = self
            .updater
            .update(UpdateRequest::new(&live, new).version(version).owners(&self.owners).manager(manager))?;
        Ok(self.reach(updated.object, updated.owners))
    }

    /// Patches the live object at a version. The result must be valid.
    fn patched(&self, version: &ApiVersion, how: PatchFormat, patch: &Value) -> Result<TypedValue, Refusal> {
        let live = self.live_at(version)?;
        let strategies = self.strategies.as_ref();
        let new = patches::patched(live.value(), patch, how, strategies, live.ty().name())?;
        self.typed(&new, version, Duplicates::Allow)
    }

    /// Simulates a client that extracts its own fields, changes them and applies them again.
    fn extract_apply(
        &mut self,
        config: &TypedValue,
        version: &ApiVersion,
        manager: &str,
    ) -> Result<Outcome, Refusal> {
        let Some(live) = &self.live else {
            return self.apply(config, version, manager, true);
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
        let merged = live.extract_items(&owned, KeyFields::AsGiven).merge(config)?;
        self.apply(&merged, version, manager, true)
    }

    fn change_schema(&mut self, schema: &SchemaSource) -> Result<Outcome, Refusal> {
        let (versions, updater) = set_up(self.scenario, schema.types()?);
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
                Some(TypedValue::new(live.value().clone(), ty, Duplicates::Allow)?)
            }
        };
        self.live = live;
        self.versions = versions;
        self.updater = updater;
        self.strategies = schema.strategies();
        Ok(Outcome::State(self.state()))
    }
}

fn set_up(scenario: &Scenario, schema: fieldmanager_openapi::Types) -> (Versions, Updater) {
    let versions = Versions { types: Types::new(scenario, schema), conversion: scenario.conversion.clone() };
    let options = &scenario.options;
    let builder = Updater::builder()
        .converter(versions.clone())
        .return_input_on_noop(options.return_input_on_noop)
        .unions(options.unions);
    let filters = options.filters.iter();
    let builder =
        filters.fold(builder, |builder, (version, filter)| builder.filter(version.clone(), filter.clone()));
    (versions, builder.build())
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
        let outcomes: Vec<String> =
            scenario.steps.iter().map(|step| runner.step(&step.action).to_value().to_json()).collect();
        assert!(outcomes[3].contains("m3"), "{}", outcomes[3]);
        assert!(outcomes[4].contains("visit at most 20000000 managers"), "{}", outcomes[4]);
        assert_eq!(runner.state().managed.len(), 4);
    }
}
