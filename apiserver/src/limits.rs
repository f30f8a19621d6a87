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
}

impl Default for Limits {
    fn default() -> Self {
        Limits { body: 3 * 1024 * 1024, requests: 400, watches: 10_000, headers: 1024 * 1024 }
    }
}
