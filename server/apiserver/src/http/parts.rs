//! Long lists, whose items are written while the client reads them.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use fieldmanager_value::internal::{Escape, write_json};
use fieldmanager_value::{List, Map, Str, Value};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::message::{Body, COMPRESSED, Memory, full, gzip, response};
use crate::encoded::{Encoded, TextForm};
use crate::object::map;
use crate::registry::Served;
use crate::store::{Entry, unshared_bytes};

/// The size of a part, in bytes. A list that is not larger has the header `Content-Length`.
pub(super) const PART: usize = COMPRESSED;

/// The memory of an encoder of gzip, in bytes.
pub(super) const ENCODER: usize = 300 << 10;

/// A list.
pub(super) struct Listing {
    pub(super) api_version: Str,
    pub(super) kind: Str,
    pub(super) metadata: Map,
    pub(super) items: Vec<Entry>,
    /// An item as the list shows it.
    pub(super) shown: Shown,
}

/// Makes the form of an item that a list shows.
pub(super) type Shown = Box<dyn Fn(&Entry) -> Value + Send>;

/// The texts of items that lists of a resource have in common.
pub(super) struct Texts {
    kept: Arc<Encoded>,
    form: TextForm,
    /// The number and size of the texts that this list may add. One that is too long for what is kept would else drive out its
    /// own texts, before its next reader comes.
    room: (usize, usize),
}

impl Texts {
    /// The texts of a form in which items are shown.
    pub(super) fn new(kept: Arc<Encoded>, served: &Arc<Served>, form: &'static str) -> Self {
        Texts {
            kept,
            form: TextForm::new(served, (form, "")),
            room: (0, 0),
        }
    }

    /// The items of a list, with the texts that others had.
    pub(super) fn find_all(&mut self, entries: Vec<Entry>) -> Vec<Item> {
        let (mut texts, mut bytes) = (self.kept.texts, self.kept.bytes);
        let known = self.kept.find_all(&self.form, &entries);
        let item = |(entry, known): (Entry, Option<Bytes>)| match known {
            Some(text) => {
                texts = texts.saturating_sub(1);
                bytes = bytes.saturating_sub(text.len());
                Item::Written(text)
            }
            None => Item::New(entry),
        };
        let items = entries.into_iter().zip(known).map(item).collect();
        self.room = (texts, bytes);
        items
    }

    pub(super) fn keep(&mut self, entry: Entry, text: &[u8]) {
        let (texts, bytes) = self.room;
        if let (Some(texts), Some(bytes)) = (texts.checked_sub(1), bytes.checked_sub(text.len())) {
            self.room = (texts, bytes);
            let text = Bytes::copy_from_slice(text);
            self.kept
                .keep(&self.form, entry.revision, entry.object, text);
        }
    }
}

/// An item of a list.
pub(super) enum Item {
    /// Its text, which another list had.
    Written(Bytes),
    New(Entry),
}

impl Listing {
    /// The list as a value.
    pub(super) fn into_value(self) -> Value {
        map([
            ("apiVersion", self.api_version.into()),
            (
                "items",
                Value::List(self.items.iter().map(&self.shown).collect::<List>()),
            ),
            ("kind", self.kind.into()),
            ("metadata", Value::Map(self.metadata)),
        ])
    }

    /// An answer with the list as compact JSON, compressed if it is long and the client accepts that.
    pub(super) fn respond(
        self,
        texts: Texts,
        content_type: &str,
        accepts_gzip: bool,
    ) -> Response<Body> {
        let mut parts = Parts::new(self, texts);
        let first = parts.next().unwrap_or_default();
        if parts.end.is_none() {
            return response(200, content_type, full(first));
        }

        // The answer may be the last that refers to its objects.
        let memory = memory_of(parts.items.as_slice()).saturating_add(ENCODER + first.len());
        let parts = std::iter::once(first).chain(parts);
        let mut response = if accepts_gzip {
            gzip(response(200, content_type, body(compressed(parts))))
        } else {
            response(200, content_type, body(parts.map(Bytes::from)))
        };
        response.extensions_mut().insert(Memory(memory));

        response
    }
}

/// The memory of the texts of items, and of the objects of those that have none yet.
pub(super) fn memory_of(items: &[Item]) -> usize {
    // Objects of a resource share much with those beside them, which is neither counted nor walked again.
    let mut last = None;
    let sizes = items.iter().map(|item| match item {
        Item::Written(text) => text.len(),
        Item::New(entry) => unshared_bytes(&entry.object, last.replace(&entry.object)),
    });
    sizes.fold(0, usize::saturating_add)
}

fn body(parts: impl Iterator<Item = Bytes> + Send + 'static) -> Body {
    StreamBody::new(stream::iter(parts.map(|part| Ok(Frame::data(part))))).boxed_unsync()
}

/// The parts of a text, compressed.
pub(super) fn compressed(mut parts: impl Iterator<Item = Vec<u8>>) -> impl Iterator<Item = Bytes> {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    let compressed = std::iter::from_fn(move || match parts.next() {
        Some(part) => {
            let encoder = encoder.as_mut()?;
            encoder.write_all(&part).ok()?;
            Some(std::mem::take(encoder.get_mut()))
        }
        None => encoder.take()?.finish().ok(),
    });
    compressed.filter(|part| !part.is_empty()).map(Bytes::from)
}

