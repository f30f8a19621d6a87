//! Formats of bodies and answers.

use crate::common::{self, CONFIG_MAPS, Client, config_map};

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
