//! The bounds of a server.

use std::time::Duration;

/// The bounds of a server. The defaults are those of kube-apiserver where it has a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The size of the body of a request, in bytes. 3 MiB by default.
    pub body: usize,
    /// The memory for what clients have sent or not read, in bytes: heads and bodies of requests that are being received
    /// or answered, selectors of watches, answers and events. A half is for those of up to 64 KiB. 256 MiB by default.
    pub buffers: usize,
    /// The memory of stored objects, in bytes: a write that needs more is answered with 507. Writes that make an object
    /// smaller and deletions are accepted in any case. Not for a store that other servers write to. `None`, which is no
    /// bound, by default.
    pub stored: Option<usize>,
    /// The number of requests at once, apart from watches. A request counts when its body was received. 400 by default.
    pub requests: usize,
    /// The number of watches at once. 10,000 by default.
    pub watches: usize,
    /// The size of all headers of a request, in bytes. 1 MiB by default.
    pub headers: u32,
    /// The size of the log of requests, in bytes, of which the oldest are dropped first. 0, which is no log, by default; 64
    /// MiB for a [server for tests](crate::Builder::test_api).
    pub log: usize,
    /// The number of connections at once. More clients wait until one ends. 10,000 by default.
    pub connections: usize,
    /// The number of requests and watches at once on one connection of HTTP/2. Go clients put all watches on one
    /// connection. 1,000 by default.
    pub streams: u32,
    /// The time that a client has for a TLS handshake, and for the headers of a request. In HTTP/1.1 it begins with the
    /// end of the answer before. 30 seconds by default.
    pub header_time: Duration,
    /// The time that a client has to send the body of a request, and the time that it has to read an answer, or an event of
    /// a watch. One minute by default.
    pub request_time: Duration,
    /// The time during which a client may send nothing of a body that has begun, or read nothing of what the server sends.
    /// 20 seconds by default.
    pub stall_time: Duration,
    /// The time that a connection of HTTP/2 may have no request. 90 seconds by default.
    pub idle_time: Duration,
    /// The time after its last write at which an Event is deleted, to a tenth of that time and at most a minute more. One
    /// hour by default.
    pub event_time: Duration,
    /// The time after which no list is answered at a revision that is no longer the current one, and at most twice that
    /// time: a list at an exact revision, and a page after the first, are answered with 410. Zero, which is no such time, by default,
    /// so that tests do not depend on time; five minutes in `fieldmanager serve` and in kube-apiserver.
    pub compaction_interval: Duration,
    /// The time after which a request that is not answered is stopped, apart from watches: it is answered with 504, and
    /// writes nothing, or continues with what follows from its write. 34 seconds by default.
    pub request_deadline: Duration,
    /// The time that requests have to end after the server was told to stop. 5 seconds by default.
    pub stop_time: Duration,
    /// The revisions of one object that the [page](crate::Builder::page) shows, with the requests that were refused: the
    /// oldest are dropped first. 1,000 by default; 0 for no history.
    pub revisions: usize,
    /// The memory of the revisions of all objects, in bytes. 64 MiB by default; 0 for no history.
    pub revisions_size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 3 << 20,
            buffers: 256 << 20,
            stored: None,
            requests: 400,
            watches: 10_000,
            headers: 1 << 20,
            log: 0,
            connections: 10_000,
            streams: 1000,
            header_time: Duration::from_secs(30),
            request_time: Duration::from_secs(60),
            stall_time: Duration::from_secs(20),
            idle_time: Duration::from_secs(90),
            event_time: Duration::from_secs(3600),
            compaction_interval: Duration::ZERO,
            request_deadline: Duration::from_secs(34),
            stop_time: Duration::from_secs(5),
            revisions: 1000,
            revisions_size: 64 << 20,
        }
    }
}
