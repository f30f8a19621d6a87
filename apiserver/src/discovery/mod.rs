//! The documents by which clients find resources: `/api`, `/apis`, those of groups and versions, and the aggregated
//! ones.
//!
//! ```
//! use fieldmanager_apiserver::discovery::Discovery;
//! use fieldmanager_apiserver::facts;
//!
//! let discovery = Discovery::new(facts::resources().iter().cloned());
//! assert!(discovery.groups().starts_with(r#"{"kind":"APIGroupList","apiVersion":"v1","groups":["#));
//! assert!(discovery.resources("apps", "v1").unwrap().contains(r#""name":"deployments/scale""#));
//! assert!(discovery.resources("apps", "v7").is_none());
//! ```

mod documents;
mod order;

use fieldmanager_value::Str;
use serde::Serialize;
use sha2::{Digest, Sha512};

use crate::facts::ServedResource;
use documents::{
    AggregatedGroup, AggregatedGroups, AggregatedVersion, ApiVersions, Group, GroupVersion, Groups, Resource,
    Resources,
};

/// The resources of a server, as its discovery documents present them.
///
/// Documents are compact JSON without a line break at the end, byte by byte those of kube-apiserver.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// The core group first, then the others in the order of the documents.
    groups: Vec<ServedGroup>,
}

#[derive(Clone, Debug)]
struct ServedGroup {
    name: Str,
    /// The preferred version first.
    versions: Vec<ServedVersion>,
}

#[derive(Clone, Debug)]
struct ServedVersion {
    name: Str,
    resources: Vec<ServedResource>,
}

impl ServedGroup {
    /// Whether all resources of the group are custom.
    fn is_custom(&self) -> bool {
        self.versions.iter().flat_map(|version| &version.resources).all(|resource| resource.custom)
    }
}

/// A document with the hash of its content, for the header `ETag`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashed {
    /// The document.
    pub body: String,
    /// The hash, without quotes.
    pub etag: String,
}

impl Discovery {
    /// Arranges resources by group and version.
    ///
    /// Groups and versions that are built in have the order in which they are given. Other groups follow by name, and
    /// other versions by their precedence in Kubernetes: `v2`, `v1`, `v1beta1`, `v1alpha1`. Resources that are built in
    /// are in the given order, and custom ones follow by plural.
    pub fn new(resources: impl IntoIterator<Item = ServedResource>) -> Self {
        let mut groups: Vec<ServedGroup> = Vec::new();
        let (mut custom, builtin): (Vec<_>, Vec<_>) =
            resources.into_iter().partition(|resource: &ServedResource| resource.custom);
        custom.sort_by(order::custom_resources);
        for resource in builtin.into_iter().chain(custom) {
            let at = groups.iter().position(|group| group.name == resource.group);
            let group = match at.and_then(|at| groups.get_mut(at)) {
                Some(group) => group,
                None => push(&mut groups, ServedGroup { name: resource.group.clone(), versions: Vec::new() }),
            };
            let at = group.versions.iter().position(|version| version.name == resource.version);
            let version = match at.and_then(|at| group.versions.get_mut(at)) {
                Some(version) => version,
                None => push(
                    &mut group.versions,
                    ServedVersion { name: resource.version.clone(), resources: Vec::new() },
                ),
            };
            version.resources.push(resource);
        }
        Discovery { groups }
    }

    /// `/api`: the versions of the core group. `address` is the host and port under which clients reach the server.
    pub fn api(&self, address: &str) -> String {
        json(&ApiVersions::document(self.core().map(|version| version.name.as_str()).collect(), address))
    }

    /// `/apis`: all groups but the core group.
    pub fn groups(&self) -> String {
        let mut groups: Vec<&ServedGroup> = self.named().collect();
        // Groups of custom resources are sorted by the name of their first APIService, `VERSION.GROUP`.
        groups.sort_by_cached_key(|group| {
            let names = group.versions.iter().map(|version| format!("{}.{}", version.name, group.name));
            if group.is_custom() { names.min() } else { None }
        });
        json(&Groups::document(groups.into_iter().map(group).collect()))
    }

    /// `/apis/GROUP`: one group; `None` if it is not served.
    pub fn group(&self, name: &str) -> Option<String> {
        let found = self.named().find(|group| group.name == name)?;
        Some(json(&group(found).document()))
    }

    /// `/api/VERSION` and `/apis/GROUP/VERSION`: the resources of a version; the core group has an empty name. `None` if
    /// the version is not served.
    pub fn resources(&self, group: &str, version: &str) -> Option<String> {
        let served = self.groups.iter().find(|served| served.name == group)?;
        let served = served.versions.iter().find(|served| served.name == version)?;
        let group_version = group_version(group, version);
        let resources = served.resources.iter().flat_map(Resource::of_served).collect();
        Some(json(&Resources::document(group_version, resources)))
    }

    /// `/api` as `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.
    pub fn aggregated_api(&self) -> Hashed {
        aggregated(self.groups.iter().filter(|group| group.name.is_empty()))
    }

    /// `/apis` as `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.
    pub fn aggregated(&self) -> Hashed {
        aggregated(self.named())
    }

    fn core(&self) -> impl Iterator<Item = &ServedVersion> {
        self.groups.iter().filter(|group| group.name.is_empty()).flat_map(|group| &group.versions)
    }

    fn named(&self) -> impl Iterator<Item = &ServedGroup> {
        self.groups.iter().filter(|group| !group.name.is_empty())
    }
}

/// Appends an item and returns it.
fn push<T>(items: &mut Vec<T>, item: T) -> &mut T {
    items.push(item);
    let last = items.len() - 1;
    #[expect(clippy::indexing_slicing, reason = "the vector has the item that was appended")]
    &mut items[last]
}

fn group(served: &ServedGroup) -> Group<'_> {
    let versions: Vec<GroupVersion<'_>> = served
        .versions
        .iter()
        .map(|version| GroupVersion {
            group_version: group_version(&served.name, &version.name),
            version: &version.name,
        })
        .collect();
    Group { name: &served.name, preferred_version: versions.first().cloned(), versions }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn aggregated<'s>(groups: impl Iterator<Item = &'s ServedGroup>) -> Hashed {
    let groups =
        groups.map(|group| AggregatedGroup::new(&group.name, group.versions.iter().map(version).collect()));
    let groups = AggregatedGroups::new(groups.collect());
    // kube-apiserver hashes the list before it sets the kind.
    let etag = hash(json(&groups).as_bytes());
    Hashed { etag, body: json(&groups.document()) }
}

fn version(served: &ServedVersion) -> AggregatedVersion<'_> {
    AggregatedVersion::new(&served.name, &served.resources)
}

fn json(document: &impl Serialize) -> String {
    // Structs with string keys can always be written.
    serde_json::to_string(document).unwrap_or_default()
}

/// The hash of a document in its header `ETag` and in the paths of OpenAPI documents: SHA-512 as upper case hexadecimal
/// digits.
pub fn hash(document: &[u8]) -> String {
    use std::fmt::Write;
    Sha512::digest(document).iter().fold(String::with_capacity(128), |mut out, byte| {
        // A string takes every write.
        let _ = write!(out, "{byte:02X}");
        out
    })
}
