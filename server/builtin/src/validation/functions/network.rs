//! Network policies, ingresses, and endpoints.

use std::collections::BTreeSet;
use std::net::IpAddr;

use fieldmanager_structural::internal::{NameSyntax, address, label_value};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Map, Value};

use super::field::Field;
use super::formats;
use crate::place::{Errors, IMMUTABLE, faults};
use crate::validation::syntax;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(crate) fn network_policy(object: &Field<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    // Ranges of the live policy stay accepted, because earlier versions of Kubernetes were less strict.
    let mut known = BTreeSet::new();
    for block in peers(&spec.before()).map(|peer| peer.get("ipBlock")) {
        known.insert(block.get("cidr").text());
        known.extend(block.get("except").texts());
    }

    spec.get("podSelector").selector(errors);
    for (rules, name) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.get(rules).items() {
            for port in rule.get("ports").items() {
                policy_port(&port, errors);
            }
            for peer in rule.get(name).items() {
                policy_peer(&peer, &known, errors);
            }
        }
    }

    let types = spec.get("policyTypes");
    if types.len() > 2 {
        types.invalid("may not specify more than two policyTypes", errors);
    } else {
        types
            .items()
            .for_each(|ty| ty.one_of(&["Ingress", "Egress"], errors));
    }

    // The generated validation of Kubernetes has its errors at the end.
    for cidr in peers(&spec)
        .filter(|peer| peer.get("ipBlock").is_set())
        .map(|peer| peer.get("ipBlock").get("cidr"))
    {
        cidr.require("", errors);
    }
}

/// The peers of all rules.
fn peers<'v>(spec: &Field<'v>) -> impl Iterator<Item = Field<'v>> + use<'v> {
    let spec = spec.clone();
    [("ingress", "from"), ("egress", "to")]
        .into_iter()
        .flat_map(move |(rules, peers)| {
            spec.get(rules)
                .items()
                .flat_map(move |rule| rule.get(peers).items())
        })
}

fn policy_port(field: &Field<'_>, errors: &mut Errors) {
    let (protocol, port, end) = (
        field.get("protocol"),
        field.get("port"),
        field.get("endPort"),
    );
    protocol.optional_one_of(&["TCP", "UDP", "SCTP"], errors);

    // `endPort` makes a range of numbers, so it needs a `port` that is a number.
    match port.value {
        Some(Value::String(name)) => {
            end.invalid_if(
                end.is_set(),
                "may not be specified when `port` is non-numeric",
                errors,
            );
            port.faults(syntax::port_name(name), errors);
        }
        Some(_) => {
            port.port(errors);
            if end.is_set() {
                let is_before = end.number() < port.number();
                end.invalid_if(is_before, "must be greater than or equal to `port`", errors);
                end.port(errors);
            }
        }
        None if end.is_set() => {
            end.invalid("may not be specified when `port` is not specified", errors)
        }
        None => {}
    }
}

fn policy_peer(peer: &Field<'_>, known: &BTreeSet<&str>, errors: &mut Errors) {
    let (pods, namespaces, block) = (
        peer.get("podSelector"),
        peer.get("namespaceSelector"),
        peer.get("ipBlock"),
    );
    pods.selector(errors);
    namespaces.selector(errors);
    if block.is_set() {
        ip_block(&block, known, errors);
    }

    // Selectors of pods and namespaces combine to one peer; a block of addresses is a peer by itself.
    let is_selected = pods.is_set() || namespaces.is_set();
    if !is_selected && !block.is_set() {
        peer.missing("must specify a peer", errors);
    } else if is_selected && block.is_set() {
        peer.forbid("may not specify both ipBlock and another peer", errors);
    }
}

fn ip_block(block: &Field<'_>, known: &BTreeSet<&str>, errors: &mut Errors) {
    let cidr = block.get("cidr");
    if cidr.is_empty() {
        return;
    }
    // Only ranges that the live policy does not have are checked.
    let check = |range: &Field<'_>, errors: &mut Errors| {
        if !known.contains(range.text()) {
            range.faults(formats::cidr_faults(range.text()), errors);
        }
    };
    check(&cidr, errors);
    let Some(whole) = address::cidr(cidr.text()) else {
        return;
    };

    for except in block.get("except").items() {
        check(&except, errors);
        if let Some(part) = address::cidr(except.text())
            && (part.1 <= whole.1 || !address::contains(whole, part.0))
        {
            except.invalid("must be a strict subset of `cidr`", errors);
        }
    }
}

