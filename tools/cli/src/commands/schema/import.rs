//! `schema import`: converts other documents to a schema.

use std::process::ExitCode;

use fieldmanager_openapi::internal::{SourceKind, sources, types_document};
use fieldmanager_openapi::{Importer, ListUnions, Types};

use crate::args::{From, ImportArgs};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::{output, types};

pub(crate) fn import(args: &ImportArgs, files: Files) -> Result<ExitCode, Failure> {
    let documents = files.documents(&args.file)?;
    let file = files::name(&args.file);
    let wanted = args.from.map(|from| match from {
        From::Openapi => SourceKind::OpenApi,
        From::Crd => SourceKind::CustomResource,
    });
    let found = sources(&documents).first().and_then(SourceKind::detect);

    // The form of a document is detected, so `--from` only confirms it.
    if let (Some(wanted), Some(found)) = (wanted, found)
        && wanted != found
    {
        return Err(Failure::input(
            file,
            format!("expected {wanted}, found {found}"),
        ));
    }

    // The list form of unions does not say whether they are deducing.
    let unions = if args.respecting {
        ListUnions::Respecting
    } else {
        ListUnions::Deducing
    };
    let importer = Importer::new().unions(unions).keep_good(args.keep_good);
    let imported = Types::load_all(&documents, &importer)
        .map_err(|error| types::faults(&args.file, &error))?;
    // Warnings go to standard error, so that the output is the schema alone.
    let mut err = output::err();
    for warning in &imported.warnings {
        err.warning(&file, &warning.to_string())?;
    }

    for fault in &imported.faults {
        err.warning(&file, &format!("{fault}, skipped"))?;
    }
    output::print(&types_document(&imported.types), args.output.output)?;
    Ok(ExitCode::SUCCESS)
}
