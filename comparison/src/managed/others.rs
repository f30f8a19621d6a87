//! Random requests that are not sequences.

use serde_json::{Value, json};

use super::entries::list;
use super::kinds::{ObjectKind, TEMPLATES, Version, definitions, random};
use super::objects::{dressed, set_metadata};
use crate::generate::objects::Objects;
use crate::generate::random::Random;
use crate::generate::types::Names;
use crate::json::{each, set};

/// A request of one of the other ops.
pub(crate) fn request(rng: &mut Random) -> Value {
    let kind = random(rng);
    let object = match Objects::new(rng, &kind.types, false).object() {
        object @ Value::Object(_) => object,
        _ => json!({}),
    };
    // These requests are about entries and not about conversion, so both versions have the same names.
    let versions = ["example.com/v1", "v1"].map(|name| Version {
        name: name.to_owned(),
        names: Names::new(),
    });
    let [version, _] = &versions;

    match rng.below(5) {
        0 => TEMPLATES.part(rng, "scale", 0),
        1 => extract(rng, &kind, version, &object),
        2 => {
            let object = owned(rng, &kind, version, &versions, &object);
            let managers: Vec<String> = (0..rng.between(1, 2))
                .map(|_| TEMPLATES.text(rng, "usualManager"))
                .collect();
            let mut out = json!({"op": "upgrade", "object": object, "csaManagers": managers});
            set(&mut out, "ssaManager", TEMPLATES.text(rng, "usualManager"));
            with_status(rng, out)
        }
        3 => {
            let mut out = TEMPLATES.part(rng, "validation", 0);
            // `@long N` stands for a text whose length is around a limit, with one or two bytes for a character.
            each(&mut out, &mut |value| {
                let length = value.as_str().and_then(|text| text.strip_prefix("@long "));
                if let Some(length) = length.and_then(|length| length.parse::<usize>().ok()) {
                    *value = json!(match length {
                        257 => "s".repeat(length),
                        _ => "é".repeat(length / 2) + "x",
                    });
                }
            });

            out
        }
        _ => {
            let crowd = rng.chance(20);
            let list = if rng.chance(15) {
                TEMPLATES.part(rng, "garbage", 0)
            } else {
                list(rng, &kind, &versions, &object, crowd)
            };
            json!({"op": "entries", "managedFields": list})
        }
    }
}

/// The object with entries.
fn owned(
    rng: &mut Random,
    kind: &ObjectKind,
    version: &Version,
    versions: &[Version],
    object: &Value,
) -> Value {
    let mut object = dressed(object, kind, version, None);
    let entries = list(rng, kind, versions, &object, false);
    set_metadata(&mut object, "managedFields", entries);
    object
}

fn extract(rng: &mut Random, kind: &ObjectKind, version: &Version, object: &Value) -> Value {
    let object = owned(rng, kind, version, std::slice::from_ref(version), object);
    let mut out =
        json!({"op": "extract", "object": object, "manager": TEMPLATES.text(rng, "manager")});
    if rng.chance(70) {
        set(
            &mut out,
            "schemas",
            json!({"definitions": definitions(rng, kind, version)}),
        );
        set(&mut out, "type", "Thing.v1");
    }

    with_status(rng, out)
}

fn with_status(rng: &mut Random, mut request: Value) -> Value {
    if rng.chance(10) {
        set(&mut request, "subresource", "status");
    }
    request
}
