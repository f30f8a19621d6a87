//! Injected faults.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::time::Duration;

use crate::common::{Answer, CONFIG_MAPS, Client, config_map};
use fieldmanager_apiserver::fault::{Fault, FaultKind};
use fieldmanager_apiserver::net::Listening;
use fieldmanager_apiserver::{ApiServer, Collection, Random};
use http_body_util::BodyExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::ServiceExt;

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

fn status(answer: Answer, code: u16, reason: &str) -> String {
    let status = answer.expect(code);
    assert_eq!(
        (status["kind"].as_str(), status["reason"].as_str()),
        (Some("Status"), Some(reason))
    );
    status["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn answers_are_those_of_the_kind_and_nothing_is_done() {
    let client = client().await;
    let faults = client.server.faults();
    let create = async || client.post(CONFIG_MAPS, &config_map("a")).await;

    faults.add(Fault::conflict().times(1)).unwrap();
    let message = status(
        client
            .put(&format!("{CONFIG_MAPS}/a"), &config_map("a"))
            .await,
        409,
        "Conflict",
    );
    assert_eq!(
        message,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the \
         latest version and try again"
    );
    faults.add(Fault::too_many_requests(3).times(1)).unwrap();
    let answer = create().await;
    assert_eq!(answer.headers["retry-after"], "3");
    status(answer, 429, "TooManyRequests");
    faults.add(Fault::internal_error().times(1)).unwrap();
    status(create().await, 500, "InternalError");
    faults.add(Fault::unavailable().times(1)).unwrap();
    let answer = create().await;
    assert_eq!(answer.headers.get("retry-after"), None);
    status(answer, 503, "ServiceUnavailable");
    faults.add(Fault::timeout().times(1)).unwrap();
    status(create().await, 504, "Timeout");
    create().await.expect(201);
    let fired: Vec<u64> = faults.list().iter().map(|fault| fault.fired()).collect();
    assert_eq!(fired, [1; 5]);
    let logged: Vec<String> = client
        .server
        .log()
        .iter()
        .filter_map(|entry| entry.fault.clone())
        .collect();
    assert_eq!(
        logged,
        [
            "conflict",
            "tooManyRequests",
            "internalError",
            "unavailable",
            "timeout"
        ]
    );
}

#[tokio::test]
async fn rules_select_requests() {
    let client = client().await;
    let path = format!("{CONFIG_MAPS}/a");
    client.config_map("a").await;
    let rule = Fault::internal_error()
        .verb("apply")
        .resource("configmaps")
        .namespace("default")
        .name("a")
        .manager("alice");
    let handle = client.server.faults().add(rule).unwrap();
    client.get(&path).await.expect(200);
    client
        .merge(&path, &json!({"data": {"a": "b"}}))
        .await
        .expect(200);
    client
        .apply(&path, "bob", &config_map("a"))
        .await
        .expect(200);
    client
        .apply(&path, "alice", &config_map("a"))
        .await
        .expect(500);
    assert_eq!((handle.matched(), handle.fired()), (1, 1));
    assert!(client.server.faults().remove(handle.id()) && client.server.faults().list().is_empty());
    client
        .apply(&path, "alice", &config_map("a"))
        .await
        .expect(200);

    let agent = client
        .server
        .faults()
        .add(Fault::unavailable().user_agent("kubectl/"))
        .unwrap();
    assert_eq!(
        client
            .send("GET", &path, &[("user-agent", "kubectl/v1.37")], "")
            .await
            .code,
        503
    );
    assert_eq!(
        client
            .send("GET", &path, &[("user-agent", "k9s")], "")
            .await
            .code,
        200
    );
    assert_eq!(agent.fired(), 1);
}

#[tokio::test]
async fn rules_fire_after_some_requests_so_often_and_with_a_probability() {
    let client = client().await;
    let handle = client
        .server
        .faults()
        .add(Fault::internal_error().after(2).times(2))
        .unwrap();
    let mut codes = Vec::new();
    for _ in 0..6 {
        codes.push(client.get(CONFIG_MAPS).await.code);
    }
    assert_eq!(codes, [200, 200, 500, 500, 200, 200]);
    assert_eq!((handle.matched(), handle.fired()), (6, 2));

    client.server.faults().clear();
    let sequence = async || {
        client.server.faults().set_seed(3);
        let handle = client
            .server
            .faults()
            .add(Fault::internal_error().probability(0.3))
            .unwrap();
        let mut codes = Vec::new();
        for _ in 0..100 {
            codes.push(client.get(CONFIG_MAPS).await.code);
        }
        assert!((15..45).contains(&handle.fired()), "{}", handle.fired());
        client.server.faults().clear();
        codes
    };
    assert_eq!(sequence().await, sequence().await);
}

#[tokio::test]
async fn a_lost_answer_is_an_error_after_the_write() {
    let client = client().await;
    client
        .server
        .faults()
        .add(Fault::lose_answer().verb("create").times(1))
        .unwrap();
    let body = http_body_util::Full::<bytes::Bytes>::from(config_map("a").to_string());
    let request = http::Request::post(CONFIG_MAPS).body(body).unwrap();
    let response = client.server.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 500);
    let error = response.into_body().collect().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the answer was lost: a fault was injected"
    );
    client.get(&format!("{CONFIG_MAPS}/a")).await.expect(200);
    let log = client.server.log();
    let entry = log.iter().next().unwrap();
    assert_eq!(
        (entry.status, entry.fault.as_deref(), entry.writes.len()),
        (201, Some("loseAnswer"), 1)
    );
}

