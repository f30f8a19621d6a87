//! Arguments of the commands that answer questions about many objects.

use std::path::PathBuf;

use clap::ValueEnum;

/// Where objects are from.
#[derive(clap::Args)]
pub(crate) struct SourceArgs {
    /// Files of YAML or JSON, folders of them, and `-` for standard input
    #[arg(value_name = "SOURCE", required_unless_present = "filenames")]
    sources: Vec<PathBuf>,
    /// A source; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "SOURCE")]
    filenames: Vec<PathBuf>,
    /// The namespace of objects that name none
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
}

impl SourceArgs {
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
