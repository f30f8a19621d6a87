//! Generates cases from seeds.

use serde_json::{Value as Json, json};

use super::documents::Documents;
use super::schemas::Types;
use super::{pointers, strategic};
use crate::generate::random::Random;

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
    let original = pointers::object(random, 0);
    let mut patch = pointers::operations(random, &original);
    if random.chance(1) {
        patch = pointers::document(random, 2);
    }
    json!({"op": "jsonpatch", "original": original, "patch": as_document(patch)})
}

fn json_merge(random: &mut Random) -> Json {
    let object = |random: &mut Random| match random.chance(1) {
        true => as_document(pointers::document(random, 2)),
        false => pointers::object(random, 0),
    };
    let original = object(random);
    match random.below(3) {
        0 => {
            json!({"op": "jsonmergepatch", "function": "apply", "original": original, "patch": object(random)})
        }
        1 => {
            let modified = pointers::changed(random, &original, 0);
            json!({"op": "jsonmergepatch", "function": "create", "original": original, "modified": as_document(modified)})
        }
        _ => {
            let modified = pointers::changed(random, &original, 0);
            let current = pointers::changed(random, &original, 0);
            let (modified, current) = (as_document(modified), as_document(current));
            let mut case = json!({"op": "jsonmergepatch", "function": "three-way"});
            put(&mut case, [("original", original), ("modified", modified), ("current", current)]);
            if random.chance(20) {
                put(&mut case, [("preconditions", json!({"keys": ["a"], "metadataKeys": ["b"]}))]);
            }
            case
        }
    }
}

/// A document that is a string must be written as a JSON string of its serialized form.
fn as_document(value: Json) -> Json {
    if value.is_string() { value.to_string().into() } else { value }
}

fn put<const N: usize>(case: &mut Json, members: [(&str, Json); N]) {
    if let Some(case) = case.as_object_mut() {
        case.extend(members.map(|(name, value)| (name.to_owned(), value)));
    }
}

fn strategic(random: &mut Random) -> Json {
    let types = Types::generate(random);
    let documents = Documents { types: &types, noise: random.chance(40) };
    let original = Json::Object(documents.object(random, 0, 0));
    let mut case = json!({"op": "smp", "definitions": types.definitions(), "type": "t0"});
    if types.v2 {
        put(&mut case, [("openapi", "v2".into())]);
    }
    let patch = |random: &mut Random| Json::Object(strategic::patch(&documents, random, 0, &original, 0));
    let members = match random.below(20) {
        0..8 => {
            let patch = patch(random);
            vec![("function", "apply".into()), ("original", original.clone()), ("patch", patch)]
        }
        8..12 => {
            let modified = documents.changed(random, 0, &original, 0);
            vec![("function", "two-way".into()), ("original", original.clone()), ("modified", modified)]
        }
        12..17 => {
            let modified = documents.changed(random, 0, &original, 0);
            let current = documents.changed(random, 0, &original, 0);
            let overwrite = random.chance(50).into();
            vec![
                ("function", "three-way".into()),
                ("original", original.clone()),
                ("modified", modified),
                ("current", current),
                ("overwrite", overwrite),
            ]
        }
        17 => vec![
            ("function", "merge-patches".into()),
            ("patches", (0..random.between(1, 3)).map(|_| patch(random)).collect()),
        ],
        _ => vec![("function", "conflicts".into()), ("patches", json!([patch(random), patch(random)]))],
    };
    for member in members {
        put(&mut case, [member]);
    }
    if random.chance(5) {
        put(&mut case, [("preconditions", json!({"keys": ["a"], "metadataKeys": ["name"]}))]);
    }
    case
}
