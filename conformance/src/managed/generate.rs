//! Random requests: a kind, and writes to one object of it.

use std::path::Path;

use serde_json::{Map as JsonMap, Value, json};

use super::kinds::{Kind, definitions, real};
use super::objects::{Version, api_version};
use super::steps::Story;
use super::{others, schema};
use crate::generate::fields;
use crate::generate::objects::Objects;
use crate::generate::random::Random;
use crate::generate::types::{Base, Names, Scalar};
use crate::{Error, files};

/// The source of real kinds: the definitions of an OpenAPI v2 document, and its file for the oracle.
#[derive(Clone, Debug)]
pub struct Real {
    /// The definitions by name.
    pub definitions: JsonMap<String, Value>,
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
        let document = files::read(path)?;
        let definitions = document.get("definitions").and_then(Value::as_object).cloned().unwrap_or_default();
        Ok(Real { definitions, file: path.display().to_string() })
    }
}

/// The request of a seed.
pub(super) fn request(seed: u64, document: Option<&Real>) -> Value {
    let mut rng = Random::new(seed);
    if rng.chance(35) {
        return others::request(&mut rng);
    }
    let document = document.filter(|_| rng.chance(30));
    match document.and_then(|document| Some((document, real(&mut rng, &document.definitions)?))) {
        Some((document, kind)) => {
            let versions = [Version { name: api_version(kind.group, kind.version), names: Names::new() }];
            let mut out = start(&mut rng, &kind, &versions);
            out.insert("definitionsFile".to_owned(), json!(document.file));
            finish(&mut rng, out, kind, &versions, 1)
        }
        None => made(&mut rng),
    }
}

/// A generated kind, with one or more versions, or a kind without a schema.
fn made(rng: &mut Random) -> Value {
    let mut kind = schema::random(rng);
    let count = if rng.chance(55) { 1 } else { rng.between(2, 3) };
    let mut versions = Vec::new();
    for number in 1..=count {
        let names = if number > 1 && rng.chance(60) { renames(rng, &kind, number) } else { Names::new() };
        versions.push(Version { name: api_version(kind.group, &format!("v{number}")), names });
    }
    let deduced = rng.chance(18);
    if count > 1 && rng.chance(30) {
        kind.version = "v2";
    }
    let mut out = start(rng, &kind, &versions);
    if !deduced {
        let mut all = JsonMap::new();
        for version in &versions {
            let name = version.name.rsplit('/').next().unwrap_or_default();
            all.extend(definitions(&kind, name, &version.renames()));
        }
        out.insert("schemas".to_owned(), json!({"definitions": all}));
        if rng.chance(4) {
            out.insert("preserveUnknownFields".to_owned(), json!(true));
        }
    }
    if count > 1 {
        out.insert("hub".to_owned(), json!("v1"));
        let renames = versions.iter().filter(|version| !version.names.is_empty()).map(|version| {
            let paths =
                version.names.iter().map(|(old, new)| (format!("spec.{old}"), json!(format!("spec.{new}"))));
            (version.name.clone(), Value::Object(paths.collect()))
        });
        out.insert("renames".to_owned(), Value::Object(renames.collect()));
    }
    // Requests are made at versions that exist; entries may be of others.
    let mut served = count;
    if rng.chance(50) {
        let known: Vec<&str> = versions.iter().map(|version| version.name.as_str()).collect();
        if rng.chance(20) && kind.version == "v1" && count > 1 {
            served = count - 1;
        }
        out.insert("versions".to_owned(), json!(known.get(..served).unwrap_or_default()));
    }
    finish(rng, out, kind, &versions, served)
}

/// Other names for one or two fields of `spec`.
fn renames(rng: &mut Random, kind: &Kind, number: usize) -> Names {
    let spec = kind.types.find("spec").and_then(|atom| atom.map.clone()).unwrap_or_default();
    let count = rng.between(1, 2);
    let fields = spec.fields.iter().take(count);
    fields.map(|field| (field.name.clone(), format!("{}_v{number}", field.name))).collect()
}

/// The parts of a request that all kinds have.
fn start(rng: &mut Random, kind: &Kind, versions: &[Version]) -> JsonMap<String, Value> {
    let mut out = JsonMap::new();
    let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
    put("op", json!("managed"));
    put("gvk", json!({"group": kind.group, "version": kind.version, "kind": kind.kind}));
    if rng.chance(40) {
        put("customResource", json!(true));
    }
    if rng.chance(50) {
        put("uid", json!("u-1"));
    }
    if rng.chance(45) {
        let by_version = |fields: &Value| {
            let sets = versions.iter().map(|version| (version.name.clone(), fields.clone()));
            Value::Object(sets.collect())
        };
        let main = json!({"f:status": {}});
        let status = json!({"f:metadata": {}, "f:spec": {}});
        put("resetFields", json!({"": by_version(&main), "status": by_version(&status)}));
        if rng.chance(50) {
            put("statusSubresource", json!(true));
        }
    } else if rng.chance(10) {
        let object = Objects::new(&kind.types, false).object(rng);
        let sets = versions.iter().map(|version| {
            let set = fields::random(rng, &kind.types, &object);
            (version.name.clone(), fields::renamed(&set, &version.names))
        });
        put("resetFields", json!({"": Value::Object(sets.collect())}));
    }
    if rng.chance(20) {
        let by_version = versions.iter().map(|version| {
            let name = version.name.rsplit('/').next().unwrap_or_default();
            (name.to_owned(), defaults(rng, kind, &version.names))
        });
        put("structural", Value::Object(by_version.collect()));
    }
    out
}

/// A structural schema with defaults for some scalars of `spec` and `status`.
fn defaults(rng: &mut Random, kind: &Kind, names: &Names) -> Value {
    let mut halves = JsonMap::new();
    for half in ["spec", "status"] {
        let Some(map) = kind.types.find(half).and_then(|atom| atom.map.as_ref()) else { continue };
        let mut properties = JsonMap::new();
        for field in &map.fields {
            let Base::Inline(atom) = &field.type_ref.base else { continue };
            let (kind, default) = match atom.scalar {
                Some(Scalar::String) if atom.map.is_none() => ("string", json!(rng.name(&["a", "d"]))),
                Some(Scalar::Numeric) => ("number", json!(rng.below(3))),
                Some(Scalar::Boolean) => ("boolean", json!(true)),
                _ => continue,
            };
            let name = names.get(&field.name).filter(|_| half == "spec").unwrap_or(&field.name);
            if rng.chance(70) {
                properties.insert(name.clone(), json!({"type": kind, "default": default}));
            }
        }
        let mut schema = json!({"type": "object", "properties": properties});
        if rng.chance(30)
            && let Some(members) = schema.as_object_mut()
        {
            members.insert("default".to_owned(), json!({}));
        }
        halves.insert(half.to_owned(), schema);
    }
    json!({"type": "object", "properties": halves})
}

fn finish(
    rng: &mut Random,
    mut out: JsonMap<String, Value>,
    kind: Kind,
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
