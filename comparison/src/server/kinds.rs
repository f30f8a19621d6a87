//! The kinds of the generated requests: built-in ones and custom ones, and templates of their objects.

use std::sync::LazyLock;

use serde_json::{Value as Json, json};

use super::pointer::set_pointer;
use super::template::NAME;
use crate::Error;
use crate::generate::random::Random;
use crate::generate::template::{Expansion, Templates, yaml};
use crate::json::{children, flag, items, member, set, strings, text};

/// The group of the custom kinds.
const GROUP: &str = "conformance.example.com";

/// A kind, and templates of its objects.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) kind: String,
    /// The URL path of the collection, in the namespace `default` if there are namespaces.
    pub(crate) path: String,
    pub(crate) group: String,
    pub(crate) version: String,
    /// Other versions at which requests are made.
    pub(crate) also: Vec<String>,
    pub(crate) subresources: Vec<String>,
    /// The definition of a custom kind.
    pub(crate) definition: Option<Json>,
    /// The other properties: templates, and values that are refused.
    pub(crate) rest: Json,
}

impl Kind {
    /// The part `apiVersion` of an object at a version.
    pub(crate) fn api_version(&self, version: &str) -> String {
        api_version(&self.group, version)
    }

    /// The path of the collection at a version.
    pub(crate) fn path_at(&self, version: &str) -> String {
        self.path
            .replacen(&format!("/{}/", self.version), &format!("/{version}/"), 1)
    }

    pub(crate) fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|name| name == subresource)
    }

    /// The name of the object of a sequence, with a place for the name of the sequence.
    pub(crate) fn object_name(&self) -> &str {
        match text(&self.rest, "name") {
            "" => NAME,
            name => name,
        }
    }

    /// The version at which the object is read between the steps: that in which it is stored, if others lose something.
    pub(crate) fn read_version(&self) -> &str {
        match text(&self.rest, "stored") {
            "" => &self.version,
            version => version,
        }
    }

    pub(crate) fn is_namespaced(&self) -> bool {
        self.path.contains("/namespaces/")
    }
}

pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// All kinds, and the parts that their templates share.
pub(crate) struct Catalog {
    pub(crate) kinds: Vec<Kind>,
    parts: Templates,
}

static CATALOG: LazyLock<Result<Catalog, String>> = LazyLock::new(Catalog::read);

impl Catalog {
    /// The catalog of the files beside this one.
    pub(crate) fn get() -> Result<&'static Catalog, Error> {
        CATALOG
            .as_ref()
            .map_err(|error| Error::Request(error.clone()))
    }

    fn read() -> Result<Catalog, String> {
        let builtin = yaml(include_str!("kinds.yaml"))?;
        let custom = yaml(include_str!("definitions.yaml"))?;
        // A sequence has the kind at the place of its number, so the order of the files determines the cases of a seed.
        let kinds = children(&builtin).map(builtin_kind);
        let kinds = kinds.chain(children(&custom).map(custom_kind)).collect();
        let parts = Templates::read(include_str!("fragments.yaml"))?;
        Ok(Catalog { kinds, parts })
    }

    /// The kind of a case.
    pub(super) fn of(&self, case: &Json) -> Result<&Kind, Error> {
        let (path, kind) = (text(case, "path"), text(case, "kind"));
        let found = self
            .kinds
            .iter()
            .find(|entry| entry.path == path && entry.kind == kind);
        found.ok_or_else(|| Error::Request(format!("no kind {kind:?} at the path {path:?}")))
    }

    /// The definitions of the custom kinds.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Json> {
        self.kinds
            .iter()
            .filter_map(|kind| kind.definition.as_ref())
    }

    /// An object of a template. An optional member is present in `percent` of 100 cases.
    pub(crate) fn expand(&self, rng: &mut Random, template: &Json, percent: u32) -> Json {
        self.parts
            .expand(rng, template, Expansion { percent, depth: 0 })
    }
}

fn texts(value: &Json, name: &str) -> Vec<String> {
    strings(value, name).map(str::to_owned).collect()
}

fn builtin_kind(entry: &Json) -> Kind {
    let path = text(entry, "path").to_owned();
    // A path begins with `api/VERSION` for the core group, and with `apis/GROUP/VERSION` for all others.
    let mut parts = path.split('/');
    let group = if parts.next() == Some("apis") {
        parts.next().unwrap_or_default()
    } else {
        ""
    };

    Kind {
        kind: text(entry, "kind").to_owned(),
        group: group.to_owned(),
        version: parts.next().unwrap_or_default().to_owned(),
        also: texts(entry, "also"),
        subresources: texts(entry, "subresources"),
        definition: None,
        rest: entry.clone(),
        path,
    }
}

fn custom_kind(entry: &Json) -> Kind {
    let kind = text(entry, "kind").to_owned();
    let singular = kind.to_lowercase();
    // `Defaults` and the like are plural already.
    let plural = if singular.ends_with('s') {
        singular.clone()
    } else {
        format!("{singular}s")
    };
    let cluster = text(entry, "scope") == "Cluster";
    let versions = items(entry, "versions");
    // A subresource of one version is asked for at all versions, so that its absence at the others is compared too.
    let mut subresources = Vec::new();
    if versions.iter().any(|version| flag(version, "status")) {
        subresources.push("status".to_owned());
    }

    if versions
        .iter()
        .any(|version| version.get("scale").is_some())
    {
        subresources.push("scale".to_owned());
    }

    // The first version is the stored one. Steps have it unless they name another.
    let mut names: Vec<String> = versions
        .iter()
        .map(|version| text(version, "name").to_owned())
        .collect();
    let first = names.remove(0);
    let namespace = if cluster { "" } else { "namespaces/default/" };
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": if cluster { "Cluster" } else { "Namespaced" },
            "names": {"kind": kind, "plural": plural, "singular": singular, "listKind": format!("{kind}List")},
            "versions": versions.iter().enumerate().map(|(at, version)| served(entry, version, at == 0)).collect::<Json>(),
        },
    });

    Kind {
        path: format!("apis/{GROUP}/{first}/{namespace}{plural}"),
        kind,
        group: GROUP.to_owned(),
        version: first,
        also: names,
        subresources,
        definition: Some(definition),
        rest: entry.clone(),
    }
}

/// A version of a definition.
fn served(entry: &Json, version: &Json, stored: bool) -> Json {
    // The templates leave out `metadata`, which every object has.
    let mut schema = json!({"type": "object", "properties": member(version, "schema")});
    if flag(entry, "preserve") {
        set(&mut schema, "x-kubernetes-preserve-unknown-fields", true);
    }
    let mut out = json!({
        "name": member(version, "name"), "served": true, "storage": stored, "schema": {"openAPIV3Schema": schema}
    });
    if flag(version, "status") {
        set_pointer(&mut out, "/subresources/status", &json!({}));
    }
    if let Some(scale) = version.get("scale") {
        set_pointer(&mut out, "/subresources/scale", scale);
    }

    if flag(version, "deprecated") {
        set(&mut out, "deprecated", true);
    }
    if let Some(warning) = version.get("warning") {
        set(&mut out, "deprecationWarning", warning.clone());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_templates_expand_without_a_missing_part() {
        let catalog = Catalog::get().unwrap();
        let mut rng = Random::new(1);
        for kind in &catalog.kinds {
            for name in ["object", "status", "mutable"] {
                for _ in 0..20 {
                    let object = catalog
                        .expand(&mut rng, member(&kind.rest, name), 60)
                        .to_string();
                    assert!(!object.contains("\"$"), "{}: {object}", kind.path);
                }
            }
        }
    }
}
