//! FieldsV1 as a [`Value`].
//!
//! The reader returns `None` for a value that is invalid or unusual; the serde reader then decides whether to accept it
//! and reports any error.

use fieldmanager_value::{MAX_DEPTH, Map, Str, Value};

use super::path_element::{self, ParsedKey};
use crate::Set;
use crate::set::Node;
use crate::set_builder::SetBuilder;

/// Reads the set, if the value has the usual format.
pub(super) fn read(value: &Value) -> Option<Set> {
    match value {
        Value::Null => Some(Set::new()),
        Value::Map(map) => read_level(map, 0, &mut SetBuilder::default()).map(|(set, _)| set),
        _ => None,
    }
}

/// Reads one level. Also returns whether the node itself is in the set.
fn read_level(map: &Map, depth: usize, builder: &mut SetBuilder) -> Option<(Set, bool)> {
    if depth >= MAX_DEPTH {
        return None;
    }
    let mut itself = false;
    let start = builder.start();

    // The items of a list often own the same fields, so a level often equals the previous one.
    let mut last: Option<(&Map, Node)> = None;
    for (key, value) in map {
        let element = match path_element::read(key) {
            Ok(ParsedKey::Element(element)) => element,
            Ok(ParsedKey::Itself) => {
                // The content is ignored, but counts towards the depth limit.
                value.as_map().filter(|map| map.is_empty())?;
                itself = true;
                continue;
            }
            _ => return None,
        };
        builder.push_leaf(|| element);
        let node = match value {
            Value::Null => continue,
            Value::Map(below) if below.is_empty() && depth + 1 < MAX_DEPTH => continue,
            Value::Map(below) => match &last {
                Some((before, node)) if *before == below => node.clone(),
                _ => {
                    let (children, itself) = read_level(below, depth + 1, builder)?;
                    let node = Node::new(itself || children.is_empty(), children);
                    last = Some((below, node.clone()));
                    node
                }
            },
            _ => return None,
        };
        builder.set_below_last(node.member, node.levels, node.children);
    }

    Some((builder.close(start), itself))
}

/// Writes the set as a value.
pub(super) fn write(set: &Set) -> Value {
    write_level(set, false, &mut String::new())
}

/// `key` is a reusable buffer.
fn write_level(set: &Set, itself: bool, key: &mut String) -> Value {
    let mut map = Vec::with_capacity(usize::from(itself) + set.0.len());
    if itself {
        map.push((Str::from("."), Value::Map(Map::new())));
    }

    // Consecutive items often share their children, and then their values too.
    let mut last: Option<(&Node, Value)> = None;
    for (element, node) in set.nodes() {
        key.clear();
        path_element::write(element, key);
        let name = Str::from(key.as_str());
        let below = match &last {
            _ if node.children().is_empty() => Value::Map(Map::new()),
            Some((before, value)) if before.same(node) => value.clone(),
            _ => {
                let value = write_level(node.children(), node.is_member(), key);
                last = Some((node, value.clone()));
                value
            }
        };
        map.push((name, below));
    }

    Value::Map(Map::from_iter(map))
}
