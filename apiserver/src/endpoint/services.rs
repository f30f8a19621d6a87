//! The addresses and node ports of Services, which the server chooses.
//!
//! An allocation is an object in the store, whose key has the address or port and which no resource serves: two writers
//! never get the same. It is made before its Service is written and removed after the Service no longer has it.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use fieldmanager_handlers::{Action, Outcome, Subresource};
use fieldmanager_managedfields::Status;
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{List, Value};

use super::call::Call;
use super::core::Core;
use super::failure::Failure;
use crate::object::{text, with_field};
use crate::registry::Served;
use crate::store::{Key, List as ListOf, Prefix, StoreError, Write};

/// The names under which allocations are stored.
const ADDRESSES: &str = "serviceaddresses";
const PORTS: &str = "servicenodeports";

/// The addresses that are given to Services: 10.96.1.0 to 10.96.255.254. Those below are for Services that ask for one.
const FIRST_ADDRESS: u32 = 0x0A60_0100;
const LAST_ADDRESS: u32 = 0x0A60_FFFE;

/// The node ports.
const FIRST_PORT: u32 = 30_000;
const LAST_PORT: u32 = 32_767;

/// An allocation: its kind, and the address or port.
pub(super) type Allocation = (&'static str, String);

impl Core {
    /// The outcome with the addresses and node ports of a Service, and the allocations that were made for it. A dry run
    /// makes none.
    pub(super) async fn allocated(
        &self,
        call: &Call<'_>,
        outcome: Outcome,
        dry_run: bool,
    ) -> Result<(Outcome, Vec<Allocation>), Failure> {
        let writes = matches!(outcome.action, Action::Create | Action::Update);
        if !is_service(call.served) || call.part() != Some(Subresource::Object) || !writes {
            return Ok((outcome, Vec::new()));
        }
        let mut made = Vec::new();
        match self.with_allocations(call, &outcome.object, dry_run, &mut made).await {
            Ok(object) => {
                let mut outcome = outcome;
                outcome.object = object;
                Ok((outcome, made))
            }
            Err(failure) => {
                self.release(&made).await?;
                Err(failure)
            }
        }
    }

    async fn with_allocations(
        &self,
        call: &Call<'_>,
        service: &Value,
        dry_run: bool,
        made: &mut Vec<Allocation>,
    ) -> Result<Value, Failure> {
        let kind = text(service, &["spec", "type"]);
        if kind == "ExternalName" {
            return Ok(service.clone());
        }
        let own = text(service, &["spec", "clusterIP"]);
        let address = match own {
            "None" => own.to_owned(),
            "" => self.choose(ADDRESSES, service, dry_run, made).await?,
            own => {
                if !self.reserve(ADDRESSES, own, service, dry_run, made).await? {
                    let addresses = Value::List(List::from_iter([Value::from(own)]));
                    let detail = format!("failed to allocate IP {own}: provided IP is already allocated");
                    let path = FieldPath::root("spec").child("clusterIPs");
                    let error = FieldError::invalid(path, addresses, detail);
                    let name = text(service, &["metadata", "name"]);
                    return Err(Status::invalid(call.served.kind(), name, &[error]).into());
                }
                own.to_owned()
            }
        };
        let family = if address.contains(':') { "IPv6" } else { "IPv4" };
        let one = |value: &str| Value::List(List::from_iter([Value::from(value)]));
        let mut service = with_field(service, "spec", "clusterIP", address.as_str().into());
        let is_absent =
            |service: &Value, name: &str| service.get("spec").is_none_or(|spec| spec.get(name).is_none());
        for (name, value) in [
            ("clusterIPs", one(&address)),
            ("ipFamilies", one(family)),
            ("ipFamilyPolicy", "SingleStack".into()),
        ] {
            if is_absent(&service, name) {
                service = with_field(&service, "spec", name, value);
            }
        }
        let spec = service.get("spec").cloned().unwrap_or_default();
        let wants_ports = kind == "NodePort"
            || kind == "LoadBalancer"
                && spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool) != Some(false);
        let mut ports = Vec::new();
        for port in spec.get("ports").and_then(Value::as_list).into_iter().flatten() {
            let (Value::Map(fields), true) = (port, wants_ports) else {
                ports.push(port.clone());
                continue;
            };
            let mut fields = fields.clone();
            match port.get("nodePort").and_then(Value::as_i64).filter(|port| *port != 0) {
                // Ports of different protocols may share a number, so one that is taken is not refused.
                Some(number) => {
                    self.reserve(PORTS, &number.to_string(), &service, dry_run, made).await?;
                }
                None => {
                    let number = self.choose(PORTS, &service, dry_run, made).await?;
                    fields.insert("nodePort", number.parse::<i64>().unwrap_or_default());
                }
            }
            ports.push(Value::Map(fields));
        }
        if wants_ports && !ports.is_empty() {
            service = with_field(&service, "spec", "ports", Value::List(ports.into_iter().collect()));
        }
        Ok(service)
    }

    /// Allocates the first free address or port.
    async fn choose(
        &self,
        kind: &'static str,
        service: &Value,
        dry_run: bool,
        made: &mut Vec<Allocation>,
    ) -> Result<String, Failure> {
        let page = self.store.list(ListOf::new(Prefix::resource("", kind)?)).await?;
        let taken: BTreeSet<&str> = page.entries.iter().map(|entry| entry.key.parts().name).collect();
        let numbers = if kind == PORTS { FIRST_PORT..=LAST_PORT } else { FIRST_ADDRESS..=LAST_ADDRESS };
        for number in numbers {
            let name = if kind == PORTS { number.to_string() } else { Ipv4Addr::from(number).to_string() };
            if !taken.contains(name.as_str()) && self.reserve(kind, &name, service, dry_run, made).await? {
                return Ok(name);
            }
        }
        Err(Failure::new(500, "InternalError", "Internal error occurred: failed to allocate: range is full"))
    }

    /// Allocates an address or port; `false` if another Service has it.
    async fn reserve(
        &self,
        kind: &'static str,
        name: &str,
        service: &Value,
        dry_run: bool,
        made: &mut Vec<Allocation>,
    ) -> Result<bool, Failure> {
        let key = Key::new("", kind, None, name)?;
        let uid = Value::from(text(service, &["metadata", "uid"]));
        if dry_run {
            let entry = self.store.get(&key, None).await?.entry;
            return Ok(entry.is_none_or(|entry| entry.object == uid));
        }
        match self.store.write(&key, Write::Create(uid.clone())).await {
            Ok(_) => {
                made.push((kind, name.to_owned()));
                Ok(true)
            }
            // A Service that keeps its address meets its own allocation.
            Err(StoreError::Conflict { current, .. }) => Ok(current.is_some_and(|entry| entry.object == uid)),
            Err(error) => Err(error.into()),
        }
    }

    /// Frees allocations.
    pub(super) async fn release(&self, allocations: &[Allocation]) -> Result<(), Failure> {
        for (kind, name) in allocations {
            let key = Key::new("", kind, None, name)?;
            if let Some(entry) = self.store.get(&key, None).await?.entry {
                match self.store.write(&key, Write::Delete { expected: entry.revision }).await {
                    Ok(_) | Err(StoreError::Conflict { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
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
        if !is_service(served) {
            return Ok(());
        }
        let kept = new.map(allocations).unwrap_or_default();
        let freed: Vec<Allocation> = allocations(old).into_iter().filter(|one| !kept.contains(one)).collect();
        self.release(&freed).await
    }
}

fn is_service(served: &Served) -> bool {
    served.is_builtin() && served.facts.group.is_empty() && served.facts.kind == "Service"
}

/// The addresses and node ports of a Service.
fn allocations(service: &Value) -> BTreeSet<Allocation> {
    let spec = service.get("spec").cloned().unwrap_or_default();
    let list = |name: &str| spec.get(name).and_then(Value::as_list).cloned().unwrap_or_default();
    let addresses = list("clusterIPs");
    let addresses =
        addresses.iter().filter_map(Value::as_str).filter(|address| !["", "None"].contains(address));
    let ports = list("ports");
    let ports = ports.iter().filter_map(|port| port.get("nodePort")?.as_i64()).filter(|port| *port != 0);
    let addresses = addresses.map(|address| (ADDRESSES, address.to_owned()));
    addresses.chain(ports.map(|port| (PORTS, port.to_string()))).collect()
}
