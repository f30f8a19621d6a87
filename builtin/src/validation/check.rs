//! One check of a table.

use std::collections::BTreeSet;

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Str, Value};

use super::functions::{FUNCTIONS, Function};
use super::operation::Operation;
use crate::place::IMMUTABLE;
use crate::shown;
use crate::table::{Path, Step, Test, entries, items};

/// Runs the checks of a type, by its name, on the value at a path.
pub(super) type Apply<'a> = &'a dyn Fn(&str, &FieldPath, &Value, Operation<'_>, &mut Vec<FieldError>);

#[derive(Debug)]
pub(super) struct Check {
    at: Path,
    /// Whether the check is one of updates or of creations alone.
    of_updates: Option<bool>,
    when: Vec<(Path, Test)>,
    live: Vec<(Path, Test)>,
    /// Another path for the error of a changed field, or of an item that occurs again.
    shown: Option<Path>,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    Required(String),
    Enum(Vec<String>),
    /// A required value that is one of these.
    RequiredEnum(Vec<String>),
    Min(i64),
    Unique(Path),
    Immutable(Shown),
    Forbidden(String),
    Apply(Str),
    Call(Function),
}

/// What the message of an immutable field shows.
#[derive(Debug)]
enum Shown {
    Value,
    /// The value, and the empty string if there is none.
    String,
    Null,
    Reference,
    /// The JSON of an internal type.
    Type(String),
}

impl Check {
    /// Reads a check of a table.
    ///
    /// # Errors
    ///
    /// The fault of the check.
    pub(super) fn read(check: &Value) -> Result<Check, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let tests = |member: &str| {
            let tests = entries(check.get(member));
            tests.iter().map(|(path, value)| (Path::parse(path), Test::read(value))).collect()
        };
        let known: BTreeSet<&str> = [
            "at",
            "on",
            "when",
            "live",
            "required",
            "enum",
            "min",
            "unique",
            "immutable",
            "forbidden",
            "apply",
            "call",
            "shown",
        ]
        .into();
        if let Some((unknown, _)) =
            entries(Some(check)).iter().find(|(name, _)| !known.contains(name.as_str()))
        {
            return Err(format!("{unknown} is not a member of checks"));
        }
        let of_updates = check.get("on").and_then(Value::as_str).map(|operation| operation == "update");
        Ok(Check {
            at: Path::parse(&check.get("at").map(text).unwrap_or_default()),
            of_updates,
            when: tests("when"),
            live: tests("live"),
            shown: check.get("shown").map(|path| Path::parse(&text(path))),
            rule: Rule::read(check)?,
        })
    }

    /// The type whose checks this one applies.
    pub(super) fn applied(&self) -> Option<&Str> {
        match &self.rule {
            Rule::Apply(name) => Some(name),
            _ => None,
        }
    }

    /// Checks the values at the path below a value, which is itself at a path of the object.
    pub(super) fn run(
        &self,
        apply: Apply<'_>,
        path: &FieldPath,
        value: &Value,
        operation: Operation<'_>,
        errors: &mut Vec<FieldError>,
    ) {
        let live = operation.live();
        if self.of_updates.is_some_and(|of_updates| of_updates != operation.is_update())
            || !self.when.iter().all(|(path, test)| test.accepts(path.get(value)))
            || !self.live.iter().all(|(path, test)| live.is_some_and(|live| test.accepts(path.get(live))))
        {
            return;
        }
        if let Rule::Immutable(_) | Rule::Forbidden(_) = &self.rule {
            let (new, old) = (self.at.get(value), live.and_then(|live| self.at.get(live)));
            if live.is_some() && new != old {
                errors.push(self.changed(path, new));
            }
            return;
        }
        // The items of a list have no live counterpart.
        let below = match operation {
            Operation::Update(Some(live)) if self.at.is_single() => Operation::Update(self.at.get(live)),
            Operation::Update(_) => Operation::Update(None),
            Operation::Create => Operation::Create,
        };
        visit(self.at.steps(), Some(value), path, &mut |path, value| match (&self.rule, value) {
            (Rule::Apply(name), Some(value)) => apply(name, path, value, below, errors),
            (Rule::Call(function), Some(value)) => function(path, value, below, errors),
            (Rule::Unique(key), Some(Value::List(items))) => {
                let shown = self.shown.as_ref().unwrap_or(key);
                let mut seen = BTreeSet::new();
                for (at, item) in items.iter().enumerate() {
                    if let Some(value) = key.get(item)
                        && !seen.insert(value)
                    {
                        errors.push(FieldError::duplicate(below_path(&path.index(at), shown), value.clone()));
                    }
                }
            }
            _ => errors.extend(self.rule.fault(path, value)),
        });
    }

    /// The error of a field that an update changed.
    fn changed(&self, path: &FieldPath, new: Option<&Value>) -> FieldError {
        let path = below_path(path, self.shown.as_ref().unwrap_or(&self.at));
        let value = new.cloned().unwrap_or_default();
        match &self.rule {
            Rule::Forbidden(detail) => FieldError::forbidden(path, detail),
            Rule::Immutable(Shown::String) if value.is_null() => FieldError::invalid(path, "", IMMUTABLE),
            Rule::Immutable(Shown::Null) => FieldError::invalid(path, Value::Null, IMMUTABLE),
            Rule::Immutable(Shown::Type(ty)) if !value.is_null() => {
                shown::invalid(path, &shown::json(ty, Some(&value)), IMMUTABLE)
            }
            Rule::Immutable(Shown::Reference) => {
                let member = |shown: &str, name: &str| {
                    (Str::from(shown), value.get(name).cloned().unwrap_or_else(|| "".into()))
                };
                let members =
                    [member("APIGroup", "apiGroup"), member("Kind", "kind"), member("Name", "name")];
                FieldError::invalid(path, Value::Map(members.into_iter().collect()), IMMUTABLE)
            }
            _ => FieldError::invalid(path, value, IMMUTABLE),
        }
    }
}

