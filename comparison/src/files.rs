//! JSON documents in files: the corpus, and OpenAPI documents, which may be compressed.

use std::fs;
use std::hash::Hasher;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use fnv::FnvHasher;
use serde_json::Value;

use crate::Error;

/// A folder of this crate.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Reads a JSON document, gzipped or not.
///
/// # Errors
///
/// If the file cannot be read, or is not JSON.
pub fn read(path: &Path) -> Result<Value, Error> {
    let failed = Error::file(path);
    let mut text = fs::read(path).map_err(failed)?;
    // The first bytes of gzip say more than the name, which a user may choose.
    if text.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        GzDecoder::new(text.as_slice())
            .read_to_end(&mut unpacked)
            .map_err(failed)?;
        text = unpacked;
    }

    serde_json::from_slice(&text).map_err(|source| Error::Json {
        path: path.to_owned(),
        source,
    })
}

/// The JSON documents of a folder, sorted by file name. A missing folder has no documents.
///
/// # Errors
///
/// If a file cannot be read, or is not JSON.
pub fn documents(folder: &Path) -> Result<Vec<(PathBuf, Value)>, Error> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let failed = Error::file(folder);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }

    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    // Folders are listed in any order; the first failure of the corpus should be the same in every run.
    paths.sort();
    paths
        .into_iter()
        .map(|path| read(&path).map(|document| (path, document)))
        .collect()
}

/// Keeps a case in a folder, under a name that is a hash of its content, so that equal cases are stored once.
///
/// # Errors
///
/// If the file cannot be written.
pub fn keep(folder: &Path, suite: &str, mut case: Value) -> Result<PathBuf, Error> {
    // The name is made from the hash, so it must not be part of what is hashed.
    if let Some(members) = case.as_object_mut() {
        members.remove("name");
    }
    let mut hasher = FnvHasher::default();
    hasher.write(case.to_string().as_bytes());
    let hash = hasher.finish();

    if let Some(members) = case.as_object_mut() {
        members.insert(
            "name".to_owned(),
            Value::from(format!("{suite} {hash:016x}")),
        );
    }
    write(&folder.join(format!("{hash:016x}.json")), &case)
}

/// Writes documents as gzipped lines.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write_gzipped(path: &Path, documents: &[Value]) -> Result<(), Error> {
    let failed = Error::file(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = fs::File::create(path).map_err(failed)?;
    let mut out = GzEncoder::new(file, Compression::best());
    for document in documents {
        writeln!(out, "{document}").map_err(failed)?;
    }
    out.finish().map_err(failed).map(|_| ())
}

/// Writes a document, and returns its path.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write(path: &Path, document: &Value) -> Result<PathBuf, Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, format!("{document:#}\n")))
        .map_err(Error::file(path))?;
    Ok(path.to_owned())
}
