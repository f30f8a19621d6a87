//! The built-in kinds and their resources.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::internal::embedded;
use fieldmanager_value::{Str, Value};
use serde::Deserialize;

use crate::DecodeError;
use crate::decode::{self, Decoded};
use crate::types::{TypeId, types};

/// The facts of one built-in kind at one version: those of kube-apiserver 1.37.
///
/// ```
/// use fieldmanager_builtin::Kind;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let kind = Kind::of(&GroupVersionKind::new("", "v1", "ConfigMap")).unwrap();
/// let object = Value::from_json(r#"{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": null}, "color": "red"}"#)?;
/// let decoded = kind.decode(&object)?;
/// assert_eq!(decoded.object.to_json(), r#"{"apiVersion":"v1","data":{"a":""},"kind":"ConfigMap","metadata":{}}"#);
/// assert_eq!(decoded.unknown, ["color"]);
/// assert!(Kind::of(&GroupVersionKind::new("example.com", "v1", "Shop")).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Kind(&'static Entry);

/// A kind of the table.
#[derive(Debug)]
struct Entry {
    gvk: GroupVersionKind,
    ty: TypeId,
    /// The resource whose objects are of the kind.
    resource: Option<ResourceFacts>,
}

/// What kube-apiserver knows of a resource at a version, besides what discovery documents say.
///
/// ```
/// use fieldmanager_builtin::Kind;
/// use fieldmanager_structural::GroupVersionKind;
///
/// let scaler = GroupVersionKind::new("autoscaling", "v1", "HorizontalPodAutoscaler");
/// let resource = Kind::of(&scaler).unwrap().resource().unwrap();
/// assert_eq!((resource.plural.as_str(), resource.storage_version.as_deref()), ("horizontalpodautoscalers", Some("v2")));
/// assert!(resource.is_namespaced && !resource.allows_create_on_update && resource.allows_unconditional_update);
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceFacts {
    /// The name in paths: `deployments`.
    pub plural: Str,
    /// Whether the objects are in namespaces.
    #[serde(default, rename = "namespaced")]
    pub is_namespaced: bool,
    /// The version at which objects are stored; `None` if none are stored, as for reviews of access.
    #[serde(default, rename = "storage")]
    pub storage_version: Option<Str>,
    /// Whether an update of a missing object creates it.
    #[serde(default, rename = "createOnUpdate")]
    pub allows_create_on_update: bool,
    /// Whether an update without `metadata.resourceVersion` is accepted.
    #[serde(default, rename = "unconditionalUpdate")]
    pub allows_unconditional_update: bool,
    #[serde(default)]
    pub(crate) subresources: Vec<Subresource>,
    #[serde(default)]
    pub(crate) reset: Reset,
}

/// The paths of fields that are reset, by version.
pub(crate) type Reset = BTreeMap<Str, Vec<String>>;

impl ResourceFacts {
    /// Whether the resource has a subresource of a name.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_structural::GroupVersionKind;
    /// let pod = Kind::of(&GroupVersionKind::new("", "v1", "Pod")).unwrap();
    /// assert!(pod.resource().unwrap().has_subresource("eviction"));
    /// ```
    pub fn has_subresource(&self, name: &str) -> bool {
        self.subresources.iter().any(|subresource| subresource.name == name)
    }

