//! Warnings about ports that overlap.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::FieldPath;

use super::bounded::Bounded;
use crate::place::{Place, quoted};
use crate::validation::functions::pods::containers_of;

/// The ports with one number and protocol, by what decides whether two of them overlap.
#[derive(Default)]
struct Ports<'v> {
    all: Vec<FieldPath>,
    /// The ports without a port of the host.
    without_host: Vec<usize>,
    /// The other ports, by the port and the address of the host.
    by_host: BTreeMap<(i64, &'v str), Vec<usize>>,
    /// The other ports with an address, by the port of the host.
    with_ip: BTreeMap<i64, Vec<usize>>,
}

impl<'v> Ports<'v> {
    /// Adds a port, and returns the earlier ones with which it overlaps, in their order.
    fn insert(
        &mut self,
        port: &Place<'v>,
        host: i64,
        ip: &'v str,
        limit: usize,
    ) -> Vec<(usize, &'static str)> {
        const SAME: &str = "duplicate";
        const SOME: &str = "overlapping";
        const UNCLEAR: &str = "dangerously ambiguous";

        // Each group of earlier ports is in the order of the pod, so its first `limit` positions are enough.
        let at = self.all.len();
        self.all.push(port.path.clone());
        let mut found: Vec<(usize, &'static str)> = Vec::new();

        // A port without a host port overlaps with all earlier ones; another port with those without, and with those of
        // the same host port.
        if host == 0 {
            let same = self.by_host.get(&(0, ip)).into_iter().flatten();
            let same: BTreeSet<usize> = same.copied().take(limit).collect();
            found.extend(
                (0..at.min(limit))
                    .map(|other| (other, if same.contains(&other) { SAME } else { SOME })),
            );
            self.without_host.push(at);
        } else {
            let other_ips = match ip {
                "" => self.with_ip.get(&host),
                _ => self.by_host.get(&(host, "")),
            };
            let parts = [
                (self.by_host.get(&(host, ip)), SAME),
                (other_ips, UNCLEAR),
                (Some(&self.without_host), SOME),
            ];

            for (others, words) in parts {
                found.extend(
                    others
                        .into_iter()
                        .flatten()
                        .take(limit)
                        .map(|other| (*other, words)),
                );
            }

            // The groups are merged in the order of the pod, of which the first ones are reported.
            found.sort_unstable();
            found.truncate(limit);
            if !ip.is_empty() {
                self.with_ip.entry(host).or_default().push(at);
            }
        }
        self.by_host.entry((host, ip)).or_default().push(at);

        found
    }
}

/// Adds the warnings about ports of containers that overlap.
pub(super) fn ports(spec: &Place<'_>, out: &mut Vec<String>) {
    // The number of pairs is quadratic, so their warnings are bounded.
    let mut out = Bounded::new(out);
    let mut all: BTreeMap<(i64, &str), Ports<'_>> = BTreeMap::new();
    for container in containers_of(spec) {
        for port in container.items("ports") {
            let (host, ip) = (
                port.int("hostPort").unwrap_or_default(),
                port.text("hostIP"),
            );
            if !ip.is_empty() && host == 0 {
                let shown = format!(
                    "{{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{ip}}}",
                    port.text("name"),
                    port.int("containerPort").unwrap_or_default(),
                    port.text("protocol")
                );
                out.all.push(format!(
                    "{}: hostIP set without hostPort: {shown}",
                    port.path
                ));
            }

            // Ports conflict only for the same number and protocol.
            let key = (
                port.int("containerPort").unwrap_or_default(),
                port.text("protocol"),
            );
            let others = all.entry(key).or_default();

            for (other, words) in others.insert(&port, host, ip, out.left()) {
                let other = others.all.get(other).cloned().unwrap_or_default();
                out.push(format!(
                    "{}: {words} port definition with {other}",
                    port.path
                ));
            }
        }
    }

    // Ports are also selected by name, which finds the first one of the pod.
    let out = out.all;
    let mut names: BTreeMap<&str, FieldPath> = BTreeMap::new();
    for container in containers_of(spec) {
        for port in container.items("ports") {
            match names.get(port.text("name")) {
                _ if port.text("name").is_empty() => {}
                None => drop(names.insert(port.text("name"), port.path.clone())),
                Some(other) => {
                    let name = quoted(&port, "name");
                    let detail =
                        format!("services and probes that select ports by name will use {other}");
                    out.push(format!(
                        "{}: duplicate port name {name} with {other}, {detail}",
                        port.path
                    ));
                }
            }
        }
    }
}
