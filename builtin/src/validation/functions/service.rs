//! Services.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::{NameSyntax, qualified_name};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use super::field::Field;
use super::formats;
use super::labels::labels;
use crate::address;
use crate::place::IMMUTABLE;
use crate::shown;
use crate::validation::operation::Operation;
use crate::validation::syntax;

const NODE_PORT_UNUSED: &str = "may not be used when `type` is 'ClusterIP'";
const ONCE: &str = "may not change once set";
const LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

pub(super) fn service(
    path: &FieldPath,
    object: &Value,
    operation: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let spec = Field::new(path, object).get("spec");
    let live = Field::live(path, operation).get("spec");
    // The server allocates addresses before it validates, and stops at these faults.
    if spec.get("type").text() != "ExternalName" {
        let mut faults = Vec::new();
        cluster_ips(&spec, &live, &mut faults);
        if !faults.is_empty() {
            *errors = faults;
            return;
        }
    }
    if live.is_set() {
        cluster_ips_update(&spec, &live, errors);
        families_update(&spec, &live, errors);
        load_balancer_class(&spec, Some(&live), errors);
        let port = spec.get("healthCheckNodePort");
        if checks_health(&spec)
            && checks_health(&live)
            && port.number() != live.get("healthCheckNodePort").number()
        {
            errors.push(port.forbidden(IMMUTABLE));
        }
    }
    ports_and_type(&spec, errors);
    labels(&spec.get("selector"), errors);
    affinity(&spec, errors);
    external_ips(&spec.get("externalIPs"), &live.get("externalIPs"), errors);
    service_type(&spec.get("type"), errors);
    unique_ports(&spec, errors);
    load_balancer(&spec, &live, errors);
    traffic(&spec, errors);
}

fn is_headless(spec: &Field<'_>) -> bool {
    let ips: Vec<&str> = spec.get("clusterIPs").items().map(|ip| ip.text()).collect();
    ips == ["None"]
}

fn is_external_name(spec: &Field<'_>) -> bool {
    spec.get("type").text() == "ExternalName"
}

fn checks_health(spec: &Field<'_>) -> bool {
    spec.get("type").text() == "LoadBalancer" && spec.get("externalTrafficPolicy").text() == "Local"
}

fn texts<'v>(field: &Field<'v>) -> Vec<&'v str> {
    field.items().map(|item| item.text()).collect()
}

fn cluster_ips_update(spec: &Field<'_>, live: &Field<'_>, errors: &mut Vec<FieldError>) {
    if is_external_name(spec) || is_external_name(live) || is_headless(spec) && is_headless(live) {
        return;
    }
    let field = spec.get("clusterIPs");
    let (new, old) = (texts(&field), texts(&live.get("clusterIPs")));
    let shown = |at: usize, detail: &str| FieldError::invalid(field.path.index(at), shown(&field), detail);
    if old.len() == new.len() {
        let changed = old.iter().zip(&new).enumerate().filter(|(_, (old, new))| old != new);
        errors.extend(changed.map(|(at, _)| shown(at, ONCE)));
        return;
    }
    if new.is_empty() {
        errors.push(shown(0, "primary clusterIP can not be unset"));
    } else if !old.is_empty() && new.first() != old.first() {
        errors.push(shown(0, ONCE));
    }
    if new.len() == 1 && old.len() > 1 {
        releases(spec, "must be set to 'SingleStack' when releasing the secondary clusterIP", errors);
    }
}

/// A list as Go shows it: null if it is absent.
fn shown(field: &Field<'_>) -> Value {
    if field.is_empty() { Value::Null } else { field.shown() }
}

/// One family alone needs a policy that says so.
fn releases(spec: &Field<'_>, detail: &str, errors: &mut Vec<FieldError>) {
    let policy = spec.get("ipFamilyPolicy");
    if policy.text() != "SingleStack" {
        errors.push(policy.invalid(detail));
    }
}

