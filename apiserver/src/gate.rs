//! The checks before a request is read: its token, and the number of requests at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::endpoint::Failure;
use crate::limits::Limits;
use crate::metrics::Metrics;

/// The gate of a server.
pub(crate) struct Gate {
    pub(crate) limits: Limits,
    /// Users by token; empty if everybody is admin.
    tokens: BTreeMap<String, String>,
    /// Whether the page is served.
    pub(crate) page: bool,
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    /// The counters of requests.
    pub(crate) metrics: Metrics,
}

impl Gate {
    pub(crate) fn new(limits: Limits, tokens: BTreeMap<String, String>, page: bool) -> Self {
        let places = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Gate {
            requests: places(limits.requests),
            watches: places(limits.watches),
            limits,
            tokens,
            page,
            metrics: Metrics::new(),
        }
    }

    /// The gate of a fork: with the same limits and tokens, and metrics of its own.
    pub(crate) fn fork(&self) -> Self {
        Gate::new(self.limits.clone(), self.tokens.clone(), self.page)
    }

    /// The user of a header `Authorization`, or 401.
    pub(crate) fn authenticate(&self, authorization: Option<&str>) -> Result<&str, Failure> {
        if self.tokens.is_empty() {
            return Ok("admin");
        }
        let token = authorization.and_then(|text| text.strip_prefix("Bearer "));
        self.user_of(token.map(str::trim))
    }

    /// The user of a request to the page, or 401. A browser asks for a user name and a password, and sends the token as the
    /// password. Other requests are not accepted this way: a page of another site could make a browser send them.
    pub(crate) fn authenticate_browser(&self, authorization: Option<&str>) -> Result<&str, Failure> {
        let Some(basic) = authorization.and_then(|text| text.strip_prefix("Basic ")) else {
            return self.authenticate(authorization);
        };
        let decoded = STANDARD.decode(basic.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let token = decoded.as_deref().and_then(|text| text.split_once(':')).map(|(_, password)| password);
        if self.tokens.is_empty() {
            return Ok("admin");
        }
        self.user_of(token)
    }

    fn user_of(&self, token: Option<&str>) -> Result<&str, Failure> {
        let known = token.and_then(|token| self.tokens.get(token));
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
