//! The addresses and node ports of Services, which the server chooses.
//!
//! An allocation is an object in the store, whose key has the address or port and which no resource serves: two writers
//! never get the same. It is made before its Service is written and removed after the Service no longer has it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use fieldmanager_builtin::prepare_allocation;
use fieldmanager_handlers::{Pending, Subresource};
use fieldmanager_managedfields::Status;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{List, Value};

use super::admission::refused;
use super::call::Call;
use super::core::Core;
use super::cursors::{ADDRESSES, Cursor, PORTS};
use super::failure::Failure;
use crate::object::{has_items, text, with_field};
use crate::registry::Served;
use crate::store::{Key, List as ListOf, Prefix, Revision, StoreError, Write};

/// The node ports.
const FIRST_PORT: u32 = 30_000;
const LAST_PORT: u32 = 32_767;

/// The time after which an allocation without a Service is no longer that of a request.
const ABANDONED: Duration = Duration::from_secs(60);

/// An allocation: its kind, and the address or port.
pub(super) type Allocation = (&'static str, String);

/// A Service whose addresses and ports are chosen.
struct Choice<'c> {
    core: &'c Core,
    call: &'c Call<'c>,
    /// The allocations are stored with the uid of the Service.
    uid: Value,
    /// A dry run stores none.
    dry_run: bool,
    /// The allocations of the Service that this request made.
    made: Vec<Allocation>,
}

impl Core {
    /// Gives the Service of a write the addresses and node ports that it lacks, and returns the allocations that were made for
    /// it. A dry run makes none. `live` is the Service before the request.
    ///
    /// Behaviour: `beginCreate` and `beginUpdate` of `k8s.io/kubernetes/pkg/registry/core/service/storage`, which precede the
    /// strategy and validation.
    pub(super) async fn allocate(
        &self,
        call: &Call<'_>,
        pending: &mut Pending<'_>,
        live: Option<&Value>,
    ) -> Result<Vec<Allocation>, Failure> {
        let spec = pending.object().get("spec");
        let is_equal = live.is_some_and(|live| live.get("spec") == spec);
        // A write on an earlier state is a conflict, whatever it asks for.
        let version = |object| text(object, &["metadata", "resourceVersion"]);
        let wanted = version(pending.object());
        let is_stale = !wanted.is_empty() && live.is_some_and(|live| version(live) != wanted);
        if !call.served.is(|kind| kind.has_allocations)
            || call.part() != Some(Subresource::Object)
            || is_equal
            || is_stale
        {
            return Ok(Vec::new());
        }

        let request = pending.request();
        let dry_run = !request.options.dry_run.is_empty();
        let uid = live.map_or(request.uid, |live| text(live, &["metadata", "uid"]));
        let mut choice = Choice {
            core: self,
            call,
            uid: Value::from(uid),
            dry_run,
            made: Vec::new(),
        };
        let chosen = choice.run(pending.object(), live).await;
        let made = if dry_run { Vec::new() } else { choice.made };

        match chosen {
            Ok(object) => {
                pending.admit(object, Vec::new());
                Ok(made)
            }
            Err(failure) => {
                self.release(&made).await?;
                Err(refused(pending.warnings(), failure))
            }
        }
    }

    /// Makes the allocations agree with the Services, of which a server that ended during a write may have left too many,
    /// and those that exist from the start have none.
    pub(crate) async fn repair_allocations(&self) -> Result<(), StoreError> {
        let (unused, missing) = self.compared_allocations().await?;
        // Another server may be about to write the Service of an allocation.
        if !self.store.is_shared() {
            self.free(unused).await?;
        }

        for ((kind, name), uid) in missing {
            if let Ok(key) = Key::new("", kind, None, &name) {
                ignoring_conflicts(self.store.write(&key, Write::Create(uid)).await)?;
            }
        }
        Ok(())
    }

