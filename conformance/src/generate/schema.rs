//! Random schemas, and random changes to a schema.

use serde_json::{Value, json};

use super::random::Random;
use super::types::{ATOMIC, Atom, Base, DEDUCED, Field, List, Map, Relation, Scalar, TypeRef, Types};

/// Names of declared fields. They are disjoint from [`FREE_KEYS`], so that a rename never makes two keys of a map equal.
const FIELDS: &[&str] = &["alpha", "beta", "gamma", "delta", "spec", "items", "meta", "value"];
const KEY_FIELDS: &[&str] = &["name", "key", "port", "proto"];

/// Keys of maps that accept any key.
pub(crate) const FREE_KEYS: &[&str] = &["k", "l", "m", "n"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Struct,
    MapOf,
    Set,
    Keyed,
    AtomicList,
    AtomicMap,
    Scalar,
    Mixed,
    Deduced,
}

/// A random schema whose root is most often a struct.
pub(crate) fn random(rng: &mut Random) -> Types {
    if rng.chance(4) {
        return Types { definitions: deduced(), root: DEDUCED.to_owned() };
    }
    let mut builder = Builder { rng, kinds: Vec::new(), definitions: Vec::new(), items: 0 };
    builder.kinds.push(("root".to_owned(), Kind::Struct));
    for number in 0..builder.rng.between(1, 5) {
        let kind = builder.kind();
        builder.kinds.push((format!("type{number}"), kind));
    }
    if builder.rng.chance(30) {
        builder.kinds.push((DEDUCED.to_owned(), Kind::Deduced));
    }
    for (name, kind) in builder.kinds.clone() {
        let atom = match kind {
            Kind::Deduced => continue,
            Kind::Struct if name == "root" => Atom::map(builder.root()),
            _ => builder.atom(kind, 0),
        };
        builder.definitions.push((name, atom));
    }
    let has_deduced = builder.kinds.iter().any(|(_, kind)| *kind == Kind::Deduced);
    let mut definitions = builder.definitions;
    if has_deduced {
        definitions.extend(deduced());
    }
    // The root is not always the first type, and not always a struct.
    let mut root = "root".to_owned();
    if rng.chance(6)
        && let Some((name, _)) = rng.pick(&definitions)
    {
        root.clone_from(name);
    }
    rng.shuffle(&mut definitions);
    Types { definitions, root }
}

/// The two types that treat an object without knowing its type.
pub(crate) fn deduced() -> Vec<(String, Atom)> {
    let atom = |element: &str, relation| Atom {
        scalar: Some(Scalar::Untyped),
        list: Some(Box::new(List {
            element: TypeRef::named(ATOMIC),
            relation: Relation::Atomic,
            keys: Vec::new(),
        })),
        map: Some(Box::new(Map {
            fields: Vec::new(),
            element: Some(TypeRef::named(element)),
            relation: Some(relation),
        })),
    };
    vec![
        (ATOMIC.to_owned(), atom(ATOMIC, Relation::Atomic)),
        (DEDUCED.to_owned(), atom(DEDUCED, Relation::Separable)),
    ]
}

struct Builder<'a> {
    rng: &'a mut Random,
    kinds: Vec<(String, Kind)>,
    definitions: Vec<(String, Atom)>,
    items: usize,
}

