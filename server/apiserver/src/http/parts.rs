//! Long lists, whose items are written while the client reads them.

use std::io::Write as _;

use bytes::Bytes;
use fieldmanager_value::{List, Map, Str, Value};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::message::{Body, COMPRESSED, Memory, full, gzip, response};
use crate::object::map;
use crate::store::unshared_bytes;

/// The size of a part, in bytes. A list that is not larger has the header `Content-Length`.
const PART: usize = COMPRESSED;

/// The memory of an encoder of gzip, in bytes.
const ENCODER: usize = 300 << 10;

/// A list.
pub(super) struct Listing {
    pub(super) api_version: Str,
    pub(super) kind: Str,
    pub(super) metadata: Map,
    pub(super) items: Vec<Value>,
    /// An item as the list shows it.
    pub(super) shown: Shown,
}

/// Makes the form of an item that a list shows.
pub(super) type Shown = Box<dyn Fn(&Value) -> Value + Send>;

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
    pub(super) fn respond(self, content_type: &str, accepts_gzip: bool) -> Response<Body> {
        let mut parts = Parts::new(self);
        let first = parts.next().unwrap_or_default();
        if parts.end.is_none() {
            return response(200, content_type, full(first));
        }

        // The answer may be the last that refers to its objects.
        let rest = parts
            .items
            .as_slice()
            .iter()
            .map(|item| unshared_bytes(item, None));
        let memory = rest.fold(ENCODER + first.len(), usize::saturating_add);
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

fn body(parts: impl Iterator<Item = Bytes> + Send + 'static) -> Body {
    StreamBody::new(stream::iter(parts.map(|part| Ok(Frame::data(part))))).boxed_unsync()
}

/// The parts of a text, compressed.
fn compressed(mut parts: impl Iterator<Item = String>) -> impl Iterator<Item = Bytes> {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    let compressed = std::iter::from_fn(move || match parts.next() {
        Some(part) => {
            let encoder = encoder.as_mut()?;
            encoder.write_all(part.as_bytes()).ok()?;
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
    separator: &'static str,
    items: std::vec::IntoIter<Value>,
    shown: Shown,
    /// What follows the last item; `None` after the last part.
    end: Option<String>,
}

impl Parts {
    fn new(list: Listing) -> Self {
        let text = |value: Str| Value::from(value).to_json();
        let metadata = Value::Map(list.metadata).to_json();
        Parts {
            begin: format!("{{\"apiVersion\":{},\"items\":[", text(list.api_version)),
            separator: "",
            items: list.items.into_iter(),
            shown: list.shown,
            end: Some(format!(
                "],\"kind\":{},\"metadata\":{metadata}}}\n",
                text(list.kind)
            )),
        }
    }
}

impl Iterator for Parts {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.end.as_ref()?;
        let mut part = std::mem::take(&mut self.begin);
        while part.len() < PART {
            let Some(item) = self.items.next() else {
                part.push_str(&self.end.take()?);
                break;
            };
            part.push_str(self.separator);
            (self.shown)(&item).write_json(&mut part);
            self.separator = ",";
        }

        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(count: usize) -> Listing {
        let item = |number: usize| map([("data", "x".repeat(number % 1000).into())]);
        let items: Vec<Value> = (0..count).map(item).collect();
        let metadata = [(Str::from("resourceVersion"), Value::from("7"))]
            .into_iter()
            .collect();
        let shown = Box::new(Value::clone);
        Listing {
            api_version: "v1".into(),
            kind: "ConfigMapList".into(),
            metadata,
            items,
            shown,
        }
    }

    #[test]
    fn the_parts_are_the_text_of_the_list() {
        for count in [0, 1, 2, 300, 1000, 2000] {
            let parts: Vec<String> = Parts::new(listing(count)).collect();
            assert_eq!(
                parts.concat(),
                format!("{}\n", listing(count).into_value().to_json())
            );
            assert!(parts.iter().all(|part| part.len() < PART + 2000), "{count}");
            let gzip: Vec<u8> = compressed(parts.clone().into_iter()).flatten().collect();
            let mut text = String::new();
            std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*gzip), &mut text)
                .unwrap();
            assert_eq!(text, parts.concat());
        }
        assert!(Parts::new(listing(2000)).count() > 5);
    }
}
