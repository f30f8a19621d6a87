//! The state of a store in memory, the log of its last writes, and the watches that read the log.
//!
//! A watch is a position in the log. It holds no events, so a reader that does not read costs nothing and delays no writer;
//! its only trace is a [`Slot`], which remembers whether an event of its prefix was dropped from the log.

#[cfg(test)]
mod tests;
mod wake;

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use ahash::AHashMap;
use fieldmanager_value::Value;
use futures::Stream;

use self::wake::WakeQueue;
use super::objects::{Objects, put};
use super::{Event, Key, Prefix, Result, Revision, StoreError, Watch};

/// How much of the past a store in memory keeps; the oldest events are dropped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryLimits {
    /// The maximum number of events. Default: 100,000.
    pub events: usize,
    /// The maximum memory that the history keeps alive, in bytes. Default: 64 MiB. Old and new objects share what did not
    /// change, so an event costs about 256 bytes and the fields that it replaced.
    pub bytes: usize,
}

impl HistoryLimits {
    /// Limits the number of events.
    #[must_use]
    pub fn events(self, events: usize) -> Self {
        Self { events, ..self }
    }

    /// Limits the memory, in bytes.
    #[must_use]
    pub fn bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self {
            events: 100_000,
            bytes: 64 << 20,
        }
    }
}

/// A write, and the memory that it keeps.
pub(super) struct Record {
    event: Event,
    /// The objects after the write, in one of many records: reads at older revisions begin there.
    objects: Option<Objects>,
    cost: usize,
}

/// The watches of one prefix.
#[derive(Default)]
struct Slot {
    watches: usize,
    /// The newest event of the prefix that was dropped from the log. A watch that has not read it has lost events.
    dropped: Option<Revision>,
    /// The tasks of watches that have read everything, in the order in which the watches were made.
    wakers: BTreeMap<u64, Waker>,
}

/// The state behind the lock.
pub(super) struct State {
    pub(super) objects: Objects,
    pub(super) revision: Revision,
    /// The revision before the first record of the log.
    pub(super) oldest: Revision,
    log: VecDeque<Arc<Record>>,
    /// The number of records after the last one with objects.
    plain: usize,
    bytes: usize,
    limits: HistoryLimits,
    slots: AHashMap<Prefix, Slot>,
    next_watch: u64,
    queue: Arc<WakeQueue>,
    closed: bool,
}

/// The work after a change of the state that needs no lock: waking watches, and freeing the entries that are no longer kept.
#[must_use]
pub(super) struct Aftermath {
    queue: Arc<WakeQueue>,
    wakers: Vec<Waker>,
    _records: Vec<Arc<Record>>,
    _objects: Objects,
}

impl Aftermath {
    fn new(queue: &Arc<WakeQueue>) -> Self {
        Self {
            queue: queue.clone(),
            wakers: Vec::new(),
            _records: Vec::new(),
            _objects: Objects::default(),
        }
    }

    pub(super) fn finish(self) {
        self.queue.wake(self.wakers);
    }
}

/// Counters of a store in memory, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// The number of objects.
    pub objects: usize,
    /// The number of events in the history.
    pub events: usize,
    /// The memory that the history keeps alive, in bytes, as [`HistoryLimits::bytes`] counts it.
    pub history_bytes: usize,
    /// The number of watches that have not been dropped.
    pub watches: usize,
    /// The oldest revision that can be read and watched from.
    pub oldest: Revision,
    /// The current revision.
    pub revision: Revision,
}

impl State {
    pub(super) fn new(objects: Objects, revision: Revision, limits: HistoryLimits) -> Self {
        Self {
            objects,
            revision,
            oldest: revision,
            log: VecDeque::new(),
            plain: 0,
            bytes: 0,
            limits,
            slots: AHashMap::new(),
            next_watch: 0,
            queue: Arc::default(),
            closed: false,
        }
    }

    pub(super) fn open(&self) -> Result<&Self> {
        if self.closed {
            Err(StoreError::Closed)
        } else {
            Ok(self)
        }
    }

    pub(super) fn limits(&self) -> HistoryLimits {
        self.limits
    }

