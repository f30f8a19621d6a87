//! The requests that are measured.

use std::pin::Pin;
use std::time::{Duration, Instant};

use fieldmanager_apiserver::testing::TestServer;
use fieldmanager_apiserver::{ApiServer, Collection};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// The number of requests whose mean is one time.
const REQUESTS: u32 = 100;

/// A time that may depend on the number of objects.
pub(crate) struct Figure {
    pub(crate) title: &'static str,
    /// Whether the time is quoted for each object, and not for one request.
    pub(crate) is_for_each: bool,
    pub(crate) measure: fn(usize) -> Measured,
}

type Measured = Pin<Box<dyn Future<Output = Result<Duration, String>>>>;

pub(crate) static FIGURES: [Figure; 8] = [
    Figure {
        title: "list",
        is_for_each: true,
        measure: |size| Box::pin(list(size, "")),
    },
    Figure {
        title: "list with a selector that ten objects match",
        is_for_each: true,
        measure: |size| Box::pin(list(size, "?labelSelector=rare")),
    },
    Figure {
        title: "watch that begins with all objects",
        is_for_each: true,
        measure: |size| Box::pin(watch(size)),
    },
    Figure {
        title: "an apply, and the event of a watch beside it",
        is_for_each: false,
        measure: |size| Box::pin(apply(size)),
    },
    Figure {
        title: "end of a namespace",
        is_for_each: true,
        measure: |size| Box::pin(end_of_namespace(size)),
    },
    Figure {
        title: "end of a definition",
        is_for_each: true,
        measure: |size| Box::pin(end_of_definition(size)),
    },
    Figure {
        title: "a Service gets an address",
        is_for_each: false,
        measure: |size| Box::pin(service(size)),
    },
    Figure {
        title: "a create that a quota counts",
        is_for_each: false,
        measure: |size| Box::pin(quota(size)),
    },
];

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn started() -> Result<TestServer, String> {
    let network = "10.0.0.0/12".parse()?;
    let server = ApiServer::for_test()
        .collection(Collection::Stepped)
        .options(|builder| builder.service_network(network));
    server.build().await.map_err(|error| error.to_string())
}

fn config_map(at: usize) -> Value {
    let labels = if at < 10 {
        json!({"app": "web", "rare": "yes"})
    } else {
        json!({"app": "web"})
    };
    let metadata = json!({"name": format!("map-{at:06}"), "labels": labels});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"number": at.to_string()}})
}

async fn create(server: &TestServer, object: Value) -> Result<(), String> {
    let created = server.create(object).await;
    created.map(drop).map_err(|refusal| refusal.to_string())
}

async fn with_config_maps(count: usize) -> Result<TestServer, String> {
    let server = started().await?;
    for at in 0..count {
        create(&server, config_map(at)).await?;
    }
    Ok(server)
}

/// Sends a GET, and reads the answer until `is_end` says that a part is the last.
async fn read(
    server: &TestServer,
    path: &str,
    mut is_end: impl FnMut(&[u8]) -> bool,
) -> Result<Duration, String> {
    let began = Instant::now();
    let request = http::Request::get(path).body(String::new());
    let request = request.map_err(|error| error.to_string())?;
    let answer = server.service().oneshot(request).await;
    let mut body = answer.unwrap_or_else(|never| match never {}).into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        if frame.data_ref().is_some_and(|data| is_end(data)) {
            break;
        }
    }
    Ok(began.elapsed())
}

/// The second of two equal lists, as clients list again and again.
async fn list(size: usize, query: &str) -> Result<Duration, String> {
    let server = with_config_maps(size).await?;
    let path = format!("{CONFIG_MAPS}{query}");
    read(&server, &path, |_| false).await?;
    read(&server, &path, |_| false).await
}

/// The end of the event after those of all objects.
const END: &[u8] = b",\"type\":\"BOOKMARK\"}\n";

async fn watch(size: usize) -> Result<Duration, String> {
    let server = with_config_maps(size).await?;
    let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let path = format!("{CONFIG_MAPS}?{query}");
    read(&server, &path, |event| event.ends_with(END)).await
}

/// The mean of applies, each of which a watch has seen.
async fn apply(size: usize) -> Result<Duration, String> {
    let server = with_config_maps(size).await?;
    let request = http::Request::get(format!("{CONFIG_MAPS}?watch=true&resourceVersion=0"));
    let request = request
        .body(String::new())
        .map_err(|error| error.to_string())?;
    let answer = server.service().oneshot(request).await;
    let mut events = answer.unwrap_or_else(|never| match never {}).into_body();
    for _ in 0..size {
        events.frame().await;
    }

    let began = Instant::now();
    for at in 0..REQUESTS {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map-000000"}, "data": {"other": at.to_string()}});
        server
            .apply("growth", object)
            .await
            .map_err(|refusal| refusal.to_string())?;
        events.frame().await;
    }
    Ok(began.elapsed() / REQUESTS)
}

async fn end_of_namespace(size: usize) -> Result<Duration, String> {
    let server = with_config_maps(0).await?;
    create(
        &server,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
    )
    .await?;
    for at in 0..size {
        let mut object = config_map(at);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("namespace".to_owned(), "shop".into());
        }
        create(&server, object).await?;
    }

    ended(&server, "/api/v1/namespaces/shop").await
}

async fn end_of_definition(size: usize) -> Result<Duration, String> {
    let server = started().await?;
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let names = json!({"plural": "shops", "kind": "Shop"});
    let spec = json!({"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"}, "spec": spec});
    create(&server, definition).await?;
    for at in 0..size {
        let metadata = json!({"name": format!("shop-{at}")});
        let shop = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": metadata, "spec": {"size": 1}});
        create(&server, shop).await?;
    }

    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shops.example.com";
    ended(&server, path).await
}

/// Deletes an object that ends with others, and waits for its end.
async fn ended(server: &TestServer, path: &str) -> Result<Duration, String> {
    let began = Instant::now();
    let deleted = server.send("DELETE", path, "", &()).await;
    deleted.map_err(|refusal| refusal.to_string())?;
    loop {
        server.collect().await.map_err(|error| error.to_string())?;
        let found = server.send("GET", path, "", &()).await;
        if found.is_ok_and(|reply| reply.code == 404) {
            return Ok(began.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The mean of creates of Services, after as many of them as there are objects.
async fn service(size: usize) -> Result<Duration, String> {
    let server = started().await?;
    let service = |at: usize| {
        let metadata = json!({"name": format!("service-{at}")});
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}})
    };
    for at in 0..size {
        create(&server, service(at)).await?;
    }
    let began = Instant::now();
    for at in 0..REQUESTS {
        create(
            &server,
            service(size + usize::try_from(at).unwrap_or_default()),
        )
        .await?;
    }
    Ok(began.elapsed() / REQUESTS)
}

/// The mean of creates in a namespace with a quota.
async fn quota(size: usize) -> Result<Duration, String> {
    let server = with_config_maps(size).await?;
    let spec = json!({"hard": {"count/configmaps": "1000000"}});
    create(&server, json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "all"}, "spec": spec})).await?;
    let began = Instant::now();
    for at in 0..REQUESTS {
        create(
            &server,
            config_map(size + usize::try_from(at).unwrap_or_default()),
        )
        .await?;
    }
    Ok(began.elapsed() / REQUESTS)
}
