//! Invariants of applies and updates.

use fieldmanager_fieldpath::internal::set_under;
use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_merge::{Applied, ApplyRequest, Conflicts, Error, UpdateRequest, Updater};
use fieldmanager_schema::Type;
use fieldmanager_typed::{Comparison, TypedValue};
use fieldmanager_value::{Map, Value};

use crate::state::{State, reparsed, version};

/// An apply to be checked.
pub(crate) struct Apply<'a> {
    pub(crate) updater: &'a Updater,
    pub(crate) before: &'a State,
    pub(crate) manager: &'a str,
    pub(crate) config: &'a TypedValue,
    pub(crate) force: bool,
}

impl Apply<'_> {
    /// Runs and checks the apply. Returns the new state, or `None` after conflicts. `empty_values` states that nulls,
    /// empty lists and empty maps occur in the scenario, `duplicates` that the live object had items with the same key.
    pub(crate) fn check(
        &self,
        empty_values: bool,
        duplicates: bool,
    ) -> Result<Option<State>, String> {
        let snapshot = describe(self.before);
        let result = self.run(self.before, self.config, self.force);
        let after = describe(self.before);
        ensure!(
            snapshot == after,
            "an apply changed its input from {snapshot} to {after}"
        );
        self.check_sharing(&result)?;
        let applied = match result {
            Ok(applied) => applied,
            Err(Error::Conflicts(conflicts)) => {
                self.check_conflicts(&conflicts)?;
                return Ok(None);
            }
            Err(error) => return Err(format!("{} failed to apply: {error}", self.manager)),
        };
        if !self.force {
            let forced = self.run(self.before, self.config, true);
            let forced = forced.map_err(|error| format!("the apply with force fails: {error}"))?;
            ensure!(
                same(&applied, &forced),
                "force changes an apply without conflicts: {applied:?}, {forced:?}"
            );
        }
        let state = self.after(&applied);
        self.check_ownership(&state)?;
        self.check_config_is_applied(&state, empty_values)?;
        self.check_removal(&state, empty_values || duplicates)?;
        self.check_repetition(&state, empty_values)?;
        Ok(Some(state))
    }

    fn run(&self, state: &State, config: &TypedValue, force: bool) -> Result<Applied, Error> {
        self.updater.apply(
            ApplyRequest::new(&state.live, config)
                .version(version())
                .owners(&state.owners)
                .manager(self.manager)
                .force_if(force),
        )
    }

    fn after(&self, applied: &Applied) -> State {
        State {
            live: applied
                .object
                .clone()
                .unwrap_or_else(|| self.before.live.clone()),
            owners: applied.owners.clone(),
        }
    }

    /// Checks that the same apply to reparsed input has the same result.
    fn check_sharing(&self, result: &Result<Applied, Error>) -> Result<(), String> {
        let (Some(before), Some(config)) = (self.before.reparsed()?, reparsed(self.config)?) else {
            return Err("the input of an apply is invalid after reparsing".into());
        };
        let reparsed = self.run(&before, &config, self.force);
        match (result, &reparsed) {
            (Ok(result), Ok(reparsed)) => {
                ensure!(
                    same(result, reparsed),
                    "the result differs after reparsing:\n{result:?}\n{reparsed:?}"
                );
            }
            (Err(result), Err(reparsed)) => {
                ensure!(
                    result == reparsed,
                    "the error differs after reparsing:\n{result:?}\n{reparsed:?}"
                );
            }
            _ => {
                return Err(format!(
                    "the outcome differs after reparsing:\n{result:?}\n{reparsed:?}"
                ));
            }
        }
        Ok(())
    }

    /// Checks that conflicts concern fields of other managers, and that force takes exactly these fields.
    fn check_conflicts(&self, conflicts: &Conflicts) -> Result<(), String> {
        ensure!(!self.force, "conflicts with force: {conflicts}");
        ensure!(conflicts.len() > 0, "the list of conflicts is empty");
        let forced = self.run(self.before, self.config, true);
        let forced = forced.map_err(|error| format!("the apply with force fails: {error}"))?;
        for conflict in conflicts {
            let owned = self
                .before
                .owners
                .get(&conflict.manager)
                .is_some_and(|e| e.set().has(&conflict.path));
            ensure!(
                owned && conflict.manager != self.manager,
                "{conflict}: the manager does not own the field"
            );
            let kept = forced
                .owners
                .get(&conflict.manager)
                .is_some_and(|e| e.set().has(&conflict.path));
            ensure!(
                !kept,
                "{conflict}: the manager still owns the field after an apply with force"
            );
            let live = self.before.live.get(&conflict.path);
            ensure!(
                live == conflict.live.as_ref(),
                "{conflict}: the live value is {live:?}, not {:?}",
                conflict.live
            );
        }
        Ok(())
    }

    /// Checks that the applier owns the fields of its configuration, and the other managers their unchanged fields.
    fn check_ownership(&self, after: &State) -> Result<(), String> {
        let fields = match reparsed(self.config)? {
            Some(config) => config.field_set(),
            None => return Err("the configuration is no longer valid".into()),
        };
        match after.owners.get(self.manager) {
            None => ensure!(
                fields.is_empty(),
                "{} does not own its configuration: {fields}",
                self.manager
            ),
            Some(entry) => {
                ensure!(entry.is_applied(), "{} is not an applier", self.manager);
                ensure!(
                    !fields.is_empty(),
                    "{} has an entry without fields",
                    self.manager
                );
                let own = entry.set();
                ensure!(
                    *own == fields,
                    "{} owns {own:?} after applying {fields:?}",
                    self.manager
                );
            }
        }
        let Some(change) = change(self.before, after)? else {
            return Ok(());
        };
        check_others(self.before, after, self.manager, &change)?;
        if !self.force {
            for (name, entry) in self
                .before
                .owners
                .iter()
                .filter(|(name, _)| *name != self.manager)
            {
                let taken = entry
                    .set()
                    .intersection(&change.modified.union(&change.added));
                ensure!(
                    taken.is_empty(),
                    "fields of {name} changed without force: {taken}"
                );
            }
        }
        Ok(())
    }

    /// Checks that the object has the values of the configuration.
    fn check_config_is_applied(&self, after: &State, empty_values: bool) -> Result<(), String> {
        for path in self.config.field_set().paths() {
            let expected = self.config.get(&path);
            let found = after.live.get(&path);
            let is_leaf =
                expected.is_some_and(Value::is_scalar) || (!empty_values && self.is_atomic(&path));
            ensure!(
                !is_leaf || expected == found,
                "{path} is {found:?}, but was applied as {expected:?}"
            );
            ensure!(
                empty_values || found.is_some(),
                "{path} was applied, but does not exist"
            );
        }
        Ok(())
    }

    /// Whether the value at a path is not empty and has no fields below it.
    fn is_atomic(&self, path: &Path) -> bool {
        let mut below = self.config.field_set();
        for element in path.iter() {
            below = set_under(&below, element);
        }
        below.is_empty() && self.config.get(path).is_some_and(|value| !is_empty(value))
    }

    /// Checks that each removed field was owned by the manager, was below an abandoned path, or was replaced by a value
    /// of another kind.
    fn check_removal(&self, after: &State, empty_values: bool) -> Result<(), String> {
        let Some(change) = change(self.before, after)? else {
            return Ok(());
        };
        let last = self
            .before
            .owners
            .get(self.manager)
            .map(|entry| entry.set().clone())
            .unwrap_or_default();
        let config = self.config.field_set();
        let others: Vec<&Set> = self
            .before
            .owners
            .iter()
            .filter(|(name, _)| *name != self.manager)
            .map(|(_, entry)| entry.set())
            .collect();
        for path in change.removed.paths() {
            if after.live.get(&path).is_some() {
                // One of several items with this key remains.
                continue;
            }
            let prefixes = || (1..=path.len()).filter_map(|n| path.get(..n));
            let replaced =
                prefixes().any(|prefix| config.has(prefix) && change.modified.has(prefix));
            let abandoned = |kept: &[&Set]| {
                prefixes().any(|prefix| {
                    let items = last.has(prefix) && !kept.iter().any(|set| set.has(prefix));
                    items
                        || (reaches(&last, prefix) && !kept.iter().any(|set| reaches(set, prefix)))
                })
            };
            // A list or map is removed with its last item.
            let emptied = change
                .removed
                .paths()
                .any(|below| below.len() > path.len() && below.starts_with(&path));
            // Empty values are not fields, so they have no owners.
            let empty = self.before.live.get(&path).is_some_and(is_empty);
            ensure!(
                replaced || emptied || empty || abandoned(&[&config]),
                "{path} was removed, but {} did not own it",
                self.manager
            );
            if empty_values || replaced || !others.iter().any(|set| set.has(&path)) {
                continue;
            }
            let kept: Vec<&Set> = others.iter().copied().chain([&config]).collect();
            ensure!(
                abandoned(&kept),
                "{path} was removed, but another manager owns it"
            );
        }
        Ok(())
    }

    /// Checks that repeating the apply changes nothing.
    fn check_repetition(&self, after: &State, empty_values: bool) -> Result<(), String> {
        // An object without content is null, which an empty configuration turns into an empty map. An object with an
        // item that lost its key cannot be applied to again.
        let nothing = self.config.value().as_map().is_some_and(Map::is_empty);
        if empty_values || nothing || after.reparsed()?.is_none() {
            return Ok(());
        }
        let again = self.run(after, self.config, false);
        let again = again.map_err(|error| format!("repeating the apply fails: {error}"))?;
        if let Some(object) = again.object {
            return Err(format!(
                "repeating the apply returns {} for {}",
                object.value(),
                after.live.value()
            ));
        }
        ensure!(
            again.owners == after.owners,
            "repeating the apply changes the owners: {:?}, {:?}",
            after.owners,
            again.owners
        );
        Ok(())
    }
}

