//! OpenAPI documents: those of the built-in resources, with custom resources spliced in.

mod operations;
mod protobuf;
mod schema;
#[cfg(test)]
mod tests;
mod version2;

use std::collections::BTreeMap;

use fieldmanager_value::{Map, Str, Value};

use crate::discovery::Document;
use crate::facts;
use crate::registry::Definition;
use operations::Names;

/// The OpenAPI documents of a server.
///
/// Documents of group versions without custom resources are those of kube-apiserver, byte by byte. The others have the
/// same content, with members in another order.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenApi {
    /// The version 3 documents with custom resources, by path.
    custom: BTreeMap<String, Document>,
    /// What custom resources add to the version 2 document.
    paths: Map,
    definitions: Map,
}

impl OpenApi {
    /// The documents of the built-in resources and of CustomResourceDefinitions. Versions that are not served are left out.
    pub(crate) fn new<'d>(definitions: impl IntoIterator<Item = &'d Definition>) -> Self {
        let mut out = OpenApi::default();
        let mut versions: BTreeMap<String, (Map, Map)> = BTreeMap::new();
        for definition in definitions {
            let resource = &definition.resource;
            for version in resource.versions.iter().filter(|version| version.served) {
                let names = Names::new(resource, version);
                let fields = definition.selectable_paths(&version.name);
                let fields: Vec<Str> = fields.map(Str::from).collect();
                let add = |to: &mut Map, from: Map| {
                    from.iter().for_each(|(name, value)| {
                        to.insert(name.clone(), value.clone());
                    });
                };
                // Definitions of one group version share its document, as built-in resources of it do.
                let (paths, schemas) = versions.entry(names.path()).or_default();
                add(paths, names.paths(operations::Form::V3));
                add(schemas, names.shared_schemas());
                add(
                    schemas,
                    schema::definitions(resource, &names, operations::Form::V3, &fields),
                );

                // Version 2 has one document for all groups and versions.
                add(&mut out.paths, names.paths(operations::Form::V2));
                add(
                    &mut out.definitions,
                    schema::definitions(resource, &names, operations::Form::V2, &fields),
                );
            }
        }

        for (path, (paths, schemas)) in versions {
            let document = operations::document(facts::openapi_v3(&path), paths, schemas);
            out.custom.insert(path, Document::new(document.to_json()));
        }
        out
    }

    /// `/openapi/v3`: the paths of the documents with their hashes.
    pub(crate) fn v3_index(&self) -> Document {
        let mut hashes: BTreeMap<&str, &str> = facts::openapi_v3_paths().collect();
        hashes.extend(
            self.custom
                .iter()
                .map(|(path, document)| (path.as_str(), document.etag.as_str())),
        );
        let entries: Map = hashes
            .into_iter()
            .map(|(path, hash)| {
                let url = format!("/openapi/v3/{path}?hash={hash}");
                (
                    Str::from(path),
                    Value::Map(Map::single("serverRelativeURL", url)),
                )
            })
            .collect();

        Document::new(Value::Map(Map::single("paths", entries)).to_json())
    }

    /// `/openapi/v3/PATH`: the document of a group version, such as `apis/apps/v1`; `None` if there is none.
    pub(crate) fn v3(&self, path: &str) -> Option<Document> {
        if let Some(document) = self.custom.get(path) {
            return Some(document.clone());
        }
        let (_, etag) = facts::openapi_v3_paths().find(|(known, _)| *known == path)?;
        Some(Document {
            body: facts::openapi_v3(path)?,
            etag: etag.to_owned(),
        })
    }

    /// `/openapi/v2` as JSON.
    pub(crate) fn v2(&self) -> Document {
        Document::new(if self.paths.is_empty() {
            facts::openapi_v2()
        } else {
            self.v2_value().to_json().into()
        })
    }

    /// `/openapi/v2` as protobuf: the message `openapi.v2.Document` of gnostic. The hash is that of the JSON.
    pub(crate) fn v2_protobuf(&self) -> Document {
        let json = self.v2();
        let value = Value::from_json_slice(&json.body).unwrap_or_default();
        Document {
            body: version2::encode(&value).into(),
            etag: json.etag,
        }
    }

    fn v2_value(&self) -> Value {
        let builtin = Value::from_json_slice(&facts::openapi_v2()).unwrap_or_default();
        let Value::Map(mut document) = builtin else {
            return builtin;
        };
        for (name, added) in [("paths", &self.paths), ("definitions", &self.definitions)] {
            let mut members = document
                .get(name)
                .and_then(Value::as_map)
                .cloned()
                .unwrap_or_default();

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