fn families_update(spec: &Field<'_>, live: &Field<'_>, errors: &mut Vec<FieldError>) {
    if is_external_name(spec) || is_external_name(live) || is_headless(spec) || is_headless(live) {
        return;
    }
    let (families, ips) = (spec.get("ipFamilies"), spec.get("clusterIPs"));
    let (new, old) = (texts(&families), texts(&live.get("ipFamilies")));
    let path = families.path.index(0);
    let error = |value: &Field<'_>, detail: &str| FieldError::invalid(path.clone(), shown(value), detail);
    if old.len() == new.len() {
        let changed = old.iter().zip(&new).filter(|(old, new)| old != new);
        errors.extend(changed.map(|_| error(&families, ONCE)));
        return;
    }
    if old.len() > new.len() && ips.is_empty() {
        errors.push(error(&families, "primary ipFamily can not be unset"));
    }
    if !old.is_empty() && !new.is_empty() && old.first() != new.first() {
        errors.push(error(&ips, ONCE));
    }
    if new.len() == 1 && old.len() > 1 {
        releases(spec, "must be set to 'SingleStack' when releasing the secondary ipFamily", errors);
    }
}

fn load_balancer_class(spec: &Field<'_>, live: Option<&Field<'_>>, errors: &mut Vec<FieldError>) {
    let class = spec.get("loadBalancerClass");
    let is_load_balancer = |spec: &Field<'_>| spec.get("type").text() == "LoadBalancer";
    if !is_load_balancer(spec) {
        if class.is_set() {
            errors.push(class.forbidden(LOAD_BALANCER));
        }
        return;
    }
    if let Some(live) = live.filter(|live| is_load_balancer(live))
        && live.get("loadBalancerClass").value != class.value
    {
        errors.push(class.invalid(ONCE));
    }
    if class.is_set() {
        errors.extend(class.faults(qualified_name(class.text())));
    }
}

fn ports_and_type(spec: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (ports, ips, ty) = (spec.get("ports"), spec.get("clusterIPs"), spec.get("type").text());
    if ports.is_empty() && !is_headless(spec) && ty != "ExternalName" {
        errors.push(ports.required(""));
    }
    match ty {
        "LoadBalancer" | "NodePort" if is_headless(spec) => {
            let detail = format!("may not be set to 'None' for {ty} services");
            errors.push(FieldError::invalid(ips.path.index(0), "None", detail));
        }
        "ExternalName" => {
            for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                let field = spec.get(name);
                if !field.is_empty() {
                    errors.push(field.forbidden("may not be set for ExternalName services"));
                }
            }
            let name = spec.get("externalName");
            match name.text().strip_suffix('.').unwrap_or(name.text()) {
                "" => errors.push(name.required("")),
                text => {
                    let faults = NameSyntax::Subdomain.faults(text, false);
                    let error = |fault| FieldError::invalid(name.path.clone(), text, fault);
                    errors.extend(faults.into_iter().map(error));
                }
            }
        }
        _ => {}
    }
    let mut names = BTreeSet::new();
    let count = ports.items().count();
    for port in ports.items() {
        service_port(&port, count > 1, &mut names, errors);
    }
}

fn service_port<'v>(
    port: &Field<'v>,
    needs_name: bool,
    names: &mut BTreeSet<&'v str>,
    errors: &mut Vec<FieldError>,
) {
    let name = port.get("name");
    if name.is_empty() {
        if needs_name {
            errors.push(name.required(""));
        }
    } else {
        errors.extend(name.faults(NameSyntax::Label.faults(name.text(), false)));
        if !names.insert(name.text()) {
            errors.push(name.duplicate());
        }
    }
    let number = port.get("port");
    errors.extend(number.number_faults(formats::port(number.number())));
    protocol(&port.get("protocol"), errors);
    let target = port.get("targetPort");
    match target.value {
        Some(Value::String(name)) => errors.extend(target.faults(syntax::port_name(name))),
        _ => errors.extend(target.number_faults(formats::port(target.number()))),
    }
    let app = port.get("appProtocol");
    if app.is_set() {
        errors.extend(app.faults(qualified_name(app.text())));
    }
}

