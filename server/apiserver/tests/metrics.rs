//! `/metrics`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shop, shops};

/// The samples of a metric whose labels contain all of some pairs.
async fn samples(client: &Client, name: &str, labels: &[&str]) -> Vec<String> {
    let answer = client.get("/metrics").await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.headers["content-type"], "text/plain; version=0.0.4");
    let text = String::from_utf8(answer.bytes.to_vec()).unwrap();
    let lines = text
        .lines()
        .filter(|line| line.split(['{', ' ']).next() == Some(name));
    let has_all = |line: &&str| labels.iter().all(|label| line.contains(label));
    lines
        .filter(has_all)
        .map(|line| line.rsplit_once(' ').unwrap().1.to_owned())
        .collect()
}

#[tokio::test]
async fn requests_are_counted_by_verb_resource_and_code() {
    let client = Client::new().await;
    client.config_map("a").await;
    client.get(CONFIG_MAPS).await;
    client.get(&format!("{CONFIG_MAPS}/missing")).await;
    client
        .apply(&format!("{CONFIG_MAPS}/b"), "ops", &config_map("b"))
        .await;
    client
        .send(
            "POST",
            &format!("{CONFIG_MAPS}?dryRun=All"),
            &[],
            config_map("c").to_string(),
        )
        .await;
    for labels in [
        [
            r#"verb="POST""#,
            r#"code="201""#,
            r#"dry_run="""#,
            r#"scope="resource""#,
        ],
        [
            r#"verb="POST""#,
            r#"code="201""#,
            r#"dry_run="All""#,
            r#"component="apiserver""#,
        ],
        [
            r#"verb="LIST""#,
            r#"code="200""#,
            r#"version="v1""#,
            r#"scope="namespace""#,
        ],
        [
            r#"verb="GET""#,
            r#"code="404""#,
            r#"group="""#,
            r#"subresource="""#,
        ],
        [
            r#"verb="APPLY""#,
            r#"code="201""#,
            r#"dry_run="""#,
            r#"scope="resource""#,
        ],
    ] {
        let labels = [labels.as_slice(), &[r#"resource="configmaps""#]].concat();
        assert_eq!(
            samples(&client, "apiserver_request_total", &labels).await,
            ["1"],
            "{labels:?}"
        );
    }
    let lists = [r#"verb="LIST""#, r#"resource="configmaps""#];
    assert_eq!(
        samples(&client, "apiserver_request_duration_seconds_count", &lists).await,
        ["1"]
    );
    let slowest = [lists.as_slice(), &[r#"le="60""#]].concat();
    assert_eq!(
        samples(
            &client,
            "apiserver_request_duration_seconds_bucket",
            &slowest
        )
        .await,
        ["1"]
    );
}

#[tokio::test]
async fn paths_of_clients_add_no_time_series() {
    let client = Client::new().await;
    for path in [
        "/nowhere",
        "/apis/x.y/v1/things",
        "/apis/x.y/v1/others/a",
        "/api/v1/pods/a/b/c",
        "/apis/x.y",
    ] {
        client.get(path).await;
    }
    let unknown = [r#",resource="""#, r#"subresource="""#, r#"code="404""#];
    assert_eq!(
        samples(&client, "apiserver_request_total", &unknown).await,
        ["3"]
    );
    client.send("BREW", "/api/v1/pods", &[], "").await;
    assert_eq!(
        samples(&client, "apiserver_request_total", &[r#"verb="other""#]).await,
        ["1"]
    );
}

#[tokio::test]
async fn watches_are_long_running_until_they_end() {
    let client = Client::new().await;
    let labels = [r#"verb="WATCH""#, r#"resource="configmaps""#];
    let watch = client.watch(&format!("{CONFIG_MAPS}?watch=true")).await;
    assert_eq!(
        samples(&client, "apiserver_longrunning_requests", &labels).await,
        ["1"]
    );
    assert_eq!(
        samples(&client, "apiserver_request_total", &labels).await,
        [""; 0]
    );
    drop(watch);
    assert_eq!(
        samples(&client, "apiserver_longrunning_requests", &labels).await,
        ["0"]
    );
    assert_eq!(
        samples(&client, "apiserver_request_total", &labels).await,
        ["1"]
    );
}

#[tokio::test]
async fn resources_of_deleted_definitions_have_no_series() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("a")).await.expect(201);
    let labels = [r#"resource="shops""#];
    let watch = client.watch(&format!("{SHOPS}?watch=true")).await;
    assert_eq!(
        samples(&client, "apiserver_request_total", &labels).await,
        ["1"]
    );
    assert_eq!(
        samples(&client, "apiserver_longrunning_requests", &labels).await,
        ["1"]
    );
    client
        .delete(&format!("{CRDS}/shops.example.com"))
        .await
        .expect(200);
    for name in [
        "apiserver_request_total",
        "apiserver_request_duration_seconds_count",
        "apiserver_resource_objects",
    ] {
        assert_eq!(samples(&client, name, &labels).await, [""; 0], "{name}");
    }
    assert_eq!(
        samples(&client, "apiserver_longrunning_requests", &labels).await,
        ["1"],
        "it is open"
    );
    drop(watch);
    for name in ["apiserver_longrunning_requests", "apiserver_request_total"] {
        assert_eq!(samples(&client, name, &labels).await, [""; 0], "{name}");
    }
    // Those of other resources remain.
    let deleted = [
        r#"verb="DELETE""#,
        r#"resource="customresourcedefinitions""#,
    ];
    assert_eq!(
        samples(&client, "apiserver_request_total", &deleted).await,
        ["1"]
    );
}

#[tokio::test]
async fn stored_objects_and_the_process_are_shown() {
    let client = Client::new().await;
    for name in ["a", "b"] {
        let secret = serde_json::json!({"metadata": {"name": name}});
        client
            .post("/api/v1/namespaces/default/secrets", &secret)
            .await
            .expect(201);
    }
    let labels = [r#"group="""#, r#"resource="secrets""#];
    assert_eq!(
        samples(&client, "apiserver_resource_objects", &labels).await,
        ["2"]
    );
    assert_eq!(
        samples(
            &client,
            "apiserver_storage_objects",
            &[r#"resource="secrets""#]
        )
        .await,
        ["2"]
    );
    let roles = [
        r#"group="rbac.authorization.k8s.io""#,
        r#"resource="clusterroles""#,
    ];
    assert_ne!(
        samples(&client, "apiserver_resource_objects", &roles).await,
        ["0"]
    );
    // The request that reads them is in flight.
    let reading = [r#"request_kind="readOnly""#];
    assert_eq!(
        samples(&client, "apiserver_current_inflight_requests", &reading).await,
        ["1"]
    );
    if cfg!(target_os = "linux") {
        let resident = samples(&client, "process_resident_memory_bytes", &[]).await;
        assert!(resident[0].parse::<f64>().unwrap() > 1e6, "{resident:?}");
    }
}

/// The file `data/metrics.txt` is recorded from a kube-apiserver.
#[tokio::test]
async fn metrics_have_the_types_and_labels_of_kube_apiserver() {
    let client = Client::new().await;
    let _watch = client.watch(&format!("{CONFIG_MAPS}?watch=true")).await;
    client.config_map("a").await;
    let recorded: BTreeMap<&str, &str> = include_str!("data/metrics.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .collect();
    let text = String::from_utf8(client.get("/metrics").await.bytes.to_vec()).unwrap();
    let metrics = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let mut compared = Vec::new();
    for (name, kind) in metrics {
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let samples = samples.filter(|line| {
            let own = line.split(['{', ' ']).next().unwrap_or_default();
            own == name
                || ["_bucket", "_sum", "_count"]
                    .iter()
                    .any(|end| own.strip_suffix(end) == Some(name))
        });
        let labels = samples.filter_map(|line| line.split_once('{')?.1.rsplit_once('}'));
        let labels: BTreeSet<&str> = labels
            .flat_map(|(labels, _)| labels.split(','))
            .filter_map(|label| Some(label.split_once('=')?.0))
            .filter(|label| *label != "le")
            .collect();
        let own = format!("{kind} {}", Vec::from_iter(labels).join(","));
        match recorded.get(name) {
            Some(recorded) => assert_eq!(own.trim_end(), *recorded, "{name}"),
            // The Go library of Prometheus does not have it.
            None => assert_eq!(name, "process_threads"),
        }
        compared.push(name);
    }
    assert!(compared.len() > 10, "{compared:?}");
}
