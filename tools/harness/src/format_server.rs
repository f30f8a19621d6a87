//! Reads the parts of scenario files that need an API server.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_patch::PatchType;
use fieldmanager_value::{Map, Str, Value};

use crate::read::{Reader, Result};
use crate::server::{
    Answer, Case, ExpectedCause, ExpectedEntry, ExpectedEvent, ExpectedStatus, Request, Target,
    Verb,
};

/// The expectations of steps that a server answers.
pub(crate) const ANSWER: &[&str] = &[
    "object",
    "managed",
    "conflicts",
    "code",
    "headers",
    "status",
    "contains",
    "absent",
    "warnings",
    "unchanged",
    "changed",
];

/// The most copies of a branch, and the longest wait in seconds.
const MOST: i64 = 1000;

pub(crate) const TARGET: [&str; 6] = [
    "path",
    "apiVersion",
    "kind",
    "name",
    "namespace",
    "subresource",
];

pub(crate) fn case(r: &mut Reader, map: &Map) -> Result<Option<Case>> {
    let needs = [
        ("scale", "scale"),
        ("status", "status"),
        ("unions", "unions"),
    ];
    let case = Case {
        why: r.optional(map, "why", Reader::text)?,
        source: r.optional(map, "source", Reader::text)?,
        since: r.optional(map, "since", Reader::text)?,
        needs: r
            .optional(map, "needs", |r, v| r.list(v, |r, v| r.word(v, &needs)))?
            .unwrap_or_default(),
    };

    Ok((case != Case::default()).then_some(case))
}

pub(crate) fn request(r: &mut Reader, value: &Value) -> Result<Request> {
    let own = [
        "verb",
        "method",
        "type",
        "manager",
        "force",
        "dryRun",
        "fieldValidation",
        "query",
        "headers",
    ];
    let known: Vec<&str> = own
        .into_iter()
        .chain(TARGET)
        .chain(["contentType", "body", "edit"])
        .collect();

    let map = r.fields(value, &known)?;
    let verb = r.required(map, "verb", |r, v| r.word(v, Verb::WORDS))?;
    let types = [
        ("json", PatchType::Json.content_type()),
        ("merge", PatchType::Merge.content_type()),
        ("strategic", PatchType::Strategic.content_type()),
        ("apply", PatchType::Apply.content_type()),
    ];
    let patch_type = r.optional(map, "type", |r, v| r.word(v, &types))?;
    // The API server selects the kind of a patch by its content type, so a patch without one cannot be sent.
    let by_verb = match verb {
        Verb::Patch if patch_type.is_none() && !map.contains("contentType") => {
            return r.fault("field `type` is missing: a patch has one, or a `contentType`");
        }
        Verb::Patch => patch_type,
        Verb::Apply => Some(PatchType::Apply.content_type()),
        _ => None,
    };

    // `manager`, `force` and `dryRun` are short forms of parameters that `query` may have as well.
    let mut query = r.optional(map, "query", query)?.unwrap_or_default();
    for (name, parameter) in [
        ("manager", "fieldManager"),
        ("fieldValidation", "fieldValidation"),
    ] {
        query.extend(
            r.optional(map, name, string)?
                .map(|value| (parameter.into(), value)),
        );
    }

    if r.flag(map, "force")? {
        query.push(("force".into(), "true".into()));
    }
    if r.flag(map, "dryRun")? {
        query.push(("dryRun".into(), "All".into()));
    }

    // The request does not depend on the order of the fields in the file.
    query.sort();
    let mut headers: BTreeMap<Str, Str> = r
        .optional(map, "headers", |r, v| r.by_name(v, string))?
        .unwrap_or_default();

    // A `contentType` takes precedence over the type of the verb, so that a case can send a wrong one.
    let content_type = r
        .optional(map, "contentType", string)?
        .or(by_verb.map(Str::from));
    headers.extend(content_type.map(|content_type| ("Content-Type".into(), content_type)));

    Ok(Request {
        verb,
        method: r.optional(map, "method", Reader::text)?,
        target: target(r, map)?,
        query,
        headers,
        body: r.given(map, "body", Reader::any)?,
        edit: r.optional(map, "edit", Reader::any)?,
    })
}