    /// Frees the allocations of a shared store that have no Service for longer than a request takes.
    pub(crate) async fn free_abandoned_allocations(&self) -> Result<(), StoreError> {
        let (before, _) = self.compared_allocations().await?;
        if before.is_empty() {
            return Ok(());
        }
        // A request of another server may be between its allocation and its Service. One at the same revision later is
        // abandoned.
        tokio::time::sleep(ABANDONED).await;
        let (mut unused, _) = self.compared_allocations().await?;
        unused.retain(|key, revision| before.get(key) == Some(revision));
        self.free(unused).await
    }

    /// The allocations that no Service has, with their revisions, and those that Services lack, with the uids of these. The
    /// Services are read last, so that an allocation whose Service was written meanwhile is used.
    async fn compared_allocations(
        &self,
    ) -> Result<(BTreeMap<Key, Revision>, BTreeMap<Allocation, Value>), StoreError> {
        let mut found = Vec::new();
        for kind in [ADDRESSES, PORTS] {
            let Ok(prefix) = Prefix::resource("", kind) else {
                continue;
            };
            let entries = self.store.list(ListOf::new(prefix)).await?.entries;
            found.extend(entries.into_iter().map(|entry| (kind, entry)));
        }

        let registry = self.registry();
        let services = registry
            .get("", "v1", "services")
            .and_then(|services| services.prefix("").ok());
        let Some(services) = services else {
            return Ok(Default::default());
        };

        // All allocations of Services are missing until they are found.
        let mut missing = BTreeMap::new();
        for entry in self.store.list(ListOf::new(services)).await?.entries {
            let uid = Value::from(text(&entry.object, &["metadata", "uid"]));
            missing.extend(
                allocations(&entry.object)
                    .into_iter()
                    .map(|one| (one, uid.clone())),
            );
        }

        // What was found and belongs to no Service is unused. What remains in the other map was not found.
        let mut unused = BTreeMap::new();
        for (kind, entry) in found {
            if missing
                .remove(&(kind, entry.key.parts().name.to_owned()))
                .is_none()
            {
                unused.insert(entry.key, entry.revision);
            }
        }

        Ok((unused, missing))
    }

    async fn free(&self, unused: BTreeMap<Key, Revision>) -> Result<(), StoreError> {
        for (key, expected) in unused {
            ignoring_conflicts(self.store.write(&key, Write::Delete { expected }).await)?;
            self.cursors.freed(key.parts().plural, key.parts().name);
        }
        Ok(())
    }

    /// Frees the allocations of a write that failed. If the store may have made the write, they remain until the next
    /// start.
    pub(super) async fn release_failed(&self, error: &StoreError, allocations: &[Allocation]) {
        if !matches!(error, StoreError::Unavailable(_)) {
            // The answer is the failure of the write.
            let _ = self.release(allocations).await;
        }
    }

    /// Frees allocations.
    pub(super) async fn release(&self, allocations: &[Allocation]) -> Result<(), Failure> {
        for (kind, name) in allocations {
            let key = Key::new("", kind, None, name)?;
            // Deletion at the revision that was read: an allocation of another Service made meanwhile stays.
            if let Some(entry) = self.store.get(&key, None).await?.entry {
                let written = self
                    .store
                    .write(
                        &key,
                        Write::Delete {
                            expected: entry.revision,
                        },
                    )
                    .await;
                ignoring_conflicts(written)?;
                self.cursors.freed(kind, name);
            }
        }

        Ok(())
    }

    /// Frees the allocations that a Service had and no longer has; `new` is absent if it was deleted.
    pub(super) async fn release_unused(
        &self,
        served: &Served,
        old: &Value,
        new: Option<&Value>,
    ) -> Result<(), Failure> {
        if !served.is(|kind| kind.has_allocations) {
            return Ok(());
        }
        let kept = new.map(allocations).unwrap_or_default();
        let freed: Vec<Allocation> = allocations(old)
            .into_iter()
            .filter(|one| !kept.contains(one))
            .collect();
        self.release(&freed).await
    }
}

