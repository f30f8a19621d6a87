//! What kube-apiserver serves: resources, columns of tables, field selectors, the objects that exist from the start, and
//! OpenAPI documents.
//!
//! The program `bundle/` of the repository records these facts from a kube-apiserver into compressed files, which are
//! compiled in. A file is decompressed when it is first used.

mod field;
mod resource;

use std::sync::LazyLock;

use bytes::Bytes;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Str, Value};

pub use field::{SelectableField, unsupported_field_label};
pub use resource::{ServedResource, ServedSubresource};

/// A column of a table of objects.
///
/// Columns of built-in kinds are recorded; those of custom resources are made of `additionalPrinterColumns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: Str,
    /// The OpenAPI type of the cells: `string`, `integer`, `number`, `boolean`, `date`.
    pub kind: Str,
    /// The OpenAPI format of the cells, or an empty string; `name` marks the column with the names of the objects.
    pub format: Str,
    /// A description for people.
    pub description: Str,
    /// 0 for the columns that are always shown; greater than 0 for those of wide output.
    pub priority: i32,
}

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
    static RESOURCES: LazyLock<Vec<ServedResource>> = LazyLock::new(Vec::new);
    &RESOURCES
}

/// The columns of tables of a built-in kind. Kinds that are not built in, and those that kube-apiserver has no own
/// columns for, have `Name` and `Age`.
///
/// ```
/// use fieldmanager_structural::GroupVersionKind;
/// let columns = fieldmanager_apiserver::facts::columns(&GroupVersionKind::new("", "v1", "Secret"));
/// let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
/// assert_eq!(names, ["Name", "Type", "Data", "Age"]);
/// ```
pub fn columns(kind: &GroupVersionKind) -> &'static [Column] {
    let _ = kind;
    &[]
}

/// The fields that a field selector can name for a built-in kind. Every kind has `metadata.name`, and `metadata.namespace`
/// if its objects are in namespaces.
///
/// A selector with another field is refused: `field label not supported: FIELD`.
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
/// schemas, roles and their bindings.
///
/// They are complete but for what differs from start to start: `metadata.uid`, `metadata.resourceVersion`,
/// `metadata.creationTimestamp`, and the times in `metadata.managedFields`. They are in the order in which they can be
/// created: namespaces first.
pub fn bootstrap_objects() -> &'static [Value] {
    static OBJECTS: LazyLock<Vec<Value>> = LazyLock::new(Vec::new);
    &OBJECTS
}

/// The paths of the OpenAPI v3 documents of the built-in resources, in the order of `/openapi/v3`, and the hash of each
/// document: `api/v1`, `apis/apps/v1`, and so on.
pub fn openapi_v3_paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    std::iter::empty()
}

/// The OpenAPI v3 document of a path of [`openapi_v3_paths`], as JSON.
///
/// ```
/// assert!(fieldmanager_apiserver::facts::openapi_v3("apis/apps/v1").is_some());
/// assert!(fieldmanager_apiserver::facts::openapi_v3("apis/apps/v7").is_none());
/// ```
pub fn openapi_v3(path: &str) -> Option<Bytes> {
    let _ = path;
    None
}

/// The OpenAPI v2 document of the built-in resources, as JSON.
pub fn openapi_v2() -> Bytes {
    Bytes::new()
}

/// The document of `/version`.
pub fn version() -> &'static Value {
    static VERSION: LazyLock<Value> = LazyLock::new(|| Value::Null);
    &VERSION
}
