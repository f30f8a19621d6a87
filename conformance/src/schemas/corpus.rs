//! Requests that once differed, kept as files.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Error;

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
