//! The client kube against the server: in the same process without a socket, and over TLS.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use fieldmanager_apiserver::ApiServer;
use fieldmanager_apiserver::net::{Listening, Tls};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch,
    PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Client, Config, CustomResource, CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Site",
    namespaced,
    status = "SiteStatus"
)]
struct SiteSpec {
    image: String,
    #[serde(default = "one")]
    replicas: i32,
}

fn one() -> i32 {
    1
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, JsonSchema, PartialEq)]
struct SiteStatus {
    ready: bool,
}

/// Runs a test in process, and over TLS with the kubeconfig that the server writes.
async fn with_clients<F: Future<Output = ()>>(test: impl Fn(Client) -> F) {
    let server = ApiServer::builder().build().await.unwrap();
    test(Client::new(server, "default")).await;

    let server = ApiServer::builder().build().await.unwrap();
    let tls = Tls::made(&["127.0.0.1".to_owned()]).unwrap();
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), Some(tls))
        .await
        .unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&listening.kubeconfig(None).to_string()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(listening.run(server, async move {
        let _ = stopped.await;
    }));
    test(Client::try_from(config).unwrap()).await;
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
}

fn config_map(name: &str, color: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"color": color}})).unwrap()
}

fn deployment(name: &str, image: &str) -> serde_json::Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
        },
    })
}

/// Installs the definition of `Site`, and waits until it is served.
async fn install(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let apply = PatchParams::apply("tests");
    definitions
        .patch("sites.example.com", &apply, &Patch::Apply(Site::crd()))
        .await
        .unwrap();
    let established = await_condition(
        definitions,
        "sites.example.com",
        conditions::is_crd_established(),
    );
    tokio::time::timeout(Duration::from_secs(100), established)
        .await
        .unwrap()
        .unwrap();
}

