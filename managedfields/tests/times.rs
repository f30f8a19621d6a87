//! Writes that would change only times.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_managedfields::ignore_timestamp_only_changes;
use fieldmanager_value::Value;

fn object(data: &str, entries: &str) -> Value {
    Value::from_json(&format!(
        r#"{{"data":{data},"metadata":{{"name":"x","managedFields":{entries}}}}}"#
    ))
    .unwrap()
}

#[test]
fn times_are_kept_only_if_nothing_else_changed() {
    let old = r#"[{"manager":"a","time":"2026-01-31T12:00:00Z"},{"manager":"b"}]"#;
    let cases = [
        (
            "a time",
            "1",
            r#"[{"manager":"a","time":"2026-01-31T13:00:00Z"},{"manager":"b"}]"#,
            true,
        ),
        (
            "a new time",
            "1",
            r#"[{"manager":"a","time":"2026-01-31T12:00:00Z"},{"manager":"b","time":"2026-01-31T12:00:00Z"}]"#,
            true,
        ),
        (
            "a time is gone",
            "1",
            r#"[{"manager":"a"},{"manager":"b"}]"#,
            true,
        ),
        (
            "the data",
            "2",
            r#"[{"manager":"a","time":"2026-01-31T13:00:00Z"},{"manager":"b"}]"#,
            false,
        ),
        (
            "how the data is written",
            "1.0",
            r#"[{"manager":"a","time":"2026-01-31T13:00:00Z"},{"manager":"b"}]"#,
            false,
        ),
        (
            "a manager",
            "1",
            r#"[{"manager":"c","time":"2026-01-31T13:00:00Z"},{"manager":"b"}]"#,
            false,
        ),
        (
            "fewer",
            "1",
            r#"[{"manager":"a","time":"2026-01-31T13:00:00Z"}]"#,
            false,
        ),
        ("none", "1", "[]", false),
        ("null", "1", "null", false),
        // The same instant in another form is not a change of time.
        (
            "no time",
            "1",
            r#"[{"manager":"a","time":"2026-01-31T13:00:00+01:00"},{"manager":"b"}]"#,
            false,
        ),
    ];
    let old = object("1", old);
    for (what, data, entries, kept) in cases {
        let new = object(data, entries);
        let expected = if kept { &old } else { &new };
        assert_eq!(
            ignore_timestamp_only_changes(&old, &new).to_json(),
            expected.to_json(),
            "{what}"
        );
    }
}

#[test]
fn objects_without_entries_are_unchanged() {
    let none = Value::from_json(r#"{"metadata":1}"#).unwrap();
    assert_eq!(ignore_timestamp_only_changes(&none, &none), none);
    assert_eq!(ignore_timestamp_only_changes(&Value::Null, &none), none);
}
