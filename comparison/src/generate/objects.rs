//! Random objects of a type, and random changes to an object.

use std::collections::HashSet;

use serde_json::{Map as JsonMap, Value, json};

use super::random::Random;
use super::schema::{FREE_KEYS, TEMPLATES};
use super::types::{ListType, MapType, Types};
use crate::json::{children_mut, member, set, text};

/// Below this depth only leaves are generated, so that values of recursive types are finite.
const MAX_DEPTH: usize = 6;

const STRINGS: &[&str] = &["a", "b", "c", "d"];

/// Generates values of the types of one schema.
pub(crate) struct Objects<'a> {
    rng: &'a mut Random,
    types: &'a Types,
    large: bool,
    /// The number of nodes that may still be generated; without it, a recursive type with large lists is unbounded.
    budget: usize,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(rng: &'a mut Random, types: &'a Types, large: bool) -> Self {
        Self {
            rng,
            types,
            large,
            budget: 0,
        }
    }

    /// A new object of the scenario's type.
    pub(crate) fn object(mut self) -> Value {
        self.budget = if self.large { 1500 } else { 120 };
        if self.rng.chance(2) {
            return Value::Null;
        }
        self.value(&self.types.root_ref(), 0, false)
    }

    /// The object after one to four changes that keep its type.
    pub(crate) fn mutated(mut self, object: &Value) -> Value {
        self.budget = if self.large { 200 } else { 60 };
        let mut out = object.clone();
        let root = self.types.root_ref();
        for _ in 0..self.rng.between(1, 4) {
            self.mutate(&mut out, &root, 0);
        }
        out
    }

    /// A part of the object: some of its fields and items, with their key fields.
    pub(crate) fn part(mut self, object: &Value) -> Value {
        let keep = u32::try_from(self.rng.between(40, 95)).unwrap_or(50);
        self.project(object, &self.types.root_ref(), keep)
    }

    /// Another object that has much in common with the given one.
    pub(crate) fn derived(self, object: &Value) -> Value {
        match self.rng.below(10) {
            0 => object.clone(),
            1 => self.object(),
            2 | 3 => self.part(object),
            _ => self.mutated(object),
        }
    }

    fn value(&mut self, ty: &Value, depth: usize, spread: bool) -> Value {
        self.budget = self.budget.saturating_sub(1);
        if depth > 0 && self.rng.chance(3) {
            return Value::Null;
        }
        let atom = self.types.resolve(ty);
        let tight = depth >= MAX_DEPTH || self.budget == 0;
        // A scalar ends the recursion where no level or node is left.
        let kinds = [
            (
                u32::from(atom.scalar.is_some()) * if tight { 1000 } else { 30 },
                0,
            ),
            (u32::from(atom.list.is_some()) * 30, 1),
            (u32::from(atom.map.is_some()) * 45, 2),
        ];

        // The kinds that a type allows have weights, so that a type of any value is mostly a map.
        match (
            self.rng.weighted(&kinds, 3),
            atom.scalar,
            atom.list,
            atom.map,
        ) {
            (0, Some(scalar), ..) => self.scalar(scalar, spread),
            (1, _, Some(list), _) => {
                let length = if tight { 0 } else { self.length((20, 200)) };
                self.list(list, depth, length)
            }
            (2, .., Some(map)) if !tight => self.map(map, depth),
            (2, ..) => json!({}),
            _ => Value::Null,
        }
    }

    fn length(&mut self, large: (usize, usize)) -> usize {
        if self.large && self.budget > 300 && self.rng.chance(40) {
            return self.rng.between(large.0, large.1);
        }
        self.rng
            .weighted(&[(8, 0), (25, 1), (35, 2), (22, 3), (10, 4)], 2)
    }

    fn list(&mut self, list: ListType<'_>, depth: usize, length: usize) -> Value {
        let mut seen = HashSet::new();
        let mut items = Vec::new();
        // Small alphabets produce duplicates, so a list may be shorter than `length`.
        for _ in 0..length * 2 {
            if items.len() >= length {
                break;
            }
            let item = self.item(list, depth, length > 8);
            // Duplicates are made on purpose elsewhere, for the operations that allow them.
            let is_new = |key| seen.insert(key);
            if !list.is_associative() || self.identity(list, &item).is_some_and(is_new) {
                items.push(item);
            }
        }

        Value::Array(items)
    }

    fn item(&mut self, list: ListType<'_>, depth: usize, spread: bool) -> Value {
        let mut item = self.value(list.element(), depth + 1, spread);
        let Some(map) = self
            .types
            .resolve(list.element())
            .map
            .filter(|_| list.has_keys())
        else {
            return item;
        };
        // Only a map can have key fields.
        if !item.is_object() {
            item = json!({});
        }

        for (position, key) in list.keys().enumerate() {
            let Some(field) = map.field(key) else {
                continue;
            };
            // The first key is present unless it has a default, so that most items have an identity.
            let keep = match (field.get("default"), position) {
                (Some(_), _) => 55,
                (None, 0) => 100,
                (None, _) => 88,
            };

            if self.rng.chance(keep) {
                let scalar = self.types.resolve(member(field, "type")).scalar;
                set(
                    &mut item,
                    key,
                    self.scalar(scalar.unwrap_or("untyped"), spread),
                );
            } else {
                crate::json::unset(&mut item, key);
            }
        }

        item
    }

    /// The identity of an item of an associative list; `None` for an item without one.
    fn identity(&self, list: ListType<'_>, item: &Value) -> Option<String> {
        if !list.has_keys() {
            return plain(item);
        }
        let members = item.as_object()?;
        let map = self.types.resolve(list.element()).map?;
        // A missing key counts by its default; an item with neither for any key has no identity.
        let mut found = false;
        let mut out = String::new();

        for key in list.keys() {
            let default = map.field(key).and_then(|field| field.get("default"));
            if let Some(value) = members.get(key).or(default) {
                found = true;
                out += &plain(value).unwrap_or_else(|| value.to_string());
            }
            out.push('|');
        }

        found.then_some(out)
    }

    fn map(&mut self, map: MapType<'_>, depth: usize) -> Value {
        let mut out = JsonMap::new();
        // An empty map is a member of a field set, a filled granular one is not.
        if self.rng.chance(5) {
            return Value::Object(out);
        }
        let keep = match (self.large, depth) {
            (true, _) => 85,
            (false, 0) => 70,
            (false, _) => 60,
        };

        for field in map.fields() {
            if self.rng.chance(keep) {
                let value = self.value(member(field, "type"), depth + 1, false);
                out.insert(text(field, "name").to_owned(), value);
            }
        }

        // The budget also bounds maps of any keys, which have no declared number of members.
        if let Some(element) = map.element() {
            let count = self.length((40, 150));
            for _ in 0..count {
                let key = self.key(count > 8);
                out.insert(key, self.value(element, depth + 1, count > 8));
            }
        }

        Value::Object(out)
    }

    fn key(&mut self, spread: bool) -> String {
        if spread {
            format!("k{:03}", self.rng.below(400))
        } else {
            self.rng.name(FREE_KEYS).to_owned()
        }
    }

    /// Makes one change at or below a value.
    fn mutate(&mut self, value: &mut Value, ty: &Value, depth: usize) {
        let atom = self.types.resolve(ty);
        // A change of the root itself touches whole fields, so most changes are further down.
        let descend = if depth == 0 { 96 } else { 65 };
        match (value, atom.map, atom.list) {
            (Value::Object(members), Some(map), _) => {
                if members.is_empty() || !self.rng.chance(descend) {
                    return self.mutate_map(members, map, depth);
                }
                let index = self.rng.below(members.len());
                if let Some((key, child)) = members.iter_mut().nth(index)
                    && let Some(ty) = map.type_of(key)
                {
                    self.mutate(child, ty, depth + 1);
                }
            }
            (Value::Array(items), _, Some(list)) => {
                if items.is_empty() || !self.rng.chance(descend / 2) {
                    return self.mutate_list(items, list, depth);
                }
                let index = self.rng.below(items.len());
                let Some(item) = items.get_mut(index) else {
                    return;
                };

                let before = item.clone();
                self.mutate(item, list.element(), depth + 1);
                // A changed item usually keeps its identity.
                let same = self.identity(list, item) == self.identity(list, &before);
                if list.is_associative() && !same {
                    *item = before;
                }
            }
            (Value::Object(_) | Value::Array(_), ..) => {}
            (value @ Value::Number(_), ..) if self.rng.chance(15) => {
                // The same number in another notation.
                if let Some(whole) = value.as_i64() {
                    *value =
                        i32::try_from(whole).map_or(Value::Null, |small| json!(f64::from(small)));
                }
            }
            (value, ..) => *value = self.value(ty, depth, false),
        }
    }

    fn mutate_map(&mut self, members: &mut JsonMap<String, Value>, map: MapType<'_>, depth: usize) {
        // A field that an update removes is lost by all of its owners.
        match self.rng.below(6) {
            0 | 1 if !members.is_empty() => {
                let index = self.rng.below(members.len());
                if let Some(key) = members.keys().nth(index).cloned() {
                    members.remove(&key);
                }
            }
            2 if self.rng.chance(15) => members.clear(),
            _ => {
                let fields = map.fields();
                let index = self
                    .rng
                    .below(fields.len() + usize::from(map.element().is_some()));
                if let Some(field) = fields.get(index) {
                    let value = self.value(member(field, "type"), depth + 1, false);
                    members.insert(text(field, "name").to_owned(), value);
                } else if let Some(element) = map.element() {
                    let spread = self.large && self.rng.chance(70);
                    let key = self.key(spread);
                    members.insert(key, self.value(element, depth + 1, self.large));
                }
            }
        }
    }

    fn mutate_list(&mut self, items: &mut Vec<Value>, list: ListType<'_>, depth: usize) {
        // Changes of the order alone test the merge of lists without a change of owners.
        match self.rng.below(7) {
            0 | 1 if !items.is_empty() => {
                items.remove(self.rng.below(items.len()));
            }
            2 => self.rng.shuffle(items),
            3 if items.len() > 1 => {
                let moved = items.remove(self.rng.below(items.len()));
                items.insert(self.rng.below(items.len() + 1), moved);
            }
            4 if self.rng.chance(15) => items.clear(),
            _ => {
                // A random item may be a duplicate by chance, which would make the object invalid.
                let item = self.item(list, depth, items.len() > 8);
                let identity = self.identity(list, &item);
                let mut others = items.iter().map(|other| self.identity(list, other));
                let is_taken = identity.is_none() || others.any(|other| other == identity);
                if !list.is_associative() || !is_taken {
                    items.insert(self.rng.below(items.len() + 1), item);
                }
            }
        }
    }

    fn project(&mut self, value: &Value, ty: &Value, keep: u32) -> Value {
        let atom = self.types.resolve(ty);
        match (value, atom.map, atom.list) {
            (Value::Object(members), Some(map), _) => {
                let mut out = JsonMap::new();
                for (key, child) in members {
                    if let (true, Some(ty)) = (self.rng.chance(keep), map.type_of(key)) {
                        out.insert(key.clone(), self.project(child, ty, keep));
                    }
                }
                Value::Object(out)
            }
            (Value::Array(items), _, Some(list)) => {
                let mut out = Vec::new();
                for item in items {
                    if !self.rng.chance(keep) {
                        continue;
                    }
                    let mut part = self.project(item, list.element(), keep);
                    // Without its keys, the part would belong to another item.
                    for key in list.keys() {
                        if let Some(value) = item.get(key) {
                            set(&mut part, key, value.clone());
                        }
                    }
                    out.push(part);
                }

                Value::Array(out)
            }
            _ => value.clone(),
        }
    }

    /// Approximately the object after another one is applied to it.
    pub(crate) fn overlaid(&self, base: &Value, top: &Value) -> Value {
        self.overlay(base, top, &self.types.root_ref())
    }

    fn overlay(&self, base: &Value, top: &Value, ty: &Value) -> Value {
        // As in an apply: atomic maps and lists are replaced, granular ones merged.
        let atom = self.types.resolve(ty);
        match (base, top, atom.map, atom.list) {
            (Value::Object(old), Value::Object(new), Some(map), _) if !map.is_atomic() => {
                let mut out = old.clone();
                for (key, value) in new {
                    let merged = match (old.get(key), map.type_of(key)) {
                        (Some(before), Some(ty)) => self.overlay(before, value, ty),
                        _ => value.clone(),
                    };
                    out.insert(key.clone(), merged);
                }
                Value::Object(out)
            }
            (Value::Array(old), Value::Array(new), _, Some(list)) if list.is_associative() => {
                let mut out = old.clone();
                for item in new {
                    let key = self.identity(list, item);
                    let mut others = out.iter_mut();
                    match others.find(|other| self.identity(list, other) == key) {
                        Some(other) => *other = self.overlay(other, item, list.element()),
                        None => out.push(item.clone()),
                    }
                }
                Value::Array(out)
            }
            _ => top.clone(),
        }
    }

    fn scalar(&mut self, scalar: &str, spread: bool) -> Value {
        let rng = &mut *self.rng;
        match scalar {
            "string" if spread => json!(format!("item-{:03}", rng.below(600))),
            "string" if rng.chance(4) => TEMPLATES.part(rng, "oddString", 0),
            "string" => json!(rng.name(STRINGS)),
            "numeric" if spread => json!(rng.below(600)),
            "numeric" => TEMPLATES.part(rng, "numbers", 0),
            "boolean" => json!(rng.chance(50)),
            _ => {
                let kinds = [(50, "string"), (35, "numeric"), (15, "boolean")];
                let kind = rng.weighted(&kinds, "string");
                self.scalar(kind, spread)
            }
        }
    }
}

