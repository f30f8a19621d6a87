//! The figures of one server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::{APPLY, Client, JSON, PROTOBUF, Target};
use crate::error::Error;
use crate::server::{Kind, Programs, Server};

/// The number of clients that write at once.
pub(crate) const CLIENTS: usize = 32;

/// How much is measured.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// The Deployments that are stored when memory is read, and the Pods of a list.
    pub(crate) objects: usize,
    pub(crate) watchers: usize,
    pub(crate) changes: usize,
    pub(crate) lists: usize,
    /// How long applies are measured, after a quarter of it.
    pub(crate) time: Duration,
    /// How long a server has no request before its memory is read.
    pub(crate) rest: Duration,
}

impl Sizes {
    pub(crate) fn full() -> Self {
        let seconds = Duration::from_secs;
        Sizes {
            objects: 10_000,
            watchers: 1_000,
            changes: 100,
            lists: 5,
            time: seconds(6),
            rest: seconds(5),
        }
    }

    pub(crate) fn quick() -> Self {
        let time = Duration::from_millis(500);
        Sizes {
            objects: 500,
            watchers: 50,
            changes: 20,
            lists: 3,
            time,
            rest: time,
        }
    }
}

/// The figures of one run of one server, by name.
pub(crate) type Figures = BTreeMap<&'static str, f64>;

/// The times of requests, in milliseconds, sorted.
pub(crate) type Times = Vec<f64>;

const PATH: &str = "/apis/apps/v1/namespaces/default/deployments";
const PODS: &str = "/api/v1/namespaces/default/pods";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn pod_spec() -> Value {
    json!({"containers": [{"name": "web", "image": "registry.example.com/web:1.27",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": "LOG", "value": "info"}, {"name": "MODE", "value": "fast"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}}]})
}

fn deployment(name: &str, replicas: u64) -> String {
    let labels = json!({"app": name, "tier": "web"});
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "labels": labels, "annotations": {"example.com/team": "shop"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec()}}});
    object.to_string()
}

fn pod(name: &str) -> String {
    let object = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web", "tier": "web"}}, "spec": pod_spec()});
    object.to_string()
}

/// A Pod whose values are those of no other Pod, as far as they are free to choose.
fn unshared_pod(number: usize) -> String {
    let own = |part: &str| {
        format!(
            "{part}-{number}-{:016x}",
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )
    };
    let object = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": own("pod"), "labels": {"app": own("app"), "tier": own("tier")},
            "annotations": {"example.com/team": own("team")}},
        "spec": {"containers": [{"name": own("web"), "image": own("registry.example.com/web"),
            "ports": [{"name": format!("p{number}"), "containerPort": 1 + number % 65_535}],
            "env": [{"name": "LOG", "value": own("info")}, {"name": "MODE", "value": own("fast")}],
            "resources": {"requests": {"cpu": format!("{number}m"), "memory": format!("{number}Ki")},
                "limits": {"memory": format!("{number}Mi")}}}]}});
    object.to_string()
}

fn config_map(name: &str, number: usize) -> String {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
        "data": {"color": "red", "number": number.to_string()}});
    object.to_string()
}

fn apply_path(path: &str, name: &str) -> String {
    format!("{path}/{name}?fieldManager=load&force=true")
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The value below which a part of sorted values is.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part) as usize;
    sorted
        .get(at.min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}

/// Clients with a connection for each.
async fn connected(target: &Target) -> Result<Vec<Client>, Error> {
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(target.connect().await?);
    }
    Ok(clients)
}

/// Clients that share one connection.
async fn sharing(target: &Target) -> Result<Vec<Client>, Error> {
    let client = target.connect_shared().await?;
    Ok((0..CLIENTS).filter_map(|_| client.share()).collect())
}

/// Runs a task for each client, and returns the results.
async fn at_once<T, F>(
    clients: Vec<Client>,
    task: impl Fn(usize, Client) -> F,
) -> Result<Vec<T>, Error>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for (number, client) in clients.into_iter().enumerate() {
        tasks.spawn(task(number, client));
    }
    let mut results = Vec::new();
    while let Some(result) = tasks.join_next().await {
        results.push(result.map_err(|error| Error::request("a client", error))??);
    }
    Ok(results)
}

