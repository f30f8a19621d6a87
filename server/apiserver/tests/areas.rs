//! The server by area: definitions, subresources, formats, options and the verbs of collections.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{self, CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shop, shops};
use serde_json::{Value as Json, json};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn names(list: &Json) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

fn deployment(name: &str) -> Json {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]}}}})
}

fn pod(name: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]}})
}

// Definitions

#[tokio::test]
async fn definition_is_served_with_the_answer_that_created_it() {
    let client = Client::new().await;
    assert_eq!(client.get(SHOPS).await.code, 404);
    let created = client.post(CRDS, &shops()).await.expect(201);
    assert_eq!(created["kind"], "CustomResourceDefinition");
    assert_eq!(client.get(SHOPS).await.expect(200)["kind"], "ShopList");
    let group = client.get("/apis/example.com").await.expect(200);
    assert_eq!(group["versions"].as_array().unwrap().len(), 2);
    let resources = client.get("/apis/example.com/v1").await.expect(200);
    let resources: Vec<&str> = resources["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert_eq!(resources, ["shops", "shops/status"]);
    let document = client
        .get("/openapi/v3/apis/example.com/v1")
        .await
        .expect(200);
    assert!(
        document["paths"]["/apis/example.com/v1/namespaces/{namespace}/shops/{name}"].is_object()
    );
}

#[tokio::test]
async fn definition_that_changes_changes_what_is_served() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("s")).await.expect(201);
    let path = format!("{CRDS}/shops.example.com");
    let mut definition = client.get(&path).await.expect(200);
    let version = definition["spec"]["versions"][1].as_object_mut().unwrap();
    version.insert("served".to_owned(), false.into());
    definition["spec"]["versions"][0]["subresources"]["scale"] =
        json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
    client.put(&path, &definition).await.expect(200);
    assert_eq!(
        client
            .get("/apis/example.com/v2/namespaces/default/shops")
            .await
            .code,
        404
    );
    let scale = client
        .merge(
            &format!("{SHOPS}/s/scale"),
            &json!({"spec": {"replicas": 4}}),
        )
        .await
        .expect(200);
    assert_eq!(
        (&scale["kind"], &scale["spec"]["replicas"]),
        (&json!("Scale"), &json!(4))
    );
    assert_eq!(
        client.get(&format!("{SHOPS}/s")).await.expect(200)["spec"]["size"],
        4
    );
}

/// The status, the reason and the message of a condition of a definition.
async fn condition(client: &Client, name: &str, kind: &str) -> [Json; 3] {
    let stored = client.get(&format!("{CRDS}/{name}")).await.expect(200);
    let conditions = stored["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|one| one["type"] == kind).unwrap();
    ["status", "reason", "message"].map(|name| found[name].clone())
}

#[tokio::test]
async fn definitions_with_equal_short_names_conflict() {
    let client = Client::new().await;
    let mut first = shops();
    first["spec"]["names"]["shortNames"] = json!(["x", "y", "z"]);
    client.post(CRDS, &first).await.expect(201);
    let mut other = shops();
    other["metadata"]["name"] = "stores.example.com".into();
    other["spec"]["names"] =
        json!({"plural": "stores", "kind": "Store", "shortNames": ["x", "q", "y"]});
    client.post(CRDS, &other).await.expect(201);

    let name = "stores.example.com";
    let message = r#"["x" is already in use, "y" is already in use]"#;
    let expected = ["False", "ShortNamesConflict", message].map(Json::from);
    assert_eq!(condition(&client, name, "NamesAccepted").await, expected);
    let [established, ..] = condition(&client, name, "Established").await;
    assert_eq!(established, "False");
}

#[tokio::test]
async fn definitions_in_groups_of_kubernetes_have_a_condition_of_their_approval() {
    let client = Client::new().await;
    let mut definition = shops();
    definition["metadata"]["name"] = "shops.networking.k8s.io".into();
    definition["spec"]["group"] = "networking.k8s.io".into();
    let annotations = json!({"api-approved.kubernetes.io": "unapproved, a test"});
    definition["metadata"]["annotations"] = annotations;
    client.post(CRDS, &definition).await.expect(201);
    let (name, kind) = (
        "shops.networking.k8s.io",
        "KubernetesAPIApprovalPolicyConformant",
    );
    let message = r#"not approved: "unapproved, a test""#;
    let expected = ["False", "UnapprovedAnnotation", message].map(Json::from);
    assert_eq!(condition(&client, name, kind).await, expected);

    let url = "https://example.com/1";
    let patch = json!({"metadata": {"annotations": {"api-approved.kubernetes.io": url}}});
    let path = format!("{CRDS}/{name}");
    client.merge(&path, &patch).await.expect(200);
    let message = format!("approved in {url}");
    let expected = ["True", "ApprovedAnnotation", &message].map(Json::from);
    assert_eq!(condition(&client, name, kind).await, expected);

    // The handlers of a version of built-in kinds hide the definition.
    let resources = "/apis/networking.k8s.io/v1";
    let found = client.get(resources).await.expect(200);
    let found = found["resources"].as_array().unwrap();
    assert!(found.iter().all(|resource| resource["name"] != "shops"));
    let missing = format!("{resources}/namespaces/default/shops");
    assert_eq!(client.get(&missing).await.code, 404);
}

#[tokio::test]
async fn definition_with_a_finalizer_of_a_client_takes_no_new_objects_after_its_deletion() {
    let client = Client::new().await;
    let mut definition = shops();
    definition["metadata"]["finalizers"] = json!(["example.com/held"]);
    client.post(CRDS, &definition).await.expect(201);
    let path = format!("{CRDS}/shops.example.com");
    client.delete(&path).await.expect(200);
    let object = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}});
    let path = "/apis/example.com/v1/namespaces/default/shops";
    client.post(path, &object).await.expect(403);
    let dry = format!("{path}/a?fieldManager=ci&dryRun=All");
    let headers = [("content-type", "application/apply-patch+yaml")];
    let answer = client
        .send("PATCH", &dry, &headers, object.to_string())
        .await;
    answer.expect(403);
}

