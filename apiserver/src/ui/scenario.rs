//! The steps of a scenario file that repeat what happened to an object.
//!
//! The server adds fields that no manager owns, such as defaults, and a scenario has no server: its objects are reduced to
//! the fields that managers own. So the configuration of an apply is what its manager owns afterwards.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_blame::printable;
use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_managedfields::internal::BEFORE_FIRST_APPLY;
use fieldmanager_managedfields::{Entry, Operation};
use fieldmanager_schema::Type;
use fieldmanager_typed::{Duplicates, KeyFields, TypedValue};
use fieldmanager_value::{List, Map, Value};

use super::objects::entries;
use super::replay::Replay;
use super::step::Step;
use crate::endpoint::Failure;
use crate::log::{Event, ManagerChange, ObjectHistory, Refusal, Request};
use crate::object::{fields, map, with_metadata};

/// The metadata of which managers own nothing.
const SERVER_FIELDS: [&str; 7] =
    ["managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "name", "namespace"];

/// The number of keys of one object that are looked at.
const MAX_KEYS: usize = 100;

/// A scenario: the steps of one object, from its creation or the state that was found to its deletion.
#[derive(Default)]
pub(super) struct Life {
    /// The steps as items of a YAML list, with comments; `None` for a step that is left out.
    pub(super) steps: Vec<(String, Option<Value>)>,
}

/// The part of a scenario that an event of a history becomes.
#[derive(Default)]
struct Made {
    steps: Vec<Value>,
    /// How the scenario is not like the history.
    note: Option<String>,
}

/// The common part of the steps of an object.
pub(super) struct Writer<'a> {
    ty: &'a Type,
    /// The version of the steps.
    version: String,
    names: Names,
}

/// The names of managers in the scenario: one for each entry that a manager has.
struct Names(BTreeMap<(String, Operation, String), String>);

