//! Scenarios: sequences of applies and updates by several managers.

use std::fmt::Write;

use fieldmanager_fieldpath::Owners;
use fieldmanager_merge::Updater;
use fieldmanager_schema::Type;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Map, Value};

use crate::choices::Choices;
use crate::laws;
use crate::objects::{Make, filled, object};
use crate::requests::check_requests;
use crate::schemas::ROOTS;
use crate::state::State;

const MANAGERS: [&str; 3] = ["alice", "bob", "carol"];
const STEPS: usize = 10;

/// Derives a scenario from bytes, runs it, and checks every step:
///
/// - results do not depend on the sharing of values: a step has the same result for reparsed input;
/// - repeating an apply changes nothing;
/// - an applier owns exactly the fields of its configuration, and the object has their values;
/// - other managers lose exactly the changed or removed fields, and gain none;
/// - without force, changing a field of another manager is a conflict, and nothing changes;
/// - an apply removes only fields that its manager applied before and no other manager owns, and the fields below them;
/// - an update never conflicts, and its manager owns the changed fields afterwards;
/// - all owned fields exist;
/// - results round-trip and are valid input for further steps, including their entries in `metadata.managedFields` and
///   at any depth.
///
/// If nulls, empty lists and empty maps are applied, or the live object has items with the same key, some of these
/// invariants do not hold, neither here nor in the Go package, and are not checked.
///
/// # Errors
///
/// A message that describes the violated invariant, and the scenario so far in the format of scenario files.
pub fn check_scenario(bytes: &[u8]) -> Result<(), String> {
    run(bytes)?;
    check_requests(bytes)
}

/// Statistics of a scenario.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    applies: usize,
    conflicts: usize,
    updates: usize,
    /// Steps that removed an owned field.
    removals: usize,
    /// Steps on objects with lists or maps that are not stored as slices.
    long: usize,
    /// Steps on objects with duplicates.
    duplicates: usize,
}

fn run(bytes: &[u8]) -> Result<Tally, String> {
    let mut choices = Choices::new(bytes);
    let Some(ty) = ROOTS.get(choices.below(ROOTS.len())) else {
        return Err("there are no types".into());
    };
    let flags = choices.byte();
    let make = Make {
        long: flags & 3 == 3,
        empty_values: flags & 4 != 0,
        duplicates: false,
    };
    let updates = Make {
        duplicates: flags & 8 != 0,
        ..make
    };
    let mut scenario = Scenario {
        choices,
        ty,
        make,
        updates,
        updater: Updater::builder().build(),
        state: State {
            live: TypedValue::null(ty.clone()),
            owners: Owners::new(),
        },
        configs: MANAGERS.map(|_| None),
        had_duplicates: false,
        steps: String::new(),
        tally: Tally::default(),
    };
    for _ in 0..STEPS {
        match scenario.step() {
            Ok(true) if !scenario.choices.is_exhausted() => {}
            Ok(_) => break,
            Err(message) => {
                let types = ty.schema().to_value();
                return Err(format!(
                    "{message}\nname: scenario\nschema: {types}\ntypes: {{v1: {}}}\nsteps:{}",
                    ty.name(),
                    scenario.steps
                ));
            }
        }
    }
    Ok(scenario.tally)
}

struct Scenario<'b, 't> {
    choices: Choices<'b>,
    ty: &'t Type,
    make: Make,
    updates: Make,
    updater: Updater,
    state: State,
    /// The last configuration of each manager.
    configs: [Option<TypedValue>; MANAGERS.len()],
    had_duplicates: bool,
    /// The steps so far, in the format of a scenario file.
    steps: String,
    tally: Tally,
}

impl Scenario<'_, '_> {
    /// Runs a step. Returns false if the scenario cannot continue.
    fn step(&mut self) -> Result<bool, String> {
        let number = self.choices.below(MANAGERS.len());
        let manager = MANAGERS.get(number).copied().unwrap_or_default();
        let kind = self.choices.below(4);
        if kind == 3 {
            let Some(new) = self.new_object() else {
                return Ok(true);
            };
            self.record("update", manager, &new, "");
            self.update(manager, &new)?;
        } else {
            let Some(config) = self.config(number) else {
                return Ok(true);
            };
            let force = kind == 2;
            self.record(
                "apply",
                manager,
                &config,
                if force { ", force: true" } else { "" },
            );
            self.apply(manager, &config, force)?;
            if let Some(last) = self.configs.get_mut(number) {
                *last = Some(config);
            }
        }
        let Some(fresh) = self.state.reparsed()? else {
            return Ok(false);
        };
        ensure!(
            fresh.live.value() == self.state.live.value() && fresh.owners == self.state.owners,
            "the state differs after reparsing: {fresh:?}, {:?}",
            self.state
        );
        let strict = TypedValue::new(
            fresh.live.value().clone(),
            self.ty.clone(),
            Duplicates::Refuse,
        );
        self.had_duplicates |= strict.is_err();
        // Applying an empty map in place of a non-empty one removes the fields below it, as in the Go package.
        if !self.had_duplicates && !self.make.empty_values {
            laws::check_owned_fields_exist(&fresh)?;
        }
        Ok(true)
    }

