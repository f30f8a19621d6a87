//! Objects and sets of any size, and changes to ten parts of them.

use std::fmt::Write;

/// The schema of the objects.
pub const SCHEMA: &str = include_str!("../schemas/sizes.yaml");
/// The name of their type.
pub const TYPE: &str = "sized";
/// The number of parts that a change affects, at any size.
pub const CHANGED: usize = 10;
/// The number of managers that own parts of one object.
pub const MANAGERS: usize = 50;

/// A keyed list.
pub fn list(n: usize) -> String {
    items(0..n, 0)
}

/// A configuration of ten items spread over the list, with the values of a round.
pub fn list_change(n: usize, round: usize) -> String {
    items((0..CHANGED).map(|i| i * (n / CHANGED)), round + 1)
}

/// The items that one of the managers owns.
pub fn list_part(n: usize, manager: usize) -> String {
    let size = n / MANAGERS;
    items(manager * size..(manager + 1) * size, 0)
}

fn items(names: impl Iterator<Item = usize>, round: usize) -> String {
    let mut out = r#"{"items":["#.to_owned();
    for (at, name) in names.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(
            out,
            r#"{comma}{{"image":"registry.example.com/shop/{name}:{round}","name":"item-{name:06}","port":{}}}"#,
            8000 + name % 100
        );
    }
    out + "]}"
}

/// A map.
pub fn map(n: usize) -> String {
    entries(0..n, 0)
}

/// A configuration of ten entries spread over the map, with the values of a round.
pub fn map_change(n: usize, round: usize) -> String {
    entries((0..CHANGED).map(|i| i * (n / CHANGED)), round + 1)
}

fn entries(names: impl Iterator<Item = usize>, round: usize) -> String {
    let mut out = r#"{"data":{"#.to_owned();
    for (at, name) in names.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(
            out,
            r#"{comma}"key-{name:06}":"value {name} of round {round}""#
        );
    }
    out + "}}"
}

/// The FieldsV1 of a set with this many paths: items of a keyed list, each with four.
pub fn set(n: usize) -> String {
    fields((0..n / 4).collect())
}

/// The same with its keys in reverse order.
pub fn set_reversed(n: usize) -> String {
    fields((0..n / 4).rev().collect())
}

/// The FieldsV1 of ten items among those of a set.
pub fn set_change(n: usize) -> String {
    fields((0..CHANGED).map(|i| i * (n / 4 / CHANGED)).collect())
}

/// The FieldsV1 of ten items that a set does not have, spread over it.
pub fn set_new(n: usize) -> String {
    let text = fields((0..CHANGED).map(|i| i * (n / 4 / CHANGED)).collect());
    text.replace("f:image", "f:command")
}

fn fields(names: Vec<usize>) -> String {
    let reversed = names.first() > names.last();
    let mut out = r#"{"f:items":{"#.to_owned();
    for (at, name) in names.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(out, r#"{comma}"k:{{\"name\":\"item-{name:06}\"}}":"#);
        out += if reversed {
            r#"{"f:port":{},"f:name":{},"f:image":{},".":{}}"#
        } else {
            r#"{".":{},"f:image":{},"f:name":{},"f:port":{}}"#
        };
    }
    out + "}}"
}
