//! IP addresses and networks.

use std::net::{IpAddr, Ipv6Addr};

use fieldmanager_structural::internal::address::{cidr, contains, first as masked};
use fieldmanager_value::internal::go_format::quote;

use super::function::{Run, binary, first, first_twice, second, unary};
use crate::value::{Fault, Val, fault, no_overload};

/// An address and the length of a prefix.
type Network = (IpAddr, u8);

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name {
        "ip" => |a, call| match a {
            [Val::Cidr(address, _)] if call.is_member => Ok(Val::Ip(*address)),
            _ => unary(a, |text| address(text).map(Val::Ip)),
        },
        "isIP" => |a, _| unary(a, |text| address(text).is_ok()),
        "ip.isCanonical" => |a, _| {
            unary(a, |text| {
                address(text).map(|address| address.to_string() == text)
            })
        },

        // As in the API server, the message begins with the same words twice.
        "cidr" => |a, _| {
            unary(a, |text| match network(text) {
                Ok((address, bits)) => Ok(Val::Cidr(address, bits)),
                Err(Fault::Error(message)) => fault(format!(
                    "network address parse error during conversion from string: {message}"
                )),
                Err(other) => Err(other),
            })
        },
        "isCIDR" => |a, _| unary(a, |text| network(text).is_ok()),

        // The following predicates have the meaning of the methods of `netip.Addr` in Go.
        "family" => |a, _| unary(a, |ip: IpAddr| if ip.is_ipv4() { 4_i64 } else { 6 }),
        "isUnspecified" => |a, _| unary(a, |ip: IpAddr| ip.is_unspecified()),
        "isLoopback" => |a, _| unary(a, |ip: IpAddr| ip.is_loopback()),
        "isLinkLocalMulticast" => |a, _| unary(a, is_link_local_multicast),
        "isLinkLocalUnicast" => |a, _| unary(a, is_link_local_unicast),
        "isGlobalUnicast" => |a, _| unary(a, is_global_unicast),
        "prefixLength" => |a, _| unary(a, |(_, bits): Network| i64::from(bits)),
        "masked" => |a, _| unary(a, |range: Network| Val::Cidr(masked(range), range.1)),
        "containsIP" => |a, _| binary(a, contains_ip),
        "containsCIDR" => |a, _| binary(a, contains_cidr),
        _ => return None,
    })
}

fn contains_ip(range: Network, other: &Val<'_>) -> Result<bool, Fault> {
    match other {
        Val::Ip(other) => Ok(contains(range, *other)),
        // As in the API server, a string that is not an address has no overload.
        Val::String(text) => address(text)
            .or_else(|_| no_overload())
            .map(|other| contains(range, other)),
        _ => no_overload(),
    }
}

fn contains_cidr(range: Network, other: &Val<'_>) -> Result<bool, Fault> {
    let (other, bits) = match other {
        Val::Cidr(other, bits) => (*other, *bits),
        Val::String(text) => network(text)?,
        _ => return no_overload(),
    };
    Ok(range.1 <= bits && contains(range, other))
}

/// The cost of comparing the prefix, and of parsing the second argument if it is a string.
pub(super) fn contains_ip_cost(arguments: &[Val<'_>]) -> u64 {
    let parsing = match arguments {
        // An argument that failed is null.
        [_, Val::String(_) | Val::Null] => second(arguments),
        _ => 0,
    };
    first_twice(arguments).saturating_add(parsing)
}

/// The cost of `containsIP`, of masking the network, and of comparing the lengths of the prefixes.
pub(super) fn contains_cidr_cost(arguments: &[Val<'_>]) -> u64 {
    contains_ip_cost(arguments)
        .saturating_add(first(arguments))
        .saturating_add(1)
}

/// Parses an address without a zone.
fn address(text: &str) -> Result<IpAddr, Fault> {
    let quoted = quote(text);
    if let Some((address, zone)) = text.split_once('%')
        && address.parse::<Ipv6Addr>().is_ok()
        && !zone.is_empty()
    {
        return fault(format!(
            "IP address {quoted} with zone value is not allowed"
        ));
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
fn network(text: &str) -> Result<Network, Fault> {
    let quoted = quote(text);
    let invalid = |why: &str| {
        fault(format!(
            "network address parse error during conversion from string: netip.ParsePrefix({quoted}): {why}"
        ))
    };
    let Some((address, bits)) = text.rsplit_once('/') else {
        return invalid("no '/'");
    };

    match address.parse() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            return fault(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
        }
        Ok(_) => {}
        Err(_) => return invalid("unable to parse IP"),
    }

    let has_zeros = bits.len() > 1 && bits.starts_with('0');
    match cidr(text).filter(|_| !has_zeros) {
        Some(network) => Ok(network),
        None => invalid("bad bits after slash"),
    }
}

fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_global_unicast(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !is_broadcast
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local_unicast(address)
}
