//! Random schemas, and random changes to a schema.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::random::Random;
use super::template::Templates;
use super::types::{ATOMIC, DEDUCED, Types, named};
use crate::json::{each, member, set, text, unset};

const KEY_FIELDS: &[&str] = &["name", "key", "port", "proto"];

/// Keys of maps that accept any key.
pub(crate) const FREE_KEYS: &[&str] = &["k", "l", "m", "n"];

/// The levels of types inside of types.
const MAX_DEPTH: usize = 3;

pub(crate) static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::of(include_str!("types.yaml")));

/// A random schema whose root is most often a struct.
pub(crate) fn random(rng: &mut Random) -> Types {
    if rng.chance(4) {
        let root = DEDUCED.to_owned();
        return Types {
            definitions: definitions(rng, "deduced"),
            root,
        };
    }

    let mut made = vec![json!({"name": "root", "map": TEMPLATES.part(rng, "root", MAX_DEPTH)})];
    for number in 0..rng.between(1, 5) {
        let mut atom = TEMPLATES.part(rng, "atom", MAX_DEPTH);
        set(&mut atom, "name", format!("type{number}"));
        made.push(atom);
    }

    // Deduced types have owners for every field of a map, whatever the fields are.
    if rng.chance(30) {
        made.extend(definitions(rng, "deduced"));
    }
    // A reference needs the named types, so references are settled after all types exist.
    let mut settler = Settler {
        rng,
        known: made.clone(),
        hoisted: Vec::new(),
    };
    made.iter_mut()
        .for_each(|ty| each(ty, &mut |node| settler.settle(node)));
    if let Some(fields) = made.first_mut().and_then(|root| root.pointer_mut("/map")) {
        settler.complete(fields);
    }

    made.append(&mut settler.hoisted);

    // The root is not always the first type, and not always a struct.
    let mut root = "root".to_owned();
    if rng.chance(6)
        && let Some(other) = rng.pick(&made)
    {
        text(other, "name").clone_into(&mut root);
    }

    rng.shuffle(&mut made);
    Types {
        definitions: made,
        root,
    }
}

/// Types like those of a workload with its pod template.
pub(crate) fn workload(rng: &mut Random) -> Types {
    Types {
        definitions: definitions(rng, "workload"),
        root: "root".to_owned(),
    }
}

/// The types of a part of the templates.
pub(crate) fn definitions(rng: &mut Random, part: &str) -> Vec<Value> {
    let part = TEMPLATES.part(rng, part, 0);
    part.as_array().cloned().unwrap_or_default()
}

/// Replaces what the templates of types leave open.
struct Settler<'a> {
    rng: &'a mut Random,
    /// The named types.
    known: Vec<Value>,
    /// The items of lists that are named types too.
    hoisted: Vec<Value>,
}

impl Settler<'_> {
    fn settle(&mut self, node: &mut Value) {
        // Templates have fields as a map, a schema as a list, whose order must not matter.
        if let Some(Value::Object(fields)) = node.get("fields") {
            let field = |(name, field): (&String, &Value)| {
                let mut field = field.clone();
                set(&mut field, "name", name.as_str());
                field
            };
            let mut fields: Vec<Value> = fields.iter().map(field).collect();
            self.rng.shuffle(&mut fields);
            set(node, "fields", fields);
        }

        match text(node, "namedType") {
            "@any" => {
                let names = self.names();
                let name = self.rng.of(&names);
                *node = self.reference(&name);
            }
            "@scalar" => {
                let is_scalar = |ty: &&Value| ty.get("list").is_none() && ty.get("map").is_none();
                let scalars: Vec<&Value> = self.known.iter().filter(is_scalar).collect();
                *node = match self.rng.pick(&scalars) {
                    Some(scalar) => named(text(scalar, "name")),
                    None => json!({"scalar": TEMPLATES.part(self.rng, "scalar", 0)}),
                };
            }
            _ => {}
        }

        if member(node, "keys") == "@keys" {
            self.keys(node);
        }
    }

    fn names(&self) -> Vec<String> {
        let names = self.known.iter().map(|ty| text(ty, "name").to_owned());
        names
            .filter(|name| name != "root" && name != ATOMIC)
            .collect()
    }

    /// Gives keys to a list, and their fields to its items.
    fn keys(&mut self, list: &mut Value) {
        let mut names = KEY_FIELDS.to_vec();
        self.rng.shuffle(&mut names);
        names.truncate(self.rng.weighted(&[(60, 1), (30, 2), (10, 3)], 1));
        let percent = if names.len() == 1 { 8 } else { 35 };
        let mut more = Vec::new();

        for (position, name) in names.iter().enumerate() {
            let scalar = TEMPLATES.part(self.rng, "scalar", 0);
            let mut field = json!({"name": name, "type": {"scalar": scalar}});
            // The first of several keys has no default, so that an item without any key stays invalid.
            if (position > 0 || names.len() == 1) && self.rng.chance(percent) {
                set(&mut field, "default", self.default(&scalar));
            }
            more.push(field);
        }

        set(list, "keys", names);
        let Some(element) = list.get_mut("elementType") else {
            return;
        };
        if let Some(Value::Array(fields)) = element.pointer_mut("/map/fields") {
            fields.append(&mut more);
            self.rng.shuffle(fields);
        }

        if text(element, "namedType") == "@item" {
            let name = format!("item{}", self.hoisted.len());
            let map = unset(element, "map");
            self.hoisted.push(json!({"name": name, "map": map}));
            set(element, "namedType", name);
        }
    }

    fn default(&mut self, scalar: &Value) -> Value {
        match scalar.as_str() {
            Some("string") => json!(self.rng.name(&["a", "b", "TCP"])),
            Some("numeric") => json!(self.rng.below(3)),
            Some("boolean") => json!(self.rng.chance(50)),
            _ if self.rng.chance(50) => json!(self.rng.below(3)),
            _ => json!(self.rng.name(&["a", "b"])),
        }
    }

    /// Makes the named types reachable from the root.
    fn complete(&mut self, root: &mut Value) {
        unset(root, "elementRelationship");
        for (number, name) in self.names().iter().enumerate() {
            if self.rng.chance(85) {
                let field = json!({"name": format!("field{number}"), "type": self.reference(name)});
                if let Some(Value::Array(fields)) = root.get_mut("fields") {
                    fields.push(field);
                }
            }
        }
    }

    /// A reference by name, sometimes with another relationship than that of the type. A reference to a scalar has no
    /// relationship, because it could not be resolved.
    fn reference(&mut self, name: &str) -> Value {
        let mut out = named(name);
        if !self.rng.chance(18) {
            return out;
        }
        let ty = self.known.iter().find(|ty| text(ty, "name") == name);
        let ty = ty.unwrap_or(&Value::Null);
        // A type of several kinds keeps its relationship, since an override applies to one of them.
        let relation = match (ty.get("scalar"), ty.get("list"), ty.get("map")) {
            (None, None, Some(_)) => self.rng.weighted(&[(60, "atomic"), (40, "separable")], ""),
            (None, Some(list), None) if text(list, "elementRelationship") == "associative" => self
                .rng
                .weighted(&[(70, "atomic"), (30, "associative")], ""),
            (None, Some(_), None) => "atomic",
            _ if name == DEDUCED => "atomic",
            _ => return out,
        };
        set(&mut out, "elementRelationship", relation);

        out
    }
}

