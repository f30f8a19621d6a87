//! Behaviour of kube-apiserver that is easily implemented wrong, by number.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shop, shops};
use serde_json::{Value as Json, json};

fn version(object: &Json) -> u64 {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

fn pod(name: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]}})
}

const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test]
async fn s01_version_of_a_list_is_the_revision_of_the_store() {
    let client = Client::new().await;
    let empty = client.get(CONFIG_MAPS).await.expect(200);
    assert!(version(&empty) > 0);
    client.config_map("a").await;
    let written = version(
        &client
            .post(
                "/api/v1/namespaces/default/secrets",
                &json!({"metadata": {"name": "s"}}),
            )
            .await
            .expect(201),
    );
    assert_eq!(version(&client.get(CONFIG_MAPS).await.expect(200)), written);
}

#[tokio::test]
async fn s02_pages_are_parts_of_one_snapshot() {
    let client = Client::new().await;
    for name in ["a", "b", "c", "d"] {
        client.config_map(name).await;
    }
    let first = client
        .get(&format!("{CONFIG_MAPS}?limit=2"))
        .await
        .expect(200);
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    client.delete(&format!("{CONFIG_MAPS}/c")).await.expect(200);
    client.config_map("e").await;
    let next = first["metadata"]["continue"].as_str().unwrap();
    let second = client
        .get(&format!("{CONFIG_MAPS}?limit=2&continue={next}"))
        .await
        .expect(200);
    assert_eq!(version(&first), version(&second));
    let names = |list: &Json| -> Vec<String> {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(second["metadata"].get("continue"), None);
}

#[tokio::test]
async fn s03_future_version_times_out() {
    let client = Client::new().await;
    client.config_map("a").await;
    for path in [
        format!("{CONFIG_MAPS}?resourceVersion=99999999"),
        format!("{CONFIG_MAPS}/a?resourceVersion=99999999"),
    ] {
        let status = client.get(&path).await.expect(504);
        assert_eq!(status["reason"], "Timeout", "{path}");
        assert_eq!(
            status["details"]["causes"][0]["reason"], "ResourceVersionTooLarge",
            "{path}"
        );
        assert!(
            status["message"]
                .as_str()
                .unwrap()
                .starts_with("Timeout: Too large resource version: 99999999, current: ")
        );
    }
}

#[tokio::test]
async fn s04_options_of_lists_fit_together() {
    let client = Client::new().await;
    for query in [
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=Exact&resourceVersion=0",
        "resourceVersionMatch=NotOlderThan&resourceVersion=1&continue=x",
        "resourceVersionMatch=Other&resourceVersion=1",
        "sendInitialEvents=true",
    ] {
        let status = client
            .get(&format!("{CONFIG_MAPS}?{query}"))
            .await
            .expect(422);
        assert_eq!(status["reason"], "Invalid", "{query}");
        assert_eq!(status["details"]["kind"], "ListOptions", "{query}");
    }
}

#[tokio::test]
async fn s05_watch_without_a_version_begins_with_what_exists() {
    let client = Client::new().await;
    let first = client.config_map("a").await;
    for query in ["watch=1", "watch=1&resourceVersion=0"] {
        let mut watch = client.watch(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(watch.names(1).await, ["ADDED a"], "{query}");
    }
    let mut later = client
        .watch(&format!(
            "{CONFIG_MAPS}?watch=1&resourceVersion={}",
            version(&first)
        ))
        .await;
    client.config_map("b").await;
    assert_eq!(later.names(1).await, ["ADDED b"]);
}

#[tokio::test]
async fn s06_watch_of_a_compacted_version_expires() {
    let client = Client::with_history(10).await;
    let first = client.config_map("first").await;
    for number in 0..20 {
        client.config_map(&format!("later-{number}")).await;
    }
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", version(&first));
    let mut watch = client.watch(&path).await;
    let (kind, status) = watch.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn s07_bookmarks_follow_the_events_that_were_delivered() {
    let client = Client::new().await;
    let mut watch = client
        .watch(&format!(
            "{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=150"
        ))
        .await;
    let created = client.config_map("a").await;
    // A bookmark may be first, but not with the revision of an event that follows it.
    loop {
        let (kind, object) = watch.next().await.unwrap();
        if kind == "ADDED" {
            assert_eq!(object, created);
            break;
        }
        assert_eq!(kind, "BOOKMARK");
        assert!(version(&object) < version(&created));
    }
    // Writes to other resources move a bookmark.
    let secret = client
        .post(
            "/api/v1/namespaces/default/secrets",
            &json!({"metadata": {"name": "s"}}),
        )
        .await;
    let secret = secret.expect(201);
    let mut last = 0;
    while let Some((kind, bookmark)) = watch.next().await {
        assert_eq!(
            (kind.as_str(), &bookmark["kind"]),
            ("BOOKMARK", &json!("ConfigMap"))
        );
        assert!(version(&bookmark) >= version(&created).max(last));
        last = version(&bookmark);
    }
    assert_eq!(last, version(&secret));
}

#[tokio::test]
async fn s08_selectors_of_watches_look_at_both_states() {
    let client = Client::new().await;
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&labelSelector=on"))
        .await;
    client.config_map("a").await;
    let path = format!("{CONFIG_MAPS}/a");
    client
        .merge(&path, &json!({"metadata": {"labels": {"on": "x"}}}))
        .await
        .expect(200);
    let off = client
        .merge(&path, &json!({"metadata": {"labels": {"on": null}}}))
        .await
        .expect(200);
    assert_eq!(watch.names(1).await, ["ADDED a"]);
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &object["metadata"]["labels"]["on"]),
        ("DELETED", &json!("x"))
    );
    assert_eq!(version(&object), version(&off));
}

#[tokio::test]
async fn s09_deleted_has_the_last_state_and_the_version_of_the_deletion() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!(["example.com/x"]);
    let created = client.post(CONFIG_MAPS, &object).await.expect(201);
    let mut watch = client
        .watch(&format!(
            "{CONFIG_MAPS}?watch=1&resourceVersion={}",
            version(&created)
        ))
        .await;
    let path = format!("{CONFIG_MAPS}/a");
    let terminating = client.delete(&path).await.expect(200);
    assert_eq!(terminating["kind"], "ConfigMap");
    client
        .merge(&path, &json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
    assert_eq!(watch.names(1).await, ["MODIFIED a"]);
    let (kind, last) = watch.next().await.unwrap();
    assert_eq!(kind, "DELETED");
    assert!(version(&last) > version(&terminating));
    assert_eq!(last["data"]["color"], "red");
}

#[tokio::test]
async fn s10_finished_deletion_answers_a_status_or_the_object() {
    let client = Client::new().await;
    let object = client.config_map("a").await;
    let status = client.delete(&format!("{CONFIG_MAPS}/a")).await.expect(200);
    assert_eq!(
        (&status["kind"], &status["status"]),
        (&json!("Status"), &json!("Success"))
    );
    assert_eq!(
        status["details"],
        json!({"name": "a", "kind": "configmaps", "uid": object["metadata"]["uid"]})
    );
    client.post(PODS, &pod("p")).await.expect(201);
    assert_eq!(
        client.delete(&format!("{PODS}/p")).await.expect(200)["kind"],
        "Pod"
    );
}

#[tokio::test]
async fn s11_grace_period_of_a_pod_only_becomes_shorter() {
    let client = Client::new().await;
    let mut object = pod("p");
    object["spec"]["nodeName"] = json!("node-1");
    client.post(PODS, &object).await.expect(201);
    let path = format!("{PODS}/p");
    let grace = |object: &Json| object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let terminating = client.delete(&path).await.expect(200);
    assert_eq!(
        (
            grace(&terminating),
            &terminating["metadata"]["deletionTimestamp"]
        ),
        (Some(30), &json!("2026-01-31T12:00:30Z"))
    );
    let longer = client
        .delete(&format!("{path}?gracePeriodSeconds=60"))
        .await
        .expect(200);
    assert_eq!(grace(&longer), Some(30));
    let shorter = client
        .delete(&format!("{path}?gracePeriodSeconds=5"))
        .await
        .expect(200);
    assert_eq!(
        (grace(&shorter), &shorter["metadata"]["deletionTimestamp"]),
        (Some(5), &json!("2026-01-31T12:00:05Z"))
    );
    client
        .delete(&format!("{path}?gracePeriodSeconds=0"))
        .await
        .expect(200);
    client.get(&path).await.expect(404);
}

#[tokio::test]
async fn grace_period_of_a_pod_ends_with_the_last_time_that_there_is() {
    let client = Client::new().await;
    let path = format!("{PODS}/p");
    let grace = |object: &Json| object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    for (own, query) in [
        (30, format!("?gracePeriodSeconds={}", i64::MAX)),
        (i64::MAX, String::new()),
    ] {
        let mut object = pod("p");
        object["spec"]["nodeName"] = json!("node-1");
        object["spec"]["terminationGracePeriodSeconds"] = json!(own);
        client.post(PODS, &object).await.expect(201);
        let terminating = client.delete(&format!("{path}{query}")).await.expect(200);
        assert_eq!(
            terminating["metadata"]["deletionTimestamp"],
            "9999-12-31T23:59:59Z"
        );
        assert!(grace(&terminating).is_some_and(|grace| grace > 0));
        let shorter = client
            .delete(&format!("{path}?gracePeriodSeconds=5"))
            .await
            .expect(200);
        let ends = &shorter["metadata"]["deletionTimestamp"];
        assert_eq!(
            (grace(&shorter), ends),
            (Some(5), &json!("2026-01-31T12:00:05Z"))
        );
        client
            .delete(&format!("{path}?gracePeriodSeconds=0"))
            .await
            .expect(200);
        client.get(&path).await.expect(404);
    }
}

#[tokio::test]
async fn s12_last_finalizer_ends_the_object() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!(["example.com/x"]);
    client.post(CONFIG_MAPS, &object).await.expect(201);
    let path = format!("{CONFIG_MAPS}/a");
    client.delete(&path).await.expect(200);
    let status = client
        .merge(
            &path,
            &json!({"metadata": {"finalizers": ["example.com/x", "example.com/y"]}}),
        )
        .await
        .expect(422);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("no new finalizers can be added")
    );
    assert_eq!(
        client
            .merge(&path, &json!({"metadata": {"finalizers": null}}))
            .await
            .expect(200)["kind"],
        "ConfigMap"
    );
    client.get(&path).await.expect(404);
}

