//! Templates of random JSON, as YAML.
//!
//! | in a template | in the result |
//! |---|---|
//! | `{$one: [A, B]}` | one of the items |
//! | `{$weighted: [[3, A], [1, B]]}` | one of the items, by weight |
//! | `{$mostly: [A, B, C]}` | the first item in 60 of 100 cases, or else any |
//! | `{$some: [A, B]}` | a list of some of the items, at least one |
//! | `{$times: [LOW, HIGH], $of: A}` | a list of that length |
//! | `{$times: [LOW, HIGH], $of: A, $keys: K}` | an object of that many members, fewer if keys are equal |
//! | `{$with: A, ..}`, `{$with: [A, B], ..}` | the members of the objects, and more |
//! | `{$below: A}` | A, one level deeper |
//! | `{$deep: A, $flat: B}` | A, or B if no level is left |
//! | a member `NAME~` | it is there in as many of 100 cases as the caller says |
//! | a member `NAME~15` | it is there in 15 of 100 cases |
//! | `$NAME` | the part NAME of the file, if there is one |

use fieldmanager_value::Value;
use serde_json::{Map as JsonMap, Value as Json};

use super::random::Random;
use crate::json::{back, children, items, member};

/// The parts of a file of templates.
pub(crate) struct Templates(JsonMap<String, Json>);

/// How a template is expanded.
#[derive(Clone, Copy)]
pub(crate) struct Expansion {
    /// In how many of 100 cases a member `NAME~` is there.
    pub(crate) percent: u32,
    /// The levels that are left.
    pub(crate) depth: usize,
}

/// A YAML document as JSON.
pub(crate) fn yaml(text: &str) -> Result<Json, String> {
    let value = Value::from_yaml(text).map_err(|error| error.to_string())?;
    Ok(back(&value))
}

