//! `serve` and clients that mean harm or are broken: memory and connections are bounded, others are served, and the end of
//! the server loses nothing.
//!
//! Tests that measure times run alone.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot continue must fail"
)]

mod attack;
mod endless;
mod flood;
mod server;
mod stop;

use std::time::{Duration, Instant};

use server::{Connection, Server, TURN, config_map};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The number of applies of one median.
const APPLIES: usize = 150;

/// The median time of an apply that changes one field, in milliseconds.
async fn apply_time(server: &Server) -> f64 {
    let mut connection = Connection::new(&server.address).await;
    let mut times = Vec::new();
    for number in 0..APPLIES {
        let body = format!(
            r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "mine"}}, "data": {{"number": "{number}"}}}}"#
        );
        let began = Instant::now();
        let path = "/api/v1/namespaces/kube-system/configmaps/mine?fieldManager=me&force=true";
        let (code, body) = connection.send("PATCH", path, &body).await.unwrap();
        assert!(code == 200 || code == 201, "{code} {body}");
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times[APPLIES / 2]
}

/// Measures the applies of another client without, with and without an abuse. The machine may have other work, so it is
/// tried three times.
async fn slows_others_by_at_most_a_third(
    server: &Server,
    kind: &str,
    abuse: impl AsyncFn() -> Vec<attack::Abuser>,
) {
    apply_time(server).await;
    for attempt in 1..=3 {
        let before = apply_time(server).await;
        let abusers = abuse().await;
        tokio::time::sleep(Duration::from_millis(800)).await;
        let during = apply_time(server).await;
        let (memory, connections) = (server.memory(), server.connections());
        // Those that closed their half are gone.
        assert!(
            connections >= abusers.len() * 9 / 10,
            "only {connections} connections at {kind}"
        );
        drop(abusers);
        server.until_connections_are_at_most(20).await;
        let after = apply_time(server).await;
        println!(
            "{kind}: {before:.2} ms before, {during:.2} ms during, {after:.2} ms after; {} MiB",
            memory >> 20
        );
        // 24 MiB of a debug build, 64 MiB of history, 64 MiB of bodies and answers, 64 KiB for each connection.
        assert!(memory < 300 << 20, "{kind}: {} MiB", memory >> 20);
        if during <= before.max(after) * 4.0 / 3.0 {
            return;
        }
        assert!(
            attempt < 3,
            "{kind}: {before:.2} ms became {during:.2} ms, then {after:.2} ms"
        );
    }
}

