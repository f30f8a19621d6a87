//! The kinds of generated objects: from real definitions, or generated.

use std::sync::LazyLock;

use serde_json::{Map as JsonMap, Value, json};

use crate::generate::random::Random;
use crate::generate::schema;
use crate::generate::template::Templates;
use crate::generate::types::{DEDUCED, Names, Types, named};
use crate::json::{each, flag, members, set, strings, text};

/// A version of the kind, and the fields of `spec` whose names differ from those of the hub.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// With its group: `example.com/v1`.
    pub(crate) name: String,
    pub(crate) names: Names,
}

pub(super) static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::of(include_str!("templates.yaml")));

/// A kind of objects, with the generator's model of it.
#[derive(Clone, Debug)]
pub(crate) struct ObjectKind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) types: Types,
    /// The OpenAPI definitions of a generated kind, without a version in their names.
    pub(crate) definitions: Value,
}

/// The real kinds, and their definitions.
const REAL: &[(&str, &str, &str, &str)] = &[
    ("apps", "v1", "Deployment", "io.k8s.api.apps.v1.Deployment"),
    ("", "v1", "Service", "io.k8s.api.core.v1.Service"),
    ("", "v1", "Pod", "io.k8s.api.core.v1.Pod"),
    ("", "v1", "ConfigMap", "io.k8s.api.core.v1.ConfigMap"),
    ("", "v1", "Node", "io.k8s.api.core.v1.Node"),
];

/// The maximum number of properties of a real kind's struct in the model, so that objects stay small and managers set
/// the same fields.
const MAX_PROPERTIES: usize = 4;

/// The fields that managers conflict on most often, and key fields.
const WANTED: &[&str] = &[
    "metadata",
    "spec",
    "status",
    "data",
    "template",
    "containers",
    "replicas",
    "ports",
    "conditions",
    "name",
    "containerPort",
    "protocol",
    "port",
    "type",
    "mountPath",
];

/// The levels of types inside of types of a generated kind.
const MAX_DEPTH: usize = 3;

/// A random kind at versions of `example.com`.
pub(crate) fn random(rng: &mut Random) -> ObjectKind {
    let definitions = TEMPLATES.part(rng, "definitions", MAX_DEPTH);
    let mut types = model(rng, &definitions, "Thing", usize::MAX);
    // Definitions that allow any fields refer to the deduced type.
    types
        .definitions
        .extend(schema::definitions(rng, "deduced"));
    ObjectKind {
        group: "example.com",
        version: "v1",
        kind: "Thing",
        types,
        definitions,
    }
}

/// A real kind, with a random part of its properties.
pub(crate) fn real(rng: &mut Random, definitions: &Value) -> Option<ObjectKind> {
    let (group, version, kind, name) = *rng.pick(REAL)?;
    definitions.get(name)?;
    let types = model(rng, definitions, name, MAX_PROPERTIES);
    Some(ObjectKind {
        group,
        version,
        kind,
        types,
        definitions: Value::Null,
    })
}

/// The types of a definition, and of all that it refers to.
fn model(rng: &mut Random, definitions: &Value, root: &str, limit: usize) -> Types {
    let metadata = TEMPLATES.part(rng, METADATA, 0);
    let open = vec![root.to_owned()];
    let mut reader = DefinitionReader { rng, open, limit };
    let mut done: Vec<Value> = Vec::new();
    // Definitions refer to each other and to themselves, so each is read once.
    while let Some(name) = reader.open.pop() {
        if done.iter().all(|known| text(known, "name") != name) {
            // Real metadata has fields that an API server sets, so the model has a type of its own for it.
            let is_metadata = name == METADATA;
            let definition = if is_metadata {
                Some(&metadata)
            } else {
                definitions.get(&name)
            };
            reader.limit = if is_metadata { usize::MAX } else { limit };
            let mut ty = reader.atom(&name, definition.unwrap_or(&Value::Null), name == root);
            set(&mut ty, "name", name);
            done.push(ty);
        }
    }

    Types {
        definitions: done,
        root: root.to_owned(),
    }
}

/// Reads definitions of OpenAPI v2.
struct DefinitionReader<'a> {
    rng: &'a mut Random,
    open: Vec<String>,
    /// The maximum number of properties of a struct.
    limit: usize,
}

