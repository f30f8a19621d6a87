//! Resources, as clients find them in discovery documents and as requests treat them.

use std::collections::BTreeMap;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Str;
use serde::Deserialize;

/// The paths of fields that requests cannot set, by version.
pub(crate) type ResetFields = BTreeMap<Str, Vec<String>>;

/// A resource at one version, built in or of a CustomResourceDefinition.
///
/// ```
/// use fieldmanager_builtin::ResourceFacts;
/// let shops = ResourceFacts {
///     group: "example.com".into(),
///     version: "v1".into(),
///     kind: "Shop".into(),
///     list_kind: "ShopList".into(),
///     plural: "shops".into(),
///     singular: "shop".into(),
///     namespaced: true,
///     verbs: ["get", "list"].map(Into::into).to_vec(),
///     ..ResourceFacts::default()
/// };
/// assert_eq!(shops.group_version(), "example.com/v1");
/// assert_eq!(shops.path(), "apis/example.com/v1");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceFacts {
    /// The group; empty for the core group.
    pub group: Str,
    /// The version in the group.
    pub version: Str,
    /// The kind of the objects.
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
    /// The verbs that the resource supports, in the order of discovery documents; none if it is not served by default.
    pub verbs: Vec<Str>,
    /// The subresources, in the order of discovery documents.
    pub subresources: Vec<SubresourceFacts>,
    /// A hash of the kind that is stored, or an empty string if nothing is stored.
    pub storage_version_hash: Str,
    /// Whether a CustomResourceDefinition defines the resource. Discovery documents differ in details.
    #[serde(skip)]
    pub custom: bool,
    /// The version at which objects of a built-in kind are stored; `None` if none are stored, as for reviews of access.
    #[serde(rename = "storage")]
    pub storage_version: Option<Str>,
    /// Whether an update of a missing object of a built-in kind creates it.
    #[serde(rename = "createOnUpdate")]
    pub allows_create_on_update: bool,
    /// Whether an update without `metadata.resourceVersion` is accepted.
    #[serde(rename = "unconditionalUpdate")]
    pub allows_unconditional_update: bool,
    /// The paths of fields of a built-in kind that requests cannot set, by version.
    pub reset: BTreeMap<Str, Vec<String>>,
}

/// A subresource of a [`ResourceFacts`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "RecordedSubresource")]
pub struct SubresourceFacts {
    /// The name after the name of the object in paths, such as `status`.
    pub name: Str,
    /// The kind of its requests and responses, such as `autoscaling/v1, Kind=Scale`. Its group and version are always
    /// set.
    pub kind: GroupVersionKind,
    /// The verbs that the subresource supports, in the order of discovery documents.
    pub verbs: Vec<Str>,
    /// The paths of fields of a built-in kind that requests cannot set, by version.
    pub reset: BTreeMap<Str, Vec<String>>,
}

/// A subresource in either recording.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RecordedSubresource {
    name: Str,
    group: Str,
    version: Str,
    kind: Str,
    verbs: Vec<Str>,
    reset: ResetFields,
}

impl From<RecordedSubresource> for SubresourceFacts {
    fn from(found: RecordedSubresource) -> Self {
        SubresourceFacts {
            name: found.name,
            kind: GroupVersionKind::new(found.group, found.version, found.kind),
            verbs: found.verbs,
            reset: found.reset,
        }
    }
}

/// A column of a table of objects.
///
/// Columns of built-in kinds are recorded; those of custom resources are made of `additionalPrinterColumns`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Column {
    /// The heading.
    pub name: Str,
    /// The OpenAPI type of the cells: `string`, `integer`, `number`, `boolean`, `date`.
    #[serde(rename = "type")]
    pub kind: Str,
    /// The OpenAPI format of the cells, or an empty string; `name` marks the column with the names of the objects.
    pub format: Str,
    /// A description for people.
    pub description: Str,
    /// 0 for the columns that are always shown; greater than 0 for those of wide output.
    pub priority: i32,
}

impl ResourceFacts {
    /// The facts of both recordings: discovery documents, in which a kind of a subresource without a version is of that
    /// of the resource, and Go sources.
    pub(super) fn with_sources(mut self, sources: ResourceFacts) -> Self {
        // A subresource has the version of its resource unless discovery names another, as for `scale`.
        for subresource in &mut self.subresources {
            if subresource.kind.version.is_empty() {
                subresource.kind.group = self.group.clone();
                subresource.kind.version = self.version.clone();
            }
            if let Some(source) = sources.subresource(&subresource.name) {
                subresource.reset = source.reset.clone();
            }
        }

        ResourceFacts {
            storage_version: sources.storage_version,
            allows_create_on_update: sources.allows_create_on_update,
            allows_unconditional_update: sources.allows_unconditional_update,
            reset: sources.reset,
            ..self
        }
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
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_structural::GroupVersionKind;
    /// let pod = Kind::of(&GroupVersionKind::new("", "v1", "Pod")).unwrap();
    /// assert!(pod.resource().unwrap().subresource("eviction").is_some());
    /// ```
    pub fn subresource(&self, name: &str) -> Option<&SubresourceFacts> {
        let mut subresources = self.subresources.iter();
        subresources.find(|subresource| subresource.name == name)
    }

    /// Whether the resource supports a verb.
    pub fn supports(&self, verb: &str) -> bool {
        self.verbs.iter().any(|supported| supported == verb)
    }

    /// The fields that requests to the resource, or to a subresource, cannot set.
    pub(crate) fn reset(&self, subresource: &str) -> Option<&ResetFields> {
        match subresource {
            "" => Some(&self.reset),
            name => self.subresource(name).map(|found| &found.reset),
        }
    }
}