pub(crate) fn ingress(object: &Field<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    let (rules, default) = (spec.get("rules"), spec.get("defaultBackend"));
    // Without rules and a default backend, the ingress would route nothing.
    if rules.is_empty() && !default.is_set() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(
            spec.path.clone(),
            rules.shown(),
            detail,
        ));
    }

    if default.is_set() {
        backend(&default, errors);
    }
    for rule in rules.items() {
        let host = rule.get("host");
        if !host.is_empty() {
            // Rules apply to names: the address is always that of the ingress itself.
            let is_address = address::ip(host.text()).is_some();
            host.invalid_if(is_address, "must be a DNS name, not an IP address", errors);
            host.faults(formats::host(host.text()), errors);
        }

        let http = rule.get("http");
        if http.is_set() {
            http.get("paths").require("", errors);
        }
        for path in http.get("paths").items() {
            http_path(&path, errors);
        }
    }

    // The hosts of certificates have the syntax of those of rules, and may start with a wildcard.
    for tls in spec.get("tls").items() {
        for host in tls.get("hosts").items() {
            host.faults(formats::host(host.text()), errors);
        }
        let secret = tls.get("secretName");
        secret.name_or_empty(NameSyntax::Subdomain, errors);
    }
    let class = spec.get("ingressClassName");
    class.name(NameSyntax::Subdomain, errors);
}

fn http_path(path: &Field<'_>, errors: &mut Errors) {
    let (ty, text) = (path.get("pathType"), path.get("path"));
    if !ty.is_set() {
        // Without a type, neither the path nor the backend is checked.
        ty.missing("pathType must be specified", errors);
        return;
    }
    let is_relative = !text.text().starts_with('/');

    // Only the controller of the ingress knows the syntax of an `ImplementationSpecific` path.
    match ty.text() {
        "Exact" | "Prefix" => {
            if is_relative {
                text.invalid_text("must be an absolute path", errors);
            }
            // These parts give one path a second spelling, which a comparison of elements does not find.
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if text.text().contains(part) {
                    text.invalid_text(format!("must not contain '{part}'"), errors);
                }
            }

            for end in ["/..", "/."] {
                if text.text().ends_with(end) {
                    text.invalid_text(format!("cannot end with '{end}'"), errors);
                }
            }
        }
        "ImplementationSpecific" => {
            if is_relative && !text.is_empty() {
                text.invalid_text("must be an absolute path", errors);
            }
        }
        _ => ty.not_supported(&["Exact", "ImplementationSpecific", "Prefix"], errors),
    }
    backend(&path.get("backend"), errors);
}

fn backend(backend: &Field<'_>, errors: &mut Errors) {
    let (resource, service) = (backend.get("resource"), backend.get("service"));
    // The errors of this union have the path of the backend and show no value.
    let invalid = |detail: &str| FieldError::invalid(backend.path.clone(), "", detail);
    match (resource.is_set(), service.is_set()) {
        (true, true) => errors.push(invalid("cannot set both resource and service backends")),
        (true, false) => {
            let group = resource.get("apiGroup");
            group.name(NameSyntax::Subdomain, errors);
            for name in ["kind", "name"] {
                resource
                    .get(name)
                    .require_name(NameSyntax::PathSegment, "", errors);
            }
        }
        (false, true) => {
            let (name, port) = (service.get("name"), service.get("port"));
            name.require_name(NameSyntax::Label, "", errors);
            let (name, number) = (port.get("name"), port.get("number"));
            match (name.text(), number.number()) {
                ("", 0) => backend.missing("port name or number is required", errors),
                ("", _) => number.port(errors),
                (text, 0) => name.faults(syntax::port_name(text), errors),
                _ => errors.push(invalid("cannot set both port name & port number")),
            }
        }
        (false, false) => errors.push(invalid("resource or service backend is required")),
    }
}

pub(crate) fn ingress_class(class: &Field<'_>, errors: &mut Errors) {
    let (controller, parameters) = (
        class.get("spec").get("controller"),
        class.get("spec").get("parameters"),
    );
    controller.immutable_text(errors);
    if controller.text().len() > 250 {
        errors.push(FieldError::too_long(controller.path.clone(), 250));
    }
    domain_path(&controller.path, controller.text(), errors);
    if class.get("spec").is_set() {
        controller.require("", errors);
    }

    if parameters.is_set() {
        class_parameters(&parameters, errors);
    }
}