#[tokio::test]
async fn s13_collector_removes_the_finalizers_of_propagation() {
    let client = Client::new().await;
    let owner = client.config_map("owner").await;
    let mut dependent = config_map("dependent");
    dependent["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true}]);
    client.post(CONFIG_MAPS, &dependent).await.expect(201);
    let path = format!("{CONFIG_MAPS}/owner");
    let marked = client
        .delete(&format!("{path}?propagationPolicy=Foreground"))
        .await
        .expect(200);
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    client.server.collect().await.unwrap();
    client.get(&path).await.expect(404);
    client
        .get(&format!("{CONFIG_MAPS}/dependent"))
        .await
        .expect(404);

    let owner = client.config_map("owner").await;
    dependent["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"].clone();
    client.post(CONFIG_MAPS, &dependent).await.expect(201);
    let marked = client
        .delete_with(&path, &json!({"propagationPolicy": "Orphan"}))
        .await
        .expect(200);
    assert_eq!(marked["metadata"]["finalizers"], json!(["orphan"]));
    client.server.collect().await.unwrap();
    client.get(&path).await.expect(404);
    let orphan = client
        .get(&format!("{CONFIG_MAPS}/dependent"))
        .await
        .expect(200);
    assert_eq!(orphan["metadata"].get("ownerReferences"), None);
}

#[tokio::test]
async fn s14_dry_run_stores_nothing() {
    let client = Client::new().await;
    let before = version(&client.get(CONFIG_MAPS).await.expect(200));
    let dry = client
        .post(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("a"))
        .await
        .expect(201);
    assert_eq!(dry["metadata"].get("resourceVersion"), None);
    assert!(dry["metadata"]["uid"].is_string());
    client.get(&format!("{CONFIG_MAPS}/a")).await.expect(404);
    let live = client.config_map("a").await;
    let path = format!("{CONFIG_MAPS}/a?dryRun=All");
    let dry = client
        .merge(&path, &json!({"data": {"color": "blue"}}))
        .await
        .expect(200);
    assert_eq!(
        (&dry["data"]["color"], version(&dry)),
        (&json!("blue"), version(&live))
    );
    client
        .post(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("a"))
        .await
        .expect(409);
    client.delete(&path).await.expect(200);
    assert_eq!(
        version(&client.get(CONFIG_MAPS).await.expect(200)),
        before + 1
    );
}

#[tokio::test]
async fn s15_generated_names_have_five_characters() {
    let client = Client::new().await;
    let object = json!({"metadata": {"generateName": "a".repeat(70)}});
    let created = client.post(CONFIG_MAPS, &object).await.expect(201);
    let name = created["metadata"]["name"].as_str().unwrap();
    assert_eq!(name.len(), 63);
    assert!(name.starts_with(&"a".repeat(58)));
}

#[tokio::test]
async fn s16_missing_objects() {
    let client = Client::new().await;
    let path = format!("{CONFIG_MAPS}/a");
    client.merge(&path, &json!({"data": {}})).await.expect(404);
    client.put(&path, &config_map("a")).await.expect(404);
    // The version of a configuration is no precondition while there is no object.
    let mut config = config_map("a");
    config["metadata"]["resourceVersion"] = json!("1");
    client.apply(&path, "ci", &config).await.expect(201);
    client.apply(&path, "ci", &config).await.expect(409);
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}});
    client
        .put(
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
            &lease,
        )
        .await
        .expect(201);
}