/// The text of a list, in parts.
struct Parts {
    begin: String,
    /// The text between the last item and the next one.
    separator: &'static [u8],
    items: std::vec::IntoIter<Item>,
    shown: Shown,
    texts: Texts,
    /// The text of the last item.
    scratch: String,
    /// What follows the last item; `None` after the last part.
    end: Option<String>,
}

impl Parts {
    fn new(list: Listing, mut texts: Texts) -> Self {
        let items = texts.find_all(list.items);
        let text = |value: Str| Value::from(value).to_json();
        let metadata = Value::Map(list.metadata).to_json();
        Parts {
            begin: format!("{{\"apiVersion\":{},\"items\":[", text(list.api_version)),
            separator: b"",
            items: items.into_iter(),
            shown: list.shown,
            texts,
            scratch: String::new(),
            end: Some(format!(
                "],\"kind\":{},\"metadata\":{metadata}}}\n",
                text(list.kind)
            )),
        }
    }
}

impl Iterator for Parts {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        self.end.as_ref()?;
        let mut part = Vec::with_capacity(PART + PART / 8);
        part.extend_from_slice(std::mem::take(&mut self.begin).as_bytes());
        while part.len() < PART {
            let Some(item) = self.items.next() else {
                part.extend_from_slice(self.end.take()?.as_bytes());
                break;
            };
            part.extend_from_slice(self.separator);
            self.separator = b",";

            match item {
                Item::Written(text) => part.extend_from_slice(&text),
                Item::New(entry) => {
                    self.scratch.clear();
                    write_json(&(self.shown)(&entry), &mut self.scratch, Escape::Json);
                    part.extend_from_slice(self.scratch.as_bytes());
                    self.texts.keep(entry, self.scratch.as_bytes());
                }
            }
        }

        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;
    use crate::store::{Key, Revision};

    fn listing(count: usize) -> Listing {
        let item = |number: usize| Entry {
            key: Key::new("", "configmaps", Some("default"), &format!("map-{number}")).unwrap(),
            object: map([("data", "x".repeat(number % 1000).into())]),
            revision: Revision::new(u64::try_from(number).unwrap() + 1).unwrap(),
        };
        let metadata = [(Str::from("resourceVersion"), Value::from("7"))]
            .into_iter()
            .collect();
        Listing {
            api_version: "v1".into(),
            kind: "ConfigMapList".into(),
            metadata,
            items: (0..count).map(item).collect(),
            shown: Box::new(|item| item.object.clone()),
        }
    }

    /// The texts of a server that keeps a number of bytes.
    fn texts(bytes: usize) -> impl Fn() -> Texts {
        let registry = Registry::builtin(true);
        let served = registry.get("", "v1", "configmaps").unwrap().clone();
        let kept = Arc::new(Encoded::new(1000, bytes));
        move || Texts::new(kept.clone(), &served, "")
    }

    #[test]
    fn the_parts_are_the_text_of_the_list() {
        for count in [0, 1, 2, 300, 1000, 2000] {
            let texts = texts(1 << 20);
            for _ in 0..2 {
                let parts: Vec<Vec<u8>> = Parts::new(listing(count), texts()).collect();
                let whole = format!("{}\n", listing(count).into_value().to_json());
                assert_eq!(parts.concat(), whole.as_bytes());
                assert!(parts.iter().all(|part| part.len() < PART + 2000), "{count}");
                let gzip: Vec<u8> = compressed(parts.into_iter()).flatten().collect();
                let mut text = String::new();
                std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*gzip), &mut text)
                    .unwrap();
                assert_eq!(text, whole);
            }
        }
        assert!(Parts::new(listing(2000), texts(0)()).count() > 5);
    }

    #[test]
    fn an_item_is_written_once_for_many_lists() {
        let written = |texts: &dyn Fn() -> Texts, count| {
            let mut parts = Parts::new(listing(count), texts());
            let is_new = |item: &&Item| matches!(item, Item::New(_));
            let new = parts.items.as_slice().iter().filter(is_new).count();
            let _ = parts.by_ref().count();
            new
        };
        let large = texts(1 << 20);
        let counts = [300, 300, 1000, 1000, 1001, 1001].map(|count| written(&large, count));
        assert_eq!(counts, [300, 0, 700, 0, 1, 1]);

        // What is kept is bounded. A list that is too long keeps what fits, and does not drive it out again.
        let small = texts(10_000);
        let counts = [1000, 1000, 1000].map(|count| written(&small, count));
        assert_eq!(counts, [1000, 869, 869]);
    }

    #[test]
    fn an_item_of_the_same_revision_and_another_state_is_written_again() {
        let texts = texts(1 << 20);
        let _ = Parts::new(listing(2), texts()).count();
        let mut changed = listing(2);
        for item in &mut changed.items {
            item.object = map([("data", "y".into())]);
        }
        let whole = Parts::new(changed, texts()).collect::<Vec<_>>().concat();
        assert_eq!(
            String::from_utf8(whole).unwrap().matches("\"y\"").count(),
            2
        );
    }
}
