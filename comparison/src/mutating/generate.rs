//! Random mutations.

use serde_json::{Value as Json, json};

use crate::generate::objects::Objects;
use crate::generate::random::Random;
use crate::generate::schema;
use crate::json::{places, set};

/// The case of a seed.
pub(super) fn case(seed: u64) -> Json {
    let mut rng = Random::new(seed);
    let types = if rng.chance(30) {
        schema::workload(&mut rng)
    } else {
        schema::random(&mut rng)
    };
    let spec = Objects::new(&mut rng, &types, false).object();
    let config = Objects::new(&mut rng, &types, false).derived(&spec);

    // The object has a specification of a random type.
    let mut definitions = types.write("", &Default::default());
    let field = |name: &str, ty: Json| json!({"name": name, "type": ty});
    let fields = [
        field("apiVersion", json!({"scalar": "string"})),
        field("kind", json!({"scalar": "string"})),
        field("spec", types.root_ref()),
    ];
    definitions.push(json!({"name": "app", "map": {"fields": fields}}));
    let mut object = json!({"apiVersion": "example.com/v1", "kind": "App"});
    if !rng.chance(4) {
        set(&mut object, "spec", spec);
    }

    let is_patch = rng.chance(35);
    let mut writer = ExpressionWriter {
        rng: &mut rng,
        object: &object,
    };
    let expression = if is_patch {
        writer.patch(&config)
    } else {
        writer.configuration(&config)
    };
    let patch_type = if is_patch {
        "JSONPatch"
    } else {
        "ApplyConfiguration"
    };
    json!({
        "schema": {"types": definitions}, "type": "app", "object": object,
        "patchType": patch_type, "expression": expression,
    })
}

/// Writes expressions about an object.
struct ExpressionWriter<'a> {
    rng: &'a mut Random,
    object: &'a Json,
}

