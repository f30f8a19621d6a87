//! The test of docs/testing.md.

use std::path::Path;

use fieldmanager_apiserver::fault::Fault;
use fieldmanager_apiserver::{ApiServer, assert_not_owned, assert_owned};
use serde_json::json;

#[tokio::test]
async fn bob_takes_the_size_of_alice_after_a_fault() -> Result<(), Box<dyn std::error::Error>> {
    let shops = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/testing/shops.yaml"
    ));
    let server = ApiServer::for_test().crds([shops]).build().await?;
    let shop = |spec| json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": spec});

    server
        .apply("alice", shop(json!({"color": "red", "size": 1})))
        .await?;
    let fault = server
        .faults()
        .add(Fault::conflict().verb("apply").manager("bob").times(1))?;
    let refused = server.force_apply("bob", shop(json!({"size": 2}))).await;
    assert!(refused.is_err_and(|refusal| refusal.code == 409) && fault.fired() == 1);
    let object = server.force_apply("bob", shop(json!({"size": 2}))).await?;

    assert_eq!(object["spec"], json!({"color": "red", "size": 2}));
    assert_owned!(object, "bob", ".spec.size");
    assert_not_owned!(object, "alice", ".spec.size");
    server.log().assert_never_wrote("carol", ".spec");

    server.reset().await?;
    let missing = server.get("example.com/v1", "Shop", "corner").await;
    assert!(missing.is_err_and(|refusal| refusal.code == 404));
    Ok(())
}
