//! `diff`: creates a patch, of the type that `patch` applies by default.

use std::process::ExitCode;

use fieldmanager_harness::internal::with_metadata;
use fieldmanager_patch::{PatchSchema, PatchType, json_merge, json_patch, strategic};
use fieldmanager_value::Value;

use crate::args::{DiffArgs, PatchKind};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output;
use crate::types::{self, Source};

/// The format of the patch. As in kubectl, the default is strategic for kinds that have strategies and merge for all
/// others.
pub(crate) fn or_default(kind: Option<PatchKind>, schema: Option<PatchSchema<'_>>) -> PatchType {
    match (kind, schema) {
        (Some(kind), _) => kind.patch_type(),
        (None, Some(_)) => PatchType::Strategic,
        (None, None) => PatchType::Merge,
    }
}

pub(crate) fn no_strategies(source: &Source, object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    format!(
        "{} has no strategies for patches of {} {}: expected --type merge or --type json",
        source.name(),
        text("apiVersion"),
        text("kind"),
    )
}

pub(crate) fn diff(args: &DiffArgs, files: Files) -> Result<ExitCode, Failure> {
    let (old, new) = (files.object(&args.old)?, files.object(&args.new)?);
    // A patch cannot change the type of an object, so the files are most likely of different objects.
    for field in ["apiVersion", "kind"] {
        let (before, after) = (old.get(field), new.get(field));
        if before != after {
            let shown =
                |value: Option<&Value>| value.map_or_else(|| "nothing".into(), Value::to_json);
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
    // Only a strategic merge patch depends on the type, by the strategies of its fields.
    let source = types::load(args.of.schema.as_deref(), files)?;
    let strategies = source.strategies();
    let schema = strategies.as_ref().and_then(|types| types.for_object(&new));
    let patch = match (or_default(args.of.kind, schema), schema) {
        (PatchType::Json, _) => json_patch::create(&old, &new),
        (PatchType::Strategic, Some(schema)) => strategic::create_two_way(&old, &new, schema),
        (PatchType::Strategic, None) => {
            return Err(Failure::input(
                files::name(&args.new),
                no_strategies(&source, &new),
            ));
        }
        (PatchType::Merge | PatchType::Apply, _) => json_merge::create(&old, &new),
    };
    let patch = patch.map_err(|error| Failure::input(files::name(&args.new), error))?;
    output::print(&patch, args.output.output)?;

    Ok(ExitCode::SUCCESS)
}

/// Removes the managed fields. A server tracks them itself, so a patch must not replace them.
fn without_managed(object: &Value) -> Value {
    if object.get("metadata").is_none() {
        return object.clone();
    }
    with_metadata(object, [("managedFields", None)])
}
