//! Arguments of `conformance`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;

/// Check server-side apply on an API server
#[derive(clap::Args)]
pub(crate) struct ConformanceArgs {
    /// Scenario files, and folders with scenario files, instead of the cases of the suite
    pub(crate) paths: Vec<PathBuf>,
    /// The address of the server; without it, the kubeconfig names the server
    #[arg(long, value_name = "URL", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) server: Option<String>,
    /// The bearer token for --server
    #[arg(long, value_name = "TOKEN", requires = "server")]
    pub(crate) token: Option<String>,
    /// A file with the certificate authority of --server, in PEM
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) certificate_authority: Option<PathBuf>,
    /// Accept any certificate of the server
    #[arg(long)]
    pub(crate) insecure: bool,
    /// The kubeconfig; without it, the files of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Run on a server that does not look like one for tests
    #[arg(long)]
    pub(crate) yes: bool,
    /// Run only the cases of this area; may be repeated
    #[arg(long, value_name = "AREA")]
    pub(crate) only: Vec<String>,
    /// Run no cases of this area; may be repeated
    #[arg(long, value_name = "AREA")]
    pub(crate) skip: Vec<String>,
    /// Run only the cases whose name contains this string
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// The number of cases at once
    #[arg(long, value_name = "NUMBER", default_value = "8")]
    pub(crate) jobs: NonZeroUsize,
    /// The format of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) report: ConformanceReport,
    /// Keep the namespaces and definitions of the run
    #[arg(long)]
    pub(crate) keep: bool,
    /// Fail only for cases that passed in this file, or are not in it
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the results of this run to the baseline
    #[arg(long, requires = "baseline")]
    pub(crate) update_baseline: bool,
    /// List the cases and run none
    #[arg(long)]
    pub(crate) list: bool,
}

/// A format of the report of `conformance`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConformanceReport {
    #[default]
    Text,
    Json,
    Junit,
    Markdown,
    Html,
}