/// Changes a schema in realistic ways: atomic types become granular or granular ones atomic, and fields are added and
/// removed.
pub(crate) fn change(rng: &mut Random, types: &Types) -> Types {
    let mut changed = types.clone();
    for _ in 0..rng.between(1, 3) {
        let index = rng.below(changed.definitions.len());
        // The types before the change tell which lists can become associative.
        let before = changed.clone();
        if let Some(ty) = changed.definitions.get_mut(index)
            && ![ATOMIC, DEDUCED].contains(&text(ty, "name"))
        {
            change_atom(rng, &before, ty, 0);
        }
    }

    changed
}

fn change_atom(rng: &mut Random, types: &Types, atom: &mut Value, depth: usize) {
    if let Some(list) = atom.get_mut("list") {
        let can_associate = types.can_associate(list);
        // A named type is changed where it is defined.
        let inner = list
            .get_mut("elementType")
            .filter(|inner| inner.get("namedType").is_none());
        if depth < 3
            && rng.chance(50)
            && let Some(inner) = inner
        {
            return change_atom(rng, types, inner, depth + 1);
        }

        match text(list, "elementRelationship") {
            "associative" => set(list, "elementRelationship", "atomic"),
            _ if can_associate => set(list, "elementRelationship", "associative"),
            _ => {}
        }
    } else if let Some(map) = atom.get_mut("map") {
        change_map(rng, types, map, depth);
    } else if atom.get("scalar").is_some() && rng.chance(50) {
        set(atom, "scalar", "untyped");
    }
}

fn change_map(rng: &mut Random, types: &Types, map: &mut Value, depth: usize) {
    let kind = rng.below(10);
    if kind < 3 {
        return match text(map, "elementRelationship") {
            "atomic" => drop(unset(map, "elementRelationship")),
            _ => set(map, "elementRelationship", "atomic"),
        };
    }

    // A map of any keys can get fields too.
    if map.get("fields").is_none() {
        set(map, "fields", json!([]));
    }
    if let Some(Value::Array(fields)) = map.get_mut("fields") {
        change_fields(rng, types, fields, kind, depth);
    }

    // Go tells an empty list of fields from none, see docs/deviations.md.
    if map.get("fields") == Some(&json!([])) {
        unset(map, "fields");
    }
}

/// Adds, removes or changes fields of a map, as `kind` says.
fn change_fields(
    rng: &mut Random,
    types: &Types,
    fields: &mut Vec<Value>,
    kind: usize,
    depth: usize,
) {
    match kind {
        3 => {
            let name = format!("extra{}", fields.len());
            fields.push(json!({"name": name, "type": {"scalar": "string"}}));
        }
        4 if rng.chance(30) => drop(fields.pop()),
        5 => {
            // Adds or removes the default of a list key.
            for field in fields {
                if KEY_FIELDS.contains(&text(field, "name"))
                    && rng.chance(50)
                    && unset(field, "default").is_none()
                {
                    set(field, "default", "a");
                }
            }
        }
        _ => {
            let index = rng.below(fields.len());
            if let Some(ty) = fields
                .get_mut(index)
                .and_then(|field| field.get_mut("type"))
            {
                change_reference(rng, types, ty, depth);
            }
        }
    }
}

fn change_reference(rng: &mut Random, types: &Types, reference: &mut Value, depth: usize) {
    if reference.get("namedType").is_none() {
        return change_atom(rng, types, reference, depth + 1);
    }
    if unset(reference, "elementRelationship").is_some() {
        return;
    }

    // The new relationship must differ from that of the type, or nothing would change.
    let atom = types.resolve(reference);
    let list = types
        .find(text(reference, "namedType"))
        .map(|ty| member(ty, "list"));
    let relation = match (atom.map, atom.list) {
        (Some(map), _) if map.is_atomic() => "separable",
        (Some(_), _) => "atomic",
        (None, Some(of)) if of.is_associative() => "atomic",
        (None, Some(_)) if list.is_some_and(|list| types.can_associate(list)) => "associative",
        _ => return,
    };
    set(reference, "elementRelationship", relation);
}
