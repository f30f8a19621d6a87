//! The checks before a request is answered: the number of requests at once, and the memory of their bodies.

use std::io;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::browser::Browsers;
use crate::budget::{Budget, Reservation};
use crate::endpoint::Failure;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::pool::Pool;

/// The gate of a server.
pub(crate) struct Gate {
    pub(crate) limits: Limits,
    /// Whether the page is served.
    pub(crate) page: bool,
    pub(crate) browsers: Browsers,
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    /// The memory for what clients have sent or not read.
    pub(crate) budget: Arc<Budget>,
    /// The threads of requests that can take long.
    pub(crate) pool: Pool,
    /// Whether watches end.
    ending: watch::Sender<bool>,
    /// The counters of requests.
    pub(crate) metrics: Metrics,
}

impl Gate {
    pub(crate) fn new(limits: Limits, page: bool) -> Self {
        let places = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Gate {
            requests: places(limits.requests),
            watches: places(limits.watches),
            budget: Arc::new(Budget::new(limits.buffers)),
            pool: Pool::new(limits.request_deadline),
            ending: watch::Sender::new(false),
            limits,
            page,
            browsers: Browsers::default(),
            metrics: Metrics::new(),
        }
    }

    /// The gate of a fork: with the same limits, and metrics of its own.
    pub(crate) fn fork(&self) -> Self {
        Gate::new(self.limits.clone(), self.page)
    }

    /// The path that opens the page in a browser: with a code that works once, if it is not open to everybody.
    pub(crate) fn page_path(&self, is_open: bool) -> io::Result<String> {
        if is_open {
            Ok("/ui".to_owned())
        } else {
            Ok(format!("/ui?code={}", self.browsers.new_code()?))
        }
    }

    /// A place among the requests or watches of the moment, or 429.
    pub(crate) fn pass(&self, is_watch: bool) -> Result<OwnedSemaphorePermit, Failure> {
        let places = if is_watch {
            &self.watches
        } else {
            &self.requests
        };
        places.clone().try_acquire_owned().map_err(|_| busy())
    }

    /// Memory for a body or an answer, or 429.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<Reservation, Failure> {
        self.budget.reserve(bytes).ok_or_else(busy)
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

/// 429.
pub(crate) fn busy() -> Failure {
    let message = "Too many requests, please try again later.";
    Failure {
        retry_after: 1,
        ..Failure::new(429, "TooManyRequests", message)
    }
}
