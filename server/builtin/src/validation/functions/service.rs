//! Services.

use std::collections::BTreeSet;

use fieldmanager_structural::internal::{NameSyntax, address};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use super::field::Field;
use super::formats;
use crate::place::{Errors, IMMUTABLE, faults};
use crate::shown;
use crate::validation::syntax;

const NODE_PORT_UNUSED: &str = "may not be used when `type` is 'ClusterIP'";
/// How traffic to an address of a load balancer arrives.
const IP_MODES: [&str; 2] = ["Proxy", "VIP"];
const ONCE: &str = "may not change once set";
const LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

/// Checks the status of a Service, which has addresses only if there is a load balancer.
pub(crate) fn service_status(service: &Field<'_>, errors: &mut Errors) {
    let ingress = service.get("status").get("loadBalancer").get("ingress");
    if service.get("spec").get("type").text() != "LoadBalancer" {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        ingress.forbid_if(!ingress.is_empty(), detail, errors);
        return;
    }

    let known = known_ips(&ingress);
    for entry in ingress.items() {
        balancer_ip(&entry, &known, errors);
        let (mode, has_ip) = (entry.get("ipMode"), !entry.get("ip").is_empty());
        if has_ip && !mode.is_set() {
            mode.missing("must be specified when `ip` is set", errors);
        } else if !has_ip {
            let detail = "may not be specified when `ip` is not set";
            mode.forbid_if(mode.is_set(), detail, errors);
        } else if !IP_MODES.contains(&mode.text()) {
            mode.not_supported(&IP_MODES, errors);
        }
        balancer_name(&entry, errors);
    }
}

/// Checks the status of an Ingress.
pub(crate) fn ingress_status(ingress: &Field<'_>, errors: &mut Errors) {
    let entries = ingress.get("status").get("loadBalancer").get("ingress");
    let known = known_ips(&entries);
    for entry in entries.items() {
        balancer_ip(&entry, &known, errors);
        balancer_name(&entry, errors);
    }
}

/// The addresses of the live status, which are exempt from newer rules of syntax.
fn known_ips<'v>(entries: &Field<'v>) -> BTreeSet<&'v str> {
    let live = entries.before();
    live.items().map(|entry| entry.get("ip").text()).collect()
}

/// Checks the address of an entry of the status of a load balancer.
fn balancer_ip(entry: &Field<'_>, known: &BTreeSet<&str>, errors: &mut Errors) {
    let ip = entry.get("ip");
    if !ip.is_empty() && !known.contains(ip.text()) {
        ip.faults(formats::ip_faults(ip.text()), errors);
    }
}

/// Checks the name of an entry of the status of a load balancer.
fn balancer_name(entry: &Field<'_>, errors: &mut Errors) {
    let name = entry.get("hostname");
    if !name.is_empty() {
        name.name(NameSyntax::Subdomain, errors);
        let is_address = address::ip(name.text()).is_some();
        name.invalid_if(is_address, "must be a DNS name, not an IP address", errors);
    }
}

pub(crate) fn service(object: &Field<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    let live = spec.before();
    // The server allocates addresses before it validates, and stops at these faults.
    if spec.get("type").text() != "ExternalName" {
        let mut found = Vec::new();
        cluster_ips(&spec, &live, &mut found);
        if !found.is_empty() {
            *errors = found;
            return;
        }
    }

    if live.is_set() {
        cluster_ips_update(&spec, &live, errors);
        families_update(&spec, &live, errors);
        load_balancer_class(&spec, Some(&live), errors);
        let port = spec.get("healthCheckNodePort");
        // The load balancer reads health from this port, so it stays while both versions use it.
        if checks_health(&spec)
            && checks_health(&live)
            && port.number() != live.get("healthCheckNodePort").number()
        {
            port.forbid(IMMUTABLE, errors);
        }
    }

    ports_and_type(&spec, errors);
    spec.get("selector").labels(errors);
    affinity(&spec, errors);
    external_ips(&spec.get("externalIPs"), &live.get("externalIPs"), errors);
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    spec.get("type").require_one_of(&types, errors);
    unique_ports(&spec, errors);
    load_balancer(&spec, &live, errors);
    traffic(&spec, errors);
}