#[tokio::test]
async fn s17_write_without_a_change_changes_nothing() {
    let client = Client::new().await;
    let path = format!("{CONFIG_MAPS}/a");
    let first = client
        .apply(&path, "ci", &config_map("a"))
        .await
        .expect(201);
    assert_eq!(
        client
            .apply(&path, "ci", &config_map("a"))
            .await
            .expect(200),
        first
    );
    assert_eq!(
        client
            .merge(&path, &json!({"data": {"color": "red"}}))
            .await
            .expect(200),
        first
    );
}

#[tokio::test]
async fn s18_version_of_an_update_is_a_precondition() {
    let client = Client::new().await;
    let created = client.config_map("a").await;
    let path = format!("{CONFIG_MAPS}/a");
    client.put(&path, &config_map("a")).await.expect(200);
    client
        .merge(&path, &json!({"data": {"color": "blue"}}))
        .await
        .expect(200);
    let status = client.put(&path, &created).await.expect(409);
    assert!(status["message"].as_str().unwrap().ends_with(
        "the object has been modified; please apply your changes to the latest version and try again"
    ));
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("s")).await.expect(201);
    let status = client
        .put(&format!("{SHOPS}/s"), &shop("s"))
        .await
        .expect(422);
    assert!(
        status["message"].as_str().unwrap().contains(
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        )
    );
}

