//! What kube-apiserver serves: the objects that exist from the start, OpenAPI documents, and columns of tables and field
//! selectors as `fieldmanager-builtin` knows them.
//!
//! The program `bundle/` of the repository records these facts from a kube-apiserver into compressed files, which are
//! compiled in. A file is decompressed when it is first used.

mod data;
mod field;
mod resource;

use bytes::Bytes;
use fieldmanager_builtin::Kind;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Str, Value};

use crate::network::ServiceNetwork;

pub(crate) use fieldmanager_builtin::{Column, ResourceFacts, SubresourceFacts};

pub(crate) use field::{SelectableField, unsupported_field_label};
pub(crate) use resource::resource_of_definition;

/// The columns of tables of a built-in kind: an empty list for a kind that is not built in.
pub(crate) fn columns(kind: &GroupVersionKind) -> &'static [Column] {
    Kind::of(kind).map_or(&[], Kind::columns)
}

/// The fields that a field selector can name for a built-in kind, and for kinds without fields of their own
/// `metadata.name` and `metadata.namespace`.
///
/// A selector with another field is refused with [`unsupported_field_label`].
pub(crate) fn field_selectors(kind: &GroupVersionKind) -> &'static [SelectableField] {
    field::of_kind(kind)
}

/// The objects that kube-apiserver creates when it starts: namespaces, the Service `kubernetes`, priority classes, flow
/// schemas, roles and their bindings. Namespaces are first.
///
/// `time` is the time of the start, which the objects have as `metadata.creationTimestamp`, in `metadata.managedFields`
/// and in their conditions. `metadata.uid` and `metadata.resourceVersion` are not set. The
/// Service has the first address of the network. All servers of a process share what has neither time nor address.
pub(crate) fn bootstrap_objects(time: &str, network: ServiceNetwork) -> Vec<Value> {
    let own: [(&str, Value); 4] = [
        ("@start", time.into()),
        ("@day", time.split('T').next().unwrap_or_default().into()),
        ("10.96.0.0/16", network.to_string().into()),
        ("10.96.0.1", network.of_kubernetes().to_string().into()),
    ];

    let of_server = |object: &Value| replaced(object, &own).unwrap_or_else(|| object.clone());
    data::OBJECTS_LIST.iter().map(of_server).collect()
}

/// A recorded value with its own text in place of each name, or nothing if it has none of the names.
fn replaced(value: &Value, own: &[(&str, Value)]) -> Option<Value> {
    match value {
        Value::String(text) => {
            let found = own.iter().find(|(name, _)| text == *name);
            found.map(|(_, own)| own.clone())
        }
        Value::Map(fields) => {
            let edit = |(name, field): (&Str, &Value)| {
                let field = replaced(field, own)?;
                Some((name.clone(), Some(field)))
            };
            let edits: Vec<_> = fields.iter().filter_map(edit).collect();
            (!edits.is_empty()).then(|| Value::Map(fields.with_edits(edits)))
        }
        Value::List(items) => {
            let edit = |(at, item): (usize, &Value)| Some((at, replaced(item, own)?));
            let edits: Vec<_> = items.iter().enumerate().filter_map(edit).collect();
            (!edits.is_empty()).then(|| Value::List(items.with_edits(edits, Vec::new())))
        }
        _ => None,
    }
}

/// The paths of the OpenAPI v3 documents of the built-in resources, in the order of `/openapi/v3`, and the hash of each
/// document: `api/v1`, `apis/apps/v1`, and so on.
pub(crate) fn openapi_v3_paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    data::OPENAPI_V3_DOCUMENTS
        .iter()
        .map(|document| (document.path.as_str(), document.hash.as_str()))
}

/// The OpenAPI v3 document of a path of [`openapi_v3_paths`] as JSON, byte by byte as kube-apiserver sends it. It is
/// decompressed with each call.
pub(crate) fn openapi_v3(path: &str) -> Option<Bytes> {
    let document = data::OPENAPI_V3_DOCUMENTS
        .iter()
        .find(|document| document.path == path)?;
    Some(document.bytes())
}

/// The OpenAPI v2 document of the built-in resources as JSON, byte by byte as kube-apiserver sends it. It is
/// decompressed with each call.
pub(crate) fn openapi_v2() -> Bytes {
    data::openapi_v2()
}

/// The OpenAPI documents of two sample CustomResourceDefinitions.
pub(crate) fn definitions() -> String {
    data::definitions()
}

/// The document of `/version`.
pub(crate) fn version() -> &'static Value {
    &data::VERSION_VALUE
}
