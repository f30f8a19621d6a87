//! The steps of a scenario file that repeat what happened to an object.
//!
//! The server adds fields that no manager owns, such as defaults, and a scenario has no server: its objects are reduced to
//! the fields that managers own. So the configuration of an apply is what its manager owns afterwards.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_apiserver::log::{ManagerChange, RecordedEffect, RecordedEvent, RecordedHistory};
use fieldmanager_fieldpath::{ApiVersion, Filter, Set};
use fieldmanager_managedfields::internal::{BEFORE_FIRST_APPLY, display_name};
use fieldmanager_managedfields::{Entry, Operation};
use fieldmanager_schema::Type;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::TypedValue;
use fieldmanager_value::internal::escape_untrusted;
use fieldmanager_value::{Map, Value};

use super::differences::{differences, is_empty_at};
use super::part::{part, typed, without_server_fields};
use crate::origin::Origin;
use crate::outcome::{Outcome, map};
use crate::runner::Runner;
use crate::scenario::{Action, ManagedWrite, Options, Scenario, WriteVerb};
use crate::schemas::SchemaSource;

/// A scenario: the steps of one object, from its creation or the state that was found to its deletion.
#[derive(Default)]
pub(super) struct Life {
    /// The steps as items of a YAML list, with comments; `None` for a step that is left out.
    pub(super) steps: Vec<(String, Option<Value>)>,
}

/// The part of a scenario that an event becomes.
#[derive(Default)]
struct Made {
    steps: Vec<Value>,
    /// How the scenario is not like the history.
    note: Option<String>,
}

/// Repeats the events of one life.
struct Replay<'s> {
    ty: Type,
    /// The version of the steps.
    version: ApiVersion,
    names: Names,
    runner: Runner<'s>,
}

/// The names of managers in the scenario: one for each entry that a manager has.
struct Names(BTreeMap<(String, Operation, String), String>);

/// The lives of an object.
pub(super) fn lives(history: &RecordedHistory) -> Result<Vec<Life>, String> {
    let version = ApiVersion::from(history.kind.api_version());
    let states = || {
        history
            .events
            .iter()
            .filter_map(|event| event.after.as_ref())
    };
    let all: Vec<Entry> = states().flat_map(entries).collect();

    // All steps are at one version, so an entry at another version cannot be replayed.
    if let Some(other) = all.iter().find(|entry| entry.api_version != version) {
        return Err(format!(
            "{} wrote version {}, and objects are stored at {version}",
            escape_untrusted(&other.manager),
            escape_untrusted(other.api_version.as_str())
        ));
    }

    let (scenario, ty) = scenario(history, &version)?;
    // Every life begins without a live object, so its runner is a copy of this one.
    let start = Runner::new(&scenario).map_err(|error| error.to_string())?;
    let names = Names::of(&all);
    let mut replay = Replay {
        ty,
        version,
        names,
        runner: start.clone(),
    };
    let mut lives = vec![Life::default()];

    for event in &history.events {
        // A removal ends a life, and a state that was found begins one: no later step continues the live object before
        // it.
        let is_removal = event.after.is_none() && matches!(event.effect, RecordedEffect::Written);
        if is_removal || matches!(event.effect, RecordedEffect::Found) {
            lives.push(Life::default());
            replay.runner = start.clone();
        }
        let made = replay.event(event)?;
        let time_and_sentence = format!("{} {}", event.time, event.sentence);
        let comment: Vec<&str> = std::iter::once(time_and_sentence.trim())
            .chain(made.note.as_deref())
            .collect();
        let comment = escape_untrusted(&comment.join(" ")).into_owned();
        let Some(life) = lives.last_mut() else {
            continue;
        };

        // The comment of an event without a step remains, so that the file tells what is not repeated.
        if made.steps.is_empty() && made.note.is_some() {
            life.steps.push((comment, None));
        } else {
            let steps = made.steps.into_iter();
            life.steps
                .extend(steps.map(|step| (comment.clone(), Some(step))));
        }
    }
    // A removal opens a life, which stays empty if the object is not created again.
    lives.retain(|life| life.steps.iter().any(|(_, step)| step.is_some()));

    Ok(lives)
}

