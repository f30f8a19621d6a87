//! Requests that are no reads and writes of an object: bindings, evictions, reviews, and paths that name nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod evictions;
mod reviews;

use serde_json::{Value as Json, json};

use crate::common::{CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shop, shops};

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str) -> Json {
    json!({"metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "a", "image": "b"}]}})
}

fn binding(name: &str, node: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
        "target": {"kind": "Node", "name": node}})
}

#[tokio::test]
async fn missing_resources_of_built_in_groups_are_answered_with_a_status() {
    let client = Client::new().await;
    client.post(CRDS, &shops()).await.expect(201);
    client.post(SHOPS, &shop("a")).await.expect(201);
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the server could not find the requested resource", "reason": "NotFound", "details": {}, "code": 404});

    for (method, path) in [
        ("GET", "/api/v1/nothings"),
        ("DELETE", "/api/v1/namespaces/default/nothings/a"),
        ("GET", "/apis/apps/v9/namespaces/default/deployments"),
        ("GET", "/apis/apps/v9"),
        ("GET", "/api/v2"),
        ("GET", "/version/x"),
        ("GET", "/api/v1/namespaces/default/configmaps/a/status"),
        ("POST", "/api/v1/namespaces/default/pods/a/none"),
        ("GET", "/api/v1/namespaces/default/nodes/a"),
        ("GET", "/api/v1/pods/a"),
        ("POST", "/api/v1/pods/a"),
        ("GET", "/api/v1/watch/nothings"),
    ] {
        let headers = [("content-type", "application/json")];
        let answer = client.send(method, path, &headers, "{}").await;
        assert_eq!(answer.expect(404), status, "{method} {path}");
    }
    for path in [
        "/apis/none.io/v1/things",
        "/apis/none.io",
        "/none",
        "/apis/example.com/v1/namespaces/default/nothings",
        "/apis/example.com/v9/shops",
        "/apis/example.com/v1/shops/a",
    ] {
        let answer = client.get(path).await;
        let text = (answer.code, &answer.bytes[..]);
        assert_eq!(text, (404, &b"404 page not found\n"[..]), "{path}");
    }
    // Any subresource of a custom resource is known, and there is no object of it.
    let missing = client.get(&format!("{SHOPS}/a/none")).await.expect(404);
    assert_eq!(missing["message"], r#"shops.example.com "a" not found"#);
}

#[tokio::test]
async fn a_binding_assigns_a_pod_to_its_node() {
    let client = Client::new().await;
    let created = client.post(PODS, &pod("a")).await.expect(201);
    let bindings = "/api/v1/namespaces/default/bindings";
    let mut wanted = binding("a", "n1");
    wanted["metadata"]["annotations"] = json!({"x": "y"});
    wanted["metadata"]["labels"] = json!({"zone": "z"});

    client
        .post(&format!("{bindings}?dryRun=All"), &wanted)
        .await
        .expect(201);
    let unbound = client.get(&format!("{PODS}/a")).await.expect(200);
    assert_eq!(unbound, created);
    let bound = client.post(bindings, &wanted).await.expect(201);
    assert_eq!(
        bound,
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
    );

    let bound = client.get(&format!("{PODS}/a")).await.expect(200);
    assert_eq!(bound["spec"]["nodeName"], "n1");
    assert_eq!(bound["metadata"]["annotations"], json!({"x": "y"}));
    assert_eq!(
        bound["metadata"]["labels"],
        json!({"app": "web", "zone": "z"})
    );
    let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": "2026-01-31T12:00:00Z"});
    assert_eq!(bound["status"]["conditions"], json!([condition]));
    for field in ["generation", "managedFields"] {
        assert_eq!(bound["metadata"][field], created["metadata"][field]);
    }

    for path in [bindings.to_owned(), format!("{PODS}/a/binding")] {
        let taken = client.post(&path, &binding("a", "n2")).await.expect(409);
        assert_eq!(
            taken["message"],
            r#"Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1""#
        );
        assert_eq!(
            taken["details"],
            json!({"name": "a", "kind": "pods/binding"})
        );
    }
}

#[tokio::test]
async fn bindings_with_faults_are_refused() {
    let client = Client::new().await;
    let created = client.post(PODS, &pod("a")).await.expect(201);
    let mut gated = pod("gated");
    gated["spec"]["schedulingGates"] = json!([{"name": "x.io/g"}]);
    client.post(PODS, &gated).await.expect(201);
    let path = format!("{PODS}/a/binding");

    let mut old = binding("a", "n1");
    old["metadata"]["resourceVersion"] = "1".into();
    let mut other = binding("a", "n1");
    other["metadata"]["uid"] = "wrong".into();
    let mut to_pod = binding("a", "n1");
    to_pod["target"]["kind"] = "Pod".into();
    let mut version = binding("a", "n1");
    version["apiVersion"] = "v9".into();
    let store = |what: &str, wanted: &str, own: &Json| {
        format!(
            "Operation cannot be fulfilled on pods \"a\": StorageError: invalid object, Code: 4, Key: \
             /registry/pods/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {what} in precondition: \
             {wanted}, {what} in object meta: {}",
            own.as_str().unwrap()
        )
    };
    let metadata = &created["metadata"];

    for (path, body, code, message) in [
        (&path, binding("b", "n1"), 400, "name in URL does not match name in Binding object".to_owned()),
        (&path, binding("a", ""), 500, "target.name: Required value".to_owned()),
        (&path, to_pod, 500, r#"target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>""#.to_owned()),
        (&path, other, 409, store("UID", "wrong", &metadata["uid"])),
        (&path, old, 409, store("ResourceVersion", "1", &metadata["resourceVersion"])),
        (&path, version, 400, r#"Binding in version "v9" cannot be handled as a Binding: no kind "Binding" is registered for version "v9" in scheme "pkg/runtime/scheme.go:111""#.to_owned()),
        (&format!("{PODS}/none/binding"), binding("none", "n1"), 404, r#"pods "none" not found"#.to_owned()),
        (&format!("{PODS}/gated/binding"), binding("gated", "n1"), 409,
            r#"Operation cannot be fulfilled on pods/binding "gated": pod gated has non-empty .spec.schedulingGates"#.to_owned()),
        (&"/api/v1/namespaces/default/bindings".to_owned(), binding("", "n1"), 400, "Name parameter required.".to_owned()),
    ] {
        let refused = client.post(path, &body).await.expect(code);
        assert_eq!(refused["message"], message, "{body}");
    }
}

#[tokio::test]
async fn a_request_that_asks_for_no_form_is_not_acceptable() {
    let client = Client::new().await;
    let get =
        async |path: &str, accept: &str| client.send("GET", path, &[("accept", accept)], "").await;
    let watch = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    for (path, accept, code) in [
        (CONFIG_MAPS, "application/json;g=meta.k8s.io;v=v1", 406),
        (CONFIG_MAPS, "application/json;v=v1", 406),
        (
            CONFIG_MAPS,
            "application/json;g=meta.k8s.io;v=v1,application/json",
            200,
        ),
        (CONFIG_MAPS, "application/yaml;stream=watch", 406),
        (CONFIG_MAPS, "application/json;stream=watch", 200),
        (
            "/apis",
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
            406,
        ),
        (
            "/apis",
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            200,
        ),
        (&watch, "application/yaml", 406),
        (&watch, "application/yaml,application/json", 406),
        (&watch, "application/json,application/yaml", 200),
        (&watch, "application/yaml;as=Table;g=meta.k8s.io;v=v1", 406),
    ] {
        assert_eq!(get(path, accept).await.code, code, "{path} {accept}");
    }
    let refused = get(&watch, "application/yaml").await;
    let text = String::from_utf8(refused.bytes.to_vec()).unwrap();
    assert!(text.contains("application/json;stream=watch"), "{text}");
    // A client that asks for a table has no format for a `Status`, so that it is JSON.
    let table = "application/yaml;as=Table;g=meta.k8s.io;v=v1";
    for (path, code) in [(watch.as_str(), 406), ("/api/v1/namespaces/none", 404)] {
        let refused = get(path, table).await;
        assert_eq!(refused.json()["code"], code, "{path}");
    }
}

#[tokio::test]
async fn objects_that_etcd_would_refuse_are_refused() {
    let client = Client::new().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let lease = |size: usize| json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "x".repeat(size)}});
    let message = "etcdserver: request is too large";

    let refused = client.post(leases, &lease(1_573_000)).await.expect(500);
    assert_eq!(
        refused,
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": 500})
    );
    client
        .post(&format!("{leases}?dryRun=All"), &lease(1_573_000))
        .await
        .expect(201);
    client.post(leases, &lease(1_572_000)).await.expect(201);
    let patch = json!({"spec": {"holderIdentity": "y".repeat(1_573_000)}});
    let refused = client
        .merge(&format!("{leases}/a"), &patch)
        .await
        .expect(500);
    assert_eq!(refused["message"], message);

    let refused = client
        .post(
            leases,
            &json!({"metadata": {"name": "b"}, "spec": {"holderIdentity": "x".repeat(2_100_000)}}),
        )
        .await
        .expect(500);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2100")
            && message.ends_with(" vs. 2097152)"),
        "{message}"
    );
}

#[tokio::test]
async fn an_object_that_is_too_large_with_managed_fields_is_stored_without_them() {
    let client = Client::new().await;
    let data = |keys: usize| -> Json {
        let key = |number| format!("{}-{number}", "k".repeat(100));
        (0..keys).map(|number| (key(number), json!("a"))).collect()
    };
    let map = |keys| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data(keys)});
    let created = client.post(CONFIG_MAPS, &map(9_000)).await.expect(201);
    assert_eq!(created["metadata"]["managedFields"], json!(null));

    // An apply is a question of managed fields, so it fails.
    let path = format!("{CONFIG_MAPS}/a");
    client.apply(&path, "ops", &map(0)).await.expect(500);
    let patched = client
        .merge(&path, &json!({"data": {"b": "c"}}))
        .await
        .expect(200);
    assert_eq!(patched["metadata"]["managedFields"], json!(null));
}

