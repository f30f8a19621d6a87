//! Converts a document to a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fieldmanager_fieldpath as fieldpath;
use fieldmanager_fieldpath::{ApiVersion, Filter, Matcher};
use fieldmanager_patch::PatchType;
use fieldmanager_typed::{Duplicates, KeyFields, Ratcheting};
use fieldmanager_value::{Map, Str, Value};

use crate::format_server::{self, ANSWER, TARGET};
use crate::origin::Origin;
use crate::read::{Reader, Result, listed};
use crate::scenario::{
    Action, Branch, ConflictAt, Conversion, Expect, ExpectedError, ExpectedFault, ManagedWrite,
    ObjectFunction, Options, PairFunction, Scenario, SetOperation, Step, Watch, WriteVerb,
};
use crate::schemas::{SchemaFiles, SchemaSource};

/// Reads one document.
pub(crate) struct Format<'f> {
    /// The folder to which schema paths are relative.
    pub(crate) folder: &'f Path,
    pub(crate) files: &'f mut SchemaFiles,
}

/// Reads the content of one kind of step.
type ReadAction = fn(&mut Format<'_>, &mut Reader, &Value) -> Result<Action>;

/// A kind of step: its name, the reader of its content, and the supported expectations besides an error.
struct Kind(&'static str, ReadAction, &'static [&'static str]);

/// Steps that act on the state are requests to a server too.
const STATE: &[&str] = ANSWER;

const KINDS: &[Kind] = &[
    Kind("apply", apply, STATE),
    Kind(
        "update",
        |_, r, v| write(r, v, &[], |_, _| Ok(WriteVerb::Update)),
        STATE,
    ),
    Kind(
        "extractApply",
        |_, r, v| write(r, v, &[], |_, _| Ok(WriteVerb::ExtractApply)),
        STATE,
    ),
    Kind("changeSchema", change_schema, STATE),
    Kind("patch", patch, STATE),
    Kind("validate", validate, &[]),
    Kind(
        "compare",
        |_, r, v| sides(r, v, PairFunction::Compare),
        &["added", "modified", "removed"],
    ),
    Kind(
        "merge",
        |_, r, v| sides(r, v, PairFunction::Merge),
        &["object"],
    ),
    Kind(
        "fieldset",
        |_, r, v| of_object(r, v, &[], |_, _| Ok(ObjectFunction::Fieldset)),
        &["fields"],
    ),
    Kind("remove", remove, &["object"]),
    Kind("extract", extract, &["object"]),
    Kind("set", set, &["fields"]),
    Kind("normalize", normalize, &["object"]),
    Kind("validateUnions", validate_unions, &["faults"]),
    Kind("request", request, ANSWER),
    Kind("parallel", parallel, &[]),
    Kind("watch", watch, &["events"]),
    Kind(
        "wait",
        |_, r, v| format_server::seconds(r, v).map(Action::Wait),
        &[],
    ),
];

impl Format<'_> {
    /// `number` is the position of the document in its file, from 1.
    pub(crate) fn scenario(
        &mut self,
        reader: &mut Reader,
        document: &Value,
        number: usize,
        origin: Origin,
    ) -> Result<Scenario> {
        // A document without steps is most likely not a scenario, so this fault takes precedence.
        if document.as_map().is_some_and(|map| !map.contains("steps")) {
            return reader.fault("field `steps` is missing, expected a scenario");
        }
        let known = [
            "name",
            "why",
            "source",
            "since",
            "needs",
            "schema",
            "types",
            "options",
            "conversion",
            "steps",
        ];

        let map = reader.fields(document, &known)?;
        // Reports name a scenario, so one without a name is numbered.
        let name = reader.optional(map, "name", Reader::text)?;
        Ok(Scenario {
            name: name.map_or_else(|| format!("scenario {number}"), |name| name.to_string()),
            origin,
            schema: reader.required(map, "schema", |r, v| self.schema(r, v))?,
            types: reader
                .optional(map, "types", |r, v| r.by_name(v, Reader::text))?
                .unwrap_or_default(),
            options: reader
                .optional(map, "options", options)?
                .unwrap_or_default(),
            conversion: reader.optional(map, "conversion", conversion)?,
            case: format_server::case(reader, map)?,
            steps: reader.required(map, "steps", |r, v| r.list(v, |r, v| self.step(r, v)))?,
        })
    }

    fn schema(&mut self, reader: &mut Reader, value: &Value) -> Result<SchemaSource> {
        match value {
            Value::Map(_) => Ok(SchemaSource::Inline(value.clone())),
            Value::String(text) => match text.strip_prefix("builtin:") {
                Some(name) => Ok(SchemaSource::Builtin(name.into())),
                None => {
                    let path = self.folder.join(text.as_str());
                    match self.files.schema(&path) {
                        Ok(source) => Ok(source),
                        Err(error) => reader.fault(error.to_string()),
                    }
                }
            },
            other => reader.expected(
                "the path of a file, `builtin:NAME` or an inline schema",
                other,
            ),
        }
    }

    fn step(&mut self, reader: &mut Reader, value: &Value) -> Result<Step> {
        let map = reader.map(value)?;
        let names = || KINDS.iter().map(|Kind(name, ..)| *name);
        let mut found: Option<(&Kind, &Value)> = None;
        // One field of a step selects its kind; these may be beside it.
        let beside = ["expect", "save", "within"];
        for (name, content) in map
            .iter()
            .filter(|(name, _)| !beside.contains(&name.as_str()))
        {
            let Some(kind) = KINDS.iter().find(|Kind(known, ..)| name == *known) else {
                let known: Vec<_> = names().collect();
                let message = format!(
                    "unknown step `{name}`, accepted are {}, and {} beside one of them",
                    listed(&known),
                    listed(&beside)
                );
                return reader.fault_of_key(name, message);
            };
            // The fields of a map have no order, so two steps in one item are refused.
            if let Some((Kind(first, ..), _)) = found {
                let message = format!("expected one step, got both `{first}` and `{name}`");
                return reader.fault_of_key(name, message);
            }
            found = Some((kind, content));
        }

        let Some((Kind(name, read, expectations), content)) = found else {
            let known: Vec<_> = names().collect();
            return reader.fault(format!("no step, accepted are {}", listed(&known)));
        };
        // An expectation that a kind of step cannot meet is a fault, since nothing would check it.
        Ok(Step {
            action: reader.at(*name, |r| read(self, r, content))?,
            expect: reader
                .optional(map, "expect", |r, v| expect(r, v, expectations))?
                .unwrap_or_default(),
            save: reader
                .optional(map, "save", |r, v| r.by_name(v, Reader::text))?
                .unwrap_or_default(),
            within: reader.optional(map, "within", format_server::seconds)?,
        })
    }
}

fn options(r: &mut Reader, value: &Value) -> Result<Options> {
    let known = ["unions", "returnInputOnNoop", "ignoredFields", "onlyFields"];
    let map = r.fields(value, &known)?;
    // The updater has one filter for each version, so only one of the two forms can be given.
    let ignored: Option<BTreeMap<ApiVersion, Filter>> =
        r.optional(map, "ignoredFields", |r, v| {
            r.by_name(v, |r, v| r.set(v).map(Filter::Exclude))
        })?;
    let only = r.optional(map, "onlyFields", |r, v| r.by_name(v, patterns))?;
    if ignored.is_some() && only.is_some() {
        let message = "expected either `ignoredFields` or `onlyFields`, got both";
        return r.fault_of_key(&"onlyFields".into(), message);
    }

    Ok(Options {
        unions: r.optional(map, "unions", Reader::boolean)?.unwrap_or(true),
        return_input_on_noop: r.flag(map, "returnInputOnNoop")?,
        filters: ignored.or(only).unwrap_or_default(),
    })
}

fn patterns(r: &mut Reader, value: &Value) -> Result<Filter> {
    // Each pattern is parsed by itself as well, so that a fault has the position of its item.
    let patterns = r.list(value, |r, v| {
        let pattern = r.text(v)?;
        match Matcher::prefixes([pattern.as_str()]) {
            Ok(_) => Ok(pattern),
            Err(error) => r.fault(error.to_string()),
        }
    })?;

    match Matcher::prefixes(patterns.iter().map(Str::as_str)) {
        Ok(matcher) => Ok(Filter::Include(matcher)),
        Err(error) => r.fault(error.to_string()),
    }
}

fn conversion(r: &mut Reader, value: &Value) -> Result<Conversion> {
    let map = r.fields(value, &["renames", "served"])?;
    let renames = |r: &mut Reader, v: &Value| r.list(v, |r, v| r.by_name(v, Reader::text));
    let served = |r: &mut Reader, v: &Value| r.list(v, version);
    Ok(Conversion {
        renames: r.optional(map, "renames", renames)?.unwrap_or_default(),
        served: r.optional(map, "served", served)?.map(BTreeSet::from_iter),
    })
}

fn version(r: &mut Reader, value: &Value) -> Result<ApiVersion> {
    r.text(value).map(ApiVersion::from)
}

/// A write of a manager, with other fields beside the three that all have.
fn write(
    r: &mut Reader,
    value: &Value,
    others: &[&str],
    verb: impl FnOnce(&mut Reader, &Map) -> Result<WriteVerb>,
) -> Result<Action> {
    let map = r.fields(
        value,
        &[&["manager", "apiVersion", "object"], others].concat(),
    )?;
    let manager = r.required(map, "manager", Reader::text)?;

    // A Kubernetes object says its version.
    let own = map
        .get("object")
        .and_then(|object| object.get("apiVersion"));
    let api_version = match own.filter(|_| !map.contains("apiVersion")) {
        Some(own) => r.at("object", |r| r.at("apiVersion", |r| version(r, own)))?,
        None => r.required(map, "apiVersion", version)?,
    };
    let given = r.required(map, "object", Reader::any)?;

    Ok(Action::Write(ManagedWrite {
        verb: verb(r, map)?,
        manager,
        api_version,
        given,
    }))
}

fn apply(_: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    write(r, value, &["force"], |r, map| {
        let force = r.flag(map, "force")?;
        Ok(WriteVerb::Apply { force })
    })
}

fn change_schema(format: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    let map = r.fields(value, &["schema"])?;
    let schema = r.required(map, "schema", |r, v| format.schema(r, v))?;
    Ok(Action::ChangeSchema { schema })
}

fn patch(_: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    let map = r.fields(value, &["manager", "apiVersion", "type", "patch"])?;
    let types = [
        ("json", PatchType::Json),
        ("merge", PatchType::Merge),
        ("strategic", PatchType::Strategic),
    ];
    Ok(Action::Write(ManagedWrite {
        manager: r.required(map, "manager", Reader::text)?,
        api_version: r.required(map, "apiVersion", version)?,
        verb: r.required(map, "type", |r, v| r.word(v, &types).map(WriteVerb::Patch))?,
        given: r.required(map, "patch", Reader::any)?,
    }))
}

/// A function of one object, with other fields beside the object and its version.
fn of_object(
    r: &mut Reader,
    value: &Value,
    others: &[&str],
    function: impl FnOnce(&mut Reader, &Map) -> Result<ObjectFunction>,
) -> Result<Action> {
    let map = r.fields(value, &[&["apiVersion", "object"], others].concat())?;
    Ok(Action::OfObject {
        api_version: r.required(map, "apiVersion", version)?,
        object: r.required(map, "object", Reader::any)?,
        function: function(r, map)?,
    })
}

fn validate(_: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    of_object(r, value, &["allowDuplicates"], |r, map| {
        Ok(ObjectFunction::Validate(
            if r.flag(map, "allowDuplicates")? {
                Duplicates::Allow
            } else {
                Duplicates::Refuse
            },
        ))
    })
}

fn remove(_: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    of_object(r, value, &["fields"], |r, map| {
        r.required(map, "fields", Reader::set)
            .map(ObjectFunction::Remove)
    })
}

fn extract(_: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    of_object(r, value, &["fields", "appendKeyFields"], |r, map| {
        let key_fields = if r.flag(map, "appendKeyFields")? {
            KeyFields::Append
        } else {
            KeyFields::AsGiven
        };
        let fields = r.required(map, "fields", Reader::set)?;
        Ok(ObjectFunction::Extract(fields, key_fields))
    })
}

/// A function of the objects `lhs` and `rhs`.
fn sides(r: &mut Reader, value: &Value, function: PairFunction) -> Result<Action> {
    let map = r.fields(value, &["apiVersion", "lhs", "rhs"])?;
    Ok(Action::OfPair {
        function,
        api_version: r.required(map, "apiVersion", version)?,
        old: r.required(map, "lhs", Reader::any)?,
        new: r.required(map, "rhs", Reader::any)?,
    })
}

fn normalize(_: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    let map = r.fields(value, &["apiVersion", "old", "new"])?;
    Ok(Action::OfPair {
        function: PairFunction::Normalize,
        api_version: r.required(map, "apiVersion", version)?,
        old: r.required(map, "old", Reader::any)?,
        new: r.required(map, "new", Reader::any)?,
    })
}

fn validate_unions(_: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    let map = r.fields(value, &["apiVersion", "old", "new", "ratcheting"])?;
    Ok(Action::OfPair {
        api_version: r.required(map, "apiVersion", version)?,
        old: r.optional(map, "old", Reader::any)?.unwrap_or_default(),
        new: r.required(map, "new", Reader::any)?,
        function: PairFunction::ValidateUnions(if r.flag(map, "ratcheting")? {
            Ratcheting::On
        } else {
            Ratcheting::Off
        }),
    })
}

fn set(_: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    let map = r.fields(value, &["op", "lhs", "rhs"])?;
    let operations = [
        ("union", SetOperation::Union),
        ("intersection", SetOperation::Intersection),
        ("difference", SetOperation::Difference),
        ("recursiveDifference", SetOperation::RecursiveDifference),
        ("leaves", SetOperation::Leaves),
    ];
    let operation = r.required(map, "op", |r, v| r.word(v, &operations))?;
    let lhs = r.required(map, "lhs", Reader::set)?;
    let rhs = match operation {
        SetOperation::Leaves => r.optional(map, "rhs", Reader::set)?.unwrap_or_default(),
        _ => r.required(map, "rhs", Reader::set)?,
    };

    Ok(Action::Set {
        operation,
        lhs,
        rhs,
    })
}

fn request(_: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    format_server::request(r, value)
        .map(Box::new)
        .map(Action::Request)
}

fn parallel(format: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    let branch = |r: &mut Reader, value: &Value| {
        let map = r.fields(value, &["times", "steps"])?;
        Ok(Branch {
            times: r.optional(map, "times", format_server::count)?.unwrap_or(1),
            steps: r.required(map, "steps", |r, v| r.list(v, |r, v| format.step(r, v)))?,
        })
    };
    r.list(value, branch).map(Action::Parallel)
}

fn watch(format: &mut Format<'_>, r: &mut Reader, value: &Value) -> Result<Action> {
    let known: Vec<&str> = TARGET.into_iter().chain(["query", "steps"]).collect();
    let map = r.fields(value, &known)?;
    Ok(Action::Watch(Box::new(Watch {
        target: format_server::target(r, map)?,
        query: r
            .optional(map, "query", format_server::query)?
            .unwrap_or_default(),
        steps: r.required(map, "steps", |r, v| r.list(v, |r, v| format.step(r, v)))?,
    })))
}

fn expect(r: &mut Reader, value: &Value, kind: &[&str]) -> Result<Expect> {
    let mut known = kind.to_vec();
    known.extend(["error", "message"]);
    let map = r.fields(value, &known)?;

    // `message` documents the message of another implementation and is not compared. Null is refused, because it would
    // look like an expectation without checking anything.
    let conflicts = r.given(map, "conflicts", |r, v| r.list(v, conflict))?;
    let entries = r.given(map, "managed", format_server::entries)?;
    // The library has one entry for each manager. Other entries come from a server, so they belong to an answer.
    let of_server = entries.as_deref().is_some_and(format_server::are_of_server);
    let answer = format_server::answer(r, map)?;
    let mut sets = BTreeMap::new();
    for name in ["added", "modified", "removed", "fields"] {
        sets.extend(r.given(map, name, Reader::set)?.map(|set| (name, set)));
    }

    Ok(Expect {
        object: r.given(map, "object", Reader::any)?,
        answer: answer.or_else(|| of_server.then(Box::default)),
        entries,
        conflicts: conflicts.map(BTreeSet::from_iter),
        error: r.given(map, "error", error)?,
        sets,
        faults: r.given(map, "faults", |r, v| r.list(v, fault))?,
    })
}

fn conflict(r: &mut Reader, value: &Value) -> Result<ConflictAt> {
    let map = r.fields(value, &["manager", "path"])?;
    Ok(ConflictAt {
        manager: r.required(map, "manager", Reader::text)?.to_string(),
        path: r.required(map, "path", path)?,
    })
}

/// A path, in the notation of the library if it can be parsed.
fn path(r: &mut Reader, value: &Value) -> Result<String> {
    let text = match value {
        // The object itself.
        Value::String(text) => text,
        other => return r.expected("string", other),
    };
    // A path whose names contain dots or brackets cannot be parsed, and is compared as a string.
    Ok(match text.parse::<fieldpath::Path>() {
        Ok(path) => path.to_string(),
        Err(_) => text.to_string(),
    })
}

fn error(r: &mut Reader, value: &Value) -> Result<ExpectedError> {
    match value {
        Value::Bool(true) => Ok(ExpectedError::Any),
        Value::String(text) => Ok(ExpectedError::Containing(text.to_string())),
        other => r.fault(format!(
            "expected true or a part of the message, got {other}"
        )),
    }
}

fn fault(r: &mut Reader, value: &Value) -> Result<ExpectedFault> {
    let map = r.fields(value, &["path", "message"])?;
    let message = r.optional(map, "message", Reader::text)?;
    Ok(ExpectedFault {
        path: r.required(map, "path", path)?,
        message: message.unwrap_or_default().to_string(),
    })
}