/// The scenario of a history, without steps, and the type of its objects.
fn scenario(history: &RecordedHistory, version: &ApiVersion) -> Result<(Scenario, Type), String> {
    let schema = match &history.definition {
        Some(definition) => SchemaSource::Inline(definition.clone()),
        None => SchemaSource::Builtin("kubernetes".into()),
    };
    let types = schema.types().map_err(|error| error.to_string())?;
    let ty = types
        .for_kind(&history.kind)
        .map_err(|error| error.to_string())?;
    let scenario = Scenario {
        name: history.title.clone(),
        origin: Origin::default(),
        schema,
        types: [(version.clone(), ty.name().into())].into(),
        options: Options {
            unions: history.unions,
            filters: [(version.clone(), Filter::Exclude(ignored()))].into(),
            ..Options::default()
        },
        conversion: None,
        case: None,
        steps: Vec::new(),
    };

    Ok((scenario, ty))
}

/// A note that lists differences; `None` without any.
fn note(different: BTreeSet<String>) -> Option<String> {
    let different: Vec<String> = different.into_iter().collect();
    (!different.is_empty()).then(|| format!("Unlike on the server: {}.", different.join("; ")))
}

impl Names {
    fn of(entries: &[Entry]) -> Self {
        let own = |entry: &Entry| {
            (
                entry.manager.to_string(),
                entry.operation,
                entry.subresource.to_string(),
            )
        };
        let all: BTreeSet<(String, Operation, String)> = entries.iter().map(own).collect();
        let name = |id: &(String, Operation, String)| {
            // A scenario has no subresources, so several entries of one manager are several managers there.
            let is_only = all.iter().filter(|other| other.0 == id.0).count() == 1;
            if is_only {
                id.0.clone()
            } else {
                qualified(&id.0, id.1, &id.2)
            }
        };

        Names(all.iter().map(|id| (id.clone(), name(id))).collect())
    }

    fn get(&self, manager: &str, operation: Operation, subresource: &str) -> String {
        let id = (manager.to_owned(), operation, subresource.to_owned());
        let name = self.0.get(&id).cloned();
        // A manager that never had this entry, such as one that only removed fields.
        name.unwrap_or_else(|| qualified(manager, operation, subresource))
    }

    fn of_entry(&self, entry: &Entry) -> String {
        self.get(&entry.manager, entry.operation, &entry.subresource)
    }
}

fn qualified(manager: &str, operation: Operation, subresource: &str) -> String {
    match subresource {
        "" => format!("{manager} ({operation})"),
        subresource => format!("{manager} ({operation}, {subresource})"),
    }
}

