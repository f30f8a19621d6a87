//! Random programs of eight clients against one server that injects faults.
//!
//! Six clients apply, patch, update, create and delete three objects, and two watch them. At the end, the state of each
//! watcher is that of the store, no acknowledged write is lost, and the managed fields are those that the log says. The
//! input of a failure is its seed; `SEED=N` runs that program alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod client;
mod history;
mod store;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Watcher, Writer};
use fieldmanager_apiserver::fault::{Fault, FaultKind};
use fieldmanager_apiserver::testing::TestServer;
use fieldmanager_apiserver::{ApiServer, Collection};
use futures::future::join_all;
use proptest::prelude::*;
use serde_json::json;
use store::Yielding;

/// The number of programs of one test. There are two, which run at the same time.
const PROGRAMS: u32 = 500;

/// The number of requests of each client that writes.
const STEPS: usize = 6;

const WRITERS: usize = 6;
const WATCHERS: usize = 2;

/// The objects, and the one that ends the program.
const NAMES: [&str; 3] = ["a", "b", "c"];
const END: &str = "end";

const COLLECTION: &str = "/apis/example.com/v1/namespaces/default/shops";

/// Why a program is wrong.
type Check<T = ()> = Result<T, String>;

/// Random numbers of a program.
type Numbers = fastrand::Rng;

fn definition() -> serde_json::Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "counter": {"type": "integer", "default": 0},
        "applied": {"type": "object", "additionalProperties": {"type": "integer"}},
        "patched": {"type": "object", "additionalProperties": {"type": "integer"}},
    }}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "shops", "kind": "Shop"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

fn shop(name: &str, spec: serde_json::Value) -> serde_json::Value {
    json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": name}, "spec": spec})
}

/// A server with the definition, which each program forks, and the numbers of its store.
#[derive(Clone)]
struct Prepared {
    server: TestServer,
    numbers: Arc<Mutex<Numbers>>,
}

async fn prepared() -> Prepared {
    let numbers = Arc::new(Mutex::new(Numbers::with_seed(0)));
    let store = Arc::new(Yielding::new(numbers.clone()));
    let server = ApiServer::for_test()
        .collection(Collection::Stepped)
        .options(|builder| builder.store(store));
    Prepared {
        server: server.crds([definition()]).build().await.unwrap(),
        numbers,
    }
}

const KINDS: [FaultKind; 11] = [
    FaultKind::Conflict,
    FaultKind::TooManyRequests,
    FaultKind::InternalError,
    FaultKind::Unavailable,
    FaultKind::Timeout,
    FaultKind::Hang,
    FaultKind::LoseAnswer,
    FaultKind::CutWatch,
    FaultKind::ExpireWatch,
    FaultKind::Stale,
    FaultKind::Delay,
];

/// A few rules, each of which fires with a small probability.
fn faults(server: &TestServer, numbers: &mut Numbers) {
    for kind in KINDS {
        if numbers.bool() {
            continue;
        }
        let mut fault = match kind {
            FaultKind::CutWatch => Fault::cut_watch(numbers.usize(..6)),
            FaultKind::ExpireWatch => Fault::expire_watch(numbers.usize(..6)),
            FaultKind::Stale => Fault::stale(numbers.u64(1..10)),
            FaultKind::Delay => Fault::delay(Duration::from_millis(numbers.u64(1..50))),
            kind => Fault::new(kind),
        };
        fault = fault
            .resource("shops.example.com")
            .probability(numbers.f64() * 0.4);
        if numbers.u32(..4) == 0 {
            fault = fault.times(numbers.u64(1..4));
        }
        server.faults().add(fault).unwrap();
    }
}

async fn program(seed: u64, prepared: &Prepared) -> Check {
    let mut numbers = Numbers::with_seed(seed);
    *prepared.numbers.lock().unwrap() = numbers.fork();
    let server = prepared
        .server
        .fork()
        .await
        .map_err(|error| error.to_string())?;
    server
        .random()
        .ok_or("a source without a seed")?
        .set_seed(seed);
    server.faults().set_seed(seed);
    faults(&server, &mut numbers);

    let watchers: Vec<Watcher> = (0..WATCHERS)
        .map(|_| Watcher::new(&server, numbers.fork()))
        .collect();
    let watched: Vec<_> = watchers
        .into_iter()
        .map(|watcher| tokio::spawn(watcher.run()))
        .collect();
    let writers = (0..WRITERS).map(|index| Writer::new(index, &server, numbers.fork()).run(STEPS));
    let expected = join_all(writers).await;
    // Watchers end with the last object, which is created without faults.
    server.faults().clear();
    server
        .create(shop(END, json!({})))
        .await
        .map_err(|refused| refused.to_string())?;
    let list = server
        .list("example.com/v1", "Shop")
        .await
        .map_err(|refused| refused.to_string())?;
    for watcher in watched {
        let ended = tokio::time::timeout(Duration::from_secs(3600), watcher).await;
        let state = ended
            .map_err(|_| "a watcher did not see the last object")?
            .map_err(|error| error.to_string())?;
        let listed = list
            .iter()
            .map(|object| (client::name(object).to_owned(), object.clone()))
            .collect();
        if state != listed {
            return Err(format!("a watcher has {state:#?}, the server {listed:#?}"));
        }
    }
    for writer in &expected {
        writer.check(&list)?;
    }
    client::check_counters(&expected, &list)?;
    history::check(&server.log(), &list)
}

fn run(seed: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    thread_local! {
        static PREPARED: std::cell::OnceCell<Prepared> = const { std::cell::OnceCell::new() };
    }
    let prepared = PREPARED.with(|cell| cell.get_or_init(|| runtime.block_on(prepared())).clone());
    if let Err(wrong) = runtime.block_on(program(seed, &prepared)) {
        panic!("SEED={seed}: {wrong}");
    }
}

/// The seed of the environment, which is to run alone.
fn wanted() -> Option<u64> {
    std::env::var("SEED")
        .ok()
        .map(|seed| seed.parse().expect("SEED is a number"))
}

macro_rules! programs {
    ($($name:ident),*) => {$(
        proptest! {
            #![proptest_config(ProptestConfig { cases: PROGRAMS, max_shrink_iters: 0, ..ProptestConfig::default() })]

            #[test]
            fn $name(seed in any::<u64>()) {
                if wanted().is_none() {
                    run(seed);
                }
            }
        }
    )*};
}

programs!(
    random_programs_lose_nothing,
    more_random_programs_lose_nothing
);

#[test]
fn program_of_the_environment() {
    if let Some(seed) = wanted() {
        run(seed);
    }
}
