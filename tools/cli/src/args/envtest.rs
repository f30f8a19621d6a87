//! Arguments of `envtest`.

use std::path::PathBuf;

/// Write programs named kube-apiserver and etcd
#[derive(clap::Args)]
pub(crate) struct EnvtestArgs {
    /// The folder of the programs, which is made if it is missing
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Print a line for a shell, `export KUBEBUILDER_ASSETS=DIR`, in place of the folder
    #[arg(long)]
    pub(crate) print_env: bool,
}