    fn apply(&mut self, manager: &str, config: &TypedValue, force: bool) -> Result<(), String> {
        let apply = laws::Apply {
            updater: &self.updater,
            before: &self.state,
            manager,
            config,
            force,
        };
        self.tally.applies += 1;
        match apply.check(self.make.empty_values, self.had_duplicates)? {
            Some(state) => self.advance(state),
            None => self.tally.conflicts += 1,
        }
        Ok(())
    }

    fn update(&mut self, manager: &str, new: &TypedValue) -> Result<(), String> {
        self.tally.updates += 1;
        let state = laws::update(&self.updater, &self.state, manager, new)?;
        self.advance(state);
        Ok(())
    }

    fn advance(&mut self, state: State) {
        let fields = |state: &State| state.live.field_set();
        let removed = fields(&self.state).difference(&fields(&state));
        self.tally.removals += usize::from(!removed.is_empty());
        self.tally.long += usize::from(is_long(state.live.value()));
        self.tally.duplicates += usize::from(self.had_duplicates);
        self.state = state;
    }

    fn record(&mut self, operation: &str, manager: &str, object: &TypedValue, more: &str) {
        // Writing to a string cannot fail.
        let _ = write!(
            self.steps,
            "\n- {operation}: {{manager: {manager}, apiVersion: v1, object: {}{more}}}",
            object.value()
        );
    }

    fn typed(&self, value: Value, duplicates: Duplicates) -> Option<TypedValue> {
        // Removing items leaves nulls.
        let value = if self.make.empty_values {
            value
        } else {
            filled(&value).unwrap_or_else(|| Map::new().into())
        };
        TypedValue::new(value, self.ty.clone(), duplicates).ok()
    }

    /// Generates a configuration: a new one, or the manager's last one with additions or removals.
    fn config(&mut self, manager: usize) -> Option<TypedValue> {
        let fresh = object(&mut self.choices, self.ty, self.make);
        let fresh = self.typed(fresh, Duplicates::Refuse)?;
        let last = self.configs.get(manager).cloned().flatten();
        match (self.choices.below(4), last) {
            (1, Some(last)) => last.merge(&fresh).ok(),
            (2, Some(last)) => {
                let less =
                    last.remove_items(&last.field_set().intersection(&fresh.field_set()).leaves());
                self.typed(less.into_value(), Duplicates::Refuse)
            }
            (3, Some(last)) => Some(last),
            _ => Some(fresh),
        }
    }

    /// Generates an object for an update: a new one, or the live one with changes or removals.
    fn new_object(&mut self) -> Option<TypedValue> {
        let fresh = object(&mut self.choices, self.ty, self.updates);
        let fresh = self.typed(fresh, Duplicates::Allow)?;
        let live = &self.state.live;
        match self.choices.below(4) {
            0 | 1 => live.merge(&fresh).ok(),
            2 => {
                let less =
                    live.remove_items(&live.field_set().intersection(&fresh.field_set()).leaves());
                self.typed(less.into_value(), Duplicates::Allow)
            }
            _ => Some(fresh),
        }
    }
}

/// Whether a list or map is too long to be stored as a slice.
fn is_long(value: &Value) -> bool {
    match value {
        Value::List(items) => items.len() > 48 || items.iter().any(is_long),
        Value::Map(entries) => {
            entries.len() > 48 || entries.iter().any(|(_, value)| is_long(value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against scenarios that trivially satisfy the invariants because nothing happens.
    #[test]
    fn scenarios_cover_all_outcomes() {
        let mut state = 1_u64;
        let mut byte = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        let mut all = Tally::default();
        for _ in 0..150 {
            let bytes: Vec<u8> = (0..300).map(|_| byte()).collect();
            let tally = run(&bytes).unwrap();
            all.applies += tally.applies;
            all.conflicts += tally.conflicts;
            all.updates += tally.updates;
            all.removals += tally.removals;
            all.long += tally.long;
            all.duplicates += tally.duplicates;
        }
        assert!(all.applies > 500 && all.updates > 150, "{all:?}");
        assert!(
            all.conflicts * 10 > all.applies && all.conflicts * 2 < all.applies,
            "{all:?}"
        );
        assert!(
            all.removals > 100 && all.long > 20 && all.duplicates > 10,
            "{all:?}"
        );
    }
}
