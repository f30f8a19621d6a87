//! The addresses and ports that the server chooses for Services.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::sync::Arc;

use crate::common::Client;
use crate::common::counting::Counting;
use crate::common::failing::Failing;
use fieldmanager_apiserver::store::{Key, Memory, Store, StoreError, Write};
use fieldmanager_apiserver::{ApiServer, Collection};
use serde_json::{Value as Json, json};

const SERVICES: &str = "/api/v1/namespaces/default/services";

fn service(name: &str, spec: &Json) -> Json {
    let mut service = json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}}});
    for (name, value) in spec.as_object().unwrap() {
        service["spec"][name] = value.clone();
    }
    service
}

fn node_ports(spec: &Json) -> Vec<Option<i64>> {
    spec["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|port| port["nodePort"].as_i64())
        .collect()
}

#[tokio::test]
async fn node_port_of_another_service_is_refused() {
    let client = Client::new().await;
    let wants = |name: &str, port: i64| {
        service(
            name,
            &json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}),
        )
    };
    client.post(SERVICES, &wants("a", 30100)).await.expect(201);
    for (port, fault) in [
        (30100, "provided port is already allocated"),
        (
            80,
            "provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
    ] {
        let refused = client.post(SERVICES, &wants("b", port)).await.expect(422);
        let message = format!(
            "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: {port}: {fault}"
        );
        assert_eq!(refused["message"], message);
    }
    // A write on an earlier state is a conflict first.
    let mut old = client.post(SERVICES, &wants("c", 30101)).await.expect(201);
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    client
        .merge(&format!("{SERVICES}/c"), &label)
        .await
        .expect(200);
    old["spec"]["ports"][0]["nodePort"] = json!(30100);
    client.put(&format!("{SERVICES}/c"), &old).await.expect(409);
    client.delete(&format!("{SERVICES}/c")).await.expect(200);

    // The refused Service kept no address, and the port is free after its Service is gone.
    client.delete(&format!("{SERVICES}/a")).await.expect(200);
    let created = client.post(SERVICES, &wants("b", 30100)).await.expect(201);
    assert_eq!(created["spec"]["clusterIP"], "10.96.1.0");
    let moved = json!({"spec": {"ports": [{"port": 80, "nodePort": 30101}]}});
    client
        .merge(&format!("{SERVICES}/b"), &moved)
        .await
        .expect(200);
    client.post(SERVICES, &wants("c", 30100)).await.expect(201);
    client
        .merge(&format!("{SERVICES}/c"), &moved)
        .await
        .expect(422);
}

#[tokio::test]
async fn ports_of_one_number_share_their_node_port() {
    let client = Client::new().await;
    let ports = json!([{"name": "t", "port": 53, "protocol": "TCP"}, {"name": "u", "port": 53, "protocol": "UDP"}, {"name": "w", "port": 80}]);
    let spec = json!({"type": "NodePort", "ports": ports});
    let dry = client
        .post(&format!("{SERVICES}?dryRun=All"), &service("a", &spec))
        .await
        .expect(201);
    let created = client
        .post(SERVICES, &service("a", &spec))
        .await
        .expect(201);
    assert_eq!(
        node_ports(&created["spec"]),
        [Some(30000), Some(30000), Some(30001)]
    );
    assert_eq!(node_ports(&dry["spec"]), node_ports(&created["spec"]));
}

#[tokio::test]
async fn load_balancer_of_local_traffic_gets_a_port_for_health() {
    let client = Client::new().await;
    let spec = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"});
    let created = client
        .post(SERVICES, &service("a", &spec))
        .await
        .expect(201);
    assert_eq!(created["spec"]["healthCheckNodePort"], 30001);
    client.delete(&format!("{SERVICES}/a")).await.expect(200);
    let created = client
        .post(SERVICES, &service("b", &spec))
        .await
        .expect(201);
    assert_eq!(created["spec"]["healthCheckNodePort"], 30001);
}

