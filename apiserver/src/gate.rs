//! The checks before a request is answered: its token, the number of requests at once, and the memory of their bodies.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::endpoint::Failure;
use crate::limits::Limits;
use crate::metrics::Metrics;

/// The unit in which memory is counted, in bytes.
const UNIT: usize = 1024;

/// The size up to which a body or an answer is small, in bytes.
const SMALL: usize = 64 << 10;

/// The gate of a server.
pub(crate) struct Gate {
    pub(crate) limits: Limits,
    /// Users by token; empty if everybody is admin.
    tokens: BTreeMap<String, String>,
    /// Whether the page is served.
    pub(crate) page: bool,
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    /// The memory for small bodies and answers, and that for others, in units of [`UNIT`] bytes. Clients that do not read
    /// large answers take nothing from small ones.
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// Whether watches end.
    ending: watch::Sender<bool>,
    /// The counters of requests.
    pub(crate) metrics: Metrics,
}

impl Gate {
    pub(crate) fn new(limits: Limits, tokens: BTreeMap<String, String>, page: bool) -> Self {
        let places = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Gate {
            requests: places(limits.requests),
            watches: places(limits.watches),
            small: places(units(limits.buffers / 2)),
            large: places(units(limits.buffers / 2)),
            ending: watch::Sender::new(false),
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
        places.clone().try_acquire_owned().map_err(|_| busy())
    }

    /// Memory for a body or an answer, or 429. A size over the limit is that of the limit: one large answer is possible.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Failure> {
        let part = if bytes <= SMALL { &self.small } else { &self.large };
        let wanted = units(bytes).clamp(1, units(self.limits.buffers / 2).max(1));
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        part.clone().try_acquire_many_owned(wanted).map_err(|_| busy())
    }

    /// Ends all watches, those that begin later too.
    pub(crate) fn end_watches(&self) {
        self.ending.send_replace(true);
    }

    /// Waits until watches end.
    pub(crate) fn ending(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut ending = self.ending.subscribe();
        async move {
            // A gate that is gone has no watches.
            let _ = ending.wait_for(|ending| *ending).await;
        }
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

fn busy() -> Failure {
    let message = "Too many requests, please try again later.";
    Failure { retry_after: 1, ..Failure::new(429, "TooManyRequests", message) }
}
