//! OpenAPI documents, which may be compressed.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::Error;

/// Reads a JSON document, gzipped or not.
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
