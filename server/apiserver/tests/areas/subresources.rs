//! Subresources.

use serde_json::json;

use super::{DEPLOYMENTS, PODS, deployment, pod};
use crate::common::Client;

#[tokio::test]
async fn scale_of_a_workload_is_read_and_written() {
    let client = Client::new().await;
    client
        .post(DEPLOYMENTS, &deployment("web"))
        .await
        .expect(201);
    let path = format!("{DEPLOYMENTS}/web/scale");
    let mut scale = client.get(&path).await.expect(200);
    assert_eq!(
        (&scale["spec"]["replicas"], &scale["status"]["selector"]),
        (&json!(1), &json!("app=web"))
    );
    scale["spec"]["replicas"] = 3.into();
    client.put(&path, &scale).await.expect(200);
    let config = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 5}});
    let status = client.apply(&path, "autoscaler", &config).await.expect(409);
    assert_eq!(status["details"]["causes"][0]["field"], ".spec.replicas");
    client
        .apply(&format!("{path}?force=true"), "autoscaler", &config)
        .await
        .expect(200);
    let object = client.get(&format!("{DEPLOYMENTS}/web")).await.expect(200);
    assert_eq!(
        (
            &object["spec"]["replicas"],
            &object["metadata"]["generation"]
        ),
        (&json!(5), &json!(3))
    );
}

#[tokio::test]
async fn status_of_a_built_in_kind_is_written_alone() {
    let client = Client::new().await;
    let mut object = client
        .post(DEPLOYMENTS, &deployment("web"))
        .await
        .expect(201);
    object["spec"]["replicas"] = 7.into();
    object["status"] = json!({"observedGeneration": 1});
    let written = client
        .put(&format!("{DEPLOYMENTS}/web/status"), &object)
        .await
        .expect(200);
    assert_eq!(
        (
            &written["spec"]["replicas"],
            &written["status"]["observedGeneration"]
        ),
        (&json!(1), &json!(1))
    );
    let status = client
        .get(&format!("{DEPLOYMENTS}/web/status"))
        .await
        .expect(200);
    assert_eq!(status, written);
}

#[tokio::test]
async fn ephemeral_containers_are_added_by_their_subresource() {
    let client = Client::new().await;
    client.post(PODS, &pod("p")).await.expect(201);
    let patch = json!({"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}});
    client.merge(&format!("{PODS}/p"), &patch).await.expect(422);
    let path = format!("{PODS}/p/ephemeralcontainers");
    let headers = [("content-type", "application/strategic-merge-patch+json")];
    let debugged = client
        .send("PATCH", &path, &headers, patch.to_string())
        .await
        .expect(200);
    assert_eq!(debugged["spec"]["ephemeralContainers"][0]["name"], "debug");
}

#[tokio::test]
async fn actions_that_need_a_kubelet_are_not_implemented() {
    let client = Client::new().await;
    client.post(PODS, &pod("p")).await.expect(201);
    for action in ["exec", "attach", "log", "portforward", "proxy"] {
        let status = client.get(&format!("{PODS}/p/{action}")).await.expect(501);
        assert_eq!(
            (&status["kind"], &status["status"]),
            (&json!("Status"), &json!("Failure")),
            "{action}"
        );
        let message =
            format!("pods/{action} is not implemented by this server: there is no kubelet");
        assert_eq!(
            (&status["reason"], &status["message"]),
            (&json!("NotImplemented"), &json!(message))
        );
    }
    let proxy = client
        .get("/api/v1/namespaces/default/services/kubernetes/proxy")
        .await
        .expect(501);
    assert!(
        proxy["message"]
            .as_str()
            .unwrap()
            .ends_with(": it has no connection to Pods"),
        "{proxy}"
    );
    // The rest of the path is that of the Pod.
    client
        .get(&format!("{PODS}/p/proxy/index.html"))
        .await
        .expect(501);
}

#[tokio::test]
async fn autoscalers_are_changed_at_one_version_and_stored_at_another() {
    let client = Client::new().await;
    let path = |version: &str| {
        format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers")
    };
    let metric = |name: &str| json!({"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": 50}}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric("cpu"), metric("memory")]});
    client
        .post(
            &path("v2"),
            &json!({"metadata": {"name": "web"}, "spec": spec}),
        )
        .await
        .expect(201);
    let [old, new] = ["v1", "v2"].map(|version| format!("{}/web", path(version)));

    let status = json!({"status": {"currentCPUUtilizationPercentage": 40}});
    let written = client
        .merge(&format!("{old}/status"), &status)
        .await
        .expect(200);
    let annotation =
        written.pointer("/metadata/annotations/autoscaling.alpha.kubernetes.io~1current-metrics");
    let usage = r#"{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"0"}"#;
    assert_eq!(
        annotation,
        Some(&json!(format!(
            r#"[{{"type":"Resource","resource":{usage}}}]"#
        )))
    );
    let stored = client.get(&new).await.json();
    assert_eq!(
        stored["spec"]["metrics"],
        json!([metric("cpu"), metric("memory")])
    );
    let current = json!([{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40}}}]);
    assert_eq!(stored["status"]["currentMetrics"], current);
    assert_eq!(stored["metadata"]["annotations"], json!(null));

    // The first version has the metric of the processor in a field of its own.
    client
        .merge(&old, &json!({"spec": {"maxReplicas": 4}}))
        .await
        .expect(200);
    let stored = client.get(&new).await.json();
    assert_eq!(
        stored["spec"]["metrics"],
        json!([metric("memory"), metric("cpu")])
    );
    assert_eq!(stored["status"]["currentMetrics"], current);

    // So a request that changes nothing there can change the order of the stored metrics.
    client
        .merge(
            &new,
            &json!({"spec": {"metrics": [metric("cpu"), metric("memory")]}}),
        )
        .await
        .expect(200);
    assert_eq!(
        client.merge(&old, &json!({})).await.expect(200)["metadata"]["generation"],
        4
    );

    // An apply that owns nothing new makes no object. One that adds empty labels does, and a metric of the status without a
    // value gets one by the conversion.
    let config = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}});
    client
        .apply(&format!("{old}/status"), "ann", &config)
        .await
        .expect(200);
    assert_eq!(
        client.get(&new).await.json()["status"]["currentMetrics"],
        current
    );
    let mut config = config;
    config["metadata"]["labels"] = json!({});
    client
        .apply(&format!("{old}/status"), "ann", &config)
        .await
        .expect(200);
    let stored = client.get(&new).await.json();
    let value = stored.pointer("/status/currentMetrics/0/resource/current/averageValue");
    assert_eq!(value, Some(&json!("0")));
}
