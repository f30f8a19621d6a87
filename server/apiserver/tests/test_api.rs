//! Requests below `/test`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{Answer, CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shops};
use fieldmanager_apiserver::{ApiServer, Collection, Random};
use serde_json::{Value as Json, json};

async fn client() -> Client {
    let random = Random::seeded(7, "2026-01-31T12:00:00Z".parse().unwrap());
    let builder = ApiServer::builder()
        .source(random)
        .collection(Collection::Stepped)
        .test_api(true);
    Client {
        server: builder.build().await.unwrap(),
    }
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

async fn post(client: &Client, path: &str, body: &str) -> Answer {
    client.send("POST", path, JSON, body.to_owned()).await
}

fn message(answer: Answer, code: u16) -> String {
    answer.expect(code)["message"].as_str().unwrap().to_owned()
}

fn lines(answer: &Answer) -> Vec<Json> {
    std::str::from_utf8(&answer.bytes)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn paths_are_unknown_without_the_option() {
    let client = Client::new().await;
    for path in ["/test", "/test/log", "/test/reset", "/test/clock"] {
        assert_eq!(
            (
                client.get(path).await.code,
                post(&client, path, "").await.code
            ),
            (404, 404),
            "{path}"
        );
    }
}

#[tokio::test]
async fn snapshots_are_taken_restored_and_deleted() {
    let client = client().await;
    let snapshot = post(&client, "/test/snapshots", "").await.expect(201);
    assert_eq!(snapshot["id"], "1");
    client.config_map("a").await;
    let restored = post(&client, "/test/snapshots/1/restore", "")
        .await
        .expect(200);
    let number = |json: &Json| json["revision"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(number(&restored) > number(&snapshot));
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a")).await.code, 404);
    let items = client.get("/test/snapshots").await.expect(200);
    assert_eq!(items, json!({"items": [snapshot]}));
    assert_eq!(client.delete("/test/snapshots/1").await.code, 204);
    assert_eq!(
        message(client.delete("/test/snapshots/1").await, 404),
        "snapshot \"1\" not found"
    );
    assert_eq!(
        message(post(&client, "/test/snapshots/x/restore", "").await, 404),
        "snapshot \"x\" not found"
    );
}

#[tokio::test]
async fn reset_goes_back_to_the_start_without_faults_and_log() {
    let client = client().await;
    client.post(CRDS, &shops()).await.expect(201);
    client.server.mark_start().await.unwrap();
    client.config_map("a").await;
    post(&client, "/test/snapshots", "").await.expect(201);
    post(&client, "/test/faults", r#"{"fault": "conflict"}"#)
        .await
        .expect(201);
    post(&client, "/test/clock/advance", r#"{"seconds": 10}"#)
        .await
        .expect(200);
    post(&client, "/test/reset", "").await.expect(200);
    assert_eq!(
        client.get("/test/faults").await.expect(200),
        json!({"items": []})
    );
    assert_eq!(
        client.get("/test/snapshots").await.expect(200),
        json!({"items": []})
    );
    assert_eq!(client.get("/test/log").await.bytes, "");
    assert_eq!(
        client.get("/test/clock").await.expect(200),
        json!({"time": "2026-01-31T12:00:00Z"})
    );
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a")).await.code, 404);
    client.get(SHOPS).await.expect(200);
    // The next uid is the first one after the start.
    let once = client.config_map("a").await;
    post(&client, "/test/reset", "").await.expect(200);
    assert_eq!(
        client.config_map("a").await["metadata"]["uid"],
        once["metadata"]["uid"]
    );
}

#[tokio::test]
async fn faults_are_added_counted_and_removed() {
    let client = client().await;
    let rule = json!({"fault": "tooManyRequests", "verb": "create", "times": 1, "retryAfter": 2});
    let added = post(&client, "/test/faults", &rule.to_string())
        .await
        .expect(201);
    assert_eq!(
        added,
        json!({"id": 1, "matched": 0, "fired": 0, "rule": rule})
    );
    client.post(CONFIG_MAPS, &config_map("a")).await.expect(429);
    client.post(CONFIG_MAPS, &config_map("a")).await.expect(201);
    let found = client.get("/test/faults/1").await.expect(200);
    assert_eq!((&found["matched"], &found["fired"]), (&json!(2), &json!(1)));
    assert_eq!(client.delete("/test/faults/1").await.code, 204);
    assert_eq!(
        message(client.get("/test/faults/1").await, 404),
        "fault \"1\" not found"
    );

    let refused = message(
        post(&client, "/test/faults", r#"{"fault": "crash"}"#).await,
        400,
    );
    assert!(
        refused.starts_with("unknown variant `crash`, expected one of `conflict`"),
        "{refused}"
    );
    let refused = message(
        post(
            &client,
            "/test/faults",
            r#"{"fault": "stale", "verb": "watch"}"#,
        )
        .await,
        400,
    );
    assert_eq!(
        refused,
        "verb: stale accepts one of get, list, got \"watch\""
    );
}

#[tokio::test]
async fn the_log_is_selected_by_parameters() {
    let client = client().await;
    client.post(CRDS, &shops()).await.expect(201);
    assert_eq!(client.delete("/test/log").await.code, 204);
    for (name, manager) in [("a", "alice"), ("b", "bob")] {
        let config = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": name}, "spec": {"size": 1}});
        client
            .apply(&format!("{SHOPS}/{name}"), manager, &config)
            .await
            .expect(201);
    }
    client.get(&format!("{SHOPS}/c")).await.expect(404);
    let select = async |query: &str| -> Vec<u64> {
        let answer = client.get(&format!("/test/log{query}")).await;
        assert_eq!(answer.headers["content-type"], "application/jsonl");
        lines(&answer)
            .iter()
            .map(|line| line["number"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(select("").await, [1, 2, 3]);
    assert_eq!(select("?manager=alice&path=.spec.size").await, [1]);
    assert_eq!(select("?manager=alice&path=.spec.color").await, [0_u64; 0]);
    assert_eq!(
        select("?verb=apply&resource=shops.example.com").await,
        [1, 2]
    );
    assert_eq!(select("?status=404").await, [3]);
    assert_eq!(select("?namespace=default&name=b&user=admin").await, [2]);
    assert_eq!(select("?since=2").await, [3]);
    let refused = message(client.get("/test/log?who=alice").await, 400);
    assert_eq!(
        refused,
        "unknown parameter \"who\": accepted are manager, user, verb, resource, namespace, name, status, path, since"
    );
}

#[tokio::test]
async fn the_clock_and_the_seed_are_set() {
    let client = client().await;
    let moved = post(&client, "/test/clock/advance", r#"{"seconds": 90}"#)
        .await
        .expect(200);
    assert_eq!(moved, json!({"time": "2026-01-31T12:01:30Z"}));
    let set = client
        .send(
            "PUT",
            "/test/clock",
            JSON,
            r#"{"time": "2030-01-01T00:00:00Z"}"#,
        )
        .await
        .expect(200);
    assert_eq!(set, json!({"time": "2030-01-01T00:00:00Z"}));
    assert_eq!(
        client.config_map("a").await["metadata"]["creationTimestamp"],
        "2030-01-01T00:00:00Z"
    );
    let refused = message(
        client
            .send("PUT", "/test/clock", JSON, r#"{"time": "noon"}"#)
            .await,
        400,
    );
    assert_eq!(
        refused,
        "time: expected a time like 2026-01-31T12:00:00Z, got `noon`"
    );

    let mut uids = Vec::new();
    for name in ["b", "c"] {
        post(&client, "/test/seed", r#"{"seed": 1}"#)
            .await
            .expect(200);
        uids.push(client.config_map(name).await["metadata"]["uid"].clone());
    }
    assert_eq!(uids[0], uids[1]);
}

#[tokio::test]
async fn the_collector_is_stepped() {
    let client = client().await;
    let owner = client.config_map("owner").await;
    for name in ["a", "b"] {
        let mut owned = config_map(name);
        owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
        client.post(CONFIG_MAPS, &owned).await.expect(201);
    }
    client
        .delete(&format!("{CONFIG_MAPS}/owner"))
        .await
        .expect(200);
    let step = post(&client, "/test/collect/step", "").await.expect(200);
    let deleted = |name: &str| {
        json!({"resource": "configmaps", "namespace": "default", "name": name, "change": "delete",
            "propagation": "Background"})
    };
    assert_eq!(step, json!({"step": deleted("a")}));
    assert_eq!(
        post(&client, "/test/collect", "").await.expect(200),
        json!({"steps": [deleted("b")]})
    );
    assert_eq!(
        post(&client, "/test/collect/step", "").await.expect(200),
        json!({"step": null})
    );
}

#[tokio::test]
async fn other_methods_and_paths_are_refused() {
    let client = client().await;
    for path in [
        "/test/reset",
        "/test/seed",
        "/test/collect",
        "/test/collect/step",
        "/test/clock/advance",
    ] {
        client.get(path).await.expect(405);
    }
    client
        .send("PATCH", "/test/faults", &[], "")
        .await
        .expect(405);
    for path in ["/test", "/test/forks", "/test/log/1"] {
        assert_eq!(client.get(path).await.code, 404, "{path}");
    }
    assert!(client.server.log().is_empty());
}
