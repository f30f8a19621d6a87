//! Discovery documents as text; the order of the members is that of kube-apiserver.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Str;
use indexmap::IndexMap;

use crate::facts::{ResourceFacts, SubresourceFacts};

/// The resources of a group by version, the preferred version first.
pub(super) type ServedGroup = IndexMap<Str, Vec<ResourceFacts>>;

/// An object of JSON. Its members are JSON too; those that are empty are left out.
pub(super) fn object<const N: usize>(members: [(&str, String); N]) -> String {
    let members = members.into_iter().filter(|(_, json)| !json.is_empty());
    let members = members.map(|(name, json)| format!("\"{name}\":{json}"));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// A list of JSON.
pub(super) fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

/// A string as JSON.
pub(super) fn text(text: &str) -> String {
    // A string can always be written.
    serde_json::to_string(text).unwrap_or_default()
}

fn texts(items: &[Str]) -> String {
    list(items.iter().map(|item| text(item)))
}

/// A string or a list that is left out if it is empty.
fn optional(json: String) -> String {
    match json.as_str() {
        "\"\"" | "[]" => String::new(),
        _ => json,
    }
}

/// `v1`, or `apps/v1`.
pub(super) fn group_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

/// The members of a group, with its kind if it is a document of its own.
pub(super) fn group(name: &str, served: &ServedGroup, kind: &str, api_version: &str) -> String {
    let version = |version: &Str| {
        object([
            ("groupVersion", text(&group_version(name, version))),
            ("version", text(version)),
        ])
    };
    object([
        ("kind", optional(text(kind))),
        ("apiVersion", optional(text(api_version))),
        ("name", text(name)),
        ("versions", list(served.keys().map(version))),
        (
            "preferredVersion",
            served.keys().next().map(version).unwrap_or_default(),
        ),
    ])
}

/// The entries of a resource and its subresources in the list of their version.
pub(super) fn resources(served: &ResourceFacts) -> impl Iterator<Item = String> {
    let resource = object([
        ("name", text(&served.plural)),
        ("singularName", text(&served.singular)),
        ("namespaced", served.namespaced.to_string()),
        ("kind", text(&served.kind)),
        ("verbs", texts(&served.verbs)),
        ("shortNames", optional(texts(&served.short_names))),
        ("categories", optional(texts(&served.categories))),
        (
            "storageVersionHash",
            optional(text(&served.storage_version_hash)),
        ),
    ]);

    let subresource = |sub: &SubresourceFacts| {
        let (group, version) = other_version(served, &sub.kind);
        object([
            ("name", text(&format!("{}/{}", served.plural, sub.name))),
            ("singularName", text("")),
            ("namespaced", served.namespaced.to_string()),
            ("group", optional(text(group))),
            ("version", optional(text(version))),
            ("kind", text(&sub.kind.kind)),
            ("verbs", texts(&sub.verbs)),
        ])
    };

    let resource = (!served.kind.is_empty()).then_some(resource);
    resource
        .into_iter()
        .chain(served.subresources.iter().map(subresource))
}

/// The group and version of a kind, empty if they are those of the resource.
fn other_version<'s>(served: &ResourceFacts, kind: &'s GroupVersionKind) -> (&'s str, &'s str) {
    if kind.group == served.group && kind.version == served.version {
        ("", "")
    } else {
        (&kind.group, &kind.version)
    }
}

/// A group in the aggregated document.
pub(super) fn aggregated_group(name: &str, served: &ServedGroup) -> String {
    let version = |(version, resources): (&Str, &Vec<ResourceFacts>)| {
        object([
            ("version", text(version)),
            ("resources", list(resources.iter().map(aggregated_resource))),
            ("freshness", text("Current")),
        ])
    };

    object([
        ("metadata", object([("name", optional(text(name)))])),
        ("versions", list(served.iter().map(version))),
    ])
}

fn aggregated_resource(served: &ResourceFacts) -> String {
    let kind = |(group, version): (&str, &str), kind: &str| {
        object([
            ("group", text(group)),
            ("version", text(version)),
            ("kind", text(kind)),
        ])
    };
    // kube-apiserver gives custom resources the group and version of their kind always, and built-in ones only if they
    // differ from those of the resource.
    let own = if served.custom {
        (served.group.as_str(), served.version.as_str())
    } else {
        ("", "")
    };

    let subresource = |sub: &SubresourceFacts| {
        let version = if served.custom {
            (sub.kind.group.as_str(), sub.kind.version.as_str())
        } else {
            other_version(served, &sub.kind)
        };
        object([
            ("subresource", text(&sub.name)),
            ("responseKind", kind(version, &sub.kind.kind)),
            ("verbs", texts(&sub.verbs)),
        ])
    };

    let scope = if served.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    object([
        ("resource", text(&served.plural)),
        ("responseKind", kind(own, &served.kind)),
        ("scope", text(scope)),
        ("singularResource", text(&served.singular)),
        ("verbs", texts(&served.verbs)),
        ("shortNames", optional(texts(&served.short_names))),
        ("categories", optional(texts(&served.categories))),
        (
            "subresources",
            optional(list(served.subresources.iter().map(subresource))),
        ),
    ])
}
