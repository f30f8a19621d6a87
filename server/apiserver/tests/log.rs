//! The log of a test server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shop, shops};
use fieldmanager_apiserver::log::{Change, Log, LogEntry};
use fieldmanager_apiserver::{ApiServer, Collection, Limits, Random};
use serde_json::json;

fn sized(size: i32) -> serde_json::Value {
    json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": {"size": size}})
}

async fn client() -> Client {
    let random = Random::seeded(7, "2026-01-31T12:00:00Z".parse().unwrap());
    let builder = ApiServer::builder()
        .source(random)
        .collection(Collection::Stepped)
        .test_api(true);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    client.post(CRDS, &shops()).await.expect(201);
    client.server.clear_log();
    client
}

fn last(log: &Log) -> LogEntry {
    LogEntry::clone(log.iter().next_back().unwrap())
}

#[tokio::test]
async fn an_entry_has_the_request_and_the_fields_of_each_manager() {
    let client = client().await;
    let path = format!("{SHOPS}/a");
    client.apply(&path, "alice", &sized(1)).await.expect(201);
    client.apply(&path, "bob", &sized(2)).await.expect(409);
    let taken = client
        .apply(&format!("{path}?force=true"), "bob", &sized(2))
        .await
        .expect(200);

    let log = client.server.log();
    let lines = log.to_json_lines();
    let entries: Vec<LogEntry> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(log.iter().map(AsRef::as_ref).eq(&entries));
    assert_eq!(entries.len(), 3);
    let conflict: serde_json::Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    let expected = json!({"number": 2, "time": "2026-01-31T12:00:00Z", "user": "admin", "userAgent": "", "manager": "bob",
        "verb": "apply", "path": path, "resource": "shops.example.com", "version": "v1", "namespace": "default",
        "name": "a", "status": 409, "reason": "Conflict"});
    assert_eq!(conflict, expected);
    let [created] = entries[0].writes.as_slice() else {
        panic!("{:?}", entries[0])
    };
    assert_eq!(
        (created.change, created.managers[0].gained.as_slice()),
        (Change::Created, [".spec.size".to_owned()].as_slice())
    );
    let [write] = entries[2].writes.as_slice() else {
        panic!("{:?}", entries[2])
    };
    assert_eq!(
        write.revision.to_string(),
        taken["metadata"]["resourceVersion"]
    );
    let [alice, bob] = write.managers.as_slice() else {
        panic!("{write:?}")
    };
    assert_eq!(
        (alice.manager.as_str(), alice.lost.as_slice()),
        ("alice", [".spec.size".to_owned()].as_slice())
    );
    assert_eq!(
        (bob.gained.as_slice(), bob.took.as_slice()),
        (alice.lost.as_slice(), alice.lost.as_slice())
    );
    assert_eq!(
        entries[2].to_string(),
        "#3 apply shops.example.com default/a by bob: 200, alice lost .spec.size, bob gained .spec.size"
    );
}

#[tokio::test]
async fn values_that_their_owner_changes_are_written() {
    let client = client().await;
    let path = format!("{SHOPS}/a");
    client.apply(&path, "alice", &sized(1)).await.expect(201);
    client.server.clear_log();
    client.apply(&path, "alice", &sized(1)).await.expect(200);
    client
        .server
        .log()
        .assert_never_wrote("alice", ".spec.size");
    client.apply(&path, "alice", &sized(5)).await.expect(200);
    let log = client.server.log();
    assert_eq!(last(&log).writes[0].managers[0].changed, [".spec.size"]);
    assert!(log.wrote("alice", ".spec") && !log.wrote("bob", ".spec"));
    assert_eq!(log.writes_of("alice").len(), 1);
}

