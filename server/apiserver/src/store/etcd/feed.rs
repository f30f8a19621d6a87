//! The task that follows the writes in etcd.

use std::time::Duration;

use etcd_client::{Event, EventType};
use fieldmanager_value::Value;
use tokio::sync::watch;

use super::client::Client;
use super::convert::revision;
use crate::store::log::Shared;
use crate::store::size::unshared_bytes;
use crate::store::{Key, Result, Revision};

/// The delay before etcd is asked again after an error; it doubles with each error.
const FIRST_DELAY: Duration = Duration::from_millis(50);
const LAST_DELAY: Duration = Duration::from_secs(2);

/// Brings the writes of all servers into the history of one server.
pub(super) struct Feed {
    client: Client,
    shared: Shared,
    reached: watch::Sender<Revision>,
}

/// Why a watch of etcd ended.
enum End {
    /// etcd no longer has the next events.
    Compacted,
    /// The connection ended.
    Lost,
}

impl Feed {
    pub(super) fn new(client: Client, shared: Shared, reached: watch::Sender<Revision>) -> Self {
        Feed {
            client,
            shared,
            reached,
        }
    }

    /// Follows etcd until the task is aborted.
    pub(super) async fn run(self) {
        let mut delay = FIRST_DELAY;
        loop {
            let before = *self.reached.borrow();
            let ended = match self.follow(before).await {
                Ok(End::Compacted) => self.read_again().await,
                Ok(End::Lost) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = &ended {
                tracing::warn!(%error, "watches are behind etcd");
            }
            // A watch that received events shows that etcd answers, so the next retry has the shortest delay.
            if ended.is_ok() && *self.reached.borrow() > before {
                delay = FIRST_DELAY;
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(LAST_DELAY);
        }
    }

    /// Follows one watch of etcd to its end.
    async fn follow(&self, after: Revision) -> Result<End> {
        let mut events = self.client.watch(after.next()).await?;
        while let Ok(Some(message)) = events.message().await {
            if message.compact_revision() != 0 {
                return Ok(End::Compacted);
            }
            if message.canceled() {
                tracing::warn!(reason = message.cancel_reason(), "etcd ended a watch");
                return Ok(End::Lost);
            }

            // A message has all events of a revision.
            for transaction in message
                .events()
                .chunk_by(|one, next| revision_of(one) == revision_of(next))
            {
                let Some(revision) = transaction.first().and_then(revision_of) else {
                    continue;
                };
                let writes = transaction.iter().filter_map(write).collect();
                if !self.apply(writes, revision) {
                    tracing::warn!(%revision, "another program changed several objects in one transaction of etcd");
                    self.read_again().await?;
                }
            }
        }

        Ok(End::Lost)
    }

    /// Makes a transaction visible, and returns whether it could: a history has one write at each revision, and servers make
    /// no other. Objects of other programs only raise the revision.
    fn apply(&self, mut writes: Vec<(Key, Option<Value>)>, revision: Revision) -> bool {
        let mut state = self.shared.lock();
        // After all objects were read again, events up to that revision are old.
        if state.open().is_err() || revision <= state.revision {
            return true;
        }
        writes.retain(|(key, object)| object.is_some() || state.objects.contains_key(key));
        let write = writes.pop();
        if !writes.is_empty() {
            return false;
        }

        let aftermath = match write {
            Some((key, object)) => {
                let stored = state.objects.get(&key);
                let cost =
                    stored.map_or(0, |stored| unshared_bytes(&stored.object, object.as_ref()));
                state.commit(&key, object, revision, cost)
            }
            None => state.advance(revision),
        };
        // Watches are woken without the lock, which their tasks take at once.
        drop(state);
        aftermath.finish();
        self.reached.send_replace(revision);

        true
    }

    /// Replaces all objects after events were lost. Watches end, so that their clients list again.
    async fn read_again(&self) -> Result<()> {
        let (objects, revision) = self.client.all().await?;
        let aftermath = {
            let mut state = self.shared.lock();
            state.open()?;
            state.replace(objects, revision)
        };
        aftermath.finish();
        self.reached.send_replace(revision);
        Ok(())
    }
}

fn revision_of(event: &Event) -> Option<Revision> {
    event.kv().map(|kv| revision(kv.mod_revision()))
}

/// The key that an event changed, and its object; `None` for keys of other programs.
fn write(event: &Event) -> Option<(Key, Option<Value>)> {
    let kv = event.kv()?;
    let object = match event.event_type() {
        EventType::Put => kv
            .value_str()
            .ok()
            .and_then(|json| Value::from_json(json).ok()),
        EventType::Delete => None,
    };
    Some((kv.key_str().ok()?.parse().ok()?, object))
}
