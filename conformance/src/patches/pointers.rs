//! Random JSON patches and JSON merge patches.

use serde_json::{Map, Value as Json, json};

use super::documents::{number, text};
use crate::generate::random::Random;

/// A document with few distinct names, so that pointers often match.
pub(super) fn document(random: &mut Random, depth: usize) -> Json {
    let leaf = depth > 3;
    match random.below(if leaf { 5 } else { 10 }) {
        0 => Json::Null,
        1 | 2 => text(random),
        3 => number(random),
        4 => json!(random.chance(50)),
        5 | 6 => Json::Array((0..random.below(4)).map(|_| document(random, depth + 1)).collect()),
        _ => object(random, depth),
    }
}

pub(super) fn object(random: &mut Random, depth: usize) -> Json {
    let mut out = Map::new();
    for name in ["a", "b", "c", "metadata", "a/b", "m~n", ""] {
        if random.chance(if name.len() == 1 { 50 } else { 8 }) {
            out.insert(name.to_owned(), document(random, depth + 1));
        }
    }
    Json::Object(out)
}

/// A copy of a document with some changes.
pub(super) fn changed(random: &mut Random, value: &Json, depth: usize) -> Json {
    let Json::Object(old) = value else {
        return if random.chance(50) { value.clone() } else { document(random, depth) };
    };
    let mut out = Map::new();
    for (name, value) in old {
        match random.below(8) {
            0 => {}
            1 => {
                out.insert(name.clone(), document(random, depth + 1));
            }
            2..=4 => {
                out.insert(name.clone(), changed(random, value, depth + 1));
            }
            _ => {
                out.insert(name.clone(), value.clone());
            }
        }
    }
    if random.chance(30) {
        out.insert(random.name(&["a", "b", "c", "d"]).into(), document(random, depth + 1));
    }
    Json::Object(out)
}

fn pointer(random: &mut Random, document: &Json) -> String {
    let mut out = String::new();
    let mut at = document;
    let stop = random.between(1, 4);
    for _ in 0..stop {
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
                    random.name(&["-", "-1", "-2", "01", "x", "9", "+0", "-9"]).to_owned()
                } else {
                    random.below(items.len() + 1).to_string()
                }
            }
            _ if random.chance(80) => break,
            _ => "a".to_owned(),
        };
        at = match at {
            Json::Object(members) => members.get(&token).unwrap_or(&Json::Null),
            Json::Array(items) => {
                token.parse().ok().and_then(|at: usize| items.get(at)).unwrap_or(&Json::Null)
            }
            _ => &Json::Null,
        };
        out.push('/');
        out.push_str(&token.replace('~', "~0").replace('/', "~1"));
        if random.chance(25) {
            break;
        }
    }
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
        let verb = random.weighted(
            &[(5, "add"), (4, "remove"), (4, "replace"), (3, "move"), (3, "copy"), (3, "test"), (0, "odd")],
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
        if matches!(verb, "add" | "replace" | "test") {
            let found = document.pointer(&path).filter(|_| verb == "test" && random.chance(70));
            let value = found.cloned().unwrap_or_else(|| self::document(random, 2));
            operation.insert("value".to_owned(), value);
        }
        if random.chance(1) {
            let name = random.name(&["op", "path", "from", "value"]);
            if random.chance(50) {
                operation.remove(name);
            } else {
                operation.insert(name.to_owned(), self::document(random, 3));
            }
        }
        out.push(if random.chance(0) { Json::Null } else { Json::Object(operation) });
    }
    Json::Array(out)
}
