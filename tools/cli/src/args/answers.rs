//! Arguments of the commands that answer questions about many objects.

use std::path::PathBuf;

use clap::ValueEnum;

use super::cluster::ClusterArgs;
use super::common::{PlanFormat, ReportFormat};
use crate::answers::tool::ToolName;

/// Where objects are from.
#[derive(clap::Args)]
pub(crate) struct SourceArgs {
    /// Files of YAML or JSON, folders of them, and `-` for standard input
    #[arg(value_name = "SOURCE", required_unless_present = "filenames")]
    sources: Vec<PathBuf>,
    /// A source; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "SOURCE")]
    filenames: Vec<PathBuf>,
    /// The namespace of objects that name none; without it, `default`, or that of the context of a cluster
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
}

impl SourceArgs {
    /// The namespace of objects that name none.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }

    /// All sources.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let all = self.sources.iter().chain(&self.filenames);
        all.cloned().collect()
    }
}

/// The forms of the report of `check`.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictFormat {
    /// Lines for people: FILE:LINE: OBJECT: MESSAGE
    #[default]
    Text,
    Json,
    /// For CI systems: a case for each object
    Junit,
    /// For code scanning
    Sarif,
    /// Annotations in a pull request on GitHub
    Github,
}

#[derive(clap::Args)]
pub(crate) struct VerdictArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The form of the report
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: VerdictFormat,
    /// Accept objects of kinds that neither Kubernetes nor a definition among the sources has
    #[arg(long)]
    pub(crate) ignore_unknown_kinds: bool,
    /// Whether unions have an effect, which kube-apiserver does not have
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) unions: bool,
}

#[derive(clap::Args)]
pub(crate) struct AdmitArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Objects that exist, such as the parameters of policies; an object of the sources that exists is applied. May be
    /// repeated
    #[arg(long, value_name = "SOURCE")]
    pub(crate) live: Vec<PathBuf>,
    /// The field manager of the requests
    #[arg(
        long,
        visible_alias = "field-manager",
        value_name = "NAME",
        default_value = "fieldmanager"
    )]
    pub(crate) manager: String,
}

#[derive(clap::Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The field manager that applies
    #[arg(long, visible_alias = "field-manager", value_name = "NAME")]
    pub(crate) manager: Option<String>,
    /// Apply as this tool does: its manager, its force, and the managers whose fields it takes over
    #[arg(long = "as", value_enum, value_name = "TOOL")]
    pub(crate) preset: Option<ToolName>,
    /// Take fields from other managers
    #[arg(long, visible_alias = "force")]
    pub(crate) force_conflicts: bool,
    /// The live objects, with their metadata.managedFields: files, folders, a dump; may be repeated. Objects that are not
    /// among them do not exist
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["cluster", "kubeconfig", "context"])]
    pub(crate) live: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// The objects that were applied before, to list those that are removed; may be repeated
    #[arg(long, value_name = "SOURCE")]
    pub(crate) inventory: Vec<PathBuf>,
    /// Print the changes of each object; of a single object, they are always printed
    #[arg(long)]
    pub(crate) details: bool,
    /// The form of the report
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: PlanFormat,
}

#[derive(clap::Args)]
pub(crate) struct WhyArgs {
    /// The object: KIND/NAME, as deploy/web, or its name alone
    pub(crate) object: String,
    /// The field, as .spec.replicas or spec.template.spec.containers[0].image
    pub(crate) field: String,
    /// The configuration that is applied: files of YAML or JSON, folders of them, and `-` for standard input
    #[arg(value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// A source; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "SOURCE")]
    filenames: Vec<PathBuf>,
    /// The namespace of the object
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// The field manager that applies the configuration
    #[arg(long, visible_alias = "field-manager", value_name = "NAME")]
    pub(crate) manager: Option<String>,
    /// Apply as this tool does
    #[arg(long = "as", value_enum, value_name = "TOOL")]
    pub(crate) preset: Option<ToolName>,
    /// Take fields from other managers
    #[arg(long, visible_alias = "force")]
    pub(crate) force_conflicts: bool,
    /// The live objects, with their metadata.managedFields: files, folders, a dump; may be repeated
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["cluster", "kubeconfig", "context"])]
    pub(crate) live: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: ReportFormat,
}

impl WhyArgs {
    /// All sources of the configuration.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let all = self.sources.iter().chain(&self.filenames);
        all.cloned().collect()
    }

    /// Whether the answer is JSON.
    pub(crate) fn json(&self) -> bool {
        self.output == ReportFormat::Json
    }
}
