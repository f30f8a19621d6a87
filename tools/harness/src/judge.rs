//! Compares what a step led to with its expectations: one judge for the library and for API servers.

mod differences;
mod said;

use std::collections::BTreeSet;

use fieldmanager_fieldpath::Set;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::UnionFault;
use fieldmanager_value::{Str, Value};

use crate::diff;
use crate::find::find;
use crate::object::with_metadata;
use crate::outcome::{conflicts_to_value, entries_to_value, faults_to_value, map};
use crate::report::Failure;
use crate::scenario::{ConflictAt, Expect, ExpectedError, ExpectedFault};
use crate::server::{Answer, ExpectedEntry, ExpectedEvent};
use differences::{different, different_values, failure_at, texts, unpaired};
pub use said::ObservedAnswer;
use said::{headers, status};

/// Metadata that a server sets, sorted. It is compared only if a scenario expects it.
const SERVER_SET: [&str; 7] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Fields that no manager of a server owns, as FieldsV1.
const NOT_OWNED: &str = r#"{"f:apiVersion": {}, "f:kind": {}, "f:metadata": {".": {}, "f:creationTimestamp": {},
    "f:generation": {}, "f:name": {}, "f:namespace": {}, "f:resourceVersion": {}, "f:uid": {}}}"#;

/// The result of a step. Parts that are `None` or empty cannot be compared.
#[derive(Clone, Debug, Default)]
pub struct Observed<'o> {
    /// Why the step failed; `None` if it succeeded.
    pub refusal: Option<ObservedRefusal>,
    /// The live object, or the object that the step computed.
    pub object: Option<Value>,
    /// The managers of the live object.
    pub entries: Option<Vec<ExpectedEntry>>,
    /// The sets of fields that the step computed, by the names of their expectations.
    pub sets: Vec<(&'static str, Set)>,
    /// The faults of unions.
    pub faults: Option<Vec<UnionFault>>,
    /// What only a server says.
    pub answer: Option<ObservedAnswer<'o>>,
}

/// Why a step failed.
#[derive(Clone, Debug, Default)]
pub struct ObservedRefusal {
    /// The message.
    pub message: String,
    /// The conflicts, if these are the reason.
    pub conflicts: Vec<ConflictAt>,
}

/// An expectation that cannot be checked is a failure too.
type Checked = Result<Vec<Failure>, String>;

/// The unmet expectations of a step.
pub fn judge(expect: &Expect, observed: &Observed<'_>) -> Vec<Failure> {
    match ending(expect, observed) {
        // The other expectations presume the expected ending.
        Some(failure) => vec![failure],
        None => or_failure(parts(expect, observed)),
    }
}

/// Compares the events of a watch: their number, order, types and objects.
pub fn judge_events(expected: &[ExpectedEvent], found: &[(String, Value)]) -> Vec<Failure> {
    let wanted = texts(expected.iter().map(|event| event.event.as_str()));
    let actual = texts(found.iter().map(|(event, _)| event.as_str()));
    // If the events differ in number or order, comparing their objects would compare unrelated ones.
    if let Some(failure) = different_values("events", &wanted, &actual) {
        return vec![failure];
    }
    let pairs = expected.iter().zip(found);
    let failures = pairs.map(|(expected, (_, object))| {
        contents(expected.contains.as_ref(), &expected.absent, object)
    });

    or_failure(
        failures
            .collect::<Result<Vec<_>, _>>()
            .map(|all| all.concat()),
    )
}

fn or_failure(checked: Checked) -> Vec<Failure> {
    checked.unwrap_or_else(|message| vec![Failure::new("step", message)])
}

impl ObservedRefusal {
    fn is_conflict(&self) -> bool {
        !self.conflicts.is_empty()
    }

    /// The failure of an expectation of something else.
    fn instead_of(&self, what: &'static str, wanted: &str, code: Option<u16>) -> Failure {
        let (got, actual) = if self.is_conflict() {
            (
                format!("conflicts{}", brief(&self.conflicts)),
                conflicts_to_value(&self.conflicts),
            )
        } else {
            let code = code.map_or(String::new(), |code| format!(" {code}"));
            (
                format!("the error{code}: {}", self.message),
                self.message.as_str().into(),
            )
        };

        Failure {
            actual: Some(actual),
            ..Failure::new(what, format!("expected {wanted}, got {got}"))
        }
    }
}

