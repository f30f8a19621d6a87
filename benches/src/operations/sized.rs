//! A change to ten parts of an object of any size.
//!
//! The live object and its owners are kept in memory, as in a program that stores them; every run starts from the same
//! ones.

use fieldmanager_fieldpath::VersionedSet;
use fieldmanager_merge::Updater;
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};

use super::state::State;
use crate::measure::{Prepared, reused};
use crate::objects::typed;
use crate::sizes;

/// Operations on a keyed list: an apply of ten items for the first time, the second apply of the same manager with
/// other values, the second with the same ones, an update whose object was derived from the live one, and an apply
/// to an object with fifty managers.
pub const ON_LISTS: [&str; 5] = ["first", "again", "same", "update", "managers"];
/// Operations on a map.
pub const ON_MAPS: [&str; 4] = ["first", "again", "same", "update"];

pub(super) fn list(what: &str, n: usize) -> Option<Prepared> {
    let ty = ty();
    let read = |text: String| typed(&text, &ty, Duplicates::Refuse);
    let live = created(&ty, &read(sizes::list(n)));
    let changes = [0, 1].map(|round| read(sizes::list_change(n, round)));
    if what != "managers" {
        return operation(what, live, changes);
    }
    let mut state = live;
    for manager in 0..sizes::MANAGERS {
        let part = read(sizes::list_part(n, manager));
        let entry = VersionedSet::new(part.field_set(), "v1", true);
        state.owners.insert(format!("manager-{manager}"), entry);
    }
    // One of the managers applies its fields again, so that all sets are marked as reconciled with the schema.
    let state = state.apply(
        &Updater::builder().build(),
        &read(sizes::list_part(n, 0)),
        "manager-0",
        true,
    );
    operation("first", state, changes)
}

pub(super) fn map(what: &str, n: usize) -> Option<Prepared> {
    let ty = ty();
    let read = |text: String| typed(&text, &ty, Duplicates::Refuse);
    let live = created(&ty, &read(sizes::map(n)));
    operation(
        what,
        live,
        [0, 1].map(|round| read(sizes::map_change(n, round))),
    )
}

fn ty() -> Type {
    Schema::from_yaml(sizes::SCHEMA)
        .unwrap()
        .type_named(sizes::TYPE)
        .unwrap()
}

/// The state after the creation of the object.
fn created(ty: &Type, object: &TypedValue) -> State {
    State::nothing(ty).update(&Updater::builder().build(), object, "creator", "v1")
}

fn operation(what: &str, live: State, [first, second]: [TypedValue; 2]) -> Option<Prepared> {
    let updater = Updater::builder().build();
    let after = match what {
        "again" | "same" => live.apply(&updater, &first, "applier", true),
        _ => live,
    };
    let config = if what == "again" { second } else { first };
    let step: Box<dyn Fn() -> State> = match what {
        "first" | "again" | "same" => {
            Box::new(move || after.apply(&updater, &config, "applier", true))
        }
        "update" => {
            let new = after.live.merge(&config).unwrap();
            Box::new(move || after.update(&updater, &new, "updater", "v1"))
        }
        _ => return None,
    };
    let step = std::rc::Rc::new(step);
    let output = step.clone();
    Some(Prepared {
        run: reused(move || step()),
        output: Box::new(move || output().output()),
    })
}
