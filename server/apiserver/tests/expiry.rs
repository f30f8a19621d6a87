//! The end of Events.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::time::{Duration, Instant};

use crate::common::{CONFIG_MAPS, Client, config_map};
use fieldmanager_apiserver::{ApiServer, Limits, Random};
use serde_json::json;

const EVENTS: &str = "/api/v1/namespaces/default/events";

#[tokio::test]
async fn an_event_is_deleted_some_time_after_its_last_write() {
    let source = Random::seeded(7, "2026-01-31T12:00:00Z".parse().unwrap());
    let mut limits = Limits::default();
    limits.event_time = Duration::from_secs(2);
    limits.log = 1 << 20;
    let server = ApiServer::builder()
        .source(source.clone())
        .limits(limits)
        .build()
        .await
        .unwrap();
    let client = Client { server };
    let event = |name: &str| {
        json!({"metadata": {"name": name}, "reason": "Started", "type": "Normal", "message": "web",
            "involvedObject": {"kind": "ConfigMap", "namespace": "default", "name": "a"}})
    };
    client.post(CONFIG_MAPS, &config_map("a")).await.expect(201);
    for name in ["old", "changed"] {
        client.post(EVENTS, &event(name)).await.expect(201);
    }
    source.advance(Duration::from_secs(2)).unwrap();
    let patch = json!({"count": 2}).to_string();
    let headers = [("content-type", "application/merge-patch+json")];
    client
        .send("PATCH", &format!("{EVENTS}/changed"), &headers, patch)
        .await
        .expect(200);
    source.advance(Duration::from_secs(1)).unwrap();
    let gone = async |name: &str| {
        let began = Instant::now();
        while client.get(&format!("{EVENTS}/{name}")).await.code != 404 {
            assert!(
                began.elapsed() < Duration::from_secs(100),
                "{name} is not deleted"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    gone("old").await;
    let log = client.server.log();
    let deletion = log
        .iter()
        .find(|entry| entry.user == "collector")
        .expect("the deletion is logged");
    assert_eq!(
        (
            deletion.verb.as_str(),
            deletion.resource.as_str(),
            deletion.name.as_str()
        ),
        ("delete", "events", "old")
    );
    assert_eq!((deletion.status, deletion.writes.len()), (200, 1));
    client.get(&format!("{EVENTS}/changed")).await.expect(200);
    source.advance(Duration::from_secs(2)).unwrap();
    gone("changed").await;
    client.get(&format!("{CONFIG_MAPS}/a")).await.expect(200);
}
