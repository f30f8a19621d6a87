//! Random requests: a kind, and writes to one object of it.

use std::path::Path;

use serde_json::{Map as JsonMap, Value, json};

use super::kinds::{ObjectKind, TEMPLATES, Version, definitions, random, real};
use super::objects::api_version;
use super::others;
use super::steps::Story;
use crate::generate::fields;
use crate::generate::objects::Objects;
use crate::generate::random::Random;
use crate::generate::types::Names;
use crate::json::{items, member, set, text, unset};
use crate::{Error, files};

/// The source of real kinds: the definitions of an OpenAPI v2 document, and its file for the oracle.
#[derive(Clone, Debug)]
pub struct Real {
    /// The definitions by name.
    pub definitions: Value,
    /// The path of the document.
    pub file: String,
}

impl Real {
    /// Reads the definitions of a document.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not JSON.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let mut document = files::read(path)?;
        Ok(Real {
            definitions: unset(&mut document, "definitions").unwrap_or_default(),
            file: path.display().to_string(),
        })
    }
}

/// The request of a seed.
pub(super) fn request(seed: u64, document: Option<&Real>) -> Value {
    let mut rng = Random::new(seed);
    if rng.chance(35) {
        return others::request(&mut rng);
    }
    // Generated kinds reach more corner cases, so real ones take only a part of the cases.
    let document = document.filter(|_| rng.chance(30));

    match document.and_then(|document| Some((document, real(&mut rng, &document.definitions)?))) {
        Some((document, kind)) => {
            let versions = [Version {
                name: api_version(kind.group, kind.version),
                names: Names::new(),
            }];
            let mut out = start(&mut rng, &kind, &versions);
            out.insert("definitionsFile".to_owned(), json!(document.file));
            finish(&mut rng, out, kind, &versions, 1)
        }
        None => made(&mut rng),
    }
}

/// A generated kind, with one or more versions, or a kind without a schema.
fn made(rng: &mut Random) -> Value {
    let mut kind = random(rng);
    // Most kinds have one version, so that conversion has no part in their differences.
    let count = if rng.chance(55) { 1 } else { rng.between(2, 3) };
    let mut versions = Vec::new();
    for number in 1..=count {
        let names = if number > 1 && rng.chance(60) {
            renames(rng, &kind, number)
        } else {
            Names::new()
        };
        versions.push(Version {
            name: api_version(kind.group, &format!("v{number}")),
            names,
        });
    }

    // Without definitions, field managers deduce types from values.
    let deduced = rng.chance(18);
    if count > 1 && rng.chance(30) {
        kind.version = "v2";
    }
    let mut out = start(rng, &kind, &versions);

    if !deduced {
        let mut all = JsonMap::new();
        for version in &versions {
            all.extend(definitions(rng, &kind, version));
        }
        out.insert("schemas".to_owned(), json!({"definitions": all}));
        if rng.chance(4) {
            out.insert("preserveUnknownFields".to_owned(), json!(true));
        }
    }

    // The hub is the stored version; a version with the names of the hub needs no renaming.
    if count > 1 {
        out.insert("hub".to_owned(), json!("v1"));
        let renames = versions
            .iter()
            .filter(|version| !version.names.is_empty())
            .map(|version| {
                let paths = version
                    .names
                    .iter()
                    .map(|(old, new)| (format!("spec.{old}"), json!(format!("spec.{new}"))));
                (version.name.clone(), Value::Object(paths.collect()))
            });
        out.insert("renames".to_owned(), Value::Object(renames.collect()));
    }

    // Requests are made at versions that exist; entries may be of others.
    let mut served = count;
    if rng.chance(50) {
        let known: Vec<&str> = versions
            .iter()
            .map(|version| version.name.as_str())
            .collect();
        if rng.chance(20) && kind.version == "v1" && count > 1 {
            served = count - 1;
        }
        out.insert(
            "versions".to_owned(),
            json!(known.get(..served).unwrap_or_default()),
        );
    }

    finish(rng, out, kind, &versions, served)
}