#[tokio::test]
async fn failed_assertions_name_the_requests() {
    let client = client().await;
    client
        .apply(&format!("{SHOPS}/a"), "alice", &sized(1))
        .await
        .expect(201);
    let log = client.server.log();
    log.assert_never_owned("bob", ".spec.size");
    let message = |check: &dyn Fn()| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).unwrap_err();
        caught
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| caught.downcast_ref::<&str>().map(|text| (*text).to_owned()))
    };
    let wrote = message(&|| log.assert_never_wrote("alice", ".spec.size")).unwrap();
    assert_eq!(
        wrote,
        "\"alice\" wrote .spec.size:\n  #1 apply shops.example.com default/a by alice: 201, alice gained .spec.size"
    );
    let missing = message(&|| Log::default().assert_never_wrote("alice", ".spec")).unwrap();
    assert_eq!(
        missing,
        "the server has no log: build it with `test_api(true)` or with `Limits::log`"
    );
}

#[tokio::test]
async fn deletions_and_the_collector_are_logged() {
    let client = client().await;
    let owner = client.config_map("owner").await;
    let mut owned = config_map("owned");
    owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    client
        .post(&format!("{CONFIG_MAPS}?fieldManager=carol"), &owned)
        .await
        .expect(201);
    client
        .delete(&format!("{CONFIG_MAPS}/owner"))
        .await
        .expect(200);
    let log = client.server.log();
    assert_eq!(
        (last(&log).verb.as_str(), last(&log).writes[0].change),
        ("delete", Change::Deleted)
    );
    client.server.collect().await.unwrap();
    let log = client.server.log();
    let collected = last(&log);
    assert_eq!(
        (
            collected.user.as_str(),
            collected.manager.as_str(),
            collected.status
        ),
        ("collector", "collector", 200)
    );
    assert_eq!(
        (collected.verb.as_str(), collected.name.as_str()),
        ("delete", "owned")
    );
    assert!(
        collected.writes[0].managers[0]
            .lost
            .contains(&".data.color".to_owned()),
        "{collected}"
    );
    assert!(log.ever_owned("carol", ".data.color"));
}

#[tokio::test]
async fn writes_of_the_server_are_a_part_of_the_request() {
    let client = client().await;
    let mut definition = shops();
    definition["metadata"]["name"] = "houses.example.com".into();
    definition["spec"]["names"] = json!({"plural": "houses", "kind": "House"});
    client
        .post(&format!("{CRDS}?fieldManager=dev"), &definition)
        .await
        .expect(201);
    let entry = last(&client.server.log());
    assert_eq!(entry.writes.len(), 2, "{entry}");
    assert_eq!(
        (entry.writes[0].change, entry.writes[1].change),
        (Change::Created, Change::Updated)
    );
    assert!(
        client
            .server
            .log()
            .wrote("kube-apiserver", ".status.conditions"),
        "{entry}"
    );

    client
        .post(&format!("{SHOPS}?dryRun=All"), &shop("b"))
        .await
        .expect(201);
    let entry = last(&client.server.log());
    assert!(entry.dry_run && !entry.is_write());
    client.get("/version").await.expect(200);
    let entry = last(&client.server.log());
    assert_eq!(
        (
            entry.verb.as_str(),
            entry.path.as_str(),
            entry.resource.as_str()
        ),
        ("get", "/version", "")
    );
}

#[tokio::test]
async fn the_log_is_bounded_and_off_by_default() {
    let client = Client::new().await;
    client.config_map("a").await;
    assert!(client.server.log().is_empty());

    let mut limits = Limits::default();
    limits.log = 20_000;
    let client = Client {
        server: ApiServer::builder().limits(limits).build().await.unwrap(),
    };
    for index in 0..100 {
        client.config_map(&format!("m{index}")).await;
    }
    let log = client.server.log();
    assert!(log.len() > 5 && log.len() < 40, "{}", log.len());
    assert_eq!(
        (log.len() as u64 + log.dropped(), last(&log).number),
        (100, 100)
    );
    assert!(client.server.fork().await.unwrap().log().is_empty());
}
