//! Commands that inspect schemas.

mod check;
mod import;
mod show;

use std::process::ExitCode;

use comfy_table::{Table, presets};

use crate::args::TypesArgs;
use crate::error::Failure;
use crate::files::Files;
use crate::{output, text, types};

pub(crate) use check::check;
pub(crate) use import::import;
pub(crate) use show::show;

/// Lists the types with their kinds, or the kinds with their types.
pub(crate) fn types(args: &TypesArgs, files: Files) -> Result<ExitCode, Failure> {
    let source = types::load(args.file.as_deref(), files)?;
    let kinds: Vec<(String, String, String)> = source
        .types
        .kinds()
        .flat_map(|(kind, names)| {
            names.iter().map(|name| {
                (
                    kind.api_version().to_string(),
                    kind.kind.to_string(),
                    name.to_string(),
                )
            })
        })
        .collect();

    // By kind, each pair is a row. By type, kinds are joined, since most types have none.
    let rows: Vec<Vec<String>> = if args.kinds {
        kinds
            .into_iter()
            .map(|(version, kind, name)| vec![version, kind, name])
            .collect()
    } else {
        let of = |name: &str| -> Vec<String> {
            let own = kinds.iter().filter(|(_, _, ty)| ty == name);
            own.map(|(version, kind, _)| format!("{version} {kind}"))
                .collect()
        };
        source
            .types
            .schema()
            .type_names()
            .map(|name| vec![name.to_owned(), of(name).join(", ")])
            .collect()
    };

    // The names come from a document that is not trusted.
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| text::printable(cell)).collect())
        .collect();
    output::print_lines(aligned(&rows))?;
    Ok(ExitCode::SUCCESS)
}

/// Formats rows as lines with aligned columns.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).add_rows(rows);
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, 2));
    });
    table.trim_fmt().lines().map(str::to_owned).collect()
}