#[tokio::test]
async fn definition_with_names_of_another_one_is_not_served() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let mut other = shops();
    other["metadata"]["name"] = "stores.example.com".into();
    other["spec"]["names"] = json!({"plural": "stores", "kind": "Shop"});
    client.post(CRDS, &other).await.expect(201);
    let stored = client
        .get(&format!("{CRDS}/stores.example.com"))
        .await
        .expect(200);
    let condition = |kind: &str| {
        let conditions = stored["status"]["conditions"].as_array().unwrap();
        conditions
            .iter()
            .find(|condition| condition["type"] == kind)
            .unwrap()["status"]
            .clone()
    };
    assert_eq!(
        (condition("NamesAccepted"), condition("Established")),
        (json!("False"), json!("False"))
    );
    assert_eq!(
        client
            .get("/apis/example.com/v1/namespaces/default/stores")
            .await
            .code,
        404
    );
    // The names are free when the first definition is deleted.
    client
        .delete(&format!("{CRDS}/shops.example.com"))
        .await
        .expect(200);
    client.server.collect().await.unwrap();
    assert_eq!(
        client
            .get("/apis/example.com/v1/namespaces/default/stores")
            .await
            .code,
        200
    );
}

#[tokio::test]
async fn columns_and_selectable_fields_are_those_of_the_definition() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let mut blue = shop("b");
    blue["spec"]["color"] = "blue".into();
    client.post(SHOPS, &blue).await.expect(201);
    client.post(SHOPS, &shop("r")).await.expect(201);
    let selected = client
        .get(&format!("{SHOPS}?fieldSelector=spec.color%3Dblue"))
        .await
        .expect(200);
    assert_eq!(names(&selected), ["b"]);
    let status = client
        .get(&format!("{SHOPS}?fieldSelector=spec.size%3D1"))
        .await
        .expect(400);
    assert_eq!(status["message"], "field label not supported: spec.size");
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = client
        .send("GET", &format!("{SHOPS}?labelSelector=a!%3Db"), &accept, "")
        .await
        .expect(200);
    let columns: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["Name", "Color"]);
    assert_eq!(table["rows"][0]["cells"], json!(["b", "blue"]));
}

// Subresources

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

// Formats

#[tokio::test]
async fn bodies_are_json_or_yaml_and_other_types_are_refused() {
    let client = Client::new().await;
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {color: red}\n";
    let created = client
        .send(
            "POST",
            CONFIG_MAPS,
            &[("content-type", "application/yaml")],
            yaml,
        )
        .await;
    assert_eq!(created.expect(201)["data"]["color"], "red");
    let untyped = client
        .send("POST", CONFIG_MAPS, &[], config_map("untyped").to_string())
        .await;
    assert_eq!(untyped.code, 201);
    for kind in ["application/cbor", "text/plain"] {
        let status = client
            .send("POST", CONFIG_MAPS, &[("content-type", kind)], yaml)
            .await
            .expect(415);
        assert_eq!(status["reason"], "UnsupportedMediaType", "{kind}");
    }
    let patch = client
        .send(
            "PATCH",
            &format!("{CONFIG_MAPS}/yaml"),
            &[("content-type", "application/json")],
            "{}",
        )
        .await;
    assert_eq!(patch.code, 415);
    client
        .send(
            "POST",
            CONFIG_MAPS,
            &[("content-type", "application/json")],
            "{",
        )
        .await
        .expect(400);
}

