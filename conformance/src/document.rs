//! JSON documents in files: OpenAPI documents, which may be compressed, and what a corpus keeps.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::Error;

/// Reads a JSON document, gzipped or not.
///
/// # Errors
///
/// When the file cannot be read, or is no JSON.
pub fn read(path: &Path) -> Result<Value, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let mut text = fs::read(path).map_err(failed)?;
    if text.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        GzDecoder::new(text.as_slice()).read_to_end(&mut unpacked).map_err(failed)?;
        text = unpacked;
    }
    serde_json::from_slice(&text).map_err(|source| Error::Corpus { path: path.to_owned(), source })
}

/// The JSON documents of a folder, by the names of their files. A folder that does not exist has none.
///
/// # Errors
///
/// When a file cannot be read, or is no JSON.
pub fn folder(path: &Path) -> Result<Vec<(PathBuf, Value)>, Error> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let failed = |source| Error::File { path: path.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.into_iter().map(|path| read(&path).map(|document| (path, document))).collect()
}

/// Keeps a document in a folder, under a name that comes from its content, so that the same is kept once. Its own `name`
/// says what it is of.
///
/// # Errors
///
/// When the file cannot be written.
pub fn keep(folder: &Path, of: &str, mut document: Value) -> Result<PathBuf, Error> {
    if let Some(members) = document.as_object_mut() {
        members.remove("name");
    }
    let hash = document.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    if let Some(members) = document.as_object_mut() {
        members.insert("name".to_owned(), Value::from(format!("{of} {hash:016x}")));
    }
    let path = folder.join(format!("{hash:016x}.json"));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, format!("{document:#}\n")))
        .map_err(|source| Error::File { path: path.clone(), source })?;
    Ok(path)
}
