//! `unions`: adds the unions that Go markers declare to documents.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ahash::HashMap;
use fieldmanager_authoring::internal::{Document, GoFile, GoTypes, Inserted, insert};

use crate::args::UnionsArgs;
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output;

pub(crate) fn run(args: &UnionsArgs, files: Files) -> Result<ExitCode, Failure> {
    let documents: Vec<&PathBuf> = args.crd.iter().chain(&args.openapi).collect();
    if documents.len() > 1 && !args.check && !args.in_place && args.out_dir.is_none() {
        let message = "several documents: --in-place changes the files, --out-dir writes others, --check compares";
        return Err(Failure::Usage(message.to_owned()));
    }

    if args.in_place && documents.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::Usage(
            "standard input cannot be changed: name a file, or leave out --in-place".to_owned(),
        ));
    }

    if args.out_dir.is_some() {
        let mut names = BTreeSet::new();
        if let Some(second) = documents
            .iter()
            .find(|path| !names.insert(output_name(path)))
        {
            return Err(Failure::Usage(format!(
                "several documents with the file name `{}`: --out-dir needs a name of its own for each",
                Path::new(output_name(second)).display()
            )));
        }
    }

    let types = read(&args.go, files)?;
    for warning in types.warnings() {
        output::err().warning(&warning.place(), &warning.message)?;
    }
    let texts: Vec<(String, String)> = documents
        .iter()
        .map(|path| Ok((files::name(path), files.text(path)?)))
        .collect::<Result<_, Failure>>()?;
    let sources: Vec<Document<'_>> = texts
        .iter()
        .map(|(name, text)| Document { name, text })
        .collect();

    let inserted = insert(&types, &sources).map_err(|faults| {
        let lines: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
        // `error:` precedes the first line; the other lines are aligned below it.
        Failure::Usage(lines.join("\n       "))
    })?;
    if args.check {
        return check(&texts, &inserted);
    }

    for ((path, (_, before)), document) in documents.iter().zip(&texts).zip(&inserted) {
        let to = match (&args.out_dir, args.in_place) {
            (Some(folder), _) => folder.join(output_name(path)),
            (None, true) if document.text == *before => continue,
            (None, true) => (*path).clone(),
            (None, false) => {
                output::print_document(&document.text)?;
                continue;
            }
        };
        write(&to, &document.text)?;
    }

    Ok(ExitCode::SUCCESS)
}

/// The file name of a document in the output folder; a fixed name for standard input.
fn output_name(path: &Path) -> &OsStr {
    let name = path.file_name().filter(|name| *name != "-");
    name.unwrap_or(OsStr::new("document.yaml"))
}

fn check(texts: &[(String, String)], inserted: &[Inserted]) -> Result<ExitCode, Failure> {
    let mut lines = Vec::new();
    for ((name, before), document) in texts.iter().zip(inserted) {
        if document.text != *before {
            let places = match document.changes {
                1 => "1 place is".to_owned(),
                n => format!("{n} places are"),
            };
            lines.push(format!(
                "{name}: {places} different from what the Go source declares: --in-place changes the file"
            ));
        }
    }

    let good = lines.is_empty();
    output::print_lines(lines)?;
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text))
        .map_err(|error| Failure::input(files::name(path), format!("cannot be written: {error}")))
}

fn read(paths: &[PathBuf], files: Files) -> Result<GoTypes, Failure> {
    let mut found = BTreeSet::new();
    for path in paths {
        let before = found.len();
        source_files(path, true, &mut found).map_err(|error| {
            Failure::input(files::name(path), format!("cannot be read: {error}"))
        })?;
        // A path without source is most likely a mistake, while a file may be named twice.
        if found.len() == before && !found.contains(path) {
            return Err(Failure::input(
                files::name(path),
                "no Go source: expected a file `*.go` or a folder that contains one",
            ));
        }
    }

    let mut modules = HashMap::default();
    let mut sources = Vec::new();
    for path in &found {
        let folder = path.parent().unwrap_or(Path::new(""));
        let import_path = import_path(folder, &mut modules, files);
        sources.push((path.display().to_string(), import_path, files.text(path)?));
    }

    let sources: Vec<GoFile<'_>> = sources
        .iter()
        .map(|(path, import_path, text)| GoFile {
            path,
            import_path: import_path.as_deref(),
            text,
        })
        .collect();

    Ok(GoTypes::read(&sources))
}

/// Collects the Go files at a path: a file given by name, or the compiled, hand-written files of a folder.
fn source_files(path: &Path, named: bool, found: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if !path.is_dir() {
        let is_source = name.ends_with(".go")
            && !name.ends_with("_test.go")
            && !name.starts_with("zz_generated")
            && name != "generated.pb.go";
        if named || is_source {
            found.insert(path.to_owned());
        }
        return if path.exists() {
            Ok(())
        } else {
            Err(std::io::Error::other("no such file or folder"))
        };
    }

    // As for the Go tool, such folders are not packages, but a folder that the user names is read.
    if !named && (name.starts_with(['.', '_']) || ["vendor", "testdata"].contains(&name)) {
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        // A symbolic link may point to a parent folder.
        if kind.is_dir() || kind.is_file() {
            source_files(&entry.path(), false, found)?;
        }
    }

    Ok(())
}

/// The import path of a package: the module of the nearest enclosing `go.mod`, joined with the relative folder.
fn import_path(
    folder: &Path,
    modules: &mut HashMap<PathBuf, Option<String>>,
    files: Files,
) -> Option<String> {
    if let Some(known) = modules.get(folder) {
        return known.clone();
    }
    let absolute = folder.canonicalize().ok()?;
    let found = absolute.ancestors().find_map(|above| {
        let text = files.found(&above.join("go.mod")).ok()?;
        let module = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("module "))?;
        let module = module
            .split("//")
            .next()?
            .trim()
            .trim_matches(['"', '`'])
            .to_owned();
        let rest = absolute.strip_prefix(above).ok()?;
        let parts = rest
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned());

        Some(
            std::iter::once(module)
                .chain(parts)
                .collect::<Vec<_>>()
                .join("/"),
        )
    });
    modules.insert(folder.to_owned(), found.clone());

    found
}