fn is_headless(spec: &Field<'_>) -> bool {
    spec.get("clusterIPs").texts().eq(["None"])
}

fn is_external_name(spec: &Field<'_>) -> bool {
    spec.get("type").text() == "ExternalName"
}

fn checks_health(spec: &Field<'_>) -> bool {
    spec.get("type").text() == "LoadBalancer" && spec.get("externalTrafficPolicy").text() == "Local"
}

fn cluster_ips_update(spec: &Field<'_>, live: &Field<'_>, errors: &mut Errors) {
    // Addresses are allocated or released with a change of the type, and a headless service has none.
    if is_external_name(spec) || is_external_name(live) || is_headless(spec) && is_headless(live) {
        return;
    }
    let field = spec.get("clusterIPs");
    let (new, old): (Vec<&str>, Vec<&str>) = (
        field.texts().collect(),
        live.get("clusterIPs").texts().collect(),
    );
    let shown =
        |at: usize, detail: &str| FieldError::invalid(field.path.index(at), shown(&field), detail);

    // The first address stays; only the second may be added or released.
    if old.len() == new.len() {
        let changed = old
            .iter()
            .zip(&new)
            .enumerate()
            .filter(|(_, (old, new))| old != new);
        errors.extend(changed.map(|(at, _)| shown(at, ONCE)));
        return;
    }

    if new.is_empty() {
        errors.push(shown(0, "primary clusterIP can not be unset"));
    } else if !old.is_empty() && new.first() != old.first() {
        errors.push(shown(0, ONCE));
    }

    if new.len() == 1 && old.len() > 1 {
        releases(
            spec,
            "must be set to 'SingleStack' when releasing the secondary clusterIP",
            errors,
        );
    }
}

/// A list as Go shows it: null if it is absent.
fn shown(field: &Field<'_>) -> Value {
    if field.is_empty() {
        Value::Null
    } else {
        field.shown()
    }
}

/// One family alone needs a policy that says so.
fn releases(spec: &Field<'_>, detail: &str, errors: &mut Errors) {
    let policy = spec.get("ipFamilyPolicy");
    if policy.text() != "SingleStack" {
        policy.invalid(detail, errors);
    }
}

fn families_update(spec: &Field<'_>, live: &Field<'_>, errors: &mut Errors) {
    if is_external_name(spec) || is_external_name(live) || is_headless(spec) || is_headless(live) {
        return;
    }
    let (families, ips) = (spec.get("ipFamilies"), spec.get("clusterIPs"));
    let (new, old): (Vec<&str>, Vec<&str>) = (
        families.texts().collect(),
        live.get("ipFamilies").texts().collect(),
    );
    // All of these errors have the path of the first family, as in Kubernetes.
    let path = families.path.index(0);
    let error =
        |value: &Field<'_>, detail: &str| FieldError::invalid(path.clone(), shown(value), detail);

    if old.len() == new.len() {
        let changed = old.iter().zip(&new).filter(|(old, new)| old != new);
        errors.extend(changed.map(|_| error(&families, ONCE)));
        return;
    }

    if old.len() > new.len() && ips.is_empty() {
        errors.push(error(&families, "primary ipFamily can not be unset"));
    }
    // Kubernetes shows the addresses as the value of this error.
    if !old.is_empty() && !new.is_empty() && old.first() != new.first() {
        errors.push(error(&ips, ONCE));
    }

    if new.len() == 1 && old.len() > 1 {
        releases(
            spec,
            "must be set to 'SingleStack' when releasing the secondary ipFamily",
            errors,
        );
    }
}

