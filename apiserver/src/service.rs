//! The server as a `tower::Service`.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{self, Poll, ready};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use tokio::runtime::Handle;

use crate::http::{Body, Context, TestRequests, respond, timed_out};
use crate::server::ApiServer;

impl ApiServer {
    fn context(&self) -> Context<'_> {
        let test = self.test.is_served.then_some(self as &dyn TestRequests);
        Context { core: &self.core, gate: &self.gate, faults: &self.faults, test }
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
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (server, gate) = (self.clone(), self.gate.clone());
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let request = async move { respond(&server.context(), request).await };
        let answer = async move { Ok(gate.pool.answer(request).await.unwrap_or_else(timed_out)) }.boxed();
        match is_read {
            true => answer,
            false => Finished { answer: Some(answer), is_begun: false }.boxed(),
        }
    }
}

type Answer = BoxFuture<'static, Result<Response<Body>, Infallible>>;

/// A request that may write, which continues to its end if its client leaves: a definition that was stored is served, a
/// definition that was deleted ends with its objects, and an address that was reserved is used or released.
struct Finished {
    answer: Option<Answer>,
    is_begun: bool,
}

impl Future for Finished {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.is_begun = true;
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        let response = ready!(answer.poll_unpin(context));
        self.answer = None;
        Poll::Ready(response)
    }
}

impl Drop for Finished {
    fn drop(&mut self) {
        // A request that was never polled has not begun. After a panic it cannot continue.
        if let Some(answer) = self.answer.take().filter(|_| self.is_begun && !std::thread::panicking())
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(answer);
        }
    }
}
