//! What was encoded for one client, for the others that get the same bytes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use fieldmanager_value::Value;

use crate::registry::Served;
use crate::store::Revision;

/// Texts of equal objects with equal names have the same bytes.
#[derive(Clone)]
pub(crate) struct Name {
    revision: Revision,
    /// The names of the form in which the object is written, and of the kind of its event.
    form: (&'static str, &'static str),
    /// A definition that changes is served by another one, so its texts are not those of the earlier schema.
    served: Arc<Served>,
}

impl Name {
    /// The text of the object of a revision in a form.
    pub(crate) fn new(
        revision: Revision,
        served: &Arc<Served>,
        form: (&'static str, &'static str),
    ) -> Self {
        let served = served.clone();
        Name {
            revision,
            form,
            served,
        }
    }

    /// The name with the address of the resource, which is not that of another one while the name exists.
    fn key(&self) -> (Revision, usize, (&'static str, &'static str)) {
        (self.revision, Arc::as_ptr(&self.served).addr(), self.form)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Name {}

impl std::hash::Hash for Name {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The last texts that were written, within a bound.
pub(crate) struct Encoded {
    kept: Mutex<Kept>,
    /// The most texts that are kept, and their size in bytes.
    pub(crate) texts: usize,
    pub(crate) bytes: usize,
}

#[derive(Default)]
struct Kept {
    /// Texts, with their objects: after a restore, a revision may be that of another object.
    texts: HashMap<Name, (Value, Bytes)>,
    order: VecDeque<Name>,
    bytes: usize,
}

impl Encoded {
    /// Keeps at most a number of texts, and of bytes.
    pub(crate) fn new(texts: usize, bytes: usize) -> Self {
        Encoded {
            kept: Mutex::default(),
            texts,
            bytes,
        }
    }

    /// The text of an object, if it is kept.
    pub(crate) fn find(&self, name: &Name, object: &Value) -> Option<Bytes> {
        // The lock is not held while objects are compared, so that clients do not wait for each other.
        let known = self.lock().texts.get(name).cloned();
        known.and_then(|(known, text)| (known == *object).then_some(text))
    }

    /// Keeps the text of an object.
    pub(crate) fn keep(&self, name: Name, object: Value, text: Bytes) {
        let mut kept = self.lock();
        kept.bytes += text.len();
        // Two clients may need a text at the same time. The name of the second is in the order already.
        match kept.texts.insert(name.clone(), (object, text)) {
            Some((_, old)) => kept.bytes -= old.len(),
            None => kept.order.push_back(name),
        }

        // The sum of the sizes and the order must agree with the map, or texts would remain for ever.
        while kept.order.len() > self.texts || kept.bytes > self.bytes {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            let size = kept.texts.remove(&oldest).map_or(0, |(_, old)| old.len());
            kept.bytes -= size;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
