//! A signal that ends a run.

use tokio::sync::watch;

/// Whether something has stopped: a run, or the answers of a server.
#[derive(Debug, Default)]
pub(crate) struct Stop(watch::Sender<bool>);

impl Stop {
    pub(crate) fn set(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Ends when it is set.
    pub(crate) async fn wait(&self) {
        // The sender lives as long as this value, so the wait cannot fail.
        let _ = self.0.subscribe().wait_for(|is_set| *is_set).await;
    }
}
