//! The kinds of generated objects: from real definitions, or generated.

use serde_json::{Map as JsonMap, Value, json};

use crate::generate::random::Random;
use crate::generate::types::{
    ATOMIC, Atom, Base, DEDUCED, Field, List, Map, Relation, Scalar, TypeRef, Types,
};

/// A kind of objects, with the generator's model of it.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) types: Types,
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

/// A real kind, with a random part of its properties.
pub(crate) fn real(rng: &mut Random, definitions: &JsonMap<String, Value>) -> Option<Kind> {
    let (group, version, kind, name) = *rng.pick(REAL)?;
    let mut reader = Reader { rng, definitions, open: vec![name.to_owned()], done: Vec::new() };
    while let Some(name) = reader.open.pop() {
        if reader.done.iter().all(|(known, _)| *known != name) {
            let schema = reader.definitions.get(&name)?.clone();
            let atom = reader.atom(&name, &schema);
            reader.done.push((name, atom));
        }
    }
    let mut types = Types { definitions: reader.done, root: name.to_owned() };
    metadata(&mut types);
    Some(Kind { group, version, kind, types })
}

/// Reads definitions of OpenAPI v2.
struct Reader<'a> {
    rng: &'a mut Random,
    definitions: &'a JsonMap<String, Value>,
    open: Vec<String>,
    done: Vec<(String, Atom)>,
}

impl Reader<'_> {
    fn type_ref(&mut self, schema: &Value) -> TypeRef {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            // Metadata is the same for all kinds.
            if name.ends_with(".ObjectMeta") {
                return TypeRef::named(METADATA);
            }
            self.open.push(name.to_owned());
            return TypeRef::named(name);
        }
        TypeRef::inline(self.atom("", schema))
    }

    fn atom(&mut self, name: &str, schema: &Value) -> Atom {
        let text = |member: &str| schema.get(member).and_then(Value::as_str);
        match text("type") {
            _ if name.ends_with(".Quantity") => Atom::scalar(Scalar::Untyped),
            Some("object") => Atom::map(self.map(name, schema)),
            Some("array") => Atom::list(self.list(schema)),
            Some("integer" | "number") => Atom::scalar(Scalar::Numeric),
            Some("boolean") => Atom::scalar(Scalar::Boolean),
            Some("string") if text("format").is_none() => Atom::scalar(Scalar::String),
            _ => Atom::scalar(Scalar::Untyped),
        }
    }

    fn map(&mut self, name: &str, schema: &Value) -> Map {
        let mut out = Map::default();
        if text_is(schema, "x-kubernetes-map-type", "atomic") {
            out.relation = Some(Relation::Atomic);
        }
        out.element = schema.get("additionalProperties").map(|element| self.type_ref(element));
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut names: Vec<&String> = properties.keys().collect();
        self.rng.shuffle(&mut names);
        // The fields that managers conflict on most often, and key fields.
        let wanted = |name: &str| {
            [
                "metadata",
                "spec",
                "status",
                "data",
                "template",
                "containers",
                "replicas",
                "ports",
                "conditions",
            ]
            .contains(&name)
                || ["name", "containerPort", "protocol", "port", "type", "mountPath"].contains(&name)
        };
        names.sort_by_key(|name| !wanted(name));
        let first = names.iter().filter(|name| wanted(name)).count();
        let root =
            name.rsplit('.').next().is_some_and(|last| REAL.iter().any(|(_, _, kind, _)| *kind == last));
        for name in names.into_iter().take(first.max(MAX_PROPERTIES)) {
            if root && (name == "apiVersion" || name == "kind") {
                continue;
            }
            let Some(property) = properties.get(name) else { continue };
            let type_ref = self.type_ref(property);
            out.fields.push(Field {
                name: name.clone(),
                type_ref,
                default: property.get("default").cloned(),
            });
        }
        out
    }

    fn list(&mut self, schema: &Value) -> List {
        let element = schema
            .get("items")
            .map_or_else(|| TypeRef::scalar(Scalar::Untyped), |items| self.type_ref(items));
        let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
        let mut keys: Vec<String> =
            keys.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let merges = text_is(schema, "x-kubernetes-patch-strategy", "merge");
        if keys.is_empty() && merges {
            keys.extend(
                schema.get("x-kubernetes-patch-merge-key").and_then(Value::as_str).map(str::to_owned),
            );
        }
        let set = text_is(schema, "x-kubernetes-list-type", "set");
        let relation = match keys.is_empty() && !set && !merges {
            true => Relation::Atomic,
            false => Relation::Associative,
        };
        List { element, relation, keys }
    }
}

fn text_is(schema: &Value, member: &str, text: &str) -> bool {
    schema.get(member).and_then(Value::as_str) == Some(text)
}

/// The name of the model's type of `metadata`.
const METADATA: &str = "ObjectMeta";

