//! Random kinds: small structs in `spec` and `status` that OpenAPI can describe.

use serde_json::{Value, json};

use super::kinds::{Kind, metadata};
use crate::generate::random::Random;
use crate::generate::types::{Atom, DEDUCED, Field, List, Map, Relation, Scalar, TypeRef, Types};

const FIELDS: &[&str] = &["alpha", "beta", "gamma", "delta", "items", "value"];
const KEY_FIELDS: &[&str] = &["name", "key", "port"];
const MAX_DEPTH: usize = 3;

/// A random kind at versions of `example.com`.
pub(crate) fn random(rng: &mut Random) -> Kind {
    let spec = structure(rng, 0);
    let status = structure(rng, 1);
    let field = |name: &str, type_ref| Field { name: name.to_owned(), type_ref, default: None };
    let mut fields = vec![
        field("metadata", TypeRef::named("ObjectMeta")),
        field("spec", TypeRef::named("spec")),
        field("status", TypeRef::named("status")),
    ];
    if rng.chance(30) {
        fields.push(field("extra", type_ref(rng, 1)));
    }
    let root = Map { fields, ..Map::default() };
    let mut definitions = vec![
        ("Thing".to_owned(), Atom::map(root)),
        ("spec".to_owned(), Atom::map(spec)),
        ("status".to_owned(), Atom::map(status)),
    ];
    rng.shuffle(&mut definitions);
    definitions.extend(untyped());
    let mut types = Types { definitions, root: "Thing".to_owned() };
    metadata(&mut types);
    // Untyped fields are declared by a keyword, and need no definition.
    Kind { group: "example.com", version: "v1", kind: "Thing", types }
}

/// The values of untyped fields.
fn untyped() -> Vec<(String, Atom)> {
    crate::generate::schema::deduced()
}

fn structure(rng: &mut Random, depth: usize) -> Map {
    let mut names = FIELDS.to_vec();
    rng.shuffle(&mut names);
    let count = rng.between(1, if depth == 0 { 5 } else { 3 });
    let mut map = Map::default();
    for name in names.into_iter().take(count) {
        map.fields.push(Field { name: name.to_owned(), type_ref: type_ref(rng, depth + 1), default: None });
    }
    map
}

fn type_ref(rng: &mut Random, depth: usize) -> TypeRef {
    if depth >= MAX_DEPTH {
        return TypeRef::scalar(scalar(rng));
    }
    match rng.below(100) {
        0..=34 => TypeRef::scalar(scalar(rng)),
        35..=49 => TypeRef::inline(Atom::map(structure(rng, depth))),
        50..=59 => {
            let element = Some(type_ref(rng, depth + 1));
            TypeRef::inline(Atom::map(Map { element, ..Map::default() }))
        }
        60..=68 => {
            let element = TypeRef::scalar(scalar(rng));
            TypeRef::inline(Atom::list(List { element, relation: Relation::Associative, keys: Vec::new() }))
        }
        69..=83 => TypeRef::inline(Atom::list(keyed(rng, depth))),
        84..=88 => {
            let element = type_ref(rng, depth + 1);
            TypeRef::inline(Atom::list(List { element, relation: Relation::Atomic, keys: Vec::new() }))
        }
        89..=93 => {
            let map = Map { relation: Some(Relation::Atomic), ..structure(rng, depth) };
            TypeRef::inline(Atom::map(map))
        }
        _ => TypeRef::named(DEDUCED),
    }
}

fn keyed(rng: &mut Random, depth: usize) -> List {
    let mut map = structure(rng, depth + 1);
    let mut names = KEY_FIELDS.to_vec();
    rng.shuffle(&mut names);
    let count = if rng.chance(70) { 1 } else { 2 };
    let mut keys = Vec::new();
    for (position, name) in names.into_iter().take(count).enumerate() {
        let scalar = if rng.chance(60) { Scalar::String } else { Scalar::Numeric };
        let default: Value = if scalar == Scalar::String { json!("a") } else { json!(1) };
        let default = (position > 0 && rng.chance(40)).then_some(default);
        keys.push(name.to_owned());
        map.fields.push(Field { name: name.to_owned(), type_ref: TypeRef::scalar(scalar), default });
    }
    List { element: TypeRef::inline(Atom::map(map)), relation: Relation::Associative, keys }
}

fn scalar(rng: &mut Random) -> Scalar {
    rng.weighted(
        &[(45, Scalar::String), (30, Scalar::Numeric), (12, Scalar::Boolean), (13, Scalar::Untyped)],
        Scalar::String,
    )
}
