//! Answers that know when their client has read them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Response;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;

use super::connection::Ticket;
use crate::http::{Body, Reserved};

/// An answer that keeps its ticket and its memory until its last byte was given to the system, or until it is dropped. An
/// event of a watch has a ticket of its own.
pub(super) fn answer(mut response: Response<Body>, ticket: Ticket, is_watch: bool) -> Response<Body> {
    if !is_watch {
        ticket.answered();
    }
    let held = Held { ticket, _memory: response.extensions_mut().remove() };
    response.map(|body| Unread { body, held: Arc::new(held), is_watch }.boxed_unsync())
}

/// Released when the answer was read.
struct Held {
    ticket: Ticket,
    _memory: Option<Reserved>,
}

struct Unread {
    body: Body,
    held: Arc<Held>,
    is_watch: bool,
}

impl http_body::Body for Unread {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let held = &self.held;
        let event = self.is_watch.then(|| held.ticket.event());
        Poll::Ready(frame.map(|frame| {
            Ok(frame?
                .map_data(|bytes| Bytes::from_owner(Owned { bytes, _held: held.clone(), _event: event })))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The bytes of a frame, which may outlive the body.
struct Owned {
    bytes: Bytes,
    _held: Arc<Held>,
    _event: Option<Ticket>,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
