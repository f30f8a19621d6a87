//! FieldsV1 as part of an object.
//!
//! Reading walks the object, and gives up at anything unusual, so that the rules decide.

use fieldmanager_value::{MAX_DEPTH, Map, MapBuilder, Str, Value};

use crate::fields_v1::{Key, read_key};
use crate::fields_v1_write::write_element;
use crate::key_text::KeyText;
use crate::set::Node;
use crate::{PathElement, Set, SetStack};

/// The set, if the object has nothing unusual.
pub(crate) fn read(value: &Value) -> Option<Set> {
    match value {
        Value::Null => Some(Set::new()),
        Value::Map(map) => read_level(map, 0, &mut SetStack::default()).map(|(set, _)| set),
        _ => None,
    }
}

/// One level, and whether the node itself is in the set.
fn read_level(map: &Map, depth: usize, open: &mut SetStack) -> Option<(Set, bool)> {
    if depth >= MAX_DEPTH {
        return None;
    }
    let mut itself = false;
    let start = open.start();
    // What was read last: the next is often equal, as the items of a list own the same fields.
    let mut last: Option<(&Map, Node)> = None;
    for (key, value) in map {
        if key.as_str() == "." {
            // Whatever it holds is ignored, but what is deep is for the rules.
            value.as_map().filter(|map| map.is_empty())?;
            itself = true;
            continue;
        }
        let element = element(key)?;
        open.add(|| element);
        let node = match value {
            Value::Null => continue,
            // Nothing below is left to read, but where it is too deep.
            Value::Map(below) if below.is_empty() && depth + 1 < MAX_DEPTH => continue,
            Value::Map(below) => match &last {
                Some((before, node)) if *before == below => node.clone(),
                _ => {
                    let (children, itself) = read_level(below, depth + 1, open)?;
                    let node = Node { member: itself || children.is_empty(), children };
                    last = Some((below, node.clone()));
                    node
                }
            },
            _ => return None,
        };
        open.set_below(node.member, node.children);
    }
    Some((open.take(start), itself))
}

fn element(key: &str) -> Option<PathElement> {
    match key.as_bytes() {
        [b'f', b':', ..] => return Some(PathElement::Field(Str::from(key.get(2..)?))),
        [b'k', b':', ..] => {
            let mut text = KeyText { text: key, at: 2 };
            if let Some(fields) = text.fields::<false>()
                && text.rest().is_empty()
            {
                return Some(PathElement::Key(fields));
            }
        }
        [b'v', b':', ..] => {
            let mut text = KeyText { text: key, at: 2 };
            if let Some(value) = text.scalar::<false>()
                && text.rest().is_empty()
            {
                return Some(PathElement::Value(value));
            }
        }
        _ => {}
    }
    match read_key(key) {
        Ok(Key::Element(element)) => Some(element),
        _ => None,
    }
}

/// The set as an object.
pub(crate) fn write(set: &Set) -> Value {
    write_level(set, false, &mut String::new())
}

/// `key` is room for one key.
fn write_level(set: &Set, itself: bool, key: &mut String) -> Value {
    let mut map = MapBuilder::with_capacity(usize::from(itself) + set.0.len());
    if itself {
        map.push(Str::from("."), Value::Map(Map::new()));
    }
    // What was written last: what the next one shares with it is written alike.
    let mut last: Option<(&Node, Value)> = None;
    for (element, node) in set.nodes() {
        key.clear();
        write_element(element, key);
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
        map.push(name, below);
    }
    Value::Map(map.build())
}
