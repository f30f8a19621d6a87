//! Answers in protobuf, whose bytes the comparison `protobuf` has from Go.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::io::Read;

use fieldmanager_builtin::{from_protobuf, to_protobuf};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use flate2::read::GzDecoder;
use serde_json::{Value as Json, json};

use crate::common::{CONFIG_MAPS, CRDS, Client, SHOPS, shop, shops};

#[tokio::test]
async fn built_in_objects_are_answered_in_protobuf() {
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
    const METADATA: &str =
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let client = Client::new().await;
    let created = client
        .post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}}))
        .await;
    let created = created.expect(201);
    let get =
        async |path: &str, accept: &str| client.send("GET", path, &[("accept", accept)], "").await;
    let read = |bytes: &[u8]| {
        let object = from_protobuf(bytes, &GroupVersionKind::default()).unwrap();
        serde_json::from_str::<Json>(&object.to_json()).unwrap()
    };

    let path = format!("{CONFIG_MAPS}/a");
    let answer = get(&path, PROTOBUF).await;
    assert_eq!(answer.headers["content-type"], PROTOBUF);
    assert_eq!(read(&answer.bytes), created);
    let metadata = read(&get(&path, METADATA).await.bytes);
    assert_eq!(metadata["kind"], "PartialObjectMetadata");
    assert_eq!(metadata["metadata"], created["metadata"]);
    let missing = get(&format!("{CONFIG_MAPS}/b"), PROTOBUF).await;
    assert_eq!(
        (missing.code, &read(&missing.bytes)["code"]),
        (404, &json!(404))
    );

    // An item of a list is a message in it, and an event is behind its length and its type.
    let object = &get(&path, PROTOBUF).await.bytes[..];
    let message = &object[24..object.len() - 4];
    let list = get(CONFIG_MAPS, PROTOBUF).await.bytes;
    assert!(list.windows(message.len()).any(|part| part == message));
    let watch = format!("{CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3Da");
    let short = get(&format!("{watch}&timeoutSeconds=1"), PROTOBUF).await;
    assert_eq!(
        short.headers["content-type"],
        format!("{PROTOBUF};stream=watch")
    );
    let event = client.watch_as(&watch, PROTOBUF).await.next_frame().await;
    let event = event.unwrap();
    let (length, event) = event.split_at(4);
    assert_eq!(length, u32::try_from(event.len()).unwrap().to_be_bytes());
    assert!(event.starts_with(b"\x0a\x05ADDED\x12") && event.ends_with(object));

    // Custom resources have no messages, but their metadata has.
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("a")).await.expect(201);
    let path = format!("{SHOPS}/a");
    assert_eq!(get(&path, PROTOBUF).await.code, 406);
    let both = get(
        &path,
        "application/vnd.kubernetes.protobuf,application/json",
    )
    .await;
    assert_eq!(both.headers["content-type"], "application/json");
    let metadata = read(&get(&path, METADATA).await.bytes);
    assert_eq!(metadata["metadata"]["name"], "a");
}

#[tokio::test]
async fn long_lists_have_the_same_messages_as_short_ones() {
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
    let client = Client::new().await;
    for number in 0..300 {
        let data = json!({"text": "x".repeat(1000)});
        let map = json!({"metadata": {"name": format!("map-{number:03}")}, "data": data});
        client.post(CONFIG_MAPS, &map).await.expect(201);
    }

    let list = async |headers: &[(&str, &str)]| client.send("GET", CONFIG_MAPS, headers, "").await;
    let long = list(&[("accept", PROTOBUF)]).await.bytes;
    let json = client.get(CONFIG_MAPS).await.expect(200);
    let expected = to_protobuf(&Value::from_json(&json.to_string()).unwrap()).unwrap();
    assert_eq!(long, expected);
    // The second one finds the messages of the first.
    assert_eq!(list(&[("accept", PROTOBUF)]).await.bytes, expected);

    let small = list(&[("accept", PROTOBUF), ("accept-encoding", "gzip")]).await;
    assert_eq!(small.headers["content-encoding"], "gzip");
    let mut plain = Vec::new();
    GzDecoder::new(&small.bytes[..])
        .read_to_end(&mut plain)
        .unwrap();
    assert_eq!(plain, expected);
}
