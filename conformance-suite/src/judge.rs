//! Compares the answer of a server with the expectations of a step.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_fieldpath::Set;
use fieldmanager_harness::Failure;
use fieldmanager_harness::internal::{
    Answer, ConflictAt, Expect, ExpectedCause, ExpectedEntry, ExpectedError, ExpectedEvent, ExpectedStatus,
    different_paths,
};
use fieldmanager_managedfields::ManagedFields;
use fieldmanager_value::{List, Map, Str, Value};

use crate::find::find;
use crate::names::{Names, Variables};
use crate::reply::Reply;

/// Metadata that a server sets. It is compared only if a case expects it.
const SERVER_SET: [&str; 7] =
    ["creationTimestamp", "generation", "managedFields", "namespace", "resourceVersion", "selfLink", "uid"];

/// Fields that no manager of a server owns, as FieldsV1.
const NOT_OWNED: &str = r#"{"f:apiVersion": {}, "f:kind": {}, "f:metadata": {".": {}, "f:creationTimestamp": {},
    "f:generation": {}, "f:name": {}, "f:namespace": {}, "f:resourceVersion": {}, "f:uid": {}}}"#;

/// The expectations of one step, and what they refer to.
pub(crate) struct Judge<'j> {
    pub(crate) names: &'j Names,
    pub(crate) variables: &'j Variables,
    /// The object of the step as it was before.
    pub(crate) before: Option<&'j Value>,
}

/// An expectation that cannot be checked is a failure too.
type Checked = Result<Vec<Failure>, String>;

