//! `blame`: the owners of each line of an object.

use std::path::Path;
use std::process::ExitCode;

use fieldmanager_schema::{Type, UNTYPED_DEDUCED};

use crate::answers::catalogue::Catalogue;
use crate::answers::cluster::LiveCluster;
use crate::answers::sources::each_in;
use crate::args::{BlameArgs, OwnedArgs};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::Style;
use crate::owners::Owned;
use crate::{blame, output, types};

pub(crate) fn run(args: &BlameArgs, files: Files) -> Result<ExitCode, Failure> {
    let OwnedArgs { file, live, now } = &args.owned;
    let Some(cluster) = LiveCluster::of_live(live, file.is_some())? else {
        let file = file.as_deref().unwrap_or(Path::new("-"));
        return each_in(file, files, |name, object| match name {
            None => {
                let owned = Owned::of(object, files::name(file), *now)?;
                show(args, &owned, files, None, false).map(drop)
            }
            Some(name) => show_one_of_many(args, Owned::of(object, name, *now)?, files, None),
        })
        .map(|()| ExitCode::SUCCESS);
    };

    let mut catalogue = Catalogue::of_cluster(Some(cluster.clone()));
    if live.is_empty() {
        return cluster.only(live).map(|_| ExitCode::SUCCESS);
    }
    cluster.each(live, |found| {
        let owned = Owned::of(found.object, found.key.to_string(), *now)?;
        let kind = catalogue.kind(&owned.object).ok();
        let known = kind.and_then(|kind| kind.ty.clone());
        if live.is_one() {
            show(args, &owned, files, known, false).map(drop)
        } else {
            show_one_of_many(args, owned, files, known)
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints one of many objects, if one of the managers that are asked for has it.
fn show_one_of_many(
    args: &BlameArgs,
    owned: Owned,
    files: Files,
    known: Option<Type>,
) -> Result<(), Failure> {
    if args.html {
        return Err(Failure::Usage("--html is the page of one object".into()));
    }
    let owns = |name: &String| owned.owns(name);
    if !args.managers.is_empty() && !args.managers.iter().any(owns) {
        return Ok(());
    }
    output::print_lines([Style::Strong.paint(&owned.file)])?;
    show(args, &owned, files, known, true).map(drop)
}

/// Prints an object, whose type is known if a cluster has it.
fn show(
    args: &BlameArgs,
    owned: &Owned,
    files: Files,
    known: Option<Type>,
    is_one_of_many: bool,
) -> Result<ExitCode, Failure> {
    let ty = type_of(args, owned, files, known)?;
    let unowned = args.managers.iter().find(|name| !owned.owns(name));
    if let Some(name) = unowned.filter(|_| !is_one_of_many) {
        return Err(Failure::input(&owned.file, unknown(name, owned)));
    }

    let lines = fieldmanager_blame::lines(&owned.object, &owned.entries(), ty.as_ref());
    if args.html {
        output::print_document(&blame::page(owned, &lines, &args.managers))?;
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
    output::print_lines(blame::terminal_lines(owned, &lines, output::room()))?;

    Ok(ExitCode::SUCCESS)
}

/// The type of the object. Fails only if the arguments name a type that does not exist: an object without a known type
/// is shown by the paths of its managed fields.
fn type_of(
    args: &BlameArgs,
    owned: &Owned,
    files: Files,
    known: Option<Type>,
) -> Result<Option<Type>, Failure> {
    let asked_for = args.of.schema.is_some() || args.of.type_name.is_some();
    if known.is_some() && !asked_for {
        return Ok(known);
    }
    match types::of(&args.of, &owned.object, Path::new(&owned.file), files) {
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