impl Builder<'_> {
    fn kind(&mut self) -> Kind {
        self.rng.weighted(
            &[
                (28, Kind::Struct),
                (12, Kind::MapOf),
                (12, Kind::Set),
                (20, Kind::Keyed),
                (8, Kind::AtomicList),
                (7, Kind::AtomicMap),
                (4, Kind::Scalar),
                (9, Kind::Mixed),
            ],
            Kind::Struct,
        )
    }

    fn atom(&mut self, kind: Kind, depth: usize) -> Atom {
        match kind {
            Kind::Struct => Atom::map(self.structure(depth)),
            Kind::MapOf => Atom::map(self.map_of(depth)),
            Kind::Set => Atom::list(self.set()),
            Kind::Keyed => Atom::list(self.keyed(depth)),
            Kind::AtomicList => Atom::list(self.atomic_list(depth)),
            Kind::AtomicMap => {
                let mut map = if self.rng.chance(50) { self.structure(depth) } else { self.map_of(depth) };
                map.relation = Some(Relation::Atomic);
                Atom::map(map)
            }
            Kind::Scalar | Kind::Deduced => Atom::scalar(self.scalar()),
            Kind::Mixed => self.mixed(depth),
        }
    }

    /// An atom that allows several kinds of value.
    fn mixed(&mut self, depth: usize) -> Atom {
        let mut atom = Atom::default();
        let without = self.rng.below(4);
        if without != 0 {
            atom.scalar = Some(self.scalar());
        }
        if without != 1 {
            let list = match self.rng.below(3) {
                0 => self.set(),
                1 => self.keyed(depth),
                _ => self.atomic_list(depth),
            };
            atom.list = Some(list.into());
        }
        if without != 2 {
            let mut map = if self.rng.chance(50) { self.structure(depth) } else { self.map_of(depth) };
            if self.rng.chance(20) {
                map.relation = Some(Relation::Atomic);
            }
            atom.map = Some(map.into());
        }
        atom
    }

    fn scalar(&mut self) -> Scalar {
        self.rng.weighted(
            &[(40, Scalar::String), (30, Scalar::Numeric), (12, Scalar::Boolean), (18, Scalar::Untyped)],
            Scalar::String,
        )
    }

    fn root(&mut self) -> Map {
        let mut map = self.structure(0);
        // Every named type must be reachable from the root.
        let names: Vec<_> = self.kinds.iter().skip(1).map(|(name, _)| name.clone()).collect();
        for (number, name) in names.iter().enumerate() {
            if self.rng.chance(85) {
                let type_ref = self.named(name);
                map.fields.push(Field { name: format!("field{number}"), type_ref, default: None });
            }
        }
        map.relation = None;
        map
    }

    fn structure(&mut self, depth: usize) -> Map {
        let mut names = FIELDS.to_vec();
        self.rng.shuffle(&mut names);
        let count = self.rng.between(1, if depth == 0 { 4 } else { 3 });
        let mut map = Map::default();
        for name in names.into_iter().take(count) {
            let type_ref = self.type_ref(depth + 1);
            // Only defaults of keys have an effect; others must be ignored.
            let default = self.rng.chance(4).then(|| json!("a"));
            map.fields.push(Field { name: name.to_owned(), type_ref, default });
        }
        if self.rng.chance(15) {
            map.element = Some(self.type_ref(depth + 1));
        }
        map.relation = self.granular();
        map
    }

    fn map_of(&mut self, depth: usize) -> Map {
        Map { fields: Vec::new(), element: Some(self.type_ref(depth + 1)), relation: self.granular() }
    }

    /// One of the ways to declare that a map is granular.
    fn granular(&mut self) -> Option<Relation> {
        self.rng
            .weighted(&[(70, None), (20, Some(Relation::Separable)), (10, Some(Relation::Associative))], None)
    }

    fn set(&mut self) -> List {
        let scalars: Vec<_> = self
            .kinds
            .iter()
            .filter(|(_, kind)| *kind == Kind::Scalar)
            .map(|(name, _)| name.clone())
            .collect();
        let element = match self.rng.pick(&scalars) {
            Some(name) if self.rng.chance(50) => TypeRef::named(name),
            _ => TypeRef::scalar(self.scalar()),
        };
        List { element, relation: Relation::Associative, keys: Vec::new() }
    }

    fn keyed(&mut self, depth: usize) -> List {
        let mut map = self.structure(depth + 1);
        let mut names = KEY_FIELDS.to_vec();
        self.rng.shuffle(&mut names);
        let count = self.rng.weighted(&[(60, 1), (30, 2), (10, 3)], 1);
        let mut keys = Vec::new();
        for (position, name) in names.into_iter().take(count).enumerate() {
            let scalar = self.scalar();
            let percent = if count == 1 { 8 } else { 35 };
            let default =
                (position > 0 || count == 1).then(|| self.rng.chance(percent).then(|| self.default(scalar)));
            keys.push(name.to_owned());
            map.fields.push(Field {
                name: name.to_owned(),
                type_ref: TypeRef::scalar(scalar),
                default: default.flatten(),
            });
        }
        let mut fields = std::mem::take(&mut map.fields);
        self.rng.shuffle(&mut fields);
        map.fields = fields;
        let mut element = TypeRef::inline(Atom::map(map));
        if let Base::Inline(atom) = &element.base
            && self.rng.chance(40)
        {
            let name = format!("item{}", self.items);
            self.items += 1;
            self.definitions.push((name.clone(), atom.clone()));
            element = TypeRef::named(&name);
        }
        // Atomic items inside an associative list.
        if self.rng.chance(8) {
            element.relation = Some(Relation::Atomic);
        }
        List { element, relation: Relation::Associative, keys }
    }

    fn default(&mut self, scalar: Scalar) -> Value {
        match scalar {
            Scalar::String => json!(self.rng.name(&["a", "b", "TCP"])),
            Scalar::Numeric => json!(self.rng.below(3)),
            Scalar::Boolean => json!(self.rng.chance(50)),
            Scalar::Untyped if self.rng.chance(50) => json!(self.rng.below(3)),
            Scalar::Untyped => json!(self.rng.name(&["a", "b"])),
        }
    }

    fn atomic_list(&mut self, depth: usize) -> List {
        let mut list = match self.rng.below(3) {
            0 => self.set(),
            1 => self.keyed(depth),
            _ => List { element: self.type_ref(depth + 1), relation: Relation::Atomic, keys: Vec::new() },
        };
        list.relation = Relation::Atomic;
        list
    }

    fn type_ref(&mut self, depth: usize) -> TypeRef {
        let names: Vec<_> = self.kinds.iter().skip(1).map(|(name, _)| name.clone()).collect();
        if !names.is_empty() && self.rng.chance(if depth < 3 { 35 } else { 15 }) {
            let name = self.rng.pick(&names).cloned().unwrap_or_default();
            return self.named(&name);
        }
        if depth >= 3 || self.rng.chance(50) {
            return TypeRef::scalar(self.scalar());
        }
        let kind = self.kind();
        let mut type_ref = TypeRef::inline(self.atom(kind, depth));
        type_ref.nullable = self.rng.chance(3);
        type_ref
    }

    /// A reference by name, sometimes with another relationship than that of the type. A reference to a scalar has no
    /// relationship, because it could not be resolved.
    fn named(&mut self, name: &str) -> TypeRef {
        let kind = self.kinds.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
        let mut type_ref = TypeRef::named(name);
        if self.rng.chance(18) {
            type_ref.relation = match kind {
                Some(Kind::Struct | Kind::MapOf | Kind::AtomicMap) => {
                    Some(if self.rng.chance(60) { Relation::Atomic } else { Relation::Separable })
                }
                Some(Kind::Set | Kind::Keyed) => {
                    Some(if self.rng.chance(70) { Relation::Atomic } else { Relation::Associative })
                }
                Some(Kind::AtomicList | Kind::Deduced) => Some(Relation::Atomic),
                _ => None,
            };
        }
        type_ref
    }
}

