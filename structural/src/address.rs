//! IP addresses and ranges, as Go's older parser reads them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IP address; its numbers may have leading zeros, as in Go's older parser.
///
/// ```
/// use fieldmanager_structural::internal::address::ip;
/// assert_eq!(ip("010.0.0.1"), ip("10.0.0.1"));
/// ```
pub fn ip(text: &str) -> Option<IpAddr> {
    if let Ok(ip) = text.parse() {
        return Some(ip);
    }
    // Leading zeros of numbers are removed, which the parser of Rust refuses.
    let bare = |number: &str| match number.trim_start_matches('0') {
        "" if !number.is_empty() => "0".to_owned(),
        bare => bare.to_owned(),
    };
    let group = |group: &str| group.split('.').map(bare).collect::<Vec<_>>().join(".");
    let groups: Vec<String> = text.split(':').map(group).collect();
    groups.join(":").parse().ok()
}

/// The address and the length of a range of IP addresses.
///
/// ```
/// use fieldmanager_structural::internal::address::cidr;
/// assert!(cidr("10.0.0.0/8").is_some() && cidr("10.0.0.0/33").is_none());
/// ```
pub fn cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let (address, length) = (
        ip(address)?,
        length
            .parse::<u8>()
            .ok()
            .filter(|_| !length.starts_with('+'))?,
    );
    (length <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, length))
}

/// Whether a range contains an address.
///
/// ```
/// use fieldmanager_structural::internal::address::{cidr, contains, ip};
/// assert!(contains(cidr("10.1.0.0/16").unwrap(), ip("10.1.2.3").unwrap()));
/// ```
pub fn contains((start, length): (IpAddr, u8), address: IpAddr) -> bool {
    start.is_ipv4() == address.is_ipv4() && first((start, length)) == first((address, length))
}

/// The first address of a range.
///
/// ```
/// use fieldmanager_structural::internal::address::{cidr, first};
/// assert_eq!(first(cidr("10.1.2.3/16").unwrap()).to_string(), "10.1.0.0");
/// ```
pub fn first((address, length): (IpAddr, u8)) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX
                .checked_shl(32_u32.saturating_sub(length.into()))
                .unwrap_or_default();
            Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX
                .checked_shl(128_u32.saturating_sub(length.into()))
                .unwrap_or_default();
            Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_have_leading_zeros() {
        assert_eq!(ip("010.0.0.1"), ip("10.0.0.1"));
        assert_eq!(ip("::ffff:010.0.0.1"), ip("::ffff:10.0.0.1"));
        assert!(ip("10.0.0").is_none() && ip("x").is_none() && ip("10.0.0.256").is_none());
        assert!(
            cidr("10.0.0.0/8").is_some()
                && cidr("10.0.0.0/33").is_none()
                && cidr("10.0.0.0").is_none()
        );
    }

    #[test]
    fn ranges_contain_the_addresses_with_their_prefix() {
        let range = cidr("10.1.0.0/16").unwrap();
        assert!(
            contains(range, ip("10.1.2.3").unwrap()) && !contains(range, ip("10.2.0.0").unwrap())
        );
        assert!(!contains(range, ip("::1").unwrap()));
        assert!(contains(cidr("::/0").unwrap(), ip("ff::").unwrap()));
        assert_eq!(first(cidr("10.1.2.3/16").unwrap()), ip("10.1.0.0").unwrap());
        assert_eq!(first(cidr("::1/0").unwrap()), ip("::").unwrap());
    }
}
