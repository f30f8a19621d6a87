//! What is made from the arguments: completions and man pages.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Args;
use crate::error::Failure;
use crate::output;

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    generate(shell, &mut Args::command(), "fieldmanager", &mut script);
    output::print_document(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes `fieldmanager.1`, and a page for each command.
pub(crate) fn pages(folder: &Path) -> Result<ExitCode, Failure> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Args::command(), folder)?;
    Ok(ExitCode::SUCCESS)
}
