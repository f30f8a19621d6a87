//! What was encoded for one client, for the others that get the same bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::AHashMap;
use bytes::Bytes;
use fieldmanager_value::Value;

use crate::registry::Served;
use crate::store::{Entry, Revision};

/// The form in which objects of a resource are written. Texts of equal objects in a form have the same bytes.
#[derive(Clone)]
pub(crate) struct TextForm {
    /// The names of the form, and of the kind of an event.
    names: (&'static str, &'static str),
    /// A definition that changes is served by another one, so its texts are not those of the earlier schema.
    served: Arc<Served>,
}

impl TextForm {
    pub(crate) fn new(served: &Arc<Served>, names: (&'static str, &'static str)) -> Self {
        let served = served.clone();
        TextForm { names, served }
    }

    /// The names with the address of the resource, which is not that of another one while the form exists.
    fn key(&self) -> (usize, (&'static str, &'static str)) {
        (Arc::as_ptr(&self.served).addr(), self.names)
    }
}

impl PartialEq for TextForm {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for TextForm {}

impl std::hash::Hash for TextForm {
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

/// Texts by the revisions of their objects. After a restore, a revision may be that of another object.
type Texts = AHashMap<Revision, (Value, Bytes)>;

#[derive(Default)]
struct Kept {
    forms: AHashMap<TextForm, Texts>,
    order: VecDeque<(TextForm, Revision)>,
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
    pub(crate) fn find(
        &self,
        form: &TextForm,
        revision: Revision,
        object: &Value,
    ) -> Option<Bytes> {
        let kept = self.lock();
        let known = kept.forms.get(form)?.get(&revision).cloned();
        // The lock is not held while objects are compared, so that clients do not wait for each other.
        drop(kept);
        text_of(known, object)
    }

    /// The texts of the objects of a list, as far as they are kept.
    pub(crate) fn find_all(&self, form: &TextForm, entries: &[Entry]) -> Vec<Option<Bytes>> {
        let kept = self.lock();
        let texts = kept.forms.get(form);
        let find = |entry: &Entry| texts?.get(&entry.revision).cloned();
        let known: Vec<_> = entries.iter().map(find).collect();
        drop(kept);
        let known = known.into_iter().zip(entries);
        known
            .map(|(known, entry)| text_of(known, &entry.object))
            .collect()
    }

    /// Keeps the text of an object.
    pub(crate) fn keep(&self, form: &TextForm, revision: Revision, object: Value, text: Bytes) {
        let kept = &mut *self.lock();
        kept.bytes += text.len();
        let texts = kept.forms.entry(form.clone()).or_default();
        // Two clients may need a text at the same time. The revision of the second is in the order already.
        match texts.insert(revision, (object, text)) {
            Some((_, old)) => kept.bytes -= old.len(),
            None => kept.order.push_back((form.clone(), revision)),
        }

        // The sum of the sizes and the order must agree with the map, or texts would remain for ever.
        while kept.order.len() > self.texts || kept.bytes > self.bytes {
            let Some((form, revision)) = kept.order.pop_front() else {
                break;
            };
            let Some(texts) = kept.forms.get_mut(&form) else {
                continue;
            };
            kept.bytes -= texts.remove(&revision).map_or(0, |(_, old)| old.len());
            if texts.is_empty() {
                kept.forms.remove(&form);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text that is kept at the revision of an object, if it is that of the object.
fn text_of(known: Option<(Value, Bytes)>, object: &Value) -> Option<Bytes> {
    let (known, text) = known?;
    (known == *object).then_some(text)
}
