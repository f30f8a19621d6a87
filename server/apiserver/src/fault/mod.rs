//! Faults that a server injects into its answers.
//!
//! A [`Fault`] is a rule: which requests it concerns, and what happens to them. Rules are looked at in the order in which
//! they were [added](Faults::add); the first that fires decides, but for delays, after which the next ones are looked at.
//! A rule that fired as often as it may remains, so that [`FaultHandle::fired`] says so.
//!
//! ```
//! # tokio_test::block_on(async {
//! use fieldmanager_apiserver::ApiServer;
//! use fieldmanager_apiserver::fault::Fault;
//! use tower::ServiceExt;
//! let server = ApiServer::builder().build().await?;
//! let conflicts = server.faults().add(Fault::too_many_requests(1).verb("list").resource("configmaps").times(1))?;
//! let list = || http::Request::get("/api/v1/configmaps").body(http_body_util::Empty::<bytes::Bytes>::new());
//! assert_eq!(server.clone().oneshot(list()?).await?.status(), 429);
//! assert_eq!(server.clone().oneshot(list()?).await?.status(), 200);
//! assert_eq!((conflicts.fired(), conflicts.matched()), (1, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod effect;
mod rule;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) use effect::{Cut, Effect};
pub(crate) use rule::Target;
pub use rule::{Fault, FaultError, FaultKind};

/// The number of rules of a server, at most.
const MAX_FAULTS: usize = 1000;

/// The faults of a server.
#[derive(Debug)]
pub struct Faults {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    rules: Vec<Arc<Rule>>,
    last: u64,
    /// For probabilities.
    numbers: fastrand::Rng,
}

/// A rule and its counters.
#[derive(Debug)]
struct Rule {
    id: u64,
    fault: Fault,
    matched: AtomicU64,
    fired: AtomicU64,
}

/// A rule that was added, with its counters. Dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct FaultHandle(Arc<Rule>);

impl FaultHandle {
    /// The number of the rule, by which [`Faults::remove`] removes it.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The rule.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// How many requests the rule selected, whether it fired or not.
    pub fn matched(&self) -> u64 {
        self.0.matched.load(Ordering::Relaxed)
    }

    /// How often the rule fired.
    pub fn fired(&self) -> u64 {
        self.0.fired.load(Ordering::Relaxed)
    }
}

impl Faults {
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Faults {
            state: Mutex::new(State {
                rules: Vec::new(),
                last: 0,
                numbers: numbers(seed),
            }),
        }
    }

    /// Adds a rule, after those that exist.
    ///
    /// # Errors
    ///
    /// [`FaultError`] for a rule that contradicts itself, or if there are 1,000 rules.
    pub fn add(&self, fault: Fault) -> Result<FaultHandle, FaultError> {
        fault.check()?;
        let mut state = self.state();
        if state.rules.len() >= MAX_FAULTS {
            return Err(FaultError::new(format!(
                "there are {MAX_FAULTS} rules: remove some first"
            )));
        }

        state.last += 1;
        let (matched, fired) = (AtomicU64::new(0), AtomicU64::new(0));
        let rule = Arc::new(Rule {
            id: state.last,
            fault,
            matched,
            fired,
        });
        state.rules.push(rule.clone());

        Ok(FaultHandle(rule))
    }

    /// The rules, in their order.
    pub fn list(&self) -> Vec<FaultHandle> {
        self.state()
            .rules
            .iter()
            .cloned()
            .map(FaultHandle)
            .collect()
    }

    /// Whether there are no rules.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().rules.is_empty()
    }

    /// Removes a rule, and returns whether there was one with this number.
    pub fn remove(&self, id: u64) -> bool {
        let mut state = self.state();
        let before = state.rules.len();
        state.rules.retain(|rule| rule.id != id);
        state.rules.len() < before
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.state().rules.clear();
    }

    /// Begins the numbers of a seed, which decide about probabilities.
    pub fn set_seed(&self, seed: u64) {
        self.state().numbers = numbers(Some(seed));
    }

    /// What happens to a request.
    pub(crate) fn of(&self, target: &Target<'_>) -> Effect {
        let mut state = self.state();
        let State { rules, numbers, .. } = &mut *state;
        let mut delay = Duration::ZERO;
        let mut fired = None;
        for rule in rules.iter().filter(|rule| rule.fault.selects(target)) {
            // A selected request counts even if the rule does not fire, since `after` is a number of selected requests.
            let matched = rule.matched.fetch_add(1, Ordering::Relaxed);
            let fault = &rule.fault;
            let is_over = fault
                .times
                .is_some_and(|times| rule.fired.load(Ordering::Relaxed) >= times);
            if matched < fault.after || is_over {
                continue;
            }

            // Numbers are drawn only for rules that may fire, so that other requests do not change what a seed leads
            // to.
            if fault
                .probability
                .is_some_and(|probability| numbers.f64() >= probability)
            {
                continue;
            }

            rule.fired.fetch_add(1, Ordering::Relaxed);

            // Delays add up, and the request may have a fault too. Of the faults, the first one counts.
            if fault.kind == FaultKind::Delay {
                delay += fault.duration();
                continue;
            }
            fired = Some(fault.clone());
            break;
        }

        Effect {
            delay,
            fault: fired,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers that are not those of uids, so that a fault changes no uid.
fn numbers(seed: Option<u64>) -> fastrand::Rng {
    seed.map_or_else(fastrand::Rng::new, |seed| {
        fastrand::Rng::with_seed(seed ^ 0x6661_756c_7473)
    })
}
