//! Resources as clients find them in discovery documents.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::{CrdError, CustomResource, Scope};
use fieldmanager_value::Str;
use sha2::{Digest, Sha256};

/// The verbs of custom resources and of their subresources, in the order of discovery documents.
const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// A resource that a server serves at one version, built in or of a CustomResourceDefinition.
///
/// ```
/// use fieldmanager_apiserver::facts::ServedResource;
/// let shops = ServedResource {
///     group: "example.com".into(),
///     version: "v1".into(),
///     kind: "Shop".into(),
///     list_kind: "ShopList".into(),
///     plural: "shops".into(),
///     singular: "shop".into(),
///     namespaced: true,
///     verbs: ["get", "list"].map(Into::into).to_vec(),
///     ..ServedResource::default()
/// };
/// assert_eq!(shops.group_version(), "example.com/v1");
/// assert_eq!(shops.path(), "apis/example.com/v1");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedResource {
    /// The group; empty for the core group.
    pub group: Str,
    /// The version in the group.
    pub version: Str,
    /// The kind of the objects; empty if only subresources are served.
    pub kind: Str,
    /// The kind of lists of the objects.
    pub list_kind: Str,
    /// The name of the resource in paths.
    pub plural: Str,
    /// The name of one object for people, such as `deployment`.
    pub singular: Str,
    /// Abbreviations that clients accept for the plural.
    pub short_names: Vec<Str>,
    /// Names that clients accept for several resources, such as `all`.
    pub categories: Vec<Str>,
    /// Whether objects are in namespaces.
    pub namespaced: bool,
    /// The verbs that the resource supports, in the order of discovery documents.
    pub verbs: Vec<Str>,
    /// The subresources, in the order of discovery documents.
    pub subresources: Vec<ServedSubresource>,
    /// A hash of the kind that is stored, or an empty string if nothing is stored.
    pub storage_version_hash: Str,
    /// Whether a CustomResourceDefinition defines the resource. Discovery documents differ in details.
    pub custom: bool,
}

/// A subresource of a [`ServedResource`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedSubresource {
    /// The name after the name of the object in paths, such as `status`.
    pub name: Str,
    /// The kind of its requests and responses, such as `autoscaling/v1, Kind=Scale`. Its group and version are always
    /// set.
    pub kind: GroupVersionKind,
    /// The verbs that the subresource supports, in the order of discovery documents.
    pub verbs: Vec<Str>,
}

impl ServedResource {
    /// The resource of a CustomResourceDefinition at a version.
    ///
    /// # Errors
    ///
    /// [`CrdError::UnknownVersion`].
    ///
    /// ```
    /// use fieldmanager_apiserver::facts::ServedResource;
    /// use fieldmanager_structural::crd::CustomResource;
    /// use fieldmanager_value::Value;
    /// let definition = CustomResource::from_value(&Value::from_yaml("
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// spec:
    ///   group: example.com
    ///   names: {kind: Shop, plural: shops}
    ///   scope: Namespaced
    ///   versions:
    ///   - {name: v1, served: true, storage: true, subresources: {status: {}}}
    /// ")?)?;
    /// let shops = ServedResource::of_definition(&definition, "v1")?;
    /// assert!(shops.custom && shops.namespaced && shops.supports("watch"));
    /// assert!(shops.subresource("status").is_some() && shops.subresource("scale").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_definition(definition: &CustomResource, version: &str) -> Result<Self, CrdError> {
        let served = definition.version(version)?;
        let names = &definition.names;
        let subresource = |name: &str, kind| ServedSubresource {
            name: name.into(),
            kind,
            verbs: SUBRESOURCE_VERBS.map(Str::from).to_vec(),
        };
        let status = served.status.then(|| subresource("status", definition.kind(version)));
        let scale = GroupVersionKind::new("autoscaling", "v1", "Scale");
        let scale = served.scale.is_some().then(|| subresource("scale", scale));
        let stored = definition.versions.iter().find(|version| version.storage && version.served);
        let stored = stored.map(|version| storage_version_hash(&definition.kind(&version.name)));
        Ok(ServedResource {
            group: definition.group.clone(),
            version: version.into(),
            kind: names.kind.clone(),
            list_kind: names.list_kind.clone(),
            plural: names.plural.clone(),
            singular: names.singular.clone(),
            short_names: names.short_names.clone(),
            categories: names.categories.clone(),
            namespaced: definition.scope == Scope::Namespaced,
            verbs: CUSTOM_VERBS.map(Str::from).to_vec(),
            subresources: status.into_iter().chain(scale).collect(),
            storage_version_hash: stored.unwrap_or_default().into(),
            custom: true,
        })
    }

    /// The kind of the objects.
    pub fn group_version_kind(&self) -> GroupVersionKind {
        GroupVersionKind::new(self.group.clone(), self.version.clone(), self.kind.clone())
    }

    /// The `apiVersion` of the objects: `v1`, `apps/v1`.
    pub fn group_version(&self) -> Str {
        self.group_version_kind().api_version()
    }

    /// The path of the group and version, without a slash at the start: `api/v1`, `apis/apps/v1`.
    pub fn path(&self) -> String {
        if self.group.is_empty() {
            format!("api/{}", self.version)
        } else {
            format!("apis/{}/{}", self.group, self.version)
        }
    }

    /// The subresource of a name.
    pub fn subresource(&self, name: &str) -> Option<&ServedSubresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// Whether the resource supports a verb.
    pub fn supports(&self, verb: &str) -> bool {
        self.verbs.iter().any(|supported| supported == verb)
    }
}

/// The hash of a kind at the version at which its objects are stored, by which clients notice that both changed.
///
/// ```
/// use fieldmanager_apiserver::facts::storage_version_hash;
/// use fieldmanager_structural::GroupVersionKind;
/// assert_eq!(storage_version_hash(&GroupVersionKind::new("", "v1", "ConfigMap")), "qFsyl6wFWjQ=");
/// ```
pub fn storage_version_hash(kind: &GroupVersionKind) -> String {
    let digest = Sha256::digest(format!("{}/{}/{}", kind.group, kind.version, kind.kind));
    BASE64_STANDARD.encode(digest.get(..8).unwrap_or_default())
}
