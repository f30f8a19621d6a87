//! `prune` and `default`: the changes that an API server makes to a custom resource before it stores it.

use std::process::ExitCode;

use fieldmanager_structural::Structural;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

use crate::args::CustomArgs;
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Line, Style};
use crate::types;

pub(crate) fn prune(args: &CustomArgs, files: Files) -> Result<ExitCode, Failure> {
    let (object, structural, resource) = read(args, files)?;
    if resource.preserve_unknown_fields {
        return print(&object, Vec::new(), args);
    }
    let pruned = structural
        .prune(&object, true)
        .map_err(|error| Failure::input(files::name(&args.file), error))?;
    let lines: Vec<Line> = pruned
        .paths
        .iter()
        .map(|path| Style::Removed.paint(&format!("- .{path}")))
        .collect();

    print(&pruned.object, lines, args)
}

pub(crate) fn default(args: &CustomArgs, files: Files) -> Result<ExitCode, Failure> {
    let (object, structural, _) = read(args, files)?;
    let new = structural
        .default_object(&object)
        .map_err(|error| Failure::input(files::name(&args.file), error))?;
    let mut paths = Vec::new();
    added(&object, &new, "", &mut paths);
    let lines: Vec<Line> = paths
        .iter()
        .map(|path| Style::Added.paint(&format!("+ {path}")))
        .collect();

    print(&new, lines, args)
}

fn print(object: &Value, changes: Vec<Line>, args: &CustomArgs) -> Result<ExitCode, Failure> {
    output::err().lines(changes)?;
    output::print(object, args.output.output)?;
    Ok(ExitCode::SUCCESS)
}

/// The object, the definition of its kind, and the structural schema of its version.
fn read(args: &CustomArgs, files: Files) -> Result<(Value, Structural, CustomResource), Failure> {
    let object = files.value(&args.file)?;
    let file = files::name(&args.schema);
    let fault = |message: String| Failure::input(&file, message);
    let kind = object.complete_kind().ok_or_else(|| {
        Failure::input(
            files::name(&args.file),
            "the object has no apiVersion and kind",
        )
    })?;
    let (resource, others) =
        types::definition(&files.documents(&args.schema)?, &kind).map_err(fault)?;
    let Some(resource) = resource else {
        return Err(fault(match others.as_slice() {
            [] => "expected a CustomResourceDefinition, found none".to_owned(),
            known => format!(
                "there is no definition of {kind}, known are {}",
                known.join(", ")
            ),
        }));
    };

    let version = resource
        .version(&kind.version)
        .map_err(|error| fault(error.to_string()))?;
    let none = Value::Map(fieldmanager_value::Map::new());
    let structural = Structural::from_value(version.schema.as_ref().unwrap_or(&none))
        .map_err(|error| fault(format!("version {}: {error}", version.name)))?;
    Ok((object, structural, resource))
}

/// Collects the paths of the values that only the new object has.
fn added(old: &Value, new: &Value, path: &str, out: &mut Vec<String>) {
    match (old, new) {
        (Value::Map(old), Value::Map(new)) if !old.ptr_eq(new) => {
            for (name, value) in new {
                let path = format!("{path}.{name}");
                match old.get(name) {
                    Some(before) => added(before, value, &path, out),
                    None => out.push(path),
                }
            }
        }
        (Value::List(old), Value::List(new)) if !old.ptr_eq(new) => {
            for (i, (before, value)) in old.iter().zip(new.iter()).enumerate() {
                added(before, value, &format!("{path}[{i}]"), out);
            }
        }
        (Value::Null, Value::Null) => {}
        // A default replaces null.
        (Value::Null, _) => out.push(path.to_owned()),
        _ => {}
    }
}
