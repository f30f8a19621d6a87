//! Requests and responses.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};

use crate::access::Peer;
use crate::budget::Reservation;
use crate::origin::Port;
use crate::query::Query;

/// The size from which answers are compressed.
pub(super) const COMPRESSED: usize = 128 * 1024;

/// The body of an answer: bytes, a long list in parts, or the events of a watch. Dropping it ends the watch. It has no errors, but for answers
/// that a [fault](crate::fault::FaultKind::LoseAnswer) loses.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A body of bytes.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// An extension of responses that clients do not get, because a fault loses them.
#[derive(Clone, Copy)]
pub(crate) struct Lost;

/// An extension of responses whose body is made while it is read: the memory that it takes, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Memory(pub(super) usize);

/// An extension of responses: the memory of the answer, which a port keeps until the client has read it.
#[derive(Clone)]
pub(crate) struct Reserved(
    #[expect(dead_code, reason = "the memory is released when this is dropped")]
    pub(crate)  Arc<Reservation>,
);

/// The error of a response that is lost.
pub(crate) fn lost() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionReset,
        "the answer was lost: a fault was injected",
    )
}

/// A response that is lost: 500, with a body that cannot be read.
pub(super) fn lost_response() -> Response<Body> {
    let body = StreamBody::new(futures::stream::iter([Err::<Frame<Bytes>, _>(lost())]));
    let mut response = response(500, "application/json", body.boxed_unsync());
    response.extensions_mut().insert(Lost);
    response
}

/// One HTTP request, without its body.
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Query,
    pub(super) headers: HeaderMap,
    /// The port at which the request arrived.
    pub(super) port: Option<Arc<Port>>,
    /// The user of the certificate that the client showed.
    pub(super) peer: Option<Peer>,
}

impl Head {
    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The URL of the port at which the request arrived; empty in process.
    pub(super) fn url(&self) -> &str {
        self.port.as_ref().map_or("", |port| &port.url)
    }

    /// The content type of the body; empty, which is JSON, if a client that is not a browser does not say it. A page can
    /// make a browser send a body without a type to any server.
    pub(super) fn content_type(&self) -> &str {
        const UNKNOWN: &str = "application/octet-stream";
        match self
            .headers
            .get(header::CONTENT_TYPE)
            .filter(|value| !value.is_empty())
        {
            Some(value) => value.to_str().unwrap_or(UNKNOWN),
            None if self.headers.contains_key(header::ORIGIN) => UNKNOWN,
            None => "",
        }
    }

    /// Whether the client accepts answers that are compressed with gzip.
    pub(super) fn accepts_gzip(&self) -> bool {
        let accepted = self.header(header::ACCEPT_ENCODING).unwrap_or_default();
        accepted
            .split(',')
            .any(|one| one.trim().split(';').next() == Some("gzip"))
    }

    /// Whether people read the answer: `pretty`, or else the user agents that kube-apiserver takes for people's.
    pub(super) fn is_pretty(&self) -> bool {
        let agent = || self.header(header::USER_AGENT).unwrap_or_default();
        let for_people = || {
            ["curl", "Wget", "Mozilla/5.0"]
                .iter()
                .any(|prefix| agent().starts_with(prefix))
        };
        self.query
            .optional_flag("pretty")
            .unwrap_or_else(for_people)
    }

    /// The size of the head, in bytes.
    pub(super) fn size(&self) -> usize {
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len());
        self.path.len() + self.query.size() + headers.sum::<usize>()
    }
}

/// A response with a content type.
pub(crate) fn response(code: u16, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if let Ok(value) = content_type.parse() {
        headers.insert(header::CONTENT_TYPE, value);
    }
    headers.insert(
        header::CACHE_CONTROL,
        header::HeaderValue::from_static("no-cache, private"),
    );

    response
}

/// A response whose body is compressed.
pub(super) fn gzip(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_ENCODING, "gzip"),
        (header::VARY, "Accept-Encoding"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}

/// A response in JSON.
pub(crate) fn json(code: u16, body: &serde_json::Value) -> Response<Body> {
    response(code, "application/json", full(format!("{body}\n")))
}