impl Judge<'_> {
    pub(crate) fn failures(&self, expect: &Expect, reply: &Reply) -> Vec<Failure> {
        let found = self.ending(expect, reply).map(|failure| Ok(vec![failure]));
        // The other expectations presume the expected ending.
        let failures = found.unwrap_or_else(|| self.parts(expect, reply));
        let mut failures = failures.unwrap_or_else(|message| vec![Failure::new("step", message)]);
        failures.iter_mut().for_each(|failure| failure.exchange = Some(reply.exchange.clone()));
        failures
    }

    /// Compares the code with the expected ending.
    fn ending(&self, expect: &Expect, reply: &Reply) -> Option<Failure> {
        let answer = expect.answer.as_deref();
        let got = || format!("got {} {}", reply.code, reply.message());
        if let Some(codes) = answer.and_then(|answer| answer.code.as_ref()) {
            let expected: Vec<_> = codes.iter().map(u16::to_string).collect();
            let message = format!("expected the code {}, {}", expected.join(" or "), got());
            return (!codes.contains(&reply.code)).then(|| Failure::new("code", message));
        }
        let conflicts = expect.conflicts.as_ref().is_some_and(|conflicts| !conflicts.is_empty());
        let status = answer.and_then(|answer| answer.status.as_ref());
        let refusal = conflicts || expect.error.is_some() || status.is_some();
        match reply.is_refused() {
            true if !refusal => Some(Failure::new("code", format!("expected success, {}", got()))),
            false if conflicts || expect.error.is_some() => {
                Some(Failure::new("code", "expected an error, but the request succeeded"))
            }
            _ => None,
        }
    }

    fn parts(&self, expect: &Expect, reply: &Reply) -> Checked {
        let mut out = Vec::new();
        if let Some(ExpectedError::Containing(part)) = &expect.error {
            let part = self.variables.text(part)?;
            if !reply.message().contains(&part) {
                out.push(different_text("error", &part, reply.message()));
            }
        }
        if let Some(expected) = &expect.conflicts {
            out.extend(conflicts(expected, &reply.body));
        }
        if let Some(answer) = &expect.answer {
            if let Some(expected) = &answer.status {
                out.extend(self.status(expected, &reply.body)?);
            }
            self.headers(answer, reply, &mut out)?;
        }
        let object = reply.object();
        if let Some(expected) = &expect.object {
            let expected = self.variables.resolve(expected)?;
            let actual = without_server_set(object, &expected);
            let paths = different_paths(&expected, &actual);
            out.extend((!paths.is_empty()).then(|| Failure::of_values("object", paths, expected, actual)));
        }
        if let Some(entries) = &expect.entries {
            out.extend(self.managed(entries, object)?);
        }
        if let Some(answer) = &expect.answer {
            out.extend(self.contents(answer.contains.as_ref(), &answer.absent, object)?);
            out.extend(self.before(answer, object)?);
        }
        Ok(out)
    }

    fn status(&self, expected: &ExpectedStatus, status: &Value) -> Checked {
        let mut out = Vec::new();
        let text = |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default();
        if let Some(reason) = &expected.reason
            && reason != text("reason")
        {
            out.push(different_text("status.reason", reason, text("reason")));
        }
        if let Some(message) = &expected.message {
            let message = self.variables.text(message)?;
            if !text("message").contains(&message) {
                out.push(different_text("status.message", &message, text("message")));
            }
        }
        if let Some(causes) = &expected.causes {
            let found =
                status.get("details").and_then(|details| details.get("causes")).and_then(Value::as_list);
            let mut surplus: Vec<&Value> = found.map(|causes| causes.iter().collect()).unwrap_or_default();
            let actual: List = surplus.iter().map(|cause| (*cause).clone()).collect();
            let mut missing = false;
            for cause in causes {
                match surplus.iter().position(|found| is_cause(cause, found)) {
                    Some(at) => {
                        surplus.remove(at);
                    }
                    None => missing = true,
                }
            }
            if missing || !surplus.is_empty() {
                let expected = Value::List(causes.iter().map(cause_value).collect());
                out.push(Failure::of_values(
                    "status.causes",
                    vec![".details.causes".into()],
                    expected,
                    Value::List(actual),
                ));
            }
        }
        Ok(out)
    }

    fn headers(&self, answer: &Answer, reply: &Reply, out: &mut Vec<Failure>) -> Result<(), String> {
        for (name, expected) in &answer.headers {
            let found =
                reply.headers.get(name.as_str()).map(|value| String::from_utf8_lossy(value.as_bytes()));
            let fits = match (expected, &found) {
                (None, found) => found.is_none(),
                (Some(part), Some(found)) => found.contains(self.variables.text(part)?.as_str()),
                (Some(_), None) => false,
            };
            if !fits {
                let expected = expected.as_deref().unwrap_or("no such header");
                out.push(different_text(
                    "headers",
                    &format!("{name}: {expected}"),
                    found.as_deref().unwrap_or("none"),
                ));
            }
        }
        if let Some(expected) = &answer.warnings {
            let found = reply.warnings(self.names);
            let mut surplus = found.clone();
            let mut missing = false;
            for part in expected {
                let part = self.variables.text(part)?;
                match surplus.iter().position(|warning| warning.contains(&part)) {
                    Some(at) => {
                        surplus.remove(at);
                    }
                    None => missing = true,
                }
            }
            if missing || !surplus.is_empty() {
                let list = |texts: Vec<&str>| Value::List(texts.into_iter().map(Value::from).collect());
                let expected = list(expected.iter().map(|part| part.as_str()).collect());
                let actual = list(found.iter().map(String::as_str).collect());
                out.push(Failure::of_values("warnings", vec!["Warning".into()], expected, actual));
            }
        }
        Ok(())
    }

    fn contents(&self, contains: Option<&Value>, absent: &[Str], object: &Value) -> Checked {
        let mut out = Vec::new();
        if let Some(expected) = contains {
            let expected = self.variables.resolve(expected)?;
            let actual = part_of(object, &expected);
            let paths = different_paths(&expected, &actual);
            out.extend((!paths.is_empty()).then(|| Failure::of_values("contains", paths, expected, actual)));
        }
        for path in absent {
            if let Some(found) = find(object, &self.variables.text(path)?)? {
                let message = format!("expected nothing at {path}, got {found}");
                out.push(at(path, Failure::new("absent", message)));
            }
        }
        Ok(out)
    }

    /// Compares with the answer before.
    fn before(&self, answer: &Answer, object: &Value) -> Checked {
        if answer.unchanged.is_empty() && answer.changed.is_empty() {
            return Ok(Vec::new());
        }
        let before = self.before.ok_or("there is no answer before with this object, to compare with")?;
        let mut out = Vec::new();
        for path in &answer.unchanged {
            let (old, new) = (find(before, path)?, find(object, path)?);
            if old != new {
                let (old, new) = (old.cloned().unwrap_or_default(), new.cloned().unwrap_or_default());
                let paths =
                    different_paths(&old, &new).into_iter().map(|below| format!("{path}{below}")).collect();
                out.push(Failure::of_values("unchanged", paths, old, new));
            }
        }
        for path in &answer.changed {
            let (old, new) = (find(before, path)?, find(object, path)?);
            if old == new {
                let value = new.map_or_else(|| "nothing".to_owned(), Value::to_json);
                let message = format!("expected another value at {path}, got {value} as before");
                out.push(at(path, Failure::new("changed", message)));
            }
        }
        Ok(out)
    }

    fn managed(&self, expected: &[ExpectedEntry], object: &Value) -> Checked {
        let found = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
        let found = ManagedFields::decode(found).map_err(|error| error.to_string())?.entries();
        let not_owned = Value::from_json(NOT_OWNED).map_err(|error| error.to_string())?;
        let not_owned = Set::from_value(&not_owned).map_err(|error| error.to_string())?;
        let mut actual_fields: BTreeMap<String, Value> = BTreeMap::new();
        for entry in &found {
            let name = entry_name(
                &entry.manager,
                &entry.operation.to_string(),
                &entry.subresource,
                entry.api_version.as_str(),
            );
            actual_fields.insert(name, entry.fields.to_value());
        }
        let mut expected_fields: BTreeMap<String, Value> = BTreeMap::new();
        for entry in expected {
            let manager = self.variables.text(&entry.manager)?;
            let name = entry_name(&manager, &entry.operation, &entry.subresource, &entry.api_version);
            let fields = match &entry.fields {
                Some(fields) => {
                    // Keys of items may have variables, such as a uid.
                    let fields = self.variables.resolve(&fields.to_value())?;
                    let fields = Set::from_value(&fields).map_err(|error| error.to_string())?;
                    fields.difference(&not_owned).to_value()
                }
                None => actual_fields.get(&name).cloned().unwrap_or_else(|| "any".into()),
            };
            expected_fields.insert(name, fields);
        }
        let value = |fields: BTreeMap<String, Value>| {
            Value::Map(
                fields.into_iter().map(|(name, fields)| (Str::from(name.as_str()), fields)).collect::<Map>(),
            )
        };
        let (expected, actual) = (value(expected_fields), value(actual_fields));
        let paths = different_paths(&expected, &actual);
        Ok(if paths.is_empty() {
            Vec::new()
        } else {
            vec![Failure::of_values("managed", paths, expected, actual)]
        })
    }

    /// Compares the events of a watch: their number, order, types and objects.
    pub(crate) fn events(&self, expected: &[ExpectedEvent], found: &[(String, Value)]) -> Checked {
        let types = |types: Vec<&str>| Value::List(types.into_iter().map(Value::from).collect());
        let wanted = types(expected.iter().map(|event| event.event.as_str()).collect());
        let actual = types(found.iter().map(|(event, _)| event.as_str()).collect());
        let paths = different_paths(&wanted, &actual);
        if !paths.is_empty() {
            return Ok(vec![Failure::of_values("events", paths, wanted, actual)]);
        }
        let mut out = Vec::new();
        for (expected, (_, object)) in expected.iter().zip(found) {
            out.extend(self.contents(expected.contains.as_ref(), &expected.absent, object)?);
        }
        Ok(out)
    }
}

