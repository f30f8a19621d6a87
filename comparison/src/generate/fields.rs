//! Random field sets in the FieldsV1 format, and patterns that match them.

use serde_json::{Map as JsonMap, Value, json};

use super::random::Random;
use super::schema::TEMPLATES;
use super::types::{Names, Types};

/// A path: its elements as the keys they have in FieldsV1.
type Path = Vec<String>;

/// Every path of the object, including paths of containers and paths inside atomic values.
fn paths(types: &Types, object: &Value) -> Vec<Path> {
    let mut out = Vec::new();
    walk(types, object, &types.root_ref(), &mut Vec::new(), &mut out);
    out
}

fn walk(types: &Types, value: &Value, ty: &Value, path: &mut Path, out: &mut Vec<Path>) {
    if !path.is_empty() {
        out.push(path.clone());
    }
    // Below an undeclared field the type is null, so that paths inside of atomic values are there too.
    let atom = types.resolve(ty);
    for (name, child) in value.as_object().into_iter().flatten() {
        path.push(format!("f:{name}"));
        let ty = atom.map.and_then(|map| map.type_of(name));
        walk(types, child, ty.unwrap_or(&Value::Null), path, out);
        path.pop();
    }

    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        // An item is identified by its keys with their defaults, by its value in a set, and else by its index.
        path.push(match atom.list {
            Some(list) if list.is_associative() && list.has_keys() => {
                let map = types.resolve(list.element()).map;
                let value = |key: &str| {
                    let default = || map?.field(key)?.get("default");
                    let value = item.get(key).or_else(default)?;
                    Some((key.to_owned(), value.clone()))
                };
                format!(
                    "k:{}",
                    Value::Object(list.keys().filter_map(value).collect())
                )
            }
            Some(list) if list.is_associative() => format!("v:{item}"),
            _ => format!("i:{index}"),
        });
        let ty = atom.list.map_or(&Value::Null, |list| list.element());
        walk(types, item, ty, path, out);
        path.pop();
    }
}

/// A random set of paths of the object, and a few paths that it does not have.
pub(crate) fn random(rng: &mut Random, types: &Types, object: &Value) -> Value {
    let all = paths(types, object);
    let percent = rng.weighted(&[(25, 10), (45, 35), (30, 75)], 35);
    let mut out = JsonMap::new();
    for path in &all {
        if rng.chance(percent) {
            insert(&mut out, path);
        }
    }

    // A manager can own fields that an update has removed since.
    for _ in 0..rng.weighted(&[(55, 0), (30, 1), (15, 3)], 0) {
        let mut path = rng.of(&all);
        path.truncate(rng.below(path.len() + 1));
        let noise = TEMPLATES.part(rng, "noise", 0);
        path.push(noise.as_str().unwrap_or_default().to_owned());
        insert(&mut out, &path);
    }

    Value::Object(out)
}

/// The set with some members removed and others added.
pub(crate) fn changed(rng: &mut Random, types: &Types, object: &Value, fields: &Value) -> Value {
    let mut out = fields.as_object().cloned().unwrap_or_default();
    for _ in 0..rng.between(1, 3) {
        let index = rng.below(out.len());
        if let Some(key) = out.keys().nth(index).cloned()
            && rng.chance(60)
        {
            out.remove(&key);
        }
        if let Some(path) = rng.pick(&paths(types, object)) {
            insert(&mut out, path);
        }
    }

    Value::Object(out)
}

/// Makes the path a member. A node without children is a member; a node with children is a member if it has the element
/// `.`.
fn insert(tree: &mut JsonMap<String, Value>, path: &[String]) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let existed = tree.contains_key(first);
    let node = tree.entry(first.clone()).or_insert_with(|| json!({}));
    let Value::Object(children) = node else {
        return;
    };

    if rest.is_empty() {
        if existed && !children.is_empty() {
            children.insert(".".to_owned(), json!({}));
        }
        return;
    }

    // The node was a member, and must stay one beside its new children.
    if existed && children.is_empty() {
        children.insert(".".to_owned(), json!({}));
    }
    insert(children, rest);
}

/// The same set with the field names of another version.
pub(crate) fn renamed(fields: &Value, names: &Names) -> Value {
    let Value::Object(members) = fields else {
        return fields.clone();
    };
    let mut out = JsonMap::new();
    for (key, children) in members {
        // Keys of items have field names too, inside their JSON.
        let mut new_key = key.clone();
        if let Some(name) = key.strip_prefix("f:") {
            new_key = format!("f:{}", names.get(name).map_or(name, String::as_str));
        } else if let Some(Ok(Value::Object(keys))) =
            key.strip_prefix("k:").map(serde_json::from_str)
        {
            let keys: JsonMap<_, _> = keys
                .into_iter()
                .map(|(name, value)| (names.get(&name).cloned().unwrap_or(name), value))
                .collect();
            new_key = format!("k:{}", Value::Object(keys));
        }
        out.insert(new_key, renamed(children, names));
    }

    Value::Object(out)
}

/// The set of the paths without children.
pub(crate) fn leaves(set: &Value) -> Value {
    let Value::Object(nodes) = set else {
        return set.clone();
    };
    // `.` alone is a member without children.
    let more = nodes.len() > usize::from(nodes.contains_key("."));
    let kept = nodes.iter().filter(|(key, _)| !more || *key != ".");
    Value::Object(
        kept.map(|(key, below)| (key.clone(), leaves(below)))
            .collect(),
    )
}

/// Include patterns derived from paths of the object.
pub(crate) fn patterns(
    rng: &mut Random,
    types: &Types,
    object: &Value,
    names: &Names,
) -> Vec<String> {
    let all = paths(types, object);
    let mut out = Vec::new();
    for _ in 0..rng.between(1, 3) {
        let mut path = rng.of(&all);
        path.truncate(rng.between(1, 3));
        let mut text = String::new();
        for element in &path {
            let Some((kind, content)) = element.split_once(':') else {
                continue;
            };
            let wild = rng.chance(15);
            match kind {
                // Include patterns cannot express these names.
                "f" if content.contains(['.', '[']) || content.is_empty() => break,
                "f" if wild => text += ".*",
                "f" => {
                    text.push('.');
                    text += names.get(content).map_or(content, String::as_str);
                }
                _ if wild => text += "[*]",
                "v" => text += &format!("[={content}]"),
                "k" => text += &key_pattern(content, names),
                _ => text += &format!("[{content}]"),
            }
        }

        if !text.is_empty() {
            out.push(text);
        }
    }

    out.sort();
    out.dedup();
    out
}

fn key_pattern(content: &str, names: &Names) -> String {
    let Ok(Value::Object(keys)) = serde_json::from_str(content) else {
        return String::new();
    };
    let parts: Vec<_> = keys
        .iter()
        .map(|(name, value)| {
            format!(
                "{}={value}",
                names.get(name).map_or(name.as_str(), String::as_str)
            )
        })
        .collect();

    format!("[{}]", parts.join(","))
}