#[tokio::test]
async fn s19_status_and_spec_are_written_apart() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let mut object = shop("s");
    object["status"] = json!({"open": true});
    let created = client.post(SHOPS, &object).await.expect(201);
    assert_eq!(
        (created.get("status"), &created["metadata"]["generation"]),
        (None, &json!(1))
    );
    let path = format!("{SHOPS}/s");
    let patch =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"size": 3}, "status": {"open": true}});
    let status = client
        .merge(&format!("{path}/status"), &patch)
        .await
        .expect(200);
    assert_eq!(
        (
            &status["status"]["open"],
            status["spec"].get("size"),
            status["metadata"].get("labels")
        ),
        (&json!(true), None, None)
    );
    let spec = client
        .merge(
            &path,
            &json!({"spec": {"size": 3}, "status": {"open": false}}),
        )
        .await
        .expect(200);
    assert_eq!(
        (&spec["status"]["open"], &spec["metadata"]["generation"]),
        (&json!(true), &json!(2))
    );
}

#[tokio::test]
async fn s20_definitions_live_and_die_with_their_objects() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let path = format!("{CRDS}/shops.example.com");
    let stored = client.get(&path).await.expect(200);
    assert_eq!(stored["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(
        stored["metadata"].get("finalizers"),
        None,
        "a deletion adds the finalizer"
    );
    client.post(SHOPS, &shop("s")).await.expect(201);
    let mut watch = client.watch(&format!("{SHOPS}?watch=1")).await;
    assert_eq!(watch.names(1).await, ["ADDED s"]);
    let patch = json!([{"op": "remove", "path": "/spec/versions/0"}, {"op": "replace", "path": "/spec/versions/0/storage", "value": true}]);
    let headers = [("content-type", "application/json-patch+json")];
    let status = client
        .send("PATCH", &path, &headers, patch.to_string())
        .await
        .expect(422);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("status.storedVersions[0]"),
        "{status}"
    );
    client.delete(&path).await.expect(200);
    assert_eq!(watch.names(1).await, ["DELETED s"]);
    client.get(&path).await.expect(404);
    assert_eq!(client.get(SHOPS).await.code, 404);
}