fn class_parameters(parameters: &Field<'_>, errors: &mut Errors) {
    let (group, kind, name) = (
        parameters.get("apiGroup"),
        parameters.get("kind"),
        parameters.get("name"),
    );
    let (scope, namespace) = (parameters.get("scope"), parameters.get("namespace"));
    group.name(NameSyntax::Subdomain, errors);
    for field in [&kind, &name] {
        field.name_or_empty(NameSyntax::PathSegment, errors);
    }

    // Parameters of the cluster are in no namespace; those of a namespace are not found without one.
    match scope.text() {
        _ if !scope.is_set() => scope.missing("", errors),
        "Cluster" if namespace.is_set() => {
            namespace.forbid("`parameters.scope` is set to 'Cluster'", errors)
        }
        "Namespace" if !namespace.is_set() => {
            namespace.missing("`parameters.scope` is set to 'Namespace'", errors);
        }
        "Namespace" => namespace.name(NameSyntax::Label, errors),
        "Cluster" => {}
        _ => scope.not_supported(&["Cluster", "Namespace"], errors),
    }
    // The syntax above accepts an empty name, whose error comes last.
    kind.require("", errors);
    name.require("", errors);
}

pub(crate) fn endpoints(object: &Field<'_>, errors: &mut Errors) {
    let subsets = object.get("subsets");
    // Subsets that an update keeps are not checked again: stored ones may break newer rules.
    if subsets.is_set() && subsets.before().value == subsets.value {
        return;
    }
    for subset in subsets.items() {
        let (ready, unready) = (subset.get("addresses"), subset.get("notReadyAddresses"));
        if ready.is_empty() && unready.is_empty() {
            subset.missing("must specify `addresses` or `notReadyAddresses`", errors);
        }
        for endpoint in ready.items().chain(unready.items()) {
            endpoint_address(&endpoint, errors);
        }
        let ports = subset.get("ports");

        // The name tells ports apart, so a single port needs none.
        for port in ports.items() {
            endpoint_port(&port, ports.len() > 1, errors);
        }
    }
}

fn endpoint_address(endpoint: &Field<'_>, errors: &mut Errors) {
    let (ip, host, node) = (
        endpoint.get("ip"),
        endpoint.get("hostname"),
        endpoint.get("nodeName"),
    );
    ip.faults(formats::ip_faults(ip.text()), errors);
    host.name_or_empty(NameSyntax::Label, errors);
    node.name(NameSyntax::Subdomain, errors);
    ip.faults(formats::endpoint_ip(ip.text()), errors);
}

fn endpoint_port(port: &Field<'_>, needs_name: bool, errors: &mut Errors) {
    let (name, number, protocol) = (port.get("name"), port.get("port"), port.get("protocol"));
    if needs_name {
        name.require("", errors);
    }
    name.name_or_empty(NameSyntax::Label, errors);
    number.port(errors);
    protocol.require_one_of(&PROTOCOLS, errors);
    port.get("appProtocol").optional_qualified(errors);
}

pub(crate) fn endpoint_slice(slice: &Field<'_>, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for port in slice.get("ports").items() {
        let (name, protocol) = (port.get("name"), port.get("protocol"));
        name.name_or_empty(NameSyntax::Label, errors);
        name.unique(&mut names, errors);
        if protocol.is_set() {
            protocol.one_of(&PROTOCOLS, errors);
        } else {
            protocol.missing("", errors);
        }
        port.get("appProtocol").optional_qualified(errors);
    }

    // Endpoints that an update keeps are not checked again, so that stored ones stay updatable.
    let endpoints = slice.get("endpoints");
    let is_same = endpoints.before().value == endpoints.value;
    if !is_same || !endpoints.is_set() {
        for endpoint in endpoints.items() {
            slice_endpoint(&endpoint, slice.get("addressType").text(), errors);
        }
    }

    // The generated validation of Kubernetes has these errors after those of all endpoints.
    for addresses in endpoints.items().map(|endpoint| endpoint.get("addresses")) {
        if !is_same {
            addresses.require("", errors);
        }
    }

    let ty = slice.get("addressType");
    ty.require_one_of(&["FQDN", "IPv4", "IPv6"], errors);
    ty.immutable_hidden(errors);
}

