//! Extraction of what one manager applied.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use fieldmanager_managedfields::internal::BEFORE_FIRST_APPLY;
use fieldmanager_managedfields::{
    ApplyRequest, Error, ExtractForm, ExtractRequest, FieldManager, ManagedFields, ObjectConverter,
    SameFields, Time, UpdateRequest, extract,
};
use fieldmanager_openapi::internal::types_of;
use fieldmanager_openapi::{GroupVersionKind, Types};
use fieldmanager_schema::Schema;
use fieldmanager_value::Value;

const SCHEMA: &str = "
types:
- name: shop
  map:
    fields:
    - {name: apiVersion, type: {scalar: string}}
    - {name: kind, type: {scalar: string}}
    - {name: metadata, type: {map: {elementType: {scalar: untyped}}}}
    - {name: size, type: {scalar: numeric}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - {name: set, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
    - {name: whole, type: {list: {elementType: {scalar: string}, elementRelationship: atomic}}}
    - name: ports
      type:
        list:
          elementRelationship: associative
          keys: [port, protocol]
          elementType: {namedType: port}
- name: port
  map:
    fields:
    - {name: port, type: {scalar: numeric}}
    - {name: protocol, type: {scalar: string}, default: TCP}
    - {name: name, type: {scalar: string}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
";

fn kind(version: &str) -> GroupVersionKind {
    GroupVersionKind::from_api_version_kind(&format!("example.com/{version}"), "Shop")
}

fn types() -> Types {
    let schema = Schema::from_yaml(SCHEMA).unwrap();
    types_of(
        schema,
        ["v1", "v2"].map(|version| (kind(version), "shop".into())),
    )
}

fn manager() -> FieldManager {
    FieldManager::builder(kind("v1"))
        .types(types())
        .build()
        .unwrap()
}

fn noon() -> Time {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn config(yaml: &str) -> Value {
    let fields = yaml.trim_start_matches('{');
    let comma = if fields == "}" { "" } else { ", " };
    Value::from_yaml(&format!(
        "{{apiVersion: example.com/v1, kind: Shop, metadata: {{name: x}}{comma}{fields}"
    ))
    .unwrap()
}

fn applied(steps: &[(&str, &str)]) -> Value {
    steps.iter().fold(Value::Null, |live, (name, yaml)| {
        manager()
            .apply(
                ApplyRequest::new(&live, &config(yaml))
                    .manager(name)
                    .force()
                    .at(noon()),
            )
            .unwrap()
            .object
    })
}

/// Steps, and the extracted configuration of `a` in both forms.
#[test]
fn both_forms_of_a_configuration() {
    type Case = (
        &'static [(&'static str, &'static str)],
        &'static str,
        &'static str,
    );
    let cases: [Case; 6] = [
        (
            &[("a", "{size: 1}"), ("b", "{labels: {x: v}}")],
            "{size: 1}",
            "{size: 1}",
        ),
        // The values are the present ones of the live object.
        (
            &[("a", "{labels: {x: a}}"), ("b", "{labels: {x: a, w: b}}")],
            "{labels: {x: a}}",
            "{labels: {x: a}}",
        ),
        // A key that another manager set first is part of the item.
        (
            &[
                ("a", "{ports: [{port: 1, name: x}]}"),
                ("b", "{ports: [{port: 2}]}"),
            ],
            "{ports: [{port: 1, name: x}]}",
            "{ports: [{port: 1, name: x}]}",
        ),
        // A map owned without its content, which another manager owns.
        (
            &[("a", "{labels: {}}"), ("b", "{labels: {x: v}}")],
            "{labels: {}}",
            "{labels: null}",
        ),
        (
            &[
                ("a", "{ports: [{port: 1, labels: {}}]}"),
                ("b", "{ports: [{port: 1, labels: {x: v}}]}"),
            ],
            "{ports: [{port: 1, labels: {}}]}",
            "{ports: [{port: 1, labels: null}]}",
        ),
        (
            &[("a", "{set: [x], whole: [z, z]}"), ("b", "{set: [w]}")],
            "{set: [x], whole: [z, z]}",
            "{set: [x], whole: [z, z]}",
        ),
    ];
    for (steps, reapply, as_go) in cases {
        let live = applied(steps);
        let own = manager().extract(&live, "a", ExtractForm::Reapply).unwrap();
        assert_eq!(own, Some(config(reapply)), "{steps:?}");
        let own = manager()
            .extract(&live, "a", ExtractForm::AsGo)
            .unwrap()
            .unwrap()
            .to_json();
        let expected = config(as_go)
            .to_json()
            .replace(r#""metadata":{"name":"x"},"#, "");
        let expected = expected.replace(r#","metadata":{"name":"x"}"#, "");
        assert_eq!(own, expected, "{steps:?}");
    }
}

#[test]
fn the_entry_is_selected_by_manager_and_subresource() {
    let status = FieldManager::builder(kind("v1"))
        .types(types())
        .subresource("status")
        .build()
        .unwrap();
    let live = manager()
        .apply(
            ApplyRequest::new(&Value::Null, &config("{size: 1}"))
                .manager("a")
                .at(noon()),
        )
        .unwrap()
        .object;
    let live = status
        .apply(
            ApplyRequest::new(&live, &config("{labels: {x: v}}"))
                .manager("a")
                .at(noon()),
        )
        .unwrap()
        .object;
    let form = ExtractForm::Reapply;
    assert_eq!(
        manager().extract(&live, "a", form).unwrap(),
        Some(config("{size: 1}"))
    );
    assert_eq!(
        status.extract(&live, "a", form).unwrap(),
        Some(config("{labels: {x: v}}"))
    );
    assert_eq!(manager().extract(&live, "b", form).unwrap(), None);
    // An updater has applied nothing.
    let updated = manager()
        .update(
            UpdateRequest::new(&Value::Null, &config("{size: 1}"))
                .manager("a")
                .at(noon()),
        )
        .unwrap()
        .object;
    assert_eq!(manager().extract(&updated, "a", form).unwrap(), None);
}

#[test]
fn the_version_is_that_of_the_entry() {
    let live = applied(&[("a", "{size: 1}")]);
    let at_v2 = SameFields.convert(&live, &"example.com/v2".into()).unwrap();
    let v2 = FieldManager::builder(kind("v2"))
        .types(types())
        .build()
        .unwrap();
    assert_eq!(
        v2.extract(&at_v2, "a", ExtractForm::Reapply).unwrap(),
        Some(config("{size: 1}"))
    );
    let ty = types().for_kind(&kind("v2")).unwrap();
    let error = extract(ExtractRequest::new(&at_v2, &ty, "a")).unwrap_err();
    assert!(matches!(error, Error::Convert { .. }), "{error}");
    let own = extract(ExtractRequest::new(&at_v2, &ty, "a").form(ExtractForm::AsGo))
        .unwrap()
        .unwrap();
    assert_eq!(
        own.to_json(),
        r#"{"apiVersion":"example.com/v2","kind":"Shop","size":1}"#
    );
}

#[test]
fn an_unreadable_entry_of_another_manager_is_ignored() {
    let text = applied(&[("a", "{size: 1}"), ("b", "{size: 1}")]).to_json();
    let live = Value::from_json(&text.replacen(
        r#""manager":"b","operation":"Apply""#,
        r#""manager":"b""#,
        1,
    ))
    .unwrap();
    assert_ne!(live.to_json(), text);
    assert_eq!(
        manager().extract(&live, "a", ExtractForm::Reapply).unwrap(),
        Some(config("{size: 1}"))
    );
    let live = Value::from_json(&text.replacen(r#""fieldsType":"FieldsV1","#, "", 1)).unwrap();
    // The first entry is that of `b`, which changed nothing and has no time.
    let found = manager().extract(&live, "b", ExtractForm::Reapply);
    assert!(matches!(found, Err(Error::Entry(_))), "{found:?} {live}");
}

/// Applying an extracted configuration changes neither the object nor its owners.
#[test]
fn an_extracted_configuration_can_be_applied_again() {
    let parts: [&[&str]; 5] = [
        &["", "size: 1", "size: 2"],
        &["", "labels: {}", "labels: {x: a}", "labels: {x: b, w: b}"],
        &["", "set: []", "set: [a]", "set: [b, a]"],
        &["", "whole: []", "whole: [a, a]"],
        &[
            "",
            "ports: []",
            "ports: [{port: 1}]",
            "ports: [{port: 1, protocol: TCP, name: a}]",
            "ports: [{port: 1, protocol: UDP, labels: {}}, {port: 1, labels: {x: a}}]",
            "ports: [{port: 1, labels: {}}, {port: 2, name: b}]",
        ],
    ];
    let mut seed: usize = 7;
    let mut pick = |n: usize| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    for round in 0..150 {
        let mut steps = Vec::new();
        for _ in 0..=pick(5) {
            let chosen: Vec<&str> = parts
                .iter()
                .map(|part| part[pick(part.len())])
                .filter(|p| !p.is_empty())
                .collect();
            steps.push((
                ["a", "b", "c"][pick(3)],
                format!("{{{}}}", chosen.join(", ")),
            ));
        }
        let borrowed: Vec<(&str, &str)> = steps
            .iter()
            .map(|(name, yaml)| (*name, yaml.as_str()))
            .collect();
        let live = applied(&borrowed);
        let before = ManagedFields::of_object(&live).unwrap();
        for name in ["a", "b", "c"] {
            let Some(own) = manager()
                .extract(&live, name, ExtractForm::Reapply)
                .unwrap()
            else {
                continue;
            };
            let again = manager().apply(ApplyRequest::new(&live, &own).manager(name).at(noon()));
            let again = again.unwrap_or_else(|error| panic!("{round} {steps:?} {own}: {error}"));
            assert_eq!(
                again.object.get("ports"),
                live.get("ports"),
                "{round} {steps:?} {own}"
            );
            for entry in before
                .entries()
                .iter()
                .filter(|entry| entry.manager.as_str() != BEFORE_FIRST_APPLY)
            {
                let now = again
                    .managed
                    .get(&entry.identity())
                    .map(|owned| owned.set().clone())
                    .unwrap_or_default();
                assert!(
                    entry.fields.is_subset(&now),
                    "{round} {steps:?} {own} {name}: {} now {now}",
                    entry.fields
                );
            }
        }
    }
}