/// Runs and checks an update. Returns the new state.
pub(crate) fn update(
    updater: &Updater,
    before: &State,
    manager: &str,
    new: &TypedValue,
) -> Result<State, String> {
    let run = |state: &State, new: &TypedValue| {
        updater
            .update(
                UpdateRequest::new(&state.live, new)
                    .version(version())
                    .owners(&state.owners)
                    .manager(manager),
            )
            .map_err(|error| format!("{manager} failed to update: {error}"))
    };
    let updated = run(before, new)?;
    ensure!(
        updated.object.value().strict_eq(new.value()),
        "the object after an update differs: {:?}",
        updated.object
    );
    let (Some(fresh), Some(fresh_new)) = (before.reparsed()?, reparsed(new)?) else {
        return Err("the input of an update is invalid after reparsing".into());
    };
    let reparsed = run(&fresh, &fresh_new)?;
    ensure!(
        reparsed.owners == updated.owners,
        "the owners differ after reparsing:\n{:?}\n{:?}",
        updated.owners,
        reparsed.owners
    );
    let after = State {
        live: updated.object,
        owners: updated.owners,
    };
    let Some(change) = change(before, &after)? else {
        return Ok(after);
    };
    check_others(before, &after, manager, &change)?;
    let own = |state: &State| {
        state
            .owners
            .get(manager)
            .map(|e| e.set().clone())
            .unwrap_or_default()
    };
    let expected = own(before)
        .difference(&change.removed)
        .union(&change.modified)
        .union(&change.added);
    ensure!(
        own(&after) == expected,
        "{manager} owns {:?}, expected {expected:?}",
        own(&after)
    );
    if let Some(entry) = after.owners.get(manager) {
        ensure!(
            !entry.is_applied() && !entry.set().is_empty(),
            "{manager} is {entry:?} after an update"
        );
    }
    Ok(after)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        _ => false,
    }
}

