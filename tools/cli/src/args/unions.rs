//! The arguments of `unions`.

use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct UnionsArgs {
    /// Go source: files, or folders of packages, which are searched recursively; tests and vendored packages are
    /// skipped
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    pub(crate) go: Vec<PathBuf>,
    /// CustomResourceDefinitions that were generated from the source
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "openapi")]
    pub(crate) crd: Vec<PathBuf>,
    /// OpenAPI documents that were generated from the source
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) openapi: Vec<PathBuf>,
    /// Print nothing, and exit with 1 if a file differs from what would be printed
    #[arg(long, conflicts_with_all = ["in_place", "out_dir"])]
    pub(crate) check: bool,
    /// Change the files
    #[arg(long, conflicts_with = "out_dir")]
    pub(crate) in_place: bool,
    /// Write the documents to this folder, under their file names
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out_dir: Option<PathBuf>,
}