/// The lives of an object.
pub(super) fn lives(
    ty: &Type,
    version: &str,
    unions: bool,
    history: &ObjectHistory,
    steps: &[Step<'_>],
) -> Result<Vec<Life>, Failure> {
    let states = || history.items.iter().filter_map(|item| item.event.object());
    let all: Vec<Entry> = states().flat_map(entries).collect();
    if let Some(other) = all.iter().find(|entry| entry.api_version.as_str() != version) {
        let (manager, own) = (printable(&other.manager), printable(other.api_version.as_str()));
        return Err(refuse(format!("{manager} wrote version {own}, and objects are stored at {version}")));
    }
    let writer = Writer { ty, version: version.to_owned(), names: Names::of(&all) };
    let new_replay = || Replay::new(ty, version, &ignored(), unions);
    let (mut lives, mut replay) = (vec![Life::default()], new_replay());
    for (at, step) in steps.iter().enumerate() {
        let (after, before) = history.states(at);
        let made = match (&step.item.event, &step.item.request) {
            (Event::Found { object, .. }, _) => {
                lives.push(Life::default());
                replay = new_replay();
                let steps = writer.found(object)?;
                for made in &steps {
                    replay.run(made);
                }
                Made { steps, note: writer.differences(step, object, &replay)? }
            }
            (Event::Written { object: Some(object), .. }, Some(request)) => {
                writer.written(request, step, object, before, &mut replay)?
            }
            (Event::Written { object: None, .. }, _) => {
                lives.push(Life::default());
                replay = new_replay();
                Made::default()
            }
            (Event::Refused(refusal), Some(request)) => writer.refused(request, refusal, after, &replay),
            _ => Made::default(),
        };
        let comment = format!("{} {}", step.item.time, step.sentence());
        let comment = [Some(comment.trim()), made.note.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        let comment = printable(&comment.join(" "));
        if let Some(life) = lives.last_mut() {
            if made.steps.is_empty() && made.note.is_some() {
                life.steps.push((comment, None));
            } else {
                life.steps.extend(made.steps.into_iter().map(|step| (comment.clone(), Some(step))));
            }
        }
    }
    lives.retain(|life| life.steps.iter().any(|(_, step)| step.is_some()));
    Ok(lives)
}

/// A note that lists differences; `None` without any.
fn note(different: BTreeSet<String>) -> Option<String> {
    let different: Vec<String> = different.into_iter().collect();
    (!different.is_empty()).then(|| format!("Unlike on the server: {}.", different.join("; ")))
}

fn refuse(reason: String) -> Failure {
    Failure::new(422, "Invalid", format!("the history cannot be a scenario: {reason}"))
}

impl Names {
    fn of(entries: &[Entry]) -> Self {
        let own = |entry: &Entry| (entry.manager.to_string(), entry.operation, entry.subresource.to_string());
        let all: BTreeSet<(String, Operation, String)> = entries.iter().map(own).collect();
        let name = |id: &(String, Operation, String)| {
            let is_only = all.iter().filter(|other| other.0 == id.0).count() == 1;
            if is_only { id.0.clone() } else { qualified(&id.0, id.1, &id.2) }
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

impl Writer<'_> {
    /// The steps after which a state exists: every updater adds its fields, and every applier applies its own.
    fn found(&self, object: &Value) -> Result<Vec<Value>, Failure> {
        let mut steps = Vec::new();
        let mut known = Set::new();
        let all = entries(object);
        let (appliers, updaters): (Vec<&Entry>, Vec<&Entry>) =
            all.iter().partition(|entry| entry.operation == Operation::Apply);
        for entry in updaters {
            known = known.union(&entry.fields);
            steps.push(self.update(&self.names.of_entry(entry), self.part(object, &known)?));
        }
        for entry in appliers {
            let config = self.part(object, &entry.fields)?;
            steps.push(self.apply(&self.names.of_entry(entry), config, true));
        }
        Ok(steps)
    }

    /// The steps of a write, none if it changed nothing that a manager owns.
    fn written(
        &self,
        request: &Request,
        step: &Step<'_>,
        object: &Value,
        before: Option<&Value>,
        replay: &mut Replay,
    ) -> Result<Made, Failure> {
        if step.changes.is_empty() && before.is_some() {
            return Ok(Made::default());
        }
        let after = entries(object);
        let mut steps = Vec::new();
        // The first apply to an object without owners makes this manager the owner of the object.
        let unowned = before.filter(|before| entries(before).is_empty());
        if let (Some(before), Some(first)) =
            (unowned, after.iter().find(|entry| entry.manager == BEFORE_FIRST_APPLY))
        {
            let own = self.part(before, &first.fields)?;
            steps.push(self.update(&self.names.of_entry(first), own));
            for step in &steps {
                replay.run(step);
            }
        }
        let made = if request.verb == "apply" {
            let own = after.iter().find(|entry| {
                entry.manager == request.manager.as_str()
                    && entry.operation == Operation::Apply
                    && entry.subresource == request.subresource.as_str()
            });
            let fields = own.map(|entry| entry.fields.clone()).unwrap_or_default();
            let is_own =
                |change: &ManagerChange| change.manager == request.manager && change.operation == "Apply";
            let takes = step.changes.iter().any(|change| !is_own(change) && !change.lost.is_empty());
            let name = self.names.get(&request.manager, Operation::Apply, &request.subresource);
            self.apply(&name, self.part(object, &fields)?, takes)
        } else {
            let updates = || step.changes.iter().filter(|change| change.operation == "Update");
            let writes =
                || updates().filter(|change| !change.gained.is_empty() || !change.changed.is_empty());
            let own = writes().find(|change| change.manager == request.manager).or_else(|| writes().next());
            let name = match own {
                Some(change) => self.names.get(&change.manager, Operation::Update, &change.subresource),
                None => self.names.get(&request.manager, Operation::Update, &request.subresource),
            };
            self.update(&name, self.part(object, &all_fields(&after))?)
        };
        replay.run(&made);
        let note = self.differences(step, object, replay)?;
        let expect = map([("object", replay.object().clone()), ("managed", replay.managed())]);
        steps.push(with_expectation(made, expect));
        Ok(Made { steps, note })
    }

    /// A note about the managers that own other containers than in the scenario; an error if it has other values, or other
    /// owners of values.
    fn differences(
        &self,
        step: &Step<'_>,
        object: &Value,
        replay: &Replay,
    ) -> Result<Option<String>, Failure> {
        let own = |entry: &Entry| (self.names.of_entry(entry), entry.fields.clone());
        let owners = entries(object).iter().map(own).collect();
        let Some(different) = replay.differences(&self.typed(object)?, &owners) else {
            let sentence = step.sentence();
            let reason = format!("without the server, this has another result: {}", printable(&sentence));
            return Err(refuse(reason));
        };
        Ok(note(different))
    }

    /// The step of an apply that had conflicts, none for other refusals, which a scenario does not have.
    fn refused(&self, request: &Request, refusal: &Refusal, live: Option<&Value>, replay: &Replay) -> Made {
        if request.verb != "apply" || refusal.conflicts.is_empty() {
            return Made::default();
        }
        let left_out = "Left out: a scenario, which has no defaults, does not have these conflicts.";
        let left_out = Made { note: Some(left_out.to_owned()), ..Made::default() };
        let body = std::str::from_utf8(&refusal.body).ok().and_then(|body| Value::from_yaml(body).ok());
        let Some(body) = body else { return left_out };
        let owners = live.map(entries).unwrap_or_default();
        let recorded = refusal.conflicts.iter().map(|(message, path)| {
            let named = message.strip_prefix("conflict with ").unwrap_or(message);
            let owner = owners.iter().find(|entry| entry.identity().display_name() == named);
            (owner.map_or_else(|| named.to_owned(), |entry| self.names.of_entry(entry)), path.clone())
        });
        let recorded: BTreeSet<(String, String)> = recorded.collect();
        let name = self.names.get(&request.manager, Operation::Apply, &request.subresource);
        let made = self.apply(&name, without_server_fields(body), false);
        let found = replay.clone().run(&made);
        let all = all_fields(&owners);
        let different = || found.symmetric_difference(&recorded);
        if found.is_empty() || different().any(|(_, path)| !replay.is_empty_at(&all, path)) {
            return left_out;
        }
        let conflicts = found.iter().map(|(manager, path)| {
            map([("manager", manager.as_str().into()), ("path", path.as_str().into())])
        });
        let expect = map([("conflicts", Value::List(conflicts.collect()))]);
        let note = note(
            different()
                .map(|conflict @ (manager, path)| {
                    let number = if found.contains(conflict) { "one more" } else { "no" };
                    format!("{number} conflict with {manager} about {path}")
                })
                .collect(),
        );
        Made { steps: vec![with_expectation(made, expect)], note }
    }

    fn apply(&self, manager: &str, object: Value, force: bool) -> Value {
        let mut fields = self.fields(manager, object);
        if force {
            fields.insert("force", true);
        }
        map([("apply", Value::Map(fields))])
    }

    fn update(&self, manager: &str, object: Value) -> Value {
        map([("update", Value::Map(self.fields(manager, object)))])
    }

    fn fields(&self, manager: &str, object: Value) -> Map {
        fields([
            ("manager", manager.into()),
            ("apiVersion", self.version.as_str().into()),
            ("object", object),
        ])
    }

    /// The part of an object that a set names, with the keys of items that no manager owns. A key that is a default stays
    /// away: it identifies the item as it is.
    fn with_keys(&self, object: &TypedValue, leaves: &Set) -> TypedValue {
        let mut part = object.extract_items(leaves, KeyFields::Append);
        for key in part.field_set().leaves().difference(leaves).paths().take(MAX_KEYS) {
            let mut known = Set::new();
            known.insert(&key);
            let without = part.remove_items(&known);
            if self.has_fields(&without, &part.field_set().leaves().difference(&known)) {
                part = without;
            }
        }
        part
    }

    /// Whether a value is valid and has exactly some leaves.
    fn has_fields(&self, value: &TypedValue, leaves: &Set) -> bool {
        TypedValue::new(value.value().clone(), self.ty.clone(), Duplicates::Allow)
            .is_ok_and(|value| value.field_set().leaves() == *leaves)
    }

    fn typed(&self, object: &Value) -> Result<TypedValue, Failure> {
        let object = with_metadata(object, "managedFields", None);
        let typed = TypedValue::new(object, self.ty.clone(), Duplicates::Allow);
        typed.map_err(|error| refuse(printable(&error.to_string())))
    }

    /// The part of an object that a set names, with what identifies its type.
    fn part(&self, object: &Value, fields: &Set) -> Result<Value, Failure> {
        let typed = self.typed(object)?;
        let leaves = fields.leaves();
        let own = typed.extract_items(&leaves, KeyFields::AsGiven);
        let own = if self.has_fields(&own, &leaves) { own } else { self.with_keys(&typed, &leaves) };
        let missing = leaves.difference(&own.field_set().leaves());
        let of_fields =
            missing.paths().filter(|path| path.iter().all(|element| element.as_field().is_some()));
        let with_empty =
            of_fields.fold(own.into_value(), |own, path| with_container(&own, Some(object), &path));
        let mut part = match with_empty {
            Value::Map(part) => part,
            _ => Map::new(),
        };
        for name in ["apiVersion", "kind"] {
            part.insert(name, object.get(name).cloned().unwrap_or_default());
        }
        Ok(Value::Map(part))
    }
}

/// An object as a scenario has it: without the fields that the server sets, and without the name.
fn without_server_fields(object: Value) -> Value {
    let object = SERVER_FIELDS.into_iter().fold(object, |object, name| with_metadata(&object, name, None));
    match (&object, object.get("metadata").and_then(Value::as_map)) {
        (Value::Map(fields), Some(metadata)) if metadata.is_empty() => {
            Value::Map(fields.with_edits(vec![("metadata".into(), None)]))
        }
        _ => object,
    }
}

/// A value with an empty container at a path of fields, of the kind that another value has there: its manager owns the
/// container and nothing in it. An apply that removes all other fields of the container leaves none: null is owned like it.
fn with_container(value: &Value, whole: Option<&Value>, path: &[PathElement]) -> Value {
    match (path.split_first(), value) {
        (None, Value::Null) => match whole {
            Some(Value::Map(_)) => Value::Map(Map::new()),
            Some(Value::List(_)) => Value::List(List::new()),
            _ => Value::Null,
        },
        (Some((PathElement::Field(name), rest)), Value::Map(_) | Value::Null) => {
            let mut fields = value.as_map().cloned().unwrap_or_default();
            let own = fields.get(name).cloned().unwrap_or_default();
            let inner = with_container(&own, whole.and_then(|whole| whole.get(name)), rest);
            fields.insert(name.clone(), inner);
            Value::Map(fields)
        }
        _ => value.clone(),
    }
}

fn all_fields(entries: &[Entry]) -> Set {
    entries.iter().fold(Set::new(), |all, entry| all.union(&entry.fields))
}

/// The fields that no manager of an object owns and that a scenario needs, as FieldsV1. Without the name and the namespace, an
/// object has no metadata when managers own none.
pub(super) fn ignored() -> Value {
    let none = || Value::Map(Map::new());
    map([("f:apiVersion", none()), ("f:kind", none())])
}

fn with_expectation(step: Value, expect: Value) -> Value {
    let Value::Map(mut step) = step else { return step };
    step.insert("expect", expect);
    Value::Map(step)
}