fn slice_endpoint(endpoint: &Field<'_>, ty: &str, errors: &mut Errors) {
    let addresses = endpoint.get("addresses");
    // Addresses of an unknown type are not checked: the type has an error of its own.
    for item in addresses.items() {
        let text = item.text();
        let faults = match ty {
            "IPv4" | "IPv6" => formats::ip_faults(text),
            "FQDN" => {
                item.require("", errors);
                item.faults(formats::domain(text), errors);
                continue;
            }
            _ => continue,
        };
        if !faults.is_empty() {
            item.faults(faults, errors);
            continue;
        }

        // Only a valid address has a family. The error has the path of the list, not of the item, as in Kubernetes.
        let is_v4 = address::ip(text).as_ref().is_some_and(IpAddr::is_ipv4);
        if is_v4 != (ty == "IPv4") {
            let article = format!("must be an {ty} address");
            errors.push(FieldError::invalid(addresses.path.clone(), text, article));
        }
        item.faults(formats::endpoint_ip(text), errors);
    }

    let (node, host) = (endpoint.get("nodeName"), endpoint.get("hostname"));
    node.name(NameSyntax::Subdomain, errors);
    endpoint.get("deprecatedTopology").labels(errors);
    host.name(NameSyntax::Label, errors);
    type Faults = fn(&str) -> Vec<String>;
    let kinds: [(&str, Faults); 2] = [
        ("forZones", label_value),
        ("forNodes", |name| NameSyntax::Subdomain.faults(name, false)),
    ];

    // Hints name zones and nodes, each once.
    for (list, faults) in kinds {
        let mut names = BTreeSet::new();
        for hint in endpoint.get("hints").get(list).items() {
            let name = hint.get("name");
            name.unique(&mut names, errors);
            name.faults(faults(name.text()), errors);
        }
    }
}

/// Requires a domain and a path, if there is a string.
pub(super) fn domain_path(path: &FieldPath, text: &str, errors: &mut Errors) {
    match text.split_once('/') {
        _ if text.is_empty() => {}
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            faults(
                path,
                host,
                NameSyntax::Subdomain.faults(host, false),
                errors,
            );
            // The domain and the path have separate errors, which show the faulty part alone.
            let is_path = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);

            if !rest.bytes().all(is_path) {
                let fault = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
                errors.push(FieldError::invalid(path.clone(), rest, fault));
            }
        }
        _ => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.push(FieldError::invalid(path.clone(), text, detail));
        }
    }
}

/// Checks the ranges of Services: one, or one of each family.
pub(crate) fn service_cidr(object: &Field<'_>, errors: &mut Errors) {
    let ranges = object.get("spec").get("cidrs");
    let (new, old) = (ranges.len(), ranges.before().len());
    if !ranges.is_update() {
        service_ranges(&ranges, errors);
        return;
    }
    // An update may only add a range of the other family.
    let adds = old == 1 && new == 2;
    if old != new && !adds {
        let shown = ranges.value.cloned().unwrap_or_default();
        errors.push(FieldError::invalid(ranges.path.clone(), shown, IMMUTABLE));
        return;
    }

    for (range, old) in ranges.items().zip(ranges.before().texts()) {
        range.invalid_if(range.text() != old, IMMUTABLE, errors);
    }
    if adds {
        service_ranges(&ranges, errors);
    }
}

fn service_ranges(ranges: &Field<'_>, errors: &mut Errors) {
    if ranges.is_empty() {
        ranges.missing("at least one CIDR required", errors);
        return;
    }
    if ranges.len() > 2 {
        // Kubernetes shows the whole spec.
        let shown = Value::Map(Map::single("CIDRs", ranges.shown()));
        let detail = "may only hold up to 2 values";
        errors.push(FieldError::invalid(ranges.path.clone(), shown, detail));
        return;
    }
    for range in ranges.items() {
        range.faults(formats::cidr_faults(range.text()), errors);
    }

    let families: Vec<bool> = ranges
        .texts()
        .filter_map(|range| address::cidr(range).map(|(address, _)| address.is_ipv4()))
        .collect();
    let is_same = matches!(families.as_slice(), [first, second] if first == second);
    let detail =
        "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
    ranges.invalid_if(is_same, detail, errors);
}

/// Checks the object that an address belongs to.
pub(crate) fn ip_address(object: &Field<'_>, errors: &mut Errors) {
    let parent = object.get("spec").get("parentRef");
    if object.is_update() {
        // The generated validation of Kubernetes checks what an update changes, the rest a creation alone.
        if parent.is_changed() && !parent.is_set() {
            parent.missing("", errors);
        } else if parent.is_changed() {
            parent_names(&parent, errors);
        }
        parent.immutable_hidden(errors);
        return;
    }

    if !parent.is_set() {
        parent.missing("", errors);
        return;
    }
    parent
        .get("group")
        .name_or_empty(NameSyntax::Subdomain, errors);
    parent_names(&parent, errors);
}

/// Checks the names of the object that an address belongs to.
fn parent_names(parent: &Field<'_>, errors: &mut Errors) {
    let [resource, name, namespace] =
        ["resource", "name", "namespace"].map(|name| parent.get(name));
    for field in [&resource, &name, &namespace] {
        field.name_or_empty(NameSyntax::PathSegment, errors);
    }
    // The generated validation of Kubernetes has these errors at the end.
    resource.require("", errors);
    name.require("", errors);
}