#[tokio::test]
async fn families_of_other_clusters_are_refused() {
    let client = Client::new().await;
    for (spec, fault) in [
        (
            json!({"ipFamilies": ["IPv6"]}),
            r#"spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster"#,
        ),
        (
            json!({"ipFamilyPolicy": "RequireDualStack"}),
            r#"spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services"#,
        ),
        (
            json!({"clusterIP": "fd00::1"}),
            r#"spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster"#,
        ),
        (
            json!({"clusterIP": "1.2.3.4"}),
            r#"spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided network does not match the current range"#,
        ),
        (
            json!({"clusterIP": "10.96.0.0"}),
            r#"spec.clusterIPs: Invalid value: ["10.96.0.0"]: failed to allocate IP 10.96.0.0: the provided network does not match the current range"#,
        ),
        (
            json!({"clusterIP": "10.96.0.1"}),
            r#"spec.clusterIPs: Invalid value: ["10.96.0.1"]: failed to allocate IP 10.96.0.1: provided IP is already allocated"#,
        ),
    ] {
        let refused = client
            .post(SERVICES, &service("a", &spec))
            .await
            .expect(422);
        assert_eq!(
            refused["message"],
            format!("Service \"a\" is invalid: {fault}")
        );
    }
    // A dry run names the range, and does not look whether another Service has the address.
    for (address, code, fault) in [
        ("10.96.0.1", 201, ""),
        (
            "10.96.0.0",
            422,
            "the provided IP (10.96.0.0) is not in the valid range. The range of valid IPs is 10.96.0.0/16",
        ),
    ] {
        let spec = json!({"clusterIP": address});
        let path = format!("{SERVICES}?dryRun=All");
        let answer = client.post(&path, &service("a", &spec)).await.expect(code);
        assert!(answer.to_string().contains(fault), "{answer}");
    }
    let preferred = service("a", &json!({"ipFamilyPolicy": "PreferDualStack"}));
    assert_eq!(
        client.post(SERVICES, &preferred).await.expect(201)["spec"]["ipFamilies"],
        json!(["IPv4"])
    );
    let headless = service("b", &json!({"clusterIP": "None", "selector": null}));
    let spec = client.post(SERVICES, &headless).await.expect(201)["spec"].clone();
    assert_eq!(
        (&spec["ipFamilyPolicy"], &spec["ipFamilies"]),
        (&json!("RequireDualStack"), &json!(["IPv4", "IPv6"]))
    );
}

/// The server chooses addresses before it validates, as kube-apiserver does.
#[tokio::test]
async fn faults_of_addresses_precede_those_of_the_rest() {
    let client = Client::new().await;
    // Without ports, it is invalid in any case.
    let portless = |spec: Json| {
        let mut service = service("a", &spec);
        service["spec"]["ports"] = json!([]);
        service
    };
    for (spec, fault) in [
        (
            json!({"ipFamilyPolicy": "RequireDualStack"}),
            r#"spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services"#,
        ),
        (
            json!({"ipFamilies": ["IPv5"], "ipFamilyPolicy": "RequireDualStack"}),
            r#"spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6""#,
        ),
        (
            json!({"clusterIP": "10.96.0.1"}),
            r#"spec.clusterIPs: Invalid value: ["10.96.0.1"]: failed to allocate IP 10.96.0.1: provided IP is already allocated"#,
        ),
        (
            json!({"clusterIP": "10.96.7.7"}),
            "spec.ports: Required value",
        ),
    ] {
        let refused = client.post(SERVICES, &portless(spec)).await.expect(422);
        let message = format!("Service \"a\" is invalid: {fault}");
        assert_eq!(refused["message"], message);
    }
    // The invalid Service kept no address.
    let wanted = service("b", &json!({"clusterIP": "10.96.7.7"}));
    client.post(SERVICES, &wanted).await.expect(201);
}

#[tokio::test]
async fn service_that_was_made_by_its_status_gets_no_address_later_on() {
    let client = Client::new().await;
    let path = format!("{SERVICES}/a");
    client
        .put(&format!("{path}/status"), &service("a", &json!({})))
        .await
        .expect(201);
    let changed = client
        .merge(&path, &json!({"spec": {"sessionAffinity": "ClientIP"}}))
        .await
        .expect(200);
    assert_eq!(changed["spec"]["clusterIP"], Json::Null);
    client
        .merge(
            &path,
            &json!({"spec": {"type": "ExternalName", "externalName": "x"}}),
        )
        .await
        .expect(200);
    let changed = client
        .merge(&path, &json!({"spec": {"type": "ClusterIP"}}))
        .await
        .expect(200);
    assert_eq!(changed["spec"]["clusterIP"], "10.96.1.0");
}

