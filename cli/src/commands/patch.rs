//! `patch` and `diff`: applying a patch as an apiserver does, and making one.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use fieldmanager_managedfields::{Error, RequestKind, RequestOptions};
use fieldmanager_patch::{PatchSchema, PatchType, PatchTypes, json_merge, json_patch, strategic};
use fieldmanager_value::Value;

use crate::args::{DiffArgs, Format, PatchArgs, PatchKind, TypeArgs, WriteArgs};
use crate::error::Failure;
use crate::output::Style;
use crate::requests::{Request, Server, failure};
use crate::types::{self, Source};
use crate::{difference, files, output};

/// A file with an object.
fn object(path: &Path) -> Result<Value, Failure> {
    let value = files::value(path)?;
    match value {
        Value::Map(_) => Ok(value),
        other => Err(Failure::input(files::name(path), format!("expected an object, got {}", other.kind()))),
    }
}

/// What a patch is written as, if nobody says: what kubectl does for built-in kinds, and for others what they take.
fn or_default(kind: Option<PatchKind>, schema: Option<PatchSchema<'_>>) -> PatchType {
    match (kind, schema) {
        (Some(kind), _) => kind.patch_type(),
        (None, Some(_)) => PatchType::Strategic,
        (None, None) => PatchType::Merge,
    }
}

/// The type of an object as strategic merge patches need it; none if they are not for its kind.
fn schema_of<'t>(strategies: Option<&'t PatchTypes>, object: &Value) -> Option<PatchSchema<'t>> {
    strategies?.of_object(object)
}

fn no_strategies(source: &Source, object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    format!(
        "{} has no strategies for patches of {} {}: expected --type merge or --type json",
        source.name(),
        text("apiVersion"),
        text("kind"),
    )
}

pub(crate) fn run(args: &PatchArgs) -> Result<ExitCode, Failure> {
    let wants_status = args.answer.output == Some(Format::Json);
    let options = RequestOptions { field_manager: args.manager.clone(), ..RequestOptions::default() };
    options.validate(RequestKind::Patch).map_err(|invalid| match wants_status {
        true => Failure::Status(Box::new(invalid.status())),
        false => Failure::Usage(invalid.to_string()),
    })?;
    let live = object(&args.live)?;
    let patch = files::value(&args.file)?;
    let source = types::load(args.of.schema.as_deref())?;
    let server = Server::with(&source, &write_args(args), &live, &live)?;
    let strategies = source.strategies();
    let schema = schema_of(strategies.as_ref(), &live);
    let how = or_default(args.of.kind, schema);
    let request = Request::new(&live, &patch, &args.manager, args.time)?;
    let done = if args.answer.wants_difference() {
        server.dry_run_patch(&request, how, schema).map(|run| difference::print(&run))
    } else {
        let new = server.patch(&request, how, schema);
        new.map(|new| output::print(&new, args.answer.output.unwrap_or_default()))
    };
    match done {
        Ok(printed) => printed.map(|()| ExitCode::SUCCESS),
        Err(error) if wants_status => Err(Failure::Status(Box::new(error.status()))),
        Err(Error::Patch(_)) if how == PatchType::Strategic && schema.is_none() => {
            Err(Failure::input(files::name(&args.live), no_strategies(&source, &live)))
        }
        Err(error) => refused(error, args),
    }
}

/// A patch for another state of the object is a conflict, and has the exit code of one.
fn refused(error: Error, args: &PatchArgs) -> Result<ExitCode, Failure> {
    let patch = files::name(&args.file);
    match error {
        Error::Modified { .. } => {
            // There is nobody left to tell if standard error is gone.
            let _ = writeln!(anstream::stderr(), "{} {error}", Style::Error.paint("error:"));
            Ok(ExitCode::from(1))
        }
        Error::PatchResult { source, .. } => Err(match *source {
            Error::Invalid { source: errors, .. } => {
                Failure::Invalid { file: format!("{patch}: patched object"), errors }
            }
            other => Failure::input(patch, format!("patched object: {other}")),
        }),
        other => Err(failure(other, &args.manager, &args.file, Some(&args.live))),
    }
}

/// What the server of `apply` and `update` is told: the kind is that of the live object.
fn write_args(args: &PatchArgs) -> WriteArgs {
    WriteArgs {
        manager: args.manager.clone(),
        of: TypeArgs { schema: args.of.schema.clone(), type_name: None },
        live: Some(args.live.clone()),
        file: args.live.clone(),
        subresource: args.subresource.clone(),
        time: args.time,
        unions: true,
        answer: args.answer,
    }
}

pub(crate) fn diff(args: &DiffArgs) -> Result<ExitCode, Failure> {
    let (old, new) = (object(&args.old)?, object(&args.new)?);
    for field in ["apiVersion", "kind"] {
        let (before, after) = (old.get(field), new.get(field));
        if before != after {
            let shown = |value: Option<&Value>| value.map_or_else(|| "nothing".into(), Value::to_json);
            let message = format!(
                "{field} is {}, expected {} as in {}",
                shown(after),
                shown(before),
                files::name(&args.old)
            );
            return Err(Failure::input(files::name(&args.new), message));
        }
    }
    let (old, new) = (without_managed(&old), without_managed(&new));
    let source = types::load(args.of.schema.as_deref())?;
    let strategies = source.strategies();
    let schema = schema_of(strategies.as_ref(), &new);
    let patch = match (or_default(args.of.kind, schema), schema) {
        (PatchType::Json, _) => json_patch::create(&old, &new),
        (PatchType::Strategic, Some(schema)) => strategic::create_two_way(&old, &new, schema),
        (PatchType::Strategic, None) => {
            return Err(Failure::input(files::name(&args.new), no_strategies(&source, &new)));
        }
        (PatchType::Merge | PatchType::Apply, _) => json_merge::create(&old, &new),
    };
    let patch = patch.map_err(|error| Failure::input(files::name(&args.new), error))?;
    output::print(&patch, args.output.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Whose fields are whose is for the server to say: a patch with the managed fields of another object would undo that.
fn without_managed(object: &Value) -> Value {
    let (Value::Map(fields), Some(Value::Map(metadata))) = (object, object.get("metadata")) else {
        return object.clone();
    };
    let metadata = metadata.with_edits(vec![("managedFields".into(), None)]);
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(Value::Map(metadata)))]))
}
