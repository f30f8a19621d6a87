//! Commands that inspect objects.

use std::path::Path;
use std::process::ExitCode;

use fieldmanager_fieldpath::Set;
use fieldmanager_typed::{Duplicates, Ratcheting, TypedValue};
use fieldmanager_value::{Map, Value};

use crate::args::{CompareArgs, FieldsetArgs, NormalizeArgs, PairArgs, TypeArgs, ValidateArgs};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Line, Style};
use crate::types;

fn read(
    path: &Path,
    of: &TypeArgs,
    duplicates: Duplicates,
    files: Files,
) -> Result<TypedValue, Failure> {
    let value = files.value(path)?;
    let ty = types::of(of, &value, path, files)?;
    typed(value, ty, duplicates, path)
}

/// Reads two objects of one type: the named type, or that of the first object.
fn read_pair(
    first: &Path,
    second: &Path,
    of: &TypeArgs,
    files: Files,
) -> Result<(TypedValue, TypedValue), Failure> {
    let first = read(first, of, Duplicates::Allow, files)?;
    let value = files.value(second)?;
    let second = typed(value, first.ty().clone(), Duplicates::Allow, second)?;
    Ok((first, second))
}

fn typed(
    value: Value,
    ty: fieldmanager_schema::Type,
    duplicates: Duplicates,
    path: &Path,
) -> Result<TypedValue, Failure> {
    TypedValue::new(value, ty, duplicates).map_err(|errors| Failure::Invalid {
        file: files::name(path),
        errors,
    })
}

pub(crate) fn validate(args: &ValidateArgs, files: Files) -> Result<ExitCode, Failure> {
    let duplicates = if args.allow_duplicates {
        Duplicates::Allow
    } else {
        Duplicates::Refuse
    };

    for path in &args.files {
        let object = read(path, &args.of, duplicates, files)?;
        if let Some(old) = &args.old {
            validate_unions(old, path, &object, args.ratcheting, files)?;
        }
        output::print_lines([format!(
            "{}: valid `{}`",
            files::name(path),
            object.ty().name()
        )])?;
    }

    Ok(ExitCode::SUCCESS)
}

/// Validates the unions of an object as part of an update from an older object.
fn validate_unions(
    old: &Path,
    path: &Path,
    object: &TypedValue,
    ratcheting: bool,
    files: Files,
) -> Result<(), Failure> {
    let old = typed(
        files.value(old)?,
        object.ty().clone(),
        Duplicates::Allow,
        old,
    )?;
    let ratcheting = if ratcheting {
        Ratcheting::On
    } else {
        Ratcheting::Off
    };
    // With ratcheting, a union that was invalid before is accepted as long as it does not change.
    let faults = old.validate_unions(object, ratcheting);

    if faults.is_empty() {
        return Ok(());
    }
    let file = files::name(path);
    Err(Failure::Several(
        faults
            .iter()
            .map(|fault| format!("{file}: {fault}"))
            .collect(),
    ))
}

pub(crate) fn normalize(args: &NormalizeArgs, files: Files) -> Result<ExitCode, Failure> {
    let new = read(&args.new, &args.of, Duplicates::Allow, files)?;
    let old = match &args.old {
        Some(path) => typed(
            files.value(path)?,
            new.ty().clone(),
            Duplicates::Allow,
            path,
        )?,
        None => TypedValue::null(new.ty().clone()),
    };
    let normalized = old
        .normalize_update(&new)
        .map_err(|error| Failure::input(files::name(&args.new), error))?;
    output::err().lines(normalized.changes.iter().map(ToString::to_string))?;
    output::print(normalized.value.value(), args.output.output)?;

    Ok(ExitCode::SUCCESS)
}

pub(crate) fn merge(args: &PairArgs, files: Files) -> Result<ExitCode, Failure> {
    let (live, config) = read_pair(&args.live, &args.file, &args.of, files)?;
    let merged = live
        .merge(&config)
        .map_err(|error| Failure::input(files::name(&args.file), error))?;
    output::print(merged.value(), args.output.output)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn compare(args: &CompareArgs, files: Files) -> Result<ExitCode, Failure> {
    let (old, new) = read_pair(&args.old, &args.new, &args.of, files)?;
    let changed = old
        .compare(&new)
        .map_err(|error| Failure::input(files::name(&args.new), error))?;
    let parts = [
        ("added", '+', Style::Added, &changed.added),
        ("modified", '~', Style::Modified, &changed.modified),
        ("removed", '-', Style::Removed, &changed.removed),
    ];

    match args.output {
        Some(format) => {
            let map: Map = parts
                .iter()
                .map(|(name, _, _, set)| (*name, set.to_value()))
                .collect();
            output::print(&Value::Map(map), format)?;
        }
        None => {
            let lines = |(_, sign, style, set): &(&str, char, Style, &Set)| -> Vec<Line> {
                set.paths()
                    .map(|path| style.paint(&format!("{sign} {path}")))
                    .collect()
            };
            output::print_lines(parts.iter().flat_map(lines))?;
        }
    }

    Ok(ExitCode::SUCCESS)
}

pub(crate) fn fieldset(args: &FieldsetArgs, files: Files) -> Result<ExitCode, Failure> {
    let set = read(&args.file, &args.of, Duplicates::Allow, files)?.field_set();
    if args.paths {
        output::print_lines(set.paths().map(|path| path.to_string()))?
    } else {
        output::out().json(&set.to_json())?
    }
    Ok(ExitCode::SUCCESS)
}