/// Compares success, conflicts or error with the expected ending.
fn ending(expect: &Expect, observed: &Observed<'_>) -> Option<Failure> {
    let answer = expect.answer.as_deref();
    let codes = answer.and_then(|answer| answer.code.as_ref());
    let code = observed.answer.as_ref().map(|answer| answer.code);
    // A wrong code explains all other differences, so it is reported alone, with the message of the server.
    if let (Some(codes), Some(code)) = (codes, code)
        && !codes.contains(&code)
    {
        let wanted: Vec<_> = codes.iter().map(u16::to_string).collect();
        let message = observed.refusal.as_ref().map(|refusal| &refusal.message);
        let message = message.map_or(String::new(), |message| format!(" {message}"));
        let wanted = wanted.join(" or ");
        let message = format!("expected the code {wanted}, got {code}{message}");
        return Some(Failure::new("code", message));
    }

    // An empty list of conflicts expects none, so it does not expect a refusal.
    let conflicts = expect
        .conflicts
        .as_ref()
        .filter(|conflicts| !conflicts.is_empty());
    let Some(refusal) = &observed.refusal else {
        return missing_refusal(expect.error.as_ref(), conflicts);
    };

    // A conflict has its own expectation, and does not meet that of an error. If a code or a `Status` is expected,
    // these judge the refusal.
    match (&expect.error, conflicts) {
        (Some(error), _) if refusal.is_conflict() || !error.is_in(&refusal.message) => {
            Some(refusal.instead_of("error", &wanted(error), code))
        }
        (Some(_), _) => None,
        (None, Some(expected)) if refusal.is_conflict() => {
            different_conflicts(expected, &refusal.conflicts)
        }
        (None, Some(_)) => Some(refusal.instead_of("error", "conflicts", code)),
        (None, None) if codes.is_some() || answer.is_some_and(|answer| answer.status.is_some()) => {
            None
        }
        (None, None) if refusal.is_conflict() => Some(Failure {
            paths: paths_of(&refusal.conflicts),
            ..refusal.instead_of("conflicts", "success", code)
        }),
        (None, None) => Some(refusal.instead_of("error", "success", code)),
    }
}

/// The failure of a step that succeeded, if that was not expected.
fn missing_refusal(
    error: Option<&ExpectedError>,
    conflicts: Option<&BTreeSet<ConflictAt>>,
) -> Option<Failure> {
    let succeeded = |what, wanted: String| {
        Failure::new(what, format!("expected {wanted}, but the step succeeded"))
    };
    match (error, conflicts) {
        (Some(error), _) => Some(succeeded("error", wanted(error))),
        (None, Some(expected)) => Some(Failure {
            paths: paths_of(expected),
            expected: Some(conflicts_to_value(expected)),
            ..succeeded("conflicts", format!("conflicts{}", brief(expected)))
        }),
        (None, None) => None,
    }
}

fn wanted(error: &ExpectedError) -> String {
    match error {
        ExpectedError::Any => "an error".into(),
        ExpectedError::Containing(part) => format!("an error with `{part}` in its message"),
    }
}

/// The first of the conflicts, for a message.
fn brief<'c>(conflicts: impl IntoIterator<Item = &'c ConflictAt>) -> String {
    let mut conflicts = conflicts.into_iter();
    let Some(first) = conflicts.next() else {
        return String::new();
    };
    let more = match conflicts.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let path = match first.path.as_str() {
        "" => "the object itself",
        path => path,
    };

    format!(" with `{}` at {path}{more}", first.manager)
}

fn paths_of<'c>(conflicts: impl IntoIterator<Item = &'c ConflictAt>) -> Vec<String> {
    let conflicts = conflicts.into_iter();
    conflicts.map(|conflict| conflict.path.clone()).collect()
}

fn different_conflicts(expected: &BTreeSet<ConflictAt>, actual: &[ConflictAt]) -> Option<Failure> {
    let found: BTreeSet<ConflictAt> = actual.iter().cloned().collect();
    let paths: BTreeSet<String> = found
        .symmetric_difference(expected)
        .map(|conflict| conflict.path.clone())
        .collect();
    let (expected, actual) = (conflicts_to_value(expected), conflicts_to_value(actual));
    different("conflicts", paths.into_iter().collect(), expected, actual)
}

