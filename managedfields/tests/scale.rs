//! Managed fields of scale subresources.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_managedfields::{ManagedFields, ScaleHandler};
use fieldmanager_value::Value;

/// An entry in a short form: the letter of the operation, manager, version, subresource, hour and fields, such as
/// `A ci apps/v1 - 12 spec.replicas,spec.selector`.
fn managed(lines: &[&str]) -> ManagedFields {
    let entries: Vec<String> = lines
        .iter()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let operation = if words[0] == "A" { "Apply" } else { "Update" };
            let subresource = if words[3] == "-" { "" } else { words[3] };
            let time = match words[4] {
                "-" => String::new(),
                hour => format!(r#""time":"2026-01-31T{hour}:00:00Z","#),
            };
            let names = words[5].split(',').filter_map(|path| path.strip_prefix("spec."));
            let names: Vec<String> = names.map(|name| format!(r#""f:{name}":{{}}"#)).collect();
            format!(
                r#"{{"operation":"{operation}","manager":"{}","apiVersion":"{}","subresource":"{subresource}",{time}
                    "fieldsType":"FieldsV1","fieldsV1":{{"f:spec":{{{}}}}}}}"#,
                words[1],
                words[2],
                names.join(",")
            )
        })
        .collect();
    ManagedFields::decode(Some(
        &Value::from_json(&format!("[{}]", entries.join(","))).unwrap(),
    ))
    .unwrap()
}

fn handler() -> ScaleHandler {
    ScaleHandler::new("apps/v1")
        .replicas("apps/v1", "spec.replicas".parse().unwrap())
        .replicas("apps/v2", "spec.size".parse().unwrap())
        .without_replicas("apps/v0")
}

#[test]
fn to_subresource() {
    let cases: [(&[&str], &[&str]); 4] = [
        (
            &["A ci apps/v1 - 12 spec.replicas,spec.selector"],
            &["A ci autoscaling/v1 - 12 spec.replicas"],
        ),
        (
            &[
                "U ci apps/v1 - - spec.replicas",
                "A b apps/v2 scale - spec.size",
            ],
            &[
                "A b autoscaling/v1 scale - spec.replicas",
                "U ci autoscaling/v1 - - spec.replicas",
            ],
        ),
        // No replicas, another field of the same name, no replicas at this version, an unknown version.
        (
            &[
                "A a apps/v1 - - spec.selector",
                "A b apps/v2 - - spec.replicas",
                "A c apps/v0 - - spec.replicas",
                "A d apps/v9 - - spec.replicas",
            ],
            &[],
        ),
        // An updater at two versions is one manager of the scale.
        (
            &[
                "U ci apps/v1 - 12 spec.replicas",
                "U ci apps/v2 - 13 spec.size",
            ],
            &["U ci autoscaling/v1 - 13 spec.replicas"],
        ),
    ];
    for (parent, expected) in cases {
        assert_eq!(
            handler().to_subresource(&managed(parent)),
            managed(expected),
            "{parent:?}"
        );
    }
}