/// Whether a set contains a path or any path below it.
fn reaches(set: &Set, path: &[PathElement]) -> bool {
    match path.split_first() {
        None => !set.is_empty(),
        Some((first, [])) => set.get(first).is_some(),
        Some((first, rest)) => set
            .get(first)
            .is_some_and(|node| reaches(node.children(), rest)),
    }
}

/// Checks that all owned fields exist in the object.
pub(crate) fn check_owned_fields_exist(state: &State) -> Result<(), String> {
    for (name, entry) in &state.owners {
        for path in entry.set().paths() {
            ensure!(
                state.live.get(&path).is_some(),
                "{name} owns {path}, which does not exist in {}",
                state.live.value()
            );
        }
    }
    Ok(())
}

/// The differences between two states, which must not depend on sharing. Returns `None` if an object is no longer
/// valid.
fn change(before: &State, after: &State) -> Result<Option<Comparison>, String> {
    let compare = |a: &TypedValue, b: &TypedValue| {
        a.compare(b)
            .map_err(|error| format!("cannot compare: {error}"))
    };
    let (Some(old), Some(new)) = (reparsed(&before.live)?, reparsed(&after.live)?) else {
        return Ok(None);
    };
    let change = compare(&old, &new)?;
    let shared = compare(&before.live, &after.live)?;
    ensure!(
        change == shared,
        "the comparison differs after reparsing: {shared:?}, {change:?}"
    );
    ensure!(
        compare(&new, &new)?.is_same(),
        "an object differs from itself"
    );
    let back = compare(&new, &old)?;
    ensure!(
        back.added == change.removed
            && back.removed == change.added
            && back.modified == change.modified,
        "the reversed comparison differs: {change:?}, {back:?}"
    );
    Ok(Some(change))
}

/// Checks that every other manager owns the same fields as before, except for changed ones.
fn check_others(
    before: &State,
    after: &State,
    manager: &str,
    change: &Comparison,
) -> Result<(), String> {
    let gone = change.added.union(&change.modified).union(&change.removed);
    for (name, entry) in before.owners.iter().filter(|(name, _)| *name != manager) {
        let expected = entry.set().difference(&gone);
        let left = after
            .owners
            .get(name)
            .map(|entry| entry.set().clone())
            .unwrap_or_default();
        ensure!(
            left == expected,
            "{name} is left with {left:?}, expected {expected:?}"
        );
        if let Some(kept) = after.owners.get(name) {
            ensure!(
                kept.is_applied() == entry.is_applied() && !left.is_empty(),
                "{name} became {kept:?}"
            );
        }
    }
    for (name, _) in &after.owners {
        ensure!(
            name == manager || before.owners.get(name).is_some(),
            "{name} is a new manager"
        );
    }
    Ok(())
}

/// Whether two results are indistinguishable.
fn same(a: &Applied, b: &Applied) -> bool {
    let text = |applied: &Applied| {
        applied
            .object
            .as_ref()
            .map(|object| object.value().to_json())
    };
    a.object.as_ref().map(TypedValue::value) == b.object.as_ref().map(TypedValue::value)
        && text(a) == text(b)
        && a.owners == b.owners
}

/// Formats a state.
fn describe(state: &State) -> String {
    let ty: &Type = state.live.ty();
    format!("{ty:?} {} {:?}", state.live.value(), state.owners)
}