impl Replay<'_> {
    /// The part of the scenario for an event.
    fn event(&mut self, event: &RecordedEvent) -> Result<Made, String> {
        match (&event.effect, &event.after) {
            (RecordedEffect::Found, Some(object)) => self.found(event, object),
            (RecordedEffect::Written, Some(object)) => self.written(event, object),
            (RecordedEffect::Refused { conflicts, body }, live) if event.verb == "apply" => {
                Ok(self.refused(event, conflicts, body, live.as_ref()))
            }
            _ => Ok(Made::default()),
        }
    }

    /// The steps after which a state exists: every updater adds its fields, and every applier applies its own.
    fn found(&mut self, event: &RecordedEvent, object: &Value) -> Result<Made, String> {
        let mut actions = Vec::new();
        let mut known = Set::new();
        let all = entries(object);
        let (appliers, updaters): (Vec<&Entry>, Vec<&Entry>) = all
            .iter()
            .partition(|entry| entry.operation == Operation::Apply);

        // An update sends the whole object, so each updater adds its fields to those of the updaters before.
        for entry in updaters {
            known = known.union(&entry.fields);
            let new = part(object, &known, &self.ty)?;
            actions.push(self.update(&self.names.of_entry(entry), new));
        }

        // All values are those of one object, so an applier shares them with the updaters and takes nothing from them.
        for entry in appliers {
            let config = part(object, &entry.fields, &self.ty)?;
            actions.push(self.apply(&self.names.of_entry(entry), config, true));
        }
        for action in &actions {
            self.runner.step(action);
        }

        Ok(Made {
            steps: actions.iter().map(|action| step(action, None)).collect(),
            note: self.differences(event, object)?,
        })
    }

    /// The steps of a write, none if it changed nothing that a manager owns.
    fn written(&mut self, event: &RecordedEvent, object: &Value) -> Result<Made, String> {
        // A change without a request is that of the server itself.
        if event.verb.is_empty() || event.changes.is_empty() && event.before.is_some() {
            return Ok(Made::default());
        }
        let after = entries(object);
        let mut steps = Vec::new();

        // The first apply to an object without owners makes this manager the owner of the object.
        let before = event.before.as_ref();
        let unowned = before.filter(|before| entries(before).is_empty());
        let first = after
            .iter()
            .find(|entry| entry.manager == BEFORE_FIRST_APPLY);

        if let (Some(before), Some(first)) = (unowned, first) {
            let own = part(before, &first.fields, &self.ty)?;
            let action = self.update(&self.names.of_entry(first), own);
            self.runner.step(&action);
            steps.push(step(&action, None));
        }

        // An apply is repeated by its configuration, any other verb by the object after it.
        let action = match event.verb.as_str() {
            "apply" => self.applied(event, object, &after)?,
            _ => {
                let new = part(object, &all_fields(&after), &self.ty)?;
                self.update(&self.updater(event), new)
            }
        };
        self.runner.step(&action);
        let note = self.differences(event, object)?;
        let expect = Outcome::State(self.runner.state()).to_value();
        steps.push(step(&action, Some(expect)));

        Ok(Made { steps, note })
    }

    /// The apply of what its manager owns afterwards, by force if other managers lost fields.
    fn applied(
        &self,
        event: &RecordedEvent,
        object: &Value,
        after: &[Entry],
    ) -> Result<Action, String> {
        // A manager has an entry for each operation and subresource; the configuration is in that of the request.
        let own = after.iter().find(|entry| {
            entry.manager == event.manager.as_str()
                && entry.operation == Operation::Apply
                && entry.subresource == event.subresource.as_str()
        });
        let fields = own.map(|entry| entry.fields.clone()).unwrap_or_default();
        // Another manager loses changed fields only by force. If it loses only removed fields, there is no conflict,
        // and force changes nothing.
        let is_own =
            |change: &ManagerChange| change.manager == event.manager && change.operation == "Apply";
        let changes = &event.changes;
        let takes = changes
            .iter()
            .any(|change| !is_own(change) && !change.lost.is_empty());
        let config = part(object, &fields, &self.ty)?;

        Ok(self.apply(&self.applier(event), config, takes))
    }

    fn applier(&self, event: &RecordedEvent) -> String {
        self.names
            .get(&event.manager, Operation::Apply, &event.subresource)
    }

    /// The manager that an update made the owner of fields: not always the one of the request.
    fn updater(&self, event: &RecordedEvent) -> String {
        let updates = event.changes.iter().filter(|change| {
            change.operation == "Update" && !(change.gained.is_empty() && change.changed.is_empty())
        });
        let own = updates
            .clone()
            .find(|change| change.manager == event.manager)
            .or_else(|| updates.clone().next());
        let (manager, subresource) = match own {
            Some(change) => (&change.manager, &change.subresource),
            None => (&event.manager, &event.subresource),
        };

        self.names.get(manager, Operation::Update, subresource)
    }

    /// A note about the managers that own other containers than in the scenario; an error if it has other values, or other
    /// owners of values.
    fn differences(&self, event: &RecordedEvent, object: &Value) -> Result<Option<String>, String> {
        let own = |entry: &Entry| (self.names.of_entry(entry), entry.fields.clone());
        let recorded = entries(object).iter().map(own).collect();
        let live = self.live();
        let replayed = (&live, &self.runner.state().managed);
        match differences(replayed, (&typed(object, &self.ty)?, &recorded)) {
            Some(different) => Ok(note(different)),
            None => Err(format!(
                "without the server, this has another result: {}",
                escape_untrusted(&event.sentence)
            )),
        }
    }

    fn live(&self) -> TypedValue {
        let live = self.runner.live();
        live.cloned()
            .unwrap_or_else(|| TypedValue::null(self.ty.clone()))
    }

    /// The step of an apply that had conflicts, none for other refusals, which a scenario does not have.
    fn refused(
        &self,
        event: &RecordedEvent,
        conflicts: &[(String, String)],
        body: &[u8],
        live: Option<&Value>,
    ) -> Made {
        if conflicts.is_empty() {
            return Made::default();
        }
        let left_out =
            "Left out: a scenario, which has no defaults, does not have these conflicts.";
        let left_out = Made {
            note: Some(left_out.to_owned()),
            ..Made::default()
        };
        let body = std::str::from_utf8(body)
            .ok()
            .and_then(|body| Value::from_yaml(body).ok());

        let Some(body) = body else { return left_out };

        // The messages name managers as people read them.
        let owners = live.map(entries).unwrap_or_default();
        let recorded = conflicts.iter().map(|(message, path)| {
            let named = message.strip_prefix("conflict with ").unwrap_or(message);
            let owner = owners
                .iter()
                .find(|entry| display_name(&entry.identity()) == named);
            let owner = owner.map_or_else(|| named.to_owned(), |entry| self.names.of_entry(entry));
            (owner, path.clone())
        });
        let recorded: BTreeSet<(String, String)> = recorded.collect();

        // The apply runs on a copy: if the scenario accepts it, its live object must remain as it was.
        let action = self.apply(&self.applier(event), without_server_fields(&body), false);
        let outcome = self.runner.clone().step(&action);
        let found: BTreeSet<(String, String)> = match &outcome {
            Outcome::Conflicts(found) => found
                .iter()
                .map(|conflict| (conflict.manager.clone(), conflict.path.clone()))
                .collect(),
            _ => return left_out,
        };
        // A conflict may differ where the live object has no value, since the server drops what is empty.
        let (live, all) = (self.live(), all_fields(&owners));
        let different = || found.symmetric_difference(&recorded);
        if different().any(|(_, path)| !is_empty_at(&live, &all, path)) {
            return left_out;
        }

        let difference = |conflict: &(String, String)| {
            let number = if found.contains(conflict) {
                "one more"
            } else {
                "no"
            };
            format!("{number} conflict with {} about {}", conflict.0, conflict.1)
        };

        Made {
            steps: vec![step(&action, Some(outcome.to_value()))],
            note: note(different().map(difference).collect()),
        }
    }

    fn apply(&self, manager: &str, config: Value, force: bool) -> Action {
        self.write(WriteVerb::Apply { force }, manager, config)
    }

    fn update(&self, manager: &str, new: Value) -> Action {
        self.write(WriteVerb::Update, manager, new)
    }

    fn write(&self, verb: WriteVerb, manager: &str, given: Value) -> Action {
        Action::Write(ManagedWrite {
            verb,
            manager: manager.into(),
            api_version: self.version.clone(),
            given,
        })
    }
}

