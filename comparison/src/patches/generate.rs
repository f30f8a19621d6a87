//! Generates cases from seeds.

use serde_json::{Value as Json, json};

use super::documents::Documents;
use super::schemas::Types;
use super::{pointers, strategic};
use crate::generate::random::Random;
use crate::json::set;

/// The case of a seed.
pub(super) fn case(seed: u64) -> Json {
    let random = &mut Random::new(seed);
    match random.below(10) {
        0 => json_patch(random),
        1 => json_merge(random),
        _ => strategic(random),
    }
}

fn json_patch(random: &mut Random) -> Json {
    let original = pointers::object(random);
    let mut patch = pointers::operations(random, &original);
    if random.chance(1) {
        patch = pointers::document(random, 2);
    }
    json!({"op": "jsonpatch", "original": original, "patch": as_document(patch)})
}

fn json_merge(random: &mut Random) -> Json {
    let object = |random: &mut Random| {
        if random.chance(1) {
            as_document(pointers::document(random, 2))
        } else {
            pointers::object(random)
        }
    };
    let original = object(random);
    // Both sides of a three-way patch change the same original, so that some changes meet.
    let mut changed = || as_document(pointers::changed(random, &original, 0));
    let (modified, current) = (changed(), changed());
    let (op, preconditions) = (
        "jsonmergepatch",
        json!({"keys": ["a"], "metadataKeys": ["b"]}),
    );

    match random.below(3) {
        0 => json!({"op": op, "function": "apply", "original": original, "patch": object(random)}),
        1 => json!({"op": op, "function": "create", "original": original, "modified": modified}),
        _ => {
            let mut case = json!({
                "op": op, "function": "three-way", "original": original, "modified": modified, "current": current,
            });
            if random.chance(20) {
                set(&mut case, "preconditions", preconditions);
            }
            case
        }
    }
}

/// A document that is a string must be written as a JSON string of its serialized form.
fn as_document(value: Json) -> Json {
    if value.is_string() {
        value.to_string().into()
    } else {
        value
    }
}

fn strategic(random: &mut Random) -> Json {
    // Noise is a choice for the whole case, so that most cases have no fault at all.
    let types = Types::generate(random);
    let documents = Documents {
        types: &types,
        noise: random.chance(40),
    };
    let original = Json::Object(documents.object(random, 0, 0));
    let mut case = json!({"op": "smp", "definitions": types.definitions(), "type": "t0"});
    if types.v2 {
        set(&mut case, "openapi", "v2");
    }

    let mut put = |name: &str, value: Json| set(&mut case, name, value);
    // All patches are for the same original, so that two of them can conflict.
    let patch =
        |random: &mut Random| Json::Object(strategic::patch(&documents, random, 0, &original, 0));
    let changed = |random: &mut Random| documents.changed(random, 0, &original, 0);
    let function = match random.below(20) {
        0..8 => {
            put("patch", patch(random));
            "apply"
        }
        8..12 => {
            put("modified", changed(random));
            "two-way"
        }
        12..17 => {
            put("modified", changed(random));
            put("current", changed(random));
            put("overwrite", random.chance(50).into());
            "three-way"
        }
        17 => {
            let count = random.between(1, 3);
            put("patches", (0..count).map(|_| patch(random)).collect());
            "merge-patches"
        }
        _ => {
            put("patches", json!([patch(random), patch(random)]));
            "conflicts"
        }
    };

    // The functions about patches alone have no object.
    put("function", function.into());
    if !["merge-patches", "conflicts"].contains(&function) {
        put("original", original.clone());
    }
    // A precondition refuses a patch that changes certain fields.
    if random.chance(5) {
        put(
            "preconditions",
            json!({"keys": ["a"], "metadataKeys": ["name"]}),
        );
    }

    case
}