#[tokio::test]
async fn s21_stored_custom_resources_are_read_with_the_schema_of_today() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    let created = client.post(SHOPS, &shop("s")).await.expect(201);
    let add = |version: usize| {
        let path = format!(
            "/spec/versions/{version}/schema/openAPIV3Schema/properties/spec/properties/open"
        );
        json!({"op": "add", "path": path, "value": {"type": "boolean", "default": true}})
    };
    let patch = json!([add(0), add(1)]);
    let headers = [("content-type", "application/json-patch+json")];
    client
        .send(
            "PATCH",
            &format!("{CRDS}/shops.example.com"),
            &headers,
            patch.to_string(),
        )
        .await
        .expect(200);
    let read = client.get(&format!("{SHOPS}/s")).await.expect(200);
    assert_eq!(
        (&read["spec"]["open"], version(&read)),
        (&json!(true), version(&created))
    );
    let other = client
        .get("/apis/example.com/v2/namespaces/default/shops/s")
        .await
        .expect(200);
    assert_eq!(other["apiVersion"], "example.com/v2");
}

#[tokio::test]
async fn s22_patches_that_a_resource_does_not_take() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("s")).await.expect(201);
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    let status = client
        .send("PATCH", &format!("{SHOPS}/s"), &strategic, "{}")
        .await
        .expect(415);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("application/merge-patch+json")
    );
    client
        .merge(&format!("{SHOPS}/s?force=true"), &json!({}))
        .await
        .expect(422);
    let apply = [("content-type", "application/apply-patch+yaml")];
    client
        .send(
            "PATCH",
            &format!("{SHOPS}/s"),
            &apply,
            shop("s").to_string(),
        )
        .await
        .expect(422);
}

#[tokio::test]
async fn s23_warnings_are_headers() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["unknown\"field"] = json!(1);
    let answer = client
        .post(&format!("{CONFIG_MAPS}?fieldValidation=Warn"), &object)
        .await;
    assert_eq!(
        answer.warnings(),
        [r#"299 - "unknown field \"unknown\\\"field\"""#]
    );
}

#[tokio::test]
async fn s24_large_answers_are_compressed() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["data"]["large"] = json!("x".repeat(200_000));
    client.post(CONFIG_MAPS, &object).await.expect(201);
    let gzip = [("accept-encoding", "gzip")];
    let large = client.send("GET", CONFIG_MAPS, &gzip, "").await;
    assert_eq!(large.headers["content-encoding"], "gzip");
    assert!(large.bytes.len() < 20_000);
    let small = client.send("GET", "/api/v1/namespaces", &gzip, "").await;
    assert!(!small.headers.contains_key("content-encoding"));
}

