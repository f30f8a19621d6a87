//! Random objects of a type, and random changes to an object.

use std::collections::HashSet;

use serde_json::{Map as JsonMap, Value, json};

use super::random::Random;
use super::schema::FREE_KEYS;
use super::types::{Atom, List, Map, Relation, Scalar, TypeRef, Types};

/// Below this depth only leaves are generated, so that values of recursive types are finite.
const MAX_DEPTH: usize = 6;

const STRINGS: &[&str] = &["a", "b", "c", "d"];
const ODD_STRINGS: &[&str] = &["", "x.y", "<&>", "é", "a/b", "say \"hi\"", "a b", "[c]", "\\", "1", "true"];

/// Generates values of the types of one schema.
pub(crate) struct Objects<'a> {
    types: &'a Types,
    large: bool,
    /// The number of nodes that may still be generated; without it, a recursive type with large lists is unbounded.
    budget: usize,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(types: &'a Types, large: bool) -> Self {
        Self { types, large, budget: 0 }
    }

    /// A new object of the scenario's type.
    pub(crate) fn object(&mut self, rng: &mut Random) -> Value {
        self.budget = if self.large { 1500 } else { 120 };
        if rng.chance(2) {
            return Value::Null;
        }
        let root = self.types.root_ref();
        self.value(rng, &root, 0, false)
    }

    /// The object after one to four changes that keep its type.
    pub(crate) fn mutated(&mut self, rng: &mut Random, object: &Value) -> Value {
        self.budget = if self.large { 200 } else { 60 };
        let mut out = object.clone();
        let root = self.types.root_ref();
        for _ in 0..rng.between(1, 4) {
            self.mutate(rng, &mut out, &root, 0);
        }
        out
    }

    /// A part of the object: some of its fields and items, with their key fields.
    pub(crate) fn part(&mut self, rng: &mut Random, object: &Value) -> Value {
        let keep = u32::try_from(rng.between(40, 95)).unwrap_or(50);
        let root = self.types.root_ref();
        self.project(rng, object, &root, keep)
    }

    /// Approximately the object after another one is applied to it.
    pub(crate) fn overlaid(&self, base: &Value, top: &Value) -> Value {
        self.overlay(base, top, &self.types.root_ref())
    }

    fn value(&mut self, rng: &mut Random, type_ref: &TypeRef, depth: usize, spread: bool) -> Value {
        self.budget = self.budget.saturating_sub(1);
        if depth > 0 && rng.chance(3) {
            return Value::Null;
        }
        let atom = self.types.resolve(type_ref);
        let tight = depth >= MAX_DEPTH || self.budget == 0;
        let kinds = [
            (u32::from(atom.scalar.is_some()) * if tight { 1000 } else { 30 }, 0),
            (u32::from(atom.list.is_some()) * 30, 1),
            (u32::from(atom.map.is_some()) * 45, 2),
        ];
        match (rng.weighted(&kinds, 3), atom) {
            (0, Atom { scalar: Some(scalar), .. }) => scalar_value(rng, scalar, spread),
            (1, Atom { list: Some(list), .. }) => {
                let length = if tight { 0 } else { self.length(rng, (20, 200)) };
                self.list(rng, &list, depth, length)
            }
            (2, Atom { map: Some(map), .. }) if tight => self.map(rng, &map, depth, true),
            (2, Atom { map: Some(map), .. }) => self.map(rng, &map, depth, false),
            _ => Value::Null,
        }
    }

    fn length(&self, rng: &mut Random, large: (usize, usize)) -> usize {
        if self.large && self.budget > 300 && rng.chance(40) {
            return rng.between(large.0, large.1);
        }
        rng.weighted(&[(8, 0), (25, 1), (35, 2), (22, 3), (10, 4)], 2)
    }

    fn list(&mut self, rng: &mut Random, list: &List, depth: usize, length: usize) -> Value {
        let mut seen = HashSet::new();
        let mut items = Vec::new();
        // Small alphabets produce duplicates, so a list may be shorter than `length`.
        for _ in 0..length * 2 {
            if items.len() >= length {
                break;
            }
            let item = self.item(rng, list, depth, length > 8);
            if list.relation == Relation::Atomic
                || self.identity(list, &item).is_some_and(|key| seen.insert(key))
            {
                items.push(item);
            }
        }
        Value::Array(items)
    }

    fn item(&mut self, rng: &mut Random, list: &List, depth: usize, spread: bool) -> Value {
        let mut item = self.value(rng, &list.element, depth + 1, spread);
        if list.keys.is_empty() {
            return item;
        }
        let atom = self.types.resolve(&list.element);
        if !item.is_object() && atom.map.is_some() {
            item = json!({});
        }
        if let (Value::Object(members), Some(map)) = (&mut item, &atom.map) {
            for (position, key) in list.keys.iter().enumerate() {
                let Some(field) = map.field(key) else {
                    continue;
                };
                let keep = if field.default.is_some() {
                    55
                } else if position == 0 {
                    100
                } else {
                    88
                };
                if rng.chance(keep) {
                    let scalar = self.types.resolve(&field.type_ref).scalar.unwrap_or(Scalar::Untyped);
                    members.insert(key.clone(), scalar_value(rng, scalar, spread));
                } else {
                    members.remove(key);
                }
            }
        }
        item
    }

    /// The identity of an item of an associative list; `None` for an item without one.
    fn identity(&self, list: &List, item: &Value) -> Option<String> {
        if list.keys.is_empty() {
            return item.as_str().map(|text| format!("{text:?}")).or_else(|| plain(item));
        }
        let members = item.as_object()?;
        let atom = self.types.resolve(&list.element);
        let map = atom.map.as_ref()?;
        let mut found = false;
        let mut out = String::new();
        for key in &list.keys {
            let default = map.field(key).and_then(|field| field.default.as_ref());
            if let Some(value) = members.get(key).or(default) {
                found = true;
                out += &plain(value).unwrap_or_else(|| value.to_string());
            }
            out.push('|');
        }
        found.then_some(out)
    }

    fn map(&mut self, rng: &mut Random, map: &Map, depth: usize, tight: bool) -> Value {
        let mut out = JsonMap::new();
        if tight || rng.chance(5) {
            return Value::Object(out);
        }
        let keep = if self.large {
            85
        } else if depth == 0 {
            70
        } else {
            60
        };
        for field in &map.fields {
            if rng.chance(keep) {
                out.insert(field.name.clone(), self.value(rng, &field.type_ref, depth + 1, false));
            }
        }
        if let Some(element) = &map.element {
            let count = self.length(rng, (40, 150));
            for _ in 0..count {
                let key = if count > 8 {
                    format!("k{:03}", rng.below(400))
                } else {
                    rng.name(FREE_KEYS).to_owned()
                };
                out.insert(key, self.value(rng, element, depth + 1, count > 8));
            }
        }
        Value::Object(out)
    }

    /// Makes one change at or below a value.
    fn mutate(&mut self, rng: &mut Random, value: &mut Value, type_ref: &TypeRef, depth: usize) {
        let atom = self.types.resolve(type_ref);
        let descend = if depth == 0 { 96 } else { 65 };
        match value {
            Value::Object(members) if !members.is_empty() && rng.chance(descend) => {
                let Some(map) = &atom.map else { return };
                let index = rng.below(members.len());
                let Some((key, child)) = members.iter_mut().nth(index) else {
                    return;
                };
                if let Some(child_type) = map.type_of(key) {
                    self.mutate(rng, child, child_type, depth + 1);
                }
            }
            Value::Object(members) => {
                if let Some(map) = &atom.map {
                    self.mutate_map(rng, members, map, depth);
                }
            }
            Value::Array(items) if !items.is_empty() && rng.chance(descend / 2) => {
                let Some(list) = &atom.list else { return };
                let index = rng.below(items.len());
                let Some(item) = items.get_mut(index) else {
                    return;
                };
                let before = item.clone();
                self.mutate(rng, item, &list.element, depth + 1);
                // A changed item usually keeps its identity.
                if list.relation != Relation::Atomic
                    && self.identity(list, item) != self.identity(list, &before)
                {
                    *item = before;
                }
            }
            Value::Array(items) => {
                if let Some(list) = &atom.list {
                    self.mutate_list(rng, items, list, depth);
                }
            }
            Value::Number(number) if rng.chance(15) => {
                // The same number in another notation.
                if let Some(whole) = number.as_i64() {
                    *value = i32::try_from(whole).map_or(Value::Null, |small| json!(f64::from(small)));
                }
            }
            _ => *value = self.value(rng, type_ref, depth, false),
        }
    }

    fn mutate_map(
        &mut self,
        rng: &mut Random,
        members: &mut JsonMap<String, Value>,
        map: &Map,
        depth: usize,
    ) {
        match rng.below(6) {
            0 | 1 if !members.is_empty() => {
                let index = rng.below(members.len());
                if let Some(key) = members.keys().nth(index).cloned() {
                    members.remove(&key);
                }
            }
            2 if rng.chance(15) => members.clear(),
            _ => {
                let fields = map.fields.len();
                let index = rng.below(fields + usize::from(map.element.is_some()));
                if let Some(field) = map.fields.get(index) {
                    members.insert(field.name.clone(), self.value(rng, &field.type_ref, depth + 1, false));
                } else if let Some(element) = &map.element {
                    let key = if self.large && rng.chance(70) {
                        format!("k{:03}", rng.below(400))
                    } else {
                        rng.name(FREE_KEYS).to_owned()
                    };
                    members.insert(key, self.value(rng, element, depth + 1, self.large));
                }
            }
        }
    }

    fn mutate_list(&mut self, rng: &mut Random, items: &mut Vec<Value>, list: &List, depth: usize) {
        match rng.below(7) {
            0 | 1 if !items.is_empty() => {
                items.remove(rng.below(items.len()));
            }
            2 => rng.shuffle(items),
            3 if items.len() > 1 => {
                let moved = items.remove(rng.below(items.len()));
                items.insert(rng.below(items.len() + 1), moved);
            }
            4 if rng.chance(15) => items.clear(),
            _ => {
                let item = self.item(rng, list, depth, items.len() > 8);
                let taken = list.relation != Relation::Atomic
                    && (self.identity(list, &item).is_none()
                        || items
                            .iter()
                            .any(|other| self.identity(list, other) == self.identity(list, &item)));
                if !taken {
                    items.insert(rng.below(items.len() + 1), item);
                }
            }
        }
    }

    fn project(&self, rng: &mut Random, value: &Value, type_ref: &TypeRef, keep: u32) -> Value {
        let atom = self.types.resolve(type_ref);
        match (value, &atom.map, &atom.list) {
            (Value::Object(members), Some(map), _) => {
                let mut out = JsonMap::new();
                for (key, child) in members {
                    if let (true, Some(child_type)) = (rng.chance(keep), map.type_of(key)) {
                        out.insert(key.clone(), self.project(rng, child, child_type, keep));
                    }
                }
                Value::Object(out)
            }
            (Value::Array(items), _, Some(list)) => {
                let mut out = Vec::new();
                for item in items {
                    if rng.chance(keep) {
                        let mut part = self.project(rng, item, &list.element, keep);
                        if let (Value::Object(members), Value::Object(all)) = (&mut part, item) {
                            for key in &list.keys {
                                if let Some(value) = all.get(key) {
                                    members.insert(key.clone(), value.clone());
                                }
                            }
                        }
                        out.push(part);
                    }
                }
                Value::Array(out)
            }
            _ => value.clone(),
        }
    }

    fn overlay(&self, base: &Value, top: &Value, type_ref: &TypeRef) -> Value {
        let atom = self.types.resolve(type_ref);
        match (base, top, &atom.map, &atom.list) {
            (Value::Object(old), Value::Object(new), Some(map), _) if !map.is_atomic() => {
                let mut out = old.clone();
                for (key, value) in new {
                    let merged = match (old.get(key), map.type_of(key)) {
                        (Some(before), Some(child_type)) => self.overlay(before, value, child_type),
                        _ => value.clone(),
                    };
                    out.insert(key.clone(), merged);
                }
                Value::Object(out)
            }
            (Value::Array(old), Value::Array(new), _, Some(list)) if list.relation != Relation::Atomic => {
                let mut out = old.clone();
                for item in new {
                    let key = self.identity(list, item);
                    match out.iter_mut().find(|other| self.identity(list, other) == key) {
                        Some(other) => *other = self.overlay(other, item, &list.element),
                        None => out.push(item.clone()),
                    }
                }
                Value::Array(out)
            }
            _ => top.clone(),
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

fn scalar_value(rng: &mut Random, scalar: Scalar, spread: bool) -> Value {
    match scalar {
        Scalar::String if spread => json!(format!("item-{:03}", rng.below(600))),
        Scalar::String if rng.chance(4) => json!(rng.name(ODD_STRINGS)),
        Scalar::String => json!(rng.name(STRINGS)),
        Scalar::Numeric if spread => json!(rng.below(600)),
        Scalar::Numeric => number(rng),
        Scalar::Boolean => json!(rng.chance(50)),
        Scalar::Untyped => {
            let kind = rng.weighted(
                &[(50, Scalar::String), (35, Scalar::Numeric), (15, Scalar::Boolean)],
                Scalar::String,
            );
            scalar_value(rng, kind, spread)
        }
    }
}

fn number(rng: &mut Random) -> Value {
    match rng.below(40) {
        0..=5 => json!(1.0),
        6 | 7 => json!(2.5),
        8 => json!(-1),
        9 => json!(1e21),
        10 => json!(4_294_967_296_i64),
        _ => json!(rng.below(4)),
    }
}

/// Duplicates an item of some list, for operations that allow duplicates.
pub(crate) fn duplicate(rng: &mut Random, value: &mut Value) -> bool {
    match value {
        Value::Array(items) => {
            if !items.is_empty() && rng.chance(60) {
                let index = rng.below(items.len());
                if let Some(copy) = items.get(index).cloned() {
                    items.insert(rng.below(items.len() + 1), copy);
                    return true;
                }
            }
            items.iter_mut().any(|item| duplicate(rng, item))
        }
        Value::Object(members) => {
            let skip = rng.below(members.len());
            members.values_mut().skip(skip).any(|child| duplicate(rng, child))
        }
        _ => false,
    }
}

/// Adds a value to the object that most likely does not fit its type.
pub(crate) fn corrupt(rng: &mut Random, value: &mut Value) {
    let deeper = rng.chance(60);
    match value {
        Value::Object(members) if deeper && !members.is_empty() => {
            let index = rng.below(members.len());
            if let Some(child) = members.values_mut().nth(index) {
                return corrupt(rng, child);
            }
        }
        Value::Array(items) if deeper && !items.is_empty() => {
            let index = rng.below(items.len());
            if let Some(item) = items.get_mut(index) {
                return corrupt(rng, item);
            }
        }
        Value::Object(members) => {
            members.insert("unknown".to_owned(), json!(1));
            return;
        }
        _ => {}
    }
    *value = match rng.below(5) {
        0 => json!({"unknown": {"k": 1}}),
        1 => json!(["a", {"unknown": true}]),
        2 => json!(7),
        3 => json!("junk"),
        _ => json!([null]),
    };
}
