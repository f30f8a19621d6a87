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
use fieldmanager_value::Value;
use fieldmanager_value::internal::embedded;

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
/// Service has the first address of the network.
pub(crate) fn bootstrap_objects(time: &str, network: ServiceNetwork) -> Vec<Value> {
    let quoted = Value::from(time).to_json();
    let day = Value::from(time.split('T').next().unwrap_or_default()).to_json();
    let text = data::OBJECTS_TEXT
        .replace(r#""@start""#, &quoted)
        .replace(r#""@day""#, &day)
        .replace("10.96.0.0/16", &network.to_string())
        .replace("10.96.0.1", &network.of_kubernetes().to_string());
    let objects = embedded("objects", Value::from_json(&text));
    embedded("objects", objects.as_list().ok_or("it is not a list"))
        .iter()
        .cloned()
        .collect()
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
