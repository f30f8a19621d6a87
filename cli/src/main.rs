//! The `fieldmanager` command: server-side apply on files.

mod args;
mod blame;
mod commands;
mod conflict;
mod custom;
mod difference;
mod error;
mod files;
mod names;
mod output;
mod owners;
mod plain;
mod requests;
mod text;
mod tree;
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
        Command::Patch(args) => commands::patch::run(&args),
        Command::Diff(args) => commands::patch::diff(&args),
        Command::Blame(args) => commands::blame::run(&args),
        Command::Managers(args) => commands::managers::run(&args),
        Command::Extract(args) => commands::entries::extract(&args),
        Command::UpgradeCsa(args) => commands::entries::upgrade_csa(&args),
        Command::Strip(args) => commands::entries::strip(&args),
        Command::Lint(args) => commands::lint::run(&args),
        Command::Migrate(args) => commands::entries::migrate(&args),
        Command::Validate(args) => commands::inspect::validate(&args),
        Command::Merge(args) => commands::inspect::merge(&args),
        Command::Compare(args) => commands::inspect::compare(&args),
        Command::Normalize(args) => commands::inspect::normalize(&args),
        Command::Fieldset(args) => commands::inspect::fieldset(&args),
        Command::Prune(args) => commands::custom::prune(&args),
        Command::Default(args) => commands::custom::default(&args),
        Command::Unions(args) => commands::unions::run(&args),
        Command::Schema(SchemaCommand::Types(args)) => commands::schema::types(&args),
        Command::Schema(SchemaCommand::Show(args)) => commands::schema::show(&args),
        Command::Schema(SchemaCommand::Check(args)) => commands::schema::check(&args),
        Command::Schema(SchemaCommand::Import(args)) => commands::schema::import(&args),
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
        Failure::Conflicts { conflicts, manager } => conflict::report(&mut err, conflicts, manager),
        Failure::Status(status) => match serde_json::to_string_pretty(status) {
            Ok(text) => writeln!(err, "{text}"),
            Err(_) => writeln!(err, "{}", status.message),
        },
        other => writeln!(err, "{} {other}", Style::Error.paint("error:")),
    };
    ExitCode::from(failure.exit_code())
}
