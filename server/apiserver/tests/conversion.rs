//! Custom resources that a webhook, here a closure, converts between versions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::sync::{Arc, Mutex};

use fieldmanager_apiserver::{ApiServer, Collection, Random};
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

use crate::common::{CRDS, Client};

/// A conversion in which a test has a part.
type Change = dyn Fn(&mut Json) -> Result<(), String> + Send + Sync;

/// A server whose closure converts things, and counts.
struct Things {
    client: Client,
    /// Of each conversion: the name, the version from which and that to which.
    calls: Arc<Mutex<Vec<String>>>,
    change: Arc<Mutex<Arc<Change>>>,
}

const V1: &str = "/apis/example.com/v1/namespaces/default/things";
const V2: &str = "/apis/example.com/v2/namespaces/default/things";
const V3: &str = "/apis/example.com/v3/namespaces/default/things";

fn version(api_version: &str) -> &str {
    api_version.rsplit('/').next().unwrap()
}

/// The field of the count: `spec.size`, `spec.amount` and `spec.count`.
fn field(version: &str) -> &'static str {
    match version {
        "v1" => "size",
        "v2" => "amount",
        _ => "count",
    }
}

fn convert(object: &Value, api_version: &str) -> Json {
    let mut object: Json = serde_json::from_str(&object.to_json()).unwrap();
    let old = field(version(object["apiVersion"].as_str().unwrap()));
    if let Some(spec) = object["spec"].as_object_mut() {
        // Only v2 has it.
        spec.remove("mode");
        if let Some(count) = spec.remove(old) {
            spec.insert(field(version(api_version)).to_owned(), count);
        }
    }
    object["apiVersion"] = json!(api_version);
    object
}

fn definition(storage: &str, strategy: &str) -> Json {
    let versions = ["v1", "v2", "v3"].map(|name| {
        let count = field(name);
        let mut spec = json!({"width": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"},
            "x-kubernetes-list-type": "set"}});
        spec[count] = json!({"type": "integer"});
        if name == "v2" {
            spec["mode"] = json!({"type": "string", "default": "auto"});
        }
        let path = format!(".spec.{count}");
        json!({"name": name, "served": true, "storage": name == storage,
            "subresources": {"status": {}, "scale": {"specReplicasPath": path, "statusReplicasPath": ".status.replicas"}},
            "additionalPrinterColumns": [{"name": "N", "type": "integer", "jsonPath": path}],
            "selectableFields": [{"jsonPath": path}],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": spec},
                "status": {"type": "object", "properties": {"ready": {"type": "boolean"}, "replicas": {"type": "integer"}}}}}}})
    });
    let mut conversion = json!({"strategy": strategy});
    if strategy == "Webhook" {
        conversion["webhook"] = json!({"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://localhost/convert"}});
    }
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "conversion": conversion, "versions": versions}})
}

fn thing(version: &str, name: &str, count: i64) -> Json {
    let mut thing = json!({"apiVersion": format!("example.com/{version}"), "kind": "Thing", "metadata": {"name": name}, "spec": {}});
    thing["spec"][field(version)] = json!(count);
    thing
}

impl Things {
    async fn new(storage: &str) -> Self {
        let calls: Arc<Mutex<Vec<String>>> = Arc::default();
        let change: Arc<Mutex<Arc<Change>>> = Arc::new(Mutex::new(Arc::new(|_| Ok(()))));
        let (log, changes) = (calls.clone(), change.clone());
        let time = "2026-01-31T12:00:00Z".parse().unwrap();
        let builder = ApiServer::builder()
            .source(Random::seeded(7, time))
            .collection(Collection::Stepped)
            .convert("things.example.com", move |object, api_version| {
                let text =
                    |value: Option<&Value>| value.and_then(Value::as_str).unwrap().to_owned();
                let from = text(object.get("apiVersion"));
                let name = text(object.get("metadata").unwrap().get("name"));
                let call = format!("{name} {}-{}", version(&from), version(api_version));
                log.lock().unwrap().push(call);
                let change = changes.lock().unwrap().clone();
                let mut converted = convert(object, api_version);
                change(&mut converted)?;
                Ok(Value::from_json(&converted.to_string()).unwrap())
            });
        let things = Things {
            client: Client {
                server: builder.build().await.unwrap(),
            },
            calls,
            change,
        };
        things
            .client
            .post(CRDS, &definition(storage, "Webhook"))
            .await
            .expect(201);
        things
    }

