//! Sets: operations with ten paths among many, and FieldsV1.

use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_typed::Duplicates;
use serde_json::Value;

use crate::measure::{Prepared, reused};
use crate::objects::object;
use crate::sizes;

/// Operations on a set of some size. The operand is ten items, or the set with ten items changed (`derived`).
pub const ON_SIZES: [&str; 9] = [
    "union",
    "intersection",
    "difference",
    "derived-union",
    "derived-intersection",
    "derived-difference",
    "decode",
    "reversed",
    "encode",
];
/// Operations on the FieldsV1 of the set of an object.
pub const ON_OBJECTS: [&str; 3] = ["decode", "reversed", "encode"];
/// Operations on the paths of the set of an object, which are not compared with Go.
const ON_PATHS: [&str; 2] = ["paths", "parse-paths"];

pub(super) fn of_size(what: &str, n: usize) -> Option<Prepared> {
    match what {
        "decode" | "reversed" | "encode" => text(what, sizes::set(n), sizes::set_reversed(n)),
        _ => algebra(what, n),
    }
}

pub(super) fn of_object(name: &str, what: &str) -> Option<Prepared> {
    let sorted = fields_of(name)?;
    if ON_PATHS.contains(&what) {
        return Some(paths(what, read(&sorted)));
    }
    let reversed = reverse(&sorted);
    text(what, sorted, reversed)
}

fn paths(what: &str, set: Set) -> Prepared {
    let texts: Vec<String> = set.paths().map(|path| path.to_string()).collect();
    let output = texts.clone();
    let run = match what {
        "paths" => reused(move || set.paths().collect::<Vec<Path>>()),
        _ => reused(move || {
            texts
                .iter()
                .map(|text| text.parse().unwrap())
                .collect::<Vec<Path>>()
        }),
    };
    Prepared {
        run,
        output: Box::new(move || output.clone().into()),
    }
}

/// The FieldsV1 of all fields of an object.
pub fn fields_of(name: &str) -> Option<String> {
    let object = object(name)?;
    Some(
        object
            .read(&object.ty(), Duplicates::Allow)
            .field_set()
            .to_json(),
    )
}

/// FieldsV1 with the keys of every object in reverse order.
pub(crate) fn reverse(fields: &str) -> String {
    fn write(value: &Value, out: &mut String) {
        out.push('{');
        for (at, (key, below)) in value.as_object().unwrap().iter().rev().enumerate() {
            if at > 0 {
                out.push(',');
            }
            *out += &Value::from(key.as_str()).to_string();
            out.push(':');
            write(below, out);
        }
        out.push('}');
    }
    let mut out = String::with_capacity(fields.len());
    write(&serde_json::from_str(fields).unwrap(), &mut out);
    out
}

fn read(text: &str) -> Set {
    Set::from_json(text.as_bytes()).unwrap()
}

fn output(set: &Set) -> Value {
    serde_json::from_str(&set.to_json()).unwrap()
}

fn text(what: &str, sorted: String, reversed: String) -> Option<Prepared> {
    let set = read(&sorted);
    let run = match what {
        "decode" => reused(move || read(&sorted)),
        "reversed" => reused(move || read(&reversed)),
        "encode" => {
            let set = set.clone();
            reused(move || set.to_json())
        }
        _ => return None,
    };
    Some(Prepared {
        run,
        output: Box::new(move || output(&set)),
    })
}

fn algebra(what: &str, n: usize) -> Option<Prepared> {
    let set = read(&sizes::set(n));
    let (some, new) = (read(&sizes::set_change(n)), read(&sizes::set_new(n)));
    let (what, other) = match what.strip_prefix("derived-") {
        None if what == "union" => (what, new),
        None => (what, some),
        Some(what) => (what, set.difference(&some).union(&new)),
    };
    let op = match what {
        "union" => Set::union,
        "intersection" => Set::intersection,
        "difference" => Set::difference,
        _ => return None,
    };
    let (left, right) = (set.clone(), other.clone());
    Some(Prepared {
        run: reused(move || op(&set, &other)),
        output: Box::new(move || output(&op(&left, &right))),
    })
}