/// Compares everything but the ending.
fn parts(expect: &Expect, observed: &Observed<'_>) -> Checked {
    let mut out = Vec::new();
    let expected_answer = expect.answer.as_deref().zip(observed.answer.as_ref());
    if let Some((expected, answer)) = expected_answer {
        if let Some(expected) = &expected.status {
            out.extend(status(expected, answer.body));
        }
        out.extend(headers(expected, answer));
    }

    // A server sets metadata that no scenario can know, such as the uid; the library sets none.
    if let Some((expected, actual)) = expect.object.as_ref().zip(observed.object.as_ref()) {
        let actual = match observed.answer {
            Some(_) => &without_server_set(actual, expected),
            None => actual,
        };
        out.extend(different_values("object", expected, actual));
    }

    // On a server, no manager owns the type and the identity of an object, while the managers of a scenario own them.
    if let Some((expected, actual)) = expect.entries.as_ref().zip(observed.entries.as_ref()) {
        let not_owned = match observed.answer {
            Some(_) => set_of(NOT_OWNED)?,
            None => Set::new(),
        };
        out.extend(managed(expected, actual, &not_owned));
    }

    // Only steps about sets have these; each set is compared under its own name.
    for (what, actual) in &observed.sets {
        if let Some(expected) = expect.sets.get(what) {
            let paths = set_paths(expected, actual);
            out.extend(different(
                what,
                paths,
                expected.to_value(),
                actual.to_value(),
            ));
        }
    }

    if let Some((expected, actual)) = expect.faults.as_ref().zip(observed.faults.as_ref()) {
        out.extend(faults(expected, actual));
    }
    // These compare the answer as it is, so that a case can ask for metadata that the server sets.
    if let Some(((expected, answer), object)) = expected_answer.zip(observed.object.as_ref()) {
        out.extend(contents(
            expected.contains.as_ref(),
            &expected.absent,
            object,
        )?);
        out.extend(changes(expected, answer.before, object)?);
    }

    Ok(out)
}

/// Fails unless the expected faults and the found faults match one to one.
fn faults(expected: &[ExpectedFault], actual: &[UnionFault]) -> Option<Failure> {
    let (missing, surplus) = unpaired(expected, actual, |wanted, fault| {
        fault.path.to_string() == wanted.path && fault.message.contains(&wanted.message)
    });
    let mut paths: Vec<String> = missing.iter().map(|fault| fault.path.clone()).collect();
    paths.extend(surplus.iter().map(|fault| fault.path.to_string()));
    let expected = expected.iter().map(|fault| {
        map([
            ("path", fault.path.as_str().into()),
            ("message", fault.message.as_str().into()),
        ])
    });
    let expected = Value::List(expected.collect());

    different("faults", paths, expected, faults_to_value(actual))
}

fn set_paths(expected: &Set, actual: &Set) -> Vec<String> {
    let either = expected
        .difference(actual)
        .union(&actual.difference(expected));
    either.paths().map(|path| path.to_string()).collect()
}

fn set_of(fields: &str) -> Result<Set, String> {
    let fields = Value::from_json(fields).map_err(|error| error.to_string())?;
    Set::from_value(&fields).map_err(|error| error.to_string())
}