    /// The conversions since the last question.
    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn change(&self, change: impl Fn(&mut Json) -> Result<(), String> + Send + Sync + 'static) {
        *self.change.lock().unwrap() = Arc::new(change);
    }

    /// Lets conversions to a version fail.
    fn fail_to(&self, version: &'static str) {
        self.change(move |object| {
            match object["apiVersion"].as_str().unwrap().ends_with(version) {
                true => Err("cannot do that".to_owned()),
                false => Ok(()),
            }
        });
    }

    async fn create(&self, path: &str, name: &str, count: i64) -> Json {
        let thing = thing(path.split('/').nth(3).unwrap(), name, count);
        self.client.post(path, &thing).await.expect(201)
    }

    async fn get(&self, path: &str) -> Json {
        self.client.get(path).await.expect(200)
    }

    async fn redefine(&self, storage: &str, strategy: &str) {
        let path = format!("{CRDS}/things.example.com");
        let mut definition = definition(storage, strategy);
        let live = self.get(&path).await;
        definition["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        self.client.put(&path, &definition).await.expect(200);
    }
}

fn names(list: &Json) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn reads_are_at_the_version_of_the_request() {
    let things = Things::new("v1").await;
    for (path, name, count) in [(V1, "a", 1), (V2, "b", 2), (V3, "c", 3)] {
        things.create(path, name, count).await;
    }
    things.calls();

    // A conversion that is not needed makes no call.
    assert_eq!(things.get(&format!("{V1}/c")).await["spec"]["size"], 3);
    assert_eq!(names(&things.get(V1).await), ["a", "b", "c"]);
    assert_eq!(things.calls(), [""; 0]);

    let read = things.get(&format!("{V2}/a")).await;
    assert_eq!(read["apiVersion"], "example.com/v2");
    // Defaults are those of the version at which the object is stored.
    assert_eq!(read["spec"], json!({"amount": 1}));
    assert_eq!(things.calls(), ["a v1-v2"]);
    let list = things.get(V3).await;
    assert_eq!(names(&list), ["a", "b", "c"]);
    assert_eq!(list["items"][1]["spec"], json!({"count": 2}));
    assert_eq!(things.calls(), ["a v1-v3", "b v1-v3", "c v1-v3"]);

    let found = things
        .get(&format!("{V2}?fieldSelector=spec.amount=2"))
        .await;
    assert_eq!(names(&found), ["b"]);
    let wrong = things
        .client
        .get(&format!("{V2}?fieldSelector=spec.size=2"))
        .await;
    assert_eq!(wrong.code, 400);
    let scale = things.get(&format!("{V3}/c/scale")).await;
    assert_eq!(scale["spec"]["replicas"], 3);
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = things.client.send("GET", V2, &accept, "").await.expect(200);
    assert_eq!(table["rows"][2]["cells"], json!(["c", 3]));
}

#[tokio::test]
async fn long_lists_are_converted_in_order() {
    let things = Things::new("v1").await;
    let all: Vec<String> = (0..40).map(|at| format!("n{at:02}")).collect();
    for name in &all {
        things.create(V1, name, 1).await;
    }
    assert_eq!(names(&things.get(V2).await), all);
    let page = things.get(&format!("{V2}?limit=15")).await;
    assert_eq!(names(&page), all[..15]);
    let next = page["metadata"]["continue"].as_str().unwrap();
    let page = things.get(&format!("{V2}?limit=15&continue={next}")).await;
    assert_eq!(names(&page), all[15..30]);
}

#[tokio::test]
async fn every_kind_of_write_works_at_every_version() {
    for storage in ["v1", "v2", "v3"] {
        let things = Things::new(storage).await;
        let client = &things.client;
        for (path, version) in [(V1, "v1"), (V2, "v2"), (V3, "v3")] {
            let (one, count) = (format!("{path}/a"), field(version));
            let created = things.create(path, "a", 1).await;
            assert_eq!(created["apiVersion"], format!("example.com/{version}"));
            let conflict = client.post(path, &thing(version, "a", 1)).await;
            assert_eq!(conflict.code, 409);
            let dry = client
                .merge(&format!("{one}?dryRun=All"), &json!({"spec": {count: 9}}))
                .await;
            assert_eq!(dry.expect(200)["spec"][count], 9);

            let patched = client.merge(&one, &json!({"spec": {count: 2}})).await;
            let mut object = patched.expect(200);
            assert_eq!(object["spec"][count], 2);
            assert_eq!(object["metadata"]["generation"], 2);
            // A write that changes nothing in the store is none.
            let version_before = object["metadata"]["resourceVersion"].clone();
            let same = client.merge(&one, &json!({"spec": {count: 2}})).await;
            let same = same.expect(200)["metadata"]["resourceVersion"].clone();
            // A default that is not stored is a change each time.
            let changes = version == "v2" && storage != "v2";
            assert_eq!(same != version_before, changes, "{storage} {version}");

            object["spec"][count] = json!(3);
            object["metadata"]["resourceVersion"] = same;
            let updated = client.put(&one, &object).await.expect(200);
            assert_eq!(updated["spec"][count], 3);
            assert_eq!(client.put(&one, &object).await.code, 409);
            let status = json!({"status": {"ready": true}});
            let status = client.merge(&format!("{one}/status"), &status).await;
            assert_eq!(status.expect(200)["status"]["ready"], true);
            let scale = json!({"spec": {"replicas": 5}});
            let scale = client.merge(&format!("{one}/scale"), &scale).await;
            assert_eq!(scale.expect(200)["spec"]["replicas"], 5);

            for (other, at) in [(V1, "v1"), (V2, "v2"), (V3, "v3")] {
                let read = things.get(&format!("{other}/a")).await;
                assert_eq!(read["spec"][field(at)], 5, "{storage} {version} {at}");
                assert_eq!(read["status"], json!({"ready": true}));
            }
            assert_eq!(client.delete(&one).await.code, 200);
            assert_eq!(client.get(&one).await.code, 404);
        }
    }
}

/// The paths below `spec` that each manager owns, and the version of its entry.
fn owners(object: &Json) -> Vec<(String, String, Vec<String>)> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let mut owners: Vec<_> = entries
        .iter()
        .map(|entry| {
            let fields = entry["fieldsV1"]["f:spec"].as_object();
            let fields = fields.into_iter().flatten().map(|(name, _)| name.clone());
            let text = |name: &str| entry[name].as_str().unwrap().to_owned();
            let version = version(&text("apiVersion")).to_owned();
            (text("manager"), version, fields.collect())
        })
        .collect();
    owners.sort();
    owners
}

