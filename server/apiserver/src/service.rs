//! The server as a `tower::Service`.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response, Version, header};
use http_body::Body as _;
use tokio::runtime::Handle;

use crate::gate::Gate;
use crate::http::{Body, Context, Stopped, TestRequests, full, respond, timeout};
use crate::pool;
use crate::query::Query;
use crate::server::ApiServer;

impl ApiServer {
    fn context(&self) -> Context<'_> {
        let test = self.test.is_served.then_some(self as &dyn TestRequests);
        Context {
            core: &self.core,
            gate: &self.gate,
            faults: &self.faults,
            test,
            user: self.user.as_ref(),
        }
    }
}

impl<B> tower::Service<Request<B>> for ApiServer
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (server, gate) = (self.clone(), self.gate.clone());
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_head = request.method() == Method::HEAD && request.version() == Version::HTTP_2;
        let stopped = Stopped::of(&request);
        let patience = patience(request.uri().query().unwrap_or_default());
        let answer = async move { respond(&server.context(), request).await };
        Answering {
            gate,
            answer: Some(answer.boxed()),
            stopped,
            patience,
            is_read,
            is_head,
            is_begun: false,
        }
    }
}

/// The answer to a request of an [`ApiServer`].
///
/// A request that may write continues to its end if its client leaves: a definition that was stored is served, a definition
/// that was deleted ends with its objects, and an address that was reserved is used or released.
pub struct Answering {
    gate: Arc<Gate>,
    answer: Option<BoxFuture<'static, Response<Body>>>,
    stopped: Stopped,
    /// How long the client waits, if it says so.
    patience: Option<Duration>,
    is_read: bool,
    /// Whether the answer loses its body here: hyper leaves out that of HEAD for HTTP/1 alone.
    is_head: bool,
    is_begun: bool,
}

impl Future for Answering {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.is_begun = true;
        loop {
            let Some(mut answer) = self.answer.take() else {
                return Poll::Pending;
            };
            let polled = answer.poll_unpin(context);
            if pool::moves() {
                let (gate, stopped) = (self.gate.clone(), self.stopped.clone());
                let patience = self.patience;
                let moved = async move {
                    gate.pool
                        .run_for(answer, patience)
                        .await
                        .unwrap_or_else(|| stopped.answer())
                };
                self.answer = Some(moved.boxed());
                continue;
            }

            if polled.is_pending() {
                self.answer = Some(answer);
            }
            let is_head = self.is_head;
            return polled.map(|answer| Ok(if is_head { headers(answer) } else { answer }));
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // A request that was never polled has not begun. After a panic it cannot continue.
        let is_left = self.is_begun && !self.is_read && !std::thread::panicking();
        if let Some(answer) = self.answer.take().filter(|_| is_left)
            && let Ok(runtime) = Handle::try_current()
        {
            let (gate, stopped) = (self.gate.clone(), self.stopped.clone());
            runtime.spawn(Answering {
                gate,
                answer: Some(answer),
                stopped,
                patience: self.patience,
                is_read: true,
                is_head: false,
                is_begun: true,
            });
        }
    }
}

/// An answer without its body, whose length is in the headers if it is known.
fn headers(answer: Response<Body>) -> Response<Body> {
    let (mut parts, body) = answer.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.insert(header::CONTENT_LENGTH, length.into());
    }

    Response::from_parts(parts, full(""))
}

/// The time of the parameter `timeout`; `None` without one that is valid and positive.
fn patience(query: &str) -> Option<Duration> {
    // Nearly no request has it.
    if !query.contains("timeout=") {
        return None;
    }
    timeout(Query::of(Some(query)).text("timeout")).ok()?
}
