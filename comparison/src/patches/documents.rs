//! Random objects of generated types, and changed copies of them.

use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use super::schemas::{Field, Ty, Types};
use crate::generate::random::Random;
use crate::generate::template::Templates;

pub(super) static TEMPLATES: LazyLock<Templates> =
    LazyLock::new(|| Templates::of(include_str!("values.yaml")));

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

/// Any value.
pub(super) fn odd(random: &mut Random, depth: usize) -> Json {
    TEMPLATES.part(random, "odd", 3_usize.saturating_sub(depth))
}

impl Documents<'_> {
    pub(super) fn chance_of_noise(&self, random: &mut Random) -> bool {
        self.noise && random.chance(NOISE)
    }

    /// A list, or another value if there is noise.
    pub(super) fn or_noise(&self, random: &mut Random, list: Vec<Json>) -> Json {
        if self.chance_of_noise(random) {
            odd(random, 2)
        } else {
            Json::Array(list)
        }
    }

    pub(super) fn object(&self, random: &mut Random, ty: usize, depth: usize) -> Map<String, Json> {
        let mut out = Map::new();
        // Types may contain themselves, so objects become sparse below the root and flat at the last level.
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
            Ty::Text => TEMPLATES.part(random, "text", 0),
            Ty::Number => TEMPLATES.part(random, "number", 0),
            Ty::Labels => TEMPLATES.part(random, "labels", 0),
            Ty::Struct(at) => Json::Object(self.object(random, at, depth + 1)),
            Ty::Texts | Ty::Numbers => {
                // Go sorts with an algorithm that is stable only up to 12 items, so a few lists are longer.
                let length = if random.chance(2) {
                    random.between(10, 30)
                } else {
                    random.below(5)
                };
                Json::Array((0..length).map(|_| self.scalar(random, field.ty)).collect())
            }
            Ty::Items(at) => {
                let length = if random.chance(2) {
                    random.between(5, 25)
                } else {
                    random.below(5)
                };
                let mut items: Vec<Json> = (0..length)
                    .map(|_| self.item(random, at, field.key, depth))
                    .collect();
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
        let part = if ty == Ty::Texts { "text" } else { "small" };
        TEMPLATES.part(random, part, 0)
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
        let part = if key == "port" {
            "key.port"
        } else {
            "key.name"
        };
        TEMPLATES.part(random, part, 0)
    }

    /// A copy of an object with some changes.
    pub(super) fn changed(
        &self,
        random: &mut Random,
        ty: usize,
        object: &Json,
        depth: usize,
    ) -> Json {
        let Some(old) = object.as_object() else {
            return Json::Object(self.object(random, ty, depth));
        };
        let mut out = Map::new();
        for (name, value) in old {
            let field = self
                .types
                .fields(ty)
                .iter()
                .find(|field| field.name == name);
            // A field that is not declared has no type to make a value of, and stays.
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

    fn changed_value(
        &self,
        random: &mut Random,
        field: &Field,
        value: &Json,
        depth: usize,
    ) -> Json {
        match (field.ty, value) {
            (Ty::Struct(at), Json::Object(_)) => self.changed(random, at, value, depth + 1),
            (Ty::Items(at), Json::Array(items)) => {
                let mut out = Vec::new();
                for item in items {
                    match random.below(8) {
                        0 => {}
                        1..=3 => {
                            // The item keeps its key, or it would be another item and not a changed one.
                            let mut new = self.changed(random, at, item, depth + 2);
                            if let (Some(key), Some(new)) =
                                (item.get(field.key), new.as_object_mut())
                            {
                                new.insert(field.key.to_owned(), key.clone());
                            }
                            out.push(new);
                        }
                        _ => out.push(item.clone()),
                    }
                }

                // The new item may have a key of the list, which is why duplicates are removed.
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
                // Values that go, come and move at once need all directives of a list of scalars.
                let mut out: Vec<Json> = items
                    .iter()
                    .filter(|_| !random.chance(25))
                    .cloned()
                    .collect();
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