impl Choice<'_> {
    async fn run(&mut self, service: &Value, live: Option<&Value>) -> Result<Value, Failure> {
        let service =
            prepare_allocation(service, live).map_err(|errors| self.invalid(service, &errors))?;
        if text(&service, &["spec", "type"]) == "ExternalName" {
            return Ok(service);
        }

        // A Service that was made by a request to its status can have no address, and gets none later on.
        let keeps_address =
            live.is_some_and(|live| text(live, &["spec", "type"]) != "ExternalName");
        let service = if keeps_address {
            service
        } else {
            self.with_address(service).await?
        };
        let service = self.with_ports(service, live.is_some()).await?;

        self.with_health_port(service).await
    }

    fn invalid(&self, service: &Value, errors: &[FieldError]) -> Failure {
        let name = text(service, &["metadata", "name"]);
        Status::invalid(self.call.served.kind(), name, errors).into()
    }

    async fn with_address(&mut self, service: Value) -> Result<Value, Failure> {
        // A Service with `None` is headless and takes no address. One that a client asks for must be free.
        let address = match text(&service, &["spec", "clusterIP"]) {
            "None" => "None".to_owned(),
            "" => match self.next(ADDRESSES).await? {
                Some(address) => address,
                None => {
                    let name = text(&service, &["metadata", "name"]);
                    let message = format!(
                        "failed to allocate a serviceIP for Service {name:?}: range is full"
                    );
                    return Err(
                        Status::internal(format!("Internal error occurred: {message}")).into(),
                    );
                }
            },
            own => {
                if let Some(fault) = self.address_fault(own).await? {
                    let addresses = Value::List(List::from_iter([Value::from(own)]));
                    let path = FieldPath::root("spec").child("clusterIPs");
                    let detail = format!("failed to allocate IP {own}: {fault}");
                    return Err(
                        self.invalid(&service, &[FieldError::invalid(path, addresses, detail)])
                    );
                }
                own.to_owned()
            }
        };

        // `clusterIPs` repeats the address as its first item. A client that sets both has a list already.
        let service = with_field(&service, "spec", "clusterIP", address.as_str().into());
        if has_items(&service, &["spec", "clusterIPs"]) {
            return Ok(service);
        }
        let addresses = Value::List(List::from_iter([Value::from(address)]));
        Ok(with_field(&service, "spec", "clusterIPs", addresses))
    }

    /// Allocates an address that a client asks for; `None` if that succeeded, and else why not.
    async fn address_fault(&mut self, address: &str) -> Result<Option<String>, Failure> {
        let number = address.parse::<Ipv4Addr>().map_or(0, u32::from);
        let network = self.core.network;
        let is_within = network.has(number);
        Ok(match (is_within, self.dry_run) {
            // A dry run of kube-apiserver does not look for the address.
            (true, true) => None,
            (true, false) if self.reserve(ADDRESSES, address, true).await? => None,
            (true, false) => Some("provided IP is already allocated".to_owned()),
            (false, true) => Some(format!(
                "the provided IP ({address}) is not in the valid range. The range of valid IPs is {network}"
            )),
            (false, false) => {
                Some("the provided network does not match the current range".to_owned())
            }
        })
    }

    /// Ports of equal numbers in a new Service, which have different protocols, get one node port.
    async fn with_ports(&mut self, service: Value, is_update: bool) -> Result<Value, Failure> {
        let kind = text(&service, &["spec", "type"]);
        let Some(ports) = service
            .get("spec")
            .and_then(|spec| spec.get("ports")?.as_list())
        else {
            return Ok(service);
        };
        if !matches!(kind, "NodePort" | "LoadBalancer") {
            return Ok(service);
        }

        // A load balancer may work without node ports. Then only those that a client asks for are allocated.
        let is_chosen = kind == "NodePort"
            || service
                .get("spec")
                .and_then(|spec| spec.get("allocateLoadBalancerNodePorts")?.as_bool())
                != Some(false);
        let number = |port: &Value, name: &str| {
            port.get(name)
                .and_then(Value::as_i64)
                .filter(|number| *number != 0)
        };
        let mut shared: BTreeMap<i64, i64> = BTreeMap::new();

        // The node port that a client gives to one of several ports with a number is that of the ports before it, too.
        if !is_update {
            for port in ports {
                if let (Some(port), Some(node_port)) =
                    (number(port, "port"), number(port, "nodePort"))
                {
                    shared.entry(port).or_insert(node_port);
                }
            }
        }

        let mut out = Vec::new();
        // A wanted node port has to be free or of this Service already, and is never replaced by another one.
        for (at, port) in ports.iter().enumerate() {
            let own = number(port, "nodePort");
            let of_number = number(port, "port").filter(|_| !is_update);
            let wanted = own.or_else(|| shared.get(&of_number?).copied());
            let node_port = match wanted {
                _ if own.is_none() && !is_chosen => None,
                Some(wanted) => {
                    if let Some(fault) = self.port_fault(wanted).await? {
                        let path = FieldPath::root("spec")
                            .child("ports")
                            .index(at)
                            .child("nodePort");
                        return Err(
                            self.invalid(&service, &[FieldError::invalid(path, wanted, fault)])
                        );
                    }
                    Some(wanted)
                }
                None => {
                    let chosen = self.next(PORTS).await?;
                    let full = || {
                        let message =
                            "Internal error occurred: failed to allocate a nodePort: range is full";
                        Failure::from(Status::internal(message))
                    };
                    chosen.ok_or_else(full)?.parse().ok()
                }
            };

            let Value::Map(fields) = port else {
                out.push(port.clone());
                continue;
            };
            let mut fields = fields.clone();

            if let Some(node_port) = node_port {
                fields.insert("nodePort", node_port);
                // A later port with the number, and another protocol, gets this node port.
                if let Some(port) = of_number {
                    shared.entry(port).or_insert(node_port);
                }
            }
            out.push(Value::Map(fields));
        }

        Ok(with_field(
            &service,
            "spec",
            "ports",
            Value::List(out.into_iter().collect()),
        ))
    }

    /// The port at which a load balancer asks whether a node has endpoints.
    async fn with_health_port(&mut self, service: Value) -> Result<Value, Failure> {
        let spec = |name: &str| text(&service, &["spec", name]);
        // Only with the policy `Local` do nodes without an endpoint refuse traffic, so that a balancer has to ask.
        if spec("type") != "LoadBalancer" || spec("externalTrafficPolicy") != "Local" {
            return Ok(service);
        }
        let own = service
            .get("spec")
            .and_then(|spec| spec.get("healthCheckNodePort")?.as_i64());
        let failed = |fault: &str| {
            let message = format!("Internal error occurred: failed to allocate {fault}");
            Failure::from(Status::internal(message))
        };
        // Zero asks for a choice, as an absent port does.
        let port = match own.filter(|port| *port != 0) {
            Some(port) => match self.port_fault(port).await? {
                Some(fault) => {
                    return Err(failed(&format!(
                        "requested HealthCheck NodePort {port}: {fault}"
                    )));
                }
                None => port,
            },
            None => {
                let chosen = self.next(PORTS).await?.and_then(|port| port.parse().ok());
                chosen.ok_or_else(|| failed("a HealthCheck NodePort 0: range is full"))?
            }
        };

        Ok(with_field(
            &service,
            "spec",
            "healthCheckNodePort",
            port.into(),
        ))
    }

    /// Allocates a port that a client asks for; `None` if that succeeded, and else why not.
    async fn port_fault(&mut self, port: i64) -> Result<Option<String>, Failure> {
        // A dry run of kube-apiserver does not look at the range, and so accepts what a write refuses.
        if !(i64::from(FIRST_PORT)..=i64::from(LAST_PORT)).contains(&port) {
            let range = format!("{FIRST_PORT}-{LAST_PORT}");
            return Ok(Some(format!(
                "provided port is not in the valid range. The range of valid ports is {range}"
            )));
        }
        let is_free = self.reserve(PORTS, &port.to_string(), true).await?;
        Ok((!is_free).then(|| "provided port is already allocated".to_owned()))
    }

    /// Allocates a free address or port; `None` if there is none.
    async fn next(&mut self, kind: &'static str) -> Result<Option<String>, Failure> {
        // All below the cursor are taken, so a choice costs the same however many Services exist.
        let cursor = *self.core.cursors.of(kind);
        if cursor.next > 0
            && let Some(name) = self.search(kind, cursor, &BTreeSet::new()).await?
        {
            return Ok(Some(name));
        }

        // The start of the server, or the end of the range: others may have freed some.
        let page = self
            .core
            .store
            .list(ListOf::new(Prefix::resource("", kind)?))
            .await?;
        let taken = page
            .entries
            .iter()
            .map(|entry| entry.key.parts().name.to_owned())
            .collect();

        self.search(kind, Cursor { next: 0, ..cursor }, &taken)
            .await
    }

    /// Allocates the first free address or port from the cursor on that is not one of `taken`.
    async fn search(
        &mut self,
        kind: &'static str,
        cursor: Cursor,
        taken: &BTreeSet<String>,
    ) -> Result<Option<String>, Failure> {
        let (first, last) = if kind == PORTS {
            (FIRST_PORT, LAST_PORT)
        } else {
            self.core.network.chosen()
        };

        for number in cursor.next.max(first)..=last {
            let name = if kind == PORTS {
                number.to_string()
            } else {
                Ipv4Addr::from(number).to_string()
            };
            // A dry run reserves nothing, so what it chose before is free in the store.
            let is_own = self
                .made
                .iter()
                .any(|(made, own)| *made == kind && *own == name);
            if is_own || taken.contains(&name) || !self.reserve(kind, &name, false).await? {
                continue;
            }

            if !self.dry_run {
                self.core.cursors.advance(kind, cursor, number + 1);
            }
            return Ok(Some(name));
        }

        Ok(None)
    }

    /// Allocates an address or port; `false` if another Service has it. `keeps` is whether the Service may have it already.
    async fn reserve(
        &mut self,
        kind: &'static str,
        name: &str,
        keeps: bool,
    ) -> Result<bool, Failure> {
        let key = Key::new("", kind, None, name)?;
        let current = if self.dry_run {
            self.core.store.get(&key, None).await?.entry
        } else {
            match self
                .core
                .store
                .write(&key, Write::Create(self.uid.clone()))
                .await
            {
                Ok(_) => None,
                Err(StoreError::Conflict { current, .. }) => current,
                Err(error) => return Err(error.into()),
            }
        };

        match current {
            None => self.made.push((kind, name.to_owned())),
            // A Service that keeps its address meets its own allocation.
            Some(entry) => return Ok(keeps && entry.object == self.uid),
        }
        Ok(true)
    }
}

fn ignoring_conflicts(written: crate::store::Result<Revision>) -> Result<(), StoreError> {
    match written {
        Ok(_) | Err(StoreError::Conflict { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The addresses and node ports of a Service.
fn allocations(service: &Value) -> BTreeSet<Allocation> {
    let spec = service.get("spec").cloned().unwrap_or_default();
    let list = |name: &str| {
        spec.get(name)
            .and_then(Value::as_list)
            .cloned()
            .unwrap_or_default()
    };
    let addresses = list("clusterIPs");
    let addresses = addresses
        .iter()
        .filter_map(Value::as_str)
        .filter(|address| !["", "None"].contains(address));

    let ports = list("ports");
    let ports = ports
        .iter()
        .filter_map(|port| port.get("nodePort")?.as_i64())
        .filter(|port| *port != 0);
    let health = spec
        .get("healthCheckNodePort")
        .and_then(Value::as_i64)
        .filter(|port| *port != 0);
    let addresses = addresses.map(|address| (ADDRESSES, address.to_owned()));

    addresses
        .chain(ports.chain(health).map(|port| (PORTS, port.to_string())))
        .collect()
}
