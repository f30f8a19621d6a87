//! What happens to one request.

use std::time::Duration;

use super::{Fault, FaultKind};
use crate::endpoint::{Call, Core, Failure};
use crate::store::{List, Prefix, Revision, StoreError};

/// What happens to one request; nothing by default.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    pub(super) delay: Duration,
    pub(super) fault: Option<Fault>,
}

/// How a watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// After how many events.
    pub(crate) events: usize,
    /// Whether the last event is 410.
    pub(crate) expires: bool,
}

impl Effect {
    /// The kind of the fault, or of the delay.
    pub(crate) fn name(&self) -> Option<&'static str> {
        let delay = (!self.delay.is_zero()).then_some(FaultKind::Delay.name());
        self.fault.as_ref().map(|fault| fault.kind.name()).or(delay)
    }

    /// Waits, and fails if the request is not to be done.
    pub(crate) async fn before(&self, call: &Call<'_>) -> Result<(), Failure> {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let Some(fault) = &self.fault else {
            return Ok(());
        };

        // A rule may give the seconds after which a client tries again. Without them, 429 has 1 as in kube-apiserver,
        // and 503 gives none.
        let retry_after = |failure: Failure, default: u32| Failure {
            retry_after: fault.retry_after.unwrap_or(default),
            ..failure
        };
        // The kinds of the last arm let the request be done: they act on its answer, its events or the revision that it
        // reads.
        Err(match fault.kind {
            FaultKind::Conflict => {
                let message = |resource: &str, name: &str| {
                    format!(
                        "Operation cannot be fulfilled on {resource} {name}: the object has been modified; please apply \
                         your changes to the latest version and try again"
                    )
                };
                Failure::of_object(409, "Conflict", call, message)
            }
            FaultKind::TooManyRequests => {
                let message = "Too many requests, please try again later.";
                retry_after(Failure::new(429, "TooManyRequests", message), 1)
            }
            FaultKind::InternalError => Failure::new(
                500,
                "InternalError",
                "Internal error occurred: injected fault",
            ),
            FaultKind::Unavailable => {
                let message = "the server is currently unable to handle the request";
                retry_after(Failure::new(503, "ServiceUnavailable", message), 0)
            }
            FaultKind::Timeout => timed_out(),
            FaultKind::Hang => {
                tokio::time::sleep(fault.duration()).await;
                timed_out()
            }
            FaultKind::LoseAnswer
            | FaultKind::CutWatch
            | FaultKind::ExpireWatch
            | FaultKind::Stale
            | FaultKind::Delay => return Ok(()),
        })
    }

    /// The revision of a stale read of what is not older than another revision.
    pub(crate) async fn stale(
        &self,
        core: &Core,
        wanted: Option<Revision>,
    ) -> Result<Option<Revision>, Failure> {
        let Some(fault) = self
            .fault
            .as_ref()
            .filter(|fault| fault.kind == FaultKind::Stale)
        else {
            return Ok(None);
        };

        let current = core.store.revision().await?;
        let behind = current.get().saturating_sub(fault.revisions.unwrap_or(1));
        let behind = Revision::new(behind).unwrap_or(Revision::FIRST);
        // A rule must not turn a read into 410: it goes back as far as the store has a history.
        let behind = match core
            .store
            .list(List::new(Prefix::all()).limit(0).at(behind))
            .await
        {
            Err(StoreError::Compacted { oldest, .. }) => oldest,
            Err(error) => return Err(error.into()),
            Ok(_) => behind,
        };

        // The `resourceVersion` of a read is a lower bound, which a stale read keeps as well.
        Ok(Some(wanted.map_or(behind, |wanted| behind.max(wanted))))
    }

    /// How the watch ends, if a fault ends it.
    pub(crate) fn cut(&self) -> Option<Cut> {
        let fault = self.fault.as_ref()?;
        matches!(fault.kind, FaultKind::CutWatch | FaultKind::ExpireWatch).then(|| Cut {
            events: fault.events.unwrap_or_default(),
            expires: fault.kind == FaultKind::ExpireWatch,
        })
    }

    /// Whether the answer is lost.
    pub(crate) fn loses_answer(&self) -> bool {
        self.fault
            .as_ref()
            .is_some_and(|fault| fault.kind == FaultKind::LoseAnswer)
    }
}

fn timed_out() -> Failure {
    let message = "Timeout: request did not complete within the allotted timeout";
    Failure::new(504, "Timeout", message)
}
