//! Arguments of commands that read a cluster.

use std::path::PathBuf;

use crate::error::Failure;

/// The cluster that has the live objects.
#[derive(clap::Args)]
pub(crate) struct ClusterArgs {
    /// Read live objects from the cluster of the kubeconfig
    #[arg(long)]
    pub(crate) cluster: bool,
    /// The kubeconfig of --cluster; without it, the files of $KUBECONFIG, ~/.kube/config, or the service account of a Pod
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
    /// Objects of a cluster: TYPE/NAME as deploy/web, TYPE NAME, TYPE, several with commas, or a category such as all
    #[arg(value_name = "TYPE[/NAME]")]
    names: Vec<String>,
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
    /// The words that name objects, each `TYPE/NAME` or `TYPE`. After a type alone, names follow, as for kubectl.
    ///
    /// # Errors
    ///
    /// A type and name after a type.
    pub(crate) fn words(&self) -> Result<Vec<String>, Failure> {
        match self.names.as_slice() {
            [of, names @ ..] if !of.contains('/') && !names.is_empty() => {
                if let Some(both) = names.iter().find(|name| name.contains('/')) {
                    let message =
                        format!("`{of}` is a type, so `{both}` is expected to be a name alone");
                    return Err(Failure::Usage(message));
                }
                Ok(names.iter().map(|name| format!("{of}/{name}")).collect())
            }
            words => {
                let words = words.iter().flat_map(|word| word.split(','));
                Ok(words.map(str::to_owned).collect())
            }
        }
    }

    /// Whether no words name objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the words are those of a single object.
    pub(crate) fn is_one(&self) -> bool {
        let words = self.words().unwrap_or_default();
        matches!(words.as_slice(), [word] if word.contains('/'))
    }
}
