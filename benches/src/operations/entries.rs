//! The managed fields of a parsed object: decoding them, and looking them up in an interner.

use std::cell::RefCell;

use fieldmanager_managedfields::{Interner, ManagedFields};
use fieldmanager_value::Value;

use super::bytes::texts;
use crate::measure::{Prepared, reused};

/// The operations: decoding, decoding by an interner that has the entries, and sharing them in the object.
pub const OPERATIONS: [&str; 3] = ["decode", "interned", "share"];

pub(super) fn prepare(name: &str, what: &str) -> Option<Prepared> {
    let object = Value::from_json(&texts(name, "same")?.live).unwrap();
    // The interner has the entries of another object, so that pointer comparison does not find them.
    let seen = Value::from_json(&object.to_json()).unwrap();
    let interner = RefCell::new(Interner::default());
    let with = move |object: &Value| {
        ManagedFields::of_object_with(object, &mut interner.borrow_mut()).unwrap()
    };
    with(&seen);
    let plain = ManagedFields::of_object(&object).unwrap();
    let run = match what {
        "decode" => reused(move || ManagedFields::of_object(&object).unwrap()),
        "interned" => reused(move || with(&object)),
        "share" => {
            let interner = RefCell::new(Interner::default());
            let _ = interner.borrow_mut().share(&seen);
            reused(move || interner.borrow_mut().share(&object))
        }
        _ => return None,
    };
    let output =
        move || serde_json::from_str(&plain.encode().unwrap_or(Value::Null).to_json()).unwrap();
    Some(Prepared {
        run,
        output: Box::new(output),
    })
}
