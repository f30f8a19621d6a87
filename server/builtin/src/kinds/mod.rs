//! The built-in kinds: their recorded facts, and the descriptions of what is not recorded.

mod access;
mod core;
mod description;
mod families;
mod network;
mod recorded;
mod resource;
mod scheduling;
mod server;
mod storage;
mod workloads;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

pub use self::description::{CountsEmpty, DerivedLabel, KindDescription, Review, StoredForm};
pub(crate) use self::description::{MetadataChecks, NameFaults};
pub(crate) use self::families::rules;
use self::recorded::RecordedKind;
pub use self::resource::{Column, ResourceFacts, SubresourceFacts};
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
pub struct Kind(&'static RecordedKind);

impl KindDescription {
    /// The description of a kind; that of a kind with nothing of its own if it is not built in.
    pub fn find(kind: &GroupVersionKind) -> &'static KindDescription {
        static OTHER: KindDescription = KindDescription::of("", &[], "");
        Kind::of(kind).map_or(&OTHER, |kind| kind.description())
    }
}

impl Kind {
    /// The columns of tables of the objects; none if a kind has no lists.
    pub fn columns(self) -> &'static [Column] {
        let GroupVersionKind {
            group,
            version,
            kind,
        } = self.gvk();
        recorded::columns()
            .get(&format!("{group}/{version}/{kind}"))
            .map_or(&[], Vec::as_slice)
    }

    /// The facts of a kind; `None` if it is not built in.
    ///
    /// Besides the kinds of resources there are those of subresources, such as `autoscaling/v1` `Scale`, and
    /// `DeleteOptions`, `Status` and `PartialObjectMetadata` of `meta.k8s.io/v1`.
    pub fn of(kind: &GroupVersionKind) -> Option<Kind> {
        let table = recorded::table();
        table.kinds.get(*table.positions.get(kind)?).map(Kind)
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
        let own = self.description();
        Kind::all().filter(move |other| {
            let other = other.description();
            other.kind == own.kind && other.internal_group() == own.internal_group()
        })
    }

    /// The description of the kind.
    pub fn description(&self) -> &'static KindDescription {
        self.0.description
    }

    /// The resource whose objects are of the kind; `None` for kinds of subresources and options.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_structural::GroupVersionKind;
    ///
    /// let scaler = GroupVersionKind::new("autoscaling", "v1", "HorizontalPodAutoscaler");
    /// let resource = Kind::of(&scaler).unwrap().resource().unwrap();
    /// assert_eq!((resource.plural.as_str(), resource.storage_version.as_deref()), ("horizontalpodautoscalers", Some("v2")));
    /// assert!(resource.namespaced && !resource.allows_create_on_update && resource.allows_unconditional_update);
    /// ```
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

impl ResourceFacts {
    /// The built-in resources that are served, in the order of discovery documents: by group, version and plural.
    ///
    /// ```
    /// use fieldmanager_builtin::ResourceFacts;
    /// let deployments = ResourceFacts::served().find(|resource| resource.plural == "deployments").unwrap();
    /// assert_eq!((deployments.group.as_str(), deployments.kind.as_str()), ("apps", "Deployment"));
    /// assert_eq!(deployments.short_names, ["deploy"]);
    /// ```
    pub fn served() -> impl Iterator<Item = &'static ResourceFacts> {
        let served = recorded::table().served.iter();
        served.filter_map(|kind| Kind::of(kind)?.resource())
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
        format!(
            "{0} in version {1:?} cannot be handled as a {0}: {self}",
            gvk.kind,
            gvk.version.as_str()
        )
    }
}

fn kinds() -> &'static [RecordedKind] {
    &recorded::table().kinds
}

/// A type that conversions need besides those of kinds.
pub(crate) fn part(name: &str) -> Option<TypeId> {
    recorded::table().parts.get(name).copied()
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
        rules().read_all().unwrap();
    }

    #[test]
    fn every_description_is_of_kinds() {
        for description in KindDescription::all() {
            for version in description.versions {
                let kind = GroupVersionKind::new(description.group, *version, description.kind);
                let found = Kind::of(&kind).map(|kind| kind.description());
                assert!(
                    found.is_some_and(|found| std::ptr::eq(found, description)),
                    "{kind}"
                );
            }
        }
    }

    #[test]
    fn labels_of_field_selectors_are_those_that_kube_apiserver_accepts() {
        let file = flate2::read::GzDecoder::new(&include_bytes!("../data/resources.json.gz")[..]);
        let recorded: Vec<serde_json::Value> = serde_json::from_reader(file).unwrap();
        assert_eq!(recorded.len(), ResourceFacts::served().count());
        for (resource, recorded) in ResourceFacts::served().zip(recorded) {
            let accepted = recorded["labels"].as_array().into_iter().flatten();
            let accepted: Vec<&str> = accepted.filter_map(serde_json::Value::as_str).collect();
            let kind = KindDescription::find(&resource.group_version_kind());
            let derived = kind.derived_labels.iter().map(|derived| derived.label);
            let mut labels: Vec<&str> = kind.labels.iter().copied().chain(derived).collect();
            labels.sort_unstable();
            assert!(accepted.is_empty() || labels == accepted, "{}", kind.kind);
        }
    }

    #[test]
    fn rules_are_of_kinds() {
        for name in rules().kinds() {
            let (api_version, kind) = name.rsplit_once('/').unwrap();
            let kind = GroupVersionKind::from_api_version_kind(api_version, kind);
            assert!(Kind::of(&kind).is_some(), "{name}");
        }
    }

    #[test]
    fn every_served_kind_has_rules() {
        for resource in ResourceFacts::served() {
            let kind = resource.group_version_kind();
            let object = Value::Map(Default::default());
            for used_for in ["defaults", "create", "update"] {
                let applied = rules().apply(&kind, used_for, &object, None, None);
                assert!(applied.is_some(), "{kind}: {used_for}");
            }

            // Without rules, an update of the status would write the spec.
            if resource.subresource("status").is_some() {
                let applied = rules().apply(&kind, "status", &object, None, None);
                assert!(applied.is_some(), "{kind}: status");
            }
        }
    }
}
