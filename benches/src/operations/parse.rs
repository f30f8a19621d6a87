//! Parses and writes the JSON of an object, as a reference for other operations.

use fieldmanager_typed::Duplicates;
use fieldmanager_value::Value;

use crate::measure::{Prepared, fresh, reused};
use crate::objects::{object, typed};

/// The operations: parsing by `serde_json` into its `Value`, parsing into a value of the library, validating a value,
/// both together, and writing.
pub const OPERATIONS: [&str; 5] = ["serde_json", "value", "validate", "typed", "write"];

pub(super) fn prepare(name: &str, what: &str) -> Option<Prepared> {
    let object = object(name)?;
    let ty = object.ty();
    let text = object.json.clone();
    let run = match what {
        "serde_json" => reused(move || serde_json::from_str::<serde_json::Value>(&text).unwrap()),
        "value" => reused(move || Value::from_json(&text).unwrap()),
        "typed" => reused(move || typed(&text, &ty, Duplicates::Allow)),
        // Uses a new value every time, because a large list keeps its index.
        "validate" => fresh(
            (100_000 / text.len() as u64).max(1),
            move || Value::from_json(&text).unwrap(),
            move |value| {
                fieldmanager_typed::TypedValue::new(value.clone(), ty.clone(), Duplicates::Allow)
                    .unwrap()
            },
        ),
        "write" => {
            let value = Value::from_json(&text).unwrap();
            reused(move || value.to_json())
        }
        _ => return None,
    };
    Some(Prepared {
        run,
        output: Box::new(move || serde_json::from_str(&object.json).unwrap()),
    })
}
