//! The arguments.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Server-side apply on files: merge configurations, track who owns which field, find conflicts.
///
/// Files are YAML or JSON; `-` is standard input. Exit codes: 0 done, 1 conflicts or failed tests, 2 bad
/// input.
#[derive(Parser)]
#[command(name = "fieldmanager", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Apply a configuration to a live object and print the new object
    Apply(ApplyArgs),
    /// Replace a live object by a new one, as PUT and PATCH do, and print it with its new owners
    Update(WriteArgs),
    /// Check that an object fits its type
    Validate(ValidateArgs),
    /// Merge one object into another, without managers
    Merge(PairArgs),
    /// Show which fields differ between two objects
    Compare(CompareArgs),
    /// Normalize the unions of a new object and print it; what was changed goes to standard error
    Normalize(NormalizeArgs),
    /// Print the set of an object's fields as FieldsV1
    Fieldset(FieldsetArgs),
    /// Look at schemas
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Run scenario files
    Test(TestArgs),
}

#[derive(Subcommand)]
pub(crate) enum SchemaCommand {
    /// List the types of a schema
    Types(SchemaFileArgs),
    /// Check a schema and print every fault
    Check(SchemaFileArgs),
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Yaml,
    Json,
}

#[derive(clap::Args)]
pub(crate) struct TypeArgs {
    /// The schema, in the format of structured-merge-diff
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// The type of the object; found by the object's apiVersion and kind if left out
    #[arg(long = "type", value_name = "NAME")]
    pub(crate) type_name: Option<String>,
}

#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// How to print the result
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(clap::Args)]
pub(crate) struct WriteArgs {
    /// Who does it: the name that will own the fields
    #[arg(long, visible_alias = "field-manager", value_name = "NAME")]
    pub(crate) manager: String,
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The live object, with its metadata.managedFields; left out if there is none yet
    #[arg(long, value_name = "FILE")]
    pub(crate) live: Option<PathBuf>,
    /// The configuration to apply, or the new object
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The time to note for the manager, like 2026-01-31T12:00:00Z; none is noted without it
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<jiff::Timestamp>,
    /// Whether unions are normalized
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) unions: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// Take fields that other managers own
    #[arg(long, visible_alias = "force-conflicts")]
    pub(crate) force: bool,
}

#[derive(clap::Args)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The object; may be given several times
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Accept several list items with one key, as in live objects
    #[arg(long)]
    pub(crate) allow_duplicates: bool,
    /// The object before: its unions are checked too, as for an update from it
    #[arg(long, value_name = "FILE")]
    pub(crate) old: Option<PathBuf>,
    /// Let through faults of unions that the object before has too
    #[arg(long, requires = "old")]
    pub(crate) ratcheting: bool,
}

#[derive(clap::Args)]
pub(crate) struct NormalizeArgs {
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The object before; left out for one that is created
    #[arg(long, value_name = "FILE")]
    pub(crate) old: Option<PathBuf>,
    /// The object after
    #[arg(long, value_name = "FILE")]
    pub(crate) new: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct PairArgs {
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The object to merge into
    #[arg(long, value_name = "FILE")]
    pub(crate) live: PathBuf,
    /// The object to merge
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The object before
    pub(crate) old: PathBuf,
    /// The object after
    pub(crate) new: PathBuf,
    /// Print the three sets as FieldsV1 instead of a list of fields
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Format>,
}

#[derive(clap::Args)]
pub(crate) struct FieldsetArgs {
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The object
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one path a line instead
    #[arg(long)]
    pub(crate) paths: bool,
}

#[derive(clap::Args)]
pub(crate) struct SchemaFileArgs {
    /// The schema, in the format of structured-merge-diff
    pub(crate) file: PathBuf,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    #[default]
    Text,
    Json,
}

#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Scenario files, and folders of them
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Write a JUnit report as well
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// How to report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ReportFormat,
    /// Run only the scenarios whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
}
