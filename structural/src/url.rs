//! URLs.

use std::net::{Ipv4Addr, Ipv6Addr};

use fieldmanager_value::internal::go_format::quote;

/// A parsed URL: absolute, or an absolute path.
///
/// Behaviour: `ParseRequestURI` and `Parse` of Go's `net/url`.
#[derive(Debug, Default, PartialEq)]
pub struct Url {
    /// The scheme in lower case.
    pub scheme: String,
    /// The host with its port.
    pub host: String,
    /// The path, escaped.
    pub path: String,
    /// The query without the question mark.
    pub query: String,
}

/// Parses a URL.
///
/// # Errors
///
/// The reason in Go's words.
///
/// ```
/// use fieldmanager_structural::internal::url::parse;
/// assert_eq!(parse("https://example.com:1/a?b").unwrap().host, "example.com:1");
/// assert_eq!(parse(":a").unwrap_err(), "missing protocol scheme");
/// ```
pub fn parse(text: &str) -> Result<Url, String> {
    if text.is_empty() {
        return Err("empty url".to_owned());
    }
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }

    let (scheme, rest) = scheme(text)?;
    if !rest.starts_with('/') {
        if scheme.is_empty() {
            return Err("invalid URI for request".to_owned());
        }
        // An opaque URL, such as `mailto:a`.
        return Ok(Url {
            scheme,
            query: path_and_query(rest).1.to_owned(),
            ..Url::default()
        });
    }

    // The authority ends before a path or a query, not before a fragment.
    let (authority, rest) = match rest.strip_prefix("//") {
        Some(rest) if !scheme.is_empty() => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            rest.split_at_checked(end).unwrap_or((rest, ""))
        }
        _ => ("", rest),
    };
    // A user and a password do not belong to the host.
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    check_user(user)?;
    check_host(&scheme, host)?;
    let (path, query) = path_and_query(rest);
    check_escapes(path)?;

    Ok(Url {
        scheme,
        host: host.to_owned(),
        path: escaped(path),
        query: query.to_owned(),
    })
}

/// What stands before the query, and the query. A fragment, which may contain a question mark, is left out.
fn path_and_query(text: &str) -> (&str, &str) {
    let text = text.split_once('#').map_or(text, |(text, _)| text);
    text.split_once('?').unwrap_or((text, ""))
}

/// Splits the scheme off.
fn scheme(text: &str) -> Result<(String, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => {
                let (scheme, rest) = text.split_at_checked(at).unwrap_or((text, ""));
                return Ok((
                    scheme.to_ascii_lowercase(),
                    rest.get(1..).unwrap_or_default(),
                ));
            }
            _ => break,
        }
    }

    Ok((String::new(), text))
}

/// The name and the port of a host.
pub fn split_host(host: &str) -> (&str, &str) {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    };
    (
        name.strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
            .unwrap_or(name),
        port,
    )
}

fn check_host(scheme: &str, host: &str) -> Result<(), String> {
    check_characters(host)?;
    let after = match host.strip_prefix('[') {
        Some(rest) => {
            let (literal, after) = rest.rsplit_once(']').ok_or("missing ']' in host")?;
            check_literal(literal)?;
            after
        }
        None if host.contains('[') => return Err("invalid IP-literal".to_owned()),
        None => {
            check_host_escapes(host)?;
            // Other schemes have lists of hosts, with ports in between.
            let colon = match scheme {
                "http" | "https" => host.find(':'),
                _ => host.rfind(':'),
            };
            colon.and_then(|at| host.get(at..)).unwrap_or_default()
        }
    };

    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if after.is_empty() || after.strip_prefix(':').is_some_and(is_port) {
        return Ok(());
    }
    Err(format!("invalid port {} after host", quote(after)))
}

/// An IPv6 address, perhaps with a zone.
fn check_literal(literal: &str) -> Result<(), String> {
    let (address, zone) = literal
        .split_once("%25")
        .map_or((literal, None), |(address, zone)| (address, Some(zone)));
    let is_address = address.parse::<Ipv6Addr>().is_ok();
    if is_address && zone != Some("") {
        return zone.map_or(Ok(()), check_escapes);
    }
    Err(match literal.parse::<Ipv4Addr>() {
        Ok(_) => "invalid IP-literal".to_owned(),
        Err(_) => format!(
            "invalid host: ParseAddr({}): unable to parse IP",
            quote(literal)
        ),
    })
}

fn check_characters(host: &str) -> Result<(), String> {
    let is_known = |c: char| {
        !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:<>[]\"%".contains(c)
    };
    match host.chars().find(|c| !is_known(*c)) {
        Some(c) => Err(format!(
            "invalid character {} in host name",
            quote(&c.to_string())
        )),
        None => Ok(()),
    }
}

fn check_user(user: &str) -> Result<(), String> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(is_known) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    check_escapes(user)
}

/// Escapes in a host: only of what is not ASCII, and of the percent sign.
fn check_host_escapes(host: &str) -> Result<(), String> {
    check_escapes(host)?;
    let is_known = |escape: &str| escape.starts_with(|c: char| !matches!(c, '0'..='7'));
    let refused = host
        .split('%')
        .skip(1)
        .filter_map(|escape| escape.get(..2))
        .find(|escape| !is_known(escape) && *escape != "25");
    match refused {
        Some(escape) => Err(format!(
            "invalid URL escape {}",
            quote(&format!("%{escape}"))
        )),
        None => Ok(()),
    }
}

fn check_escapes(path: &str) -> Result<(), String> {
    let mut rest = path;
    while let Some((_, after)) = rest.split_once('%') {
        let digits = after.get(..after.len().min(2)).unwrap_or(after);
        if digits.len() < 2 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!(
                "invalid URL escape {}",
                quote(&format!("%{digits}"))
            ));
        }
        rest = after.get(2..).unwrap_or_default();
    }

    Ok(())
}

/// The path with escapes where it needs them.
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!'()*[]".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