fn load_balancer_class(spec: &Field<'_>, live: Option<&Field<'_>>, errors: &mut Errors) {
    let class = spec.get("loadBalancerClass");
    let is_load_balancer = |spec: &Field<'_>| spec.get("type").text() == "LoadBalancer";
    if !is_load_balancer(spec) {
        class.forbid_if(class.is_set(), LOAD_BALANCER, errors);
        return;
    }

    // A class may be set together with the type, and stays as long as the type.
    if let Some(live) = live.filter(|live| is_load_balancer(live))
        && live.get("loadBalancerClass").value != class.value
    {
        class.invalid(ONCE, errors);
    }
    class.optional_qualified(errors);
}

fn ports_and_type(spec: &Field<'_>, errors: &mut Errors) {
    let (ports, ips, ty) = (
        spec.get("ports"),
        spec.get("clusterIPs"),
        spec.get("type").text(),
    );
    if ports.is_empty() && !is_headless(spec) && ty != "ExternalName" {
        ports.missing("", errors);
    }

    // A node port and a load balancer build on the cluster address, which a headless service lacks. An external name is
    // an alias and has no addresses at all.
    match ty {
        "LoadBalancer" | "NodePort" if is_headless(spec) => {
            let detail = format!("may not be set to 'None' for {ty} services");
            errors.push(FieldError::invalid(ips.path.index(0), "None", detail));
        }
        "ExternalName" => {
            for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                let field = spec.get(name);
                field.forbid_if(
                    !field.is_empty(),
                    "may not be set for ExternalName services",
                    errors,
                );
            }

            // A last dot marks the name as fully qualified.
            let name = spec.get("externalName");
            match name.text().strip_suffix('.').unwrap_or(name.text()) {
                "" => name.missing("", errors),
                text => faults(
                    &name.path,
                    text,
                    NameSyntax::Subdomain.faults(text, false),
                    errors,
                ),
            }
        }
        _ => {}
    }

    let mut names = BTreeSet::new();
    for port in ports.items() {
        service_port(&port, ports.len() > 1, &mut names, errors);
    }
}

fn service_port<'v>(
    port: &Field<'v>,
    needs_name: bool,
    names: &mut BTreeSet<&'v str>,
    errors: &mut Errors,
) {
    let name = port.get("name");
    if needs_name {
        name.require("", errors);
    }
    if !name.is_empty() {
        name.name(NameSyntax::Label, errors);
        name.unique(names, errors);
    }

    let number = port.get("port");
    number.port(errors);
    port.get("protocol")
        .require_one_of(&["SCTP", "TCP", "UDP"], errors);
    let target = port.get("targetPort");
    // A name refers to a port of each pod, whose number may differ between pods.
    match target.value {
        Some(Value::String(name)) => target.faults(syntax::port_name(name), errors),
        _ => target.port(errors),
    }
    let app = port.get("appProtocol");
    app.optional_qualified(errors);
}

fn affinity(spec: &Field<'_>, errors: &mut Errors) {
    let (affinity, config) = (
        spec.get("sessionAffinity"),
        spec.get("sessionAffinityConfig"),
    );
    affinity.require_one_of(&["ClientIP", "None"], errors);
    let timeout = config.get("clientIP").get("timeoutSeconds");

    // Defaults set the configuration for `ClientIP`, and each part of it is required in turn.
    match affinity.text() {
        "ClientIP" if !config.is_set() => {
            config.missing("when session affinity type is ClientIP", errors);
        }
        "ClientIP" if !config.get("clientIP").is_set() => {
            config
                .get("clientIP")
                .missing("when session affinity type is ClientIP", errors);
        }
        "ClientIP" if !timeout.is_set() => {
            timeout.missing("when session affinity type is ClientIP", errors);
        }
        "ClientIP" if !(1..=86_400).contains(&timeout.number()) => {
            timeout.invalid("must be greater than 0 and less than 86400", errors)
        }
        "None" if config.is_set() => {
            config.forbid("must not be set when session affinity is None", errors)
        }
        _ => {}
    }
}