#[tokio::test]
async fn a_deletion_of_an_event_waits_for_no_dependents() {
    let client = Client::new().await;
    let events = "/api/v1/namespaces/default/events";
    for policy in ["Orphan", "Foreground", "Background"] {
        let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}});
        client.post(events, &event).await.expect(201);
        let options = json!({"propagationPolicy": policy});
        let path = format!("{events}/e");
        let deleted = client.delete_with(&path, &options).await.expect(200);
        assert_eq!(deleted["kind"], "Status", "{policy}");
        client.get(&path).await.expect(404);
    }
    let rules = "/apis/resource.k8s.io/v1/devicetaintrules";
    let rule = json!({"metadata": {"name": "t"},
        "spec": {"deviceSelector": {"driver": "d.io"}, "taint": {"key": "a.io/b", "effect": "NoSchedule"}}});
    client.post(rules, &rule).await.expect(201);
    let deleted = client.delete(&format!("{rules}/t")).await.expect(200);
    assert_eq!(deleted["kind"], "Status");
}

#[tokio::test]
async fn a_scale_without_replicas_cannot_be_read() {
    let client = Client::new().await;
    let mut definition = shops();
    definition["spec"]["versions"][0]["subresources"]["scale"] =
        json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
    client.post(CRDS, &definition).await.expect(201);
    client.post(SHOPS, &shop("a")).await.expect(201);
    let path = format!("{SHOPS}/a/scale");

    let refused = client.get(&path).await.expect(500);
    let fault = r#"the spec replicas field ".spec.size" does not exist"#;
    assert_eq!(
        refused["message"],
        format!("Internal error occurred: {fault}")
    );
    assert_eq!(refused["details"], json!({"causes": [{"message": fault}]}));
    client
        .merge(&path, &json!({"spec": {"replicas": 2}}))
        .await
        .expect(200);
    let scale = client.get(&path).await.expect(200);
    assert_eq!(scale["spec"], json!({"replicas": 2}));
}

