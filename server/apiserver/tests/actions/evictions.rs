//! Evictions of pods, and the budgets that they take from.

use serde_json::{Value as Json, json};

use super::{PODS, pod};
use crate::common::Client;

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

fn eviction(name: &str) -> Json {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})
}

#[tokio::test]
async fn an_evicted_pod_says_why_it_ends() {
    let client = Client::new().await;
    let mut kept = pod("a");
    kept["metadata"]["finalizers"] = json!(["x.io/f"]);
    let created = client.post(PODS, &kept).await.expect(201);
    let path = format!("{PODS}/a/eviction");

    for (version, code) in [("policy/v2", 400), ("v1", 400), ("apps/v1", 400)] {
        let mut body = eviction("a");
        body["apiVersion"] = version.into();
        let refused = client.post(&path, &body).await.expect(code);
        let short = version.rsplit('/').next().unwrap();
        let message = format!(
            "Eviction in version \"{short}\" cannot be handled as a Eviction: no kind \"Eviction\" is registered for version \
             \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
        );
        assert_eq!(refused["message"], message);
    }
    let refused = client.post(&path, &eviction("b")).await.expect(400);
    assert_eq!(
        refused["message"],
        "name in URL does not match name in Eviction object"
    );
    let mut old = eviction("a");
    old["deleteOptions"] = json!({"preconditions": {"resourceVersion": "1"}});
    let refused = client.post(&path, &old).await.expect(409);
    assert_eq!(refused["details"], json!({"name": "a", "kind": "Pod"}));

    client
        .post(&format!("{path}?dryRun=All"), &eviction("a"))
        .await
        .expect(201);
    assert_eq!(client.get(&format!("{PODS}/a")).await.expect(200), created);
    // The version that is no longer served is accepted, and so is a precondition that holds.
    let mut beta = eviction("a");
    beta["apiVersion"] = "policy/v1beta1".into();
    beta["deleteOptions"] =
        json!({"preconditions": {"resourceVersion": created["metadata"]["resourceVersion"]}});
    client.post(&path, &beta).await.expect(201);

    let ending = client.get(&format!("{PODS}/a")).await.expect(200);
    let condition = json!({"type": "DisruptionTarget", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": "2026-01-31T12:00:00Z", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"});
    assert_eq!(ending["status"]["conditions"], json!([condition]));
    assert_eq!(ending["metadata"]["deletionGracePeriodSeconds"], 0);
}

/// A Pod that runs and is ready, or not.
async fn running(client: &Client, name: &str, ready: &str) {
    client.post(PODS, &pod(name)).await.expect(201);
    let status =
        json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}});
    client
        .merge(&format!("{PODS}/{name}/status"), &status)
        .await
        .expect(200);
}

#[tokio::test]
async fn a_budget_without_disruptions_refuses_evictions() {
    let client = Client::new().await;
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    client.post(BUDGETS, &budget).await.expect(201);
    running(&client, "a", "True").await;
    let path = format!("{PODS}/a/eviction");
    let condition = |reason: &str| {
        json!([{"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": "words",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}])
    };

    for (status, cause) in [
        (
            json!({}),
            "The disruption budget b is still being processed by the server.",
        ),
        (
            json!({"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}),
            "The disruption budget b needs 1 healthy pods and has 1 currently",
        ),
        (
            json!({"currentHealthy": 3}),
            "The disruption budget b does not allow evicting pods currently",
        ),
        (
            json!({"conditions": condition("Why")}),
            "The disruption budget b does not allow evicting pods currently (Why): words",
        ),
        (
            json!({"conditions": condition("SyncFailed")}),
            "The disruption budget b does not allow evicting pods currently because it failed sync: words",
        ),
    ] {
        client
            .merge(&format!("{BUDGETS}/b/status"), &json!({"status": status}))
            .await
            .expect(200);
        let refused = client.post(&path, &eviction("a")).await;
        let retry = refused.headers.get("retry-after").cloned();
        let refused = refused.expect(429);
        assert_eq!(refused["reason"], "TooManyRequests");
        assert_eq!(
            refused["message"],
            "Cannot evict pod as it would violate the pod's disruption budget."
        );
        let causes = json!([{"reason": "DisruptionBudget", "message": cause}]);
        assert_eq!(refused["details"]["causes"], causes);
        let is_processing = cause.contains("processed");
        assert_eq!(retry.is_some(), is_processing);
    }

    // Pods that are not ready do not count while there are enough others.
    running(&client, "ill", "False").await;
    client
        .post(&format!("{PODS}/ill/eviction"), &eviction("ill"))
        .await
        .expect(201);
    let mut everything = budget;
    everything["metadata"]["name"] = "all".into();
    everything["spec"]["selector"] = json!({});
    client.post(BUDGETS, &everything).await.expect(201);
    let refused = client.post(&path, &eviction("a")).await.expect(500);
    assert_eq!(
        refused["message"],
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    );
}

#[tokio::test]
async fn an_eviction_takes_a_disruption_from_its_budget() {
    let client = Client::new().await;
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    client.post(BUDGETS, &budget).await.expect(201);
    let status = json!({"status": {"observedGeneration": 1, "disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1,
        "expectedPods": 3}});
    client
        .merge(&format!("{BUDGETS}/b/status"), &status)
        .await
        .expect(200);
    for name in ["a", "b", "c"] {
        running(&client, name, "True").await;
    }
    let evict = async |name: &str, query: &str| {
        client
            .post(&format!("{PODS}/{name}/eviction{query}"), &eviction(name))
            .await
            .code
    };

    assert_eq!(evict("a", "?dryRun=All").await, 201);
    let budget = client.get(&format!("{BUDGETS}/b")).await.expect(200);
    assert_eq!(budget["status"]["disruptionsAllowed"], 2);
    assert_eq!(evict("a", "").await, 201);
    assert_eq!(evict("b", "").await, 201);
    assert_eq!(evict("c", "").await, 429);

    let budget = client.get(&format!("{BUDGETS}/b")).await.expect(200);
    let now = "2026-01-31T12:00:00Z";
    assert_eq!(budget["status"]["disruptionsAllowed"], 0);
    assert_eq!(
        budget["status"]["disruptedPods"],
        json!({"a": now, "b": now})
    );
    let condition = json!({"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
        "observedGeneration": 1, "lastTransitionTime": now});
    assert_eq!(budget["status"]["conditions"], json!([condition]));
    let managers = budget["metadata"]["managedFields"].as_array().unwrap();
    let own = managers
        .iter()
        .find(|entry| entry["manager"] == "kube-apiserver")
        .unwrap();
    assert_eq!(own["subresource"], "status");
}
