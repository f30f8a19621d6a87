//! The `fieldmanager` command: server-side apply on files.

mod alone;
mod answer;
mod answers;
mod args;
mod blame;
mod commands;
mod conflict;
mod conformance;
mod difference;
mod envtest;
mod error;
mod files;
mod line;
mod names;
mod output;
mod owners;
mod page;
mod plain;
mod plugin;
mod request;
mod run_folder;
mod server;
mod text;
mod tree;
mod types;

/// Items for the other crates of the workspace; no part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::answer::{Verb, answer, stored};
    pub use crate::types::resource;

    /// The parser of the arguments, for the page of commands.
    pub fn parser() -> clap::Command {
        <crate::args::Args as clap::CommandFactory>::command()
    }
}

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::{Args, Command, SchemaCommand};
use crate::error::Failure;
use crate::files::Files;
use crate::output::{Line, Style};

/// What a call without arguments prints.
const FIRST_STEPS: &str = "\
fieldmanager: server-side apply of Kubernetes, with the owners of every field

Try first:
  fieldmanager demo                         a conflict and its ways out, in a minute
  kubectl get deploy web -o yaml --show-managed-fields | fieldmanager blame -f -
                                            who owns which line
  fieldmanager serve                        a Kubernetes API server for tests

All commands: fieldmanager --help";

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    if let Some(role) = envtest::Role::of_process() {
        return envtest::run(role);
    }
    if plugin::is_called("kubectl_complete-fieldmanager") {
        return plugin::complete(&Args::command());
    }
    let is_plugin = plugin::is_called("kubectl-fieldmanager");
    if std::env::args_os().len() == 1 && !is_plugin {
        // A reader that has closed the output needs no help.
        let _ = output::print_lines(FIRST_STEPS.lines());
        return ExitCode::SUCCESS;
    }
    let args = match parse(is_plugin) {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    run(args)
}

/// Reads the arguments of the process.
fn parse(is_plugin: bool) -> Result<Args, clap::Error> {
    let mut command = Args::command();
    if is_plugin {
        command = plugin::as_plugin(command);
    }
    let mut matches = command.clone().try_get_matches()?;
    Args::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Runs a command, and reports its failure.
fn run(args: Args) -> ExitCode {
    // The limit on input holds for every file of a command.
    let files = Files {
        max_input: args.max_input.as_u64(),
    };
    let outcome = match args.command {
        Command::Apply(args) => commands::write::apply(&args, files),
        Command::Update(args) => commands::write::update(&args, files),
        Command::Patch(args) => commands::write::patch(&args, files),
        Command::Diff(args) => commands::patch::diff(&args, files),
        Command::Blame(args) => commands::blame::run(&args, files),
        Command::Managers(args) => commands::managers::run(&args, files),
        Command::Owners(args) => commands::owners::run(&args, files),
        Command::Extract(args) => commands::entries::extract(&args, files),
        Command::UpgradeCsa(args) => commands::entries::upgrade_csa(&args, files),
        Command::Strip(args) => commands::entries::strip(&args, files),
        Command::Lint(args) => commands::lint::run(&args, files),
        Command::Migrate(args) => commands::migrate::run(&args, files),
        Command::Validate(args) => commands::inspect::validate(&args, files),
        Command::Merge(args) => commands::inspect::merge(&args, files),
        Command::Compare(args) => commands::inspect::compare(&args, files),
        Command::Normalize(args) => commands::inspect::normalize(&args, files),
        Command::Fieldset(args) => commands::inspect::fieldset(&args, files),
        Command::Prune(args) => commands::custom::prune(&args, files),
        Command::Default(args) => commands::custom::default(&args, files),
        Command::Unions(args) => commands::unions::run(&args, files),
        Command::Schema(SchemaCommand::Types(args)) => commands::schema::types(&args, files),
        Command::Schema(SchemaCommand::Show(args)) => commands::schema::show(&args, files),
        Command::Schema(SchemaCommand::Check(args)) => commands::schema::check(&args, files),
        Command::Schema(SchemaCommand::Import(args)) => commands::schema::import(&args, files),
        Command::Admit(args) => commands::admit::run(&args, files),
        Command::Check(args) => commands::check::run(&args, files),
        Command::Plan(args) => commands::plan::run(&args, files),
        Command::Why(args) => commands::why::run(&args, files),
        Command::Test(args) => commands::test::run(&args, files),
        Command::Conformance(args) => commands::conformance::run(&args, files),
        Command::Serve(args) => commands::serve::run(&args, files),
        Command::Demo => commands::demo::run(),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man { folder } => commands::manual::pages(&folder),
        Command::Envtest(args) => commands::envtest::run(&args),
    };

    // All failures are reported here, so that every command has the same exit codes.
    match outcome {
        Ok(code) => code,
        Err(failure) => report(&failure),
    }
}

/// Reports arguments that cannot be parsed. They contain untrusted strings as well.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Prints the help or the version.
        error.exit();
    }
    let text = error.render().to_string();
    let (prefix, rest) = text.split_at(if text.starts_with("error:") {
        "error:".len()
    } else {
        0
    });
    let mut lines = rest.trim_end().split('\n');
    let first = Style::Error
        .paint(prefix)
        .and(lines.next().unwrap_or_default());

    // If standard error is closed, there is no way to report anything.
    let _ = output::err().lines(std::iter::once(first).chain(lines.map(Line::from)));
    ExitCode::from(2)
}

/// Reports a failure on standard error and returns its exit code.
fn report(failure: &Failure) -> ExitCode {
    let mut err = output::err();
    // If standard error is closed, there is no way to report anything.
    let _ = match failure {
        Failure::Conflicts { conflicts, manager } => {
            err.lines(conflict::report(conflicts, manager))
        }
        Failure::Status(status) | Failure::RefusedStatus(status) => {
            match serde_json::to_string_pretty(status) {
                Ok(text) => err.json(&text),
                Err(_) => err.line(&status.message),
            }
        }
        other => err.lines(other.lines()),
    };

    ExitCode::from(failure.exit_code())
}
