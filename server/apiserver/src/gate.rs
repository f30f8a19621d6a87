//! The checks before a request is answered: its token, the number of requests at once, and the memory of their bodies.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::browser::{Browsers, is_same};
use crate::budget::{Budget, Reservation};
use crate::endpoint::Failure;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::pool::Pool;

/// The gate of a server.
pub(crate) struct Gate {
    pub(crate) limits: Limits,
    /// Users by token; empty if everybody is admin.
    tokens: BTreeMap<String, String>,
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
    pub(crate) fn new(limits: Limits, tokens: BTreeMap<String, String>, page: bool) -> Self {
        let places = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Gate {
            requests: places(limits.requests),
            watches: places(limits.watches),
            budget: Arc::new(Budget::new(limits.buffers)),
            pool: Pool::new(limits.request_deadline),
            ending: watch::Sender::new(false),
            limits,
            tokens,
            page,
            browsers: Browsers::default(),
            metrics: Metrics::new(),
        }
    }

    /// The gate of a fork: with the same limits and tokens, and metrics of its own.
    pub(crate) fn fork(&self) -> Self {
        Gate::new(self.limits.clone(), self.tokens.clone(), self.page)
    }

    /// Whether requests need a token.
    pub(crate) fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// The user of a header `Authorization`, or 401.
    ///
    /// Behaviour: the scheme is in any case, and the second word is the token (`bearertoken.Authenticator`).
    pub(crate) fn authenticate(&self, authorization: Option<&str>) -> Result<&str, Failure> {
        if !self.has_tokens() {
            return Ok("admin");
        }
        // The scheme is compared without regard to case, and more words than two are ignored, as in kube-apiserver.
        let mut words = authorization.unwrap_or_default().trim().split(' ');
        let is_bearer = words
            .next()
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
        let token = words.next().filter(|_| is_bearer).unwrap_or_default();

        // All tokens are compared, whichever is the right one.
        let user = self.tokens.iter().fold(None, |found, (own, user)| {
            if is_same(own, token) {
                Some(user.as_str())
            } else {
                found
            }
        });

        user.ok_or_else(|| Failure::new(401, "Unauthorized", "Unauthorized"))
    }

    /// The path that opens the page in a browser: with a code that works once, if requests need a token.
    pub(crate) fn page_path(&self) -> io::Result<String> {
        if self.has_tokens() {
            Ok(format!("/ui?code={}", self.browsers.new_code()?))
        } else {
            Ok("/ui".to_owned())
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