fn owner(manager: &str, version: &str, fields: &[&str]) -> (String, String, Vec<String>) {
    let fields = fields.iter().map(|name| (*name).to_owned()).collect();
    (manager.to_owned(), version.to_owned(), fields)
}

#[tokio::test]
async fn managers_own_fields_at_several_versions() {
    for storage in ["v1", "v2"] {
        let things = Things::new(storage).await;
        let client = &things.client;
        let (v1, v2) = (format!("{V1}/a"), format!("{V2}/a"));
        client
            .apply(&v1, "first", &thing("v1", "a", 1))
            .await
            .expect(201);

        // The same field at another version is the field of the other manager.
        let refused = client.apply(&v2, "second", &thing("v2", "a", 2)).await;
        let refused = refused.expect(409);
        assert_eq!(refused["details"]["causes"][0]["field"], ".spec.size");
        let shared = client.apply(&v2, "second", &thing("v2", "a", 1)).await;
        assert_eq!(
            owners(&shared.expect(200)),
            [
                owner("first", "v1", &["f:size"]),
                owner("second", "v2", &["f:amount"])
            ]
        );

        let forced = client
            .apply(&format!("{v2}?force=true"), "second", &thing("v2", "a", 2))
            .await;
        assert_eq!(
            owners(&forced.expect(200)),
            [owner("second", "v2", &["f:amount"])]
        );

        // An update at one version takes the field of a manager at another.
        let patch = json!({"spec": {"size": 3}});
        let patched = client
            .merge(&format!("{v1}?fieldManager=third"), &patch)
            .await;
        assert_eq!(
            owners(&patched.expect(200)),
            [owner("third", "v1", &["f:size"])]
        );

        // What a manager no longer applies is removed, also at another version than the one before.
        let mut config = thing("v2", "a", 3);
        config["spec"]["width"] = json!(4);
        client.apply(&v2, "second", &config).await.expect(200);
        let reduced = client.apply(&v1, "second", &thing("v1", "a", 3)).await;
        let reduced = reduced.expect(200);
        assert_eq!(reduced["spec"]["size"], 3);
        assert!(reduced["spec"].get("width").is_none(), "{reduced}");
        assert_eq!(
            owners(&reduced),
            [
                owner("second", "v1", &["f:size"]),
                owner("third", "v1", &["f:size"])
            ]
        );
    }
}