/// Compares the entries of managers. `not_owned` are the fields that no manager can own.
fn managed(
    expected: &[ExpectedEntry],
    actual: &[ExpectedEntry],
    not_owned: &Set,
) -> Option<Failure> {
    let of = |entries: &[ExpectedEntry], manager: &Str| {
        entries
            .iter()
            .filter(|entry| entry.manager == *manager)
            .count()
    };

    // A manager with one entry is compared part by part; of several entries, equal identities make a pair.
    let is_same = |wanted: &ExpectedEntry, found: &ExpectedEntry| {
        wanted.manager == found.manager
            && (wanted.identity() == found.identity()
                || of(expected, &wanted.manager) == 1 && of(actual, &wanted.manager) == 1)
    };
    let (missing, surplus) = unpaired(expected, actual, is_same);
    let unmatched = missing.into_iter().chain(surplus);
    let mut paths: Vec<(&Str, String)> = unmatched
        .map(|entry| (&entry.manager, entry.manager.to_string()))
        .collect();

    // Every difference is named after its manager, since equal paths of two managers differ.
    let mut shown = Vec::new();
    for wanted in expected {
        let mut wanted = wanted.clone();
        wanted.fields = wanted.fields.map(|fields| fields.difference(not_owned));
        if let Some(found) = actual.iter().find(|found| is_same(&wanted, found)) {
            let manager = &found.manager;
            for (name, is_equal) in [
                ("apiVersion", found.api_version == wanted.api_version),
                ("operation", found.operation == wanted.operation),
                ("subresource", found.subresource == wanted.subresource),
            ] {
                paths.extend((!is_equal).then(|| (manager, format!("{manager}: {name}"))));
            }

            // An expected entry without `fields` accepts the set that was found.
            let fields = wanted
                .fields
                .get_or_insert_with(|| found.fields.clone().unwrap_or_default());
            let differing = set_paths(fields, found.fields.as_ref().unwrap_or(&Set::new()));
            let differing = differing.into_iter();
            paths.extend(differing.map(|path| (manager, format!("{manager}: {path}"))));
        }
        shown.push(wanted);
    }

    // The sort keeps the order of the paths of a manager.
    paths.sort_by_key(|(path, _)| *path);
    let paths = paths.into_iter().map(|(_, path)| path).collect();
    different(
        "managed",
        paths,
        entries_to_value(&shown),
        entries_to_value(actual),
    )
}

/// Compares parts of an object.
fn contents(contains: Option<&Value>, absent: &[Str], object: &Value) -> Checked {
    let mut out = Vec::new();
    if let Some(expected) = contains {
        out.extend(different_values(
            "contains",
            expected,
            &part_of(object, expected),
        ));
    }

    for path in absent {
        if let Some(found) = find(object, path)? {
            let message = format!("expected nothing at {path}, got {found}");
            out.push(failure_at(path, Failure::new("absent", message)));
        }
    }
    Ok(out)
}

/// Compares with the answer before.
fn changes(expected: &Answer, before: Option<&Value>, object: &Value) -> Checked {
    if expected.unchanged.is_empty() && expected.changed.is_empty() {
        return Ok(Vec::new());
    }
    let before = before.ok_or("there is no answer before with this object, to compare with")?;
    let mut out = Vec::new();

    // Every difference below the path is named, so that a large value need not be searched.
    for path in &expected.unchanged {
        let (old, new) = (find(before, path)?, find(object, path)?);
        if old != new {
            let (old, new) = (
                old.cloned().unwrap_or_default(),
                new.cloned().unwrap_or_default(),
            );
            let paths = diff::paths(&old, &new).into_iter();
            let paths = paths.map(|below| format!("{path}{below}")).collect();
            out.push(Failure::of_values("unchanged", paths, old, new));
        }
    }

    for path in &expected.changed {
        let (old, new) = (find(before, path)?, find(object, path)?);
        if old == new {
            let value = new.map_or_else(|| "nothing".to_owned(), Value::to_json);
            let message = format!("expected another value at {path}, got {value} as before");
            out.push(failure_at(path, Failure::new("changed", message)));
        }
    }

    Ok(out)
}

/// The object without the metadata that a server sets, unless it is expected.
fn without_server_set(object: &Value, expected: &Value) -> Value {
    if object.get("metadata").is_none() {
        return object.clone();
    }
    let set = SERVER_SET.into_iter();
    let set = set.filter(|name| expected.metadata_field(name).is_none());
    with_metadata(object, set.map(|name| (name, None)))
}

/// The part of a value that another one has: the fields of maps, and all items of lists.
fn part_of(value: &Value, expected: &Value) -> Value {
    match (value, expected) {
        (Value::Map(value), Value::Map(expected)) => {
            let known = expected.iter().filter_map(|(name, expected)| {
                let value = value.get(name)?;
                Some((name.clone(), part_of(value, expected)))
            });
            Value::Map(known.collect())
        }
        (Value::List(value), Value::List(expected)) => {
            let item = |(at, item): (usize, &Value)| match expected.get(at) {
                Some(expected) => part_of(item, expected),
                None => item.clone(),
            };
            Value::List(value.iter().enumerate().map(item).collect())
        }
        _ => value.clone(),
    }
}
