//! What must hold for every apply and update.

use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_merge::{Applied, ApplyRequest, Conflicts, Error, UpdateRequest, Updater};
use fieldmanager_schema::Type;
use fieldmanager_typed::{Comparison, TypedValue};
use fieldmanager_value::{Map, Value};

use crate::state::{State, read_anew, version};

/// An apply, before it happens.
pub(crate) struct Apply<'a> {
    pub(crate) updater: &'a Updater,
    pub(crate) before: &'a State,
    pub(crate) manager: &'a str,
    pub(crate) config: &'a TypedValue,
    pub(crate) force: bool,
}

impl Apply<'_> {
    /// Applies; the state after it, or none if there were conflicts. `shadowed_empty_map` says that nulls, empty lists and empty
    /// maps occur in the scenario, `duplicates` that the live object had items with the same key.
    pub(crate) fn check(&self, shadowed_empty_map: bool, duplicates: bool) -> Result<Option<State>, String> {
        let snapshot = describe(self.before);
        let result = self.run(self.before, self.config, self.force);
        let after = describe(self.before);
        ensure!(snapshot == after, "an apply changed what went in from {snapshot} to {after}");
        self.check_sharing(&result)?;
        let applied = match result {
            Ok(applied) => applied,
            Err(Error::Conflicts(conflicts)) => {
                self.check_conflicts(&conflicts)?;
                return Ok(None);
            }
            Err(error) => return Err(format!("{} cannot apply: {error}", self.manager)),
        };
        if !self.force {
            let forced = self.run(self.before, self.config, true);
            let forced = forced.map_err(|error| format!("with force it fails: {error}"))?;
            ensure!(
                same(&applied, &forced),
                "force changes an apply without conflicts: {applied:?}, {forced:?}"
            );
        }
        let state = self.after(&applied);
        self.check_ownership(&state)?;
        self.check_config_is_there(&state, shadowed_empty_map)?;
        self.check_removal(&state, shadowed_empty_map || duplicates)?;
        self.check_repetition(&state, shadowed_empty_map)?;
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
            live: applied.object.clone().unwrap_or_else(|| self.before.live.clone()),
            owners: applied.owners.clone(),
        }
    }

    /// The same apply to the same object and sets, read anew, has the same result.
    fn check_sharing(&self, result: &Result<Applied, Error>) -> Result<(), String> {
        let (Some(before), Some(config)) = (self.before.read_anew()?, read_anew(self.config)?) else {
            return Err("what goes into an apply is not valid when it is read anew".into());
        };
        let anew = self.run(&before, &config, self.force);
        match (result, &anew) {
            (Ok(result), Ok(anew)) => {
                ensure!(same(result, anew), "read anew, the result differs:\n{result:?}\n{anew:?}");
            }
            (Err(result), Err(anew)) => {
                ensure!(result == anew, "read anew, the error differs:\n{result:?}\n{anew:?}");
            }
            _ => return Err(format!("read anew, the outcome differs:\n{result:?}\n{anew:?}")),
        }
        Ok(())
    }

    /// Conflicts are about what others own, and force takes just that.
    fn check_conflicts(&self, conflicts: &Conflicts) -> Result<(), String> {
        ensure!(!self.force, "conflicts with force: {conflicts}");
        ensure!(conflicts.len() > 0, "conflicts without a conflict");
        let forced = self.run(self.before, self.config, true);
        let forced = forced.map_err(|error| format!("with force it fails: {error}"))?;
        for conflict in conflicts {
            let owned =
                self.before.owners.get(&conflict.manager).is_some_and(|e| e.set().has(&conflict.path));
            ensure!(owned && conflict.manager != self.manager, "{conflict}: that manager does not own it");
            let kept = forced.owners.get(&conflict.manager).is_some_and(|e| e.set().has(&conflict.path));
            ensure!(!kept, "{conflict}: with force the manager keeps it");
            let live = self.before.live.get(&conflict.path);
            ensure!(
                live == conflict.live.as_ref(),
                "{conflict}: the live value is {live:?}, not {:?}",
                conflict.live
            );
        }
        Ok(())
    }

    /// The applier owns the fields of its configuration, others what they did and was not changed.
    fn check_ownership(&self, after: &State) -> Result<(), String> {
        let fields = match read_anew(self.config)? {
            Some(config) => config.field_set(),
            None => return Err("the configuration is not valid any more".into()),
        };
        match after.owners.get(self.manager) {
            None => ensure!(fields.is_empty(), "{} does not own its configuration: {fields}", self.manager),
            Some(entry) => {
                ensure!(entry.is_applied(), "{} is no applier", self.manager);
                ensure!(!fields.is_empty(), "{} has an entry and owns nothing", self.manager);
                let own = entry.set();
                ensure!(*own == fields, "{} owns {own:?} by applying {fields:?}", self.manager);
            }
        }
        let Some(change) = change(self.before, after)? else {
            return Ok(());
        };
        check_others(self.before, after, self.manager, &change)?;
        if !self.force {
            for (name, entry) in self.before.owners.iter().filter(|(name, _)| *name != self.manager) {
                let taken = entry.set().intersection(&change.modified.union(&change.added));
                ensure!(taken.is_empty(), "without force, what {name} owns changed: {taken}");
            }
        }
        Ok(())
    }

    /// What the configuration says is so.
    fn check_config_is_there(&self, after: &State, shadowed_empty_map: bool) -> Result<(), String> {
        for path in self.config.field_set().paths() {
            let wanted = self.config.get(&path);
            let found = after.live.get(&path);
            let is_leaf =
                wanted.is_some_and(Value::is_scalar) || (!shadowed_empty_map && self.is_atomic(&path));
            ensure!(!is_leaf || wanted == found, "{path} is {found:?} and was applied as {wanted:?}");
            ensure!(shadowed_empty_map || found.is_some(), "{path} was applied and is not there");
        }
        Ok(())
    }

    /// Whether what is at a path has nothing below it that is owned by itself.
    fn is_atomic(&self, path: &Path) -> bool {
        let mut below = self.config.field_set();
        for element in path.iter() {
            below = below.with_prefix(element);
        }
        below.is_empty() && self.config.get(path).is_some_and(|value| !is_empty(value))
    }

    /// What went was the manager's own, or below something that was and that nobody else owned, or of another kind
    /// than what the configuration puts in its place.
    fn check_removal(&self, after: &State, shadowed_empty_map: bool) -> Result<(), String> {
        let Some(change) = change(self.before, after)? else {
            return Ok(());
        };
        let last = self.before.owners.get(self.manager).map(|entry| entry.set().clone()).unwrap_or_default();
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
                // One item is left of several with this key.
                continue;
            }
            let prefixes = || (1..=path.len()).filter_map(|n| path.get(..n));
            let replaced = prefixes().any(|prefix| config.has(prefix) && change.modified.has(prefix));
            let given_up = |kept: &[&Set]| {
                prefixes().any(|prefix| {
                    let items = last.has(prefix) && !kept.iter().any(|set| set.has(prefix));
                    items || (reaches(&last, prefix) && !kept.iter().any(|set| reaches(set, prefix)))
                })
            };
            // A list or map goes with the last of its items.
            let emptied =
                change.removed.paths().any(|below| below.len() > path.len() && below.starts_with(&path));
            // What is empty is no field, so that nobody owns it.
            let empty = self.before.live.get(&path).is_some_and(is_empty);
            ensure!(
                replaced || emptied || empty || given_up(&[&config]),
                "{path} went, and {} did not own it",
                self.manager
            );
            if shadowed_empty_map || replaced || !others.iter().any(|set| set.has(&path)) {
                continue;
            }
            let kept: Vec<&Set> = others.iter().copied().chain([&config]).collect();
            ensure!(given_up(&kept), "{path} went, which another manager owns");
        }
        Ok(())
    }

    /// The same apply again changes nothing.
    fn check_repetition(&self, after: &State, shadowed_empty_map: bool) -> Result<(), String> {
        // With nothing left the object is null, which the empty configuration makes an empty map. And the object may
        // have lost the key of an item; then it takes no further apply.
        let nothing = self.config.value().as_map().is_some_and(Map::is_empty);
        if shadowed_empty_map || nothing || after.read_anew()?.is_none() {
            return Ok(());
        }
        let again = self.run(after, self.config, false);
        let again = again.map_err(|error| format!("the same apply again fails: {error}"))?;
        if let Some(object) = again.object {
            return Err(format!("the same apply again makes {} of {}", object.value(), after.live.value()));
        }
        ensure!(
            again.owners == after.owners,
            "the same apply again changes the owners: {:?}, {:?}",
            after.owners,
            again.owners
        );
        Ok(())
    }
}

