//! Arguments shared by several commands.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Yaml,
    Json,
}

#[derive(clap::Args)]
pub(crate) struct TypeArgs {
    /// A schema, an OpenAPI document, or CustomResourceDefinitions; by default the types of
    /// Kubernetes
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The type of the object, or a kind; by default the object's apiVersion and kind determine it
    #[arg(long = "type", value_name = "NAME")]
    pub(crate) type_name: Option<String>,
}

#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// The output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    #[default]
    Text,
    Json,
    /// A page in one file, with the owners of each line of each object that changes
    Html,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    #[default]
    Text,
    Json,
}