impl Rule {
    fn read(check: &Value) -> Result<Rule, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = |member: &str| check.get(member).and_then(Value::as_str);
        if let Some(accepted) = check.get("enum") {
            let accepted = items(Some(accepted)).iter().map(text).collect();
            let is_required = check.get("required").is_some();
            return Ok(if is_required { Rule::RequiredEnum(accepted) } else { Rule::Enum(accepted) });
        }
        if let Some(detail) = check.get("required") {
            return Ok(Rule::Required(text(detail)));
        }
        if let Some(min) = check.get("min").and_then(Value::as_i64) {
            return Ok(Rule::Min(min));
        }
        if let Some(key) = name("unique") {
            return Ok(Rule::Unique(Path::parse(key)));
        }
        if let Some(detail) = check.get("forbidden") {
            return Ok(Rule::Forbidden(text(detail)));
        }
        if let Some(applied) = name("apply") {
            return Ok(Rule::Apply(applied.into()));
        }
        if let Some(called) = name("call") {
            let known = FUNCTIONS.iter().find(|(name, _)| *name == called);
            let (_, function) = known.ok_or_else(|| format!("call: no function {called}"))?;
            return Ok(Rule::Call(*function));
        }
        Ok(Rule::Immutable(match name("immutable") {
            Some("value") => Shown::Value,
            Some("string") => Shown::String,
            Some("hidden") => Shown::Null,
            Some("reference") => Shown::Reference,
            Some(ty) if shown::is_type(ty) => Shown::Type(ty.to_owned()),
            _ => return Err(format!("{} has no rule", check.to_json())),
        }))
    }

    fn fault(&self, path: &FieldPath, value: Option<&Value>) -> Option<FieldError> {
        let path = path.clone();
        match (self, value) {
            (Rule::Required(detail), None) => Some(FieldError::required(path, detail)),
            (Rule::Required(detail), Some(value)) if is_empty(value) => {
                Some(FieldError::required(path, detail))
            }
            (Rule::RequiredEnum(_), None) => Some(FieldError::required(path, "")),
            (Rule::RequiredEnum(_), Some(value)) if is_empty(value) => Some(FieldError::required(path, "")),
            (Rule::Enum(accepted) | Rule::RequiredEnum(accepted), Some(Value::String(text)))
                if !accepted.iter().any(|value| **value == **text) =>
            {
                let accepted: Vec<&str> = accepted.iter().map(String::as_str).collect();
                Some(FieldError::not_supported(path, text.as_str(), &accepted))
            }
            (Rule::Min(min), Some(Value::Int(number))) if number < min => {
                Some(FieldError::invalid(path, *number, format!("must be greater than or equal to {min}")))
            }
            _ => None,
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::List(list) => list.is_empty(),
        _ => false,
    }
}

/// The path of a field below another one. Items and entries have none.
fn below_path(path: &FieldPath, below: &Path) -> FieldPath {
    below.steps().iter().fold(path.clone(), |path, step| match step {
        Step::Field(name) => path.child(name.clone()),
        Step::Items | Step::Entries => path,
    })
}

/// Calls a function with the values at a path. A value is missing if its parent is there without it.
fn visit(
    steps: &[Step],
    value: Option<&Value>,
    path: &FieldPath,
    f: &mut dyn FnMut(&FieldPath, Option<&Value>),
) {
    let value = value.filter(|value| !value.is_null());
    match (steps, value) {
        ([], _) => f(path, value),
        (_, None) => {}
        ([Step::Field(name), rest @ ..], Some(parent)) => {
            visit(rest, parent.get(name), &path.child(name.clone()), f);
        }
        ([Step::Items, rest @ ..], Some(Value::List(items))) => {
            for (at, item) in items.iter().enumerate() {
                visit(rest, Some(item), &path.index(at), f);
            }
        }
        ([Step::Entries, rest @ ..], Some(Value::Map(entries))) => {
            for (name, entry) in entries {
                visit(rest, Some(entry), &path.key(name.clone()), f);
            }
        }
        _ => {}
    }
}