impl DefinitionReader<'_> {
    fn reference(&mut self, schema: &Value) -> Value {
        let Some((_, name)) = text(schema, "$ref").rsplit_once('/') else {
            return self.atom("", schema, false);
        };

        // Metadata is the same for all kinds.
        let name = if name.ends_with(METADATA) {
            METADATA
        } else {
            name
        };
        self.open.push(name.to_owned());
        named(name)
    }

    fn atom(&mut self, name: &str, schema: &Value, is_root: bool) -> Value {
        if flag(schema, "x-kubernetes-preserve-unknown-fields") {
            return named(DEDUCED);
        }
        // Quantities and texts with a format are untyped scalars, as in the schema that Kubernetes makes.
        match text(schema, "type") {
            _ if name.ends_with(".Quantity") => json!({"scalar": "untyped"}),
            "object" => json!({"map": self.map(schema, is_root)}),
            "array" => json!({"list": self.list(schema)}),
            "integer" | "number" => json!({"scalar": "numeric"}),
            "boolean" => json!({"scalar": "boolean"}),
            "string" if schema.get("format").is_none() => json!({"scalar": "string"}),
            _ => json!({"scalar": "untyped"}),
        }
    }

    fn map(&mut self, schema: &Value, is_root: bool) -> Value {
        let mut properties: Vec<_> = members(schema, "properties").collect();
        self.rng.shuffle(&mut properties);
        // Wanted properties come first and all stay; random ones fill the rest up to the limit.
        let is_wanted = |name: &str| WANTED.contains(&name);
        properties.sort_by_key(|(name, _)| !is_wanted(name));
        let first = properties
            .iter()
            .filter(|(name, _)| is_wanted(name))
            .count();
        properties.truncate(first.max(self.limit));
        // The kind and version of an object come from the step and not from the model.
        properties.retain(|(name, _)| !is_root || !["apiVersion", "kind"].contains(&name.as_str()));
        let field = |(name, property): (&String, &Value)| {
            let mut field = json!({"name": name, "type": self.reference(property)});
            if let Some(default) = property.get("default") {
                set(&mut field, "default", default.clone());
            }
            field
        };

        let fields: Vec<Value> = properties.into_iter().map(field).collect();
        let mut out = json!({"fields": fields});
        if text(schema, "x-kubernetes-map-type") == "atomic" {
            set(&mut out, "elementRelationship", "atomic");
        }
        if let Some(element) = schema.get("additionalProperties") {
            set(&mut out, "elementType", self.reference(element));
        }

        out
    }

    fn list(&mut self, schema: &Value) -> Value {
        // Older definitions have merge strategies in place of list types.
        let merges = text(schema, "x-kubernetes-patch-strategy") == "merge";
        let merge_key = text(schema, "x-kubernetes-patch-merge-key");
        let mut keys: Vec<&str> = strings(schema, "x-kubernetes-list-map-keys").collect();
        if keys.is_empty() && merges && !merge_key.is_empty() {
            keys.push(merge_key);
        }

        let is_set = merges || text(schema, "x-kubernetes-list-type") == "set";
        let relation = if keys.is_empty() && !is_set {
            "atomic"
        } else {
            "associative"
        };
        let element = match schema.get("items") {
            Some(items) => self.reference(items),
            None => json!({"scalar": "untyped"}),
        };

        json!({"elementType": element, "elementRelationship": relation, "keys": keys})
    }
}

/// The name of the type of metadata.
const METADATA: &str = "ObjectMeta";

/// The definitions of a generated kind at one version, where fields of `spec` may have other names.
pub(crate) fn definitions(
    rng: &mut Random,
    kind: &ObjectKind,
    version: &Version,
) -> JsonMap<String, Value> {
    let short = version.name.rsplit('/').next().unwrap_or_default();
    let mut all = kind.definitions.clone();
    let mut metadata = TEMPLATES.part(rng, METADATA, 0);
    extend(&mut metadata, TEMPLATES.part(rng, "required", 0));
    set(&mut all, METADATA, metadata);

    // Each version has its own names, and its own definitions with a suffix.
    if let Some(Value::Object(properties)) = all.pointer_mut("/spec/properties") {
        for (old, new) in &version.names {
            if let Some(property) = properties.remove(old) {
                properties.insert(new.clone(), property);
            }
        }
    }

    // The importer finds the type of a kind by this extension.
    if let Some(root) = all.get_mut(kind.kind) {
        extend(
            root,
            json!({"apiVersion": {"type": "string"}, "kind": {"type": "string"}}),
        );
        let known = json!([{"group": kind.group, "version": short, "kind": kind.kind}]);
        set(root, "x-kubernetes-group-version-kind", known);
    }

    // References lead to the definitions of the same version.
    each(&mut all, &mut |node| {
        if let Some(name) = node.get("$ref").and_then(Value::as_str) {
            let name = format!("{name}.{short}");
            set(node, "$ref", name);
        }
    });
    let all = all.as_object().cloned().unwrap_or_default().into_iter();

    all.map(|(name, schema)| (format!("{name}.{short}"), schema))
        .collect()
}

/// Adds properties to a schema.
fn extend(schema: &mut Value, more: Value) {
    if let (Some(Value::Object(properties)), Value::Object(more)) =
        (schema.get_mut("properties"), more)
    {
        properties.extend(more);
    }
}
