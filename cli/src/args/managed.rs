//! The arguments of commands about managed fields.

use std::path::PathBuf;

use clap::{ArgGroup, ValueEnum};
use fieldmanager_managedfields::Time;

use super::{Format, OutputArgs, TypeArgs};

/// What `apply` and `update` have in common.
#[derive(clap::Args)]
pub(crate) struct WriteArgs {
    /// Who does it: the name that will own the fields
    #[arg(
        long,
        visible_alias = "field-manager",
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) manager: String,
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// The live object, with its metadata.managedFields; left out if there is none yet
    #[arg(long, value_name = "FILE")]
    pub(crate) live: Option<PathBuf>,
    /// The configuration to apply, or the new object
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The subresource that the request goes to, such as status
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) subresource: String,
    /// The time to note for the manager, like 2026-01-31T12:00:00Z; without it times stay as they are
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<Time>,
    /// Whether unions are normalized
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) unions: bool,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// What is shown of what a request does.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Show what would change, for fields and for managers, instead of the new object
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "server")]
    pub(crate) dry_run: Option<DryRun>,
    /// How to print the new object; json prints errors as the Status that an apiserver sends
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Format>,
}

impl AnswerArgs {
    /// Whether only the difference is asked for. With an output format it is the object, as kubectl has it.
    pub(crate) fn wants_difference(self) -> bool {
        self.dry_run.is_some() && self.output.is_none()
    }
}

/// As kubectl has it. There is no other place where an apply could be computed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    Server,
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
pub(crate) struct UpdateArgs {
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// What the client calls itself: its part before the first slash is the name where --manager is left out
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) user_agent: String,
}

/// The object of a command about owners.
#[derive(clap::Args)]
pub(crate) struct OwnedArgs {
    /// The object, with its metadata.managedFields
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The time from which ages are counted; the clock's if left out
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,
}

#[derive(clap::Args)]
pub(crate) struct BlameArgs {
    #[command(flatten)]
    pub(crate) owned: OwnedArgs,
    #[command(flatten)]
    pub(crate) of: TypeArgs,
    /// Show only what this manager owns and what that is in; may be given several times
    #[arg(long = "manager", value_name = "NAME")]
    pub(crate) managers: Vec<String>,
    /// Print a page for browsers, with a legend and a filter for each manager
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
pub(crate) struct ExtractArgs {
    /// The object, with its metadata.managedFields
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The manager that applied
    #[arg(long, visible_alias = "field-manager", value_name = "NAME")]
    pub(crate) manager: String,
    /// The subresource that it applied to
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) subresource: String,
    /// Print what Go's extract functions give: without the keys of items and the name of the object, if those are
    /// not owned, and null for empty lists and maps
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
    /// The manager that updated on the client's side, like kubectl-client-side-apply; may be given several times
    #[arg(long = "csa-manager", value_name = "NAME", required = true)]
    pub(crate) csa_managers: Vec<String>,
    /// The manager that applies from now on
    #[arg(long, visible_alias = "field-manager", value_name = "NAME")]
    pub(crate) manager: String,
    /// The subresource whose entries are handed over
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) subresource: String,
    /// Hand over entries at other versions too, for kinds whose fields have the same paths at all versions
    #[arg(long)]
    pub(crate) unite_versions: bool,
    /// Print a JSON patch for the object on the server; [] if there is nothing to do
    #[arg(long)]
    pub(crate) patch: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct StripArgs {
    /// The object as it was read
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Leave the status in
    #[arg(long)]
    pub(crate) keep_status: bool,
    /// Leave the annotation of client-side apply in
    #[arg(long)]
    pub(crate) keep_last_applied: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(clap::Args)]
pub(crate) struct LintArgs {
    /// The object; may be given several times
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// A version of the kind that is served; may be given several times. Entries at others are findings
    #[arg(long, value_name = "VERSION")]
    pub(crate) served: Vec<String>,
    /// From which share of an object on its managed fields are worth a note
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
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The manager whose entries are renamed
    #[arg(long, value_name = "NAME", requires = "to")]
    pub(crate) from: Option<String>,
    /// The manager that gets them
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) to: Option<String>,
    /// The manager whose entries go: what it owns belongs to nobody, unless others own it too
    #[arg(long = "drop", value_name = "NAME", conflicts_with = "to")]
    pub(crate) dropped: Option<String>,
    /// Only entries with this operation
    #[arg(long, value_enum, ignore_case = true, value_name = "OPERATION")]
    pub(crate) operation: Option<OperationName>,
    /// Only entries of this subresource; empty is the object itself
    #[arg(long, value_name = "NAME")]
    pub(crate) subresource: Option<String>,
    /// Make the entries those of an applier, so that its next apply can remove their fields
    #[arg(long, requires = "to")]
    pub(crate) to_applier: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
