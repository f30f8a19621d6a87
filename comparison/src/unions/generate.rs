//! Random scenarios with unions. A seed always gives the same one.
//!
//! Objects are limited to those on which v4 and v6 agree without unions: structs, maps, scalars, and lists whose items
//! keep their order.

use serde_json::{Map, Value, json};

use super::model::Fields;
use crate::generate::random::Random;
use crate::json::set;

/// The maximum number of structs in a schema.
const MAX_STRUCTS: usize = 6;
/// A value that no member of any schema has.
const UNKNOWN: &str = "Zed";

#[derive(Clone, Copy)]
enum Ty {
    Number,
    Text,
    Labels,
    Atomic,
    Struct(usize),
    Items(usize),
}

#[derive(Clone)]
struct Union {
    discriminator: Option<&'static str>,
    deduce: Option<bool>,
    members: Vec<(&'static str, String)>,
    empty: Vec<&'static str>,
    closed: bool,
    required: bool,
    optional: bool,
}

#[derive(Default)]
struct Struct {
    fields: Vec<(&'static str, Ty)>,
    unions: Vec<Union>,
}

/// Makes one scenario.
struct ScenarioMaker {
    rng: Random,
    structs: Vec<Struct>,
    extended: bool,
}

/// The scenario of a seed.
pub(super) fn scenario(seed: u64) -> Value {
    let mut maker = ScenarioMaker {
        rng: Random::new(seed),
        structs: Vec::new(),
        extended: false,
    };
    maker.extended = maker.chance(15);
    maker.structure(0);
    // Without a union there is nothing to compare.
    if maker.structs.iter().all(|made| made.unions.is_empty()) {
        maker.unions(0, 1);
    }

    let types: Vec<Value> = maker
        .structs
        .iter()
        .enumerate()
        .map(|(at, made)| made.schema(at))
        .collect();
    json!({
        "name": format!("unions {seed}"),
        "schema": {"types": types},
        "types": {"v1": "t0"},
        "steps": maker.steps(),
    })
}

fn type_name(at: usize) -> String {
    format!("t{at}")
}

impl Struct {
    fn schema(&self, at: usize) -> Value {
        let scalar = |kind: &str| json!({"scalar": kind});
        let fields: Vec<Value> = self
            .fields
            .iter()
            .map(|(name, ty)| {
                let ty = match ty {
                    Ty::Number => scalar("numeric"),
                    Ty::Text => scalar("string"),
                    Ty::Labels => json!({"map": {"elementType": {"scalar": "string"}}}),
                    Ty::Atomic => json!({"map": {"elementType": {"scalar": "string"},
                        "elementRelationship": "atomic"}}),
                    Ty::Struct(at) => json!({"namedType": type_name(*at)}),
                    Ty::Items(at) => json!({"list": {"elementType": {"namedType": type_name(*at)},
                        "elementRelationship": "associative", "keys": ["name"]}}),
                };

                json!({"name": name, "type": ty})
            })
            .collect();

        let mut map = json!({ "fields": fields });
        if !self.unions.is_empty() {
            let unions: Vec<Value> = self.unions.iter().map(Union::schema).collect();
            set(&mut map, "unions", unions);
        }
        json!({"name": type_name(at), "map": map})
    }
}

impl Union {
    fn has(&self, name: &str) -> bool {
        self.discriminator == Some(name) || self.members.iter().any(|(member, _)| *member == name)
    }

    fn schema(&self) -> Value {
        let fields: Vec<Value> = self
            .members
            .iter()
            .map(|(name, value)| {
                let mut field = json!({"fieldName": name, "discriminatorValue": value});
                if self.optional {
                    set(&mut field, "optional", true);
                }
                field
            })
            .collect();
        let mut out = json!({ "fields": fields });

        if let Some(name) = self.discriminator {
            set(&mut out, "discriminator", name);
        }
        if let Some(deduce) = self.deduce {
            set(&mut out, "deduceInvalidDiscriminator", deduce);
        }
        if !self.empty.is_empty() {
            set(&mut out, "emptyMembers", self.empty.clone());
        }

        for (name, on) in [("closed", self.closed), ("required", self.required)] {
            if on {
                set(&mut out, name, true);
            }
        }
        out
    }
}

impl ScenarioMaker {
    fn chance(&mut self, percent: u32) -> bool {
        self.rng.chance(percent)
    }