/// Creates objects with 32 clients.
async fn create(
    target: &Target,
    path: &'static str,
    count: usize,
    object: fn(usize) -> String,
) -> Result<(), Error> {
    let next = Arc::new(AtomicU64::new(0));
    let task = |_, mut client: Client| {
        let next = next.clone();
        async move {
            loop {
                let number =
                    usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
                if number >= count {
                    return Ok(());
                }
                client.succeed("POST", path, JSON, object(number)).await?;
            }
        }
    };
    at_once(connected(target).await?, task).await.map(|_| ())
}

/// What a client writes again and again, to an object of its own.
#[derive(Clone, Copy)]
enum Form {
    Apply,
    /// An update.
    Json,
    /// An update, and its answer.
    Protobuf,
}

/// The number of bodies of a client that differ.
const BODIES: u64 = 100;

impl Form {
    /// The method, the path, the media type, and the bodies.
    fn requests(self, name: &str) -> (&'static str, String, &'static str, Vec<Bytes>) {
        let bodies = (1..=BODIES).map(|replicas| {
            let text = deployment(name, replicas);
            let protobuf = || {
                let object = fieldmanager_value::Value::from_json(&text).ok()?;
                fieldmanager_builtin::to_protobuf(&object)
            };
            match self {
                Form::Apply | Form::Json => text.into(),
                Form::Protobuf => protobuf().unwrap_or_default().into(),
            }
        });
        let bodies = bodies.collect();
        let update = format!("{PATH}/{name}?fieldManager=load");
        match self {
            Form::Apply => ("PATCH", apply_path(PATH, name), APPLY, bodies),
            Form::Json => ("PUT", update, JSON, bodies),
            Form::Protobuf => ("PUT", update, PROTOBUF, bodies),
        }
    }
}

/// Writes with clients as fast as the server answers, and returns the writes of one second.
async fn peak(clients: Vec<Client>, form: Form, time: Duration) -> Result<f64, Error> {
    let task = |number, mut client: Client| async move {
        let (method, path, media, bodies) = form.requests(&format!("load-{number}"));
        let begin = Instant::now() + time / 4;
        let end = begin + time;
        let mut counted = 0_u64;
        for body in bodies.iter().cycle() {
            client.succeed(method, &path, media, body.clone()).await?;
            let now = Instant::now();
            counted += u64::from(now >= begin && now < end);
            if now >= end {
                break;
            }
        }
        Ok(counted)
    };
    let counted: u64 = at_once(clients, task).await?.into_iter().sum();
    Ok(counted as f64 / time.as_secs_f64())
}

/// Applies with 32 clients at a fixed rate, and returns the times from the moment at which a request was due.
async fn paced(target: &Target, rate: f64, time: Duration) -> Result<Times, Error> {
    let next = Arc::new(AtomicU64::new(0));
    let begin = Instant::now() + Duration::from_millis(200);
    let task = |number, mut client: Client| {
        let next = next.clone();
        async move {
            let (name, mut replicas, mut times) = (format!("load-{number}"), 0, Vec::new());
            let path = apply_path(PATH, &name);
            loop {
                let due =
                    Duration::from_secs_f64(next.fetch_add(1, Ordering::Relaxed) as f64 / rate);
                if due > time {
                    return Ok(times);
                }
                tokio::time::sleep_until(begin + due).await;
                replicas += 1;
                client
                    .succeed("PATCH", &path, APPLY, deployment(&name, replicas % 100))
                    .await?;
                times.push(milliseconds((begin + due).elapsed()));
            }
        }
    };
    let mut times: Times = at_once(connected(target).await?, task)
        .await?
        .into_iter()
        .flatten()
        .collect();
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// The median time of a list, until its last byte.
async fn list(target: &Target, path: &str, count: usize) -> Result<f64, Error> {
    let mut client = target.connect().await?;
    let mut times = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        let (code, length) = client.send("GET", path, JSON, String::new()).await?;
        if code != 200 || length < 1000 {
            return Err(Error::request(path, format!("{code}, {length} bytes")));
        }
        times.push(milliseconds(began.elapsed()));
    }
    times.sort_by(f64::total_cmp);
    Ok(quantile(&times, 0.5))
}