#[tokio::test]
async fn a_lost_answer_closes_the_connection() {
    let client = client().await;
    client
        .server
        .faults()
        .add(Fault::lose_answer().verb("create"))
        .unwrap();
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), None)
        .await
        .unwrap();
    let address = listening.address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let run = tokio::spawn(listening.run(client.server.clone(), async {
        let _ = stopped.await;
    }));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let body = config_map("a").to_string();
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .await
        .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&answer), "");
    client.get(&format!("{CONFIG_MAPS}/a")).await.expect(200);
    stop.send(()).unwrap();
    run.await.unwrap().unwrap();
}

#[tokio::test]
async fn watches_are_cut_and_expire() {
    let client = client().await;
    client.config_map("a").await;
    client.config_map("b").await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    let cut = client
        .server
        .faults()
        .add(Fault::cut_watch(1).times(1))
        .unwrap();
    let mut watch = client.watch(&path).await;
    assert_eq!(watch.names(1).await.len(), 1);
    assert_eq!(watch.next().await, None);
    client
        .server
        .faults()
        .add(Fault::expire_watch(2).times(1))
        .unwrap();
    let mut watch = client.watch(&path).await;
    watch.names(2).await;
    let (kind, status) = watch.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    assert_eq!(watch.next().await, None);
    client.get(CONFIG_MAPS).await.expect(200);
    assert_eq!((cut.fired(), cut.matched()), (1, 2));
}

#[tokio::test]
async fn stale_reads_are_of_an_older_revision_but_not_older_than_asked_for() {
    let client = client().await;
    client.config_map("a").await;
    let b = client.config_map("b").await;
    client
        .merge(
            &format!("{CONFIG_MAPS}/a"),
            &json!({"data": {"color": "blue"}}),
        )
        .await
        .expect(200);
    let path = format!("{CONFIG_MAPS}/a");
    client.server.faults().add(Fault::stale(2)).unwrap();
    assert_eq!(client.get(&path).await.expect(200)["data"]["color"], "red");
    let list = client.get(CONFIG_MAPS).await.expect(200);
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"a") && !names.contains(&"b"), "{names:?}");
    let version = b["metadata"]["resourceVersion"].as_str().unwrap();
    let list = client
        .get(&format!("{CONFIG_MAPS}?resourceVersion={version}"))
        .await
        .expect(200);
    assert_eq!(list["metadata"]["resourceVersion"], version);
    // A write reads the newest state.
    client
        .apply(
            &path,
            "alice",
            &json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y"}}),
        )
        .await
        .expect(200);
    client.server.faults().clear();
    assert_eq!(client.get(&path).await.expect(200)["data"]["color"], "blue");
    client.server.faults().add(Fault::stale(1_000_000)).unwrap();
    assert_eq!(client.get(&path).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn delays_add_up_and_a_hang_ends() {
    let client = client().await;
    let faults = client.server.faults();
    for seconds in [2, 3] {
        faults
            .add(Fault::delay(Duration::from_secs(seconds)).times(1))
            .unwrap();
    }
    let begun = tokio::time::Instant::now();
    client.get(CONFIG_MAPS).await.expect(200);
    assert_eq!(begun.elapsed().as_secs(), 5);
    faults.add(Fault::new(FaultKind::Hang).times(2)).unwrap();
    let begun = tokio::time::Instant::now();
    status(client.get(CONFIG_MAPS).await, 504, "Timeout");
    assert_eq!(begun.elapsed().as_secs(), 60);
    let given_up = tokio::time::timeout(Duration::from_secs(1), client.get(CONFIG_MAPS)).await;
    assert!(given_up.is_err());
    let log = client.server.log();
    let last = log.iter().next_back().unwrap();
    assert_eq!((last.status, last.fault.as_deref()), (0, Some("hang")));
}

#[tokio::test]
async fn rules_that_contradict_themselves_are_not_added() {
    let client = client().await;
    let error = client
        .server
        .faults()
        .add(Fault::cut_watch(1).verb("get"))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "verb: cutWatch accepts one of watch, got \"get\""
    );
    assert!(client.server.faults().list().is_empty());
}
