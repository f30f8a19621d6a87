//! Minutes of requests of all kinds to one server: how its memory grows, and which errors it has.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::{APPLY, JSON, Target};
use crate::error::Error;
use crate::server::{Kind, Programs};

const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// The clients that write and read, and those that watch.
const CLIENTS: usize = 16;
const WATCHERS: usize = 20;

/// The objects that the clients share.
const NAMES: u64 = 2_000;

/// The memory in MiB that the server may take beyond that of its start: the default bounds of the histories of watches and
/// of the page, 64 MiB each, and 16 MiB for the objects, their buffers and what the allocator does not give back.
pub(crate) const GROWTH: f64 = 64.0 + 64.0 + 16.0;

/// What was found.
pub(crate) struct Mixed {
    /// The resident memory in MiB, by the seconds since the start.
    pub(crate) memory: Vec<(f64, f64)>,
    pub(crate) requests: u64,
    pub(crate) events: u64,
    /// The answers that are not the client's doing, with their number.
    pub(crate) errors: BTreeMap<String, u64>,
}

impl Mixed {
    /// The greatest memory in MiB, and that which is allowed.
    pub(crate) fn greatest(&self) -> (f64, f64) {
        let first = self.memory.first().map_or(0.0, |(_, memory)| *memory);
        let greatest = self
            .memory
            .iter()
            .map(|(_, memory)| *memory)
            .fold(0.0, f64::max);
        (greatest, first + GROWTH)
    }

    /// Whether there was no error that is not the client's, and no growth beyond the bounds.
    pub(crate) fn is_faultless(&self) -> bool {
        let (greatest, bound) = self.greatest();
        self.errors.is_empty() && greatest <= bound
    }
}

#[derive(Default)]
struct Counters {
    requests: AtomicU64,
    events: AtomicU64,
    errors: Mutex<BTreeMap<String, u64>>,
}

impl Counters {
    fn error(&self, text: String) {
        *self
            .errors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(text)
            .or_default() += 1;
    }
}

/// Sends requests of all kinds for some time.
pub(crate) async fn mixed(
    programs: &Programs,
    kind: Kind,
    time: Duration,
    seed: u64,
) -> Result<Mixed, Error> {
    let server = programs.start(kind).await?;
    let counters = Arc::new(Counters::default());
    let began = Instant::now();
    let end = began + time;
    let mut tasks = JoinSet::new();
    for number in 0..CLIENTS {
        let seed = seed.wrapping_add(number as u64);
        tasks.spawn(requests(server.target.clone(), counters.clone(), seed, end));
    }
    for number in 0..WATCHERS {
        tasks.spawn(watches(
            server.target.clone(),
            counters.clone(),
            number,
            end,
        ));
    }
    let mut memory = Vec::new();
    while Instant::now() < end {
        memory.push((began.elapsed().as_secs_f64(), server.memory()?));
        tokio::time::sleep(Duration::from_secs(1).min(time / 20)).await;
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| Error::request("a client", error))??;
    }
    let errors = counters
        .errors
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Ok(Mixed {
        memory,
        requests: count(&counters.requests),
        events: count(&counters.events),
        errors,
    })
}

async fn requests(
    target: Target,
    counters: Arc<Counters>,
    seed: u64,
    end: Instant,
) -> Result<(), Error> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut client = target.connect().await?;
    while Instant::now() < end {
        let name = format!("mixed-{}", random.u64(..NAMES));
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"number": random.u64(..).to_string(), "text": "x".repeat(random.usize(..2000))}});
        let one = format!("{PATH}/{name}");
        let applied = format!("{one}?fieldManager=manager-{}&force=true", random.u8(..4));
        let (method, path, media, body) = match random.u8(..100) {
            0..50 => ("PATCH", applied, APPLY, object.to_string()),
            50..60 => ("PUT", one, JSON, object.to_string()),
            60..70 => (
                "PATCH",
                one,
                "application/merge-patch+json",
                object.to_string(),
            ),
            70..80 => ("DELETE", one, JSON, String::new()),
            80..85 => ("POST", PATH.to_owned(), JSON, object.to_string()),
            85..98 => ("GET", one, JSON, String::new()),
            _ => ("GET", format!("{PATH}?limit=500"), JSON, String::new()),
        };
        let sent = client.send(method, &path, media, body).await;
        counters.requests.fetch_add(1, Ordering::Relaxed);
        match sent {
            // The object is not there, or another client was faster: the client's doing.
            Ok((200 | 201 | 404 | 409, _)) => {}
            Ok((code, _)) => counters.error(format!("{code} to {method}")),
            Err(error) => {
                counters.error(error.to_string());
                client = target.connect().await?;
            }
        }
    }
    Ok(())
}

async fn watches(
    target: Target,
    counters: Arc<Counters>,
    number: usize,
    end: Instant,
) -> Result<(), Error> {
    while Instant::now() < end {
        let mut client = target.connect().await?;
        // They begin and end all the time.
        let path = format!("{PATH}?watch=true&timeoutSeconds={}", 5 + number);
        let response = client.begin("GET", &path, JSON, String::new()).await?;
        let mut body = response.into_body();
        loop {
            match tokio::time::timeout_at(end, body.frame()).await {
                Err(_) => return Ok(()),
                Ok(None) => break,
                Ok(Some(Ok(frame))) => {
                    counters.events.fetch_add(1, Ordering::Relaxed);
                    if frame
                        .data_ref()
                        .is_some_and(|data| data.starts_with(br#"{"type":"ERROR""#))
                    {
                        counters.error("an ERROR in a watch".to_owned());
                    }
                }
                Ok(Some(Err(error))) => {
                    counters.error(format!("watch: {error}"));
                    break;
                }
            }
        }
    }
    Ok(())
}