#[tokio::test]
async fn answers_are_indented_for_people() {
    let client = Client::new().await;
    client.config_map("a").await;
    let path = format!("{CONFIG_MAPS}/a");
    let lines = |answer: common::Answer| {
        String::from_utf8(answer.bytes.to_vec())
            .unwrap()
            .lines()
            .count()
    };
    assert_eq!(lines(client.get(&path).await), 1);
    assert!(lines(client.get(&format!("{path}?pretty=true")).await) > 5);
    assert!(
        lines(
            client
                .send("GET", &path, &[("user-agent", "curl/8")], "")
                .await
        ) > 5
    );
}

#[tokio::test]
async fn documents_have_etags() {
    let client = Client::new().await;
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    for (path, accept) in [
        ("/apis", aggregated),
        ("/openapi/v2", "application/json"),
        ("/openapi/v3/apis/apps/v1", "application/json"),
    ] {
        let first = client.send("GET", path, &[("accept", accept)], "").await;
        let etag = first.headers["etag"].to_str().unwrap().to_owned();
        assert!(
            etag.starts_with('"') && etag.ends_with('"'),
            "{path}: {etag}"
        );
        let again = client
            .send(
                "GET",
                path,
                &[("accept", accept), ("if-none-match", etag.as_str())],
                "",
            )
            .await;
        assert_eq!((again.code, again.bytes.len()), (304, 0), "{path}");
    }
}

// Options and verbs

