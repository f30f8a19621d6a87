//! Recorded files, compiled in and compressed.

use std::io::Read;
use std::sync::LazyLock;

use bytes::Bytes;
use fieldmanager_value::internal::embedded;
use fieldmanager_value::{List, Value};
use flate2::read::GzDecoder;
use serde::Deserialize;

const OBJECTS: &[u8] = include_bytes!("data/objects.json.gz");
const DEFINITIONS: &[u8] = include_bytes!("data/definitions.json.gz");
const VERSION: &[u8] = include_bytes!("data/version.json.gz");
const OPENAPI_V2: &[u8] = include_bytes!("data/openapi_v2.json.gz");
const OPENAPI_V3_INDEX: &[u8] = include_bytes!("data/openapi_v3.json.gz");
const OPENAPI_V3: &[u8] = include_bytes!("data/openapi_v3.bin.gz");

/// The objects that exist from the start, with names in place of what each server has of its own.
pub(super) static OBJECTS_LIST: LazyLock<List> = LazyLock::new(|| {
    let objects = embedded("objects", Value::from_json(&text("objects", OBJECTS)));
    embedded(
        "objects",
        objects.as_list().cloned().ok_or("it is not a list"),
    )
});
pub(super) static VERSION_VALUE: LazyLock<Value> =
    LazyLock::new(|| embedded("version", Value::from_json(&text("version", VERSION))));

/// An OpenAPI v3 document in the compressed file.
pub(super) struct Document {
    pub(super) path: String,
    pub(super) hash: String,
    compressed: &'static [u8],
}

/// The OpenAPI v3 documents in the order of their paths.
pub(super) static OPENAPI_V3_DOCUMENTS: LazyLock<Vec<Document>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Entry {
        path: String,
        hash: String,
        size: usize,
    }
    let entries: Vec<Entry> = parsed("openapi_v3", OPENAPI_V3_INDEX);
    let mut rest = OPENAPI_V3;
    let documents = entries.into_iter().map(|entry| {
        let split = rest
            .split_at_checked(entry.size)
            .ok_or("the documents end before the index");
        let (compressed, after) = embedded("openapi_v3", split);
        rest = after;
        Document {
            path: entry.path,
            hash: entry.hash,
            compressed,
        }
    });

    documents.collect()
});

impl Document {
    pub(super) fn bytes(&self) -> Bytes {
        decompressed(&self.path, self.compressed).into()
    }
}

pub(super) fn definitions() -> String {
    text("definitions", DEFINITIONS)
}

pub(super) fn openapi_v2() -> Bytes {
    decompressed("openapi_v2", OPENAPI_V2).into()
}

/// The content of a file that is compiled in, and that tests read completely.
fn decompressed(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    embedded(name, GzDecoder::new(bytes).read_to_end(&mut out));
    out
}

fn text(name: &str, bytes: &[u8]) -> String {
    embedded(name, String::from_utf8(decompressed(name, bytes)))
}

fn parsed<T: for<'d> Deserialize<'d>>(name: &str, bytes: &[u8]) -> T {
    embedded(name, serde_json::from_slice(&decompressed(name, bytes)))
}
