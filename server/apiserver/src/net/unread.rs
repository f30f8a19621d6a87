//! Answers that know when their client has read them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::Response;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;

use super::connection::Ticket;
use crate::budget::{Budget, FREE, Reservation};
use crate::http::{Body, Reserved};

/// The size up to which the events of a watch that are ready are sent together, in bytes: that of a record of TLS.
const TOGETHER: usize = 16 << 10;

/// An answer that keeps its ticket and its memory until its last byte was given to the system, or until it is dropped. The
/// events of a watch, which has a budget, have tickets and memory of their own.
pub(super) fn answer(
    mut response: Response<Body>,
    ticket: Ticket,
    events: Option<Arc<Budget>>,
) -> Response<Body> {
    if events.is_none() {
        ticket.answered();
    }
    let held = Held {
        ticket,
        _memory: response.extensions_mut().remove(),
    };

    response.map(|body| {
        Unread {
            body,
            held: Arc::new(held),
            events,
            waiting: None,
            next: None,
        }
        .boxed_unsync()
    })
}

/// Released when the answer was read.
struct Held {
    ticket: Ticket,
    _memory: Option<Reserved>,
}

struct Unread {
    body: Body,
    held: Arc<Held>,
    events: Option<Arc<Budget>>,
    /// An event for which there is no memory.
    waiting: Option<(Frame<Bytes>, BoxFuture<'static, Reservation>)>,
    /// What the body had behind the last event: its end, or an error.
    next: Option<Option<io::Result<Frame<Bytes>>>>,
}

impl Unread {
    /// An event with those that are ready behind it. Each frame costs much more than its bytes, on both sides.
    fn joined(&mut self, first: Bytes, context: &mut Context<'_>) -> Bytes {
        let mut size = first.len();
        let mut parts = vec![first];
        while size < TOGETHER && self.next.is_none() {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        size += data.len();
                        parts.push(data);
                    }
                    Err(frame) => self.next = Some(Some(Ok(frame))),
                },
                Poll::Ready(end) => self.next = Some(end),
            }
        }

        match parts.as_slice() {
            [_] => parts.remove(0),
            _ => parts.concat().into(),
        }
    }

    fn owned(&self, frame: Frame<Bytes>, memory: Option<Reservation>) -> Frame<Bytes> {
        let event = memory.map(|memory| (self.held.ticket.event(), memory));
        frame.map_data(|bytes| {
            Bytes::from_owner(Owned {
                bytes,
                _held: self.held.clone(),
                _event: event,
            })
        })
    }
}

impl http_body::Body for Unread {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.waiting.is_none() {
            let next = match self.next.take() {
                Some(next) => next,
                None => ready!(Pin::new(&mut self.body).poll_frame(context)),
            };
            let frame = match next {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            let Some(budget) = self.events.clone() else {
                return Poll::Ready(Some(Ok(self.owned(frame, None))));
            };
            let frame = match frame.into_data() {
                Ok(event) => Frame::data(self.joined(event, context)),
                Err(frame) => frame,
            };

            // The number of events has no bound, so a large one waits for memory, and the rest of the watch with it.
            let size = frame.data_ref().map_or(0, Bytes::len);
            let memory = if size <= FREE {
                Some(Reservation::default())
            } else {
                budget.reserve_large(size)
            };
            if memory.is_some() {
                return Poll::Ready(Some(Ok(self.owned(frame, memory))));
            }
            self.waiting = Some((frame, async move { budget.wait_large(size).await }.boxed()));
        }

        let Some((_, memory)) = &mut self.waiting else {
            return Poll::Pending;
        };
        let memory = ready!(memory.poll_unpin(context));
        let frame = self
            .waiting
            .take()
            .map(|(frame, _)| Ok(self.owned(frame, Some(memory))));

        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && self.next.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The bytes of a frame, which may outlive the body.
struct Owned {
    bytes: Bytes,
    _held: Arc<Held>,
    _event: Option<(Ticket, Reservation)>,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http_body_util::StreamBody;

    use super::*;
    use crate::net::connection::Client;

    #[tokio::test]
    async fn events_that_are_ready_are_one_frame() {
        let event = |size| Ok(Frame::data(Bytes::from(vec![0; size])));
        let events = stream::iter([event(1 << 10), event(2 << 10), event(TOGETHER), event(1)]);
        let response = Response::new(StreamBody::new(events).boxed_unsync());
        let gate = crate::gate::Gate::new(crate::Limits::default(), false);
        let ticket = Client::new(&gate).begin(http::Version::HTTP_11);
        let budget = Arc::new(Budget::new(1 << 20));
        let mut body = answer(response, ticket, Some(budget)).into_body();
        let mut sizes = Vec::new();
        while let Some(frame) = body.frame().await {
            sizes.push(frame.unwrap().into_data().unwrap().len());
        }
        assert_eq!(sizes, [(3 << 10) + TOGETHER, 1]);
    }

    #[tokio::test]
    async fn an_event_waits_for_memory() {
        let budget = Arc::new(Budget::new(1 << 20));
        let events = stream::iter([Ok(Frame::data(Bytes::from(vec![0; 300 << 10])))]);
        let response = Response::new(StreamBody::new(events).boxed_unsync());
        let gate = crate::gate::Gate::new(crate::Limits::default(), false);
        let ticket = Client::new(&gate).begin(http::Version::HTTP_11);
        let mut body = answer(response, ticket, Some(budget.clone())).into_body();

        let taken = budget.reserve(300 << 10).unwrap();
        assert!(body.frame().now_or_never().is_none());
        assert!(!http_body::Body::is_end_stream(&body));
        drop(taken);
        let event = body.frame().await.unwrap().unwrap();
        assert!(
            budget.reserve(300 << 10).is_none(),
            "the event takes the memory until it was read"
        );
        drop(event);
        assert!(body.frame().await.is_none());
        assert!(budget.reserve(300 << 10).is_some());
    }
}