#[tokio::test]
async fn service_that_cannot_be_stored_keeps_no_allocation() {
    let store = Arc::new(Failing {
        resource: "services",
        ..Failing::default()
    });
    let builder = ApiServer::builder()
        .store(store.clone())
        .collection(Collection::Stepped);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    let spec = json!({"type": "NodePort", "clusterIP": "10.96.7.7", "ports": [{"port": 80, "nodePort": 30100}]});
    store.fail(Some(StoreError::Full("no room".to_owned())));
    client
        .post(SERVICES, &service("a", &spec))
        .await
        .expect(507);
    store.fail(None);
    client
        .post(SERVICES, &service("b", &spec))
        .await
        .expect(201);
}

#[tokio::test]
async fn allocations_without_a_service_are_freed_at_the_start() {
    let store = Arc::new(Memory::default());
    // The server that made them ended before it wrote the Service.
    for (kind, name) in [
        ("serviceaddresses", "10.96.7.7"),
        ("servicenodeports", "30100"),
    ] {
        let key = Key::new("", kind, None, name).unwrap();
        store
            .write(&key, Write::Create("a uid".into()))
            .await
            .unwrap();
    }
    let builder = ApiServer::builder()
        .store(store)
        .collection(Collection::Stepped);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    let spec = json!({"type": "NodePort", "clusterIP": "10.96.7.7", "ports": [{"port": 80, "nodePort": 30100}]});
    client
        .post(SERVICES, &service("a", &spec))
        .await
        .expect(201);
}

#[tokio::test(start_paused = true)]
async fn allocations_of_another_server_are_freed_only_if_no_service_follows() {
    let store = Arc::new(Failing {
        is_shared: true,
        ..Failing::default()
    });
    let address = |name: &str| Key::new("", "serviceaddresses", None, name).unwrap();
    let (kept, left) = (address("10.96.7.7"), address("10.96.8.8"));
    // Another server has made them and not yet written the Services.
    for key in [&kept, &left] {
        store
            .write(key, Write::Create("a uid".into()))
            .await
            .unwrap();
    }
    let builder = ApiServer::builder()
        .store(store.clone())
        .collection(Collection::Stepped);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    let exists = async |key: &Key| store.get(key, None).await.unwrap().entry.is_some();
    assert!(exists(&kept).await && exists(&left).await);
    let refused = client
        .post(SERVICES, &service("b", &json!({"clusterIP": "10.96.7.7"})))
        .await;
    assert_eq!(refused.code, 422);
    let object = r#"{"metadata": {"uid": "a uid"}, "spec": {"clusterIPs": ["10.96.7.7"]}}"#;
    let object = fieldmanager_value::Value::from_json(object).unwrap();
    let key = Key::new("", "services", Some("default"), "a").unwrap();
    store.write(&key, Write::Create(object)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(300)).await;
    assert!(exists(&kept).await && !exists(&left).await);
}

#[tokio::test]
async fn cost_of_a_choice_does_not_depend_on_the_number_of_services() {
    let counting = Counting::new(Arc::new(Memory::default()));
    let builder = ApiServer::builder()
        .store(counting.clone())
        .collection(Collection::Stepped)
        .page(false);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    let start = client.server.snapshot().await.unwrap();
    let spec = json!({"type": "NodePort", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]});
    let create = async |number: usize| {
        let created = client
            .post(SERVICES, &service(&format!("a{number}"), &spec))
            .await
            .expect(201);
        (
            created["spec"]["clusterIP"].as_str().unwrap().to_owned(),
            node_ports(&created["spec"]),
        )
    };

    let mut first = Vec::new();
    let mut costs = Vec::new();
    for number in 0..500 {
        counting.clear();
        first.push(create(number).await);
        costs.push(counting.counts());
    }
    assert!(
        costs[2..]
            .iter()
            .all(|cost| cost.0 <= 6 && *cost == (costs[1].0, 0)),
        "{costs:?}"
    );

    // Those that are freed are given again, the first one first.
    for number in [77, 33] {
        client
            .delete(&format!("{SERVICES}/a{number}"))
            .await
            .expect(200);
    }
    assert_eq!(
        (create(500).await, create(501).await),
        (first[33].clone(), first[77].clone())
    );

    // A dry run takes none, and a snapshot has its own.
    for _ in 0..2 {
        let dry = client
            .post(&format!("{SERVICES}?dryRun=All"), &service("b", &spec))
            .await
            .expect(201);
        assert_eq!(node_ports(&dry["spec"]), [Some(31_000), Some(31_001)]);
    }
    client.server.restore(&start).await.unwrap();
    assert_eq!(create(0).await, first[0]);
}