/// The fields of `spec` or `status` in the model of a kind.
fn fields_of<'k>(kind: &'k ObjectKind, half: &str) -> &'k [Value] {
    let ty = kind.types.find(half).unwrap_or(&Value::Null);
    items(member(ty, "map"), "fields")
}

/// Other names for one or two fields of `spec`.
fn renames(rng: &mut Random, kind: &ObjectKind, number: usize) -> Names {
    let fields = fields_of(kind, "spec").iter().take(rng.between(1, 2));
    fields
        .map(|field| text(field, "name").to_owned())
        .map(|name| (name.clone(), format!("{name}_v{number}")))
        .collect()
}

/// The parts of a request that all kinds have.
fn start(rng: &mut Random, kind: &ObjectKind, versions: &[Version]) -> JsonMap<String, Value> {
    let mut out = TEMPLATES.part(rng, "start", 0);
    let gvk = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
    set(&mut out, "gvk", gvk);
    // As in an API server: a write of the object resets the status, a write of the status everything else.
    if rng.chance(45) {
        let by_version = |fields: Value| -> Value {
            let sets = versions
                .iter()
                .map(|version| (version.name.clone(), fields.clone()));
            Value::Object(sets.collect())
        };
        let main = by_version(json!({"f:status": {}}));
        let status = by_version(json!({"f:metadata": {}, "f:spec": {}}));
        set(&mut out, "resetFields", json!({"": main, "status": status}));

        if rng.chance(50) {
            set(&mut out, "statusSubresource", true);
        }
    } else if rng.chance(10) {
        let object = Objects::new(rng, &kind.types, false).object();
        let sets = versions.iter().map(|version| {
            let set = fields::random(rng, &kind.types, &object);
            (version.name.clone(), fields::renamed(&set, &version.names))
        });
        let sets = Value::Object(sets.collect());
        set(&mut out, "resetFields", json!({"": sets}));
    }

    // Defaults are filled in at the version of the request, so their schema has the names of that version.
    if rng.chance(20) {
        let by_version = versions.iter().map(|version| {
            let name = version.name.rsplit('/').next().unwrap_or_default();
            (name.to_owned(), defaults(rng, kind, &version.names))
        });
        let by_version = Value::Object(by_version.collect());
        set(&mut out, "structural", by_version);
    }

    out.as_object().cloned().unwrap_or_default()
}

/// A structural schema with defaults for some scalars of `spec` and `status`.
fn defaults(rng: &mut Random, kind: &ObjectKind, names: &Names) -> Value {
    let mut halves = json!({});
    for half in ["spec", "status"] {
        let mut properties = json!({});
        for field in fields_of(kind, half) {
            let (kind, default) = match text(member(field, "type"), "scalar") {
                "string" => ("string", json!(rng.name(&["a", "d"]))),
                "numeric" => ("number", json!(rng.below(3))),
                "boolean" => ("boolean", json!(true)),
                _ => continue,
            };
            // Only fields of `spec` have other names in other versions.
            let name = text(field, "name");
            let renamed = names.get(name).filter(|_| half == "spec");

            if rng.chance(70) {
                let name = renamed.map_or(name, String::as_str);
                set(
                    &mut properties,
                    name,
                    json!({"type": kind, "default": default}),
                );
            }
        }

        let mut schema = json!({"type": "object", "properties": properties});
        if rng.chance(30) {
            set(&mut schema, "default", json!({}));
        }
        set(&mut halves, half, schema);
    }

    json!({"type": "object", "properties": halves})
}

fn finish(
    rng: &mut Random,
    mut out: JsonMap<String, Value>,
    kind: ObjectKind,
    versions: &[Version],
    served: usize,
) -> Value {
    let uid = out.get("uid").and_then(Value::as_str).map(str::to_owned);
    let mut story = Story::new(rng, kind, versions.to_vec(), served, uid);
    if let Some(live) = story.live() {
        out.insert("live".to_owned(), live);
    }
    out.insert("steps".to_owned(), Value::Array(story.steps()));
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_determines_the_request() {
        for seed in 0..50 {
            assert_eq!(request(seed, None), request(seed, None));
            assert_ne!(request(seed, None), request(seed + 1, None));
        }
    }
}