    pub(super) fn stats(&self) -> MemoryStats {
        MemoryStats {
            objects: self.objects.len(),
            events: self.log.len(),
            history_bytes: self.bytes,
            watches: self.slots.values().map(|slot| slot.watches).sum(),
            oldest: self.oldest,
            revision: self.revision,
        }
    }

    /// Returns an error unless a revision is kept.
    fn check(&self, requested: Revision) -> Result<()> {
        if requested > self.revision {
            return Err(StoreError::Future {
                requested,
                current: self.revision,
            });
        }
        self.check_kept(requested)
    }

    /// Returns an error if events after a revision were dropped.
    fn check_kept(&self, requested: Revision) -> Result<()> {
        if requested < self.oldest {
            return Err(StoreError::Compacted {
                requested,
                oldest: self.oldest,
            });
        }
        Ok(())
    }

    /// Returns the index of the first record after a revision.
    fn position(&self, after: Revision) -> usize {
        self.log
            .partition_point(|record| record.event.revision <= after)
    }

    /// Stores or, with `None`, removes an object at a revision, which is greater than the current one. `cost` is the memory
    /// of the previous object that the new one does not share.
    pub(super) fn commit(
        &mut self,
        key: &Key,
        object: Option<Value>,
        revision: Revision,
        cost: usize,
    ) -> Aftermath {
        let previous = put(&mut self.objects, key, object.clone(), revision);
        let previous = previous.map(|stored| stored.entry(key));
        let event = Event {
            revision,
            key: key.clone(),
            object,
            previous,
        };
        let mut cost = cost.saturating_add(RECORD + key.as_str().len());
        self.plain += 1;
        let map = self.objects.len() * SLOT;

        // A larger map would replace the records that it is for. Without it the log has fewer records than there are
        // objects, because a record costs at least four slots.
        let is_affordable = map <= self.limits.bytes / 4;
        let objects = (is_affordable && self.plain >= PLAIN.max(self.objects.len())).then(|| {
            self.plain = 0;
            cost = cost.saturating_add(map);
            self.objects.clone()
        });
        // The cost belongs to the record, so that dropping it gives back what it added.
        self.log.push_back(Arc::new(Record {
            event,
            objects,
            cost,
        }));
        self.bytes = self.bytes.saturating_add(cost);

        self.revision = revision;
        let mut aftermath = Aftermath::new(&self.queue);
        self.trim(&mut aftermath);
        if !self.slots.is_empty() {
            for prefix in key.prefixes() {
                if let Some(slot) = self.slots.get_mut(prefix) {
                    aftermath
                        .wakers
                        .extend(std::mem::take(&mut slot.wakers).into_values());
                }
            }
        }

        aftermath
    }

    /// Raises the revision without a change of an object.
    #[cfg(feature = "etcd")]
    pub(super) fn advance(&mut self, revision: Revision) -> Aftermath {
        self.revision = revision;
        let mut aftermath = Aftermath::new(&self.queue);
        self.wake_all(&mut aftermath);
        aftermath
    }

    /// Drops records until the limits hold.
    fn trim(&mut self, aftermath: &mut Aftermath) {
        while self.log.len() > self.limits.events || self.bytes > self.limits.bytes {
            let Some(record) = self.log.pop_front() else {
                break;
            };
            self.drop_record(record, aftermath);
        }
    }

    /// Makes a removed first record the start of the log.
    fn drop_record(&mut self, record: Arc<Record>, aftermath: &mut Aftermath) {
        self.bytes = self.bytes.saturating_sub(record.cost);
        self.oldest = record.event.revision;
        if !self.slots.is_empty() {
            for prefix in record.event.key.prefixes() {
                if let Some(slot) = self.slots.get_mut(prefix) {
                    slot.dropped = Some(record.event.revision);
                }
            }
        }
        aftermath._records.push(record);
    }