fn protocol(protocol: &Field<'_>, errors: &mut Vec<FieldError>) {
    match protocol.text() {
        "" => errors.push(protocol.required("")),
        _ => errors.extend(protocol.one_of(&["SCTP", "TCP", "UDP"])),
    }
}

fn affinity(spec: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (affinity, config) = (spec.get("sessionAffinity"), spec.get("sessionAffinityConfig"));
    match affinity.text() {
        "" => errors.push(affinity.required("")),
        _ => errors.extend(affinity.one_of(&["ClientIP", "None"])),
    }
    let timeout = config.get("clientIP").get("timeoutSeconds");
    match affinity.text() {
        "ClientIP" if !config.is_set() => {
            errors.push(config.required("when session affinity type is ClientIP"));
        }
        "ClientIP" if !config.get("clientIP").is_set() => {
            errors.push(config.get("clientIP").required("when session affinity type is ClientIP"));
        }
        "ClientIP" if !timeout.is_set() => {
            errors.push(timeout.required("when session affinity type is ClientIP"));
        }
        "ClientIP" if !(1..=86_400).contains(&timeout.number()) => {
            errors.push(timeout.invalid("must be greater than 0 and less than 86400"));
        }
        "None" if config.is_set() => {
            errors.push(config.forbidden("must not be set when session affinity is None"));
        }
        _ => {}
    }
}

fn cluster_ips(spec: &Field<'_>, live: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (ip, ips, families) = (spec.get("clusterIP"), spec.get("clusterIPs"), spec.get("ipFamilies"));
    let all = texts(&ips);
    match (ip.text(), all.first()) {
        ("", None) => {}
        ("", Some(_)) => errors.push(ips.invalid("must be empty when `clusterIP` is not specified")),
        (_, None) => errors.push(ips.required("")),
        (ip, Some(first)) if ip != *first => errors.push(ips.invalid("first value must match `clusterIP`")),
        _ => {}
    }
    let mut seen = BTreeSet::new();
    for family in families.items() {
        errors.extend(family.one_of(&["IPv4", "IPv6"]));
        if !seen.insert(family.text()) {
            errors.push(family.duplicate());
        }
    }
    let policy = spec.get("ipFamilyPolicy");
    if policy.is_set() {
        errors.extend(policy.one_of(&["PreferDualStack", "RequireDualStack", "SingleStack"]));
    }
    let known: BTreeSet<&str> = texts(&live.get("clusterIPs")).into_iter().collect();
    let mut is_invalid = false;
    for (at, ip) in ips.items().enumerate() {
        if at == 0 && ip.text() == "None" {
            if all.len() > 1 {
                is_invalid = true;
                errors.push(ips.invalid("'None' must be the first and only value"));
            }
        } else if !known.contains(ip.text()) {
            let faults = formats::ip_faults(ip.text());
            is_invalid |= !faults.is_empty();
            errors.extend(ip.faults(faults));
        }
    }
    if all.len() > 2 {
        errors.push(ips.invalid("may only hold up to 2 values"));
    }
    if is_invalid {
        return;
    }
    let v6: Vec<bool> = all.iter().map(|ip| address::ip(ip).is_some_and(|ip| ip.is_ipv6())).collect();
    if all.len() > 1 && (v6.iter().all(|v6| *v6) || !v6.contains(&true)) {
        errors.push(ips.invalid("may specify no more than one IP for each IP family"));
    }
    if is_headless(spec) {
        return;
    }
    for (at, ((ip, family), v6)) in ips.items().zip(families.items()).zip(&v6).enumerate() {
        match (family.text(), v6) {
            ("IPv4", true) | ("IPv6", false) => {
                let detail =
                    format!("expected an {} value as indicated by `ipFamilies[{at}]`", family.text());
                errors.push(ip.invalid(detail));
            }
            _ => {}
        }
    }
}

fn external_ips(ips: &Field<'_>, live: &Field<'_>, errors: &mut Vec<FieldError>) {
    let known: BTreeSet<&str> = texts(live).into_iter().collect();
    for ip in ips.items() {
        match formats::ip_faults(ip.text()) {
            faults if !faults.is_empty() && !known.contains(ip.text()) => errors.extend(ip.faults(faults)),
            _ => errors.extend(ip.faults(formats::endpoint_ip(ip.text()))),
        }
    }
}

