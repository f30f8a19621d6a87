//! The steps of the storage of services before an object is prepared: it keeps allocated addresses and ports, and brings
//! both fields of cluster IPs in line.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_value::{List, Value};

use super::edit::{at, list, text, with};
use crate::table::{Edit, Path};

pub(super) fn ips(service: &Value) -> Option<&List> {
    at(service, "spec.clusterIPs")
        .and_then(Value::as_list)
        .filter(|ips| !ips.is_empty())
}

fn ip(service: &Value) -> &str {
    text(service, "spec.clusterIP")
}

fn needs_cluster_ip(service: &Value) -> bool {
    text(service, "spec.type") != "ExternalName"
}

fn needs_node_port(service: &Value) -> bool {
    let allocates = at(service, "spec.allocateLoadBalancerNodePorts").and_then(Value::as_bool);
    match text(service, "spec.type") {
        "NodePort" => true,
        "LoadBalancer" => allocates.unwrap_or(true),
        _ => false,
    }
}

fn checks_health(service: &Value) -> bool {
    text(service, "spec.type") == "LoadBalancer"
        && text(service, "spec.externalTrafficPolicy") == "Local"
}

/// A new service with both fields of cluster IPs.
pub(super) fn cluster_ips(service: &Value) -> Option<Value> {
    match (ip(service), ips(service)) {
        ("", _) | (_, Some(_)) => None,
        (ip, None) => with(service, "spec.clusterIPs", vec![Value::from(ip)]),
    }
}

/// A changed service with the addresses and ports that the live one has been given.
pub(super) fn kept_allocations(service: &Value, live: Option<&Value>) -> Option<Value> {
    let live = live?;
    let mut out = service.clone();

    // A client that sends the service without what was allocated does not release it.
    if needs_cluster_ip(live) && needs_cluster_ip(service) {
        if ip(&out).is_empty() && !ip(live).is_empty() {
            out = with(&out, "spec.clusterIP", ip(live)).unwrap_or(out);
        }
        if let (None, Some(live)) = (ips(&out), ips(live)) {
            out = with(&out, "spec.clusterIPs", live.clone()).unwrap_or(out);
        }

        for path in ["spec.ipFamilies", "spec.ipFamilyPolicy"] {
            if let (None, Some(live)) = (at(&out, path), at(live, path)) {
                out = with(&out, path, live.clone()).unwrap_or(out);
            }
        }
    }

    if needs_node_port(live) && needs_node_port(service) {
        out = kept_node_ports(&out, live).unwrap_or(out);
    }

    // The port for health checks is allocated like a node port.
    let port = "spec.healthCheckNodePort";
    let number = |service: &Value| {
        at(service, port)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    };
    if checks_health(live) && checks_health(service) && number(&out) == 0 && number(live) != 0 {
        out = with(&out, port, number(live)).unwrap_or(out);
    }

    Some(normalized(&out, live).unwrap_or(out))
}

fn node_port(port: &Value) -> i64 {
    at(port, "nodePort")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Ports without a number take that of the live port with the same name, unless another port uses it.
fn kept_node_ports(service: &Value, live: &Value) -> Option<Value> {
    // A number that another port of the request uses would be a duplicate.
    let used: BTreeSet<i64> = list(at(service, "spec.ports")).map(node_port).collect();
    let old = list(at(live, "spec.ports")).map(|port| (text(port, "name"), node_port(port)));
    let known: BTreeMap<&str, i64> = old.collect();
    Path::parse("spec.ports[]").edit(service, false, &mut |port| {
        let Some(port) = port else { return Edit::Keep };
        let number = known.get(text(port, "name")).copied().unwrap_or_default();
        if node_port(port) != 0 || number == 0 || used.contains(&number) {
            return Edit::Keep;
        }
        with(port, "nodePort", number).map_or(Edit::Keep, Edit::Set)
    })
}

/// The field that a client changed decides.
fn normalized(service: &Value, live: &Value) -> Option<Value> {
    let (new, old) = (ip(service), ip(live));
    // The request changed one of the two fields, and the other follows it.
    match (ips(service), ips(live)) {
        (None, Some(live)) if new == old => with(service, "spec.clusterIPs", live.clone()),
        (given, known) if new != old && given == known => match new {
            "" => Path::parse("spec.clusterIPs").edit(service, false, &mut |_| Edit::Remove),
            new => with(service, "spec.clusterIPs", vec![Value::from(new)]),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        Value::from_yaml(text).unwrap()
    }

    #[test]
    fn a_changed_service_keeps_its_addresses_and_ports() {
        let live = yaml(
            "{spec: {type: NodePort, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{name: a, nodePort: 30001}, {name: b, nodePort: 30002}]}}",
        );
        let new = yaml(
            "{spec: {type: NodePort, ports: [{name: a}, {name: c, nodePort: 30002}, {name: b}]}}",
        );
        assert_eq!(
            kept_allocations(&new, Some(&live)).unwrap(),
            yaml(
                "{spec: {type: NodePort, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{name: a, nodePort: 30001}, {name: c, nodePort: 30002}, {name: b}]}}"
            )
        );
    }

    #[test]
    fn a_service_of_an_unknown_type_keeps_its_addresses() {
        let live = yaml("{spec: {type: NodePort, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}}");
        let kept = yaml("{spec: {type: Internal, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}}");
        assert_eq!(
            kept_allocations(&yaml("{spec: {type: Internal}}"), Some(&live)),
            Some(kept)
        );
    }

    #[test]
    fn both_fields_of_cluster_ips_are_brought_in_line() {
        let headless = yaml("{spec: {type: ClusterIP, clusterIP: None}}");
        let both = yaml("{spec: {type: ClusterIP, clusterIP: None, clusterIPs: [None]}}");
        assert_eq!(cluster_ips(&headless), Some(both.clone()));
        let live = yaml("{spec: {type: ClusterIP, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}}");
        let new = yaml("{spec: {type: ClusterIP, clusterIP: None, clusterIPs: [10.0.0.1]}}");
        assert_eq!(kept_allocations(&new, Some(&live)), Some(both));
        let named = yaml("{spec: {type: ExternalName, clusterIPs: [10.0.0.1]}}");
        assert_eq!(
            kept_allocations(&named, Some(&live)),
            Some(yaml("{spec: {type: ExternalName}}"))
        );
    }
}
