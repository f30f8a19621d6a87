//! Formats of strings and numbers, as faults in the words of Kubernetes.

use std::net::IpAddr;

use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::internal::address::{cidr, ip};
use serde_json::Value as Json;

const SEARCH_PATH: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', \
                           and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
                           validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const PORT: &str = "must be between 1 and 65535, inclusive";

/// The faults of the number of a port.
pub(super) fn port(number: i64) -> Vec<String> {
    if (1..=65535).contains(&number) {
        Vec::new()
    } else {
        vec![PORT.to_owned()]
    }
}

/// The faults of a host of an Ingress, which may start with a wildcard.
pub(super) fn host(host: &str) -> Vec<String> {
    if !host.contains('*') {
        return NameSyntax::Subdomain.faults(host, false);
    }
    let mut faults = Vec::new();
    if host.len() > 253 {
        faults.push("must be no more than 253 characters".to_owned());
    }

    // The wildcard stands for the first label, so the rest is an ordinary subdomain.
    let rest = host
        .strip_prefix("*.")
        .map(|rest| NameSyntax::Subdomain.faults(rest, false));
    if !rest.is_some_and(|faults| faults.is_empty()) {
        faults.push(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist \
             of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
             '*.example.com', regex used for validation is \
             '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }

    faults
}

/// The faults of a full domain name, whose last dot may be written. A name that is missing has none.
pub(super) fn domain(name: &str) -> Vec<String> {
    if name.is_empty() {
        return Vec::new();
    }
    // A last dot marks the name as fully qualified and is not part of a label.
    let name = name.strip_suffix('.').unwrap_or(name);
    let faults = NameSyntax::Subdomain.faults(name, false);
    if faults.is_empty() && !name.contains('.') {
        return vec!["should be a domain with at least two segments separated by dots".to_owned()];
    }
    faults
}

/// Whether a text is a host and a port, as in `host:80` and `[::1]:80`. Both may be empty.
///
/// Behaviour: `net.SplitHostPort` of Go.
pub(super) fn is_host_port(text: &str) -> bool {
    let has_bracket = |part: &str| part.contains(['[', ']']);
    match text.strip_prefix('[') {
        Some(rest) => rest.split_once("]:").is_some_and(|(host, port)| {
            !has_bracket(host) && !has_bracket(port) && !port.contains(':')
        }),
        None => text
            .split_once(':')
            .is_some_and(|(_, port)| !port.contains(':') && !has_bracket(text)),
    }
}

/// Whether a text is the name of a target or an initiator of iSCSI, of one of three forms.
pub(super) fn is_iscsi_name(name: &str) -> bool {
    let has_digits = |start: &str, count: usize| {
        name.strip_prefix(start).is_some_and(|rest| {
            let mut rest = rest.chars();
            let is_same_line = rest.next().is_some_and(|separator| separator != '\n');
            let digits = rest.as_str();
            let is_digit = |byte: u8| byte.is_ascii_alphanumeric();
            is_same_line && digits.len() == count && digits.bytes().all(is_digit)
        })
    };
    name.starts_with("iqn") && has_qualified_name(name)
        || has_digits("eui", 16)
        || has_digits("naa", 32)
}

/// Whether a text ends with a date and a host, a colon, and more: `iqn.2001-04.com.example:storage`. It may start with
/// anything, and each of its colons can be that one.
fn has_qualified_name(text: &str) -> bool {
    const DATE: &str = "iqn.0000-00.";
    let is_after = |c: char| {
        !matches!(
            c,
            ',' | ';' | '*' | '&' | '$' | '|' | '\t' | '\n' | '\x0c' | '\r' | ' '
        )
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let is_dated = |host: &str| {
        let mut pairs = DATE.bytes().zip(host.bytes());
        host.len() > DATE.len()
            && pairs.all(|(form, byte)| form == byte || form == b'0' && byte.is_ascii_digit())
    };

    let kept = text.trim_end_matches(is_after).len();
    let mut colons = text.match_indices(':').map(|(at, _)| at);
    colons.any(|at| {
        // What follows a colon reaches to the end of the text, and is not empty.
        let host = text[..at]
            .rsplit(|c| !is_host(c))
            .next()
            .unwrap_or_default();
        let is_last = at >= kept && at + 1 < text.len();
        is_last
            && host
                .match_indices("iqn.")
                .any(|(start, _)| is_dated(&host[start..]))
    })
}

/// The faults of a search path of resolvers: a subdomain whose labels may also have underscores inside and at the start.
pub(super) fn search_path(path: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if path.len() > 253 {
        faults.push("must be no more than 253 characters".to_owned());
    }
    let is_inner = |c: u8| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    let is_label = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label);
        !label.is_empty()
            && label.bytes().all(is_inner)
            && !label.starts_with(['-', '_'])
            && !label.ends_with(['-', '_'])
    };
    if !path.split('.').all(is_label) {
        faults.push(SEARCH_PATH.to_owned());
    }
    faults
}

/// Reads JSON that becomes a type of Go; an error has the words of Go, which has more of them for errors of the syntax.
pub(super) fn read_json(
    text: &[u8],
    ty: &str,
    is_accepted: fn(&Json) -> bool,
) -> Result<Json, String> {
    let name = match serde_json::from_slice(text) {
        Ok(json) if is_accepted(&json) => return Ok(json),
        Ok(Json::Object(_)) => "object",
        Ok(Json::Array(_)) => "array",
        Ok(Json::String(_)) => "string",
        Ok(Json::Number(_)) => "number",
        Ok(Json::Bool(_) | Json::Null) => "bool",
        Err(error) if error.is_eof() => return Err("unexpected end of JSON input".to_owned()),
        Err(error) => {
            let text = String::from_utf8_lossy(text);
            let line = text.lines().nth(error.line().saturating_sub(1));
            let at = error.column().saturating_sub(1);
            let found = line.and_then(|line| line.get(at..)?.chars().next());
            let found = found.unwrap_or_default();
            let fault = format!("invalid character '{found}' looking for beginning of value");
            return Err(fault);
        }
    };
    Err(format!(
        "json: cannot unmarshal {name} into Go value of type {ty}"
    ))
}

/// The faults of an IP address.
pub(super) fn ip_faults(text: &str) -> Vec<String> {
    // The lenient parser accepts what Go once accepted; the strict one finds leading zeros.
    let fault = match (ip(text), text.parse::<IpAddr>()) {
        (None, _) => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        (_, Err(_)) => "must not have leading 0s",
        (Some(IpAddr::V6(v6)), _) if v6.to_ipv4_mapped().is_some() => {
            "must not be an IPv4-mapped IPv6 address"
        }
        _ => return Vec::new(),
    };
    vec![fault.to_owned()]
}

/// The faults of a range of IP addresses.
pub(super) fn cidr_faults(text: &str) -> Vec<String> {
    let Some((address, length)) = cidr(text) else {
        return vec!["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned()];
    };
    let is_strict = text.split_once('/').is_some_and(|(address, length)| {
        address.parse::<IpAddr>().is_ok() && (length == "0" || !length.starts_with('0'))
    });
    let (bits, width) = match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    // The host bits are the ones below the prefix. A prefix of full length shifts all 128 bits out.
    let beyond = u128::MAX
        .checked_shr(128 - width + u32::from(length))
        .unwrap_or_default();

    let fault = match address {
        _ if !is_strict => "must not have leading 0s in IP or prefix length",
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            "must not have an IPv4-mapped IPv6 address"
        }
        _ if bits & beyond != 0 => "must not have bits set beyond the prefix length",
        _ => return Vec::new(),
    };

    vec![fault.to_owned()]
}

/// The faults of the address of an endpoint.
pub(super) fn endpoint_ip(text: &str) -> Vec<String> {
    let Some(ip) = ip(text) else {
        return vec!["must be a valid IP address".to_owned()];
    };
    let mut faults = Vec::new();
    let mut check = |is_fault: bool, fault: &str| {
        if is_fault {
            faults.push(fault.to_owned());
        }
    };
    // An IPv4 address mapped to IPv6 is judged as IPv4, so that it cannot hide a forbidden range.
    let (is_local, is_multicast) = match ip.to_canonical() {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(v6) => (
            v6.is_unicast_link_local(),
            v6.segments().first().is_some_and(|s| s & 0xff0f == 0xff02),
        ),
    };

    let ip = ip.to_canonical();
    // Endpoints are reached from other nodes, where these addresses mean another host or none.
    check(
        ip.is_unspecified(),
        &format!("may not be unspecified ({text})"),
    );
    check(
        ip.is_loopback(),
        "may not be in the loopback range (127.0.0.0/8, ::1/128)",
    );
    check(
        is_local,
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
    );

    check(
        is_multicast,
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
    );
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_the_faults_of_kubernetes() {
        assert!(host("*.a.b").is_empty() && host("a.b").is_empty());
        assert_eq!(
            (host("a.*").len(), host("A").len(), host("*").len()),
            (1, 1, 1)
        );
    }

    #[test]
    fn addresses_have_the_faults_of_kubernetes() {
        assert!(ip_faults("10.0.0.1").is_empty() && cidr_faults("10.0.0.0/8").is_empty());
        assert!(cidr_faults("::/0").is_empty() && cidr_faults("0.0.0.0/0").is_empty());
        assert_eq!(ip_faults("010.0.0.1"), ["must not have leading 0s"]);
        assert_eq!(
            ip_faults("::ffff:1.2.3.4"),
            ["must not be an IPv4-mapped IPv6 address"]
        );
        assert_eq!(
            cidr_faults("10.0.0.1/8"),
            ["must not have bits set beyond the prefix length"]
        );
        assert_eq!(
            cidr_faults("10.0.0.0/08"),
            ["must not have leading 0s in IP or prefix length"]
        );
        assert_eq!(
            endpoint_ip("127.0.0.1").len() + endpoint_ip("10.0.0.1").len(),
            1
        );
    }
}
