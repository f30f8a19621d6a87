//! Discovery documents as they are serialized; the order of the members is that of kube-apiserver.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Str;
use serde::Serialize;

use crate::facts::{ServedResource, ServedSubresource};

/// An object with its kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Typed<T> {
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) api_version: Option<&'static str>,
    #[serde(flatten)]
    pub(super) content: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiVersions<'s> {
    versions: Vec<&'s str>,
    #[serde(rename = "serverAddressByClientCIDRs")]
    addresses: [Address<'s>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Address<'s> {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: &'s str,
}

impl<'s> ApiVersions<'s> {
    pub(super) fn document(versions: Vec<&'s str>, address: &'s str) -> Typed<Self> {
        let addresses = [Address { client_cidr: "0.0.0.0/0", server_address: address }];
        Typed { kind: "APIVersions", api_version: None, content: ApiVersions { versions, addresses } }
    }
}

#[derive(Serialize)]
pub(super) struct Groups<'s> {
    groups: Vec<Group<'s>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Group<'s> {
    pub(super) name: &'s str,
    pub(super) versions: Vec<GroupVersion<'s>>,
    pub(super) preferred_version: Option<GroupVersion<'s>>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupVersion<'s> {
    pub(super) group_version: String,
    pub(super) version: &'s str,
}

impl<'s> Groups<'s> {
    pub(super) fn document(groups: Vec<Group<'s>>) -> Typed<Self> {
        Typed { kind: "APIGroupList", api_version: Some("v1"), content: Groups { groups } }
    }
}

impl<'s> Group<'s> {
    pub(super) fn document(self) -> Typed<Self> {
        Typed { kind: "APIGroup", api_version: Some("v1"), content: self }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resources<'s> {
    group_version: String,
    resources: Vec<Resource<'s>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource<'s> {
    name: String,
    singular_name: &'s str,
    namespaced: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'s str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'s str,
    kind: &'s str,
    verbs: &'s [Str],
    #[serde(skip_serializing_if = "<[Str]>::is_empty")]
    short_names: &'s [Str],
    #[serde(skip_serializing_if = "<[Str]>::is_empty")]
    categories: &'s [Str],
    #[serde(skip_serializing_if = "str::is_empty")]
    storage_version_hash: &'s str,
}

impl<'s> Resources<'s> {
    pub(super) fn document(group_version: String, resources: Vec<Resource<'s>>) -> Typed<Self> {
        // The list of the core group has no apiVersion.
        let api_version = group_version.contains('/').then_some("v1");
        Typed { kind: "APIResourceList", api_version, content: Resources { group_version, resources } }
    }
}

impl<'s> Resource<'s> {
    /// The entries of a resource and its subresources.
    pub(super) fn of_served(served: &'s ServedResource) -> impl Iterator<Item = Self> {
        let resource = Resource {
            name: served.plural.to_string(),
            singular_name: &served.singular,
            namespaced: served.namespaced,
            group: "",
            version: "",
            kind: &served.kind,
            verbs: &served.verbs,
            short_names: &served.short_names,
            categories: &served.categories,
            storage_version_hash: &served.storage_version_hash,
        };
        let resource = (!served.kind.is_empty()).then_some(resource);
        resource.into_iter().chain(served.subresources.iter().map(|sub| Self::of_subresource(served, sub)))
    }

    fn of_subresource(served: &'s ServedResource, sub: &'s ServedSubresource) -> Self {
        let (group, version) = other_version(served, &sub.kind);
        Resource {
            name: format!("{}/{}", served.plural, sub.name),
            singular_name: "",
            namespaced: served.namespaced,
            group,
            version,
            kind: &sub.kind.kind,
            verbs: &sub.verbs,
            short_names: &[],
            categories: &[],
            storage_version_hash: "",
        }
    }
}

/// The group and version of a kind, empty if they are those of the resource.
fn other_version<'s>(served: &ServedResource, kind: &'s GroupVersionKind) -> (&'s str, &'s str) {
    if kind.group == served.group && kind.version == served.version {
        ("", "")
    } else {
        (&kind.group, &kind.version)
    }
}

#[derive(Serialize)]
pub(super) struct AggregatedGroups<'s> {
    metadata: Empty,
    items: Vec<AggregatedGroup<'s>>,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct Named<'s> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'s str,
}

#[derive(Serialize)]
pub(super) struct AggregatedGroup<'s> {
    metadata: Named<'s>,
    versions: Vec<AggregatedVersion<'s>>,
}

#[derive(Serialize)]
pub(super) struct AggregatedVersion<'s> {
    version: &'s str,
    resources: Vec<AggregatedResource<'s>>,
    freshness: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AggregatedResource<'s> {
    resource: &'s str,
    response_kind: Kind<'s>,
    scope: &'static str,
    singular_resource: &'s str,
    verbs: &'s [Str],
    #[serde(skip_serializing_if = "<[Str]>::is_empty")]
    short_names: &'s [Str],
    #[serde(skip_serializing_if = "<[Str]>::is_empty")]
    categories: &'s [Str],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<AggregatedSubresource<'s>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AggregatedSubresource<'s> {
    subresource: &'s str,
    response_kind: Kind<'s>,
    verbs: &'s [Str],
}

#[derive(Serialize)]
struct Kind<'s> {
    group: &'s str,
    version: &'s str,
    kind: &'s str,
}

impl<'s> AggregatedGroups<'s> {
    pub(super) fn new(items: Vec<AggregatedGroup<'s>>) -> Self {
        AggregatedGroups { metadata: Empty {}, items }
    }

    pub(super) fn document(self) -> Typed<Self> {
        Typed { kind: "APIGroupDiscoveryList", api_version: Some("apidiscovery.k8s.io/v2"), content: self }
    }
}

impl<'s> AggregatedGroup<'s> {
    pub(super) fn new(name: &'s str, versions: Vec<AggregatedVersion<'s>>) -> Self {
        AggregatedGroup { metadata: Named { name }, versions }
    }
}

impl<'s> AggregatedVersion<'s> {
    pub(super) fn new(version: &'s str, resources: &'s [ServedResource]) -> Self {
        let resources = resources.iter().map(AggregatedResource::of_served).collect();
        AggregatedVersion { version, resources, freshness: "Current" }
    }
}

impl<'s> AggregatedResource<'s> {
    fn of_served(served: &'s ServedResource) -> Self {
        let (group, version): (&str, &str) =
            if served.custom { (&served.group, &served.version) } else { ("", "") };
        AggregatedResource {
            resource: &served.plural,
            response_kind: Kind { group, version, kind: &served.kind },
            scope: if served.namespaced { "Namespaced" } else { "Cluster" },
            singular_resource: &served.singular,
            verbs: &served.verbs,
            short_names: &served.short_names,
            categories: &served.categories,
            subresources: served.subresources.iter().map(|sub| Self::subresource(served, sub)).collect(),
        }
    }

    fn subresource(served: &ServedResource, sub: &'s ServedSubresource) -> AggregatedSubresource<'s> {
        let (group, version): (&str, &str) = if served.custom {
            (&sub.kind.group, &sub.kind.version)
        } else {
            other_version(served, &sub.kind)
        };
        AggregatedSubresource {
            subresource: &sub.name,
            response_kind: Kind { group, version, kind: &sub.kind.kind },
            verbs: &sub.verbs,
        }
    }
}
