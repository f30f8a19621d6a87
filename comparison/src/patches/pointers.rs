//! Random JSON patches and JSON merge patches.

use serde_json::{Map, Value as Json};

use super::documents::TEMPLATES;
use crate::generate::random::Random;

/// A document with few distinct names, so that pointers often match.
pub(super) fn document(random: &mut Random, depth: usize) -> Json {
    TEMPLATES.part(random, "document", 4_usize.saturating_sub(depth))
}

pub(super) fn object(random: &mut Random) -> Json {
    TEMPLATES.part(random, "object", 4)
}

/// A copy of a document with some changes.
pub(super) fn changed(random: &mut Random, value: &Json, depth: usize) -> Json {
    let Json::Object(old) = value else {
        let keeps = random.chance(50);
        return if keeps {
            value.clone()
        } else {
            document(random, depth)
        };
    };

    // Most members stay, so that a merge patch of both documents is a small one.
    let mut out = Map::new();
    for (name, value) in old {
        let new = match random.below(8) {
            0 => continue,
            1 => document(random, depth + 1),
            2..=4 => changed(random, value, depth + 1),
            _ => value.clone(),
        };
        out.insert(name.clone(), new);
    }

    if random.chance(30) {
        let name = random.name(&["a", "b", "c", "d"]);
        out.insert(name.into(), document(random, depth + 1));
    }
    Json::Object(out)
}

fn pointer(random: &mut Random, document: &Json) -> String {
    let mut out = String::new();
    let mut at = document;
    let stop = random.between(1, 4);
    for _ in 0..stop {
        // Most tokens lead to a value, because an operation at a missing path ends the patch.
        let token = match at {
            Json::Object(members) => {
                let names: Vec<&String> = members.keys().collect();
                match random.pick(&names) {
                    Some(name) if random.chance(85) => (*name).clone(),
                    _ => random.name(&["a", "b", "new"]).to_owned(),
                }
            }
            Json::Array(items) => {
                if random.chance(12) {
                    random
                        .name(&["-", "-1", "-2", "01", "x", "9", "+0", "-9"])
                        .to_owned()
                } else {
                    random.below(items.len() + 1).to_string()
                }
            }
            _ if random.chance(80) => break,
            _ => "a".to_owned(),
        };

        let step = format!("/{}", token.replace('~', "~0").replace('/', "~1"));
        at = at.pointer(&step).unwrap_or(&Json::Null);
        out.push_str(&step);
        if random.chance(25) {
            break;
        }
    }

    // The empty pointer means the whole document; a pointer without its first slash is invalid.
    match random.below(200) {
        0 => String::new(),
        1 => out.trim_start_matches('/').to_owned(),
        _ => out,
    }
}

/// A JSON patch whose tests mostly succeed.
pub(super) fn operations(random: &mut Random, document: &Json) -> Json {
    let mut out = Vec::new();
    for _ in 0..random.between(1, 4) {
        // Every operation is made for the original document, so later ones may miss what earlier ones moved.
        let verb = random.weighted(
            &[
                (5, "add"),
                (4, "remove"),
                (4, "replace"),
                (3, "move"),
                (3, "copy"),
                (3, "test"),
            ],
            "add",
        );
        let path = pointer(random, document);

        let mut operation = Map::new();
        let verb = if random.chance(1) { "odd" } else { verb };
        operation.insert("op".to_owned(), verb.into());
        operation.insert("path".to_owned(), path.clone().into());
        if matches!(verb, "move" | "copy") {
            operation.insert("from".to_owned(), pointer(random, document).into());
        }

        // A test mostly expects what the document has, since a failed one ends the patch.
        if matches!(verb, "add" | "replace" | "test") {
            let found = document
                .pointer(&path)
                .filter(|_| verb == "test" && random.chance(70));
            let value = found.cloned().unwrap_or_else(|| self::document(random, 2));
            operation.insert("value".to_owned(), value);
        }

        // A required member is absent or of another type.
        if random.chance(1) {
            let name = random.name(&["op", "path", "from", "value"]);
            if random.chance(50) {
                operation.remove(name);
            } else {
                operation.insert(name.to_owned(), self::document(random, 3));
            }
        }
        out.push(Json::Object(operation));
    }

    Json::Array(out)
}
