//! The operations on custom resources: those of sample definitions with other names.

use std::sync::LazyLock;

use bytes::Bytes;
use fieldmanager_structural::crd::{CustomResource, Scope, Version};
use fieldmanager_value::{Map, Str, Value};

use crate::facts;

/// The version of OpenAPI.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The version 2 document of the whole server.
    V2,
    /// The version 3 document of a group version.
    V3,
}

/// The names of the sample definitions, which occur nowhere else. Those of the cluster resource end with `cluster`.
const GROUP: &str = "zqxgroup.zqxtop";
const VERSION: &str = "v77alpha77";
const DEFINITION: &str = "zqxtop.zqxgroup.v77alpha77.";
const OPERATION: &str = "ZqxgroupZqxtopV77alpha77";
const TAG: &str = "zqxgroupZqxtop_v77alpha77";

/// The recorded documents of the sample definitions.
pub(super) struct Samples {
    v2: Value,
    v3: Value,
}

pub(super) static SAMPLES: LazyLock<Samples> = LazyLock::new(|| {
    let recorded = Value::from_json(&facts::definitions()).unwrap_or_default();
    let form = |name: &str| recorded.get(name).cloned().unwrap_or_default();
    Samples {
        v2: form("v2"),
        v3: form("v3"),
    }
});

impl Samples {
    fn paths(&self, form: Form) -> &Map {
        let document = if form == Form::V2 { &self.v2 } else { &self.v3 };
        members(document.get("paths"))
    }

    pub(super) fn schemas(&self, form: Form) -> &Map {
        match form {
            Form::V2 => members(self.v2.get("definitions")),
            Form::V3 => members(
                self.v3
                    .get("components")
                    .and_then(|components| components.get("schemas")),
            ),
        }
    }

    /// The definition of the sample kind.
    pub(super) fn kind(&self, form: Form) -> &Value {
        self.schemas(form)
            .get(&format!("{DEFINITION}Zqxkind"))
            .unwrap_or(&Value::Null)
    }
}

pub(super) fn members(value: Option<&Value>) -> &Map {
    static EMPTY: LazyLock<Map> = LazyLock::new(Map::new);
    value.and_then(Value::as_map).unwrap_or(&EMPTY)
}

/// The names of a custom resource at a version, in all forms that documents have.
pub(super) struct Names {
    pub(super) group: Str,
    pub(super) version: Str,
    pub(super) kind: Str,
    pub(super) list_kind: Str,
    namespaced: bool,
    status: bool,
    scale: bool,
    /// The replacements in the sample documents, in this order.
    replaced: Vec<(String, String)>,
}

impl Names {
    pub(super) fn new(resource: &CustomResource, version: &Version) -> Self {
        let (group, names) = (resource.group.as_str(), &resource.names);
        // Names of definitions begin with the reversed group: `com.example.v1.Shop`.
        let mut labels: Vec<&str> = group.split('.').collect();
        labels.reverse();
        let short = group.strip_suffix(".k8s.io").unwrap_or(group);
        // The sample of cluster scope has names of its own, since its operations differ.
        let namespaced = resource.scope == Scope::Namespaced;
        let suffix = if namespaced { "" } else { "cluster" };
        let operation = format!(
            "{}{}",
            identifier(short, true),
            identifier(&version.name, true)
        );
        // A name that contains another one is replaced before it: a definition before its version, and the kind with
        // its article before the kind alone. A kind that follows the version in an identifier has a capital letter.
        let replaced = [
            (
                DEFINITION.to_owned(),
                format!("{}.{}.", labels.join("."), version.name),
            ),
            (
                format!("{OPERATION}Zqxkind{suffix}"),
                format!("{operation}{}", capitalized(&names.kind)),
            ),
            (OPERATION.to_owned(), operation),
            (
                TAG.to_owned(),
                format!(
                    "{}_{}",
                    identifier(short, false),
                    identifier(&version.name, false)
                ),
            ),
            (GROUP.to_owned(), group.to_owned()),
            (VERSION.to_owned(), version.name.to_string()),
            (format!("zqxplurals{suffix}"), names.plural.to_string()),
            (format!("Zqxlist{suffix}"), names.list_kind.to_string()),
            (
                format!(" a Zqxkind{suffix}"),
                format!("{}{}", article(&names.kind), names.kind),
            ),
            (format!("Zqxkind{suffix}"), names.kind.to_string()),
        ];

        Names {
            group: resource.group.clone(),
            version: version.name.clone(),
            kind: names.kind.clone(),
            list_kind: names.list_kind.clone(),
            namespaced,
            status: version.status,
            scale: version.scale.is_some(),
            replaced: replaced.into(),
        }
    }