#[tokio::test]
async fn unknown_fields_are_refused_warned_about_or_ignored() {
    let client = Client::new().await;
    let body = |name: &str| json!({"metadata": {"name": name}, "data": {}, "colour": "red"});
    let create = async |name: &str, validation: &str| {
        client
            .post(
                &format!("{CONFIG_MAPS}?fieldValidation={validation}"),
                &body(name),
            )
            .await
    };
    let status = create("a", "Strict").await.expect(400);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains(r#"unknown field "colour""#),
        "{status}"
    );
    let warned = create("b", "Warn").await;
    assert_eq!(
        (warned.code, warned.warnings()),
        (201, vec![r#"299 - "unknown field \"colour\"""#.to_owned()])
    );
    let ignored = create("c", "Ignore").await;
    assert_eq!((ignored.code, ignored.warnings().len()), (201, 0));
    create("d", "Sometimes").await.expect(422);
    let duplicates = r#"{"metadata": {"name": "e"}, "data": {"a": "1", "a": "2"}}"#;
    let headers = [("content-type", "application/json")];
    let answer = client.send("POST", CONFIG_MAPS, &headers, duplicates).await;
    assert_eq!(answer.warnings(), [r#"299 - "duplicate field \"data.a\"""#]);

    // The body is read before the namespace is looked up.
    let elsewhere = "/api/v1/namespaces/none/configmaps";
    let answer = client.post(elsewhere, &body("f")).await;
    assert_eq!(
        (answer.code, answer.warnings()),
        (404, vec![r#"299 - "unknown field \"colour\"""#.to_owned()])
    );
}

#[tokio::test]
async fn collections_are_deleted_by_selector() {
    let client = Client::new().await;
    for (name, tier) in [("a", "web"), ("b", "db"), ("c", "web")] {
        let mut object = config_map(name);
        object["metadata"]["labels"] = json!({"tier": tier});
        client.post(CONFIG_MAPS, &object).await.expect(201);
    }
    let answer = client
        .delete(&format!("{CONFIG_MAPS}?labelSelector=tier%3Dweb"))
        .await
        .expect(200);
    assert_eq!(answer["kind"], "ConfigMapList");
    assert_eq!(names(&client.get(CONFIG_MAPS).await.expect(200)), ["b"]);
    client
        .delete(&format!("{CONFIG_MAPS}?dryRun=All"))
        .await
        .expect(200);
    assert_eq!(names(&client.get(CONFIG_MAPS).await.expect(200)), ["b"]);
    let everywhere = client
        .get("/api/v1/configmaps?fieldSelector=metadata.namespace%3Ddefault")
        .await;
    assert_eq!(names(&everywhere.expect(200)), ["b"]);
}

#[tokio::test]
async fn deprecated_paths_of_watches_work() {
    let client = Client::new().await;
    client.config_map("a").await;
    client.config_map("b").await;
    let mut all = client
        .watch("/api/v1/watch/namespaces/default/configmaps")
        .await;
    assert_eq!(all.names(2).await, ["ADDED a", "ADDED b"]);
    let mut one = client
        .watch("/api/v1/watch/namespaces/default/configmaps/b")
        .await;
    assert_eq!(one.names(1).await, ["ADDED b"]);
}

#[tokio::test]
async fn objects_of_missing_and_terminating_namespaces_are_refused() {
    let client = Client::new().await;
    let path = "/api/v1/namespaces/shop/configmaps";
    client.post(path, &config_map("a")).await.expect(404);
    client
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}))
        .await
        .expect(201);
    client.post(path, &config_map("a")).await.expect(201);
    client.delete("/api/v1/namespaces/shop").await.expect(200);
    let status = client.post(path, &config_map("b")).await.expect(403);
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "NamespaceTerminating"
    );
    client.server.collect().await.unwrap();
    client.get("/api/v1/namespaces/shop").await.expect(404);
    assert_eq!(
        names(&client.get(path).await.expect(200)),
        Vec::<&str>::new()
    );
}

#[tokio::test]
async fn bodies_over_the_limit_and_requests_beyond_it_are_refused() {
    let client = Client::new().await;
    let mut large = config_map("large");
    large["data"]["color"] = "x".repeat(3 * 1024 * 1024).into();
    let status = client.post(CONFIG_MAPS, &large).await.expect(413);
    assert_eq!(status["reason"], "RequestEntityTooLarge");
    let deep = format!(
        r#"{{"metadata": {{"name": "deep"}}, "data": {}{}}}"#,
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    let answer = client
        .send(
            "POST",
            CONFIG_MAPS,
            &[("content-type", "application/json")],
            deep,
        )
        .await;
    assert_eq!(answer.code, 400);
}

#[tokio::test]
async fn an_established_definition_gets_back_the_time_that_a_client_removed() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let path = format!("{CRDS}/shops.example.com");
    let mut stored = client.get(&path).await.expect(200);
    let status = &mut stored["status"];
    status["acceptedNames"] = json!({"plural": "", "kind": ""});
    status["conditions"] = json!([{"type": "Established", "status": "True", "reason": "Mine", "message": "kept", "lastTransitionTime": null}]);
    client
        .put(&format!("{path}/status"), &stored)
        .await
        .expect(200);

    let stored = client.get(&path).await.expect(200);
    let conditions = stored["status"]["conditions"].as_array().unwrap();
    let established = conditions
        .iter()
        .find(|condition| condition["type"] == "Established")
        .unwrap();
    assert!(established["lastTransitionTime"].is_string(), "{stored}");
    assert_eq!(
        (&established["reason"], &established["message"]),
        (&json!("Mine"), &json!("kept"))
    );
}

#[tokio::test]
async fn definitions_with_invalid_certificates_are_not_established() {
    let client = Client::new().await;
    let mut definition = shops();
    let config = |bundle: &str| json!({"url": "https://example.com/convert", "caBundle": bundle});
    definition["spec"]["conversion"] = json!({"strategy": "Webhook",
        "webhook": {"clientConfig": config("bm90aGluZw=="), "conversionReviewVersions": ["v1"]}});
    client.post(CRDS, &definition).await.expect(201);
    let path = format!("{}/shops.example.com", CRDS);
    let established = async || {
        let stored = client.get(&path).await.json();
        let conditions = stored["status"]["conditions"].as_array().unwrap().clone();
        let condition = conditions
            .into_iter()
            .find(|condition| condition["type"] == "Established")
            .unwrap();
        format!(
            "{} {}",
            condition["status"].as_str().unwrap(),
            condition["reason"].as_str().unwrap()
        )
    };
    assert_eq!(established().await, "False InvalidCABundle");
    assert_eq!(client.get(SHOPS).await.code, 404);
    let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": config("")}}}});
    client.merge(&path, &patch).await.expect(200);
    assert_eq!(established().await, "True InitialNamesAccepted");
    client.get(SHOPS).await.expect(200);
    let refused = client
        .merge(
            &path,
            &json!({"spec": {"conversion": {"webhook": {"clientConfig": config("bm90aGluZw==")}}}}),
        )
        .await;
    assert_eq!(
        refused.expect(422)["details"]["causes"][0]["field"],
        "spec.conversion.webhookClientConfig.caBundle"
    );
}
