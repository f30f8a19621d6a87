//! Failures of connections in the words of Go.

use std::io;

use fieldmanager_managedfields::Time;
use tokio_rustls::rustls::pki_types::{ServerName, UnixTime};
use tokio_rustls::rustls::{CertificateError, Error};

/// The failure of a handshake in the words of Go.
pub(super) fn handshake_words(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "EOF".to_owned();
    }
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(fault)) => format!(
            "tls: failed to verify certificate: x509: {}",
            certificate_words(fault)
        ),
        Some(Error::InvalidMessage(_)) => {
            "tls: first record does not look like a TLS handshake".to_owned()
        }
        Some(other) => format!("tls: {other}"),
        None => io_words("read", error),
    }
}

fn certificate_words(fault: &CertificateError) -> String {
    let time = |time: &UnixTime| {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        Time::from_unix_seconds(seconds)
            .map_or_else(|_| seconds.to_string(), |time| time.to_string())
    };

    // Operators search for these messages, so they are those of Go and not those of the library.
    let dates = "certificate has expired or is not yet valid";
    match fault {
        CertificateError::ExpiredContext {
            time: now,
            not_after,
        } => {
            format!(
                "{dates}: current time {} is after {}",
                time(now),
                time(not_after)
            )
        }
        CertificateError::NotValidYetContext {
            time: now,
            not_before,
        } => {
            format!(
                "{dates}: current time {} is before {}",
                time(now),
                time(not_before)
            )
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let expected_name = expected.to_str();
            // The library gives the names in the form `DnsName("web")`.
            let of_kind = |kind: &str| -> Vec<String> {
                let names = presented.iter().filter_map(|name| name.strip_prefix(kind));
                names
                    .map(|name| name.trim_matches(['(', ')', '"']).to_owned())
                    .collect()
            };
            let is_address = matches!(expected, ServerName::IpAddress(_));
            let names = of_kind(if is_address { "IpAddress" } else { "DnsName" });
            match (names.is_empty(), is_address) {
                (true, true) => format!(
                    "cannot validate certificate for {expected_name} because it doesn't contain any IP SANs"
                ),
                (true, false) => format!(
                    "certificate is not valid for any names, but wanted to match {expected_name}"
                ),
                _ => format!(
                    "certificate is valid for {}, not {expected_name}",
                    names.join(", ")
                ),
            }
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "certificate signed by unknown authority".to_owned()
        }
        other => other.to_string(),
    }
}

/// A failure of the system in the words of Go: `connect: connection refused`.
pub(super) fn io_words(what: &str, error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    // Rust adds the number of the error, Go does not.
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("{what}: {text}")
}

/// The failure of an exchange in the words of Go.
pub(super) fn exchange_words(error: &hyper::Error) -> String {
    let source = std::error::Error::source(error);
    match source.and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(error) if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        Some(error) if error.get_ref().is_some_and(|inner| inner.is::<Error>()) => {
            handshake_words(error)
        }
        Some(error) => io_words("read", error),
        None if error.is_parse() => {
            "net/http: HTTP/1.x transport connection broken: malformed HTTP response".to_owned()
        }
        None => "EOF".to_owned(),
    }
}