/// A number in one canonical notation; other scalars unchanged.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => number.as_f64().map(|float| float.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::String(text) => Some(format!("{text:?}")),
        _ => None,
    }
}

/// Duplicates an item of some list, for operations that allow duplicates.
pub(crate) fn duplicate(rng: &mut Random, value: &mut Value) -> bool {
    if let Value::Array(items) = value
        && rng.chance(60)
        && let Some(copy) = rng.pick(items).cloned()
    {
        items.insert(rng.below(items.len() + 1), copy);
        return true;
    }

    // Without a random start, always the first list would get the duplicate.
    let skip = value
        .as_object()
        .map_or(0, |members| rng.below(members.len()));
    children_mut(value)
        .skip(skip)
        .any(|child| duplicate(rng, child))
}

/// Adds a value to the object that most likely does not fit its type.
pub(crate) fn corrupt(rng: &mut Random, value: &mut Value) {
    // Faults at any depth show whether errors have the right path.
    let count = children_mut(value).count();
    let (deeper, index) = (rng.chance(60), rng.below(count));
    if deeper && let Some(child) = children_mut(value).nth(index) {
        return corrupt(rng, child);
    }
    match value {
        Value::Object(_) => set(value, "unknown", 1),
        _ => *value = TEMPLATES.part(rng, "corrupt", 0),
    }
}
