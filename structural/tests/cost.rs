//! The cost of schemas designed to be expensive, measured in allocated bytes, which do not depend on the machine.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use allocation_counter::measure;
use fieldmanager_structural::MAX_DEFAULT_BYTES;
use fieldmanager_structural::{Error, Structural};
use fieldmanager_value::{Map, Value};

/// A schema whose default is an array of ten empty objects, each of which has the default of the next level.
fn nested_defaults(levels: usize) -> Structural {
    let innermost = r#"{"type":"object","properties":{"a":{"type":"integer","default":1}}}"#.to_owned();
    let items = ["{}"; 10].join(",");
    let schema = (0..levels).fold(innermost, |below, _| {
        format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"array","default":[{items}],"items":{below}}}}}}}"#
        )
    });
    Structural::from_value(&Value::from_json(&schema).unwrap()).unwrap()
}

#[test]
fn nested_defaults_are_computed_once_and_shared() {
    let empty = Value::Map(Map::new());
    let cost = |levels: usize| {
        let schema = nested_defaults(levels);
        measure(|| drop(schema.default_object(&empty).unwrap())).bytes_total
    };
    // The JSON of each level is ten times as large.
    assert!(cost(6) < 4 * cost(3), "{} bytes for 3 levels, {} for 6", cost(3), cost(6));
}

#[test]
fn shared_default_equals_the_default_of_each_place() {
    let object =
        nested_defaults(2).default_object(&Value::from_json(r#"{"a":[{},{"a":[]}]}"#).unwrap()).unwrap();
    let inner = format!("[{}]", [r#"{"a":1}"#; 10].join(","));
    assert_eq!(object.to_json(), format!(r#"{{"a":[{{"a":{inner}}},{{"a":[]}}]}}"#));
}

#[test]
fn oversized_defaults_are_refused() {
    let empty = Value::Map(Map::new());
    let error = nested_defaults(8).default_object(&empty).unwrap_err();
    assert!(matches!(error, Error::DefaultsTooLarge { limit: MAX_DEFAULT_BYTES, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "`a[0].a[1].a`: the defaults of the schema add more than 16777216 bytes to the object",
    );
    let object = nested_defaults(5).default_object(&empty).unwrap();
    assert!(object.to_json().len() < MAX_DEFAULT_BYTES);
}