async fn filled(arguments: &[&str]) -> Server {
    let server = Server::start(arguments);
    let mut connection = Connection::new(&server.address).await;
    for number in 0..100 {
        let object = config_map(&format!("a-{number}"), &"x".repeat(20_000));
        assert_eq!(
            connection
                .send("POST", CONFIG_MAPS, &object)
                .await
                .unwrap()
                .0,
            201
        );
    }
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_slow_clients_slow_others_by_at_most_a_third() {
    let _turn = TURN.write().await;
    let server = filled(&["--max-buffers", "64MiB"]).await;
    slows_others_by_at_most_a_third(&server, "2,000 connections", async || {
        attack::two_thousand(&server.address).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_http2_clients_slow_others_by_at_most_a_third() {
    let _turn = TURN.write().await;
    let server = filled(&["--max-buffers", "64MiB"]).await;
    slows_others_by_at_most_a_third(&server, "HTTP/2", async || {
        let mut abusers = attack::http2(&server.address, 100, 20, &attack::HTTP2_KINDS).await;
        abusers.extend(attack::http2(&server.address, 10, 1, &[attack::Harm::HalfClosed]).await);
        abusers
    })
    .await;
}

/// 2,000 connections that do the same take a bounded memory, and others are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_connections_of_each_kind_take_bounded_memory() {
    let _turn = TURN.write().await;
    let others = [
        attack::Harm::LargeHead,
        attack::Harm::LongSelector,
        attack::Harm::Pings,
    ];
    for harm in attack::KINDS.iter().map(|(harm, _)| *harm).chain(others) {
        let server = filled(&["--max-buffers", "64MiB"]).await;
        let abusers = attack::some(&server.address, harm, 2000).await;
        let mut most = 0;
        for _ in 0..15 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            most = most.max(server.memory());
        }
        let mut other = Connection::new(&server.address).await;
        assert_eq!(
            other
                .send("GET", &format!("{CONFIG_MAPS}/a-1"), "")
                .await
                .unwrap()
                .0,
            200
        );
        println!("{harm:?}: {} MiB", most >> 20);
        // As above.
        assert!(most < 300 << 20, "{harm:?}: {} MiB", most >> 20);
        drop(abusers);
    }
}

/// Short times for slow clients.
const TIMES: [&str; 8] = [
    "--header-time",
    "1s",
    "--request-time",
    "2s",
    "--stall-time",
    "1s",
    "--idle-time",
    "1s",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_are_cut_off() {
    let _turn = TURN.read().await;
    let server = filled(&TIMES).await;
    let mut kinds = Vec::new();
    for harm in attack::KINDS
        .iter()
        .map(|(harm, _)| *harm)
        .chain([attack::Harm::Flood])
    {
        let began = Instant::now();
        kinds.push((harm, attack::some(&server.address, harm, 20).await));
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.until_connections_are_at_most(8).await;
        println!("{harm:?}: cut off after {:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_http2_clients_are_cut_off() {
    let _turn = TURN.read().await;
    let server = filled(&TIMES).await;
    let mut kinds = Vec::new();
    for harm in [&attack::HTTP2_KINDS[..], &[attack::Harm::HalfClosed]].concat() {
        let began = Instant::now();
        kinds.push(attack::http2(&server.address, 20, 3, &[harm]).await);
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.until_connections_are_at_most(8).await;
        println!("HTTP/2, {harm:?}: cut off after {:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_tls_handshakes_are_cut_off() {
    let _turn = TURN.read().await;
    let server = Server::start(&[&TIMES[..], &["--tls"]].concat());
    let mut abusers = attack::some(&server.address, attack::Harm::Silence, 100).await;
    abusers.extend(attack::some(&server.address, attack::Harm::SlowHandshake, 100).await);
    for abuser in &mut abusers {
        abuser.until_cut_off().await;
    }
    server.until_connections_are_at_most(8).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_stalls_is_408_and_takes_no_place_of_other_requests() {
    let _turn = TURN.read().await;
    let server = Server::start(&["--max-requests", "4", "--stall-time", "1s"]);
    let mut stalled = Vec::new();
    for _ in 0..40 {
        let mut connection = Connection::new(&server.address).await;
        connection
            .write(&format!(
                "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{{"
            ))
            .await;
        stalled.push(connection);
    }
    let mut other = Connection::new(&server.address).await;
    assert_eq!(
        other
            .send("POST", CONFIG_MAPS, &config_map("a", "b"))
            .await
            .unwrap()
            .0,
        201
    );
    for connection in &mut stalled {
        let (code, body) = connection.answer().await.unwrap();
        assert_eq!(code, 408, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_not_read_take_bounded_memory() {
    let _turn = TURN.read().await;
    let server = filled(&[
        "--max-buffers",
        "10MiB",
        "--request-time",
        "2s",
        "--header-time",
        "2s",
    ])
    .await;
    let mut unread = Vec::new();
    for _ in 0..20 {
        let mut connection = Connection::new(&server.address).await;
        connection
            .write(&format!(
                "GET {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            ))
            .await;
        unread.push(connection);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut other = Connection::new(&server.address).await;
    let (code, body) = other.send("GET", CONFIG_MAPS, "").await.unwrap();
    assert_eq!(code, 429, "{body}");
    assert_eq!(
        other
            .send("GET", &format!("{CONFIG_MAPS}/a-1"), "")
            .await
            .unwrap()
            .0,
        200
    );
    assert_eq!(
        other
            .send("POST", CONFIG_MAPS, &config_map("a", "b"))
            .await
            .unwrap()
            .0,
        201
    );
    // The memory is free again when the clients that do not read are cut off.
    server.until_connections_are_at_most(5).await;
    let mut other = Connection::new(&server.address).await;
    assert_eq!(other.send("GET", CONFIG_MAPS, "").await.unwrap().0, 200);
    drop(unread);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_over_the_limit_wait_until_others_end() {
    let _turn = TURN.read().await;
    let server = Server::start(&["--max-connections", "20", "--header-time", "1s"]);
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(Connection::new(&server.address).await);
    }
    let began = Instant::now();
    let (code, _) = Connection::new(&server.address)
        .await
        .send("GET", CONFIG_MAPS, "")
        .await
        .unwrap();
    assert_eq!(code, 200);
    assert!(
        began.elapsed() > Duration::from_millis(500),
        "{:?}",
        began.elapsed()
    );
}