/// An apply or update as a step in the file.
fn step(action: &Action, expect: Option<Value>) -> Value {
    let mut step = Map::new();
    if let Action::Write(write) = action {
        let mut fields = Map::from_iter([
            ("manager", Value::from(write.manager.as_str())),
            ("apiVersion", write.api_version.as_str().into()),
            ("object", write.given.clone()),
        ]);
        if write.verb == (WriteVerb::Apply { force: true }) {
            fields.insert("force", true);
        }
        step.insert(action.name(), Value::Map(fields));
    }

    if let Some(expect) = expect {
        step.insert("expect", expect);
    }
    Value::Map(step)
}

/// The entries of the managed fields of a state that can be read.
fn entries(object: &Value) -> Vec<Entry> {
    let list = object.managed_fields().and_then(Value::as_list);
    let entries = list.into_iter().flatten().enumerate();
    entries
        .filter_map(|(index, entry)| Entry::from_value(index, entry).ok())
        .collect()
}

fn all_fields(entries: &[Entry]) -> Set {
    entries
        .iter()
        .fold(Set::new(), |all, entry| all.union(&entry.fields))
}

/// The fields that no manager of an object owns and that a scenario needs. Without the name and the namespace, an object has
/// no metadata when managers own none.
pub(super) fn ignored() -> Set {
    let none = || Value::Map(Map::new());
    let fields = map([("f:apiVersion", none()), ("f:kind", none())]);
    // The text of these names is valid.
    Set::from_value(&fields).unwrap_or_default()
}
