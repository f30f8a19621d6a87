//! Scenario files as the state of an API server.

#![cfg(feature = "apiserver")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_apiserver::{ApiServer, assert_owned};
use fieldmanager_harness::{check, set_up};

const SHOPS: &str = "tests/setup/shops.yaml";

#[tokio::test]
async fn the_state_after_a_scenario_is_that_of_the_server() {
    check([SHOPS]).unwrap();
    let server = ApiServer::for_test().build().await.unwrap();
    set_up(&server, SHOPS).await.unwrap();
    let shop = server
        .get("shop.example.com/v1", "Shop", "corner")
        .await
        .unwrap();
    assert_owned!(shop, "alice", ".spec.hours");
    assert_owned!(shop, "bob", ".spec.staff");
    assert_owned!(shop, "carol", ".spec.notes");
    server.log().assert_never_wrote("bob", ".spec");
    // A reset goes back to the scenario.
    server
        .delete("shop.example.com/v1", "Shop", "corner")
        .await
        .unwrap();
    server.reset().await.unwrap();
    let again = server
        .get("shop.example.com/v1", "Shop", "corner")
        .await
        .unwrap();
    assert_eq!(again["spec"], shop["spec"]);
}

#[tokio::test]
async fn a_scenario_that_is_no_state_of_a_server_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    let message = async |yaml: &str| {
        std::fs::write(&file, yaml).unwrap();
        let server = ApiServer::for_test().build().await.unwrap();
        let error = set_up(&server, &file).await.unwrap_err().to_string();
        error.replace(folder.path().to_str().unwrap(), "FOLDER")
    };
    let config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}";
    let step =
        |object: &str| format!("- apply: {{manager: ann, apiVersion: v1, object: {object}}}");
    assert_eq!(
        message(&format!(
            "name: one\nschema: builtin:kubernetes\nsteps:\n{}",
            step("{kind: Pod}")
        ))
        .await,
        "FOLDER/a.yaml: scenario \"one\", step 1: the object cannot be stored: expected `apiVersion`, `kind` and \
         `metadata.name`"
    );
    assert_eq!(
        message(&format!(
            "name: one\nschema: builtin:kubernetes\nsteps:\n{}\n  expect: {{error: true}}",
            step(config)
        ))
        .await,
        "FOLDER/a.yaml: scenario \"one\", step 1: the scenario expects an error, and the server has none"
    );
    assert_eq!(
        message(
            "name: one\nschema: {types: [{name: app, scalar: string}]}\ntypes: {v1: app}\nsteps:\n\
             - apply: {manager: ann, apiVersion: v1, object: a}"
        )
        .await,
        "FOLDER/a.yaml: scenario \"one\": the schema is not one that a server can serve: expected \
         CustomResourceDefinitions, or `builtin:kubernetes`"
    );
}