#[test]
fn to_parent() {
    // The case, the entries of the object, those of its scale, and those of the object afterwards.
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
        &'static [&'static str],
    );
    let cases: [Case; 13] = [
        (
            "another manager takes the replicas",
            &["A ci apps/v1 - 12 spec.replicas,spec.selector"],
            &["U hpa autoscaling/v1 scale 13 spec.replicas"],
            &[
                "A ci apps/v1 - 12 spec.selector",
                "U hpa apps/v1 scale 13 spec.replicas",
            ],
        ),
        (
            "the same manager takes them by the subresource",
            &["A ci apps/v1 - - spec.replicas,spec.selector"],
            &["A ci autoscaling/v1 scale - spec.replicas"],
            &[
                "A ci apps/v1 - - spec.selector",
                "A ci apps/v1 scale - spec.replicas",
            ],
        ),
        (
            "everything is taken",
            &["A ci apps/v1 - - spec.replicas"],
            &["U hpa autoscaling/v1 scale - spec.replicas"],
            &["U hpa apps/v1 scale - spec.replicas"],
        ),
        (
            "an applier shares",
            &["A ci apps/v1 - - spec.replicas,spec.selector"],
            &[
                "A ci autoscaling/v1 - - spec.replicas",
                "A ci autoscaling/v1 scale - spec.replicas",
            ],
            &[
                "A ci apps/v1 - - spec.replicas,spec.selector",
                "A ci apps/v1 scale - spec.replicas",
            ],
        ),
        (
            "the scale owns something else",
            &["A ci apps/v1 - - spec.selector"],
            &["U hpa autoscaling/v1 scale - spec.other"],
            &["A ci apps/v1 - - spec.selector"],
        ),
        (
            "an unknown version is dropped",
            &[
                "A ci apps/v1 - - spec.replicas",
                "A b apps/v10 - - spec.selector",
            ],
            &["U hpa autoscaling/v1 - - spec.replicas"],
            &["U hpa apps/v1 - - spec.replicas"],
        ),
        (
            "replicas elsewhere are taken too, and versions without any are kept",
            &[
                "A ci apps/v2 - - spec.size,spec.selector",
                "A b apps/v0 - - spec.replicas",
            ],
            &["U hpa autoscaling/v1 scale - spec.replicas"],
            &[
                "A ci apps/v2 - - spec.selector",
                "A b apps/v0 - - spec.replicas",
                "U hpa apps/v1 scale - spec.replicas",
            ],
        ),
        (
            "an untouched updater stays one entry",
            &["U ci apps/v1 - 12 spec.replicas,spec.selector"],
            &["U ci autoscaling/v1 - 12 spec.replicas"],
            &["U ci apps/v1 - 12 spec.replicas,spec.selector"],
        ),
        (
            "an updater at two versions keeps both entries",
            &[
                "U ci apps/v1 - 12 spec.replicas",
                "U ci apps/v2 - 13 spec.size",
            ],
            &["U ci autoscaling/v1 - 13 spec.replicas"],
            &[
                "U ci apps/v1 - 13 spec.replicas",
                "U ci apps/v2 - 13 spec.size",
            ],
        ),
        (
            "the later time counts",
            &["U hpa apps/v1 scale 12 spec.replicas"],
            &["U hpa autoscaling/v1 scale 13 spec.replicas"],
            &["U hpa apps/v1 scale 13 spec.replicas"],
        ),
        (
            "who gets the replicas keeps its other fields",
            &["U ci apps/v1 - 12 spec.selector"],
            &["U ci autoscaling/v1 - 13 spec.replicas"],
            &["U ci apps/v1 - 13 spec.replicas,spec.selector"],
        ),
        (
            "an applier at another version gets them at that one",
            &["A ci apps/v2 - - spec.selector"],
            &["A ci autoscaling/v1 - - spec.replicas"],
            &["A ci apps/v2 - - spec.selector,spec.size"],
        ),
        (
            "an applier at a version without replicas",
            &["A ci apps/v0 - - spec.selector"],
            &["A ci autoscaling/v1 - - spec.replicas"],
            &["A ci apps/v1 - - spec.replicas"],
        ),
    ];
    for (what, parent, scale, expected) in cases {
        assert_eq!(
            handler().to_parent(&managed(parent), &managed(scale)),
            managed(expected),
            "{what}"
        );
    }
}

#[test]
fn a_round_trip_without_a_change_loses_nothing() {
    let parent = managed(&[
        "A ci apps/v1 - 12 spec.replicas,spec.selector",
        "U ci apps/v1 - 12 spec.replicas,spec.selector",
        "U ci apps/v2 - 13 spec.size,spec.other",
        "U hpa apps/v1 scale - spec.replicas",
    ]);
    let back = handler().to_parent(&parent, &handler().to_subresource(&parent));
    let owned = |managed: &ManagedFields| -> Vec<_> {
        managed
            .entries()
            .into_iter()
            .map(|entry| (entry.identity(), entry.fields))
            .collect()
    };
    assert_eq!(owned(&back).len(), 4);
    for entry in owned(&parent) {
        assert!(owned(&back).contains(&entry), "{entry:?}");
    }
}

#[test]
fn an_owner_at_a_version_without_replicas_is_dropped() {
    let handler = ScaleHandler::new("apps/v0").without_replicas("apps/v0");
    let scale = managed(&["U hpa autoscaling/v1 scale - spec.replicas"]);
    assert!(handler.to_parent(&ManagedFields::new(), &scale).is_empty());
}