impl Templates {
    /// Reads a file.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        match yaml(text)? {
            Json::Object(parts) => Ok(Templates(parts)),
            other => Err(format!("templates are a map, not {other}")),
        }
    }

    /// The parts of a file that belongs to this program; there are none if it cannot be read, which a test checks.
    pub(crate) fn of(text: &str) -> Self {
        Templates::read(text).unwrap_or(Templates(JsonMap::new()))
    }

    /// A part, with a number of levels.
    pub(crate) fn part(&self, rng: &mut Random, name: &str, depth: usize) -> Json {
        let template = self.0.get(name).unwrap_or(&Json::Null);
        self.expand(rng, template, Expansion { percent: 50, depth })
    }

    /// All texts in a part, one after the other.
    pub(crate) fn text(&self, rng: &mut Random, name: &str) -> String {
        fn join(value: &Json, out: &mut String) {
            out.push_str(value.as_str().unwrap_or_default());
            children(value).for_each(|child| join(child, out));
        }
        let mut out = String::new();
        join(&self.part(rng, name, 2), &mut out);
        out
    }

    /// The result of a template.
    pub(crate) fn expand(&self, rng: &mut Random, template: &Json, how: Expansion) -> Json {
        match template {
            Json::String(name) => match name.strip_prefix('$').and_then(|name| self.0.get(name)) {
                Some(part) => self.expand(rng, part, how),
                None => template.clone(),
            },
            Json::Array(items) => items
                .iter()
                .map(|item| self.expand(rng, item, how))
                .collect(),
            Json::Object(members) => match self.chosen(rng, template, how) {
                Some(chosen) => chosen,
                None => self.object(rng, members, how),
            },
            _ => template.clone(),
        }
    }

    /// The result of a template that is a choice or a repetition.
    fn chosen(&self, rng: &mut Random, template: &Json, how: Expansion) -> Option<Json> {
        // Members are sorted by name, so the first one says what the template is: `$deep` is before `$flat`, and
        // `$keys` and `$of` are before `$times`.
        let (first, _) = template.as_object()?.iter().next()?;
        let choices = items(template, first);
        let chosen = match first.as_str() {
            "$one" => rng.pick(choices)?,
            "$mostly" => {
                if rng.chance(60) {
                    choices.first()?
                } else {
                    rng.pick(choices)?
                }
            }
            "$weighted" => {
                let weight = |choice: &Json| u32::try_from(choice.get(0)?.as_u64()?).ok();
                let weighted: Vec<(u32, &Json)> = choices
                    .iter()
                    .filter_map(|choice| Some((weight(choice)?, choice.get(1)?)))
                    .collect();
                rng.weighted(&weighted, &Json::Null)
            }
            "$deep" if how.depth > 0 => member(template, "$deep"),
            "$deep" => member(template, "$flat"),
            "$below" => {
                let depth = how.depth.saturating_sub(1);
                let below = Expansion { depth, ..how };
                return Some(self.expand(rng, member(template, "$below"), below));
            }
            "$some" => return Some(self.some(rng, choices, how)),
            "$keys" | "$of" => return Some(self.repeated(rng, template, how)),
            _ => return None,
        };

        Some(self.expand(rng, chosen, how))
    }

    fn some(&self, rng: &mut Random, choices: &[Json], how: Expansion) -> Json {
        // One item is certain, because an empty list would often be invalid.
        let sure = rng.below(choices.len());
        let chosen = choices.iter().enumerate();
        let mut chosen: Vec<_> = chosen
            .filter(|(at, _)| *at == sure || rng.chance(45))
            .map(|(_, item)| item)
            .collect();
        if rng.chance(15) {
            rng.shuffle(&mut chosen);
        }

        chosen
            .into_iter()
            .map(|item| self.expand(rng, item, how))
            .collect()
    }

    fn repeated(&self, rng: &mut Random, template: &Json, how: Expansion) -> Json {
        let bound = |at: usize| {
            let bound = items(template, "$times").get(at).and_then(Json::as_u64);
            bound.and_then(|bound| usize::try_from(bound).ok())
        };
        let count = rng.between(bound(0).unwrap_or_default(), bound(1).unwrap_or_default());
        let of = member(template, "$of");
        let Some(keys) = template.get("$keys") else {
            return (0..count).map(|_| self.expand(rng, of, how)).collect();
        };

        // Equal keys replace each other, so a small alphabet gives fewer members.
        let entries = (0..count).map(|_| {
            let key = self.expand(rng, keys, how);
            let key = key.as_str().unwrap_or_default().to_owned();
            (key, self.expand(rng, of, how))
        });
        Json::Object(entries.collect())
    }

    fn object(&self, rng: &mut Random, members: &JsonMap<String, Json>, how: Expansion) -> Json {
        let mut out = JsonMap::new();
        let bases = match members.get("$with") {
            Some(Json::Array(bases)) => bases.as_slice(),
            base => base.map(std::slice::from_ref).unwrap_or_default(),
        };

        // The bases come first, so that members of the template itself replace theirs.
        for base in bases {
            if let Json::Object(base) = self.expand(rng, base, how) {
                out.extend(base);
            }
        }

        for (name, value) in members.iter().filter(|(name, _)| *name != "$with") {
            let (name, percent) = match name.rsplit_once('~') {
                Some((name, "")) => (name, how.percent),
                Some((name, percent)) => (name, percent.parse().unwrap_or(100)),
                None => (name.as_str(), 100),
            };
            if rng.chance(percent) {
                out.insert(name.to_owned(), self.expand(rng, value, how));
            }
        }

        Json::Object(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_expanded() {
        let templates = Templates::read(
            "{part: {x: 1}, list: {$times: [2, 2], $of: $part}, nested: {a~100: {$below: $deep}, b~0: 1}, \
             deep: {$deep: {c: {$below: $deep}}, $flat: end}, all: {$with: [$part, {w: 2}], z: $unknown}}",
        )
        .unwrap();
        let mut rng = Random::new(1);
        let mut part = |name: &str| templates.part(&mut rng, name, 2).to_string();
        assert_eq!(part("list"), r#"[{"x":1},{"x":1}]"#);
        assert_eq!(part("nested"), r#"{"a":{"c":"end"}}"#);
        assert_eq!(part("all"), r#"{"w":2,"x":1,"z":"$unknown"}"#);
    }
}
