//! Threads for requests that can take long, and the deadline of these requests.
//!
//! A request begins on the thread of its connection, which serves other connections too. Before something that can take
//! long, it moves to the pool, where it has a thread of its own while it does not wait.

use std::cell::Cell;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use fieldmanager_value::internal::{Work, proceed};
use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, sleep_until, timeout};

/// The most requests that run at once. It is large, since those that never end keep their threads until their deadline.
const THREADS: usize = 64;

/// How long a request that waits does not notice that it was stopped.
const STOP_DELAY: Duration = Duration::from_millis(50);

/// The message of a request that did not end in time.
pub(crate) const TIMED_OUT: &str =
    "Timeout: request did not complete within requested timeout - context deadline exceeded";

thread_local! {
    /// Whether the request that this thread polls moves to the pool.
    static MOVES: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread is one of the pool, which runs nothing but the request.
    static IS_OF_POOL: Cell<bool> = const { Cell::new(false) };
}

tokio::task_local! {
    /// When a request of the pool has to end.
    static END: Instant;
}

/// How long a request of the pool may still take; without end elsewhere.
#[cfg(feature = "net")]
pub(crate) fn remaining() -> Duration {
    let left = END.try_with(|end| end.saturating_duration_since(Instant::now()));
    left.unwrap_or(Duration::MAX)
}

/// Moves a request to the pool, unless it is there.
pub(crate) async fn enter() {
    let mut is_moved = false;
    poll_fn(|context| {
        if is_moved {
            return Poll::Ready(());
        }
        is_moved = true;
        MOVES.set(true);
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Whether the request that this thread polled last [moves](enter) to the pool, where [`Pool::run`] continues it.
pub(crate) fn moves() -> bool {
    MOVES.take()
}

/// Waits for something on this thread, where its request runs. `None` if the work is stopped meanwhile, or if the thread is not
/// one of the pool, whose waiting would stop other requests.
pub(crate) fn wait<T>(something: impl Future<Output = T>) -> Option<T> {
    let mut something = pin!(something);
    // What is ready needs no runtime.
    if let Some(ready) = something.as_mut().now_or_never() {
        return Some(ready);
    }
    if !IS_OF_POOL.get() {
        return None;
    }
    Handle::current().block_on(async {
        while proceed(1) {
            if let Ok(done) = timeout(STOP_DELAY, something.as_mut()).await {
                return Some(done);
            }
        }
        None
    })
}

/// Continues a request that has written something: what has to follow is no longer stopped by the deadline.
pub(crate) async fn completing<T>(rest: impl Future<Output = T>) -> T {
    let mut rest = pin!(rest);
    poll_fn(|context| {
        // Nothing stops this work.
        Work::new()
            .run(|| rest.as_mut().poll(context))
            .unwrap_or(Poll::Pending)
    })
    .await
}

/// The threads of a server.
pub(crate) struct Pool {
    places: Arc<Semaphore>,
    deadline: Duration,
    ending: Arc<Notify>,
}

impl Pool {
    /// A pool whose requests have to end within a time.
    pub(crate) fn new(deadline: Duration) -> Self {
        Pool {
            places: Arc::new(Semaphore::new(THREADS)),
            deadline,
            ending: Arc::default(),
        }
    }

    /// Runs a request whose client has patience.
    #[cfg(test)]
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + Unpin + 'static,
    ) -> Option<T> {
        self.run_for(request, None).await
    }

    /// Runs a request on threads of the pool. `None` if it did not end before its deadline, within the
    /// patience of its client, or before the [end](Pool::end) of the pool. Then it is stopped, as it is if this is dropped: it writes nothing, or completes what
    /// has to follow from a write.
    pub(crate) async fn run_for<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + Unpin + 'static,
        patience: Option<Duration>,
    ) -> Option<T> {
        let time = patience.map_or(self.deadline, |patience| patience.min(self.deadline));
        let end = Instant::now() + time;
        let request = Box::pin(END.scope(end, request));
        let work = Work::new();
        // When the client leaves, this is dropped, and its work must not keep a thread.
        let _stopping = StopOnDrop(work.clone());
        let ended = self.ending.notified();
        let running = tokio::spawn(run_to_end(self.places.clone(), work, request));
        tokio::select! {
            answer = running => answer.unwrap_or_else(continue_panic),
            () = sleep_until(end) => None,
            () = ended => None,
        }
    }

    /// Stops all requests that run.
    pub(crate) fn end(&self) {
        self.ending.notify_waiters();
    }
}

/// Runs a request on threads, one for each time that it runs without waiting. `None` if its work was stopped.
async fn run_to_end<T: Send + 'static>(
    places: Arc<Semaphore>,
    work: Work,
    mut request: impl Future<Output = T> + Send + Unpin + 'static,
) -> Option<T> {
    let woken = Arc::new(Woken::default());
    loop {
        let place = places.clone().acquire_owned().await;
        let (work, waker) = (work.clone(), Waker::from(woken.clone()));
        // The request returns from the thread after each part, so that one that waits holds no thread.
        let thread = spawn_blocking(move || {
            let _place = place;
            // A request that was stopped continues to its end.
            let part = if work.is_stopped() {
                Work::with_limit(0)
            } else {
                work
            };
            let mut polled = Poll::Pending;
            IS_OF_POOL.set(true);
            let is_complete = part
                .run(|| polled = request.poll_unpin(&mut Context::from_waker(&waker)))
                .is_ok();

            // It has moved.
            MOVES.set(false);
            IS_OF_POOL.set(false);
            (request, polled.map(|answer| is_complete.then_some(answer)))
        });

        match thread.await {
            Ok((_, Poll::Ready(answer))) => return answer,
            Ok((waiting, Poll::Pending)) => request = waiting,
            Err(failed) => return continue_panic(failed),
        }
        woken.0.notified().await;
    }
}

