//! Documents that Kubernetes and others publish, which are too large to be kept here.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Error, document};

/// The documents below `data` in a folder as requests, each with the path of its file.
///
/// # Errors
///
/// When a file cannot be read.
pub fn requests(folder: &Path) -> Result<Vec<(PathBuf, Value)>, Error> {
    let mut files = Vec::new();
    collect(&folder.join("data"), &mut files)?;
    files.sort();
    let mut out = Vec::new();
    for path in files {
        let document = document::read(&path)?;
        let places = ["/definitions", "/components/schemas"];
        if let Some(definitions) = places.iter().find_map(|place| document.pointer(place)) {
            out.push((path, json!({"op": "openapi", "definitions": definitions})));
        }
    }
    Ok(out)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |source| Error::File { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if ["json", "gz"].iter().any(|known| path.extension().is_some_and(|found| found == *known)) {
            files.push(path);
        }
    }
    Ok(())
}