    /// The path of the group version: `apis/example.com/v1`.
    pub(super) fn path(&self) -> String {
        format!("apis/{}/{}", self.group, self.version)
    }

    /// The name of the definition of a kind: `com.example.v1.Shop`.
    pub(super) fn definition(&self, kind: &str) -> String {
        self.replace(&format!("{DEFINITION}{kind}"))
    }

    fn replace(&self, text: &str) -> String {
        self.replaced
            .iter()
            .fold(text.to_owned(), |text, (from, to)| {
                text.replace(from.as_str(), to)
            })
    }

    fn replace_value(&self, value: &Value) -> Value {
        // The names are plain words, so the text stays JSON.
        Value::from_json(&self.replace(&value.to_json())).unwrap_or_default()
    }

    /// The paths of the resource and its subresources with their operations.
    pub(super) fn paths(&self, form: Form) -> Map {
        let paths = SAMPLES.paths(form).iter().filter(|(path, _)| {
            let cluster = path.contains("zqxpluralscluster");
            let absent = path.ends_with("/status") && !self.status
                || path.ends_with("/scale") && !self.scale;
            cluster != self.namespaced && !absent
        });
        paths
            .map(|(path, item)| (Str::from(self.replace(path)), self.replace_value(item)))
            .collect()
    }

    /// The definition of the list, and in version 3 those that operations refer to.
    pub(super) fn list(&self, form: Form) -> Value {
        let suffix = if self.namespaced { "" } else { "cluster" };
        let list = SAMPLES
            .schemas(form)
            .get(&format!("{DEFINITION}Zqxlist{suffix}"));
        list.map(|list| self.replace_value(list))
            .unwrap_or_default()
    }

    /// The definitions of Kubernetes that the operations refer to, for a version 3 document.
    pub(super) fn shared_schemas(&self) -> Map {
        let schemas = SAMPLES.schemas(Form::V3).iter();
        let shared = schemas.filter(|(name, _)| !name.starts_with(DEFINITION));
        let used =
            shared.filter(|(name, _)| self.scale || !name.starts_with("io.k8s.api.autoscaling."));
        used.map(|(name, schema)| (name.clone(), schema.clone()))
            .collect()
    }
}

/// A version 3 document with more paths and schemas; without a document of built-in resources, that of the samples.
pub(super) fn document(builtin: Option<Bytes>, paths: Map, schemas: Map) -> Value {
    let builtin = builtin.and_then(|document| Value::from_json_slice(&document).ok());
    let (mut document, mut all_paths, mut all_schemas) = match builtin {
        Some(Value::Map(document)) => {
            let paths = members(document.get("paths")).clone();
            let schemas = members(
                document
                    .get("components")
                    .and_then(|components| components.get("schemas")),
            )
            .clone();
            (document, paths, schemas)
        }
        _ => (members(Some(&SAMPLES.v3)).clone(), Map::new(), Map::new()),
    };

    for (to, from) in [(&mut all_paths, paths), (&mut all_schemas, schemas)] {
        for (name, value) in &from {
            if !to.contains(name) {
                to.insert(name.clone(), value.clone());
            }
        }
    }

    document.insert("paths", all_paths);
    document.insert("components", Map::single("schemas", all_schemas));
    Value::Map(document)
}

/// A name as a part of identifiers of operations: characters that are no letters, digits or underscores are left out,
/// and the next one is in upper case.
fn identifier(name: &str, capital: bool) -> String {
    let mut out = String::with_capacity(name.len());
    let mut upper = capital;
    for (i, c) in name.char_indices() {
        if c.is_alphabetic() || c == '_' || (i > 0 && c.is_numeric()) {
            if upper {
                out.extend(c.to_uppercase());
            } else {
                out.push(c);
            }
            upper = false;
        } else {
            upper = true;
        }
    }

    out
}

fn capitalized(kind: &str) -> String {
    let mut rest = kind.chars();
    let first = rest.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(rest).collect()
}

/// The article before a kind in descriptions, with spaces; plurals have none.
fn article(kind: &str) -> &'static str {
    if kind.ends_with('s') && !kind.ends_with("ss") {
        " "
    } else if kind.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']) {
        " an "
    } else {
        " a "
    }
}