    /// The fields that the registry of the resource resets, or that of a subresource.
    pub(crate) fn reset(&self, subresource: &str) -> Option<&Reset> {
        match subresource {
            "" => Some(&self.reset),
            name => self.subresources.iter().find(|found| found.name == name).map(|found| &found.reset),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Subresource {
    /// The name in paths: `status`.
    name: Str,
    #[serde(default)]
    pub(crate) reset: Reset,
}

impl Kind {
    /// The facts of a kind; `None` if it is not built in.
    ///
    /// Besides the kinds of resources there are those of subresources, such as `autoscaling/v1` `Scale`, and
    /// `DeleteOptions`, `Status` and `PartialObjectMetadata` of `meta.k8s.io/v1`.
    pub fn of(kind: &GroupVersionKind) -> Option<Kind> {
        let at = kinds().binary_search_by(|entry| entry.gvk.cmp(kind)).ok()?;
        kinds().get(at).map(Kind)
    }

    /// All built-in kinds, sorted by group, version and kind.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// assert!(Kind::all().any(|kind| kind.gvk().kind == "Deployment"));
    /// ```
    pub fn all() -> impl Iterator<Item = Kind> {
        kinds().iter().map(Kind)
    }

    /// The group, version and kind.
    pub fn gvk(&self) -> &'static GroupVersionKind {
        &self.0.gvk
    }

    /// The versions of the kind in its group, sorted by name, this one included. An `Event` of the core group and one of
    /// `events.k8s.io` are versions of each other.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_structural::GroupVersionKind;
    /// let scaler = GroupVersionKind::new("autoscaling", "v2", "HorizontalPodAutoscaler");
    /// let versions = Kind::of(&scaler).unwrap().versions().map(|kind| kind.gvk().version.as_str());
    /// assert_eq!(versions.collect::<Vec<_>>(), ["v1", "v2"]);
    /// ```
    pub fn versions(&self) -> impl Iterator<Item = Kind> + use<> {
        let gvk = self.gvk();
        let is_event =
            |of: &GroupVersionKind| of.kind == "Event" && ["", "events.k8s.io"].contains(&of.group.as_str());
        Kind::all().filter(move |other| {
            let other = other.gvk();
            other.group == gvk.group && other.kind == gvk.kind || is_event(gvk) && is_event(other)
        })
    }

    /// The resource whose objects are of the kind; `None` for kinds of subresources and options.
    pub fn resource(&self) -> Option<&'static ResourceFacts> {
        self.0.resource.as_ref()
    }

    pub(crate) fn ty(&self) -> TypeId {
        self.0.ty
    }

    /// Decodes an object into the Go type of the kind and encodes it again, as kube-apiserver does with the body of a
    /// request before it sets defaults.
    ///
    /// Fields that the type lacks are dropped and listed. Members that Go omits (null, empty and zero values of most
    /// fields) vanish, and those that it writes always appear, such as `metadata` and `status`. Quantities, times and
    /// base64 become canonical. Unchanged parts are shared with the object, and nothing is allocated if nothing changes.
    ///
    /// The value of a number is known and its digits are not: a message about `1e3` has `1000.0`, and the quantity `1e3`
    /// without quotes becomes `1k`. Of several values of wrong types, that with the smallest path is reported: Go
    /// reports the first in the document.
    ///
    /// # Errors
    ///
    /// If a value does not fit its Go type.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_structural::GroupVersionKind;
    /// use fieldmanager_value::Value;
    ///
    /// let kind = Kind::of(&GroupVersionKind::new("", "v1", "ResourceQuota")).unwrap();
    /// let object = Value::from_json(r#"{"spec": {"hard": {"cpu": 0.5, "memory": "1024Mi"}, "soft": {}}}"#)?;
    /// let decoded = kind.decode(&object)?;
    /// let hard = decoded.object.get("spec").and_then(|spec| spec.get("hard"));
    /// assert_eq!(hard.unwrap().to_json(), r#"{"cpu":"500m","memory":"1Gi"}"#);
    /// assert_eq!(decoded.unknown, ["spec.soft"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(&self, object: &Value) -> Result<Decoded, DecodeError> {
        Ok(decode::decode(types(), self.ty(), object)?)
    }