    /// Makes a revision the oldest one.
    pub(super) fn compact(&mut self, oldest: Revision) -> Result<Aftermath> {
        self.open()?;
        if oldest > self.revision {
            return Err(StoreError::Future {
                requested: oldest,
                current: self.revision,
            });
        }

        let mut aftermath = Aftermath::new(&self.queue);
        // A record at the oldest revision is dropped too: only events after it can be read.
        while self
            .log
            .front()
            .is_some_and(|record| record.event.revision <= oldest)
        {
            let Some(record) = self.log.pop_front() else {
                break;
            };
            self.drop_record(record, &mut aftermath);
        }
        self.oldest = self.oldest.max(oldest);

        Ok(aftermath)
    }

    /// Replaces all objects and forgets the history. The revision rises, so that every earlier one is compacted.
    pub(super) fn restore(&mut self, objects: Objects, revision: Revision) -> Aftermath {
        self.replace(objects, self.revision.max(revision).next())
    }

    /// Replaces all objects by those of a greater revision, and forgets the history before it.
    pub(super) fn replace(&mut self, objects: Objects, revision: Revision) -> Aftermath {
        let mut aftermath = Aftermath::new(&self.queue);
        self.revision = revision;
        self.oldest = revision;
        self.bytes = 0;
        self.plain = 0;
        aftermath._records.extend(self.log.drain(..));
        aftermath._objects = std::mem::replace(&mut self.objects, objects);
        // Every watch has lost events now, and has to end with 410.
        for slot in self.slots.values_mut() {
            slot.dropped = Some(revision);
        }
        self.wake_all(&mut aftermath);

        aftermath
    }

    /// Ends all watches and frees all objects.
    pub(super) fn close(&mut self) -> Aftermath {
        let mut aftermath = self.restore(Objects::default(), self.revision);
        self.closed = true;
        self.wake_all(&mut aftermath);
        aftermath
    }

    fn wake_all(&mut self, aftermath: &mut Aftermath) {
        for slot in self.slots.values_mut() {
            aftermath
                .wakers
                .extend(std::mem::take(&mut slot.wakers).into_values());
        }
    }

    /// Returns an error if a watch has lost an event.
    fn check_watch(&self, prefix: &Prefix, position: Revision) -> Result<()> {
        self.open()?;
        let dropped = self.slots.get(prefix).and_then(|slot| slot.dropped);
        if dropped.is_some_and(|dropped| dropped > position) {
            return Err(StoreError::Compacted {
                requested: position,
                oldest: self.oldest,
            });
        }
        Ok(())
    }

    /// Looks for the next event of a prefix, in a bounded number of records.
    fn next_event(&self, prefix: &Prefix, position: Revision) -> Passage<'_> {
        let start = self.position(position);
        let mut passed = position;
        for record in self.log.range(start..).take(RECORDS_PER_STEP) {
            if prefix.contains(&record.event.key) {
                return Passage {
                    passed,
                    event: Some(&record.event),
                    more: true,
                };
            }
            passed = record.event.revision;
        }

        // A watch without an event of its prefix is at the current revision, which a bookmark may tell it.
        let more = self.log.len() - start > RECORDS_PER_STEP;
        Passage {
            passed: if more { passed } else { self.revision },
            event: None,
            more,
        }
    }
}

/// The memory of one record, in bytes, besides its key and the object that it replaced. Measured with 10,000 objects: about
/// 110 bytes.
const RECORD: usize = 256;

/// The least number of records between two that keep the objects. With more objects there are as many records as objects
/// between them, so a read at an older revision undoes no more writes than a list of everything reads objects.
const PLAIN: usize = 4096;

/// The memory of an object in a map that shares no nodes, in bytes.
const SLOT: usize = 64;

/// The number of records that a watch passes before it lets writers have the lock, about three microseconds.
const RECORDS_PER_STEP: usize = 256;

/// A part of the way of a watch through the log.
struct Passage<'a> {
    /// The last revision before `event`, or the last one that was looked at.
    passed: Revision,
    event: Option<&'a Event>,
    /// Whether there are records to look at after `passed`.
    more: bool,
}

/// A state that is shared by a store and its watches.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<State>>);

