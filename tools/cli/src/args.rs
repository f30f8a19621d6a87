//! Command-line arguments.

mod answers;
mod cluster;
mod common;
mod conformance;
mod envtest;
mod managed;
mod patch;
mod serve;
mod unions;

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use answers::{AdmitArgs, PlanArgs, VerdictArgs, VerdictFormat, WhyArgs};
pub(crate) use cluster::{ClusterArgs, LiveArgs};
pub(crate) use common::{Format, OutputArgs, PlanFormat, ReportFormat, TypeArgs};
pub(crate) use conformance::{ConformanceArgs, ConformanceReport};
pub(crate) use envtest::EnvtestArgs;
pub(crate) use managed::{
    ApplyArgs, BlameArgs, CsaArgs, ExtractArgs, LintArgs, ManagersArgs, MigrateArgs, OperationName,
    OwnedArgs, OwnersArgs, RequestArgs, StripArgs, UpdateArgs, WriteArgs,
};
pub(crate) use patch::{DiffArgs, PatchArgs, PatchKind};
pub(crate) use serve::{AuthorizationArg, ServeArgs, StoreArg};
pub(crate) use unions::UnionsArgs;

/// Server-side apply on files: merge configurations, track who owns which field, find conflicts.
///
/// Files are YAML or JSON, and may be compressed with gzip; `-` is standard input. Exit codes: 0 success; 1 conflicts,
/// refused objects, findings or failed tests; 2 bad input.
#[derive(Parser)]
#[command(name = "fieldmanager", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The most bytes to read from one file, compressed or not, like 100MB or 1GiB
    #[arg(long, value_name = "SIZE", global = true, default_value = "64MiB")]
    pub(crate) max_input: ByteSize,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Apply a configuration to a live object and print the new object
    Apply(ApplyArgs),
    /// Replace a live object with a new one, as PUT does, and print it with its new owners
    Update(UpdateArgs),
    /// Patch a live object and print it with its new owners
    Patch(PatchArgs),
    /// Print the patch that turns one object into another; managed fields are left out
    Diff(DiffArgs),
    /// Print an object with the owners of every line
    ///
    /// Each line begins with its owners: the manager, A for applied or U for updated, and the age of the entry. A dash
    /// marks a line without owners. A line with neither starts a list or map of which only parts are owned.
    Blame(BlameArgs),
    /// List the managers of an object and how much each owns
    Managers(ManagersArgs),
    /// List the managers of many objects, and the fields that several of them own
    Owners(OwnersArgs),
    /// Print the fields that a manager applied, with their present values
    Extract(ExtractArgs),
    /// Transfer fields from client-side apply to a manager of server-side apply
    UpgradeCsa(CsaArgs),
    /// Turn an object that was read from a server into a configuration, without the fields that the server sets
    Strip(StripArgs),
    /// Check the managed fields of objects for problems
    Lint(LintArgs),
    /// Transfer the fields of a manager to another manager, or drop their ownership
    Migrate(MigrateArgs),
    /// Check that an object fits its type
    Validate(ValidateArgs),
    /// Merge one object into another, without managers
    Merge(PairArgs),
    /// List the fields that differ between two objects
    Compare(CompareArgs),
    /// Normalize the unions of a new object and print it; changes are listed on standard error
    Normalize(NormalizeArgs),
    /// Print the set of an object's fields as FieldsV1
    Fieldset(FieldsetArgs),
    /// Remove the fields of an object that its CustomResourceDefinition does not declare
    Prune(CustomArgs),
    /// Fill in the defaults of a CustomResourceDefinition
    Default(CustomArgs),
    /// Add the unions that Go markers declare to CustomResourceDefinitions or an OpenAPI document
    ///
    /// Adds the extension `x-kubernetes-unions` wherever a struct with a union occurs, and prints the document, which
    /// is otherwise unchanged.
    Unions(UnionsArgs),
    /// Inspect, check and convert schemas
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Try policies in CEL on objects: the verdict on each, and what they change in it
    ///
    /// The policies and their bindings are among the sources; a policy without a binding gets one. Exits with 1 if an object is
    /// refused.
    Admit(AdmitArgs),
    /// Check the objects of files and folders: what would an API server say to each?
    ///
    /// Each object is created, as a trial, on an API server in this process, with strict field validation. Definitions,
    /// namespaces and policies among the sources apply. Exits with 1 if anything is refused.
    Check(VerdictArgs),
    /// Plan an apply: what would it do to every object, and which fields would stay?
    ///
    /// Prints a line for each object that is created, changed, in conflict, refused or removed, and the fields that stay
    /// although the configuration does not have them. Exits with 1 after a conflict or a refusal.
    Plan(PlanArgs),
    /// Explain a field: who owns it, what an apply does to it and why, and the ways out
    Why(WhyArgs),
    /// Run scenario files
    Test(TestArgs),
    /// Check server-side apply on an API server, case by case
    ///
    /// Creates namespaces and CustomResourceDefinitions of its own, and removes them at the end.
    Conformance(Box<ConformanceArgs>),
    /// Run a Kubernetes API server: objects, custom resources, server-side apply and watches, in memory
    ///
    /// Prints `serving URL; kubeconfig FILE` when it is ready. Stops at SIGTERM or Ctrl-C.
    Serve(Box<ServeArgs>),
    /// Play a conflict, its three ways out and a union, in a minute
    Demo,
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the man page of each command into a folder
    #[command(hide = true)]
    Man {
        /// The folder
        folder: PathBuf,
    },
    /// Write programs named kube-apiserver and etcd, for test suites that start these two, such as those of envtest
    ///
    /// They are links to this program, which knows its role by its name. Prints the folder: KUBEBUILDER_ASSETS is to name it.
    Envtest(EnvtestArgs),
}