/// Updates; the state after it.
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
            .map_err(|error| format!("{manager} cannot update: {error}"))
    };
    let updated = run(before, new)?;
    ensure!(
        updated.object.value().strict_eq(new.value()),
        "an update made something else: {:?}",
        updated.object
    );
    let (Some(fresh), Some(fresh_new)) = (before.read_anew()?, read_anew(new)?) else {
        return Err("what goes into an update is not valid when it is read anew".into());
    };
    let anew = run(&fresh, &fresh_new)?;
    ensure!(
        anew.owners == updated.owners,
        "read anew, the owners differ:\n{:?}\n{:?}",
        updated.owners,
        anew.owners
    );
    let after = State { live: updated.object, owners: updated.owners };
    let Some(change) = change(before, &after)? else {
        return Ok(after);
    };
    check_others(before, &after, manager, &change)?;
    let own = |state: &State| state.owners.get(manager).map(|e| e.set().clone()).unwrap_or_default();
    let expected = own(before).difference(&change.removed).union(&change.modified).union(&change.added);
    ensure!(own(&after) == expected, "{manager} owns {:?}, expected {expected:?}", own(&after));
    if let Some(entry) = after.owners.get(manager) {
        ensure!(!entry.is_applied() && !entry.set().is_empty(), "{manager} is {entry:?} after an update");
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

/// Whether a set has a path or anything below it.
fn reaches(set: &Set, path: &[PathElement]) -> bool {
    match path.split_first() {
        None => !set.is_empty(),
        Some((first, [])) => set.get(first).is_some(),
        Some((first, rest)) => set.get(first).is_some_and(|node| reaches(node.children(), rest)),
    }
}

/// What every manager owns is in the object.
pub(crate) fn owned_is_there(state: &State) -> Result<(), String> {
    for (name, entry) in &state.owners {
        for path in entry.set().paths() {
            ensure!(
                state.live.get(&path).is_some(),
                "{name} owns {path}, which is not in {}",
                state.live.value()
            );
        }
    }
    Ok(())
}

/// What changed: the same whether the two objects share anything or not. None if an object is not valid any more.
fn change(before: &State, after: &State) -> Result<Option<Comparison>, String> {
    let compare =
        |a: &TypedValue, b: &TypedValue| a.compare(b).map_err(|error| format!("cannot compare: {error}"));
    let (Some(old), Some(new)) = (read_anew(&before.live)?, read_anew(&after.live)?) else {
        return Ok(None);
    };
    let change = compare(&old, &new)?;
    let shared = compare(&before.live, &after.live)?;
    ensure!(change == shared, "read anew, the comparison differs: {shared:?}, {change:?}");
    ensure!(compare(&new, &new)?.is_same(), "an object differs from itself");
    let back = compare(&new, &old)?;
    ensure!(
        back.added == change.removed && back.removed == change.added && back.modified == change.modified,
        "the comparison backwards is another one: {change:?}, {back:?}"
    );
    Ok(Some(change))
}

/// Every other manager owns what it did, without what changed.
fn check_others(before: &State, after: &State, manager: &str, change: &Comparison) -> Result<(), String> {
    let gone = change.added.union(&change.modified).union(&change.removed);
    for (name, entry) in before.owners.iter().filter(|(name, _)| *name != manager) {
        let expected = entry.set().difference(&gone);
        let left = after.owners.get(name).map(|entry| entry.set().clone()).unwrap_or_default();
        ensure!(left == expected, "{name} is left with {left:?}, expected {expected:?}");
        if let Some(kept) = after.owners.get(name) {
            ensure!(kept.is_applied() == entry.is_applied() && !left.is_empty(), "{name} became {kept:?}");
        }
    }
    for (name, _) in &after.owners {
        ensure!(name == manager || before.owners.get(name).is_some(), "{name} came out of nothing");
    }
    Ok(())
}

/// Whether two results are the same to whoever reads them.
fn same(a: &Applied, b: &Applied) -> bool {
    let text = |applied: &Applied| applied.object.as_ref().map(|object| object.value().to_json());
    a.object.as_ref().map(TypedValue::value) == b.object.as_ref().map(TypedValue::value)
        && text(a) == text(b)
        && a.owners == b.owners
}

/// The state as a text.
fn describe(state: &State) -> String {
    let ty: &Type = state.live.ty();
    format!("{ty:?} {} {:?}", state.live.value(), state.owners)
}