impl Shared {
    pub(super) fn new(state: State) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }

    /// Locks the state. No code that can panic runs with the lock, and the state is consistent between statements that
    /// matter, so a poisoned lock is not an error.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the objects at a revision that is kept, `None` for the current one, and the revision. Writes after it are
    /// undone, without the lock, from the next record that keeps the objects.
    pub(super) fn at(&self, at: Option<Revision>) -> Result<(Objects, Revision)> {
        let state = self.lock();
        let mut objects = state.open()?.objects.clone();
        let Some(at) = at else {
            return Ok((objects, state.revision));
        };
        state.check(at)?;
        // Records are counted references, so they are copied under the lock and undone without it.
        let mut later: Vec<Arc<Record>> = Vec::new();

        for record in state.log.range(state.position(at)..) {
            later.push(record.clone());
            if let Some(kept) = &record.objects {
                objects = kept.clone();
                break;
            }
        }

        drop(state);
        // The newest write is undone first, as an object may have several.
        for record in later.into_iter().rev() {
            let event = &record.event;
            let (object, revision) = match &event.previous {
                Some(previous) => (Some(previous.object.clone()), previous.revision),
                None => (None, event.revision),
            };
            put(&mut objects, &event.key, object, revision);
        }

        Ok((objects, at))
    }

    /// Returns the events of a prefix after a kept revision.
    pub(super) fn watch(&self, prefix: Prefix, after: Revision) -> Result<LogWatch> {
        self.register(prefix, after, State::check)
    }

    /// Returns the events of a prefix after a revision that is kept, or that the caller knows to come.
    #[cfg(feature = "etcd")]
    pub(super) fn watch_ahead(&self, prefix: Prefix, after: Revision) -> Result<LogWatch> {
        self.register(prefix, after, State::check_kept)
    }

    fn register(
        &self,
        prefix: Prefix,
        after: Revision,
        check: fn(&State, Revision) -> Result<()>,
    ) -> Result<LogWatch> {
        let mut state = self.lock();
        // Later drops of events are noted in the slot, so the check and the slot share the lock.
        check(state.open()?, after)?;
        state.slots.entry(prefix.clone()).or_default().watches += 1;
        let id = state.next_watch;
        state.next_watch += 1;
        drop(state);

        Ok(LogWatch {
            shared: self.clone(),
            prefix,
            position: after,
            id,
            ended: false,
        })
    }
}

/// A position in the log.
pub(super) struct LogWatch {
    shared: Shared,
    prefix: Prefix,
    /// All events of the prefix up to this revision were delivered.
    position: Revision,
    id: u64,
    ended: bool,
}

impl Stream for LogWatch {
    type Item = Result<Event>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Event>>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        loop {
            let mut state = this.shared.lock();
            if let Err(lost) = state.check_watch(&this.prefix, this.position) {
                this.ended = true;
                return Poll::Ready(Some(Err(lost)));
            }
            let step = state.next_event(&this.prefix, this.position);
            if let Some(event) = step.event {
                this.position = event.revision;
                return Poll::Ready(Some(Ok(event.clone())));
            }

            // A watch may begin at a revision that a store which follows another one has not reached.
            this.position = this.position.max(step.passed);
            // The waker is added under the lock in which no event was found, so no write is missed.
            if !step.more {
                if let Some(slot) = state.slots.get_mut(&this.prefix) {
                    slot.wakers.insert(this.id, context.waker().clone());
                }
                return Poll::Pending;
            }
        }
    }
}

impl Watch for LogWatch {
    fn progress(self: Pin<&mut Self>) -> Revision {
        let this = self.get_mut();
        // Events of other prefixes are passed, and the next one of this prefix is left for the stream.
        while !this.ended {
            let state = this.shared.lock();
            if state.check_watch(&this.prefix, this.position).is_err() {
                break;
            }
            let step = state.next_event(&this.prefix, this.position);
            this.position = this.position.max(step.passed);
            if step.event.is_some() || !step.more {
                break;
            }
        }

        this.position
    }
}

impl Drop for LogWatch {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let Some(slot) = state.slots.get_mut(&self.prefix) else {
            return;
        };
        let waker = slot.wakers.remove(&self.id);
        slot.watches -= 1;
        if slot.watches == 0 {
            state.slots.remove(&self.prefix);
        }
        drop(state);
        drop(waker);
    }
}