    /// Generates a struct and its nested structs; the first is the object itself.
    fn structure(&mut self, depth: usize) -> usize {
        let at = self.structs.len();
        self.structs.push(Struct {
            fields: vec![("name", Ty::Text)],
            unions: Vec::new(),
        });
        let count = match self.rng.below(10) {
            0..2 => 0,
            2..8 => 1,
            _ => 2,
        };
        // The tens of the depth are the number of the union: the second one has other names.
        for number in 0..count {
            self.unions(at, depth + number * 10);
        }

        for (name, percent) in [("x", 60), ("labels", 25), ("spec", 35), ("items", 35)] {
            if self.chance(percent) {
                let ty = match name {
                    "x" => Ty::Number,
                    "labels" => Ty::Labels,
                    "spec" if self.room(depth) => Ty::Struct(self.structure(depth + 1)),
                    "items" if self.room(depth) => Ty::Items(self.structure(depth + 1)),
                    _ => continue,
                };
                self.field(at, name, ty);
            }
        }

        at
    }

    fn room(&self, depth: usize) -> bool {
        depth < 2 && self.structs.len() < MAX_STRUCTS
    }

    fn field(&mut self, at: usize, name: &'static str, ty: Ty) {
        if let Some(made) = self.structs.get_mut(at) {
            made.fields.push((name, ty));
        }
    }

    /// Adds a union to a struct; the second one has other names.
    fn unions(&mut self, at: usize, depth: usize) {
        let second = depth >= 10;
        let names: &[&'static str] = if second {
            &["p", "q", "r"]
        } else {
            &["a", "b", "c", "d"]
        };
        let discriminator = self
            .chance(75)
            .then_some(if second { "kind" } else { "type" });
        let count = self.rng.between(2, names.len());
        let cased = self.chance(85);
        let mut members = Vec::new();

        // No value is the name of its member, since the v4 code takes an unknown value for a name.
        for name in names.iter().take(count) {
            let value = if cased {
                name.to_uppercase()
            } else {
                format!("{name}{name}")
            };
            members.push((*name, value));
            let ty = match self.rng.below(10) {
                0..4 => Ty::Number,
                4..6 => Ty::Text,
                6 => Ty::Labels,
                7 => Ty::Atomic,
                _ if self.room(depth % 10) => Ty::Struct(self.structure(depth % 10 + 1)),
                _ => Ty::Number,
            };
            self.field(at, name, ty);
        }

        // Values may be the names of other members, with which the v4 code confuses them.
        if self.chance(6)
            && let [(_, first), (_, second), ..] = members.as_mut_slice()
        {
            (*first, *second) = ("b".to_owned(), "a".to_owned());
        }

        if let Some(name) = discriminator {
            self.field(at, name, Ty::Text);
        }
        let deduce = match self.rng.below(10) {
            0..5 => Some(true),
            5..8 => Some(false),
            _ => None,
        };
        let mut union = Union {
            discriminator,
            deduce,
            members,
            empty: Vec::new(),
            closed: false,
            required: false,
            optional: false,
        };

        // The v4 code does not know these extensions, so they are in some scenarios alone.
        if self.extended {
            let respecting = discriminator.is_some() && deduce != Some(true);
            for value in ["", "None"] {
                if discriminator.is_some() && self.chance(60) {
                    union.empty.push(value);
                }
            }
            union.closed = respecting && self.chance(40);
            union.required = self.chance(30);
            union.optional = self.chance(30);
        }

        if let Some(made) = self.structs.get_mut(at) {
            made.unions.push(union);
        }
    }

    fn names(&self, at: usize) -> Vec<(&'static str, Ty)> {
        self.structs
            .get(at)
            .map(|made| made.fields.clone())
            .unwrap_or_default()
    }

    /// The unions of a struct.
    fn unions_of(&self, at: usize) -> Vec<Union> {
        let made = self.structs.get(at);
        made.map(|made| made.unions.clone()).unwrap_or_default()
    }