#[tokio::test]
async fn s25_names_and_namespaces_agree_with_the_path() {
    let client = Client::new().await;
    let mut object = config_map("a");
    object["metadata"]["namespace"] = json!("other");
    client.post(CONFIG_MAPS, &object).await.expect(400);
    client.config_map("a").await;
    client
        .put(&format!("{CONFIG_MAPS}/a"), &config_map("b"))
        .await
        .expect(400);
    let precondition = json!({"preconditions": {"uid": "x"}});
    client
        .delete_with(&format!("{CONFIG_MAPS}/a"), &precondition)
        .await
        .expect(409);
    for name in ["default", "kube-system", "kube-public"] {
        client
            .delete(&format!("/api/v1/namespaces/{name}"))
            .await
            .expect(403);
    }
    client
        .post("/api/v1/namespaces/missing/configmaps", &config_map("a"))
        .await
        .expect(404);
    client
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}))
        .await
        .expect(201);
    client
        .post("/api/v1/namespaces/shop/configmaps", &config_map("a"))
        .await
        .expect(201);
    let terminating = client.delete("/api/v1/namespaces/shop").await.expect(200);
    assert_eq!(terminating["status"]["phase"], "Terminating");
    let status = client
        .post("/api/v1/namespaces/shop/configmaps", &config_map("b"))
        .await
        .expect(403);
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "NamespaceTerminating"
    );
    client.server.collect().await.unwrap();
    client.get("/api/v1/namespaces/shop").await.expect(404);
    assert_eq!(
        client
            .get("/api/v1/namespaces/shop/configmaps")
            .await
            .expect(200)["items"],
        json!([])
    );
}

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

#[tokio::test]
async fn groups_and_versions_are_in_the_order_of_preference() {
    let client = Client::new().await;
    let group = client.get("/apis/autoscaling").await.expect(200);
    assert_eq!(group["preferredVersion"]["version"], "v2");
}

#[tokio::test]
async fn answers_in_the_forms_that_clients_ask_for() {
    let client = Client::new().await;
    client.config_map("a").await;
    let accept =
        |form: &str| format!("application/json;as={form};v=v1;g=meta.k8s.io,application/json");
    let table = client
        .send(
            "GET",
            CONFIG_MAPS,
            &[("accept", accept("Table").as_str())],
            "",
        )
        .await
        .expect(200);
    assert_eq!(
        (&table["kind"], &table["rows"][0]["cells"][0]),
        (&json!("Table"), &json!("a"))
    );
    let form = accept("PartialObjectMetadataList");
    let list = client
        .send("GET", CONFIG_MAPS, &[("accept", form.as_str())], "")
        .await
        .expect(200);
    assert_eq!(
        (&list["kind"], &list["items"][0]["kind"]),
        (
            &json!("PartialObjectMetadataList"),
            &json!("PartialObjectMetadata")
        )
    );
    assert_eq!(list["items"][0].get("data"), None);
    let yaml = client
        .send(
            "GET",
            &format!("{CONFIG_MAPS}/a"),
            &[("accept", "application/yaml")],
            "",
        )
        .await;
    assert!(yaml.bytes.starts_with(b"apiVersion: v1\n"));
    client
        .send("GET", CONFIG_MAPS, &[("accept", "text/plain")], "")
        .await
        .expect(406);
}

#[tokio::test]
async fn appliers_conflict_and_share() {
    let client = Client::new().await;
    let path = format!("{CONFIG_MAPS}/a");
    client
        .apply(&path, "one", &config_map("a"))
        .await
        .expect(201);
    let mut other = config_map("a");
    other["data"]["color"] = json!("blue");
    let status = client.apply(&path, "two", &other).await.expect(409);
    assert_eq!(
        status["message"],
        "Apply failed with 1 conflict: conflict with \"one\": .data.color"
    );
    client
        .apply(&format!("{path}?force=true"), "two", &other)
        .await
        .expect(200);
}
