//! The test of a webhook of docs/testing.md.

use std::path::Path;

use fieldmanager_apiserver::{ApiServer, assert_not_owned};
use fieldmanager_value::Value;
use serde_json::json;

/// What the webhook of the operator does: a shop has a size.
fn with_size(shop: &Value) -> Result<Option<Value>, String> {
    let spec = shop.get("spec");
    if spec.is_some_and(|spec| spec.get("size").is_some()) {
        return Ok(None);
    }
    let (Some(mut shop), Some(mut spec)) = (
        shop.as_map().cloned(),
        spec.and_then(Value::as_map).cloned(),
    ) else {
        return Err("a shop needs a spec".to_owned());
    };
    spec.insert("size", Value::Int(1));
    shop.insert("spec", Value::Map(spec));
    Ok(Some(Value::Map(shop)))
}

#[tokio::test]
async fn a_shop_gets_a_size_that_nobody_owns() -> Result<(), Box<dyn std::error::Error>> {
    let shops = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/testing/shops.yaml"
    ));
    let server = ApiServer::for_test()
        .crds([shops])
        .options(|builder| {
            builder
                .mutate("size.example.com", |request| match request.object {
                    Some(shop) if request.is_of("example.com", "shops") => with_size(shop),
                    _ => Ok(None),
                })
                .validate("size.example.com", |request| {
                    match request.field(&["spec", "size"]).as_i64() {
                        Some(size) if size > 9 => Err(format!("a size of {size} is too large")),
                        _ => Ok(()),
                    }
                })
        })
        .build()
        .await?;
    let shop = |spec| json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": spec});

    let object = server.apply("alice", shop(json!({"color": "red"}))).await?;
    assert_eq!(object["spec"], json!({"color": "red", "size": 1}));
    assert_not_owned!(object, "alice", ".spec.size");

    let refused = server.apply("alice", shop(json!({"size": 10}))).await;
    let words =
        r#"admission webhook "size.example.com" denied the request: a size of 10 is too large"#;
    assert!(refused.is_err_and(|refusal| refusal.code == 403 && refusal.message == words));
    Ok(())
}
