//! `blame`: the owners of each line of an object.

use std::process::ExitCode;

use fieldmanager_schema::{Type, UNTYPED_DEDUCED};

use crate::args::BlameArgs;
use crate::error::Failure;
use crate::files::Files;
use crate::owners::Owned;
use crate::{blame, output, types};

pub(crate) fn run(args: &BlameArgs, files: Files) -> Result<ExitCode, Failure> {
    let owned = Owned::read(&args.owned, files)?;
    let ty = type_of(args, &owned, files)?;
    for name in &args.managers {
        if !owned
            .owners
            .iter()
            .any(|owner| owner.entry.manager.as_str() == name)
        {
            return Err(Failure::input(&owned.file, unknown(name, &owned)));
        }
    }

    let lines = fieldmanager_blame::lines(&owned.object, &owned.entries(), ty.as_ref());
    if args.html {
        output::print_document(&blame::page(&owned, &lines, &args.managers))?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted: Vec<usize> = owned
        .owners
        .iter()
        .enumerate()
        .filter(|(_, owner)| {
            args.managers
                .iter()
                .any(|name| *name == *owner.entry.manager)
        })
        .map(|(number, _)| number)
        .collect();
    let lines = blame::only(lines, (!args.managers.is_empty()).then_some(&wanted));
    output::print_lines(blame::terminal_lines(&owned, &lines, output::room()))?;

    Ok(ExitCode::SUCCESS)
}

/// The type of the object. Fails only if the arguments name a type that does not exist: an object without a known type
/// is shown by the paths of its managed fields.
fn type_of(args: &BlameArgs, owned: &Owned, files: Files) -> Result<Option<Type>, Failure> {
    let asked_for = args.of.schema.is_some() || args.of.type_name.is_some();
    match types::of(&args.of, &owned.object, &args.owned.file, files) {
        Ok(ty) => Ok(Some(ty).filter(|ty| ty.name() != UNTYPED_DEDUCED)),
        Err(failure) if asked_for => Err(failure),
        Err(_) => Ok(None),
    }
}

fn unknown(name: &str, owned: &Owned) -> String {
    let mut names: Vec<String> = owned
        .owners
        .iter()
        .map(|owner| fieldmanager_blame::shown_name(&owner.entry.manager))
        .collect();
    names.sort_unstable();
    names.dedup();

    match names.as_slice() {
        [] => format!("`{name}` owns nothing: there are no managed fields"),
        names => format!("`{name}` owns nothing, owners are {}", names.join(", ")),
    }
}