/// Panics if a thread panicked. It ends otherwise only with the runtime.
fn continue_panic<T>(failed: JoinError) -> Option<T> {
    failed
        .try_into_panic()
        .map_or(None, |panic| resume_unwind(panic))
}

/// Is told when a request can continue.
#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Stops a work when its client no longer waits for it.
struct StopOnDrop(Work);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;
    use crate::endpoint::check_deadline;

    async fn endless() {
        while proceed(1) {}
    }

    #[tokio::test]
    async fn a_request_ends_or_is_stopped_at_its_deadline() {
        let pool = Pool::new(Duration::from_millis(50));
        let own = std::thread::current().id();
        let mut request = async move {
            enter().await;
            // A request that is in the pool stays there.
            enter().await;
            std::thread::current().id()
        }
        .boxed();
        assert!((&mut request).now_or_never().is_none() && moves() && !moves());
        assert!(pool.run(request).await.is_some_and(|thread| thread != own));
        assert_eq!(pool.run(endless().boxed()).await, None);
    }

    #[tokio::test]
    async fn requests_that_wait_for_a_thread_have_the_deadline_too() {
        let pool = Pool::new(Duration::from_millis(50));
        let all = pool
            .places
            .clone()
            .acquire_many_owned(u32::try_from(THREADS).unwrap())
            .await
            .unwrap();
        assert_eq!(pool.run(ready(7)).await, None);
        drop(all);
        assert_eq!(pool.run(ready(7)).await, Some(7));
    }

    #[tokio::test]
    async fn a_request_that_is_dropped_frees_its_thread() {
        let pool = Pool::new(Duration::MAX / 4);
        let begun =
            tokio::time::timeout(Duration::from_millis(50), pool.run(endless().boxed())).await;
        assert!(begun.is_err());
        while pool.places.available_permits() < THREADS {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_end_of_the_pool_stops_requests() {
        let pool = Pool::new(Duration::MAX / 4);
        let (ended, ()) = tokio::join!(pool.run(endless().boxed()), async { pool.end() });
        assert_eq!((ended, pool.run(ready(7)).await), (None, Some(7)));
    }

    #[tokio::test]
    async fn a_thread_of_the_pool_waits_for_what_the_runtime_does() {
        let task = || async { tokio::spawn(tokio::task::yield_now()).await.is_ok() };
        assert_eq!(wait(task()), None);
        assert_eq!(wait(ready(7)), Some(7));
        let pool = Pool::new(Duration::MAX / 4);
        let waits = async move { wait(task()) };
        assert_eq!(pool.run(waits.boxed()).await, Some(Some(true)));

        let pool = Pool::new(Duration::from_millis(50));
        let waits = async { wait(std::future::pending::<()>()) };
        assert_eq!(pool.run(waits.boxed()).await, None);
        while pool.places.available_permits() < THREADS {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_follows_a_write_is_not_stopped() {
        let work = Work::new();
        let rest = work.run(|| {
            work.stop();
            assert!(check_deadline().is_err());
            let rest = completing(async { check_deadline().is_ok() }).now_or_never();
            assert_eq!(rest, Some(true));
        });
        // The outer work drops its result.
        assert_eq!(rest, Err(fieldmanager_value::internal::Stopped));
    }
}