/// The faults of the addresses of a Service and of their families, as far as they do not depend on the cluster.
pub(crate) fn service_address_faults(service: &Value, live: Option<&Value>) -> Errors {
    let spec = Field::object(service, live).get("spec");
    let mut errors = Errors::new();
    cluster_ips(&spec, &spec.before(), &mut errors);
    errors
}

/// Each address has the family at its position in the list.
fn families_of_addresses(ips: &Field<'_>, families: &Field<'_>, v6: &[bool], errors: &mut Errors) {
    for (at, ((ip, family), v6)) in ips.items().zip(families.items()).zip(v6).enumerate() {
        if matches!((family.text(), v6), ("IPv4", true) | ("IPv6", false)) {
            let detail = format!(
                "expected an {} value as indicated by `ipFamilies[{at}]`",
                family.text()
            );
            ip.invalid(detail, errors);
        }
    }
}

fn cluster_ips(spec: &Field<'_>, live: &Field<'_>, errors: &mut Errors) {
    let (ip, ips, families) = (
        spec.get("clusterIP"),
        spec.get("clusterIPs"),
        spec.get("ipFamilies"),
    );
    let all: Vec<&str> = ips.texts().collect();

    // The single address repeats the first of the list, for clients that know only one.
    match (ip.text(), all.first()) {
        ("", None) => {}
        ("", Some(_)) => ips.invalid("must be empty when `clusterIP` is not specified", errors),
        (_, None) => ips.missing("", errors),
        (ip, Some(first)) if ip != *first => {
            ips.invalid("first value must match `clusterIP`", errors)
        }
        _ => {}
    }

    let mut seen = BTreeSet::new();
    for family in families.items() {
        family.one_of(&["IPv4", "IPv6"], errors);
        family.unique(&mut seen, errors);
    }
    let policy = spec.get("ipFamilyPolicy");
    policy.optional_one_of(
        &["PreferDualStack", "RequireDualStack", "SingleStack"],
        errors,
    );
    // Addresses of the live service stay accepted, even if they break newer rules.
    let known: BTreeSet<&str> = live.get("clusterIPs").texts().collect();
    let mut is_invalid = false;

    for (at, ip) in ips.items().enumerate() {
        if at == 0 && ip.text() == "None" {
            if all.len() > 1 {
                is_invalid = true;
                ips.invalid("'None' must be the first and only value", errors);
            }
        } else if !known.contains(ip.text()) {
            let found = formats::ip_faults(ip.text());
            is_invalid |= !found.is_empty();
            ip.faults(found, errors);
        }
    }

    ips.invalid_if(all.len() > 2, "may only hold up to 2 values", errors);
    // An invalid address has no family, so the comparison of families is left out.
    if is_invalid {
        return;
    }
    let v6: Vec<bool> = all
        .iter()
        .map(|ip| address::ip(ip).is_some_and(|ip| ip.is_ipv6()))
        .collect();
    let is_pair = v6.contains(&true) && v6.contains(&false);
    let detail = "may specify no more than one IP for each IP family";
    ips.invalid_if(all.len() > 1 && !is_pair, detail, errors);
    if !is_headless(spec) {
        families_of_addresses(&ips, &families, &v6, errors);
    }
}

fn external_ips(ips: &Field<'_>, live: &Field<'_>, errors: &mut Errors) {
    // Addresses of the live service are exempt from newer rules of syntax, but not from forbidden ranges.
    let known: BTreeSet<&str> = live.texts().collect();
    for ip in ips.items() {
        match formats::ip_faults(ip.text()) {
            found if !found.is_empty() && !known.contains(ip.text()) => ip.faults(found, errors),
            _ => ip.faults(formats::endpoint_ip(ip.text()), errors),
        }
    }
}

