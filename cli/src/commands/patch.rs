//! `patch` and `diff`: applies a patch as an API server does, and creates one.

use std::process::ExitCode;

use fieldmanager_managedfields::{Error, RequestKind, RequestOptions};
use fieldmanager_patch::{PatchSchema, PatchType, PatchTypes, json_merge, json_patch, strategic};
use fieldmanager_value::Value;

use crate::args::{DiffArgs, PatchArgs, PatchKind};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::requests::{Request, Server, Target, check_managed_fields, failure};
use crate::types::{self, Source};
use crate::{difference, output};

/// The format of the patch. As in kubectl, the default is strategic for kinds that have strategies and merge for all
/// others.
fn or_default(kind: Option<PatchKind>, schema: Option<PatchSchema<'_>>) -> PatchType {
    match (kind, schema) {
        (Some(kind), _) => kind.patch_type(),
        (None, Some(_)) => PatchType::Strategic,
        (None, None) => PatchType::Merge,
    }
}

/// The merge strategies of an object's kind; `None` if the kind has no strategies.
fn schema_of<'t>(strategies: Option<&'t PatchTypes>, object: &Value) -> Option<PatchSchema<'t>> {
    strategies?.for_object(object)
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

pub(crate) fn run(args: &PatchArgs, files: Files) -> Result<ExitCode, Failure> {
    let wants_status = args.request.wants_status();
    let options = RequestOptions::default().field_manager(&*args.request.manager);
    options.validate(RequestKind::Patch).map_err(|invalid| match wants_status {
        true => Failure::Status(Box::new(invalid.status())),
        false => Failure::Usage(invalid.to_string()),
    })?;
    let live = files.object(&args.live)?;
    let patch = files.value(&args.file)?;
    let source = types::load(args.of.schema.as_deref(), files)?;
    let target = Target {
        type_name: None,
        subresource: &args.request.subresource,
        unions: true,
        object: &live,
        file: &args.live,
    };
    let server = Server::with(&source, &target, &live)?;
    let strategies = source.strategies();
    let schema = schema_of(strategies.as_ref(), &live);
    let how = or_default(args.of.kind, schema);
    let request = Request::new(&live, &patch, &args.request.manager, args.request.time)?;
    let done = if args.request.wants_difference() {
        server.dry_run_patch(&request, how, schema).map(|run| {
            check_managed_fields(&run.outcome.object, &args.request)?;
            difference::print(&run)
        })
    } else {
        let new = server.patch(&request, how, schema);
        new.map(|new| {
            check_managed_fields(&new, &args.request)?;
            output::print(&new, args.request.output.unwrap_or_default())
        })
    };
    match done {
        Ok(printed) => printed.map(|()| ExitCode::SUCCESS),
        Err(error) if wants_status => Err(Failure::Status(Box::new(error.status()))),
        Err(Error::Patch(_)) if how == PatchType::Strategic && schema.is_none() => {
            Err(Failure::input(files::name(&args.live), no_strategies(&source, &live)))
        }
        Err(error) => Err(refused(error, args)),
    }
}

/// Converts an error. A patch for another state of the object has the exit code of a conflict.
fn refused(error: Error, args: &PatchArgs) -> Failure {
    let patch = files::name(&args.file);
    match error {
        Error::Modified { .. } => Failure::Refused(error.to_string()),
        Error::PatchResult { source, .. } => match *source {
            Error::Invalid { source: errors, .. } => {
                Failure::Invalid { file: format!("{patch}: patched object"), errors }
            }
            other => Failure::input(patch, format!("patched object: {other}")),
        },
        other => failure(other, &args.request.manager, &args.file, Some(&args.live)),
    }
}

pub(crate) fn diff(args: &DiffArgs, files: Files) -> Result<ExitCode, Failure> {
    let (old, new) = (files.object(&args.old)?, files.object(&args.new)?);
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
    let source = types::load(args.of.schema.as_deref(), files)?;
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

/// Removes the managed fields. A server tracks them itself, so a patch must not replace them.
fn without_managed(object: &Value) -> Value {
    let (Value::Map(fields), Some(Value::Map(metadata))) = (object, object.get("metadata")) else {
        return object.clone();
    };
    let metadata = metadata.with_edits(vec![("managedFields".into(), None)]);
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(Value::Map(metadata)))]))
}