impl ExpressionWriter<'_> {
    fn configuration(&mut self, config: &Json) -> String {
        let spec = self.value(config, "Object.spec", 0);
        let spec = match self.rng.below(12) {
            0 => format!(
                "has(object.spec) ? {spec} : {}",
                self.value(config, "Object.spec", 0)
            ),
            1 => "object.?spec.orValue(null)".to_owned(),
            _ => spec,
        };
        let field = if self.rng.chance(3) { "speck" } else { "spec" };
        let more = if self.rng.chance(4) {
            ", kind: 'Other'"
        } else {
            ""
        };
        format!("Object{{{field}: {spec}{more}}}")
    }

    fn patch(&mut self, config: &Json) -> String {
        let mut operations = Vec::new();
        for _ in 0..self.rng.between(1, 3) {
            // Mostly a path that exists, sometimes with a step more.
            let places = places(self.object);
            let mut path = match self.rng.pick(&places) {
                Some((path, _)) if self.rng.chance(85) => path.clone(),
                _ => self
                    .rng
                    .name(&["/spec", "/spec/a", "", "/x/y", "spec", "/spec/-", "/spec/0"])
                    .to_owned(),
            };
            match self.rng.below(14) {
                _ if !path.starts_with('/') => {}
                0 => path.push_str("/-"),
                1 => path.push_str("/9"),
                2 => path.push_str("/a"),
                3 => path.push_str("' + '/' + jsonpatch.escapeKey('a/b~c') + '"),
                _ => {}
            }

            let parts = crate::json::places(config);
            let value = self
                .rng
                .pick(&parts)
                .map_or(&Json::Null, |(_, value)| *value)
                .clone();
            let value = self.value(&value, "Object.spec", 0);
            let op = self.rng.name(&[
                "add", "add", "add", "replace", "remove", "test", "move", "copy", "ad",
            ]);

            let from = if matches!(op, "move" | "copy") && self.rng.chance(95) {
                let places = crate::json::places(self.object);
                let from = self
                    .rng
                    .pick(&places)
                    .map_or("/q", |(path, _)| path.as_str());
                format!(", from: '{from}'")
            } else {
                String::new()
            };
            let value = if op == "remove" || self.rng.chance(5) {
                String::new()
            } else {
                format!(", value: {value}")
            };

            operations.push(format!(
                "JSONPatch{{op: '{op}', path: '{path}'{from}{value}}}"
            ));
        }

        let list = format!("[{}]", operations.join(", "));
        if self.rng.chance(5) {
            format!("{list} + {list}")
        } else {
            list
        }
    }

    /// An expression of a value, for a field of the type `of`.
    fn value(&mut self, value: &Json, of: &str, depth: usize) -> String {
        if depth < 8 && self.rng.chance(4) {
            return self.other(value, of, depth);
        }

        match value {
            Json::Array(items) => {
                let parts: Vec<String> = items
                    .iter()
                    .map(|item| {
                        let part = self.value(item, of, depth + 1);
                        // The items of a list have one type, unless nothing is known about them.
                        if same_kind(items) {
                            part
                        } else {
                            format!("dyn({part})")
                        }
                    })
                    .collect();
                format!("[{}]", parts.join(", "))
            }
            Json::Object(fields) if self.rng.chance(12) => {
                let values: Vec<Json> = fields.values().cloned().collect();
                let parts: Vec<String> = fields
                    .iter()
                    .map(|(name, field)| {
                        let part = self.value(field, of, depth + 1);
                        let name = json!(name);
                        if same_kind(&values) {
                            format!("{name}: {part}")
                        } else {
                            format!("{name}: dyn({part})")
                        }
                    })
                    .collect();
                format!("{{{}}}", parts.join(", "))
            }
            Json::Object(fields) => {
                let parts: Vec<String> = fields
                    .iter()
                    .map(|(name, field)| {
                        let part = self.value(field, &format!("{of}.{name}"), depth + 1);
                        match self.rng.below(20) {
                            0 => format!("?{name}: optional.of({part})"),
                            1 => format!("?{name}: optional.none()"),
                            2 => format!("`{name}`: {part}"),
                            _ => format!("{name}: {part}"),
                        }
                    })
                    .collect();
                let of = if self.rng.chance(1) {
                    "Object.wrong"
                } else {
                    of
                };
                format!("{of}{{{}}}", parts.join(", "))
            }
            Json::Number(number) if self.rng.chance(3) && number.is_u64() => format!("{number}u"),
            other => other.to_string(),
        }
    }

    /// An expression that is no literal.
    fn other(&mut self, value: &Json, of: &str, depth: usize) -> String {
        let places = places(self.object);
        let path = self.rng.pick(&places).map_or("", |(path, _)| path.as_str());
        // A selection by names and numbers, as far as there is something.
        let selected = path
            .split('/')
            .skip(1)
            .fold("object".to_owned(), |out, step| {
                if step.parse::<u64>().is_ok() {
                    format!("{out}[{step}]")
                } else {
                    format!("{out}.{step}")
                }
            });

        let literal = self.value(value, of, depth + 1);
        match self.rng.below(11) {
            0 => format!("dyn({literal})"),
            1 => format!("optional.of({literal}).value()"),
            2 => format!("[{literal}].map(x, x)[0]"),
            3 => selected,
            4 => format!("[{selected}]"),
            5 => format!("{{'k': {selected}}}"),
            6 if value.is_array() => format!("{literal}.map(x, x)"),
            7 if value.is_array() => format!("({literal} + {literal})"),
            8 => "optional.none()".to_owned(),
            9 => format!("({selected} == {selected} ? dyn({literal}) : dyn({selected}))"),
            _ => self
                .rng
                .name(&[
                    "null",
                    "duration('90s')",
                    "1u",
                    "1.0",
                    "b'a'",
                    "type(1)",
                    "{1: 2}",
                    "'a'.split('')",
                    "9007199254740993",
                ])
                .to_owned(),
        }
    }
}

/// Whether all values have the same type of CEL.
fn same_kind(values: &[Json]) -> bool {
    let kind = |value: &Json| match value {
        Json::Number(number) if number.is_f64() => "double".to_owned(),
        Json::String(_) => "string".to_owned(),
        Json::Bool(_) => "bool".to_owned(),
        Json::Number(_) => "int".to_owned(),
        Json::Object(_) => "object".to_owned(),
        _ => format!("other {value}"),
    };
    let mut kinds = values.iter().map(kind);
    let first = kinds.next();
    kinds.all(|kind| Some(kind) == first)
}
