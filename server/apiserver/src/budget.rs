//! The memory of a server for what clients have sent or not read.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The unit in which memory is counted, in bytes.
const UNIT: usize = 1024;

/// The size up to which a buffer is small, in bytes.
pub(crate) const SMALL: usize = 64 << 10;

/// The memory of a connection for a head or an event that is not counted, in bytes: the first buffer of HTTP/1.1.
pub(crate) const FREE: usize = 8 << 10;

/// The memory for buffers of clients. A half is for small buffers: clients that do not read large answers take nothing from
/// small ones.
pub(crate) struct Budget {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// The size of a half, in units.
    half: u32,
}

/// Memory of a budget, which is free again when this is dropped.
#[derive(Default)]
pub(crate) struct Reservation(Vec<OwnedSemaphorePermit>);

impl Budget {
    /// A budget of a number of bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let half = u32::try_from((bytes / 2).div_ceil(UNIT))
            .unwrap_or(u32::MAX)
            .max(1);
        let part = || {
            Arc::new(Semaphore::new(
                usize::try_from(half).unwrap_or(Semaphore::MAX_PERMITS),
            ))
        };

        Budget {
            small: part(),
            large: part(),
            half,
        }
    }

    /// Memory for a request or an answer; `None` if others take it. A size over that of the half counts as the half: one
    /// large buffer is possible.
    pub(crate) fn reserve(&self, bytes: usize) -> Option<Reservation> {
        self.reserve_in(
            if bytes <= SMALL {
                &self.small
            } else {
                &self.large
            },
            bytes,
        )
    }

    /// Memory of the half for large buffers, also for a small one: many connections that do nothing else take nothing from
    /// requests.
    pub(crate) fn reserve_large(&self, bytes: usize) -> Option<Reservation> {
        self.reserve_in(&self.large, bytes)
    }

    /// Waits for memory of the half for large buffers.
    #[cfg(any(test, feature = "net"))]
    pub(crate) async fn wait_large(&self, bytes: usize) -> Reservation {
        let permit = self
            .large
            .clone()
            .acquire_many_owned(self.units(bytes))
            .await;
        // A budget is never closed.
        Reservation(permit.into_iter().collect())
    }

    fn reserve_in(&self, part: &Arc<Semaphore>, bytes: usize) -> Option<Reservation> {
        let permit = part.clone().try_acquire_many_owned(self.units(bytes));
        permit.ok().map(|permit| Reservation(vec![permit]))
    }

    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT))
            .unwrap_or(u32::MAX)
            .clamp(1, self.half)
    }
}

impl Reservation {
    /// Adds the memory of another reservation.
    pub(crate) fn add(&mut self, more: Reservation) {
        self.0.extend(more.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_buffers_have_a_half_each() {
        let budget = Budget::new(1 << 20);
        let mut large = budget.reserve(500 << 10).unwrap();
        assert!(budget.reserve(100 << 10).is_none());
        let small: Vec<_> = std::iter::from_fn(|| budget.reserve(64 << 10)).collect();
        assert_eq!(small.len(), 8);
        drop(small);
        large.add(budget.reserve(1).unwrap());
        assert!(budget.reserve_large(13 << 10).is_none());
        drop(large);
        assert_eq!(
            (
                budget.small.available_permits(),
                budget.large.available_permits()
            ),
            (512, 512)
        );
    }

    #[test]
    fn a_buffer_over_the_half_takes_all_of_it() {
        let budget = Budget::new(1 << 20);
        let all = budget.reserve(usize::MAX).unwrap();
        assert!(budget.reserve(100 << 10).is_none());
        drop(all);
        assert!(budget.reserve(100 << 10).is_some());
        // The smallest budget still serves a request after another.
        assert!(Budget::new(0).reserve(3 << 20).is_some());
    }

    #[tokio::test]
    async fn a_buffer_that_waits_gets_the_memory_of_one_that_ends() {
        let budget = Budget::new(1 << 20);
        let taken = budget.reserve(500 << 10).unwrap();
        let (_, ()) = tokio::join!(budget.wait_large(300 << 10), async { drop(taken) });
        assert!(budget.reserve(500 << 10).is_some());
    }
}
