//! The arguments of `patch` and `diff`.

use std::path::PathBuf;

use clap::ValueEnum;
use fieldmanager_managedfields::Time;
use fieldmanager_patch::PatchType;

use super::OutputArgs;
use super::managed::AnswerArgs;

/// As kubectl calls them.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatchKind {
    /// JSON Patch, RFC 6902: a list of operations
    Json,
    /// JSON Merge Patch, RFC 7386: what is null is removed, lists are replaced
    Merge,
    /// Strategic merge patch: lists are merged as the type says
    Strategic,
}

impl PatchKind {
    pub(crate) fn patch_type(self) -> PatchType {
        match self {
            PatchKind::Json => PatchType::Json,
            PatchKind::Merge => PatchType::Merge,
            PatchKind::Strategic => PatchType::Strategic,
        }
    }
}

/// What `patch` and `diff` have in common.
#[derive(clap::Args)]
pub(crate) struct PatchTypeArgs {
    /// How the patch is written; left out, it is strategic for kinds that have strategies, and merge for others
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(crate) kind: Option<PatchKind>,
    /// Where types and strategies come from: an OpenAPI document, or a schema or CustomResourceDefinitions, which
    /// have no strategies; left out, they are those of Kubernetes
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct PatchArgs {
    /// Who does it: the name that will own what the patch changes
    #[arg(
        long,
        visible_alias = "field-manager",
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) manager: String,
    #[command(flatten)]
    pub(crate) of: PatchTypeArgs,
    /// The live object, with its metadata.managedFields
    #[arg(long, value_name = "FILE")]
    pub(crate) live: PathBuf,
    /// The patch
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The subresource that the request goes to, such as status
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) subresource: String,
    /// The time to note for the manager, like 2026-01-31T12:00:00Z; without it times stay as they are
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<Time>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) of: PatchTypeArgs,
    /// The object before
    pub(crate) old: PathBuf,
    /// The object after
    pub(crate) new: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
