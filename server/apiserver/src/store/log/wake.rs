//! Waking many watches without making requests wait for all of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

/// The number of watches that are woken at once.
const GROUP: usize = 32;

/// The time between two groups while writes follow each other. The clock of the runtime makes up to 2 ms of it.
const PAUSE: Duration = Duration::from_millis(1);

/// The number of groups of a burst of writes, at most: so a watch waits some 16 ms longer.
const GROUPS: usize = 8;

/// The tasks of watches that are still to be woken, the oldest first.
///
/// If a write woke a thousand watches, the next request would wait for all of them, and each would send its event alone.
/// A task wakes them group by group instead. If another write comes before all are woken, the task pauses between the
/// groups, so that a watch finds the events of several writes and sends them together.
#[derive(Default)]
pub(super) struct WakeQueue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    wakers: VecDeque<Waker>,
    /// The size of the groups while writes follow each other.
    burst: Option<usize>,
}

impl WakeQueue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes tasks: a few now, the others soon.
    pub(super) fn wake(self: &Arc<Self>, wakers: Vec<Waker>) {
        // A runtime with one thread runs no task while its program does something else, so it would wake nobody.
        let runtime = Handle::try_current().ok();
        let runtime =
            runtime.filter(|handle| handle.runtime_flavor() != RuntimeFlavor::CurrentThread);
        let mut waiting = self.waiting();
        let is_idle = waiting.wakers.is_empty();
        let Some(runtime) = runtime.filter(|_| !is_idle || wakers.len() > GROUP) else {
            drop(waiting);
            wakers.into_iter().for_each(Waker::wake);
            return;
        };

        waiting.wakers.extend(wakers);
        waiting.burst = (!is_idle).then(|| GROUP.max(waiting.wakers.len() / GROUPS));
        drop(waiting);
        if is_idle {
            let groups = Groups(self.clone());
            runtime.spawn(async move {
                while let Some(pause) = groups.wake_next() {
                    match pause {
                        // The runtime looks for requests before it goes on.
                        None => tokio::task::yield_now().await,
                        Some(pause) => tokio::time::sleep(pause).await,
                    }
                }
            });
        }
    }
}

/// Wakes what is in a queue. What is left when its runtime ends is woken then.
struct Groups(Arc<WakeQueue>);

impl Groups {
    /// Wakes one group. Returns the pause before the next one, if any; `None` if there was no group.
    fn wake_next(&self) -> Option<Option<Duration>> {
        let mut waiting = self.0.waiting();
        let size = waiting.burst.unwrap_or(GROUP);
        let count = waiting.wakers.len().min(size);
        let group: Vec<Waker> = waiting.wakers.drain(..count).collect();
        let pause = waiting.burst.map(|_| PAUSE);
        drop(waiting);
        group.into_iter().for_each(Waker::wake);
        (count > 0).then_some(pause)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        while self.wake_next().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_is_left_when_the_runtime_ends_is_woken() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let queue = Arc::new(WakeQueue::default());
        queue
            .waiting()
            .wakers
            .extend((0..3 * GROUP).map(|_| Waker::from(count.clone())));

        let groups = Groups(queue);
        assert!(groups.wake_next().is_some());
        assert_eq!(count.0.load(Ordering::Relaxed), GROUP);
        drop(groups);
        assert_eq!(count.0.load(Ordering::Relaxed), 3 * GROUP);
    }

    #[test]
    fn without_a_runtime_all_are_woken_at_once() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let wakers = (0..3 * GROUP).map(|_| Waker::from(count.clone()));
        Arc::new(WakeQueue::default()).wake(wakers.collect());
        assert_eq!(count.0.load(Ordering::Relaxed), 3 * GROUP);
    }
}