pub(crate) fn target(r: &mut Reader, map: &Map) -> Result<Target> {
    Ok(Target {
        path: r.optional(map, "path", Reader::text)?,
        api_version: r.optional(map, "apiVersion", Reader::text)?,
        kind: r.optional(map, "kind", Reader::text)?,
        name: r.optional(map, "name", Reader::text)?,
        namespace: r.optional(map, "namespace", Reader::text)?,
        subresource: r.optional(map, "subresource", Reader::text)?,
    })
}

/// Parameters: each has a value, or a list of values.
pub(crate) fn query(r: &mut Reader, value: &Value) -> Result<Vec<(Str, Str)>> {
    let values = |r: &mut Reader, value: &Value| match value {
        Value::List(_) => r.list(value, string),
        one => Ok(vec![string(r, one)?]),
    };
    let by_name: BTreeMap<Str, Vec<Str>> = r.by_name(value, values)?;
    Ok(by_name
        .into_iter()
        .flat_map(|(name, values)| values.into_iter().map(move |v| (name.clone(), v)))
        .collect())
}

/// A string, which may be empty, or a number or boolean as one.
fn string(r: &mut Reader, value: &Value) -> Result<Str> {
    match value {
        Value::String(text) => Ok(text.into()),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(value.to_json().as_str().into()),
        other => r.expected("string", other),
    }
}

/// A time in seconds.
pub(crate) fn seconds(r: &mut Reader, value: &Value) -> Result<std::time::Duration> {
    let found = match value {
        Value::Int(whole) => std::time::Duration::try_from_secs_f64(*whole as f64),
        Value::Float(seconds) => std::time::Duration::try_from_secs_f64(*seconds),
        other => return r.expected("a number of seconds", other),
    };

    match found {
        Ok(time) if time.as_secs() < MOST.unsigned_abs() => Ok(time),
        _ => r.fault(format!(
            "expected a number of seconds from 0 to {MOST}, got {value}"
        )),
    }
}

pub(crate) fn count(r: &mut Reader, value: &Value) -> Result<usize> {
    match value
        .as_i64()
        .filter(|count| (1..=MOST).contains(count))
        .map(usize::try_from)
    {
        Some(Ok(count)) => Ok(count),
        _ => r.fault(format!("expected a number from 1 to {MOST}, got {value}")),
    }
}

/// The expectations of an answer; `None` if the map has none of them.
pub(crate) fn answer(r: &mut Reader, map: &Map) -> Result<Option<Box<Answer>>> {
    let paths = |r: &mut Reader, v: &Value| r.list(v, Reader::text);
    // `true` stands for the whole object, whose path is empty.
    let same = |r: &mut Reader, value: &Value| match value {
        Value::Bool(true) => Ok(vec![Str::default()]),
        Value::List(_) => r.list(value, Reader::text),
        other => r.expected("true or a list of paths", other),
    };
    let answer = Answer {
        code: r.given(map, "code", codes)?,
        headers: r
            .given(map, "headers", |r, v| r.by_name(v, optional_string))?
            .unwrap_or_default(),
        status: r.given(map, "status", status)?,
        contains: r.given(map, "contains", Reader::any)?,
        absent: r.given(map, "absent", paths)?.unwrap_or_default(),
        warnings: r.given(map, "warnings", |r, v| r.list(v, string))?,
        unchanged: r.given(map, "unchanged", same)?.unwrap_or_default(),
        changed: r.given(map, "changed", paths)?.unwrap_or_default(),
        events: r.given(map, "events", |r, v| r.list(v, event))?,
    };

    Ok((answer != Answer::default()).then(|| Box::new(answer)))
}

