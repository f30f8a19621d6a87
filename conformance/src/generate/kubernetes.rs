//! A schema with the shapes of Kubernetes objects, for large objects.

use serde_json::{Value, json};

use super::types::{Atom, Field, List, Map, Relation, Scalar, TypeRef, Types};

/// Types like those of a workload with its pod template.
pub(crate) fn types() -> Types {
    let definitions = vec![
        (
            "root",
            structure(vec![
                field("kind", text()),
                field("metadata", named("metadata")),
                field("spec", named("spec")),
                field("data", map_of(text())),
                field("status", named("status")),
            ]),
        ),
        (
            "metadata",
            structure(vec![
                field("labels", map_of(text())),
                field("annotations", map_of(text())),
                field("finalizers", set(text())),
                field(
                    "owners",
                    keyed(
                        structure_ref(vec![
                            field("uid", text()),
                            field("controller", TypeRef::scalar(Scalar::Boolean)),
                        ]),
                        &["uid"],
                    ),
                ),
            ]),
        ),
        (
            "spec",
            structure(vec![
                field("replicas", number()),
                field("selector", atomic(named("labels"))),
                field("containers", keyed(named("container"), &["name"])),
                field("volumes", keyed(named("volume"), &["name"])),
                field("tolerations", atomic_list(structure_ref(vec![field("effect", text())]))),
                field("rules", keyed(named("rule"), &["priority"])),
                field("hosts", set(text())),
            ]),
        ),
        ("labels", Atom::map(Map { element: Some(text()), ..Map::default() })),
        (
            "container",
            structure(vec![
                field("name", text()),
                field("image", text()),
                field("command", atomic_list(text())),
                field(
                    "env",
                    keyed(
                        structure_ref(vec![
                            field("name", text()),
                            field("value", text()),
                            field(
                                "from",
                                atomic(structure_ref(vec![field("secret", text()), field("path", text())])),
                            ),
                        ]),
                        &["name"],
                    ),
                ),
                field(
                    "ports",
                    keyed(
                        structure_ref(vec![
                            field("port", number()),
                            with_default("protocol", text(), json!("TCP")),
                            field("name", text()),
                        ]),
                        &["port", "protocol"],
                    ),
                ),
                field("resources", map_of(TypeRef::scalar(Scalar::Untyped))),
            ]),
        ),
        (
            "volume",
            structure(vec![
                field("name", text()),
                field("secret", structure_ref(vec![field("items", atomic_list(text()))])),
                field("source", map_of(text())),
            ]),
        ),
        (
            "rule",
            structure(vec![
                field("priority", number()),
                field("verbs", set(text())),
                field("match", map_of(text())),
            ]),
        ),
        (
            "status",
            structure(vec![
                field(
                    "conditions",
                    keyed(
                        structure_ref(vec![
                            field("type", text()),
                            field("status", text()),
                            field("generation", number()),
                        ]),
                        &["type"],
                    ),
                ),
                field("addresses", set(number())),
            ]),
        ),
    ];
    let definitions = definitions.into_iter().map(|(name, atom)| (name.to_owned(), atom)).collect();
    Types { definitions, root: "root".to_owned() }
}

fn text() -> TypeRef {
    TypeRef::scalar(Scalar::String)
}

fn number() -> TypeRef {
    TypeRef::scalar(Scalar::Numeric)
}

fn named(name: &str) -> TypeRef {
    TypeRef::named(name)
}

fn field(name: &str, type_ref: TypeRef) -> Field {
    Field { name: name.to_owned(), type_ref, default: None }
}

fn with_default(name: &str, type_ref: TypeRef, default: Value) -> Field {
    Field { name: name.to_owned(), type_ref, default: Some(default) }
}

fn structure(fields: Vec<Field>) -> Atom {
    Atom::map(Map { fields, ..Map::default() })
}

fn structure_ref(fields: Vec<Field>) -> TypeRef {
    TypeRef::inline(structure(fields))
}

fn map_of(element: TypeRef) -> TypeRef {
    TypeRef::inline(Atom::map(Map { element: Some(element), ..Map::default() }))
}

fn atomic(mut type_ref: TypeRef) -> TypeRef {
    type_ref.relation = Some(Relation::Atomic);
    type_ref
}

fn list(element: TypeRef, relation: Relation, keys: &[&str]) -> TypeRef {
    let keys = keys.iter().map(|&key| key.to_owned()).collect();
    TypeRef::inline(Atom::list(List { element, relation, keys }))
}

fn set(element: TypeRef) -> TypeRef {
    list(element, Relation::Associative, &[])
}

fn keyed(element: TypeRef, keys: &[&str]) -> TypeRef {
    list(element, Relation::Associative, keys)
}

fn atomic_list(element: TypeRef) -> TypeRef {
    list(element, Relation::Atomic, &[])
}