#[tokio::test]
async fn a_failed_conversion_of_the_field_manager_fails_an_apply_only() {
    let things = Things::new("v2").await;
    let client = &things.client;
    client
        .apply(&format!("{V1}/a"), "first", &thing("v1", "a", 1))
        .await
        .expect(201);
    things.fail_to("v1");
    let apply = client
        .apply(&format!("{V2}/a"), "second", &thing("v2", "a", 1))
        .await;
    let apply = apply.expect(500);
    let message = apply["message"].as_str().unwrap();
    assert!(
        message
            .contains("conversion webhook for example.com/v2, Kind=Thing failed: cannot do that"),
        "{message}"
    );
    let patch = json!({"spec": {"amount": 3}});
    let patched = client.merge(&format!("{V2}/a"), &patch).await.expect(200);
    assert_eq!(patched["spec"]["amount"], 3);
    assert_eq!(owners(&patched), [owner("first", "v1", &["f:size"])]);
}

#[tokio::test]
async fn failed_conversions_are_told() {
    let things = Things::new("v1").await;
    let client = &things.client;
    things.create(V1, "a", 1).await;
    things.create(V1, "b", 1).await;
    things.fail_to("v2");
    let failed = "conversion webhook for example.com/v1, Kind=Thing failed: cannot do that";
    for path in [format!("{V2}/a"), format!("{V2}/a/scale")] {
        let answer = client.get(&path).await.expect(500);
        assert_eq!(answer["reason"], "InternalError");
        let message = answer["message"].as_str().unwrap();
        let start = "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /example.com/things/default/a, ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=";
        assert!(
            message.starts_with(start) && message.ends_with(failed),
            "{message}"
        );
        let cause = &answer["details"]["causes"][0]["message"];
        assert_eq!(
            format!("Internal error occurred: {}", cause.as_str().unwrap()),
            message
        );
    }
    let list = client.get(V2).await.expect(500);
    assert_eq!(list["reason"], "StorageReadError");
    assert_eq!(list["details"]["causes"].as_array().unwrap().len(), 2);
    assert!(
        list["message"]
            .as_str()
            .unwrap()
            .ends_with("cannot do that (and 1 more)")
    );
    let patch = client.merge(&format!("{V2}/a"), &json!({})).await;
    let message = patch.expect(500)["message"].clone();
    assert!(
        message
            .as_str()
            .unwrap()
            .starts_with("object not decodable revision=")
    );

    // What was written cannot be read back.
    assert_eq!(client.post(V2, &thing("v2", "c", 1)).await.code, 500);
    assert_eq!(things.get(&format!("{V1}/c")).await["spec"]["size"], 1);
    // What cannot be stored is not.
    things.fail_to("v1");
    let refused = client.post(V2, &thing("v2", "d", 1)).await.expect(500);
    let text = "conversion webhook for example.com/v2, Kind=Thing failed: cannot do that";
    assert_eq!(refused["message"], text);
    assert_eq!(client.get(&format!("{V1}/d")).await.code, 404);
    let dry = client
        .post(&format!("{V2}?dryRun=All"), &thing("v2", "d", 1))
        .await;
    assert_eq!(dry.code, 500);
}

