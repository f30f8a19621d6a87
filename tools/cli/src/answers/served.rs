//! The resources of a cluster, as its discovery documents list them.

use fieldmanager_conformance_suite::internal::{encoded, root};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

/// A resource at a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServedResource {
    pub(crate) kind: GroupVersionKind,
    pub(crate) plural: String,
    pub(crate) is_namespaced: bool,
    /// Whether the version is the one that the group prefers.
    is_preferred: bool,
    is_listed: bool,
    /// The singular and the short names.
    names: Vec<String>,
    categories: Vec<String>,
}

impl ServedResource {
    /// Whether people call the resource so: by its plural, singular, kind or a short name, with or without the group, or a
    /// version and the group.
    fn is_called(&self, wanted: &str) -> bool {
        let (name, group) = wanted
            .split_once('.')
            .map_or((wanted, None), |(name, group)| (name, Some(group)));
        let (own, version) = (&self.kind.group, &self.kind.version);
        let is_group =
            group.is_none_or(|group| *group == **own || group == format!("{version}.{own}"));
        let name = name.to_ascii_lowercase();
        let is_name = self.plural == name
            || self.names.contains(&name)
            || self.kind.kind.eq_ignore_ascii_case(&name);
        is_group && is_name
    }

    /// The path of an object, or of its collection without a name. Without a namespace, it is that of all namespaces.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = root(&self.kind.api_version());
        if self.is_namespaced && !namespace.is_empty() {
            path.push_str(&format!("/namespaces/{}", encoded(namespace)));
        }
        path.push_str(&format!("/{}", self.plural));
        if !name.is_empty() {
            path.push_str(&format!("/{}", encoded(name)));
        }
        path
    }
}

/// The resources of the documents of `/api` and `/apis`, in their order: that of a word is the first it fits.
pub(crate) fn resources(document: &Value) -> Vec<ServedResource> {
    let mut found = Vec::new();
    for group in items(document, "items") {
        let name = group.metadata_string("name");
        for (index, version) in items(group, "versions").iter().enumerate() {
            for resource in items(version, "resources") {
                let texts = |name| {
                    let texts = items(resource, name).into_iter().filter_map(Value::as_str);
                    texts.map(str::to_owned).collect::<Vec<_>>()
                };
                // The kind may be one of another group, as Scale is, but has this version for requests.
                let response = resource.get("responseKind").unwrap_or(&Value::Null);
                let mut names = texts("shortNames");
                names.push(resource.string("singularResource").to_owned());
                found.push(ServedResource {
                    kind: GroupVersionKind::new(
                        name,
                        version.string("version"),
                        response.string("kind"),
                    ),
                    plural: resource.string("resource").to_owned(),
                    is_namespaced: resource.string("scope") == "Namespaced",
                    is_preferred: index == 0,
                    is_listed: texts("verbs").iter().any(|verb| verb == "list"),
                    names,
                    categories: texts("categories"),
                });
            }
        }
    }

    found
}

/// The resources that a word means, without several versions of one: a type, a category, or all for an empty word.
pub(crate) fn called<'r>(all: &'r [ServedResource], word: &str) -> Vec<&'r ServedResource> {
    if let Some(one) = all.iter().find(|one| one.is_called(word)) {
        return vec![one];
    }
    let is_meant = |one: &&ServedResource| {
        let is_own = word.is_empty() || one.categories.iter().any(|category| category == word);
        // These are the events of the core group.
        one.is_preferred && one.is_listed && is_own && one.kind.group != "events.k8s.io"
    };
    all.iter().filter(is_meant).collect()
}

fn items<'v>(value: &'v Value, name: &str) -> Vec<&'v Value> {
    let list = value.get(name).and_then(Value::as_list);
    list.into_iter().flatten().collect()
}
