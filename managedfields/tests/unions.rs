//! Unions in the field manager: normalized before ownership is computed, for every verb.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use crate::support::{list, time};
use fieldmanager_managedfields::{
    ApplyRequest, Error, ErrorKind, FieldManager, Outcome, UpdateRequest,
};
use fieldmanager_openapi::{GroupVersionKind, Types};
use fieldmanager_value::Value;

fn manager(unions: bool) -> FieldManager {
    let types = Types::load(
        &Value::from_yaml(
            "
definitions:
  shop:
    type: object
    properties:
      apiVersion: {type: string}
      kind: {type: string}
      metadata: {type: object}
      strategy:
        type: object
        properties: {type: {type: string}, recreate: {type: object}, rolling: {type: object, properties: {max: {type: integer}}}}
        x-kubernetes-unions:
        - {discriminator: type, fields-to-discriminateBy: {recreate: Recreate, rolling: Rolling}}
    x-kubernetes-group-version-kind: [{group: '', version: v1, kind: Shop}]
",
        )
        .unwrap(),
    )
    .unwrap();
    FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "Shop"))
        .types(types)
        .unions(unions)
        .build()
        .unwrap()
}

fn shop(strategy: &str, metadata: &str) -> Value {
    Value::from_yaml(&format!(
        "{{apiVersion: v1, kind: Shop, metadata: {metadata}, strategy: {strategy}}}"
    ))
    .unwrap()
}

fn strategy(outcome: &Outcome) -> String {
    outcome.object.get("strategy").unwrap().to_json()
}

#[test]
fn an_update_owns_what_it_deduces_and_clears() {
    let manager = manager(true);
    let first = shop("{type: Recreate, recreate: {}}", "{name: x}");
    let created = manager
        .update(
            UpdateRequest::new(&Value::Null, &first)
                .manager("ui")
                .at(time(1)),
        )
        .unwrap();
    // A client that does not know `recreate` adds another member and changes nothing else.
    let mut new = created.object.clone();
    if let Value::Map(fields) = &mut new {
        fields.insert(
            "strategy",
            Value::from_yaml("{type: Recreate, recreate: {}, rolling: {max: 1}}").unwrap(),
        );
    }
    let updated = manager
        .update(
            UpdateRequest::new(&created.object, &new)
                .manager("robot")
                .at(time(2)),
        )
        .unwrap();
    assert_eq!(
        strategy(&updated),
        r#"{"rolling":{"max":1},"type":"Rolling"}"#
    );
    assert_eq!(
        list(&updated.object),
        [
            "ui Update v1 01 .strategy",
            "robot Update v1 02 .strategy.rolling .strategy.type .strategy.rolling.max",
        ]
    );
}

#[test]
fn an_apply_of_another_member_conflicts_about_the_discriminator() {
    let manager = manager(true);
    let first = manager
        .apply(
            ApplyRequest::new(&Value::Null, &shop("{recreate: {}}", "{name: x}"))
                .manager("shop")
                .at(time(1)),
        )
        .unwrap();
    assert_eq!(strategy(&first), r#"{"recreate":{},"type":"Recreate"}"#);
    let other = shop("{rolling: {max: 1}}", "{name: x}");
    let error = manager
        .apply(
            ApplyRequest::new(&first.object, &other)
                .manager("ops")
                .at(time(2)),
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"Apply failed with 1 conflict: conflict with "shop": .strategy.type"#
    );
    let forced = manager
        .apply(
            ApplyRequest::new(&first.object, &other)
                .manager("ops")
                .force()
                .at(time(2)),
        )
        .unwrap();
    assert_eq!(
        strategy(&forced),
        r#"{"rolling":{"max":1},"type":"Rolling"}"#
    );
    assert_eq!(
        list(&forced.object),
        ["ops Apply v1 02 .strategy.type .strategy.rolling.max"]
    );
}

#[test]
fn unions_of_an_untracked_object_are_not_normalized() {
    // The object was stored before the union was declared, with two members.
    let live = shop(
        "{type: Recreate, recreate: {}, rolling: {max: 1}}",
        "{name: x, uid: u}",
    );
    let config = shop("{type: Recreate}", "{name: x, labels: {a: b}}");
    let applied = manager(true)
        .apply(ApplyRequest::new(&live, &config).manager("ci").at(time(1)))
        .unwrap();
    assert_eq!(strategy(&applied), live.get("strategy").unwrap().to_json());
    assert_eq!(
        list(&applied.object),
        [
            "ci Apply v1 01 .metadata.labels .metadata.labels.a .strategy.type",
            "before-first-apply Update v1 01 .strategy .strategy.recreate .strategy.rolling .strategy.type .strategy.rolling.max",
        ]
    );
}

#[test]
fn switched_off_unions_have_no_effect() {
    let manager = manager(false);
    let both = shop("{recreate: {}, rolling: {max: 1}}", "{name: x}");
    let applied = manager
        .apply(
            ApplyRequest::new(&Value::Null, &both)
                .manager("ci")
                .at(time(1)),
        )
        .unwrap();
    assert_eq!(strategy(&applied), r#"{"recreate":{},"rolling":{"max":1}}"#);
}

#[test]
fn a_configuration_that_contradicts_itself_is_the_callers_fault() {
    let both = shop("{recreate: {}, rolling: {max: 1}}", "{name: x}");
    let error: Error = manager(true)
        .apply(
            ApplyRequest::new(&Value::Null, &both)
                .manager("ci")
                .at(time(1)),
        )
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.status().code),
        (ErrorKind::Request, 400)
    );
}

#[test]
fn a_stored_object_that_does_not_fit_is_not_the_callers_fault() {
    let live = shop("{type: 1}", "{name: x, uid: u}");
    let config = shop("{type: Recreate}", "{name: x}");
    let error = manager(true)
        .apply(ApplyRequest::new(&live, &config).manager("ci").at(time(1)))
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.status().code),
        (ErrorKind::Stored, 500)
    );
}
