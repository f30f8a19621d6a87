//! What happened to an object, in words.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_blame::{Palette, printable, shown_name};
use maud::{Markup, html};

use crate::log::{Change, Event, Item, ManagerChange, ObjectHistory};

/// The number of fields that a summary lists.
const SHORT: usize = 3;

/// An item of a history with the fields that it changed.
pub(super) struct Step<'h> {
    pub(super) item: &'h Item,
    pub(super) changes: Vec<ManagerChange>,
}

/// A field about which managers disagree.
pub(super) struct Fight {
    pub(super) path: String,
    pub(super) managers: BTreeSet<String>,
    /// How often it changed its owner because of a write of another manager.
    pub(super) taken: usize,
    /// How often a request was refused because of it.
    pub(super) refused: usize,
}

/// All items of a history with the fields that they changed.
pub(super) fn steps(history: &ObjectHistory) -> Vec<Step<'_>> {
    let items = history.items.iter().enumerate();
    items
        .map(|(at, item)| Step {
            item,
            changes: history.changes(at),
        })
        .collect()
}

/// The fields that were taken at least twice, or taken and refused: the most disputed first.
pub(super) fn fights(steps: &[Step<'_>]) -> Vec<Fight> {
    let mut found: BTreeMap<&str, Fight> = BTreeMap::new();
    fn of<'m, 's>(found: &'m mut BTreeMap<&'s str, Fight>, path: &'s str) -> &'m mut Fight {
        found.entry(path).or_insert_with(|| Fight {
            path: path.to_owned(),
            managers: BTreeSet::new(),
            taken: 0,
            refused: 0,
        })
    }

    for step in steps {
        for change in &step.changes {
            // Both sides disagree: the manager that took the field, and those that lost it by the same write.
            for path in &change.took {
                let fight = of(&mut found, path);
                fight.taken += 1;
                fight.managers.insert(change.manager.clone());
                let losers = step
                    .changes
                    .iter()
                    .filter(|other| other.lost.contains(path));
                fight
                    .managers
                    .extend(losers.map(|other| other.manager.clone()));
            }
        }

        // Without force, a manager that disagrees never takes the field: only its conflicts show that.
        if let (Event::Refused(refusal), Some(request)) = (&step.item.event, &step.item.request) {
            for (_, path) in &refusal.conflicts {
                let fight = of(&mut found, path);
                fight.refused += 1;
                fight.managers.insert(request.manager.clone());
            }
        }
    }

    // A field that changed hands once was handed over, and is not disputed.
    let mut fights: Vec<Fight> = found
        .into_values()
        .filter(|fight| fight.taken + fight.refused > 1)
        .collect();
    fights.sort_by_key(|fight| std::cmp::Reverse(fight.taken + fight.refused));
    fights
}

impl Step<'_> {
    /// The manager that made the request; empty for a state that was found.
    pub(super) fn manager(&self) -> &str {
        self.item
            .request
            .as_ref()
            .map_or("", |request| &request.manager)
    }

    /// What the request did, in a word.
    fn verb(&self) -> &'static str {
        let verb = self
            .item
            .request
            .as_ref()
            .map_or("", |request| request.verb.as_str());

        match (&self.item.event, verb) {
            (
                Event::Written {
                    change: Change::Deleted,
                    ..
                },
                _,
            ) => "deleted",
            (_, "apply") => "applied",
            (
                Event::Written {
                    change: Change::Created,
                    ..
                },
                _,
            ) => "created",
            (_, "patch") => "patched",
            _ => "updated",
        }
    }

    /// One sentence.
    pub(super) fn sentence(&self) -> String {
        match &self.item.request {
            Some(request) => format!("{}{}", shown_name(&request.manager), self.predicate()),
            None => self.predicate(),
        }
    }

    /// The sentence with the manager in its colour.
    pub(super) fn coloured(&self, palette: &Palette) -> Markup {
        html! { @if self.item.request.is_some() { (name(palette, self.manager())) } (self.predicate()) }
    }

    /// The sentence without the manager at its beginning.
    fn predicate(&self) -> String {
        let Some(request) = &self.item.request else {
            return "The object was found in the store.".to_owned();
        };
        let dry_run = if request.dry_run { ", dry run" } else { "" };
        let fault = request
            .fault
            .as_deref()
            .map_or(String::new(), |fault| format!(" Fault: {fault}."));

        if let Event::Refused(refusal) = &self.item.event {
            let (verb, reason) = (printable(&request.verb), printable(&request.reason));
            let (status, message) = (request.status, short(&refusal.message));
            return format!(
                ": {verb} was refused with {status} {reason}{dry_run}: {message}.{fault}"
            );
        }

        let (own, others): (Vec<_>, Vec<_>) = self
            .changes
            .iter()
            .partition(|change| change.manager == request.manager);
        let own = own
            .into_iter()
            .map(|change| format!(" and {}", effect(change)));
        let others = others
            .into_iter()
            .map(|change| format!("; {} {}", shown_name(&change.manager), effect(change)));

        format!(
            " {}{}.{fault}",
            self.verb(),
            own.chain(others).collect::<String>()
        )
    }

    /// The paths that the step changed, and those because of which it was refused.
    pub(super) fn paths(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let changed = self
            .changes
            .iter()
            .flat_map(|change| [&change.gained, &change.lost, &change.changed]);
        let refused = match &self.item.event {
            Event::Refused(refusal) => refusal
                .conflicts
                .iter()
                .map(|(_, path)| path.clone())
                .collect(),
            _ => BTreeSet::new(),
        };

        (changed.flatten().cloned().collect(), refused)
    }
}

/// A manager with its colour.
pub(super) fn name(palette: &Palette, manager: &str) -> Markup {
    html! { bdi class=(format!("name c{}", palette.colour(manager))) { (shown_name(manager)) } }
}

/// The effect of a write on one manager.
fn effect(change: &ManagerChange) -> String {
    let gained: Vec<&String> = change
        .gained
        .iter()
        .filter(|path| !change.took.contains(path))
        .collect();
    let lists = [
        ("took", change.took.iter().collect()),
        ("gained", gained),
        ("lost", change.lost.iter().collect()),
        ("changed", change.changed.iter().collect::<Vec<_>>()),
    ];
    let parts: Vec<String> = lists
        .into_iter()
        .filter(|(_, paths)| !paths.is_empty())
        .map(|(verb, paths)| format!("{verb} {}", listed(&paths)))
        .collect();

    parts.join(", ")
}

fn listed(paths: &[&String]) -> String {
    let mut shown: Vec<String> = paths
        .iter()
        .take(SHORT)
        .map(|path| printable(path))
        .collect();
    if paths.len() > SHORT {
        shown.push(format!("{} more", paths.len() - SHORT));
    }
    shown.join(" ")
}

/// The beginning of a message, which may be long.
fn short(message: &str) -> String {
    let mut shown: String = message.chars().take(300).collect();
    if shown.len() < message.len() {
        shown.push('…');
    }
    printable(&shown.replace('\n', " "))
}