    /// Converts an object that a patch made into the Go type of the kind and encodes it, as kube-apiserver does with the
    /// result of a strategic merge patch or an apply.
    ///
    /// This is like [`decode`](Kind::decode), with these differences: an integer that exceeds its type loses its upper
    /// bits, a float that is whole is an integer, all unknown fields are listed, sorted, and without the keys of maps
    /// on their paths, and errors name no field.
    ///
    /// # Errors
    ///
    /// If a value does not fit its Go type: the first in the order of the declarations of fields.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_structural::GroupVersionKind;
    /// use fieldmanager_value::Value;
    ///
    /// let kind = Kind::of(&GroupVersionKind::new("apps", "v1", "Deployment")).unwrap();
    /// let error = kind.from_unstructured(&Value::from_json(r#"{"spec": {"replicas": "two"}}"#)?).unwrap_err();
    /// assert_eq!(error.to_string(), "unrecognized type: int32");
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn from_unstructured(&self, object: &Value) -> Result<Decoded, DecodeError> {
        Ok(decode::from_unstructured(types(), self.ty(), object)?)
    }

    /// The object that Go writes for a value of the kind in which nothing is set; it has neither `apiVersion` nor `kind`.
    ///
    /// This is the live object to which kube-apiserver compares a created object.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_structural::GroupVersionKind;
    /// let policy = Kind::of(&GroupVersionKind::new("networking.k8s.io", "v1", "NetworkPolicy")).unwrap();
    /// assert_eq!(policy.zero().to_json(), r#"{"metadata":{},"spec":{"podSelector":{}}}"#);
    /// ```
    pub fn zero(&self) -> Value {
        types().zero(self.ty())
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Kind {}

impl DecodeError {
    /// The message of the status with which kube-apiserver answers a request that contains such an object.
    pub fn message(&self, kind: &Kind) -> String {
        let gvk = kind.gvk();
        format!("{0} in version {1:?} cannot be handled as a {0}: {self}", gvk.kind, gvk.version.as_str())
    }
}

#[derive(Deserialize)]
struct RawKinds {
    kinds: Vec<RawKind>,
    resources: Vec<RawResource>,
    parts: BTreeMap<String, TypeId>,
}

#[derive(Deserialize)]
struct RawKind {
    #[serde(default)]
    group: Str,
    version: Str,
    kind: Str,
    #[serde(rename = "type")]
    ty: TypeId,
}

#[derive(Deserialize)]
struct RawResource {
    #[serde(default)]
    group: Str,
    version: Str,
    kind: Str,
    #[serde(flatten)]
    facts: ResourceFacts,
}

/// The kinds, and other types by name.
#[derive(Debug, Default)]
struct Table {
    kinds: Vec<Entry>,
    parts: BTreeMap<String, TypeId>,
}

fn table() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| embedded("kinds", load(include_str!("data/kinds.json"))));
    &TABLE
}

fn kinds() -> &'static [Entry] {
    &table().kinds
}

/// A type that conversions need besides those of kinds.
pub(crate) fn part(name: &str) -> Option<TypeId> {
    table().parts.get(name).copied()
}

fn load(text: &str) -> serde_json::Result<Table> {
    let raw: RawKinds = serde_json::from_str(text)?;
    let mut resources: BTreeMap<GroupVersionKind, ResourceFacts> = BTreeMap::new();
    for RawResource { group, version, kind, facts } in raw.resources {
        resources.insert(GroupVersionKind { group, version, kind }, facts);
    }
    let entries = raw.kinds.into_iter().map(|RawKind { group, version, kind, ty }| {
        let gvk = GroupVersionKind { group, version, kind };
        Entry { resource: resources.remove(&gvk), gvk, ty }
    });
    Ok(Table { kinds: entries.collect(), parts: raw.parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_completely() {
        assert!(kinds().len() > 100);
        assert!(kinds().is_sorted_by(|a, b| a.gvk < b.gvk));
        for kind in Kind::all() {
            assert_eq!(Kind::of(kind.gvk()), Some(kind));
            assert!(kind.zero().as_map().is_some(), "{}", kind.gvk());
        }
    }
}
