//! Arguments of commands that read a cluster.

use std::path::PathBuf;

/// The cluster that has the live objects.
#[derive(clap::Args)]
pub(crate) struct ClusterArgs {
    /// Read live objects from the cluster of the kubeconfig
    #[arg(long)]
    pub(crate) cluster: bool,
    /// The kubeconfig of --cluster; without it, the files of $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl ClusterArgs {
    /// Whether there is a cluster.
    pub(crate) fn is_wanted(&self) -> bool {
        self.cluster || self.kubeconfig.is_some() || self.context.is_some()
    }
}

/// The objects of a cluster that a command reads, named as for kubectl.
#[derive(clap::Args)]
pub(crate) struct LiveArgs {
    /// Objects of a cluster: TYPE/NAME as deploy/web, TYPE, several with commas, or a category such as all
    #[arg(value_name = "TYPE[/NAME]")]
    pub(crate) names: Vec<String>,
    /// The namespace of the objects in the cluster; without it, that of the context
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Objects of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
    /// Only objects with these labels, as app=web
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub(crate) selector: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

impl LiveArgs {
    /// Whether the names are those of a single object.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self.names.as_slice(), [name] if name.contains('/') && !name.contains(','))
    }
}
