//! Objects and short forms of their entries.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its own object must fail"
)]

use fieldmanager_managedfields::{FieldManager, ManagedFields, Outcome, Time, UpdateRequest};
use fieldmanager_openapi::GroupVersionKind;
use fieldmanager_value::Value;

/// For objects whose structure is deduced.
pub(crate) fn manager() -> FieldManager {
    FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))
        .build()
        .unwrap()
}

/// A time in the first minute of 2020.
pub(crate) fn time(second: i64) -> Time {
    Time::from_unix_seconds(1_577_836_800 + second).unwrap()
}

/// An object with members, among which `metadata` may be.
pub(crate) fn cm(members: &str) -> Value {
    let metadata = if members.contains(r#""metadata""#) {
        ""
    } else {
        r#","metadata":{"name":"x"}"#
    };
    let comma = if members.is_empty() { "" } else { "," };
    Value::from_json(&format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap"{comma}{members}{metadata}}}"#
    ))
    .unwrap()
}

/// An update at a second.
pub(crate) fn update(live: &Value, new: &Value, name: &str, second: i64) -> Outcome {
    manager()
        .update(UpdateRequest::new(live, new).manager(name).at(time(second)))
        .unwrap()
}

/// The entries of an outcome: manager, operation, version and subresource, second, paths.
pub(crate) fn entries(outcome: &Outcome) -> Vec<String> {
    list(&outcome.object)
}

/// The entries of an object.
pub(crate) fn list(object: &Value) -> Vec<String> {
    let managed = ManagedFields::of_object(object).unwrap();
    let short = managed.entries().into_iter().map(|entry| {
        let slash = if entry.subresource.is_empty() {
            ""
        } else {
            "/"
        };
        let second = entry.time.map_or("-".to_owned(), |time| {
            format!("{:02}", time.unix_seconds() % 60)
        });
        let paths = entry.fields.to_string().replace('\n', " ");
        let (name, operation, version, subresource) = (
            entry.manager,
            entry.operation,
            entry.api_version,
            entry.subresource,
        );
        format!("{name} {operation} {version}{slash}{subresource} {second} {paths}")
    });
    short.collect()
}
