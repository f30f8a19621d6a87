//! Where a webhook sends its caller instead.

use bytes::Bytes;
use fieldmanager_value::internal::go_format::quote;
use hyper::header::{HeaderMap, LOCATION};
use hyper::{StatusCode, Uri};

/// The most requests of a call whose answers redirect to the next one.
///
/// Behaviour: `defaultCheckRedirect` of `net/http`.
pub const MAX_REQUESTS: usize = 10;

/// A request of a call.
#[derive(Clone)]
pub(super) struct Attempt {
    pub(super) url: String,
    /// The review; none in the `GET` that follows most redirects.
    pub(super) review: Option<Bytes>,
    /// Whether another server is asked than the one of the configuration.
    pub(super) is_elsewhere: bool,
}

impl Attempt {
    /// The request that an answer asks for, and what its header says; none if the answer is no redirect, or does not say
    /// where to.
    ///
    /// The error has the words of Go about a place that cannot be asked.
    ///
    /// Behaviour: `redirectBehavior` of `net/http`.
    pub(super) fn redirected(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<(String, Result<Self, String>)> {
        let keeps_review = match status.as_u16() {
            301..=303 => false,
            307 | 308 => true,
            _ => return None,
        };
        let place = String::from_utf8_lossy(headers.get(LOCATION)?.as_bytes()).into_owned();
        if place.is_empty() {
            return None;
        }

        let next = resolve(&self.url, &place).map(|(url, leaves)| Attempt {
            url,
            review: self.review.clone().filter(|_| keeps_review),
            is_elsewhere: self.is_elsewhere || leaves,
        });
        Some((place, next))
    }
}

/// The URL of a place that is relative to another URL, and whether it has another origin.
fn resolve(base: &str, place: &str) -> Result<(String, bool), String> {
    let start = base.find("://").map_or(0, |at| at + "://".len());
    let rest = base.get(start..).unwrap_or_default();
    let end = start + rest.find(['/', '?']).unwrap_or(rest.len());
    let (origin, path) = base.split_at(end);
    let scheme = base.get(..start).unwrap_or_default().trim_end_matches("//");

    let url = match place.find("://") {
        Some(at) if place.find(['/', '?']).is_none_or(|slash| at < slash) => place.to_owned(),
        _ if place.starts_with("//") => format!("{scheme}{place}"),
        _ if place.starts_with('/') => format!("{origin}{place}"),
        _ => {
            let path = path.split('?').next().unwrap_or_default();
            let folder = path.rfind('/').and_then(|at| path.get(..at));
            format!("{origin}{}/{place}", folder.unwrap_or_default())
        }
    };
    let uri: Uri = url
        .parse()
        .map_err(|error| format!("failed to parse Location header {}: {error}", quote(place)))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        other => {
            let other = quote(other.unwrap_or_default());
            return Err(format!("unsupported protocol scheme {other}"));
        }
    }
    let leaves = !url
        .strip_prefix(origin)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    Ok((url, leaves))
}
