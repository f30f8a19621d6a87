//! Which requests a server refuses because a web page of another site sends them, or may send them.
//!
//! A browser sends the requests of any page to any server that it reaches, those of the loopback interface included. It
//! says so in `Origin` and `Sec-Fetch-Site`. The owner of a domain can also let its name lead to this server, so that a page
//! has the origin of the server: then `Host` has that name.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{self, HeaderValue};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Version};

use crate::endpoint::Failure;

/// Where clients reach a server on a port. It is an extension of the requests that arrive there.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "net"),
    allow(dead_code, reason = "only a port makes it")
)]
pub(crate) struct Port {
    /// The URL for clients on this machine.
    pub(crate) url: String,
    pub(crate) address: IpAddr,
    /// The names and addresses of the server besides its address, `localhost` and those of the loopback interface.
    pub(crate) names: Vec<String>,
}

impl Port {
    /// Whether a `Host` header, with or without a port, names this server.
    fn has(&self, host: &str) -> bool {
        // A client that names no host was not led here by a name.
        let Ok(authority) = host.parse::<Authority>() else {
            return host.is_empty();
        };
        let name = authority.host();
        if self.names.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return true;
        }

        match name
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .map(|address| address.to_canonical())
        {
            // An unspecified address is every address of the machine. No domain can have the name of an address.
            Ok(address) => {
                address.is_loopback() || address == self.address || self.address.is_unspecified()
            }
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// Refuses a request of a page of another site with 403, and on a port one with a foreign `Host`.
pub(crate) fn check(request: &Parts) -> Result<(), Failure> {
    let refused = |message: String| Err(Failure::new(403, "Forbidden", message));
    let values = |name| request.headers.get_all(name).iter().map(text);
    let hosts = || {
        request
            .uri
            .authority()
            .map(|own| own.as_str())
            .into_iter()
            .chain(values(header::HOST))
    };

    let port = request.extensions.get::<Arc<Port>>();
    if let Some(port) = port {
        if let Some(fault) = host_fault(request.version, &request.headers) {
            return Err(Failure {
                is_text: true,
                ..Failure::new(400, "BadRequest", fault)
            });
        }

        if let Some(host) = hosts().find(|host| !port.has(host)) {
            return refused(format!(
                "the host {host:?} is not a name of this server: expected localhost, its address, or a name that it was \
                 started with"
            ));
        }
    }

    // No page can send a token to another origin without a question, which is refused. Programs that have one name an origin
    // of this machine, such as "http://localhost", where a library asks for any.
    let has_token = values(header::AUTHORIZATION).any(|value| value.starts_with("Bearer "));
    let is_of_machine = |host: &str| port.is_some_and(|port| port.has(host));
    let own = hosts().next().unwrap_or_default();
    for origin in values(header::ORIGIN) {
        // Some clients that are not browsers omit the scheme.
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        let is_known = host.eq_ignore_ascii_case(own) || has_token && is_of_machine(host);
        if !is_known {
            return refused(format!(
                "the origin {origin:?} is not this server: pages of other sites are refused"
            ));
        }
    }

    let sites = header::HeaderName::from_static("sec-fetch-site");
    match values(sites).find(|site| !["same-origin", "none"].contains(site)) {
        Some(site) => refused(format!(
            "Sec-Fetch-Site is {site:?}: pages of other sites are refused"
        )),
        None => Ok(()),
    }
}

/// The value of a header; one that is not text is the value of no client that is accepted.
fn text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or("?")
}

/// The words of Go for a request in HTTP/1 that does not have exactly one valid `Host` header, which is answered
/// with 400.
fn host_fault(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    let is_malformed = |host: &str| !host.is_empty() && host.parse::<Authority>().is_err();
    let mut hosts = headers.get_all(header::HOST).iter().map(text);
    match (hosts.next(), hosts.next()) {
        _ if version > Version::HTTP_11 => None,
        (_, Some(_)) => Some("400 Bad Request"),
        (None, _) if version == Version::HTTP_11 => {
            Some("400 Bad Request: missing required Host header")
        }
        (Some(host), _) if is_malformed(host) => Some("400 Bad Request: malformed Host header"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(address: &str) -> Port {
        Port {
            url: String::new(),
            address: address.parse().unwrap(),
            names: vec!["Dev.Example".to_owned()],
        }
    }

    #[test]
    fn names_of_a_server_are_localhost_addresses_and_those_that_it_was_given() {
        let own = [
            "",
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:41235",
            "127.9.9.9",
            "[::1]:80",
            "[::ffff:127.0.0.1]",
            "dev.example",
        ];
        let foreign = [
            "evil.example",
            "localhost.evil.example:80",
            "127.0.0.1.evil.example",
            "a b",
            "?",
            "[::1",
        ];
        for address in ["127.0.0.1", "0.0.0.0", "10.0.0.7"] {
            let port = port(address);
            for host in own {
                assert!(port.has(host), "{address}: {host}");
            }
            for host in foreign {
                assert!(!port.has(host), "{address}: {host}");
            }
        }
        for (address, host, is_own) in [
            ("127.0.0.1", "10.0.0.7", false),
            ("10.0.0.7", "10.0.0.7:80", true),
            ("10.0.0.7", "10.0.0.8", false),
            ("0.0.0.0", "10.0.0.8", true),
            ("::", "[fd00::1]:80", true),
        ] {
            assert_eq!(port(address).has(host), is_own, "{address}: {host}");
        }
    }
}
