//! The fields that every object of Kubernetes has.

use fieldmanager_value::{List, Map, Value};

use crate::GroupVersionKind;

/// Reads the type and the metadata of an object. A field that is absent or has another type is `None`, so these methods
/// are for objects that were checked, and for messages; they check nothing.
///
/// ```
/// use fieldmanager_structural::internal::ObjectExt;
/// use fieldmanager_value::Value;
/// let pod = Value::from_json(r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}"#)?;
/// assert_eq!((pod.name(), pod.namespace()), (Some("web"), None));
/// assert_eq!(pod.declared_kind().to_string(), "/v1, Kind=Pod");
/// assert_eq!(pod.complete_kind(), Some(pod.declared_kind()));
/// assert_eq!(Value::from_json(r#"{"kind": "Pod"}"#)?.complete_kind(), None);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub trait ObjectExt {
    /// A field of the object itself.
    fn field(&self, name: &str) -> Option<&Value>;

    /// The string in a field of the object itself; empty if there is none.
    fn string(&self, name: &str) -> &str {
        let value = self.field(name).and_then(Value::as_str);
        value.unwrap_or_default()
    }

    /// The items of the list in a field of the object itself; none without a list.
    fn items(&self, name: &str) -> impl Iterator<Item = &Value> {
        let list = self.field(name).and_then(Value::as_list);
        list.into_iter().flat_map(List::iter)
    }

    /// The strings of the list in a field of the object itself; an item of another type is an empty one.
    fn strings(&self, name: &str) -> Vec<String> {
        let text = |item: &Value| item.as_str().unwrap_or_default().to_owned();
        self.items(name).map(text).collect()
    }

    /// `apiVersion`, or an empty string.
    fn api_version(&self) -> &str {
        self.string("apiVersion")
    }

    /// The kind that `apiVersion` and `kind` declare. Each part may be empty.
    fn declared_kind(&self) -> GroupVersionKind {
        GroupVersionKind::from_api_version_kind(self.api_version(), self.string("kind"))
    }

    /// The kind that `apiVersion` and `kind` declare; `None` if one of them is missing, empty, or not a string.
    fn complete_kind(&self) -> Option<GroupVersionKind> {
        let is_complete = !self.api_version().is_empty() && !self.string("kind").is_empty();
        is_complete.then(|| self.declared_kind())
    }

    /// `metadata`, if it is a map.
    fn metadata(&self) -> Option<&Map> {
        self.field("metadata")?.as_map()
    }

    /// A field of the metadata.
    fn metadata_field(&self, name: &str) -> Option<&Value> {
        self.metadata()?.get(name)
    }

    /// The string in a field of the metadata; empty if there is none.
    fn metadata_string(&self, name: &str) -> &str {
        let value = self.metadata_field(name).and_then(Value::as_str);
        value.unwrap_or_default()
    }

    /// `metadata.name`.
    fn name(&self) -> Option<&str> {
        self.metadata_field("name")?.as_str()
    }

    /// `metadata.namespace`.
    fn namespace(&self) -> Option<&str> {
        self.metadata_field("namespace")?.as_str()
    }

    /// `metadata.uid`.
    fn uid(&self) -> Option<&str> {
        self.metadata_field("uid")?.as_str()
    }

    /// `metadata.annotations`.
    fn annotations(&self) -> Option<&Map> {
        self.metadata_field("annotations")?.as_map()
    }

    /// `metadata.managedFields`, which may have any type.
    fn managed_fields(&self) -> Option<&Value> {
        self.metadata_field("managedFields")
    }
}

impl ObjectExt for Value {
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

impl ObjectExt for Map {
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}
