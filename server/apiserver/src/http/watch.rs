//! Watches: a response whose body is one event on each line.

use std::sync::Arc;

use bytes::Bytes;
use fieldmanager_builtin::{to_protobuf, watch_event_to_protobuf};
use fieldmanager_value::Value;
use fieldmanager_value::internal::Work;
use futures::{StreamExt, stream};
use http::Response;
use http::header;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::message::{Body, Head, response};
use super::negotiate::{Form, Format, Media, Place, STREAMED, not_acceptable};
use super::render;
use crate::encoded::TextForm;
use crate::endpoint::{Core, Failure};
use crate::fault::Cut;
use crate::object::map;
use crate::registry::Served;
use crate::store::{Revision, StoreError};
use crate::table::IncludeObject;
use crate::watch::{EventKind, Start, WatchEvent, WatchRequest, watch};

/// The most steps of the cells of one row, about ten milliseconds.
const ROW_STEPS: u64 = 1_000_000;

/// The format of the events: a client that prefers YAML gets none.
pub(super) fn format(head: &Head, place: Place) -> Result<Format, Failure> {
    let format = Format::of(head.header(header::ACCEPT), place)?;
    match format.media {
        Media::Json | Media::Protobuf => Ok(format),
        _ => Err(not_acceptable(STREAMED).into()),
    }
}

/// The response to a watch. Its events are written as they take place; dropping the body ends the watch.
pub(super) async fn respond(
    core: &Arc<Core>,
    head: &Head,
    format: Format,
    served: Arc<Served>,
    request: WatchRequest,
    cut: Option<Cut>,
) -> Result<Response<Body>, Failure> {
    let start = request.start;
    let include = match format.form {
        Form::Table => render::included(head)?,
        _ => IncludeObject::default(),
    };
    let compares = request.selected.is_some();
    let mut events = watch(core.watched_objects(&served, compares), request).await;
    if let Some(Cut {
        events: count,
        expires,
    }) = cut
    {
        // A cut watch ends as one whose next event was compacted, so its message names the revision at which it began.
        let requested = match start {
            Start::After(revision) | Start::Initial(Some(revision)) => revision,
            Start::Now | Start::Initial(None) => Revision::FIRST,
        };
        let oldest = core.store.revision().await?;
        let last = WatchEvent::of_error(&StoreError::Compacted { requested, oldest });
        events = events
            .take(count)
            .chain(stream::iter(expires.then_some(last)))
            .boxed();
    }

    let mut lines = Lines {
        core: core.clone(),
        format,
        served,
        include,
        first: true,
    };
    let frames = events.map(move |event| Ok(Frame::data(lines.line(&event))));
    let mut content_type = format.content_type();
    if format.media == Media::Protobuf {
        content_type.push_str(";stream=watch");
    }
    let mut response = response(
        200,
        &content_type,
        BodyExt::boxed_unsync(StreamBody::new(frames)),
    );
    response.extensions_mut().insert(Events);

    Ok(response)
}

/// An extension of responses whose body is the events of a watch, one in each frame.
#[derive(Clone, Copy)]
pub(crate) struct Events;

/// Writes events.
struct Lines {
    core: Arc<Core>,
    format: Format,
    served: Arc<Served>,
    include: IncludeObject,
    /// The columns of a table are in its first event.
    first: bool,
}

impl Lines {
    fn line(&mut self, event: &WatchEvent) -> Bytes {
        let object = || match event.revision {
            Some(revision) => self.served.present(&event.object, revision),
            None => event.object.clone(),
        };
        match (self.format.form, event.kind) {
            (_, EventKind::Error) => self.frame(event.kind, &event.object),
            (Form::Metadata | Form::MetadataList, _) => {
                let metadata = || render::metadata_of(&object(), self.format.version);
                self.shared(event, || self.frame(event.kind, &metadata()))
            }
            (Form::Table, _) => {
                let options = render::table_options(&self.core, self.include).list(false);
                let options = options.headers(std::mem::take(&mut self.first));
                let object = object();
                // The thread of the connection makes the row, so a row that takes long ends the watch.
                let table =
                    || render::table_of(&self.served, &object, options, self.format.version);
                match Work::with_limit(ROW_STEPS).run(table) {
                    Ok(table) => self.frame(event.kind, &table),
                    Err(_) => self.frame(EventKind::Error, &Failure::timed_out().body()),
                }
            }
            _ => self.shared(event, || self.frame(event.kind, &object())),
        }
    }

    /// The bytes of an event, which other watches of the same format share.
    fn shared(&self, event: &WatchEvent, encode: impl FnOnce() -> Bytes) -> Bytes {
        // Events that are of one watch, such as bookmarks, are always made.
        let Some(revision) = event.revision else {
            return encode();
        };
        let names = (self.format.shared_name(), event.kind.name());
        let form = TextForm::new(&self.served, names);
        let events = &self.core.events;
        let known = events.find(&form, revision, &event.object);
        known.unwrap_or_else(|| {
            let line = encode();
            events.keep(&form, revision, event.object.clone(), line.clone());
            line
        })
    }

    /// A line of JSON, or a message of protobuf behind its length in four bytes.
    fn frame(&self, kind: EventKind, object: &Value) -> Bytes {
        if self.format.media == Media::Protobuf
            && let Some(object) = to_protobuf(object)
        {
            let event = watch_event_to_protobuf(kind.name(), &object);
            // Objects have at most some megabytes.
            let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
            return [&length.to_be_bytes(), event.as_slice()].concat().into();
        }

        let event = [("type", kind.name().into()), ("object", object.clone())];
        let mut line = map(event).to_json();
        line.push('\n');
        line.into()
    }
}