#[tokio::test]
async fn old_parameters_are_refused_with_words_of_kube_apiserver() {
    let client = Client::new().await;
    client.config_map("a").await;
    let exported = client
        .get(&format!("{CONFIG_MAPS}/a?export=true"))
        .await
        .expect(400);
    assert_eq!(
        exported["message"],
        "the export parameter, deprecated since v1.14, is no longer supported"
    );
    client
        .get(&format!("{CONFIG_MAPS}/a?export=false"))
        .await
        .expect(200);

    let table = [(
        "accept",
        "application/json;as=Table;g=meta.k8s.io;v=v1beta1",
    )];
    let path = format!("{CONFIG_MAPS}?includeObject=Nope");
    let refused = client.send("GET", &path, &table, "").await.expect(400);
    assert_eq!(
        refused["message"],
        "Unable to convert to Table as requested: includeObject: Invalid value: \"Nope\": must be 'Metadata', 'Object', \
         'None', or empty"
    );
    let list = client
        .send("GET", CONFIG_MAPS, &table, "")
        .await
        .expect(200);
    let mut watch = client
        .watch_as(&format!("{CONFIG_MAPS}?watch=1"), table[0].1)
        .await;
    let (_, event) = watch.next().await.unwrap();
    for table in [list, event] {
        assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
        assert_eq!(
            table["rows"][0]["object"]["apiVersion"],
            "meta.k8s.io/v1beta1"
        );
    }
    // What is no table has no rows to which the parameter could apply.
    client.get(&path).await.expect(200);
    client.post(CONFIG_MAPS, &config_map("b")).await.expect(201);
}
