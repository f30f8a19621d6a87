//! The versions of a scenario's object, and their differences.

use serde_json::{Map as JsonMap, Value, json};

use super::random::Random;
use super::types::{Names, Types, type_name};
use crate::json::{items, member, set, text, with_each};

/// One version of the object.
pub(crate) struct Version {
    pub(crate) name: String,
    /// Distinguishes the types of this version; empty if all versions share them.
    pub(crate) suffix: String,
    /// The names of the fields that differ between versions.
    pub(crate) names: Names,
}

/// All versions of a scenario. Everything is generated with the names of the first version and converted to the names
/// of the version at which it is used.
pub(crate) struct Versions {
    pub(crate) all: Vec<Version>,
    pub(crate) conversion: Option<Value>,
    single_entry: bool,
}

impl Versions {
    /// Most scenarios have one version; the others differ in the features that distinguish their versions.
    pub(crate) fn random(rng: &mut Random, types: &Types) -> Self {
        let count = if rng.chance(70) { 1 } else { rng.between(2, 3) };
        let mut out = Self {
            all: (1..=count)
                .map(|number| Version {
                    name: format!("v{number}"),
                    suffix: String::new(),
                    names: Names::new(),
                })
                .collect(),
            conversion: None,
            single_entry: true,
        };

        // Most objects have one version, with which conversion has no part in a difference.
        if count == 1 {
            return out;
        }
        match rng.below(5) {
            0 => {}
            1 => out.separate_types(),
            _ => {
                out.separate_types();
                out.rename(rng, types);
            }
        }

        // Owners at a version that is no longer served cannot be converted.
        if rng.chance(20) {
            let served: Vec<_> = out
                .all
                .iter()
                .take(count - 1)
                .map(|version| json!(version.name))
                .collect();
            let conversion = out.conversion.get_or_insert_with(|| json!({}));
            set(conversion, "served", served);
        }

        out
    }

    fn separate_types(&mut self) {
        self.single_entry = false;
        for version in &mut self.all {
            version.suffix = format!("_{}", version.name);
        }
    }

    fn rename(&mut self, rng: &mut Random, types: &Types) {
        let maps = types.definitions.iter().map(|ty| member(ty, "map"));
        let fields = maps.flat_map(|map| items(map, "fields"));
        let mut fields: Vec<String> = fields.map(|field| text(field, "name").to_owned()).collect();
        fields.sort();
        fields.dedup();
        rng.shuffle(&mut fields);
        fields.truncate(rng.between(1, 2));
        let mut renames = Vec::new();

        // A renamed field has its old name at the first version, at which everything is generated.
        for field in fields {
            let mut entry = JsonMap::new();
            for (position, version) in self.all.iter_mut().enumerate() {
                let name = if position == 0 {
                    field.clone()
                } else {
                    format!("{field}_{}", version.name)
                };
                version.names.insert(field.clone(), name.clone());
                entry.insert(version.name.clone(), json!(name));
            }
            renames.push(Value::Object(entry));
        }
        self.conversion = Some(json!({ "renames": renames }));
    }

    /// The version at an index, or the first one.
    pub(crate) fn at(&self, index: usize) -> Option<&Version> {
        self.all.get(index).or_else(|| self.all.first())
    }

    /// The `types` member of a scenario.
    pub(crate) fn types(&self, types: &Types) -> Value {
        let count = if self.single_entry { 1 } else { self.all.len() };
        let entries = self.all.iter().take(count);
        Value::Object(
            entries
                .map(|version| {
                    (
                        version.name.clone(),
                        json!(type_name(&types.root, &version.suffix)),
                    )
                })
                .collect(),
        )
    }

    /// The `schema` member: the types of every version.
    pub(crate) fn schema(&self, types: &Types) -> Value {
        let count = if self.single_entry { 1 } else { self.all.len() };
        let mut out: Vec<Value> = Vec::new();
        for version in self.all.iter().take(count) {
            for definition in types.write(&version.suffix, &version.names) {
                // The deduced types have one name at all versions.
                if !out
                    .iter()
                    .any(|other| other.get("name") == definition.get("name"))
                {
                    out.push(definition);
                }
            }
        }

        json!({ "types": out })
    }
}

/// The object with the field names of a version.
pub(crate) fn renamed(value: &Value, names: &Names) -> Value {
    with_each(value, |part| {
        if let Value::Object(members) = part {
            let renamed = std::mem::take(members)
                .into_iter()
                .map(|(key, value)| (names.get(&key).cloned().unwrap_or(key), value));
            members.extend(renamed);
        }
    })
}
