//! Requests that only some built-in kinds have.

use serde_json::json;

use super::{PODS, pod};
use crate::common::Client;

#[tokio::test]
async fn actions_on_pods_and_namespaces() {
    let client = Client::new().await;
    client.post(PODS, &pod("p")).await.expect(201);
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    client
        .post(&format!("{PODS}/p/binding"), &binding)
        .await
        .expect(201);
    assert_eq!(
        client.get(&format!("{PODS}/p")).await.expect(200)["spec"]["nodeName"],
        "n"
    );
    client
        .post(&format!("{PODS}/p/binding"), &binding)
        .await
        .expect(409);
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 0}});
    client
        .post(&format!("{PODS}/p/eviction"), &eviction)
        .await
        .expect(201);
    client.get(&format!("{PODS}/p")).await.expect(404);
    client.get(&format!("{PODS}/p/log")).await.expect(501);

    client
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}))
        .await
        .expect(201);
    client.delete("/api/v1/namespaces/shop").await.expect(200);
    let finalized =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}, "spec": {}});
    client
        .put("/api/v1/namespaces/shop/finalize", &finalized)
        .await
        .expect(200);
    client.get("/api/v1/namespaces/shop").await.expect(404);
}

#[tokio::test]
async fn reviews_answer_yes() {
    let client = Client::new().await;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = json!({"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}});
    let answer = client.post(path, &review).await.expect(201);
    assert_eq!(answer["status"]["allowed"], true);
    let rules = client
        .post(
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            &json!({"spec": {"namespace": "a"}}),
        )
        .await;
    assert_eq!(rules.expect(201)["status"]["incomplete"], false);
}

#[tokio::test]
async fn bodies_in_protobuf_are_read() {
    let client = Client::new().await;
    // The envelope of `{spec: {resourceAttributes: {verb: get}}}`, a review without a kind.
    let envelope = b"k8s\0\x0a\0\x12\x0b\x12\x09\x0a\x07\x12\x05\x12\x03get";
    let protobuf = [("content-type", "application/vnd.kubernetes.protobuf")];
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = client
        .send("POST", path, &protobuf, envelope.as_slice())
        .await;
    assert_eq!(answer.code, 201, "{:?}", answer.bytes);
    assert_eq!(answer.json()["status"]["allowed"], true);
    client
        .send("POST", path, &protobuf, "no envelope")
        .await
        .expect(400);
}

#[tokio::test]
async fn services_get_addresses_and_ports_and_give_them_back() {
    let client = Client::new().await;
    let path = "/api/v1/namespaces/default/services";
    let service = |name: &str, kind: &str| json!({"metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}], "selector": {"app": "web"}}});
    let dry = client
        .post(&format!("{path}?dryRun=All"), &service("a", "NodePort"))
        .await
        .expect(201);
    let first = client
        .post(path, &service("a", "NodePort"))
        .await
        .expect(201);
    let spec = &first["spec"];
    assert_eq!(
        (&spec["clusterIP"], &spec["ports"][0]["nodePort"]),
        (
            &dry["spec"]["clusterIP"],
            &dry["spec"]["ports"][0]["nodePort"]
        )
    );
    assert_eq!(
        (&spec["clusterIPs"], &spec["ipFamilies"]),
        (&json!([spec["clusterIP"]]), &json!(["IPv4"]))
    );
    let second = client
        .post(path, &service("b", "ClusterIP"))
        .await
        .expect(201);
    assert_ne!(second["spec"]["clusterIP"], spec["clusterIP"]);
    assert_eq!(second["spec"]["ports"][0].get("nodePort"), None);
    let mut taken = service("c", "ClusterIP");
    taken["spec"]["clusterIP"] = spec["clusterIP"].clone();
    let status = client.post(path, &taken).await.expect(422);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("provided IP is already allocated"),
        "{status}"
    );
    // A change of something else keeps the address.
    let changed = client
        .merge(
            &format!("{path}/a"),
            &json!({"metadata": {"labels": {"x": "y"}}}),
        )
        .await
        .expect(200);
    assert_eq!(changed["spec"]["clusterIP"], spec["clusterIP"]);
    client.delete(&format!("{path}/a")).await.expect(200);
    client.post(path, &taken).await.expect(201);
    // So does one whose end the collector completes.
    client
        .delete(&format!("{path}/c?propagationPolicy=Foreground"))
        .await
        .expect(200);
    client.server.collect().await.unwrap();
    client.post(path, &taken).await.expect(201);
    let mut headless = service("d", "ClusterIP");
    headless["spec"]["clusterIP"] = json!("None");
    assert_eq!(
        client.post(path, &headless).await.expect(201)["spec"]["clusterIPs"],
        json!(["None"])
    );
}
