//! The arguments.

mod managed;
mod patch;
mod unions;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use managed::{
    ApplyArgs, BlameArgs, CsaArgs, ExtractArgs, LintArgs, ManagersArgs, MigrateArgs, OperationName,
    OwnedArgs, StripArgs, UpdateArgs, WriteArgs,
};
pub(crate) use patch::{DiffArgs, PatchArgs, PatchKind};
pub(crate) use unions::UnionsArgs;

/// Server-side apply on files: merge configurations, track who owns which field, find conflicts.
///
/// Files are YAML or JSON; `-` is standard input. Exit codes: 0 done, 1 conflicts, findings or failed
/// tests, 2 bad input.
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
    Update(UpdateArgs),
    /// Patch a live object and print it with its new owners
    Patch(PatchArgs),
    /// Print the patch that makes one object out of another; managed fields are left out
    Diff(DiffArgs),
    /// Print an object with the owners of every line
    ///
    /// A line begins with its owners: the manager, A for applied or U for updated, and the age of its entry. A dash
    /// is for what nobody owns; a line without either is for a list or map of which only parts are owned.
    Blame(BlameArgs),
    /// List who owns how much of an object
    Managers(ManagersArgs),
    /// Print what a manager applied, with the values that the object has now
    Extract(ExtractArgs),
    /// Hand over what was applied on the client's side to a manager that applies on the server's side
    UpgradeCsa(CsaArgs),
    /// Remove what a configuration must not have from an object that was read from a server
    Strip(StripArgs),
    /// Look for what is odd about the managed fields of objects
    Lint(LintArgs),
    /// Give the fields of a manager to another, or to nobody
    Migrate(MigrateArgs),
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
    /// Remove what a CustomResourceDefinition does not know from an object
    Prune(CustomArgs),
    /// Fill in the defaults of a CustomResourceDefinition
    Default(CustomArgs),
    /// Put the unions that Go markers declare into CustomResourceDefinitions or an OpenAPI document
    ///
    /// The document is printed with the extension `x-kubernetes-unions` at every place where a struct with a union occurs,
    /// and with nothing else changed.
    Unions(UnionsArgs),
    /// Look at schemas
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Run scenario files
    Test(TestArgs),
}

#[derive(Subcommand)]
pub(crate) enum SchemaCommand {
    /// List the types and kinds of a schema
    Types(TypesArgs),
    /// Show the fields of a type and how they are owned
    Show(ShowArgs),
    /// Check schemas, OpenAPI documents and CustomResourceDefinitions, and print every fault
    Check(CheckArgs),
    /// Turn an OpenAPI document or CustomResourceDefinitions into a schema
    Import(ImportArgs),
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Yaml,
    Json,
}

#[derive(clap::Args)]
pub(crate) struct TypeArgs {
    /// Where the types come from: a schema, an OpenAPI document, or CustomResourceDefinitions; left out, they
    /// are those of Kubernetes
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The type of the object, or a kind; found by the object's apiVersion and kind if left out
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
pub(crate) struct CustomArgs {
    /// The CustomResourceDefinition; of several in one file, that of the object's kind counts
    #[arg(long, visible_alias = "crd", value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// The object
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct TypesArgs {
    /// A schema, an OpenAPI document, or CustomResourceDefinitions; left out, the types are those of Kubernetes
    pub(crate) file: Option<PathBuf>,
    /// List only the kinds, and the types of their objects
    #[arg(long)]
    pub(crate) kinds: bool,
}

#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// A type: its name or the end of it (Container), a kind (Deployment, deploy), or apps/v1/Deployment
    #[arg(value_name = "TYPE")]
    pub(crate) name: String,
    /// A schema, an OpenAPI document, or CustomResourceDefinitions; left out, the types are those of Kubernetes
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// How many levels of fields to show
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) depth: usize,
}

#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// A schema, an OpenAPI document, or CustomResourceDefinitions
    pub(crate) file: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    Openapi,
    Crd,
}

#[derive(clap::Args)]
pub(crate) struct ImportArgs {
    /// An OpenAPI document, or CustomResourceDefinitions
    pub(crate) file: PathBuf,
    /// What the file must be; left out, it may be either
    #[arg(long, value_enum)]
    pub(crate) from: Option<From>,
    /// Respect discriminators as they are, instead of deducing them from the member that is set
    #[arg(long)]
    pub(crate) respecting: bool,
    /// Leave out definitions with faults, instead of failing
    #[arg(long)]
    pub(crate) keep_good: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
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
