//! Waking many watches without making requests wait for all of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::runtime::{Handle, RuntimeFlavor};

/// The number of watches that are woken at once.
const GROUP: usize = 32;

/// The tasks of watches that are still to be woken, the oldest first.
///
/// If a write woke a thousand watches, the next request would wait for all of them, and each would send its event alone.
/// A task wakes them group by group instead. Requests come between the groups, so a watch that is woken late finds several
/// events and sends them together.
#[derive(Default)]
pub(super) struct WakeQueue(Mutex<VecDeque<Waker>>);

impl WakeQueue {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes tasks: a few now, the others soon.
    pub(super) fn wake(self: &Arc<Self>, wakers: Vec<Waker>) {
        // A runtime with one thread runs no task while its program does something else, so it would wake nobody.
        let runtime = Handle::try_current().ok();
        let runtime =
            runtime.filter(|handle| handle.runtime_flavor() != RuntimeFlavor::CurrentThread);
        let Some(runtime) = runtime.filter(|_| wakers.len() > GROUP) else {
            wakers.into_iter().for_each(Waker::wake);
            return;
        };

        let mut waiting = self.waiting();
        let is_idle = waiting.is_empty();
        waiting.extend(wakers);
        drop(waiting);
        if is_idle {
            let groups = Groups(self.clone());
            runtime.spawn(async move {
                while groups.wake_next() {
                    // The runtime looks for requests before it goes on.
                    tokio::task::yield_now().await;
                }
            });
        }
    }
}

/// Wakes what is in a queue. What is left when its runtime ends is woken then.
struct Groups(Arc<WakeQueue>);

impl Groups {
    /// Wakes one group. Returns false if there was none.
    fn wake_next(&self) -> bool {
        let mut waiting = self.0.waiting();
        let count = waiting.len().min(GROUP);
        let group: Vec<Waker> = waiting.drain(..count).collect();
        drop(waiting);
        group.into_iter().for_each(Waker::wake);
        count > 0
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        while self.wake_next() {}
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
            .extend((0..3 * GROUP).map(|_| Waker::from(count.clone())));

        let groups = Groups(queue);
        assert!(groups.wake_next());
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