fn entry_name(manager: &str, operation: &str, subresource: &str, api_version: &str) -> String {
    let subresource = if subresource.is_empty() { String::new() } else { format!(" at {subresource}") };
    format!("{manager}: {operation}{subresource} of {api_version}")
}

fn different_text(what: &'static str, expected: &str, actual: &str) -> Failure {
    let mut failure = Failure::new(what, format!("expected `{what}` with `{expected}`, got `{actual}`"));
    failure.expected = Some(expected.into());
    failure.actual = Some(actual.into());
    failure
}

fn at(path: &str, mut failure: Failure) -> Failure {
    failure.paths.push(path.to_owned());
    failure
}

fn is_cause(expected: &ExpectedCause, found: &Value) -> bool {
    let text = |name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default();
    expected.reason.as_ref().is_none_or(|reason| reason == text("reason"))
        && expected.field.as_ref().is_none_or(|field| field == text("field"))
        && expected.message.as_ref().is_none_or(|message| text("message").contains(message.as_str()))
}

fn cause_value(cause: &ExpectedCause) -> Value {
    let fields = [("reason", &cause.reason), ("message", &cause.message), ("field", &cause.field)];
    Value::Map(
        fields.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?.as_str()))).collect::<Map>(),
    )
}

/// Compares conflicts with the causes of a `Status`, each of which names a manager and a field.
fn conflicts(expected: &BTreeSet<ConflictAt>, status: &Value) -> Option<Failure> {
    let causes = status.get("details").and_then(|details| details.get("causes")).and_then(Value::as_list);
    let conflict = |cause: &Value| {
        let text = |name: &str| cause.get(name).and_then(Value::as_str);
        if text("reason") != Some("FieldManagerConflict") {
            return None;
        }
        let manager = text("message")?.strip_prefix("conflict with \"")?.split('"').next()?.to_owned();
        Some(ConflictAt { manager, path: text("field").unwrap_or_default().to_owned() })
    };
    let found: BTreeSet<ConflictAt> =
        causes.map(|causes| causes.iter().filter_map(conflict).collect()).unwrap_or_default();
    if found == *expected {
        return None;
    }
    let mut paths: Vec<_> =
        found.symmetric_difference(expected).map(|conflict| conflict.path.clone()).collect();
    paths.dedup();
    let value = |conflicts: &BTreeSet<ConflictAt>| {
        let conflict = |conflict: &ConflictAt| {
            let fields = [("manager", &conflict.manager), ("path", &conflict.path)];
            Value::Map(fields.into_iter().map(|(name, text)| (name, text.as_str())).collect::<Map>())
        };
        Value::List(conflicts.iter().map(conflict).collect())
    };
    Some(Failure::of_values("conflicts", paths, value(expected), value(&found)))
}

/// The object without the metadata that a server sets, unless it is expected.
fn without_server_set(object: &Value, expected: &Value) -> Value {
    let (Value::Map(map), Some(Value::Map(metadata))) = (object, object.get("metadata")) else {
        return object.clone();
    };
    let is_expected =
        |name: &str| expected.get("metadata").is_some_and(|metadata| metadata.get(name).is_some());
    let kept = metadata
        .iter()
        .filter(|(name, _)| !SERVER_SET.contains(&name.as_str()) || is_expected(name.as_str()));
    let kept: Map = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut map = map.clone();
    map.insert("metadata", Value::Map(kept));
    Value::Map(map)
}

/// The part of a value that another one has: the fields of maps, and all items of lists.
fn part_of(value: &Value, expected: &Value) -> Value {
    match (value, expected) {
        (Value::Map(value), Value::Map(expected)) => {
            let known = expected.iter().filter_map(|(name, expected)| {
                value.get(name).map(|value| (name.clone(), part_of(value, expected)))
            });
            Value::Map(known.collect::<Map>())
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