/// Adds the type of metadata, without the fields that every object needs.
pub(crate) fn metadata(types: &mut Types) {
    let text = || TypeRef::scalar(Scalar::String);
    let field = |name: &str, type_ref| Field { name: name.to_owned(), type_ref, default: None };
    let texts = || TypeRef::inline(Atom::map(Map { element: Some(text()), ..Map::default() }));
    let list = |element, keys: &[&str]| {
        let keys = keys.iter().map(|&key| key.to_owned()).collect();
        TypeRef::inline(Atom::list(List { element, relation: Relation::Associative, keys }))
    };
    let owner = Map {
        fields: vec![field("uid", text()), field("controller", TypeRef::scalar(Scalar::Boolean))],
        ..Map::default()
    };
    let fields = vec![
        field("labels", texts()),
        field("annotations", texts()),
        field("finalizers", list(text(), &[])),
        field("ownerReferences", list(TypeRef::inline(Atom::map(owner)), &["uid"])),
        field("generateName", text()),
        field("resourceVersion", text()),
    ];
    types.definitions.push((METADATA.to_owned(), Atom::map(Map { fields, ..Map::default() })));
}

/// The definitions of a generated kind at one version, where fields of `spec` may have other names.
pub(crate) fn definitions(
    kind: &Kind,
    version: &str,
    names: &JsonMap<String, Value>,
) -> JsonMap<String, Value> {
    let writer = Writer { suffix: format!(".{version}") };
    let mut out = JsonMap::new();
    for (name, atom) in &kind.types.definitions {
        if name == DEDUCED || name == ATOMIC {
            continue;
        }
        let mut schema = writer.atom(atom);
        let Some(members) = schema.as_object_mut() else { continue };
        if name == "spec"
            && let Some(Value::Object(properties)) = members.get_mut("properties")
        {
            for (old, new) in names {
                if let (Some(property), Some(new)) = (properties.remove(old), new.as_str()) {
                    properties.insert(new.to_owned(), property);
                }
            }
        }
        let mut add = |fields: &[&str]| {
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                properties.extend(fields.iter().map(|&field| (field.to_owned(), json!({"type": "string"}))));
            }
        };
        if *name == kind.types.root {
            add(&["apiVersion", "kind"]);
            let known = json!([{"group": kind.group, "version": version, "kind": kind.kind}]);
            members.insert("x-kubernetes-group-version-kind".to_owned(), known);
        } else if name == METADATA {
            add(&["name", "namespace", "uid", "creationTimestamp"]);
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                let entries =
                    json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "atomic"});
                properties.insert("managedFields".to_owned(), entries);
            }
        }
        out.insert(writer.name(name), schema);
    }
    out
}

struct Writer {
    suffix: String,
}

impl Writer {
    fn name(&self, name: &str) -> String {
        format!("{name}{}", self.suffix)
    }

    fn type_ref(&self, type_ref: &TypeRef) -> Value {
        match &type_ref.base {
            Base::Named(name) if name == DEDUCED || name == ATOMIC => {
                json!({"x-kubernetes-preserve-unknown-fields": true})
            }
            Base::Named(name) => json!({"$ref": format!("#/definitions/{}", self.name(name))}),
            Base::Inline(atom) => self.atom(atom),
        }
    }

    fn atom(&self, atom: &Atom) -> Value {
        let mut out = JsonMap::new();
        let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
        if let Some(map) = &atom.map {
            put("type", json!("object"));
            let property = |field: &Field| {
                let mut schema = self.type_ref(&field.type_ref);
                if let (Some(default), Some(members)) = (&field.default, schema.as_object_mut()) {
                    members.insert("default".to_owned(), default.clone());
                }
                (field.name.clone(), schema)
            };
            if !map.fields.is_empty() {
                put("properties", Value::Object(map.fields.iter().map(property).collect()));
            }
            if let Some(element) = &map.element {
                put("additionalProperties", self.type_ref(element));
            }
            if map.is_atomic() {
                put("x-kubernetes-map-type", json!("atomic"));
            }
        } else if let Some(list) = &atom.list {
            put("type", json!("array"));
            put("items", self.type_ref(&list.element));
            let kind = match (list.relation, list.keys.is_empty()) {
                (Relation::Associative, true) => "set",
                (Relation::Associative, false) => "map",
                _ => "atomic",
            };
            put("x-kubernetes-list-type", json!(kind));
            if kind == "map" {
                put("x-kubernetes-list-map-keys", json!(list.keys));
            }
        } else {
            match atom.scalar {
                Some(Scalar::Numeric) => put("type", json!("number")),
                Some(Scalar::Boolean) => put("type", json!("boolean")),
                Some(Scalar::String) => put("type", json!("string")),
                _ => {
                    put("type", json!("string"));
                    put("format", json!("int-or-string"))
                }
            };
        }
        Value::Object(out)
    }
}
