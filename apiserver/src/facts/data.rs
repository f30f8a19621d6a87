//! Recorded files, compiled in and compressed.

use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

use bytes::Bytes;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::internal::embedded;
use fieldmanager_value::{Str, Value};
use flate2::read::GzDecoder;
use serde::Deserialize;

use super::{Column, ServedResource, ServedSubresource};

const RESOURCES: &[u8] = include_bytes!("data/resources.json.gz");
const OBJECTS: &[u8] = include_bytes!("data/objects.json.gz");
const DEFINITIONS: &[u8] = include_bytes!("data/definitions.json.gz");
const VERSION: &[u8] = include_bytes!("data/version.json.gz");
const OPENAPI_V2: &[u8] = include_bytes!("data/openapi_v2.json.gz");
const OPENAPI_V3_INDEX: &[u8] = include_bytes!("data/openapi_v3.json.gz");
const OPENAPI_V3: &[u8] = include_bytes!("data/openapi_v3.bin.gz");

/// Resources and columns.
pub(super) static BUILTIN: LazyLock<Builtin> = LazyLock::new(|| {
    let recorded: Vec<Recorded> = parsed("resources", RESOURCES);
    let mut builtin = Builtin::default();
    for recorded in recorded {
        builtin.add(recorded);
    }
    builtin
});

pub(super) static OBJECTS_TEXT: LazyLock<String> = LazyLock::new(|| text("objects", OBJECTS));
pub(super) static VERSION_VALUE: LazyLock<Value> =
    LazyLock::new(|| embedded("version", Value::from_json(&text("version", VERSION))));

#[derive(Default)]
pub(super) struct Builtin {
    pub(super) resources: Vec<ServedResource>,
    pub(super) columns: HashMap<GroupVersionKind, Vec<Column>>,
    /// The labels that kube-apiserver accepts in field selectors, of those that were tried.
    #[cfg(test)]
    pub(super) labels: HashMap<GroupVersionKind, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    group: String,
    version: String,
    kind: String,
    #[serde(default)]
    list_kind: String,
    plural: String,
    singular: String,
    short_names: Vec<String>,
    categories: Vec<String>,
    namespaced: bool,
    verbs: Vec<String>,
    subresources: Vec<RecordedSubresource>,
    storage_version_hash: String,
    #[serde(default)]
    columns: Vec<RecordedColumn>,
    #[cfg(test)]
    #[serde(default)]
    labels: Vec<String>,
}

#[derive(Deserialize)]
struct RecordedSubresource {
    name: String,
    group: String,
    version: String,
    kind: String,
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct RecordedColumn {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    format: String,
    description: String,
    priority: i32,
}

fn shared(names: Vec<String>) -> Vec<Str> {
    names.into_iter().map(Str::from).collect()
}

impl Builtin {
    fn add(&mut self, recorded: Recorded) {
        let (group, version) = (Str::from(recorded.group), Str::from(recorded.version));
        let subresources = recorded.subresources.into_iter().map(|sub| {
            // The group and version are omitted if they are those of the resource.
            let kind = if sub.version.is_empty() {
                GroupVersionKind::new(group.clone(), version.clone(), sub.kind)
            } else {
                GroupVersionKind::new(sub.group, sub.version, sub.kind)
            };
            ServedSubresource { name: sub.name.into(), kind, verbs: shared(sub.verbs) }
        });
        let subresources = subresources.collect();
        let resource = ServedResource {
            kind: recorded.kind.into(),
            list_kind: recorded.list_kind.into(),
            plural: recorded.plural.into(),
            singular: recorded.singular.into(),
            short_names: shared(recorded.short_names),
            categories: shared(recorded.categories),
            namespaced: recorded.namespaced,
            verbs: shared(recorded.verbs),
            subresources,
            storage_version_hash: recorded.storage_version_hash.into(),
            custom: false,
            group,
            version,
        };
        let kind = resource.group_version_kind();
        let columns = recorded.columns.into_iter().map(|column| Column {
            name: column.name.into(),
            kind: column.kind.into(),
            format: column.format.into(),
            description: column.description.into(),
            priority: column.priority,
        });
        #[cfg(test)]
        self.labels.insert(kind.clone(), recorded.labels);
        self.columns.insert(kind, columns.collect());
        self.resources.push(resource);
    }
}

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
        let split = rest.split_at_checked(entry.size).ok_or("the documents end before the index");
        let (compressed, after) = embedded("openapi_v3", split);
        rest = after;
        Document { path: entry.path, hash: entry.hash, compressed }
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
