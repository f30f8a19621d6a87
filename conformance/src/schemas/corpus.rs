//! Requests that once differed, kept as files.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Error;

/// The requests of a folder, by the names of their files. A folder that does not exist has none.
///
/// # Errors
///
/// When a file cannot be read, or is no JSON.
pub fn read(folder: &Path) -> Result<Vec<Value>, Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| Error::File { path, source }
    };
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        serde_json::from_str(&text).map_err(|source| Error::Corpus { path, source })
    };
    paths.into_iter().map(read).collect()
}

/// Keeps a request in a file that is named after its content.
///
/// # Errors
///
/// When the file cannot be written.
pub fn keep(folder: &Path, request: &Value) -> Result<PathBuf, Error> {
    let mut hasher = DefaultHasher::new();
    request.to_string().hash(&mut hasher);
    let path = folder.join(format!("{:016x}.json", hasher.finish()));
    let failed = |source| Error::File { path: path.clone(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(&path, format!("{request:#}\n")).map_err(failed)?;
    Ok(path)
}