    fn value(&mut self, ty: Ty, share: u32) -> Value {
        // Scalars have two values, so that managers often apply equal ones, and share a field without a conflict.
        match ty {
            Ty::Number => json!(self.rng.between(1, 2)),
            Ty::Text => self.rng.name(&["x", "y"]).into(),
            Ty::Labels | Ty::Atomic => {
                let mut out = Map::new();
                for key in ["k", "l"] {
                    if self.chance(60) {
                        out.insert(key.to_owned(), self.rng.name(&["x", "y"]).into());
                    }
                }
                Value::Object(out)
            }
            Ty::Struct(at) => Value::Object(self.object(at, share)),
            Ty::Items(at) => {
                let mut items = Vec::new();
                for name in ["i1", "i2", "i3"] {
                    if self.chance(45) {
                        items.push(self.item(at, name, share));
                    }
                }
                Value::Array(items)
            }
        }
    }

    fn item(&mut self, at: usize, name: &str, share: u32) -> Value {
        let mut item = self.object(at, share);
        item.insert("name".to_owned(), name.into());
        Value::Object(item)
    }

    /// A struct with a random choice of the fields outside of unions.
    fn object(&mut self, at: usize, share: u32) -> Fields {
        let mut out = Map::new();
        let groups = self.unions_of(at);
        for (name, ty) in self.names(at) {
            let grouped = groups.iter().any(|group| group.has(name));
            if name == "name" {
                if at == 0 {
                    out.insert(name.to_owned(), "o".into());
                }
            } else if !grouped && self.chance(share) {
                let value = self.value(ty, share);
                out.insert(name.to_owned(), value);
            }
        }

        // One change makes a valid union in most cases. Several leave members beside each other.
        for group in &groups {
            let changes = if self.chance(80) {
                1
            } else {
                self.rng.below(4)
            };
            for _ in 0..changes {
                self.change(&mut out, at, group, share);
            }
        }

        out
    }

    /// Changes one union.
    fn change(&mut self, fields: &mut Fields, at: usize, group: &Union, share: u32) {
        let Some((member, value)) = self.rng.pick(&group.members).cloned() else {
            return;
        };
        let ty = self
            .names(at)
            .into_iter()
            .find(|(name, _)| *name == member)
            .map_or(Ty::Number, |(_, ty)| ty);
        let content = self.value(ty, share);
        let discriminator = group.discriminator.map(str::to_owned);
        let set_discriminator = |fields: &mut Fields, value: Option<Value>| {
            if let Some(name) = discriminator {
                match value {
                    Some(value) => fields.insert(name, value),
                    None => fields.remove(&name),
                };
            }
        };

        match self.rng.below(100) {
            // One member replaces another.
            kind @ 0..36 => {
                fields.retain(|name, _| !group.members.iter().any(|(member, _)| member == name));
                fields.insert(member.to_owned(), content);
                if kind >= 14 {
                    set_discriminator(fields, Some(value.into()));
                }
            }
            kind @ 36..60 => {
                fields.insert(member.to_owned(), content);
                if kind >= 52 {
                    set_discriminator(fields, Some(value.into()));
                }
            }
            60..72 => set_discriminator(fields, Some(value.into())),
            72..79 => {
                fields.remove(member);
            }
            79..84 => {
                // A struct that becomes null makes the v4 code panic, which compares nothing.
                if !matches!(ty, Ty::Struct(_)) || self.chance(30) {
                    fields.insert(member.to_owned(), Value::Null);
                }
            }
            84..88 => set_discriminator(fields, Some(UNKNOWN.into())),
            88..90 => set_discriminator(fields, Some(member.into())),
            90..93 => set_discriminator(fields, Some(self.rng.of(&group.empty).into())),
            93..96 => set_discriminator(fields, Some("".into())),
            96..98 => set_discriminator(fields, Some(Value::Null)),
            _ => set_discriminator(fields, None),
        }
    }

