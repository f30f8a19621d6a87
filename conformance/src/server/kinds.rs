//! The kinds of the generated requests: built-in ones and custom ones, and templates of their objects.

use std::sync::LazyLock;

use fieldmanager_value::Value;
use serde_json::{Map as JsonMap, Value as Json, json};

use super::pointer::set_pointer;
use super::template::NAME;
use crate::Error;
use crate::generate::random::Random;
use crate::json::{back, flag, items, member, set, text};

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
        self.path.replacen(&format!("/{}/", self.version), &format!("/{version}/"), 1)
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
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// All kinds, and the parts that their templates share.
pub(crate) struct Catalog {
    pub(crate) kinds: Vec<Kind>,
    parts: JsonMap<String, Json>,
}

static CATALOG: LazyLock<Result<Catalog, String>> = LazyLock::new(Catalog::read);

impl Catalog {
    /// The catalog of the files beside this one.
    pub(crate) fn get() -> Result<&'static Catalog, Error> {
        CATALOG.as_ref().map_err(|error| Error::Request(error.clone()))
    }

    fn read() -> Result<Catalog, String> {
        let yaml = |name: &str, text: &str| match Value::from_yaml(text) {
            Ok(value) => Ok(back(&value)),
            Err(error) => Err(format!("{name}: {error}")),
        };
        let parts = yaml("fragments.yaml", include_str!("fragments.yaml"))?;
        let builtin = yaml("kinds.yaml", include_str!("kinds.yaml"))?;
        let custom = yaml("definitions.yaml", include_str!("definitions.yaml"))?;
        let builtin = builtin.as_array().into_iter().flatten().map(builtin_kind);
        let custom = custom.as_array().into_iter().flatten().map(custom_kind);
        let kinds = builtin.chain(custom).collect();
        Ok(Catalog { kinds, parts: parts.as_object().cloned().unwrap_or_default() })
    }

    /// The kind of a case.
    pub(super) fn of(&self, case: &Json) -> Result<&Kind, Error> {
        let (path, kind) = (text(case, "path"), text(case, "kind"));
        let found = self.kinds.iter().find(|entry| entry.path == path && entry.kind == kind);
        found.ok_or_else(|| Error::Request(format!("no kind {kind:?} at the path {path:?}")))
    }

    /// The definitions of the custom kinds.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Json> {
        self.kinds.iter().filter_map(|kind| kind.definition.as_ref())
    }

    /// An object of a template. An optional member is present in `percent` of 100 cases.
    pub(crate) fn expand(&self, rng: &mut Random, template: &Json, percent: u32) -> Json {
        match template {
            Json::String(name) => match name.strip_prefix('$').and_then(|name| self.parts.get(name)) {
                Some(part) => self.expand(rng, part, percent),
                None => template.clone(),
            },
            Json::Array(items) => items.iter().map(|item| self.expand(rng, item, percent)).collect(),
            Json::Object(members) => self.expand_members(rng, members, percent),
            _ => template.clone(),
        }
    }

    fn expand_members(&self, rng: &mut Random, members: &JsonMap<String, Json>, percent: u32) -> Json {
        if let Some(Json::Array(choices)) = members.get("$one") {
            let choice = rng.pick(choices).unwrap_or(&Json::Null);
            return self.expand(rng, choice, percent);
        }
        if let Some(Json::Array(choices)) = members.get("$some") {
            let sure = rng.below(choices.len());
            let chosen = choices.iter().enumerate();
            let mut chosen: Vec<_> =
                chosen.filter(|(at, _)| *at == sure || rng.chance(45)).map(|(_, item)| item).collect();
            if rng.chance(15) {
                rng.shuffle(&mut chosen);
            }
            return chosen.into_iter().map(|item| self.expand(rng, item, percent)).collect();
        }
        let base = members.get("$with").map(|base| self.expand(rng, base, percent));
        let mut out = match base {
            Some(Json::Object(base)) => base,
            _ => JsonMap::new(),
        };
        for (name, value) in members.iter().filter(|(name, _)| *name != "$with") {
            let (name, optional) = name.strip_suffix('~').map_or((name.as_str(), false), |name| (name, true));
            if !optional || rng.chance(percent) {
                out.insert(name.to_owned(), self.expand(rng, value, percent));
            }
        }
        Json::Object(out)
    }
}

fn strings(value: &Json, name: &str) -> Vec<String> {
    items(value, name).iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn builtin_kind(entry: &Json) -> Kind {
    let path = text(entry, "path").to_owned();
    let mut parts = path.split('/');
    let group = if parts.next() == Some("apis") { parts.next().unwrap_or_default() } else { "" };
    Kind {
        kind: text(entry, "kind").to_owned(),
        group: group.to_owned(),
        version: parts.next().unwrap_or_default().to_owned(),
        also: strings(entry, "also"),
        subresources: strings(entry, "subresources"),
        definition: None,
        rest: entry.clone(),
        path,
    }
}

fn custom_kind(entry: &Json) -> Kind {
    let kind = text(entry, "kind").to_owned();
    let singular = kind.to_lowercase();
    // `Defaults` and the like are plural already.
    let plural = if singular.ends_with('s') { singular.clone() } else { format!("{singular}s") };
    let cluster = text(entry, "scope") == "Cluster";
    let versions = items(entry, "versions");
    let mut subresources = Vec::new();
    if versions.iter().any(|version| flag(version, "status")) {
        subresources.push("status".to_owned());
    }
    if versions.iter().any(|version| version.get("scale").is_some()) {
        subresources.push("scale".to_owned());
    }
    let mut names: Vec<String> = versions.iter().map(|version| text(version, "name").to_owned()).collect();
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
                    let object = catalog.expand(&mut rng, member(&kind.rest, name), 60).to_string();
                    assert!(!object.contains("\"$"), "{}: {object}", kind.path);
                }
            }
        }
    }
}
