//! The server as a `tower::Service`.

use std::convert::Infallible;
use std::task::{self, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};

use crate::http::{Body, Context, TestRequests, respond};
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
        let server = self.clone();
        Box::pin(async move { Ok(respond(&server.context(), request).await) })
    }
}
