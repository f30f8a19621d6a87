//! The documents by which clients find resources: `/api`, `/apis`, those of groups and versions, and the aggregated
//! ones.

mod documents;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use fieldmanager_structural::internal::compare_versions;
use fieldmanager_value::Str;
use indexmap::IndexMap;
use sha2::{Digest, Sha512};

use crate::facts::ResourceFacts;
use documents::{ServedGroup, aggregated_group, group, group_version, list, object, text};

/// The resources of a server, as its discovery documents present them.
///
/// Documents are compact JSON without a line break at the end, byte by byte those of kube-apiserver.
#[derive(Clone, Debug)]
pub(crate) struct Discovery {
    /// The core group first, then the others in the order of the documents.
    groups: IndexMap<Str, ServedGroup>,
}

/// A document with the hash of its content, for the header `ETag` and the parameter `hash`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The document.
    pub(crate) body: Bytes,
    /// The hash, without quotes.
    pub(crate) etag: String,
}

impl Document {
    /// A document with its own hash.
    pub(crate) fn new(body: impl Into<Bytes>) -> Self {
        let body = body.into();
        Document {
            etag: hash(&body),
            body,
        }
    }
}

impl Discovery {
    /// Arranges resources by group and version.
    ///
    /// Groups and versions that are built in have the order in which they are given. Other groups follow by name, and
    /// other versions by their precedence in Kubernetes: `v2`, `v1`, `v1beta1`, `v1alpha1`. Resources that are built in
    /// are in the given order, and custom ones follow by plural.
    pub(crate) fn new(resources: impl IntoIterator<Item = ResourceFacts>) -> Self {
        let (mut custom, builtin): (Vec<_>, Vec<_>) = resources
            .into_iter()
            .partition(|resource: &ResourceFacts| resource.custom);
        custom.sort_by(|a, b| {
            let groups = a.group.cmp(&b.group);
            // The preferred version is the greatest.
            let versions = groups.then_with(|| compare_versions(&b.version, &a.version));
            versions.then_with(|| a.plural.cmp(&b.plural))
        });
        let mut groups: IndexMap<Str, ServedGroup> = IndexMap::new();

        for resource in builtin.into_iter().chain(custom) {
            let group = groups.entry(resource.group.clone()).or_default();
            let version = group.entry(resource.version.clone()).or_default();
            version.push(resource);
        }
        Discovery { groups }
    }

    /// `/api`: the versions of the core group. `address` is the host and port under which clients reach the server.
    pub(crate) fn api(&self, address: &str) -> String {
        let versions = self.groups.get("").into_iter().flat_map(IndexMap::keys);
        let address = object([
            ("clientCIDR", text("0.0.0.0/0")),
            ("serverAddress", text(address)),
        ]);
        object([
            ("kind", text("APIVersions")),
            ("versions", list(versions.map(|version| text(version)))),
            ("serverAddressByClientCIDRs", list([address])),
        ])
    }

    /// `/apis`: all groups but the core group.
    pub(crate) fn groups(&self) -> String {
        let mut groups: Vec<(&Str, &ServedGroup)> = self.named().collect();
        // Groups of custom resources are sorted by the name of their first APIService, `VERSION.GROUP`.
        groups.sort_by_cached_key(|(name, group)| {
            let is_custom = group.values().flatten().all(|resource| resource.custom);
            let services = group.keys().map(|version| format!("{version}.{name}"));
            services.min().filter(|_| is_custom)
        });
        let groups = groups.into_iter();

        object([
            ("kind", text("APIGroupList")),
            ("apiVersion", text("v1")),
            (
                "groups",
                list(groups.map(|(name, served)| group(name, served, "", ""))),
            ),
        ])
    }

    /// `/apis/GROUP`: one group; `None` if it is not served.
    pub(crate) fn group(&self, name: &str) -> Option<String> {
        let (name, served) = self.named().find(|(own, _)| *own == name)?;
        Some(group(name, served, "APIGroup", "v1"))
    }

    /// `/api/VERSION` and `/apis/GROUP/VERSION`: the resources of a version; the core group has an empty name. `None` if
    /// the version is not served.
    pub(crate) fn resources(&self, group: &str, version: &str) -> Option<String> {
        let resources = self.groups.get(group)?.get(version)?;
        // The list of the core group has no apiVersion.
        let api_version = match group {
            "" => String::new(),
            _ => text("v1"),
        };
        let resources = resources.iter().flat_map(documents::resources);

        Some(object([
            ("kind", text("APIResourceList")),
            ("apiVersion", api_version),
            ("groupVersion", text(&group_version(group, version))),
            ("resources", list(resources)),
        ]))
    }

    /// `/api` as `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.
    pub(crate) fn aggregated_api(&self) -> Document {
        aggregated(self.groups.iter().filter(|(name, _)| name.is_empty()))
    }

    /// `/apis` as `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.
    pub(crate) fn aggregated(&self) -> Document {
        aggregated(self.named())
    }

    fn named(&self) -> impl Iterator<Item = (&Str, &ServedGroup)> {
        self.groups.iter().filter(|(name, _)| !name.is_empty())
    }
}

fn aggregated<'s>(groups: impl Iterator<Item = (&'s Str, &'s ServedGroup)>) -> Document {
    let items = list(groups.map(|(name, served)| aggregated_group(name, served)));
    // kube-apiserver hashes the list before it sets the kind.
    let hashed = object([("metadata", object([])), ("items", items.clone())]);
    let document = object([
        ("kind", text("APIGroupDiscoveryList")),
        ("apiVersion", text("apidiscovery.k8s.io/v2")),
        ("metadata", object([])),
        ("items", items),
    ]);

    Document {
        etag: hash(hashed.as_bytes()),
        body: document.into(),
    }
}

/// The hash of a document in its header `ETag` and in the paths of OpenAPI documents: SHA-512 as upper case hexadecimal
/// digits.
pub(crate) fn hash(document: &[u8]) -> String {
    let digest = Sha512::digest(document);
    digest.iter().map(|byte| format!("{byte:02X}")).collect()
}
