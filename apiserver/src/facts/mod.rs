//! What kube-apiserver serves: resources, columns of tables, field selectors, the objects that exist from the start, and
//! OpenAPI documents.
//!
//! The program `bundle/` of the repository records these facts from a kube-apiserver into compressed files, which are
//! compiled in. A file is decompressed when it is first used.

mod column;
mod data;
mod field;
mod resource;

use bytes::Bytes;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use fieldmanager_value::internal::embedded;

pub use column::Column;
pub use field::{SelectableField, unsupported_field_label};
pub use resource::{ServedResource, ServedSubresource, storage_version_hash};

/// The built-in resources, in the order of discovery documents: by group, version and plural.
///
/// ```
/// let resources = fieldmanager_apiserver::facts::resources();
/// let deployments = resources.iter().find(|resource| resource.plural == "deployments").unwrap();
/// assert_eq!((deployments.group.as_str(), deployments.kind.as_str()), ("apps", "Deployment"));
/// assert_eq!(deployments.short_names, ["deploy"]);
/// assert!(deployments.subresource("scale").is_some());
/// ```
pub fn resources() -> &'static [ServedResource] {
    &data::BUILTIN.resources
}

/// The columns of tables of a built-in kind: an empty list for a kind that is not built in.
///
/// ```
/// use fieldmanager_structural::GroupVersionKind;
/// let columns = fieldmanager_apiserver::facts::columns(&GroupVersionKind::new("", "v1", "Secret"));
/// let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
/// assert_eq!(names, ["Name", "Type", "Data", "Age"]);
/// ```
pub fn columns(kind: &GroupVersionKind) -> &'static [Column] {
    data::BUILTIN.columns.get(kind).map(Vec::as_slice).unwrap_or_default()
}

/// The fields that a field selector can name for a built-in kind, and for kinds without fields of their own
/// `metadata.name` and `metadata.namespace`.
///
/// A selector with another field is refused with [`unsupported_field_label`].
///
/// ```
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
/// let fields = fieldmanager_apiserver::facts::field_selectors(&GroupVersionKind::new("", "v1", "Pod"));
/// let node = fields.iter().find(|field| field.label == "spec.nodeName").unwrap();
/// let pod = Value::from_json(r#"{"spec":{"nodeName":"node-1"}}"#)?;
/// assert_eq!(node.value(&pod), "node-1");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn field_selectors(kind: &GroupVersionKind) -> &'static [SelectableField] {
    field::of_kind(kind)
}

/// The objects that kube-apiserver creates when it starts: namespaces, the Service `kubernetes`, priority classes, flow
/// schemas, roles and their bindings. Namespaces are first.
///
/// `time` is the time of the start, which the objects have as `metadata.creationTimestamp`, in `metadata.managedFields`
/// and in their conditions. `metadata.uid` and `metadata.resourceVersion` are not set.
///
/// ```
/// use fieldmanager_value::Value;
/// let objects = fieldmanager_apiserver::facts::bootstrap_objects("2026-11-22T10:00:00Z");
/// let metadata = objects.first().and_then(|namespace| namespace.get("metadata")).unwrap();
/// assert_eq!(metadata.get("name").and_then(Value::as_str), Some("default"));
/// assert_eq!(metadata.get("creationTimestamp").and_then(Value::as_str), Some("2026-11-22T10:00:00Z"));
/// ```
pub fn bootstrap_objects(time: &str) -> Vec<Value> {
    let quoted = Value::from(time).to_json();
    let day = Value::from(time.split('T').next().unwrap_or_default()).to_json();
    let text = data::OBJECTS_TEXT.replace(r#""@start""#, &quoted).replace(r#""@day""#, &day);
    let objects = embedded("objects", Value::from_json(&text));
    embedded("objects", objects.as_list().ok_or("it is not a list")).iter().cloned().collect()
}

/// The paths of the OpenAPI v3 documents of the built-in resources, in the order of `/openapi/v3`, and the hash of each
/// document: `api/v1`, `apis/apps/v1`, and so on.
///
/// ```
/// use fieldmanager_apiserver::{discovery, facts};
/// let (path, hash) = facts::openapi_v3_paths().find(|(path, _)| *path == "apis/apps/v1").unwrap();
/// assert_eq!(hash, discovery::hash(&facts::openapi_v3(path).unwrap()));
/// ```
pub fn openapi_v3_paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    data::OPENAPI_V3_DOCUMENTS.iter().map(|document| (document.path.as_str(), document.hash.as_str()))
}

/// The OpenAPI v3 document of a path of [`openapi_v3_paths`] as JSON, byte by byte as kube-apiserver sends it. It is
/// decompressed with each call.
///
/// ```
/// assert!(fieldmanager_apiserver::facts::openapi_v3("apis/apps/v1").is_some());
/// assert!(fieldmanager_apiserver::facts::openapi_v3("apis/apps/v7").is_none());
/// ```
pub fn openapi_v3(path: &str) -> Option<Bytes> {
    let document = data::OPENAPI_V3_DOCUMENTS.iter().find(|document| document.path == path)?;
    Some(document.bytes())
}

/// The OpenAPI v2 document of the built-in resources as JSON, byte by byte as kube-apiserver sends it. It is
/// decompressed with each call.
///
/// ```
/// assert!(fieldmanager_apiserver::facts::openapi_v2().starts_with(br#"{"swagger":"2.0","#));
/// ```
pub fn openapi_v2() -> Bytes {
    data::openapi_v2()
}

/// The OpenAPI documents of two sample CustomResourceDefinitions.
pub(crate) fn definitions() -> String {
    data::definitions()
}

/// The document of `/version`.
///
/// ```
/// use fieldmanager_value::Value;
/// let version = fieldmanager_apiserver::facts::version();
/// assert_eq!(version.get("minor").and_then(Value::as_str), Some("37"));
/// ```
pub fn version() -> &'static Value {
    &data::VERSION_VALUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_labels_are_those_that_kube_apiserver_accepts() {
        assert!(data::BUILTIN.labels.len() > 50);
        for (kind, accepted) in &data::BUILTIN.labels {
            let mut labels: Vec<&str> =
                field_selectors(kind).iter().map(|field| field.label.as_str()).collect();
            labels.sort_unstable();
            if !accepted.is_empty() {
                assert_eq!(&labels, accepted, "{kind}");
            }
        }
    }
}