#[tokio::test]
async fn a_conversion_may_change_labels_and_nothing_else_of_metadata() {
    let things = Things::new("v1").await;
    things.create(V1, "a", 1).await;
    things.change(|object| {
        object["metadata"]["labels"] =
            json!({"at": version(object["apiVersion"].as_str().unwrap())});
        object["metadata"]["finalizers"] = json!(["x/y"]);
        Ok(())
    });
    let read = things.get(&format!("{V2}/a")).await;
    assert_eq!(read["metadata"]["labels"], json!({"at": "v2"}));
    assert!(read["metadata"].get("finalizers").is_none());
    let found = things.get(&format!("{V2}?labelSelector=at=v2")).await;
    assert_eq!(names(&found), ["a"]);

    things.change(|object| {
        object["metadata"]["name"] = json!("other");
        Ok(())
    });
    let answer = things.client.get(&format!("{V2}/a")).await.expect(500);
    let text = "returned invalid object: must have the same name: a != other";
    assert!(
        answer["message"].as_str().unwrap().ends_with(text),
        "{answer}"
    );
}

#[tokio::test]
async fn watches_are_at_the_version_of_the_request() {
    let things = Things::new("v1").await;
    things.create(V1, "a", 1).await;
    things.calls();
    let query = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let mut watch = things.client.watch(&format!("{V2}?{query}")).await;
    let mut selecting = things
        .client
        .watch(&format!("{V3}?watch=true&fieldSelector=spec.count=2"))
        .await;
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &object["spec"]["amount"]),
        ("ADDED", &json!(1))
    );
    assert_eq!(watch.next().await.unwrap().0, "BOOKMARK");

    things
        .client
        .merge(&format!("{V1}/a"), &json!({"spec": {"size": 2}}))
        .await
        .expect(200);
    things.create(V1, "b", 2).await;
    things.calls();
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &object["spec"]["amount"]),
        ("MODIFIED", &json!(2))
    );
    // What the object was before is not converted.
    assert_eq!(things.calls(), ["a v1-v2"]);
    let (kind, object) = selecting.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &object["spec"]["count"]),
        ("ADDED", &json!(2))
    );

    things.client.delete(&format!("{V1}/a")).await.expect(200);
    assert_eq!(watch.next().await.unwrap().1["metadata"]["name"], "b");
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &object["spec"]["amount"]),
        ("DELETED", &json!(2))
    );
    assert_eq!(object["apiVersion"], "example.com/v2");

    things.fail_to("v2");
    things.create(V1, "c", 1).await;
    let (kind, status) = watch.next().await.unwrap();
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(500)));
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn deletions_wait_for_finalizers_at_every_version() {
    let things = Things::new("v1").await;
    let client = &things.client;
    let mut held = thing("v2", "a", 1);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(V2, &held).await.expect(201);
    let deleted = client.delete(&format!("{V3}/a")).await.expect(200);
    assert_eq!(deleted["apiVersion"], "example.com/v3");
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    let free = json!({"metadata": {"finalizers": null}});
    client.merge(&format!("{V2}/a"), &free).await.expect(200);
    assert_eq!(client.get(&format!("{V1}/a")).await.code, 404);

    for name in ["b", "c"] {
        things.create(V2, name, 1).await;
    }
    let gone = client.delete(V3).await.expect(200);
    assert_eq!(names(&gone), ["b", "c"]);
    assert_eq!(names(&things.get(V1).await), [""; 0]);
}

