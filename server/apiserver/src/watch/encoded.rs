//! Events that were written for one watch, for the other watches that send the same bytes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use fieldmanager_value::Value;

use super::{EventKind, WatchEvent};
use crate::registry::Served;
use crate::store::Revision;

/// The number of events that are kept: watches that read as fast as the server writes are a few events apart.
const EVENTS: usize = 256;

/// The size of the events that are kept, in bytes.
const BYTES: usize = 4 << 20;

/// Events with equal names have the same bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Name {
    revision: Revision,
    kind: EventKind,
    /// The address of the resource, which is not that of another one while the event is kept.
    served: usize,
    /// The name of the form in which the object is written.
    form: &'static str,
}

/// An event that was written.
struct Event {
    bytes: Bytes,
    /// Keeps the address that is in the name.
    _served: Arc<Served>,
    /// After a restore, a revision may be that of another object.
    object: Value,
}

/// The last events that were written.
#[derive(Default)]
pub(crate) struct Encoded(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    events: HashMap<Name, Event>,
    order: VecDeque<Name>,
    bytes: usize,
}

impl Encoded {
    /// The bytes of an event in a form. They are made by `encode` unless another watch sent them just before. Events that
    /// are of one watch, such as bookmarks, are always made.
    pub(crate) fn get(
        &self,
        event: &WatchEvent,
        served: &Arc<Served>,
        form: &'static str,
        encode: impl FnOnce() -> Bytes,
    ) -> Bytes {
        let Some(revision) = event.revision else {
            return encode();
        };
        // A definition that changes is served by another `Served`, so its events are not those of the earlier schema.
        let served_address = Arc::as_ptr(served).addr();
        let name = Name {
            revision,
            kind: event.kind,
            served: served_address,
            form,
        };
        // The lock is held neither while objects are compared nor during `encode`, so that watches do not wait for each
        // other.
        let known = self
            .lock()
            .events
            .get(&name)
            .map(|known| (known.bytes.clone(), known.object.clone()));

        if let Some((bytes, object)) = known
            && object == event.object
        {
            return bytes;
        }

        let bytes = encode();
        let mut kept = self.lock();
        kept.bytes += bytes.len();
        let new = Event {
            bytes: bytes.clone(),
            _served: served.clone(),
            object: event.object.clone(),
        };
        // Two watches may encode an event at the same time. The name of the second is in the order already.
        match kept.events.insert(name.clone(), new) {
            Some(old) => kept.bytes -= old.bytes.len(),
            None => kept.order.push_back(name),
        }

        // The sum of the sizes and the order must agree with the map, or events would remain for ever.
        while kept.order.len() > EVENTS || kept.bytes > BYTES {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            let size = kept
                .events
                .remove(&oldest)
                .map_or(0, |event| event.bytes.len());
            kept.bytes -= size;
        }

        bytes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
