//! The thread that decides on writes and commits them in groups.

use std::sync::{Arc, mpsc};

use tokio::sync::{oneshot, watch};

use super::disk::{Decided, Disk, is_full};
use crate::store::objects::{Objects, expected, put};
use crate::store::{Key, Memory, Result, Revision, Snapshot, StoreError, Write};

/// The most writes that one synchronization of the file commits.
const GROUP: usize = 1024;

/// A request to the writer.
pub(super) struct Message {
    pub(super) key: Key,
    pub(super) write: Write,
    /// Gets the revision after the change is durable.
    pub(super) answer: oneshot::Sender<Result<Revision>>,
}

type Answer = (oneshot::Sender<Result<Revision>>, Result<Revision>);

pub(super) struct Writer {
    disk: Disk,
    memory: Arc<Memory>,
    messages: mpsc::Receiver<Message>,
    /// The changes of a commit that failed: the file has all of them or none.
    unknown: Vec<Decided>,
    /// Is dropped after the file is released.
    _running: watch::Sender<()>,
}

impl Writer {
    pub(super) fn new(
        disk: Disk,
        memory: Arc<Memory>,
        messages: mpsc::Receiver<Message>,
        running: watch::Sender<()>,
    ) -> Self {
        Writer {
            disk,
            memory,
            messages,
            unknown: Vec::new(),
            _running: running,
        }
    }

    /// Works until there are no messages and none can be sent, and releases the file.
    pub(super) fn run(mut self) {
        while let Ok(first) = self.messages.recv() {
            let mut group = vec![first];
            group.extend(self.messages.try_iter().take(GROUP - 1));
            self.commit(group);
        }
    }

    /// Decides on a group of writes, makes them durable, makes them visible, and answers them, in this order.
    fn commit(&mut self, group: Vec<Message>) {
        // A group after a failed commit is decided on what the file has, so the file is opened first.
        let recovered = self.recover();
        let mut answers: Vec<Answer> = Vec::with_capacity(group.len());
        let mut changes = Vec::with_capacity(group.len());
        let Snapshot {
            mut objects,
            mut revision,
        } = self.memory.current();

        // Each write of the group is decided on the objects that the writes before it leave.
        for Message { key, write, answer } in group {
            let decided = decide(&mut objects, revision, &key, write);
            answers.push((
                answer,
                decided
                    .as_ref()
                    .map(|change| change.revision)
                    .map_err(Clone::clone),
            ));

            if let Ok(change) = decided {
                revision = change.revision;
                changes.push(change);
            }
        }

        // The file may have the changes of a failed commit or not. Until that is known, no other change is made.
        let committed = recovered.and_then(|()| {
            let committed = self.disk.commit(&changes);
            if committed.is_err() {
                self.disk.close();
                self.unknown = std::mem::take(&mut changes);
            }
            committed
        });

        // Objects become visible when they are durable, and before their writers are answered, who may read them at
        // once.
        match committed {
            Ok(()) => {
                for change in changes {
                    self.memory
                        .apply(&change.key, change.object, change.revision);
                }
                for (answer, result) in answers {
                    // A request that is no longer waited for was made nevertheless.
                    let _ = answer.send(result);
                }
            }
            Err(error) => {
                tracing::error!(%error, "a commit to the file of the store failed");
                let error = if is_full(&error) {
                    StoreError::Full(error.to_string())
                } else {
                    StoreError::Unavailable(Arc::new(error))
                };
                for (answer, _) in answers {
                    let _ = answer.send(Err(error.clone()));
                }
            }
        }
    }

    /// Opens the file again after a commit that failed. Changes of that commit which the file has become visible. After an
    /// error the file is closed and these changes remain unknown.
    fn recover(&mut self) -> Result<(), redb::Error> {
        if !self.disk.is_closed() {
            return Ok(());
        }
        self.disk.reopen()?;
        let stored = self.disk.revision().inspect_err(|_| self.disk.close())?;

        // The revision is written with the changes, so it says whether the commit took place.
        if stored > Some(self.memory.current().revision) {
            for change in std::mem::take(&mut self.unknown) {
                self.memory
                    .apply(&change.key, change.object, change.revision);
            }
        }
        self.unknown.clear();

        Ok(())
    }
}

/// Makes a change to the objects, with the revision after the current one.
fn decide(objects: &mut Objects, revision: Revision, key: &Key, write: Write) -> Result<Decided> {
    let (before, object) = write.parts();
    expected(objects, key, before)?;
    let revision = revision.next();
    put(objects, key, object.clone(), revision);
    Ok(Decided {
        key: key.clone(),
        object,
        revision,
    })
}
