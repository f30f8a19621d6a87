//! Arguments of the commands that read or write managed fields.

use std::path::PathBuf;

use clap::{ArgGroup, ValueEnum};
use fieldmanager_managedfields::Time;

use super::cluster::LiveArgs;
use super::common::{Format, OutputArgs, ReportFormat, TypeArgs};

/// The arguments of every request that writes an object.
#[derive(clap::Args)]
pub(crate) struct RequestArgs {
    /// The field manager: the name that will own the fields that the request sets
    #[arg(
        long,
        visible_alias = "field-manager",
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) manager: String,
    /// The subresource of the request: status, scale, resize or ephemeralcontainers
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) subresource: String,
    /// The time of the request, such as 2026-01-31T12:00:00Z; by default no time is recorded, and the times of entries do
    /// not change
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<Time>,
    /// Do not validate the new object of a built-in kind or a CustomResourceDefinition
    #[arg(long)]
    pub(crate) no_validation: bool,
    /// Do not fill in the defaults of a built-in kind or a CustomResourceDefinition. With --no-validation, the field
    /// manager alone makes the new object
    #[arg(long)]
    pub(crate) no_defaults: bool,
    /// Show the changes of fields and managers instead of the new object
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "server")]
    pub(crate) dry_run: Option<DryRun>,
    /// The format of the new object; json also prints errors as the Status object of an API server
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Format>,
}

impl RequestArgs {
    /// Whether to print the changes. With an output format the object is printed instead, as kubectl does.
    pub(crate) fn wants_difference(&self) -> bool {
        self.dry_run.is_some() && self.output.is_none()
    }

    /// Whether to print errors as a Status object.
    pub(crate) fn wants_status(&self) -> bool {
        self.output == Some(Format::Json)
    }
}

/// The arguments that `apply` and `update` share.
#[derive(clap::Args)]
pub(crate) struct WriteArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The live object, with its metadata.managedFields; omit it if the object does not exist yet
    #[arg(long, value_name = "FILE")]
    pub(crate) live: Option<PathBuf>,
    /// The configuration to apply, or the new object
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Whether to normalize unions
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) unions: bool,
}

/// The values of kubectl's `--dry-run` that apply to files.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    Server,
}

#[derive(clap::Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// Take fields from other managers that own them
    #[arg(long, visible_alias = "force-conflicts")]
    pub(crate) force: bool,
}

#[derive(clap::Args)]
pub(crate) struct UpdateArgs {
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// The user agent of the client; its part before the first slash is the default of --manager
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) user_agent: String,
}

/// The object whose managers a command shows.
#[derive(clap::Args)]
pub(crate) struct OwnedArgs {
    /// The object, with its metadata.managedFields
    #[arg(short = 'f', long = "filename", value_name = "FILE", conflicts_with_all = ["names", "cluster", "kubeconfig", "context"])]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    /// The time from which ages are computed; by default the current time
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,
}

#[derive(clap::Args)]
pub(crate) struct BlameArgs {
    #[command(flatten)]
    pub(crate) owned: OwnedArgs,
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// Show only the fields of this manager, and the maps and lists around them; may be repeated
    #[arg(long = "manager", value_name = "NAME")]
    pub(crate) managers: Vec<String>,
    /// Print an HTML page with a legend and a filter for each manager
    #[arg(long)]
    pub(crate) html: bool,
}

#[derive(clap::Args)]
pub(crate) struct ManagersArgs {
    #[command(flatten)]
    pub(crate) owned: OwnedArgs,
    /// Print a document instead of a table
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Format>,
}

#[derive(clap::Args)]
pub(crate) struct OwnersArgs {
    /// Files with objects, folders, a dump, and `-` for standard input; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "SOURCE", conflicts_with_all = ["names", "cluster", "kubeconfig", "context"])]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    /// The form of the report
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: ReportFormat,
}

#[derive(clap::Args)]
pub(crate) struct ExtractArgs {
    /// The object, with its metadata.managedFields
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The manager that applied
    #[arg(long, visible_alias = "field-manager", value_name = "NAME")]
    pub(crate) manager: String,
    /// The subresource to which the manager applied
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) subresource: String,
    /// Print the result of Go's extract functions: omits item keys and the object name unless the manager owns them,
    /// and prints null for empty lists and maps
    #[arg(long)]
    pub(crate) as_go: bool,
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct CsaArgs {
    /// The object, with its metadata.managedFields
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The manager of client-side apply, like kubectl-client-side-apply; may be repeated
    #[arg(long = "csa-manager", value_name = "NAME", required = true)]
    pub(crate) csa_managers: Vec<String>,
    /// The manager of server-side apply that gets the fields
    #[arg(long, visible_alias = "field-manager", value_name = "NAME")]
    pub(crate) manager: String,
    /// The subresource of the entries to transfer
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) subresource: String,
    /// Also transfer entries at other versions, for kinds whose fields have the same paths at all versions
    #[arg(long)]
    pub(crate) unite_versions: bool,
    /// Print a JSON patch for the object on the server; [] if nothing changes
    #[arg(long)]
    pub(crate) patch: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct StripArgs {
    /// The object as the server returned it
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Keep the status
    #[arg(long)]
    pub(crate) keep_status: bool,
    /// Keep the annotation of client-side apply
    #[arg(long)]
    pub(crate) keep_last_applied: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct LintArgs {
    /// An object, a list of objects, several documents, or a folder; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "SOURCE", conflicts_with_all = ["names", "cluster", "kubeconfig", "context"])]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    /// A version of the kind that is served; may be repeated. Entries at other versions are findings
    #[arg(long, value_name = "VERSION")]
    pub(crate) served: Vec<String>,
    /// Report managed fields that are at least this share of the object
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) large: u8,
    /// Print a document instead of lines
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Format>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperationName {
    Apply,
    Update,
}

#[derive(clap::Args)]
#[command(group = ArgGroup::new("who").required(true).args(["from", "dropped"]))]
pub(crate) struct MigrateArgs {
    /// The object, with its metadata.managedFields
    #[arg(short = 'f', long = "filename", value_name = "FILE", conflicts_with_all = ["names", "cluster", "kubeconfig", "context", "write"])]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    /// Send the patches that are shown, each after a dry run, and again for an object that has changed meanwhile
    #[arg(long)]
    pub(crate) write: bool,
    /// The manager whose entries are renamed; may be repeated
    #[arg(long, value_name = "NAME", requires = "to")]
    pub(crate) from: Vec<String>,
    /// The manager that gets the entries
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) to: Option<String>,
    /// The manager whose entries are removed; its fields have no owner afterwards, unless other managers own them too
    #[arg(long = "drop", value_name = "NAME", conflicts_with = "to")]
    pub(crate) dropped: Vec<String>,
    /// Only entries with this operation
    #[arg(long, value_enum, ignore_case = true, value_name = "OPERATION")]
    pub(crate) operation: Option<OperationName>,
    /// Only entries of this subresource; the object itself if empty
    #[arg(long, value_name = "NAME")]
    pub(crate) subresource: Option<String>,
    /// Turn them into entries of an applier, so that its next apply can remove their fields
    #[arg(long, requires = "to")]
    pub(crate) to_applier: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
