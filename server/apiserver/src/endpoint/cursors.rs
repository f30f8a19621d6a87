//! The places at which searches for free addresses and ports of Services begin.

use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The names under which allocations are stored.
pub(crate) const ADDRESSES: &str = "serviceaddresses";
pub(crate) const PORTS: &str = "servicenodeports";

/// Where the search for a free address or port begins.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor {
    /// All below are taken, as far as this server knows; 0 before the first search.
    pub(crate) next: u32,
    /// The number of times that one was freed.
    pub(crate) freed: u64,
}

/// The cursors of addresses and ports, so that a choice costs the same however many are taken.
#[derive(Default)]
pub(crate) struct Cursors {
    addresses: Mutex<Cursor>,
    ports: Mutex<Cursor>,
}

impl Cursors {
    pub(crate) fn of(&self, kind: &str) -> MutexGuard<'_, Cursor> {
        let cursor = if kind == PORTS {
            &self.ports
        } else {
            &self.addresses
        };
        cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves a cursor after a search from it, unless something was freed meanwhile.
    pub(crate) fn advance(&self, kind: &str, from: Cursor, next: u32) {
        let mut cursor = self.of(kind);
        if cursor.freed == from.freed {
            cursor.next = cursor.next.max(next);
        }
    }

    /// Moves a cursor back to an address or port that was freed.
    pub(crate) fn freed(&self, kind: &str, name: &str) {
        let address = || name.parse::<Ipv4Addr>().map_or(0, u32::from);
        let number = name.parse().unwrap_or_else(|_| address());
        let mut cursor = self.of(kind);
        cursor.next = cursor.next.min(number);
        cursor.freed += 1;
    }

    /// Forgets all cursors: the store is another one.
    pub(crate) fn clear(&self) {
        for kind in [ADDRESSES, PORTS] {
            self.freed(kind, "0");
        }
    }
}
