//! The `fieldmanager` command: server-side apply on files.

mod args;
mod commands;
mod conflict;
mod error;
mod files;
mod managed;
mod output;
mod types;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command, SchemaCommand};
use crate::error::Failure;
use crate::output::Style;

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match args.command {
        Command::Apply(args) => commands::write::apply(&args),
        Command::Update(args) => commands::write::update(&args),
        Command::Validate(args) => commands::inspect::validate(&args),
        Command::Merge(args) => commands::inspect::merge(&args),
        Command::Compare(args) => commands::inspect::compare(&args),
        Command::Normalize(args) => commands::inspect::normalize(&args),
        Command::Fieldset(args) => commands::inspect::fieldset(&args),
        Command::Schema(SchemaCommand::Types(args)) => commands::schema::types(&args),
        Command::Schema(SchemaCommand::Check(args)) => commands::schema::check(&args),
        Command::Test(args) => commands::test::run(&args),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => report(&failure),
    }
}

/// Says what failed on standard error and gives the exit code: 1 for what the objects say (a conflict, an
/// object that does not fit), 2 for what the caller gave (files, arguments).
fn report(failure: &Failure) -> ExitCode {
    let mut err = anstream::stderr();
    // There is nobody left to tell if standard error is gone.
    let _ = match failure {
        Failure::Closed => Ok(()),
        Failure::Conflicts(conflicts) => conflict::report(&mut err, conflicts),
        other => writeln!(err, "{} {other}", Style::Error.paint("error:")),
    };
    ExitCode::from(failure.exit_code())
}
