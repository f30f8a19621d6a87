//! `apply` and `update`: change an object and the owners of its fields.

use std::process::ExitCode;

use fieldmanager_managedfields::{Error, RequestKind, RequestOptions, manager_name};
use fieldmanager_value::Value;

use crate::args::{ApplyArgs, Format, UpdateArgs, WriteArgs};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::requests::{Request, Server, check_managed_fields, failure};
use crate::{conflict, difference, output};

/// Reads the given object and the live object.
fn read(args: &WriteArgs, files: Files) -> Result<(Value, Value), Failure> {
    let given = files.object(&args.file)?;
    let file = files::name(&args.file);
    let live = match &args.live {
        Some(path) => files.value(path)?,
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

/// Checks the request parameters as an API server does.
fn check(kind: RequestKind, args: &WriteArgs, force: Option<bool>) -> Result<(), Failure> {
    let options = RequestOptions::default().field_manager(&*args.request.manager).force(force);
    options.validate(kind).map_err(|invalid| match args.request.output {
        Some(Format::Json) => Failure::Status(Box::new(invalid.status())),
        _ if args.request.manager.is_empty() => Failure::Usage(format!("{invalid} (--manager NAME)")),
        _ => Failure::Usage(invalid.to_string()),
    })
}

/// Converts an error to a failure: a Status if JSON output was requested.
fn refused(error: Error, args: &WriteArgs) -> Failure {
    match args.request.wants_status() {
        true => Failure::Status(Box::new(error.status())),
        false => failure(error, &args.request.manager, &args.file, args.live.as_deref()),
    }
}

fn print(object: &Value, args: &WriteArgs) -> Result<ExitCode, Failure> {
    check_managed_fields(object, &args.request)?;
    output::print(object, args.request.output.unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn apply(args: &ApplyArgs, files: Files) -> Result<ExitCode, Failure> {
    let write = &args.write;
    check(RequestKind::Apply, write, Some(args.force))?;
    let (given, live) = read(write, files)?;
    let server = Server::new(write, &given, &live, files)?;
    let request = Request::new(&live, &given, &write.request.manager, write.request.time)?;
    if write.request.wants_difference() {
        let run = server.dry_run_apply(&request).map_err(|error| refused(error, write))?;
        check_managed_fields(&run.outcome.object, &write.request)?;
        difference::print(&run)?;
        return match &run.conflicts {
            Some(conflicts) if !args.force => {
                conflict::print(conflicts)?;
                Ok(ExitCode::from(1))
            }
            _ => Ok(ExitCode::SUCCESS),
        };
    }
    let force = args.force;
    print(&server.apply(&request, force).map_err(|error| refused(error, write))?, write)
}

pub(crate) fn update(args: &UpdateArgs, files: Files) -> Result<ExitCode, Failure> {
    let write = &args.write;
    check(RequestKind::Update, write, None)?;
    let (given, live) = read(write, files)?;
    let server = Server::new(write, &given, &live, files)?;
    let name = manager_name(&write.request.manager, &args.user_agent);
    let request = Request::new(&live, &given, &name, write.request.time)?;
    if write.request.wants_difference() {
        let run = server.dry_run_update(&request).map_err(|error| refused(error, write))?;
        check_managed_fields(&run.outcome.object, &write.request)?;
        difference::print(&run)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&server.update(&request).map_err(|error| refused(error, write))?, write)
}
