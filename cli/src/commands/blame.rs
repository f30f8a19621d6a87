//! `blame`: whose every line of an object is.

use std::process::ExitCode;

use fieldmanager_schema::{Type, UNTYPED_DEDUCED};

use crate::args::BlameArgs;
use crate::error::Failure;
use crate::owners::Owned;
use crate::{blame, output, types};

pub(crate) fn run(args: &BlameArgs) -> Result<ExitCode, Failure> {
    let owned = Owned::read(&args.owned)?;
    let ty = type_of(args, &owned)?;
    for name in &args.managers {
        if !owned.owners.iter().any(|owner| owner.entry.manager.as_str() == name) {
            return Err(Failure::input(&owned.file, unknown(name, &owned)));
        }
    }
    let lines = blame::lines(&owned, ty.as_ref());
    if args.html {
        output::print_text(&blame::page(&owned, &lines, &args.managers))?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted: Vec<usize> = owned
        .owners
        .iter()
        .enumerate()
        .filter(|(_, owner)| args.managers.iter().any(|name| *name == *owner.entry.manager))
        .map(|(number, _)| number)
        .collect();
    let lines = blame::only(lines, (!args.managers.is_empty()).then_some(&wanted));
    output::print_lines(blame::terminal_lines(&owned, &lines, output::room()))?;
    Ok(ExitCode::SUCCESS)
}

/// The type of the object. Only one that is asked for has to be there: without it, managed fields say enough.
fn type_of(args: &BlameArgs, owned: &Owned) -> Result<Option<Type>, Failure> {
    let asked_for = args.of.schema.is_some() || args.of.type_name.is_some();
    match types::of(&args.of, &owned.object, &args.owned.file) {
        Ok(ty) => Ok(Some(ty).filter(|ty| ty.name() != UNTYPED_DEDUCED)),
        Err(failure) if asked_for => Err(failure),
        Err(_) => Ok(None),
    }
}

fn unknown(name: &str, owned: &Owned) -> String {
    let mut names: Vec<String> =
        owned.owners.iter().map(|owner| crate::owners::shown_name(&owner.entry.manager)).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => format!("`{name}` owns nothing, and nobody does: there are no managed fields"),
        names => format!("`{name}` owns nothing, those who do: {}", names.join(", ")),
    }
}