#[tokio::test]
async fn the_collector_converts_what_is_stored_at_another_version_only() {
    let things = Things::new("v1").await;
    let client = &things.client;
    client
        .post(
            "/api/v1/namespaces",
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gone"}}),
        )
        .await
        .expect(201);
    let inside = V2.replace("default", "gone");
    client.post(&inside, &thing("v2", "a", 1)).await.expect(201);
    let owner = things.create(V2, "owner", 1).await;
    let mut owned = thing("v2", "owned", 1);
    owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "example.com/v2", "kind": "Thing", "name": "owner",
        "uid": owner["metadata"]["uid"]}]);
    client.post(V2, &owned).await.expect(201);
    client.delete(&format!("{V1}/owner")).await.expect(200);
    client.delete("/api/v1/namespaces/gone").await.expect(200);
    things.calls();
    client.server.collect().await.unwrap();
    assert_eq!(things.calls(), [""; 0]);
    assert_eq!(client.get("/api/v1/namespaces/gone").await.code, 404);
    assert_eq!(names(&things.get(V1).await), [""; 0]);

    // A conversion that fails is tried again.
    things.create(V1, "old", 1).await;
    things.redefine("v2", "Webhook").await;
    let owner =
        json!([{"apiVersion": "example.com/v2", "kind": "Thing", "name": "owner", "uid": "none"}]);
    let mut orphan = thing("v1", "orphan", 1);
    orphan["metadata"]["ownerReferences"] = owner;
    things.redefine("v1", "Webhook").await;
    client.post(V1, &orphan).await.expect(201);
    things.redefine("v2", "Webhook").await;
    things.fail_to("v2");
    let steps = client.server.collect().await.unwrap();
    assert!(steps.iter().all(|step| step.refused.is_some()), "{steps:?}");
    things.change(|_| Ok(()));
    client.server.collect().await.unwrap();
    assert_eq!(names(&things.get(V2).await), ["old"]);
}

#[tokio::test]
async fn the_storage_version_and_the_strategy_change() {
    let things = Things::new("v1").await;
    let client = &things.client;
    things.create(V1, "a", 1).await;
    things.redefine("v2", "Webhook").await;
    things.create(V1, "b", 2).await;
    things.calls();
    for (path, version) in [(V1, "v1"), (V2, "v2"), (V3, "v3")] {
        let list = things.get(path).await;
        for (at, count) in [1, 2].into_iter().enumerate() {
            assert_eq!(list["items"][at]["spec"][field(version)], count);
        }
    }
    assert_eq!(things.calls(), ["b v2-v1", "a v1-v2", "a v1-v3", "b v2-v3"]);

    // An empty patch stores the object at the new version.
    let before = things.get(&format!("{V2}/a")).await;
    let moved = client
        .merge(&format!("{V2}/a"), &json!({}))
        .await
        .expect(200);
    assert_ne!(
        before["metadata"]["resourceVersion"],
        moved["metadata"]["resourceVersion"]
    );
    things.calls();
    things.get(&format!("{V2}/a")).await;
    assert_eq!(things.calls(), [""; 0]);

    // Without the webhook, objects keep the fields that their version has.
    things.redefine("v2", "None").await;
    assert_eq!(things.get(&format!("{V1}/b")).await["spec"], json!({}));
    assert_eq!(things.get(&format!("{V2}/b")).await["spec"]["amount"], 2);
    assert_eq!(things.calls(), [""; 0]);
    things.redefine("v2", "Webhook").await;
    assert_eq!(things.get(&format!("{V1}/b")).await["spec"]["size"], 2);
}

#[tokio::test]
async fn the_end_of_a_definition_ends_its_objects() {
    let things = Things::new("v1").await;
    things.create(V1, "a", 1).await;
    things.redefine("v2", "Webhook").await;
    things.create(V2, "b", 1).await;
    let path = format!("{CRDS}/things.example.com");
    things.client.delete(&path).await.expect(200);
    assert_eq!(things.client.get(&path).await.code, 404);
    assert_eq!(things.client.get(V1).await.code, 404);
}

#[tokio::test]
async fn a_fork_converts_by_itself() {
    let things = Things::new("v1").await;
    things.create(V1, "a", 1).await;
    let fork = Client {
        server: things.client.server.fork().await.unwrap(),
    };
    things.client.server.stop().await;
    let read = fork.get(&format!("{V2}/a")).await.expect(200);
    assert_eq!(read["spec"]["amount"], 1);
}
