//! Stack usage of reading and writing at the depth limit.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::thread;

use fieldmanager_value::{MAX_DEPTH, Value, from_value, to_value};

/// The smallest supported stack, in bytes.
const STACK: usize = if cfg!(debug_assertions) {
    512 << 10
} else {
    256 << 10
};

fn on_small_stack(run: impl FnOnce() + Send + 'static) {
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

/// JSON documents of a given depth: lists, maps, and alternating maps and lists.
fn documents(depth: usize) -> [String; 3] {
    let mixed = (0..depth)
        .map(|level| if level % 2 == 0 { r#"{"name":"# } else { "[" })
        .collect::<String>();
    let ends = (0..depth)
        .rev()
        .map(|level| if level % 2 == 0 { "}" } else { "]" })
        .collect::<String>();
    [
        "[".repeat(depth) + &"]".repeat(depth),
        r#"{"a":"#.repeat(depth) + "1" + &"}".repeat(depth),
        mixed + "null" + &ends,
    ]
}

#[test]
fn json_is_read_and_written_on_a_small_stack() {
    on_small_stack(|| {
        for json in documents(MAX_DEPTH) {
            let value = Value::from_json(&json).unwrap();
            assert_eq!(value.to_json(), json);
            assert_eq!(Value::from_json(&value.to_json_pretty()).unwrap(), value);
            assert_eq!(Value::from_json_slice(json.as_bytes()).unwrap(), value);
            assert_eq!(
                serde_json::from_str::<Value>(&documents(100)[2])
                    .unwrap()
                    .to_json(),
                documents(100)[2]
            );
        }
        for json in documents(MAX_DEPTH + 1)
            .into_iter()
            .chain(documents(100_000))
        {
            assert!(Value::from_json(&json).is_err());
        }
    });
}

#[test]
fn lone_surrogates_are_read_on_a_small_stack() {
    on_small_stack(|| {
        let json = "[".repeat(MAX_DEPTH) + r#""\ud800",-0"# + &"]".repeat(MAX_DEPTH);
        assert!(
            Value::from_json(&json)
                .unwrap()
                .to_json()
                .contains("\u{fffd}")
        );
    });
}

#[test]
fn yaml_is_read_on_a_small_stack() {
    on_small_stack(|| {
        for json in documents(MAX_DEPTH) {
            let value = Value::from_json(&json).unwrap();
            assert_eq!(Value::from_yaml(&json).unwrap(), value);
            assert_eq!(Value::from_json_strict(&json).unwrap(), value);
        }
        for json in documents(MAX_DEPTH + 1)
            .into_iter()
            .chain(documents(20_000))
        {
            assert!(Value::from_yaml(&json).is_err());
        }
    });
}

#[test]
fn yaml_is_written_on_a_small_stack() {
    on_small_stack(|| {
        for json in documents(MAX_DEPTH) {
            let value = Value::from_json(&json).unwrap();
            assert_eq!(Value::from_yaml(&value.to_yaml()).unwrap(), value);
        }
    });
}

#[test]
fn serde_types_are_converted_on_a_small_stack() {
    on_small_stack(|| {
        for json in documents(MAX_DEPTH) {
            let value = Value::from_json(&json).unwrap();
            assert_eq!(to_value(&value).unwrap(), value);
            assert_eq!(from_value::<Value>(value.clone()).unwrap(), value);
        }
    });
}