/// The code of the answer to a request that fails.
fn code<T: std::fmt::Debug>(result: kube::Result<T>) -> u16 {
    match result.unwrap_err() {
        kube::Error::Api(status) => status.code,
        error => panic!("no answer of the server: {error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_objects_are_created_replaced_patched_and_deleted() {
    with_clients(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let created = maps
            .create(&PostParams::default(), &config_map("web", "red"))
            .await
            .unwrap();
        assert!(created.uid().is_some());
        assert_eq!(
            code(
                maps.create(&PostParams::default(), &config_map("web", "red"))
                    .await
            ),
            409
        );
        let mut changed = created.clone();
        changed
            .data
            .get_or_insert_default()
            .insert("color".to_owned(), "blue".to_owned());
        maps.replace("web", &PostParams::default(), &changed)
            .await
            .unwrap();
        assert_eq!(
            code(maps.replace("web", &PostParams::default(), &changed).await),
            409
        );
        let merge = Patch::Merge(json!({"data": {"size": "xl"}}));
        maps.patch("web", &PatchParams::default(), &merge)
            .await
            .unwrap();
        let operations: json_patch::Patch =
            serde_json::from_value(json!([{"op": "remove", "path": "/data/color"}])).unwrap();
        maps.patch(
            "web",
            &PatchParams::default(),
            &Patch::<()>::Json(operations),
        )
        .await
        .unwrap();
        let strategic = Patch::Strategic(json!({"metadata": {"labels": {"a": "b"}}}));
        let patched = maps
            .patch("web", &PatchParams::default(), &strategic)
            .await
            .unwrap();
        assert_eq!(patched.labels().len(), 1);
        assert_eq!(
            serde_json::to_value(&patched.data).unwrap(),
            json!({"size": "xl"})
        );
        let metadata = maps.get_metadata("web").await.unwrap();
        assert_eq!(metadata.labels(), patched.labels());
        assert_eq!(
            maps.list(&ListParams::default().labels("a=b"))
                .await
                .unwrap()
                .items
                .len(),
            1
        );
        assert!(
            maps.delete("web", &DeleteParams::default())
                .await
                .unwrap()
                .is_right()
        );
        assert!(maps.get_opt("web").await.unwrap().is_none());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_reports_conflicts_and_forces_them() {
    with_clients(|client| async move {
        let deployments: Api<Deployment> = Api::default_namespaced(client);
        let alice = PatchParams::apply("alice");
        let created = deployments
            .patch("web", &alice, &Patch::Apply(deployment("web", "nginx:1")))
            .await
            .unwrap();
        assert_eq!(
            created.managed_fields().first().unwrap().manager.as_deref(),
            Some("alice")
        );
        let bob = PatchParams::apply("bob");
        let other = Patch::Apply(deployment("web", "nginx:2"));
        match deployments.patch("web", &bob, &other).await.unwrap_err() {
            kube::Error::Api(status) => {
                assert!(
                    status.message.contains(r#"conflict with "alice""#),
                    "{status:?}"
                )
            }
            error => panic!("{error:?}"),
        }
        deployments
            .patch("web", &bob.force(), &other)
            .await
            .unwrap();
        let status = Patch::Apply(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "status": {"observedGeneration": 2},
        }));
        let written = deployments
            .patch_status("web", &PatchParams::apply("controller"), &status)
            .await
            .unwrap();
        assert_eq!(written.status.unwrap().observed_generation, Some(2));
        let scale = Patch::Merge(json!({"spec": {"replicas": 4}}));
        let scaled = deployments
            .patch_scale("web", &PatchParams::default(), &scale)
            .await
            .unwrap();
        assert_eq!(scaled.spec.unwrap().replicas, Some(4));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn derived_definitions_are_served_typed_and_dynamic() {
    with_clients(|client| async move {
        install(&client).await;
        let sites: Api<Site> = Api::default_namespaced(client.clone());
        let site = Site::new(
            "blog",
            SiteSpec {
                image: "blog:1".to_owned(),
                replicas: 2,
            },
        );
        sites
            .patch("blog", &PatchParams::apply("tests"), &Patch::Apply(&site))
            .await
            .unwrap();
        let status = Patch::Merge(json!({"status": {"ready": true}}));
        let written = sites
            .patch_status("blog", &PatchParams::default(), &status)
            .await
            .unwrap();
        assert_eq!(written.status, Some(SiteStatus { ready: true }));

        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Site"));
        let dynamic: Api<DynamicObject> = Api::default_namespaced_with(client, &resource);
        let object = dynamic.get("blog").await.unwrap();
        assert_eq!(object.data["spec"]["replicas"], 2);
        assert_eq!(
            code(
                dynamic
                    .patch(
                        "blog",
                        &PatchParams::default(),
                        &Patch::Merge(json!({"spec": {"image": 1}}))
                    )
                    .await
            ),
            422
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_delivers_changes_in_order() {
    with_clients(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let version = maps
            .list(&ListParams::default())
            .await
            .unwrap()
            .metadata
            .resource_version
            .unwrap();
        let mut events = maps
            .watch(&WatchParams::default().timeout(20), &version)
            .await
            .unwrap()
            .boxed();
        maps.create(&PostParams::default(), &config_map("watched", "red"))
            .await
            .unwrap();
        maps.patch(
            "watched",
            &PatchParams::default(),
            &Patch::Merge(json!({"data": {"color": "blue"}})),
        )
        .await
        .unwrap();
        maps.delete("watched", &DeleteParams::default())
            .await
            .unwrap();
        let mut seen = Vec::new();
        while seen.len() < 3 {
            match events.try_next().await.unwrap().unwrap() {
                WatchEvent::Added(_) => seen.push("added"),
                WatchEvent::Modified(_) => seen.push("modified"),
                WatchEvent::Deleted(_) => seen.push("deleted"),
                event => panic!("{event:?}"),
            }
        }
        assert_eq!(seen, ["added", "modified", "deleted"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_begin_with_what_exists_by_lists_and_by_streams() {
    with_clients(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        maps.create(&PostParams::default(), &config_map("before", "red"))
            .await
            .unwrap();
        for (config, later) in [
            (watcher::Config::default(), "lists"),
            (watcher::Config::default().page_size(1), "pages"),
            (watcher::Config::default().streaming_lists(), "streams"),
        ] {
            let mut objects = watcher(maps.clone(), config).applied_objects().boxed();
            let first = objects.try_next().await.unwrap().unwrap();
            assert_eq!(first.name_any(), "before", "{later}");
            maps.create(&PostParams::default(), &config_map(later, "red"))
                .await
                .unwrap();
            loop {
                let object = objects.try_next().await.unwrap().unwrap();
                if object.name_any() == later {
                    break;
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflector_has_the_objects_of_the_server() {
    with_clients(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let (reader, writer) = reflector::store();
        let stream =
            reflector(writer, watcher(maps.clone(), watcher::Config::default())).applied_objects();
        let follow = tokio::spawn(stream.for_each(|_| std::future::ready(())));
        for number in 0..20 {
            maps.create(
                &PostParams::default(),
                &config_map(&format!("map-{number}"), "red"),
            )
            .await
            .unwrap();
        }
        maps.delete("map-3", &DeleteParams::default())
            .await
            .unwrap();
        let complete = async {
            while reader.len() != 19 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(100), complete)
            .await
            .unwrap();
        follow.abort();
    })
    .await;
}

#[derive(Debug, thiserror::Error)]
enum ReconcileError {
    #[error(transparent)]
    Kube(#[from] kube::Error),
    #[error(transparent)]
    Finalizer(#[from] Box<kube::runtime::finalizer::Error<kube::Error>>),
}

/// Applies the Deployment of a site, with a finalizer.
async fn reconcile(site: Arc<Site>, client: Arc<Client>) -> Result<Action, ReconcileError> {
    let namespace = site.namespace().unwrap_or_default();
    let sites: Api<Site> = Api::namespaced((*client).clone(), &namespace);
    let deployments: Api<Deployment> = Api::namespaced((*client).clone(), &namespace);
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace);
    finalizer(&sites, "example.com/cleanup", site, |event| async {
        let apply = PatchParams::apply("site-controller").force();
        match event {
            Event::Apply(site) => {
                let mut child = deployment(&site.name_any(), &site.spec.image);
                child["metadata"]["ownerReferences"] = json!([site.controller_owner_ref(&())]);
                child["spec"]["replicas"] = site.spec.replicas.into();
                deployments.patch(&site.name_any(), &apply, &Patch::Apply(child)).await?;
                let status =
                    json!({"apiVersion": "example.com/v1", "kind": "Site", "status": {"ready": true}});
                sites.patch_status(&site.name_any(), &apply, &Patch::Apply(status)).await?;
            }
            Event::Cleanup(site) => {
                maps.create(&PostParams::default(), &config_map(&format!("{}-cleaned", site.name_any()), ""))
                    .await?;
            }
        }
        Ok(Action::await_change())
    })
    .await
    .map_err(Box::new)?;
    Ok(Action::await_change())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_applies_its_children_and_cleans_up() {
    with_clients(|client| async move {
        install(&client).await;
        let sites: Api<Site> = Api::default_namespaced(client.clone());
        let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let controller = Controller::new(sites.clone(), watcher::Config::default())
            .owns(deployments.clone(), watcher::Config::default())
            .run(
                reconcile,
                |_, error: &ReconcileError, _| {
                    eprintln!("{error}");
                    Action::requeue(Duration::from_millis(50))
                },
                Arc::new(client.clone()),
            )
            .for_each(|_| std::future::ready(()));
        let running = tokio::spawn(controller);

        let site = Site::new(
            "blog",
            SiteSpec {
                image: "blog:1".to_owned(),
                replicas: 2,
            },
        );
        sites.create(&PostParams::default(), &site).await.unwrap();
        let ready = await_condition(sites.clone(), "blog", |site: Option<&Site>| {
            site.and_then(|site| site.status.as_ref())
                .is_some_and(|status| status.ready)
        });
        tokio::time::timeout(Duration::from_secs(100), ready)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            deployments.get("blog").await.unwrap().spec.replicas,
            Some(2)
        );

        // The controller repairs what others change.
        let scale = Patch::Merge(json!({"spec": {"replicas": 5}}));
        deployments
            .patch("blog", &PatchParams::default(), &scale)
            .await
            .unwrap();
        let repaired = await_condition(
            deployments.clone(),
            "blog",
            |deployment: Option<&Deployment>| {
                deployment.is_some_and(|deployment| deployment.spec.replicas == Some(2))
            },
        );
        tokio::time::timeout(Duration::from_secs(100), repaired)
            .await
            .unwrap()
            .unwrap();

        let uid = sites.get("blog").await.unwrap().uid().unwrap();
        sites
            .delete("blog", &DeleteParams::default())
            .await
            .unwrap();
        let deleted = await_condition(sites, "blog", conditions::is_deleted(&uid));
        tokio::time::timeout(Duration::from_secs(100), deleted)
            .await
            .unwrap()
            .unwrap();
        assert!(maps.get_opt("blog-cleaned").await.unwrap().is_some());
        // The collector deletes what the site has owned.
        let collected = async {
            while deployments.get_opt("blog").await.unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(100), collected)
            .await
            .unwrap();
        running.abort();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_finds_built_in_and_derived_kinds() {
    with_clients(|client| async move {
        install(&client).await;
        let discovery = kube::discovery::Discovery::new(client.clone())
            .run_aggregated()
            .await
            .unwrap();
        let (resource, capabilities) = discovery
            .resolve_gvk(&GroupVersionKind::gvk("example.com", "v1", "Site"))
            .unwrap();
        assert_eq!(
            (
                resource.plural.as_str(),
                capabilities.supports_operation("patch")
            ),
            ("sites", true)
        );
        let plain = kube::discovery::Discovery::new(client.clone())
            .run()
            .await
            .unwrap();
        assert!(plain.has_group("apps"));
        let namespaces: Api<Namespace> = Api::all(client.clone());
        assert_eq!(
            namespaces.get("kube-system").await.unwrap().name_any(),
            "kube-system"
        );
        assert_eq!(client.apiserver_version().await.unwrap().major, "1");
    })
    .await;
}
