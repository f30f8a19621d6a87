//! `apply`, `update` and `patch`: change an object and the owners of its fields.

use std::path::Path;
use std::process::ExitCode;

use fieldmanager_patch::PatchType;
use fieldmanager_value::Value;

use crate::answer::Verb;
use crate::args::{ApplyArgs, PatchArgs, UpdateArgs, WriteArgs};
use crate::commands::patch::{no_strategies, or_default};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::request::Request;
use crate::server::Server;
use crate::types::{self, Source};
use crate::{conflict, difference, output};

pub(crate) fn apply(args: &ApplyArgs, files: Files) -> Result<ExitCode, Failure> {
    write(Verb::Apply, &args.write, "", args.force, files)
}

pub(crate) fn update(args: &UpdateArgs, files: Files) -> Result<ExitCode, Failure> {
    write(Verb::Update, &args.write, &args.user_agent, false, files)
}

fn write(
    verb: Verb,
    args: &WriteArgs,
    user_agent: &str,
    force: bool,
    files: Files,
) -> Result<ExitCode, Failure> {
    let mut request = Request {
        verb,
        args: &args.request,
        user_agent,
        unions: args.unions,
        type_name: args.of.type_name.as_deref(),
        live: Value::Null,
        live_file: args.live.as_deref(),
        given: Value::Null,
        file: &args.file,
    };
    request.check_options()?;

    // Wrong parameters are reported before any file is read, since no file makes them valid.
    request.given = files.object(&args.file)?;
    if let Some(path) = &args.live {
        request.live = files.value(path)?;
        check_live(&request, path)?;
    }
    run(
        &request,
        force,
        &types::load(args.of.schema.as_deref(), files)?,
    )
}

/// Checks that the live object is an object, at the version of the given one.
fn check_live(request: &Request<'_>, file: &Path) -> Result<(), Failure> {
    let Request { live, given, .. } = request;
    let fault = |message: String| Err(Failure::input(files::name(file), message));
    if !matches!(live, Value::Map(_) | Value::Null) {
        return fault(format!("expected an object, got {}", live.kind()));
    }
    let version = |object: &Value| {
        object
            .get("apiVersion")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };

    match (version(live), version(given)) {
        (Some(found), Some(version)) if found != version => {
            let given = files::name(request.file);
            fault(format!(
                "apiVersion is `{found}`, expected `{version}` as in {given}"
            ))
        }
        _ => Ok(()),
    }
}

pub(crate) fn patch(args: &PatchArgs, files: Files) -> Result<ExitCode, Failure> {
    let mut request = Request {
        verb: Verb::Patch(PatchType::Merge),
        args: &args.request,
        user_agent: "",
        unions: true,
        type_name: None,
        live: Value::Null,
        live_file: Some(&args.live),
        given: Value::Null,
        file: &args.file,
    };
    request.check_options()?;

    request.live = files.object(&args.live)?;
    request.given = files.value(&args.file)?;
    let source = types::load(args.of.schema.as_deref(), files)?;
    // The default type of a patch is strategic where the kind has strategies, as in kubectl.
    let strategies = source.strategies();
    let schema = strategies
        .as_ref()
        .and_then(|types| types.for_object(&request.live));
    let how = or_default(args.of.kind, schema);

    // With JSON output, the answer is the `Status` of a server, which the handlers make.
    if how == PatchType::Strategic && schema.is_none() && !args.request.wants_status() {
        return Err(Failure::input(
            files::name(&args.live),
            no_strategies(&source, &request.live),
        ));
    }
    request.verb = Verb::Patch(how);

    run(&request, false, &source)
}

/// Carries out a request, and prints the new object or what it changes.
fn run(request: &Request<'_>, force: bool, source: &Source) -> Result<ExitCode, Failure> {
    let server = Server::new(source, request)?;
    let file = files::name(request.file);
    let warn = |warnings: &[String]| {
        warnings
            .iter()
            .try_for_each(|text| output::err().warning(&file, text))
    };

    if !request.args.wants_difference() {
        let written = server.write(request, force)?;
        warn(&written.warnings)?;
        output::print(&written.object, request.args.output.unwrap_or_default())?;
        return Ok(ExitCode::SUCCESS);
    }

    // Conflicts do not hide what an apply by force would change.
    let (written, conflicts) = match server.write(request, force) {
        Err(Failure::Conflicts { conflicts, .. }) => {
            (server.write(request, true)?, Some(conflicts))
        }
        written => (written?, None),
    };
    warn(&written.warnings)?;
    difference::print(&server.difference(request, &written.object)?)?;
    if let Some(conflicts) = conflicts {
        conflict::print(&conflicts)?;
        return Ok(ExitCode::from(1));
    }

    Ok(ExitCode::SUCCESS)
}