fn service_type(ty: &Field<'_>, errors: &mut Vec<FieldError>) {
    match ty.text() {
        "" => errors.push(ty.required("")),
        _ => errors.extend(ty.one_of(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"])),
    }
}

fn unique_ports(spec: &Field<'_>, errors: &mut Vec<FieldError>) {
    let ports = spec.get("ports");
    let node_ports = || ports.items().filter(|port| port.get("nodePort").number() != 0);
    if spec.get("type").text() == "ClusterIP" {
        errors.extend(node_ports().map(|port| port.get("nodePort").forbidden(NODE_PORT_UNUSED)));
    }
    let mut seen = BTreeSet::new();
    for port in node_ports() {
        if !seen.insert((port.get("protocol").text(), port.get("nodePort").number())) {
            errors.push(port.get("nodePort").duplicate());
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let (protocol, number) = (port.get("protocol").text(), port.get("port").number());
        if !seen.insert((protocol, number)) {
            let mut key = Map::single("protocol", protocol);
            key.insert("port", number);
            let key = Value::Map(key);
            let key = shown::json("ServicePort", Some(&key));
            errors.push(super::field::duplicate_struct(&port, &key));
        }
    }
}

fn load_balancer(spec: &Field<'_>, live: &Field<'_>, errors: &mut Vec<FieldError>) {
    let is_load_balancer = spec.get("type").text() == "LoadBalancer";
    let ranges = spec.get("loadBalancerSourceRanges");
    if !ranges.is_empty() {
        let path = spec.path.child("LoadBalancerSourceRanges");
        if !is_load_balancer {
            errors.push(FieldError::forbidden(path.clone(), LOAD_BALANCER));
        }
        let known: BTreeSet<&str> =
            live.get("loadBalancerSourceRanges").items().map(|range| range.text().trim()).collect();
        for (at, range) in ranges.items().enumerate() {
            let range = range.text().trim();
            if !known.contains(range) {
                let faults = formats::cidr_faults(range).into_iter();
                errors.extend(faults.map(|fault| FieldError::invalid(path.index(at), range, fault)));
            }
        }
    }
    let allocates = spec.get("allocateLoadBalancerNodePorts");
    if allocates.is_set() && !is_load_balancer {
        errors.push(allocates.forbidden(LOAD_BALANCER));
    }
    if !allocates.is_set() && is_load_balancer {
        errors.push(FieldError::required(FieldPath::root("allocateLoadBalancerNodePorts"), ""));
    }
    load_balancer_class(spec, None, errors);
}

fn traffic(spec: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (ty, policy) = (spec.get("type").text(), spec.get("externalTrafficPolicy"));
    let is_external =
        matches!(ty, "LoadBalancer" | "NodePort") || ty == "ClusterIP" && !spec.get("externalIPs").is_empty();
    match (is_external, policy.text()) {
        (false, "") => {}
        (false, _) => errors.push(policy.invalid("may only be set for externally-accessible services")),
        (true, "") => errors.push(policy.required("")),
        (true, _) => errors.extend(policy.one_of(&["Cluster", "Local"])),
    }
    // The server allocates the port before it validates.
    let port = spec.get("healthCheckNodePort");
    if port.number() != 0 {
        if checks_health(spec) {
            errors.extend(port.number_faults(formats::port(port.number())));
        } else {
            let detail =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.push(port.invalid(detail));
        }
    }
    let internal = spec.get("internalTrafficPolicy");
    if internal.is_set() {
        errors.extend(internal.one_of(&["Cluster", "Local"]));
    } else if matches!(ty, "NodePort" | "LoadBalancer" | "ClusterIP") {
        errors.push(internal.required(""));
    }
    let distribution = spec.get("trafficDistribution");
    if distribution.is_set() {
        errors.extend(distribution.one_of(&["PreferClose", "PreferSameZone", "PreferSameNode"]));
    }
}
