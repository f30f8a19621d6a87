//! The bounds of a server.

/// The bounds of a server. The defaults are those of kube-apiserver where it has a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The size of the body of a request, in bytes. 3 MiB by default.
    pub body: usize,
    /// The number of requests at once, apart from watches. 400 by default.
    pub requests: usize,
    /// The number of watches at once. 10,000 by default.
    pub watches: usize,
    /// The size of all headers of a request, in bytes. 1 MiB by default.
    pub headers: u32,
    /// The size of the log of requests, in bytes, of which the oldest are dropped first. 0, which is no log, by default; 64
    /// MiB for a [server for tests](crate::Builder::test_api).
    pub log: usize,
    /// The revisions of one object that the [page](crate::Builder::page) shows, with the requests that were refused: the
    /// oldest are dropped first. 1,000 by default; 0 for no history.
    pub revisions: usize,
    /// The memory of the revisions of all objects, in bytes. 64 MiB by default; 0 for no history.
    pub revisions_size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 3 * 1024 * 1024,
            requests: 400,
            watches: 10_000,
            headers: 1024 * 1024,
            log: 0,
            revisions: 1000,
            revisions_size: 64 << 20,
        }
    }
}
