//! `schema check`: reports the faults of a schema.

use std::process::ExitCode;

use fieldmanager_openapi::internal::{SourceKind, sources};
use fieldmanager_openapi::{Importer, Types};
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::Value;

use crate::args::CheckArgs;
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output::{self, Line, Style};
use crate::types;

pub(crate) fn check(args: &CheckArgs, files: Files) -> Result<ExitCode, Failure> {
    let documents = files.documents(&args.file)?;
    let file = files::name(&args.file);
    let sources = sources(&documents);
    // Definitions have rules of their own beside those of their schemas, so each is checked by itself.
    if sources
        .iter()
        .any(|document| SourceKind::detect(document) == Some(SourceKind::CustomResource))
    {
        return custom_resources(&file, &sources);
    }

    let imported = Types::load_all(&documents, &Importer::new())
        .map_err(|error| types::faults(&args.file, &error))?;
    let (types, kinds) = (
        imported.types.schema().type_names().count(),
        imported.types.kinds().count(),
    );
    // A schema of the library may have types without kinds.
    let kinds = if kinds == 0 {
        String::new()
    } else {
        format!(", {kinds} kind{}", if kinds == 1 { "" } else { "s" })
    };
    let warning = Style::Modified.paint("warning:");

    let warnings = imported.warnings.iter().map(|message| {
        Line::from(format!("{file}: "))
            .and(warning.clone())
            .and(format!(" {message}"))
    });
    let valid = format!("{file}: valid, {types} types{kinds}");
    let unions = imported.unions.iter().map(|union| {
        Line::from(format!(
            "  `{}`: {}",
            union.definition,
            types::union_origin(union)
        ))
    });
    output::print_lines(warnings.chain([valid.into()]).chain(unions))?;

    Ok(ExitCode::SUCCESS)
}

/// Checks that the schemas of each definition are structural, and reports every violation.
fn custom_resources(file: &str, documents: &[Value]) -> Result<ExitCode, Failure> {
    let mut lines = Vec::new();
    let mut good = true;
    for document in documents {
        let name = document
            .get("metadata")
            .and_then(|metadata| metadata.get("name"))
            .and_then(Value::as_str);
        // A file may have several definitions.
        let prefix = name.map_or_else(|| file.to_owned(), |name| format!("{file}: {name}"));
        let mut bad = |lines: &mut Vec<Line>, faults: &[String]| {
            good = false;
            let count = faults.len();
            let plural = if count == 1 { "" } else { "s" };
            let summary = Style::Error.paint(&format!("{count} fault{plural}"));
            lines.push(Line::from(format!("{prefix}: ")).and(summary));
            lines.extend(faults.iter().map(|fault| format!("  {fault}").into()));
        };

        match CustomResource::from_value(document) {
            Err(error) => bad(
                &mut lines,
                &error
                    .to_string()
                    .lines()
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
            ),
            Ok(resource) => {
                // A schema that is not structural may have wrong unions too, so both kinds of faults are listed.
                let faults = resource
                    .violations()
                    .into_iter()
                    .chain(resource.union_violations());
                let faults: Vec<String> = faults.map(|fault| fault.to_string()).collect();

                if faults.is_empty() {
                    let versions: Vec<&str> = resource
                        .versions
                        .iter()
                        .map(|version| version.name.as_str())
                        .collect();
                    lines.push(
                        format!("{prefix}: valid, structural at {}", versions.join(", ")).into(),
                    );
                    // A valid definition is imported only to show its unions.
                    let document = std::slice::from_ref(document);
                    let imported = Types::load_all(document, &Importer::new()).ok();
                    let unions = imported.into_iter().flat_map(|imported| imported.unions);
                    lines.extend(unions.map(|union| {
                        Line::from(format!(
                            "  `{}`: {}",
                            union.definition,
                            types::union_origin(&union)
                        ))
                    }));
                } else {
                    bad(&mut lines, &faults);
                }
            }
        }
    }

    output::print_lines(lines)?;
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}