/// The time from the first of some changes until every watcher has seen all.
async fn watch(target: &Target, sizes: &Sizes) -> Result<f64, Error> {
    let mut writer = target.connect().await?;
    writer
        .succeed(
            "PATCH",
            &apply_path(CONFIG_MAPS, "watched"),
            APPLY,
            config_map("watched", 0),
        )
        .await?;
    let list = writer
        .succeed("GET", CONFIG_MAPS, JSON, String::new())
        .await?;
    let list: Value =
        serde_json::from_slice(&list).map_err(|error| Error::request(CONFIG_MAPS, error))?;
    let revision = list
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={revision}");
    let (left, done) = (
        Arc::new(AtomicU64::new(sizes.watchers as u64)),
        Arc::new(Notify::new()),
    );
    let mut watchers = JoinSet::new();
    for _ in 0..sizes.watchers {
        let mut client = target.connect().await?;
        let response = client.begin("GET", &path, JSON, String::new()).await?;
        let (left, done, changes) = (left.clone(), done.clone(), sizes.changes);
        watchers.spawn(async move {
            let mut body = response.into_body();
            let mut seen = 0;
            while seen < changes {
                let Some(Ok(frame)) = body.frame().await else {
                    return;
                };
                seen += frame
                    .data_ref()
                    .map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
            }
            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                done.notify_one();
            }
            // The connection ends with the client.
            drop(client);
        });
    }
    let began = Instant::now();
    for number in 1..=sizes.changes {
        writer
            .succeed(
                "PATCH",
                &apply_path(CONFIG_MAPS, "watched"),
                APPLY,
                config_map("watched", number),
            )
            .await?;
    }
    let seen = tokio::time::timeout(Duration::from_secs(60), done.notified()).await;
    seen.map_err(|_| {
        Error::request(
            &path,
            format!(
                "{} watchers have not seen all",
                left.load(Ordering::Relaxed)
            ),
        )
    })?;
    Ok(milliseconds(began.elapsed()))
}

/// Measures one server. `common` is half of the peak of kube-apiserver with etcd in memory in this round, if it was
/// measured.
pub(crate) async fn measure(
    programs: &Programs,
    kind: Kind,
    sizes: &Sizes,
    common: Option<f64>,
) -> Result<(Figures, Times), Error> {
    let mut figures = Figures::new();
    let server = programs.start(kind).await?;
    figures.insert("start", milliseconds(server.start));
    let target = &server.target;
    tokio::time::sleep(sizes.rest).await;
    figures.insert("idle", server.memory()?);
    if kind.is_whole() {
        fill(&server, sizes, &mut figures).await?;
    }
    let rate = peak(connected(target).await?, Form::Apply, sizes.time).await?;
    figures.insert("peak", rate);
    let times = paced(target, rate / 2.0, sizes.time).await?;
    figures.insert("half50", quantile(&times, 0.5));
    figures.insert("half99", quantile(&times, 0.99));
    match common {
        _ if kind == Kind::KubeMemory => {
            figures.insert("common99", quantile(&times, 0.99));
        }
        Some(rate) if !kind.is_kube() => {
            figures.insert(
                "common99",
                quantile(&paced(target, rate, sizes.time).await?, 0.99),
            );
        }
        _ => {}
    }
    if kind.is_whole() {
        let shared = peak(sharing(target).await?, Form::Apply, sizes.time).await?;
        figures.insert("shared", shared);
        for (name, form) in [("updates", Form::Json), ("protobuf", Form::Protobuf)] {
            figures.insert(
                name,
                peak(connected(target).await?, form, sizes.time).await?,
            );
        }
        create(target, PODS, sizes.objects, |number| {
            pod(&format!("pod-{number}"))
        })
        .await?;
        figures.insert("list", list(target, PODS, sizes.lists).await?);
        figures.insert("watch", watch(target, sizes).await?);
        drop(server);
        let server = programs.start(kind).await?;
        create(&server.target, PODS, sizes.objects, unshared_pod).await?;
        tokio::time::sleep(sizes.rest).await;
        figures.insert("unshared", server.memory()?);
    }
    Ok((figures, times))
}

async fn fill(server: &Server, sizes: &Sizes, figures: &mut Figures) -> Result<(), Error> {
    create(&server.target, PATH, sizes.objects, |number| {
        deployment(&format!("web-{number}"), 1)
    })
    .await?;
    tokio::time::sleep(sizes.rest).await;
    figures.insert("filled", server.memory()?);
    Ok(())
}
