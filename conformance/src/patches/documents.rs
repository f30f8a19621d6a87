//! Random objects of generated types, and changed copies of them.

use serde_json::{Map, Value as Json, json};

use super::schemas::{Field, Ty, Types};
use crate::generate::random::Random;

/// The percentage of values that do not fit their type.
const NOISE: u32 = 1;

/// Below this depth objects have only scalars and lists of scalars.
pub(super) const MAX_DEPTH: usize = 5;

/// Generates objects.
pub(super) struct Documents<'t> {
    pub(super) types: &'t Types,
    /// Whether values may have the wrong type.
    pub(super) noise: bool,
}

pub(super) fn text(random: &mut Random) -> Json {
    random.name(&["a", "b", "c", "d", "10", "9", ""]).into()
}

pub(super) fn number(random: &mut Random) -> Json {
    if random.chance(6) {
        return json!(random.weighted(&[(1, 1.5), (1, 2.0), (1, 1e6)], 1.0));
    }
    json!(random.weighted(&[(3, 1), (3, 2), (2, 3), (1, 10), (1, -1)], 80))
}

/// Any value.
pub(super) fn odd(random: &mut Random, depth: usize) -> Json {
    match random.below(if depth > 2 { 5 } else { 8 }) {
        0 => Json::Null,
        1 => text(random),
        2 => number(random),
        3 => json!(random.chance(50)),
        4 => json!([]),
        5 => Json::Array((0..random.below(3)).map(|_| odd(random, depth + 1)).collect()),
        _ => {
            let mut out = Map::new();
            for _ in 0..random.below(3) {
                out.insert(random.name(&["a", "b", "name", "x"]).into(), odd(random, depth + 1));
            }
            Json::Object(out)
        }
    }
}

impl Documents<'_> {
    pub(super) fn chance_of_noise(&self, random: &mut Random) -> bool {
        self.noise && random.chance(NOISE)
    }

    pub(super) fn object(&self, random: &mut Random, ty: usize, depth: usize) -> Map<String, Json> {
        let mut out = Map::new();
        for field in self.types.fields(ty) {
            let share = if depth > 1 { 30 } else { 60 };
            if random.chance(share) && (depth <= MAX_DEPTH || field.is_flat()) {
                out.insert(field.name.to_owned(), self.value(random, field, depth));
            }
        }
        if random.chance(if self.noise { 3 } else { 0 }) {
            out.insert("unknown".to_owned(), odd(random, depth));
        }
        out
    }

    pub(super) fn value(&self, random: &mut Random, field: &Field, depth: usize) -> Json {
        if self.chance_of_noise(random) {
            return odd(random, depth);
        }
        match field.ty {
            Ty::Text => text(random),
            Ty::Number => number(random),
            Ty::Labels => {
                let mut out = Map::new();
                for _ in 0..random.below(4) {
                    out.insert(random.name(&["a", "b", "c"]).into(), text(random));
                }
                Json::Object(out)
            }
            Ty::Struct(at) => Json::Object(self.object(random, at, depth + 1)),
            Ty::Texts | Ty::Numbers => {
                let long = random.chance(2);
                let length = if long { random.between(10, 30) } else { random.below(5) };
                Json::Array((0..length).map(|_| self.scalar(random, field.ty)).collect())
            }
            Ty::Items(at) => {
                let length = if random.chance(2) { random.between(5, 25) } else { random.below(5) };
                let mut items: Vec<Json> =
                    (0..length).map(|_| self.item(random, at, field.key, depth)).collect();
                if !random.chance(6) {
                    without_duplicates(&mut items, field.key);
                }
                Json::Array(items)
            }
            Ty::Any => odd(random, depth),
        }
    }

    pub(super) fn scalar(&self, random: &mut Random, ty: Ty) -> Json {
        if self.chance_of_noise(random) {
            return odd(random, 2);
        }
        match ty {
            Ty::Texts => text(random),
            _ => json!(random.below(6)),
        }
    }

    /// An item with its key, unless there is noise.
    pub(super) fn item(&self, random: &mut Random, ty: usize, key: &str, depth: usize) -> Json {
        if self.chance_of_noise(random) {
            return odd(random, 1);
        }
        let mut item = self.object(random, ty, depth + 2);
        if !key.is_empty() && !self.chance_of_noise(random) {
            item.insert(key.to_owned(), self.key(random, key));
        }
        Json::Object(item)
    }

    pub(super) fn key(&self, random: &mut Random, key: &str) -> Json {
        if self.chance_of_noise(random) {
            return odd(random, 2);
        }
        match key {
            "port" => json!(random.between(1, 8)),
            _ => random.name(&["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]).into(),
        }
    }

    /// A copy of an object with some changes.
    pub(super) fn changed(&self, random: &mut Random, ty: usize, object: &Json, depth: usize) -> Json {
        let Some(old) = object.as_object() else {
            return Json::Object(self.object(random, ty, depth));
        };
        let mut out = Map::new();
        for (name, value) in old {
            let field = self.types.fields(ty).iter().find(|field| field.name == name);
            let new = match (field, random.below(10)) {
                (_, 0) => continue,
                (Some(field), 1 | 2) => self.value(random, field, depth),
                (Some(field), 3..=6) => self.changed_value(random, field, value, depth),
                _ => value.clone(),
            };
            out.insert(name.clone(), new);
        }
        for field in self.types.fields(ty) {
            if !out.contains_key(field.name) && random.chance(15) {
                out.insert(field.name.to_owned(), self.value(random, field, depth));
            }
        }
        Json::Object(out)
    }

    fn changed_value(&self, random: &mut Random, field: &Field, value: &Json, depth: usize) -> Json {
        match (field.ty, value) {
            (Ty::Struct(at), Json::Object(_)) => self.changed(random, at, value, depth + 1),
            (Ty::Items(at), Json::Array(items)) => {
                let mut out = Vec::new();
                for item in items {
                    match random.below(8) {
                        0 => {}
                        1..=3 => {
                            let mut new = self.changed(random, at, item, depth + 2);
                            if let (Some(key), Some(new)) = (item.get(field.key), new.as_object_mut()) {
                                new.insert(field.key.to_owned(), key.clone());
                            }
                            out.push(new);
                        }
                        _ => out.push(item.clone()),
                    }
                }
                if random.chance(40) {
                    out.push(self.item(random, at, field.key, depth));
                }
                if !random.chance(5) {
                    without_duplicates(&mut out, field.key);
                }
                if random.chance(25) {
                    random.shuffle(&mut out);
                }
                Json::Array(out)
            }
            (Ty::Texts | Ty::Numbers, Json::Array(items)) => {
                let mut out: Vec<Json> = items.iter().filter(|_| !random.chance(25)).cloned().collect();
                for _ in 0..random.below(3) {
                    out.push(self.scalar(random, field.ty));
                }
                if random.chance(30) {
                    random.shuffle(&mut out);
                }
                Json::Array(out)
            }
            _ => self.value(random, field, depth),
        }
    }
}

/// Keeps the first item with each key.
pub(super) fn without_duplicates(items: &mut Vec<Json>, key: &str) {
    let mut seen: Vec<Json> = Vec::new();
    items.retain(|item| match item.get(key) {
        Some(value) if seen.contains(value) => false,
        Some(value) => {
            seen.push(value.clone());
            true
        }
        None => true,
    });
}
