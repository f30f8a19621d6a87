//! Requests and responses.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};

use crate::query::Query;

/// The body of an answer: bytes, or the events of a watch. Dropping it ends the watch.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A body of bytes.
pub(super) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// One HTTP request, without its body.
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Query,
    pub(super) headers: HeaderMap,
}

impl Head {
    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether people read the answer: `pretty`, or else the user agents that kube-apiserver takes for people's.
    pub(super) fn is_pretty(&self) -> bool {
        let agent = || self.header(header::USER_AGENT).unwrap_or_default();
        let for_people = || ["curl", "Wget", "Mozilla/5.0"].iter().any(|prefix| agent().starts_with(prefix));
        self.query.optional_flag("pretty").unwrap_or_else(for_people)
    }
}

/// A response with a content type.
pub(super) fn response(code: u16, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if let Ok(value) = content_type.parse() {
        headers.insert(header::CONTENT_TYPE, value);
    }
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache, private"));
    response
}
