//! The requests of one connection, and when it has to be closed.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Version;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::budget::{Budget, FREE, Reservation, SMALL};
use crate::gate::Gate;

/// The requests of one connection.
pub(super) struct Client {
    header_time: Duration,
    request_time: Duration,
    idle_time: Duration,
    budget: Arc<Budget>,
    /// The most bytes of a head.
    headers: usize,
    state: Mutex<State>,
    /// Whether the connection is closed because of its client.
    is_cut: AtomicBool,
}

struct State {
    /// The requests that have no answer, and the answers and events that were not read: with the time at which they have to
    /// be.
    requests: BTreeMap<u64, Option<Instant>>,
    next: u64,
    /// When the last request began or ended.
    since: Instant,
    /// The bytes that were received since the last request began, and the memory that is counted for them.
    received: usize,
    reserved: usize,
    memory: Reservation,
    /// Whether requests can begin while another one is received.
    is_http2: bool,
    /// A watch over WebSocket, for which the connection was given away.
    upgraded: Option<JoinHandle<()>>,
}

impl Client {
    pub(super) fn new(gate: &Gate) -> Arc<Self> {
        let limits = &gate.limits;
        let state = State {
            requests: BTreeMap::new(),
            next: 0,
            since: Instant::now(),
            received: 0,
            reserved: FREE,
            memory: Reservation::default(),
            is_http2: false,
            upgraded: None,
        };

        Arc::new(Client {
            header_time: limits.header_time,
            request_time: limits.request_time,
            idle_time: limits.idle_time,
            budget: gate.budget.clone(),
            headers: usize::try_from(limits.headers).unwrap_or(usize::MAX),
            state: Mutex::new(state),
            is_cut: AtomicBool::new(false),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts bytes that were received. An error: the head of a request would take memory that other clients have.
    pub(super) fn received(&self, bytes: usize) -> io::Result<()> {
        let mut state = self.state();
        // The body of a request counts its own memory.
        if !state.requests.is_empty() && !state.is_http2 {
            return Ok(());
        }
        state.received = state.received.saturating_add(bytes).min(self.headers);

        while state.received > state.reserved {
            // A buffer that grows by doubling.
            let Some(more) = self.budget.reserve_large(state.reserved) else {
                self.cut();
                return Err(io::Error::new(
                    io::ErrorKind::OutOfMemory,
                    "other clients take all memory",
                ));
            };
            state.memory.add(more);
            state.reserved *= 2;
        }

        Ok(())
    }

    /// Begins a request, whose head was received. It ends with the value.
    pub(super) fn begin(self: &Arc<Self>, version: Version) -> Ticket {
        let mut state = self.state();
        state.is_http2 = version == Version::HTTP_2;
        // The memory of the head is free when the request begins, as it has memory of its own.
        state.received = 0;
        // What was received of small bodies cannot be distinguished from heads in HTTP/2.
        state.reserved = if state.is_http2 { SMALL } else { FREE };
        state.memory = Reservation::default();
        drop(state);
        self.ticket()
    }

    fn ticket(self: &Arc<Self>) -> Ticket {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.requests.insert(number, None);
        Ticket {
            client: self.clone(),
            number,
        }
    }

    /// Waits until a client has not read an answer in time, or has had no request for a long time.
    pub(super) async fn overdue(&self) {
        loop {
            let (now, end) = (Instant::now(), self.end());
            if end.is_some_and(|end| end <= now) {
                return self.cut();
            }
            // A request in between can have an earlier end.
            let soon = now + self.request_time / 4;
            tokio::time::sleep_until(end.map_or(soon, |end| end.min(soon))).await;
        }
    }

    /// When the connection has to be closed if nothing changes.
    fn end(&self) -> Option<Instant> {
        let state = self.state();
        // A request without an answer is timed elsewhere. A connection without requests has the time of a first head,
        // or that of an idle client.
        match (state.requests.is_empty(), state.next) {
            (false, _) => state.requests.values().flatten().min().copied(),
            (true, 0) => Some(state.since + self.header_time),
            (true, _) => Some(state.since + self.idle_time),
        }
    }

    /// Notes that data which the client has not read is to be dropped.
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    /// Notes the watch for which the connection was given away.
    pub(super) fn upgrade(&self, watch: JoinHandle<()>) {
        self.state().upgraded = Some(watch);
    }

    pub(super) fn upgraded(&self) -> Option<JoinHandle<()>> {
        self.state().upgraded.take()
    }
}

/// A request, from its headers until its answer was read or a watch ended, or an event of a watch until it was read.
pub(super) struct Ticket {
    client: Arc<Client>,
    number: u64,
}

impl Ticket {
    /// Begins the time in which the client reads the answer.
    pub(super) fn answered(&self) {
        let end = Instant::now() + self.client.request_time;
        if let Some(request) = self.client.state().requests.get_mut(&self.number) {
            *request = Some(end);
        }
    }

    /// Begins the time in which the client reads an event of a watch.
    pub(super) fn event(&self) -> Ticket {
        let event = self.client.ticket();
        event.answered();
        event
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.client.state();
        state.requests.remove(&self.number);
        state.since = Instant::now();
    }
}
