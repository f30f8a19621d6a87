//! The causes of refused objects, recorded from kube-apiserver 1.37.1.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_builtin::{validate_create, validate_update};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

/// Each line has an object with all its defaults, the live object of an update, and the causes in their order.
const ROWS: &str = include_str!("causes.jsonl");

#[test]
fn objects_have_the_causes_of_kube_apiserver() {
    let mut wrong = Vec::new();
    for line in ROWS.lines() {
        let row = Value::from_json(line).unwrap();
        let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = GroupVersionKind::from_api_version_kind(text("apiVersion"), text("kind"));
        let object = row.get("object").unwrap();
        let errors = match row.get("live") {
            Some(live) => validate_update(&kind, text("subresource"), object, live),
            None => validate_create(&kind, object),
        };

        let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let causes = row.get("causes").and_then(Value::as_list).unwrap();
        let expected: Vec<&str> = causes.into_iter().filter_map(Value::as_str).collect();
        if found != expected {
            wrong.push(format!("{line:.300}\n{found:#?}\nexpected {expected:#?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows: {}",
        wrong.len(),
        wrong.join("\n")
    );
}
