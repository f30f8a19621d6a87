//! The network of the addresses that Services get.

use std::net::Ipv4Addr;
use std::str::FromStr;

/// A network of IPv4 addresses for Services, such as `10.96.0.0/16`. The first of them is that of the Service `kubernetes`.
///
/// ```
/// # use fieldmanager_apiserver::ServiceNetwork;
/// let network: ServiceNetwork = "10.0.0.0/24".parse()?;
/// assert_eq!(network.to_string(), "10.0.0.0/24");
/// assert!("10.0.0.0/31".parse::<ServiceNetwork>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceNetwork {
    first: u32,
    bits: u8,
}

impl Default for ServiceNetwork {
    fn default() -> Self {
        ServiceNetwork {
            first: 0x0A60_0000,
            bits: 16,
        }
    }
}

impl ServiceNetwork {
    /// The last address, which no Service gets; nor does it get the first one.
    fn last(self) -> u32 {
        self.first | (u32::MAX >> self.bits)
    }

    /// The address of the Service `kubernetes`.
    pub(crate) fn of_kubernetes(self) -> Ipv4Addr {
        Ipv4Addr::from(self.first + 1)
    }

    /// Whether a Service can have an address.
    pub(crate) fn has(self, address: u32) -> bool {
        (self.first + 1..self.last()).contains(&address)
    }

    /// The first and the last address that are given to Services. Those below are for Services that ask for one.
    ///
    /// Behaviour: `calculateRangeOffset` of `kubernetes/pkg/registry/core/service/ipallocator/ipallocator.go`.
    pub(crate) fn chosen(self) -> (u32, u32) {
        let size = self.last() - self.first;
        let reserved = if size < 16 {
            1
        } else {
            (size / 16 + 1).clamp(16, 256)
        };
        (self.first + reserved, self.last() - 1)
    }
}

impl FromStr for ServiceNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(address, bits)| {
            let address: Ipv4Addr = address.parse().ok()?;
            let bits: u8 = bits.parse().ok()?;
            (8..=30)
                .contains(&bits)
                .then_some((u32::from(address), bits))
        });
        let (address, bits) = parsed.ok_or_else(|| {
            format!("expected an IPv4 network such as `10.96.0.0/16`, from /8 to /30: {text:?}")
        })?;
        Ok(ServiceNetwork {
            first: address & !(u32::MAX >> bits),
            bits,
        })
    }
}

impl std::fmt::Display for ServiceNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.first), self.bits)
    }
}
