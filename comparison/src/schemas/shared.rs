//! Published OpenAPI documents, which are too large for the corpus.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Error, files};

/// The documents below `data` in a folder as requests, each with the path of its file in it.
///
/// # Errors
///
/// If a file cannot be read.
pub(super) fn requests(folder: &Path) -> Result<Vec<(String, Value)>, Error> {
    let mut paths = Vec::new();
    collect(&folder.join("data"), &mut paths)?;
    paths.sort();
    let mut out = Vec::new();
    for path in paths {
        let document = files::read(&path)?;
        // The documents are of versions 2 and 3 of OpenAPI.
        let places = ["/definitions", "/components/schemas"];
        if let Some(definitions) = places.iter().find_map(|place| document.pointer(place)) {
            let name = path
                .strip_prefix(folder)
                .unwrap_or(&path)
                .display()
                .to_string();
            out.push((name, json!({"op": "openapi", "definitions": definitions})));
        }
    }

    Ok(out)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = Error::file(folder);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if ["json", "gz"]
            .iter()
            .any(|known| path.extension().is_some_and(|found| found == *known))
        {
            found.push(path);
        }
    }

    Ok(())
}