fn unique_ports(spec: &Field<'_>, errors: &mut Errors) {
    let ports = spec.get("ports");
    let node_ports = || {
        ports
            .items()
            .filter(|port| port.get("nodePort").number() != 0)
    };
    if spec.get("type").text() == "ClusterIP" {
        node_ports().for_each(|port| port.get("nodePort").forbid(NODE_PORT_UNUSED, errors));
    }

    // Node ports of different protocols do not collide.
    let mut seen = BTreeSet::new();
    for port in node_ports() {
        if !seen.insert((port.get("protocol").text(), port.get("nodePort").number())) {
            port.get("nodePort").duplicate(errors);
        }
    }

    // A port of a Service is identified by its protocol and number; its name does not matter.
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let (protocol, number) = (port.get("protocol").text(), port.get("port").number());
        if !seen.insert((protocol, number)) {
            // Kubernetes shows a struct with these two fields alone.
            let mut key = Map::single("protocol", protocol);
            key.insert("port", number);
            let key = Value::Map(key);
            let key = shown::json("ServicePort", Some(&key));
            errors.push(super::field::duplicate_struct(&port, &key));
        }
    }
}

fn load_balancer(spec: &Field<'_>, live: &Field<'_>, errors: &mut Errors) {
    let is_load_balancer = spec.get("type").text() == "LoadBalancer";
    let ranges = spec.get("loadBalancerSourceRanges");
    if !ranges.is_empty() {
        // The path has the Go name of the field, as in Kubernetes.
        let path = spec.path.child("LoadBalancerSourceRanges");
        if !is_load_balancer {
            errors.push(FieldError::forbidden(path.clone(), LOAD_BALANCER));
        }
        // Ranges of the live service are not checked again, and spaces around them do not count.
        let known: BTreeSet<&str> = live
            .get("loadBalancerSourceRanges")
            .texts()
            .map(str::trim)
            .collect();

        for (at, range) in ranges.items().enumerate() {
            let range = range.text().trim();
            if !known.contains(range) {
                faults(&path.index(at), range, formats::cidr_faults(range), errors);
            }
        }
    }

    let allocates = spec.get("allocateLoadBalancerNodePorts");
    allocates.forbid_if(
        allocates.is_set() && !is_load_balancer,
        LOAD_BALANCER,
        errors,
    );

    // Defaults set the field for a load balancer. The path of this error lacks `spec`, as in Kubernetes.
    if !allocates.is_set() && is_load_balancer {
        errors.push(FieldError::required(
            FieldPath::root("allocateLoadBalancerNodePorts"),
            "",
        ));
    }
    load_balancer_class(spec, None, errors);
}

fn traffic(spec: &Field<'_>, errors: &mut Errors) {
    let (ty, policy) = (spec.get("type").text(), spec.get("externalTrafficPolicy"));
    let is_external = matches!(ty, "LoadBalancer" | "NodePort")
        || ty == "ClusterIP" && !spec.get("externalIPs").is_empty();
    // The policy is about traffic from outside the cluster, so only services with such traffic have one.
    match (is_external, policy.text()) {
        (false, "") => {}
        (false, _) => policy.invalid("may only be set for externally-accessible services", errors),
        (true, "") => policy.missing("", errors),
        (true, _) => policy.one_of(&["Cluster", "Local"], errors),
    }

    // The server allocates the port before it validates.
    let port = spec.get("healthCheckNodePort");
    if port.number() != 0 {
        if checks_health(spec) {
            port.port(errors);
        } else {
            let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            port.invalid(detail, errors);
        }
    }

    let internal = spec.get("internalTrafficPolicy");
    if internal.is_set() {
        internal.one_of(&["Cluster", "Local"], errors);
    } else if matches!(ty, "NodePort" | "LoadBalancer" | "ClusterIP") {
        internal.missing("", errors);
    }
    let distribution = spec.get("trafficDistribution");
    distribution.optional_one_of(&["PreferClose", "PreferSameZone", "PreferSameNode"], errors);
}
