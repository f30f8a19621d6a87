//! `blame`: the owners of each line of an object.

use std::path::Path;
use std::process::ExitCode;

use fieldmanager_schema::{Type, UNTYPED_DEDUCED};

use crate::answers::catalogue::Catalogue;
use crate::answers::cluster::LiveCluster;
use crate::answers::sources::each_in;
use crate::args::{BlameArgs, OwnedArgs};
use crate::blame::PageObject;
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::Style;
use crate::owners::Owned;
use crate::{blame, output, types};

pub(crate) fn run(args: &BlameArgs, files: Files) -> Result<ExitCode, Failure> {
    let OwnedArgs { file, live, now } = &args.owned;
    let mut shown = Vec::new();
    if let Some(cluster) = LiveCluster::of_live(live, file.is_some())? {
        let mut catalogue = Catalogue::of_cluster(Some(cluster.clone()));
        if live.is_empty() {
            return cluster.only(live).map(|_| ExitCode::SUCCESS);
        }
        cluster.each(live, |found| {
            let owned = Owned::of(found.object, found.key.to_string(), *now)?;
            let kind = catalogue.kind(&owned.object).ok();
            let known = kind.and_then(|kind| kind.ty.clone());
            show(args, owned, files, known, !live.is_one(), &mut shown)
        })?;
    } else {
        let file = file.as_deref().unwrap_or(Path::new("-"));
        each_in(file, files, |name, object| {
            let is_one_of_many = name.is_some();
            let name = name.unwrap_or_else(|| files::name(file));
            let owned = Owned::of(object, name, *now)?;
            show(args, owned, files, None, is_one_of_many, &mut shown)
        })?;
    }

    if let Some(now) = shown.first().map(|first| first.owned.now) {
        output::print_document(&blame::page(shown, now, &args.managers))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints an object, whose type is known if a cluster has it, or keeps it for a page. One of many is left out if none of the
/// managers that are asked for has it.
fn show(
    args: &BlameArgs,
    owned: Owned,
    files: Files,
    known: Option<Type>,
    is_one_of_many: bool,
    shown: &mut Vec<PageObject>,
) -> Result<(), Failure> {
    let owns = |name: &&String| owned.owns(name);
    if is_one_of_many && !args.managers.is_empty() && !args.managers.iter().any(|name| owns(&name))
    {
        return Ok(());
    }
    let unowned = args.managers.iter().find(|name| !owns(name));
    if let Some(name) = unowned.filter(|_| !is_one_of_many) {
        return Err(Failure::input(&owned.file, unknown(name, &owned)));
    }

    let ty = type_of(args, &owned, files, known)?;
    let lines = fieldmanager_blame::lines(&owned.object, &owned.entries(), ty.as_ref());
    if args.html {
        shown.push(PageObject::of(owned, lines));
        return Ok(());
    }
    if is_one_of_many {
        output::print_lines([Style::Strong.paint(&owned.file)])?;
    }
    let is_wanted = |name: &str| args.managers.iter().any(|wanted| wanted == name);
    let wanted: Vec<usize> = owned
        .owners
        .iter()
        .enumerate()
        .filter(|(_, owner)| is_wanted(&owner.entry.manager))
        .map(|(number, _)| number)
        .collect();
    let lines = blame::only(lines, (!args.managers.is_empty()).then_some(&wanted));
    output::print_lines(blame::terminal_lines(&owned, &lines, output::room()))
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