    /// Changes some fields of a struct.
    fn mutate(&mut self, fields: &mut Fields, at: usize, share: u32) {
        let groups = self.unions_of(at);
        for group in &groups {
            if self.chance(45) {
                self.change(fields, at, group, share);
            }
            // A second change of the same union may contradict the first.
            if self.chance(8) {
                self.change(fields, at, group, share);
            }
        }

        // Nested structs change in place, so that a request repeats most of the object. A name is a key and stays.
        for (name, ty) in self.names(at) {
            match (fields.get_mut(name), ty) {
                (Some(Value::Object(inner)), Ty::Struct(at)) => {
                    let mut inner = std::mem::take(inner);
                    self.mutate(&mut inner, at, share);
                    fields.insert(name.to_owned(), Value::Object(inner));
                }
                (Some(Value::Array(items)), Ty::Items(at)) => {
                    let items = std::mem::take(items);
                    let items = self.mutated_items(items, at, share);
                    fields.insert(name.to_owned(), Value::Array(items));
                }
                (found, _) => {
                    let grouped = groups.iter().any(|group| group.has(name));
                    let there = found.is_some();
                    if name == "name" || grouped || !self.chance(15) {
                    } else if there && self.chance(40) {
                        fields.remove(name);
                    } else {
                        let value = self.value(ty, share);
                        fields.insert(name.to_owned(), value);
                    }
                }
            }
        }
    }

    fn mutated_items(&mut self, old: Vec<Value>, at: usize, share: u32) -> Vec<Value> {
        let mut out = Vec::new();
        // Items keep one order, since v4 and v6 order lists in different ways.
        for name in ["i1", "i2", "i3"] {
            let there = old
                .iter()
                .find(|item| item.get("name").and_then(Value::as_str) == Some(name));
            match there.and_then(Value::as_object) {
                Some(item) if self.chance(92) => {
                    let mut item = item.clone();
                    self.mutate(&mut item, at, share);
                    out.push(Value::Object(item));
                }
                None if self.chance(15) => out.push(self.item(at, name, share)),
                _ => {}
            }
        }

        out
    }

    fn steps(&mut self) -> Vec<Value> {
        let mut live = Map::new();
        let mut configs: [Option<Fields>; 3] = [None, None, None];
        let managers = self.rng.between(2, 3);
        let mut out = Vec::new();
        // The live object is only estimated, so that an update looks like one of a client that read it.
        for _ in 0..self.rng.between(1, 5) {
            let manager = self.rng.below(managers);
            let name = format!("m{manager}");
            match self.rng.below(100) {
                0..20 => {
                    let old = if self.chance(80) {
                        self.object(0, 50)
                    } else {
                        Map::new()
                    };
                    // Most new objects are changes of the old one, since the rules depend on what was added.
                    let mut new = if self.chance(85) {
                        old.clone()
                    } else {
                        self.object(0, 50)
                    };
                    self.mutate(&mut new, 0, 50);
                    new.insert("name".to_owned(), "o".into());

                    let old = if old.is_empty() {
                        Value::Null
                    } else {
                        Value::Object(old)
                    };
                    out.push(json!({"normalize": {"apiVersion": "v1", "old": old, "new": new}}));
                }
                20..55 => {
                    if live.is_empty() {
                        live = self.object(0, 60);
                    } else {
                        self.mutate(&mut live, 0, 60);
                    }
                    let body = json!({"manager": name, "apiVersion": "v1", "object": live});
                    out.push(json!({ "update": body }));
                }
                _ => {
                    let last = configs.get_mut(manager).and_then(Option::take);
                    // A manager changes its last configuration in most cases, so that its apply prunes.
                    let config = match last {
                        Some(mut config) if self.chance(60) => {
                            self.mutate(&mut config, 0, 40);
                            config
                        }
                        _ => self.object(0, 40),
                    };
                    let force = self.chance(45);
                    let mut body = json!({"manager": name, "apiVersion": "v1", "object": config});
                    if force {
                        set(&mut body, "force", true);
                    }

                    out.push(json!({ "apply": body }));
                    overlay(&mut live, &config);
                    if let Some(slot) = configs.get_mut(manager) {
                        *slot = Some(config);
                    }
                }
            }
        }

        out
    }
}

/// Approximately the result of an apply, so that later updates look like changes of it.
fn overlay(live: &mut Fields, config: &Fields) {
    for (name, value) in config {
        match (live.get_mut(name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => overlay(old, new),
            (Some(Value::Array(_)), Value::Array(_)) => {}
            _ => {
                live.insert(name.clone(), value.clone());
            }
        }
    }
}