#[derive(Subcommand)]
pub(crate) enum SchemaCommand {
    /// List the types and kinds of a schema
    Types(TypesArgs),
    /// Show the fields of a type and their granularity of ownership
    Show(ShowArgs),
    /// Check schemas, OpenAPI documents and CustomResourceDefinitions, and print every fault
    Check(CheckArgs),
    /// Convert an OpenAPI document or CustomResourceDefinitions to a schema
    Import(ImportArgs),
}

#[derive(clap::Args)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The object; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Accept list items with the same key, as in live objects
    #[arg(long)]
    pub(crate) allow_duplicates: bool,
    /// The object before the update; the unions of the new object are then checked too
    #[arg(long, value_name = "FILE")]
    pub(crate) old: Option<PathBuf>,
    /// Accept faults of unions that the object had before
    #[arg(long, requires = "old")]
    pub(crate) ratcheting: bool,
}

#[derive(clap::Args)]
pub(crate) struct NormalizeArgs {
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The object before the update; omit it to create the object
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
    /// Print one path per line instead
    #[arg(long)]
    pub(crate) paths: bool,
}

#[derive(clap::Args)]
pub(crate) struct CustomArgs {
    /// The CustomResourceDefinition of the object's kind; the file may contain others
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
    /// A schema, an OpenAPI document, or CustomResourceDefinitions; by default the types of Kubernetes
    pub(crate) file: Option<PathBuf>,
    /// List only the kinds, and the types of their objects
    #[arg(long)]
    pub(crate) kinds: bool,
}

#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// A type: its full name or the last part of it (Container), a kind (Deployment, deploy), or apps/v1/Deployment
    #[arg(value_name = "TYPE")]
    pub(crate) name: String,
    /// A schema, an OpenAPI document, or CustomResourceDefinitions; by default the types of Kubernetes
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The number of levels of fields to show
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
    /// The required kind of document; by default either is accepted
    #[arg(long, value_enum)]
    pub(crate) from: Option<From>,
    /// Keep the discriminators of unions as they are, instead of deducing them from the member that is set
    #[arg(long)]
    pub(crate) respecting: bool,
    /// Skip definitions with faults, instead of failing
    #[arg(long)]
    pub(crate) keep_good: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Scenario files, and folders with scenario files
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Also write a JUnit report
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// The format of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ReportFormat,
    /// Run only the scenarios whose name contains this string
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
}
