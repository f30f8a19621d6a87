//! Sends requests to an API server over HTTP.

use serde_json::Value as Json;
use ureq::Agent;
use ureq::http::{HeaderMap, Request as HttpRequest, Response};
use ureq::tls::TlsConfig;

use super::request::{Answer, Request};
use crate::Error;

/// The token of the servers that this program starts.
const TOKEN: &str = "secret";
/// The largest answer that is read.
const LIMIT: u64 = 64 << 20;

/// A connection to an API server.
#[derive(Clone)]
pub struct Client {
    url: String,
    token: String,
    agent: Agent,
}

/// A document as the server sends it.
#[derive(Clone, Debug)]
pub struct Document {
    /// The status code.
    pub code: u16,
    /// The header `ETag`, or an empty string.
    pub etag: String,
    /// The body.
    pub bytes: Vec<u8>,
}

impl Client {
    /// Creates a client; it connects with the first request. The certificate of a server on the loopback interface is
    /// not checked, since a server that was started for a comparison has one that it signed itself.
    pub fn new(url: &str) -> Self {
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        let loopback = ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
            host.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
        });
        // Errors and redirections are answers, and are compared as they are.
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .tls_config(TlsConfig::builder().disable_verification(loopback).build())
            .build();

        Client {
            url: url.trim_end_matches('/').to_owned(),
            token: TOKEN.to_owned(),
            agent: config.into(),
        }
    }

    /// Sends a bearer token instead of that of the servers which this program starts.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        token.clone_into(&mut self.token);
        self
    }

    /// The answer to a request for an object.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached.
    pub fn get(&self, path: &str) -> Result<Answer, Error> {
        self.send(&Request {
            method: "GET",
            path: path.to_owned(),
            ..Request::default()
        })
    }

    /// The document at a path, with its query, in a format that `accept` names.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached.
    pub fn document(&self, path: &str, accept: &str) -> Result<Document, Error> {
        let url = format!("{}/{}", self.url, path.trim_start_matches('/'));
        let failed = |source: ureq::Error| Error::Http {
            url: url.clone(),
            message: source.to_string(),
        };
        let request = self
            .agent
            .get(&url)
            .header("Authorization", format!("Bearer {}", self.token));
        let mut response = request.header("Accept", accept).call().map_err(failed)?;
        let etag = response
            .headers()
            .get("etag")
            .and_then(|etag| etag.to_str().ok());

        let etag = etag.unwrap_or_default().trim_matches('"').to_owned();
        let code = response.status().as_u16();
        let bytes = response
            .body_mut()
            .with_config()
            .limit(LIMIT)
            .read_to_vec()
            .map_err(failed)?;

        Ok(Document { code, etag, bytes })
    }

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached.
    pub fn send(&self, request: &Request) -> Result<Answer, Error> {
        let failed = |source: String| Error::Http {
            url: format!("{}/{}", self.url, request.path),
            message: source,
        };
        let mut uri = format!("{}/{}", self.url, request.path);
        if !request.query.is_empty() {
            uri = format!("{uri}?{}", request.query);
        }

        let mut builder = HttpRequest::builder()
            .method(request.method)
            .uri(uri)
            .header("Authorization", format!("Bearer {}", self.token))
            .header("Accept", "application/json");
        if !request.content_type.is_empty() {
            builder = builder.header("Content-Type", &request.content_type);
        }
        if !request.agent.is_empty() {
            builder = builder.header("User-Agent", &request.agent);
        }

        // Requests of other methods have no body, which `ureq` expresses by another type.
        let body = matches!(request.method, "POST" | "PUT" | "PATCH");
        let response = if body {
            builder
                .body(request.body.clone())
                .map(|request| self.agent.run(request))
        } else {
            builder.body(()).map(|request| self.agent.run(request))
        };
        let response = response.map_err(|error| failed(error.to_string()))?;

        answer(response.map_err(|error| failed(error.to_string()))?)
            .map_err(|error| failed(error.to_string()))
    }
}

fn answer(mut response: Response<ureq::Body>) -> Result<Answer, ureq::Error> {
    let (code, warnings) = (response.status().as_u16(), warnings(response.headers()));
    let bytes = response
        .body_mut()
        .with_config()
        .limit(LIMIT)
        .read_to_vec()?;
    Ok(Answer {
        code,
        warnings,
        body: body_of(&bytes),
    })
}

/// The texts of the headers `Warning`.
pub(super) fn warnings(headers: &HeaderMap) -> Vec<String> {
    let headers = headers.get_all("warning").iter();
    headers
        .filter_map(|value| unquoted(&String::from_utf8_lossy(value.as_bytes())))
        .collect()
}

/// A body as JSON, or as a string if it is none.
pub(super) fn body_of(bytes: &[u8]) -> Json {
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str(&text).unwrap_or_else(|_| Json::String(text.into_owned()))
}

/// The text of a header `299 - "text"`.
fn unquoted(header: &str) -> Option<String> {
    let quoted = header.strip_prefix("299 - \"")?.strip_suffix('"')?;
    let mut out = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(next) = chars.next() {
        out.push(if next == '\\' { chars.next()? } else { next });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_warning_is_unquoted() {
        assert_eq!(
            unquoted(r#"299 - "unknown field \"spec.x\"""#),
            Some("unknown field \"spec.x\"".to_owned())
        );
        assert_eq!(unquoted("100 x"), None);
    }
}
