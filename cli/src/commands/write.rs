//! `apply` and `update`: the commands that change an object and who owns it.

use std::process::ExitCode;

use fieldmanager_managedfields::{Error, Force, RequestKind, RequestOptions, manager_name};
use fieldmanager_value::Value;

use crate::args::{ApplyArgs, Format, UpdateArgs, WriteArgs};
use crate::error::Failure;
use crate::requests::{Request, Server, failure};
use crate::{conflict, difference, files, output};

/// The object that is given and the live one.
fn read(args: &WriteArgs) -> Result<(Value, Value), Failure> {
    let given = files::value(&args.file)?;
    let file = files::name(&args.file);
    if !matches!(given, Value::Map(_)) {
        let message = format!("expected an object, got {}", given.kind());
        return Err(Failure::input(file, message));
    }
    let live = match &args.live {
        Some(path) => files::value(path)?,
        None => Value::Null,
    };
    let live_file = args.live.as_deref().map(files::name).unwrap_or_default();
    if !matches!(live, Value::Map(_) | Value::Null) {
        let message = format!("expected an object, got {}", live.kind());
        return Err(Failure::input(live_file, message));
    }
    let version = |object: &Value| object.get("apiVersion").and_then(Value::as_str).map(str::to_owned);
    if let (Some(live_version), Some(version)) = (version(&live), version(&given))
        && live_version != version
    {
        let message = format!("apiVersion is `{live_version}`, expected `{version}` as in {file}");
        return Err(Failure::input(live_file, message));
    }
    Ok((given, live))
}

/// Checks what an apiserver checks of the parameters.
fn check(kind: RequestKind, args: &WriteArgs, force: Option<bool>) -> Result<(), Failure> {
    let options = RequestOptions { field_manager: args.manager.clone(), force, ..RequestOptions::default() };
    options.validate(kind).map_err(|invalid| match args.answer.output {
        Some(Format::Json) => Failure::Status(Box::new(invalid.status())),
        _ if args.manager.is_empty() => Failure::Usage(format!("{invalid} (--manager NAME)")),
        _ => Failure::Usage(invalid.to_string()),
    })
}

/// An error as it is reported: for people, or for programs that asked for JSON.
fn refused(error: Error, args: &WriteArgs) -> Failure {
    match args.answer.output {
        Some(Format::Json) => Failure::Status(Box::new(error.status())),
        _ => failure(error, &args.manager, &args.file, args.live.as_deref()),
    }
}

fn print(object: &Value, args: &WriteArgs) -> Result<ExitCode, Failure> {
    output::print(object, args.answer.output.unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn apply(args: &ApplyArgs) -> Result<ExitCode, Failure> {
    let write = &args.write;
    check(RequestKind::Apply, write, Some(args.force))?;
    let (given, live) = read(write)?;
    let server = Server::new(write, &given, &live)?;
    let request = Request::new(&live, &given, &write.manager, write.time)?;
    if write.answer.wants_difference() {
        let run = server.dry_run_apply(&request).map_err(|error| refused(error, write))?;
        difference::print(&run)?;
        return match &run.conflicts {
            Some(conflicts) if !args.force => {
                conflict::print(conflicts)?;
                Ok(ExitCode::from(1))
            }
            _ => Ok(ExitCode::SUCCESS),
        };
    }
    let force = if args.force { Force::Yes } else { Force::No };
    print(&server.apply(&request, force).map_err(|error| refused(error, write))?, write)
}

pub(crate) fn update(args: &UpdateArgs) -> Result<ExitCode, Failure> {
    let write = &args.write;
    check(RequestKind::Update, write, None)?;
    let (given, live) = read(write)?;
    let server = Server::new(write, &given, &live)?;
    let name = manager_name(&write.manager, &args.user_agent);
    let request = Request::new(&live, &given, &name, write.time)?;
    if write.answer.wants_difference() {
        difference::print(&server.dry_run_update(&request).map_err(|error| refused(error, write))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&server.update(&request).map_err(|error| refused(error, write))?, write)
}
