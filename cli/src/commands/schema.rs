//! Commands that look at schemas.

use std::process::ExitCode;

use crate::args::SchemaFileArgs;
use crate::error::Failure;
use crate::{files, output};

pub(crate) fn types(args: &SchemaFileArgs) -> Result<ExitCode, Failure> {
    let schema = files::schema(&args.file)?;
    output::print_lines(schema.type_names().map(str::to_owned))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn check(args: &SchemaFileArgs) -> Result<ExitCode, Failure> {
    let schema = files::schema(&args.file)?;
    let count = schema.type_names().count();
    output::print_lines([format!("{}: valid, {count} types", files::name(&args.file))])?;
    Ok(ExitCode::SUCCESS)
}
