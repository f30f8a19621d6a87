//! OpenAPI documents: those of the built-in resources, with custom resources spliced in.
//!
//! ```
//! use fieldmanager_apiserver::openapi::OpenApi;
//!
//! let documents = OpenApi::new([]);
//! let index = documents.v3_index();
//! assert!(index.body.contains(r#""apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash="#));
//! assert!(documents.v3("apis/apps/v1").is_some());
//! assert!(documents.v3("apis/example.com/v1").is_none());
//! ```

mod operations;
mod protobuf;
mod schema;
mod version2;

use std::collections::BTreeMap;

use bytes::Bytes;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_value::{Map, Str, Value};

use crate::discovery::{Hashed, hash};
use crate::facts;
use operations::Names;

/// The media type of OpenAPI v2 documents as protobuf.
pub const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// An OpenAPI document with the hash of its content, for the header `ETag` and the parameter `hash`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The document.
    pub body: Bytes,
    /// The hash, without quotes.
    pub etag: String,
}

/// The OpenAPI documents of a server.
///
/// Documents of group versions without custom resources are those of kube-apiserver, byte by byte. The others have the
/// same content, with members in another order.
#[derive(Clone, Debug, Default)]
pub struct OpenApi {
    /// The version 3 documents with custom resources, by path.
    custom: BTreeMap<String, Document>,
    /// What custom resources add to the version 2 document.
    paths: Map,
    definitions: Map,
}

impl OpenApi {
    /// The documents of the built-in resources and of CustomResourceDefinitions. Objects that are no valid definition,
    /// and versions that are not served, are left out.
    pub fn new<'d>(definitions: impl IntoIterator<Item = &'d Value>) -> Self {
        let mut out = OpenApi::default();
        let mut versions: BTreeMap<String, (Map, Map)> = BTreeMap::new();
        for definition in definitions {
            let Ok(resource) = CustomResource::from_value(definition) else { continue };
            for version in resource.versions.iter().filter(|version| version.served) {
                let names = Names::new(&resource, version);
                let fields = selectable_fields(definition, &version.name);
                let add = |to: &mut Map, from: Map| {
                    from.iter().for_each(|(name, value)| {
                        to.insert(name.clone(), value.clone());
                    });
                };
                let (paths, schemas) = versions.entry(names.path()).or_default();
                add(paths, names.paths(operations::Form::V3));
                add(schemas, names.shared_schemas());
                add(schemas, schema::definitions(&resource, &names, operations::Form::V3, &fields));
                add(&mut out.paths, names.paths(operations::Form::V2));
                add(
                    &mut out.definitions,
                    schema::definitions(&resource, &names, operations::Form::V2, &fields),
                );
            }
        }
        for (path, (paths, schemas)) in versions {
            let document = operations::document(facts::openapi_v3(&path), paths, schemas);
            let body = Bytes::from(document.to_json());
            out.custom.insert(path, Document { etag: hash(&body), body });
        }
        out
    }

    /// `/openapi/v3`: the paths of the documents with their hashes.
    pub fn v3_index(&self) -> Hashed {
        let mut hashes: BTreeMap<&str, &str> = facts::openapi_v3_paths().collect();
        hashes.extend(self.custom.iter().map(|(path, document)| (path.as_str(), document.etag.as_str())));
        let entries: Map = hashes
            .into_iter()
            .map(|(path, hash)| {
                let url = format!("/openapi/v3/{path}?hash={hash}");
                (Str::from(path), Value::Map(Map::single("serverRelativeURL", url)))
            })
            .collect();
        let body = Value::Map(Map::single("paths", entries)).to_json();
        Hashed { etag: hash(body.as_bytes()), body }
    }

    /// `/openapi/v3/PATH`: the document of a group version, such as `apis/apps/v1`; `None` if there is none.
    pub fn v3(&self, path: &str) -> Option<Document> {
        if let Some(document) = self.custom.get(path) {
            return Some(document.clone());
        }
        let (_, etag) = facts::openapi_v3_paths().find(|(known, _)| *known == path)?;
        Some(Document { body: facts::openapi_v3(path)?, etag: etag.to_owned() })
    }

    /// `/openapi/v2` as JSON.
    pub fn v2(&self) -> Document {
        let body = if self.paths.is_empty() { facts::openapi_v2() } else { self.v2_value().to_json().into() };
        Document { etag: hash(&body), body }
    }

    /// `/openapi/v2` as protobuf: the message `openapi.v2.Document` of gnostic. The hash is that of the JSON.
    pub fn v2_protobuf(&self) -> Document {
        let json = self.v2();
        let value = Value::from_json_slice(&json.body).unwrap_or_default();
        Document { body: version2::encode(&value).into(), etag: json.etag }
    }

    fn v2_value(&self) -> Value {
        let builtin = Value::from_json_slice(&facts::openapi_v2()).unwrap_or_default();
        let Value::Map(mut document) = builtin else { return builtin };
        for (name, added) in [("paths", &self.paths), ("definitions", &self.definitions)] {
            let mut members = document.get(name).and_then(Value::as_map).cloned().unwrap_or_default();
            for (name, value) in added {
                // Built-in paths and definitions are not replaced.
                if !members.contains(name) {
                    members.insert(name.clone(), value.clone());
                }
            }
            document.insert(name, members);
        }
        Value::Map(document)
    }
}

/// The paths of `selectableFields` of a version, without the leading dot.
fn selectable_fields(definition: &Value, version: &str) -> Vec<Str> {
    let versions = definition.get("spec").and_then(|spec| spec.get("versions")).and_then(Value::as_list);
    let named = |item: &&Value| item.get("name").and_then(Value::as_str) == Some(version);
    let fields =
        versions.into_iter().flatten().find(named).and_then(|version| version.get("selectableFields"));
    let fields = fields.and_then(Value::as_list).into_iter().flatten();
    let path = |field: &Value| {
        field.get("jsonPath").and_then(Value::as_str).map(|path| path.trim_start_matches('.').into())
    };
    fields.filter_map(path).collect()
}