fn optional_string(r: &mut Reader, value: &Value) -> Result<Option<Str>> {
    match value {
        Value::Null => Ok(None),
        other => string(r, other).map(Some),
    }
}

/// A code, or a list of accepted codes.
fn codes(r: &mut Reader, value: &Value) -> Result<Vec<u16>> {
    let code = |r: &mut Reader, value: &Value| match value.as_i64().map(u16::try_from) {
        Some(Ok(code)) => Ok(code),
        _ => r.fault(format!("expected a code such as 200, got {value}")),
    };
    match value {
        Value::List(_) => r.list(value, code),
        one => Ok(vec![code(r, one)?]),
    }
}

fn status(r: &mut Reader, value: &Value) -> Result<ExpectedStatus> {
    let map = r.fields(value, &["reason", "message", "causes"])?;
    let cause = |r: &mut Reader, value: &Value| {
        let map = r.fields(value, &["reason", "message", "field"])?;
        Ok(ExpectedCause {
            reason: r.optional(map, "reason", Reader::text)?,
            message: r.optional(map, "message", Reader::text)?,
            field: r.optional(map, "field", string)?,
        })
    };

    Ok(ExpectedStatus {
        reason: r.optional(map, "reason", string)?,
        message: r.optional(map, "message", Reader::text)?,
        causes: r.optional(map, "causes", |r, v| r.list(v, cause))?,
    })
}

fn event(r: &mut Reader, value: &Value) -> Result<ExpectedEvent> {
    let map = r.fields(value, &["type", "contains", "absent"])?;
    Ok(ExpectedEvent {
        event: r.required(map, "type", Reader::text)?,
        contains: r.given(map, "contains", Reader::any)?,
        absent: r
            .optional(map, "absent", |r, v| r.list(v, Reader::text))?
            .unwrap_or_default(),
    })
}

/// The entries of managers: each manager has one, or a list of them.
pub(crate) fn entries(r: &mut Reader, value: &Value) -> Result<Vec<ExpectedEntry>> {
    let of_manager = |r: &mut Reader, value: &Value| match value {
        Value::List(_) => r.list(value, entry),
        one => Ok(vec![entry(r, one)?]),
    };
    let by_name: BTreeMap<Str, Vec<ExpectedEntry>> = r.by_name(value, of_manager)?;
    let named = |(manager, entries): (Str, Vec<ExpectedEntry>)| {
        entries.into_iter().map(move |entry| ExpectedEntry {
            manager: manager.clone(),
            ..entry
        })
    };

    Ok(by_name.into_iter().flat_map(named).collect())
}

fn entry(r: &mut Reader, value: &Value) -> Result<ExpectedEntry> {
    let map = r.fields(value, &["apiVersion", "operation", "subresource", "fields"])?;
    let operations = [("Apply", "Apply"), ("Update", "Update")];
    Ok(ExpectedEntry {
        manager: Str::default(),
        operation: r
            .required(map, "operation", |r, v| r.word(v, &operations))?
            .into(),
        api_version: r.required(map, "apiVersion", Reader::text)?,
        subresource: r
            .optional(map, "subresource", Reader::text)?
            .unwrap_or_default(),
        fields: r.required(map, "fields", |r, v| match v.as_str() {
            Some("any") => Ok(None),
            _ => r.set(v).map(Some),
        })?,
    })
}

/// Whether only a server can have the entries: the library knows one entry for each manager, with fields and without a
/// subresource.
pub(crate) fn are_of_server(entries: &[ExpectedEntry]) -> bool {
    let managers: BTreeSet<&Str> = entries.iter().map(|entry| &entry.manager).collect();
    let is_known = |entry: &ExpectedEntry| entry.fields.is_some() && entry.subresource.is_empty();
    managers.len() < entries.len() || !entries.iter().all(is_known)
}
