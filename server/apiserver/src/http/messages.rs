//! Lists in protobuf, whose messages are written while other requests have their turn.

use bytes::Bytes;
use fieldmanager_builtin::{item_to_protobuf, list_to_protobuf};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;
use futures::future::Either;
use futures::{StreamExt, stream};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::message::{Body, Memory, full, gzip, response};
use super::parts::{ENCODER, Item, Listing, PART, Shown, Texts, compressed, memory_of};
use crate::object::map;

/// An answer with a list. The length of a message stands before it, so that all items are written before the first byte is sent.
pub(super) fn respond(
    list: Listing,
    texts: Texts,
    content_type: &str,
    accepts_gzip: bool,
) -> Response<Body> {
    let mut messages = Messages::new(list, texts);
    let memory = memory_of(messages.items.as_slice());
    if memory <= PART {
        while messages.write_some() {}
        let parts: Vec<Vec<u8>> = messages.parts().collect();
        return response(200, content_type, full(parts.concat()));
    }

    // The body is made when the memory of the answer was charged.
    let written = async move {
        while messages.write_some() {
            tokio::task::yield_now().await;
        }
        let parts = messages.parts();
        let parts = if accepts_gzip {
            Either::Left(stream::iter(compressed(parts)))
        } else {
            Either::Right(stream::iter(parts.map(Bytes::from)))
        };
        parts.map(|part| Ok(Frame::data(part)))
    };
    let body = StreamBody::new(stream::once(written).flatten()).boxed_unsync();
    let mut response = response(200, content_type, body);
    if accepts_gzip {
        response = gzip(response);
    }
    response
        .extensions_mut()
        .insert(Memory(memory.saturating_add(ENCODER)));
    response
}

/// The messages of the items of a list.
struct Messages {
    /// The list without its items.
    list: Value,
    /// The kind of the items.
    kind: GroupVersionKind,
    items: std::vec::IntoIter<Item>,
    shown: Shown,
    texts: Texts,
    written: Vec<Bytes>,
}

impl Messages {
    fn new(list: Listing, mut texts: Texts) -> Self {
        let items = texts.find_all(list.items).into_iter();
        let kind = list.kind.strip_suffix("List").unwrap_or(&list.kind);
        Messages {
            kind: GroupVersionKind::from_api_version_kind(&list.api_version, kind),
            list: map([
                ("apiVersion", list.api_version.into()),
                ("kind", list.kind.into()),
                ("metadata", Value::Map(list.metadata)),
            ]),
            items,
            shown: list.shown,
            texts,
            written: Vec::new(),
        }
    }

    /// Writes some items. Whether there are more.
    fn write_some(&mut self) -> bool {
        let mut size = 0;
        while size < PART {
            let message = match self.items.next() {
                None => return false,
                Some(Item::Written(message)) => message,
                Some(Item::New(entry)) => {
                    let item = (self.shown)(&entry);
                    let message = item_to_protobuf(&self.kind, &item).unwrap_or_default();
                    self.texts.keep(entry, &message);
                    message.into()
                }
            };
            size += message.len();
            self.written.push(message);
        }
        true
    }

    /// The message of the list, in parts.
    fn parts(self) -> impl Iterator<Item = Vec<u8>> + Send {
        let size = self.written.iter().map(Bytes::len).sum();
        let [start, end] = list_to_protobuf(&self.list, size).map(Bytes::from);
        let mut pieces = std::iter::once(start)
            .chain(self.written)
            .chain([end])
            .peekable();
        std::iter::from_fn(move || {
            pieces.peek()?;
            let mut part = Vec::new();
            while part.len() < PART
                && let Some(piece) = pieces.next()
            {
                part.extend_from_slice(&piece);
            }
            Some(part)
        })
    }
}
