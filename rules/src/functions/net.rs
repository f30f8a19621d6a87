//! IP addresses and networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fieldmanager_value::internal::go_format::quote;

use super::function::{Function, first, first_twice, global, member, one, second};
use crate::value::{Fault, Outcome, Val, fault, no_overload};

pub(super) const ALL: &[Function] = &[
    global("ip", 1, first, |a, _| Ok(Val::Ip(address(text(a)?)?))),
    global("isIP", 1, first, |a, _| Ok(Val::Bool(address(text(a)?).is_ok()))),
    global("ip.isCanonical", 1, first_twice, |a, _| {
        let text = text(a)?;
        Ok(Val::Bool(address(text)?.to_string() == text))
    }),
    global("cidr", 1, first, |a, _| {
        let (address, bits) = network(text(a)?).map_err(|fault| match fault {
            Fault::Error(message) => {
                Fault::Error(format!("network address parse error during conversion from string: {message}"))
            }
            other => other,
        })?;
        Ok(Val::Cidr(address, bits))
    }),
    global("isCIDR", 1, first, |a, _| Ok(Val::Bool(network(text(a)?).is_ok()))),
    member("family", 1, one, |a, _| match a {
        [Val::Ip(IpAddr::V4(_))] => Ok(Val::Int(4)),
        [Val::Ip(IpAddr::V6(_))] => Ok(Val::Int(6)),
        _ => no_overload(),
    }),
    member("isUnspecified", 1, one, |a, _| is(a, |ip| ip.is_unspecified())),
    member("isLoopback", 1, one, |a, _| is(a, |ip| ip.is_loopback())),
    member("isLinkLocalMulticast", 1, one, |a, _| is(a, is_link_local_multicast)),
    member("isLinkLocalUnicast", 1, one, |a, _| is(a, is_link_local_unicast)),
    member("isGlobalUnicast", 1, one, |a, _| is(a, is_global_unicast)),
    member("ip", 1, one, |a, _| match a {
        [Val::Cidr(address, _)] => Ok(Val::Ip(*address)),
        _ => no_overload(),
    }),
    member("prefixLength", 1, one, |a, _| match a {
        [Val::Cidr(_, bits)] => Ok(Val::Int(i64::from(*bits))),
        _ => no_overload(),
    }),
    member("masked", 1, one, |a, _| match a {
        [Val::Cidr(address, bits)] => Ok(Val::Cidr(masked(*address, *bits), *bits)),
        _ => no_overload(),
    }),
    member("containsIP", 2, contains_ip_cost, |a, _| match a {
        [Val::Cidr(network, bits), Val::Ip(other)] => Ok(Val::Bool(contains(*network, *bits, *other))),
        [Val::Cidr(network, bits), Val::String(text)] => {
            // As in the API server, a string that is not an address has no overload.
            address(text).or_else(|_| no_overload()).map(|other| Val::Bool(contains(*network, *bits, other)))
        }
        _ => no_overload(),
    }),
    member("containsCIDR", 2, contains_cidr_cost, |a, _| {
        let ((one, bits), (other, other_bits)) = match a {
            [Val::Cidr(one, bits), Val::Cidr(other, other_bits)] => ((*one, *bits), (*other, *other_bits)),
            [Val::Cidr(one, bits), Val::String(text)] => ((*one, *bits), network(text)?),
            _ => return no_overload(),
        };
        Ok(Val::Bool(bits <= other_bits && contains(one, bits, other)))
    }),
];

/// The cost of comparing the prefix, and of parsing the second argument if it is a string.
fn contains_ip_cost(arguments: &[Val<'_>]) -> u64 {
    let parsing = match arguments {
        // An argument that failed is a string, unless it is a call.
        [_, Val::String(_) | Val::Null] => second(arguments),
        _ => 0,
    };
    first_twice(arguments).saturating_add(parsing)
}

/// The cost of `containsIP`, of masking the network, and of comparing the lengths of the prefixes.
fn contains_cidr_cost(arguments: &[Val<'_>]) -> u64 {
    contains_ip_cost(arguments).saturating_add(first(arguments)).saturating_add(1)
}

fn text<'v>(arguments: &'v [Val<'_>]) -> Result<&'v str, Fault> {
    match arguments {
        [Val::String(text)] => Ok(text),
        _ => no_overload(),
    }
}

fn is<'a>(arguments: &[Val<'a>], holds: fn(&IpAddr) -> bool) -> Outcome<'a> {
    match arguments {
        [Val::Ip(address)] => Ok(Val::Bool(holds(address))),
        _ => no_overload(),
    }
}

/// Parses an address without a zone.
fn address(text: &str) -> Result<IpAddr, Fault> {
    let quoted = quote(text);
    if let Some((address, zone)) = text.split_once('%')
        && address.parse::<Ipv6Addr>().is_ok()
        && !zone.is_empty()
    {
        return fault(format!("IP address {quoted} with zone value is not allowed"));
    }
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            fault(format!("IPv4-mapped IPv6 address {quoted} is not allowed"))
        }
        Ok(address) => Ok(address),
        Err(_) => fault(format!(
            "IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): unable to parse IP"
        )),
    }
}

/// Parses a network, such as `10.0.0.0/8`.
fn network(text: &str) -> Result<(IpAddr, u8), Fault> {
    let quoted = quote(text);
    let invalid = |why: &str| {
        fault(format!(
            "network address parse error during conversion from string: netip.ParsePrefix({quoted}): {why}"
        ))
    };
    let Some((address, bits)) = text.rsplit_once('/') else { return invalid("no '/'") };
    let Ok(address) = address.parse::<IpAddr>() else { return invalid("unable to parse IP") };
    if let IpAddr::V6(address) = address
        && address.to_ipv4_mapped().is_some()
    {
        return fault(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
    }
    let is_number = !bits.is_empty()
        && bits.bytes().all(|byte| byte.is_ascii_digit())
        && (bits == "0" || !bits.starts_with('0'));
    let limit = if address.is_ipv4() { 32 } else { 128 };
    match bits.parse::<u8>() {
        Ok(bits) if is_number && bits <= limit => Ok((address, bits)),
        _ => invalid("bad bits after slash"),
    }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

fn contains(network: IpAddr, bits: u8, other: IpAddr) -> bool {
    network.is_ipv4() == other.is_ipv4() && masked(network, bits) == masked(other, bits)
}

fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_global_unicast(address: &IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !is_broadcast
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local_unicast(address)
}