/// Changes a schema in realistic ways: atomic types become granular or granular ones atomic, and fields are added and
/// removed.
pub(crate) fn change(rng: &mut Random, types: &Types) -> Types {
    let mut changed = types.clone();
    for _ in 0..rng.between(1, 3) {
        let index = rng.below(changed.definitions.len());
        let before = changed.clone();
        if let Some((name, atom)) = changed.definitions.get_mut(index)
            && name != ATOMIC
            && name != DEDUCED
        {
            change_atom(rng, &before, atom, 0);
        }
    }
    changed
}

fn change_atom(rng: &mut Random, types: &Types, atom: &mut Atom, depth: usize) {
    if let Some(list) = &mut atom.list {
        if depth < 3
            && rng.chance(50)
            && let Base::Inline(inner) = &mut list.element.base
        {
            return change_atom(rng, types, inner, depth + 1);
        }
        match list.relation {
            Relation::Associative => list.relation = Relation::Atomic,
            _ if types.can_associate(list) => list.relation = Relation::Associative,
            _ => {}
        }
        return;
    }
    let Some(map) = &mut atom.map else {
        if atom.scalar.is_some() && rng.chance(50) {
            atom.scalar = Some(Scalar::Untyped);
        }
        return;
    };
    match rng.below(10) {
        0..=2 => {
            map.relation = if map.is_atomic() { None } else { Some(Relation::Atomic) };
        }
        3 => map.fields.push(Field {
            name: format!("extra{}", map.fields.len()),
            type_ref: TypeRef::scalar(Scalar::String),
            default: None,
        }),
        4 if rng.chance(30) => {
            map.fields.pop();
        }
        5 => {
            // Adds or removes the default of a list key.
            for field in &mut map.fields {
                if KEY_FIELDS.contains(&field.name.as_str()) && rng.chance(50) {
                    field.default = if field.default.is_some() { None } else { Some(json!("a")) };
                }
            }
        }
        _ => {
            let index = rng.below(map.fields.len());
            if let Some(field) = map.fields.get_mut(index) {
                change_ref(rng, types, &mut field.type_ref, depth);
            }
        }
    }
}

fn change_ref(rng: &mut Random, types: &Types, type_ref: &mut TypeRef, depth: usize) {
    if let Base::Inline(atom) = &mut type_ref.base {
        return change_atom(rng, types, atom, depth + 1);
    }
    let plain = TypeRef { relation: None, ..type_ref.clone() };
    let atom = types.resolve(&plain);
    type_ref.relation = match (type_ref.relation, &atom.map, &atom.list) {
        (Some(_), _, _) => None,
        (None, Some(map), _) if map.is_atomic() => Some(Relation::Separable),
        (None, Some(_), _) => Some(Relation::Atomic),
        (None, None, Some(list)) if list.relation == Relation::Associative => Some(Relation::Atomic),
        (None, None, Some(list)) if types.can_associate(list) => Some(Relation::Associative),
        _ => None,
    };
}
