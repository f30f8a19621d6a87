//! The checks before a request is read: its token, and the number of requests at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::endpoint::Failure;
use crate::limits::Limits;
use crate::metrics::Metrics;

/// The gate of a server.
pub(crate) struct Gate {
    pub(crate) limits: Limits,
    /// Users by token; empty if everybody is admin.
    tokens: BTreeMap<String, String>,
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    /// The counters of requests.
    pub(crate) metrics: Metrics,
}

impl Gate {
    pub(crate) fn new(limits: Limits, tokens: BTreeMap<String, String>) -> Self {
        let places = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Gate {
            requests: places(limits.requests),
            watches: places(limits.watches),
            limits,
            tokens,
            metrics: Metrics::new(),
        }
    }

    /// The gate of a fork: with the same limits and tokens, and metrics of its own.
    pub(crate) fn fork(&self) -> Self {
        Gate::new(self.limits.clone(), self.tokens.clone())
    }

    /// The user of a header `Authorization`, or 401.
    pub(crate) fn authenticate(&self, authorization: Option<&str>) -> Result<&str, Failure> {
        if self.tokens.is_empty() {
            return Ok("admin");
        }
        let token = authorization.and_then(|text| text.strip_prefix("Bearer "));
        let known = token.and_then(|token| self.tokens.get(token.trim()));
        known.map(String::as_str).ok_or_else(|| Failure::new(401, "Unauthorized", "Unauthorized"))
    }

    /// A place among the requests or watches of the moment, or 429.
    pub(crate) fn pass(&self, is_watch: bool) -> Result<OwnedSemaphorePermit, Failure> {
        let places = if is_watch { &self.watches } else { &self.requests };
        places.clone().try_acquire_owned().map_err(|_| {
            let message = "Too many requests, please try again later.";
            Failure { retry_after: 1, ..Failure::new(429, "TooManyRequests", message) }
        })
    }
}
