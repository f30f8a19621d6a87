//! The arguments of `patch` and `diff`.

use std::path::PathBuf;

use clap::ValueEnum;
use fieldmanager_patch::PatchType;

use super::common::OutputArgs;
use super::managed::RequestArgs;

/// The formats of patches, with the names that kubectl uses.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatchKind {
    /// JSON Patch, RFC 6902: a list of operations
    Json,
    /// JSON Merge Patch, RFC 7386: null removes a field, lists are replaced
    Merge,
    /// Strategic merge patch: the type determines how lists are merged
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

/// The arguments that `patch` and `diff` share.
#[derive(clap::Args)]
pub(crate) struct PatchTypeArgs {
    /// The format of the patch; by default strategic for kinds that have strategies, and merge for others
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(crate) kind: Option<PatchKind>,
    /// The source of types and strategies: an OpenAPI document, or a schema or CustomResourceDefinitions, which have no
    /// strategies; by default the types of Kubernetes
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct PatchArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) of: PatchTypeArgs,
    /// The live object, with its metadata.managedFields
    #[arg(long, value_name = "FILE")]
    pub(crate) live: PathBuf,
    /// The patch
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
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
