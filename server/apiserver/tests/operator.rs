//! The test of least privilege of docs/testing.md.

use std::path::Path;

use fieldmanager_apiserver::{ApiServer, Authorization};
use serde_json::json;

#[tokio::test]
async fn the_role_of_the_operator_lacks_update_of_the_status()
-> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/testing"
    ));
    let server = ApiServer::for_test()
        .authorization(Authorization::Rbac)
        .crds([folder.join("shops.yaml").as_path()])
        .objects([folder.join("operator.yaml").as_path()])
        .build()
        .await?;
    let shop = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": {"size": 1}});
    server.create(shop).await?;

    // What the operator does, as the service account that it has in a cluster.
    let operator = server.client_as("system:serviceaccount:default:operator", &[]);
    let mut shop = operator.get("example.com/v1", "Shop", "corner").await?;
    shop["status"] = json!({"ready": true});
    let path = format!(
        "{}/status",
        server.path("example.com/v1", "Shop", "corner")?
    );
    let refused = operator
        .send("PUT", &path, "application/json", &shop)
        .await?;
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.body()["message"],
        "shops.example.com \"corner\" is forbidden: User \"system:serviceaccount:default:operator\" cannot update resource \
         \"shops/status\" in API group \"example.com\" in the namespace \"default\""
    );

    // With the verb, and nothing more, it works.
    let rule =
        json!({"apiGroups": ["example.com"], "resources": ["shops/status"], "verbs": ["update"]});
    let addition = json!([{"op": "add", "path": "/rules/-", "value": rule}]);
    let role = server.path("rbac.authorization.k8s.io/v1", "Role", "operator")?;
    server
        .patch_at(&role, "admin", "application/json-patch+json", addition)
        .await?;
    let written = operator
        .send("PUT", &path, "application/json", &shop)
        .await?;
    assert_eq!(written.code, 200);
    let refused = operator.delete("example.com/v1", "Shop", "corner").await;
    assert!(refused.is_err_and(|refusal| refusal.code == 403));
    Ok(())
}
