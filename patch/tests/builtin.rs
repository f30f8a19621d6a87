//! The bundled strategies.

#![cfg(feature = "builtin")]
#![allow(clippy::unwrap_used, reason = "tests")]

use fieldmanager_patch::internal::{read_types, write_types};
use fieldmanager_patch::{builtin, strategic};
use fieldmanager_value::Value;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

#[test]
fn the_bundled_document_can_be_read() {
    let table = Value::from_json(include_str!("../src/builtin/patches.json")).unwrap();
    assert_eq!(write_types(&read_types(&table).unwrap()), table);
    assert_eq!(write_types(builtin::types()), table);
}

#[test]
fn ports_of_services_are_merged_and_the_strategy_of_a_deployment_is_retained() {
    let live = yaml(
        "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, name: a}, {port: 81, name: b}]}}",
    );
    let schema = builtin::types().for_object(&live).unwrap();
    let new = strategic::apply(
        &live,
        &yaml("spec: {ports: [{port: 81, $patch: delete}]}"),
        schema,
    )
    .unwrap();
    assert_eq!(
        new.get("spec").unwrap().to_json(),
        r#"{"ports":[{"name":"a","port":80}]}"#
    );

    let schema = builtin::types().for_kind("apps/v1", "Deployment").unwrap();
    let live = yaml("{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}}");
    let new = yaml("{spec: {strategy: {type: Recreate}}}");
    let patch = strategic::create_two_way(&live, &new, schema).unwrap();
    assert_eq!(
        patch.to_json(),
        r#"{"spec":{"strategy":{"$retainKeys":["type"],"rollingUpdate":null,"type":"Recreate"}}}"#
    );
    assert_eq!(strategic::apply(&live, &patch, schema).unwrap(), new);
}

#[test]
fn lists_and_requests_have_no_type() {
    assert!(builtin::types().for_kind("v1", "PodList").is_none());
    assert!(builtin::types().for_kind("v1", "DeleteOptions").is_none());
}
