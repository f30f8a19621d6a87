//! Network policies, ingresses, and endpoints.

use std::collections::BTreeSet;
use std::net::IpAddr;

use fieldmanager_structural::internal::{NameSyntax, label_value, qualified_name};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

use super::field::Field;
use super::formats;
use super::labels::{labels, selector};
use crate::address;
use crate::validation::operation::Operation;
use crate::validation::syntax;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(super) fn network_policy(
    path: &FieldPath,
    object: &Value,
    operation: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let spec = Field::new(path, object).get("spec");
    let live = Field::live(path, operation).get("spec");
    let mut known = BTreeSet::new();
    for block in peers(&live).map(|peer| peer.get("ipBlock")) {
        known.insert(block.get("cidr").text());
        known.extend(block.get("except").items().map(|range| range.text()));
    }
    selector(&spec.get("podSelector"), errors);
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
    if types.items().count() > 2 {
        errors.push(types.invalid("may not specify more than two policyTypes"));
    } else {
        errors.extend(types.items().filter_map(|ty| ty.one_of(&["Ingress", "Egress"])));
    }
    // The generated validation of Kubernetes has its errors at the end.
    for cidr in
        peers(&spec).filter(|peer| peer.get("ipBlock").is_set()).map(|peer| peer.get("ipBlock").get("cidr"))
    {
        if cidr.is_empty() {
            errors.push(cidr.required(""));
        }
    }
}

/// The peers of all rules.
fn peers<'v>(spec: &Field<'v>) -> impl Iterator<Item = Field<'v>> + use<'v> {
    let spec = spec.clone();
    [("ingress", "from"), ("egress", "to")]
        .into_iter()
        .flat_map(move |(rules, peers)| spec.get(rules).items().flat_map(move |rule| rule.get(peers).items()))
}

fn policy_port(field: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (protocol, port, end) = (field.get("protocol"), field.get("port"), field.get("endPort"));
    if protocol.is_set() {
        errors.extend(protocol.one_of(&["TCP", "UDP", "SCTP"]));
    }
    match port.value {
        Some(Value::String(name)) => {
            if end.is_set() {
                errors.push(end.invalid("may not be specified when `port` is non-numeric"));
            }
            errors.extend(port.faults(syntax::port_name(name)));
        }
        Some(_) => {
            errors.extend(port.number_faults(formats::port(port.number())));
            if end.is_set() {
                if end.number() < port.number() {
                    errors.push(end.invalid("must be greater than or equal to `port`"));
                }
                errors.extend(end.number_faults(formats::port(end.number())));
            }
        }
        None if end.is_set() => {
            errors.push(end.invalid("may not be specified when `port` is not specified"));
        }
        None => {}
    }
}

fn policy_peer(peer: &Field<'_>, known: &BTreeSet<&str>, errors: &mut Vec<FieldError>) {
    let (pods, namespaces, block) =
        (peer.get("podSelector"), peer.get("namespaceSelector"), peer.get("ipBlock"));
    selector(&pods, errors);
    selector(&namespaces, errors);
    if block.is_set() {
        ip_block(&block, known, errors);
    }
    let is_selected = pods.is_set() || namespaces.is_set();
    if !is_selected && !block.is_set() {
        errors.push(peer.required("must specify a peer"));
    } else if is_selected && block.is_set() {
        errors.push(peer.forbidden("may not specify both ipBlock and another peer"));
    }
}

fn ip_block(block: &Field<'_>, known: &BTreeSet<&str>, errors: &mut Vec<FieldError>) {
    let cidr = block.get("cidr");
    if cidr.is_empty() {
        return;
    }
    let mut check = |range: &Field<'_>| {
        if !known.contains(range.text()) {
            errors.extend(range.faults(formats::cidr_faults(range.text())));
        }
    };
    check(&cidr);
    let Some(whole) = address::cidr(cidr.text()) else { return };
    let mut outside = Vec::new();
    for except in block.get("except").items() {
        check(&except);
        if let Some(part) = address::cidr(except.text())
            && (part.1 <= whole.1 || !address::contains(whole, part.0))
        {
            outside.push(except.invalid("must be a strict subset of `cidr`"));
        }
    }
    errors.extend(outside);
}

pub(super) fn ingress(path: &FieldPath, object: &Value, _: Operation<'_>, errors: &mut Vec<FieldError>) {
    let spec = Field::new(path, object).get("spec");
    let (rules, default) = (spec.get("rules"), spec.get("defaultBackend"));
    if rules.is_empty() && !default.is_set() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(spec.path.clone(), rules.shown(), detail));
    }
    if default.is_set() {
        backend(&default, errors);
    }
    for rule in rules.items() {
        let host = rule.get("host");
        if !host.is_empty() {
            if address::ip(host.text()).is_some() {
                errors.push(host.invalid("must be a DNS name, not an IP address"));
            }
            errors.extend(host.faults(formats::host(host.text())));
        }
        let http = rule.get("http");
        if http.is_set() && http.get("paths").is_empty() {
            errors.push(http.get("paths").required(""));
        }
        for path in http.get("paths").items() {
            http_path(&path, errors);
        }
    }
    for tls in spec.get("tls").items() {
        for host in tls.get("hosts").items() {
            errors.extend(host.faults(formats::host(host.text())));
        }
        let secret = tls.get("secretName");
        if !secret.is_empty() {
            errors.extend(secret.faults(NameSyntax::Subdomain.faults(secret.text(), false)));
        }
    }
    let class = spec.get("ingressClassName");
    if class.is_set() {
        errors.extend(class.faults(NameSyntax::Subdomain.faults(class.text(), false)));
    }
}

fn http_path(path: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (ty, text) = (path.get("pathType"), path.get("path"));
    if !ty.is_set() {
        errors.push(ty.required("pathType must be specified"));
        return;
    }
    let is_relative = !text.text().starts_with('/');
    match ty.text() {
        "Exact" | "Prefix" => {
            if is_relative {
                errors.push(text.invalid_text("must be an absolute path"));
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if text.text().contains(part) {
                    errors.push(text.invalid_text(format!("must not contain '{part}'")));
                }
            }
            for end in ["/..", "/."] {
                if text.text().ends_with(end) {
                    errors.push(text.invalid_text(format!("cannot end with '{end}'")));
                }
            }
        }
        "ImplementationSpecific" => {
            if is_relative && !text.is_empty() {
                errors.push(text.invalid_text("must be an absolute path"));
            }
        }
        _ => errors.push(ty.not_supported(&["Exact", "ImplementationSpecific", "Prefix"])),
    }
    backend(&path.get("backend"), errors);
}

fn backend(backend: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (resource, service) = (backend.get("resource"), backend.get("service"));
    let invalid = |detail: &str| FieldError::invalid(backend.path.clone(), "", detail);
    match (resource.is_set(), service.is_set()) {
        (true, true) => errors.push(invalid("cannot set both resource and service backends")),
        (true, false) => {
            let group = resource.get("apiGroup");
            if group.is_set() {
                errors.extend(group.faults(NameSyntax::Subdomain.faults(group.text(), false)));
            }
            for name in ["kind", "name"] {
                path_segment(&resource.get(name), errors);
            }
        }
        (false, true) => {
            let (name, port) = (service.get("name"), service.get("port"));
            match name.text() {
                "" => errors.push(name.required("")),
                text => errors.extend(name.faults(NameSyntax::Label.faults(text, false))),
            }
            let (name, number) = (port.get("name"), port.get("number"));
            match (name.text(), number.number()) {
                ("", 0) => errors.push(backend.required("port name or number is required")),
                ("", port) => errors.extend(number.number_faults(formats::port(port))),
                (text, 0) => errors.extend(name.faults(syntax::port_name(text))),
                _ => errors.push(invalid("cannot set both port name & port number")),
            }
        }
        (false, false) => errors.push(invalid("resource or service backend is required")),
    }
}

/// Requires a segment of a path.
fn path_segment(field: &Field<'_>, errors: &mut Vec<FieldError>) {
    match field.text() {
        "" => errors.push(field.required("")),
        text => errors.extend(field.faults(NameSyntax::PathSegment.faults(text, false))),
    }
}

pub(super) fn ingress_class(
    path: &FieldPath,
    object: &Value,
    _: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let parameters = Field::new(path, object).get("spec").get("parameters");
    if !parameters.is_set() {
        return;
    }
    let (group, kind, name) = (parameters.get("apiGroup"), parameters.get("kind"), parameters.get("name"));
    let (scope, namespace) = (parameters.get("scope"), parameters.get("namespace"));
    if group.is_set() {
        errors.extend(group.faults(NameSyntax::Subdomain.faults(group.text(), false)));
    }
    for field in [&kind, &name] {
        if !field.is_empty() {
            errors.extend(field.faults(NameSyntax::PathSegment.faults(field.text(), false)));
        }
    }
    match scope.text() {
        _ if !scope.is_set() => errors.push(scope.required("")),
        "Cluster" if namespace.is_set() => {
            errors.push(namespace.forbidden("`parameters.scope` is set to 'Cluster'"));
        }
        "Namespace" if !namespace.is_set() => {
            errors.push(namespace.required("`parameters.scope` is set to 'Namespace'"));
        }
        "Namespace" => errors.extend(namespace.faults(NameSyntax::Label.faults(namespace.text(), false))),
        "Cluster" => {}
        _ => errors.push(scope.not_supported(&["Cluster", "Namespace"])),
    }
    errors.extend([kind, name].iter().filter(|field| field.is_empty()).map(|field| field.required("")));
}

pub(super) fn endpoints(
    path: &FieldPath,
    object: &Value,
    operation: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let subsets = Field::new(path, object).get("subsets");
    if subsets.is_set() && Field::live(path, operation).get("subsets").value == subsets.value {
        return;
    }
    for subset in subsets.items() {
        let (ready, unready) = (subset.get("addresses"), subset.get("notReadyAddresses"));
        if ready.is_empty() && unready.is_empty() {
            errors.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
        }
        for endpoint in ready.items().chain(unready.items()) {
            endpoint_address(&endpoint, errors);
        }
        let ports = subset.get("ports");
        let count = ports.items().count();
        for port in ports.items() {
            endpoint_port(&port, count > 1, errors);
        }
    }
}

fn endpoint_address(endpoint: &Field<'_>, errors: &mut Vec<FieldError>) {
    let (ip, host, node) = (endpoint.get("ip"), endpoint.get("hostname"), endpoint.get("nodeName"));
    errors.extend(ip.faults(formats::ip_faults(ip.text())));
    if !host.is_empty() {
        errors.extend(host.faults(NameSyntax::Label.faults(host.text(), false)));
    }
    if node.is_set() {
        errors.extend(node.faults(NameSyntax::Subdomain.faults(node.text(), false)));
    }
    errors.extend(ip.faults(formats::endpoint_ip(ip.text())));
}

fn endpoint_port(port: &Field<'_>, needs_name: bool, errors: &mut Vec<FieldError>) {
    let (name, number, protocol) = (port.get("name"), port.get("port"), port.get("protocol"));
    match name.text() {
        "" if needs_name => errors.push(name.required("")),
        "" => {}
        text => errors.extend(name.faults(NameSyntax::Label.faults(text, false))),
    }
    errors.extend(number.number_faults(formats::port(number.number())));
    match protocol.text() {
        "" => errors.push(protocol.required("")),
        _ => errors.extend(protocol.one_of(&PROTOCOLS)),
    }
    app_protocol(port, errors);
}

fn app_protocol(port: &Field<'_>, errors: &mut Vec<FieldError>) {
    let app = port.get("appProtocol");
    if app.is_set() {
        errors.extend(app.faults(qualified_name(app.text())));
    }
}

pub(super) fn endpoint_slice(
    path: &FieldPath,
    object: &Value,
    operation: Operation<'_>,
    errors: &mut Vec<FieldError>,
) {
    let slice = Field::new(path, object);
    let mut names = BTreeSet::new();
    for port in slice.get("ports").items() {
        let (name, protocol) = (port.get("name"), port.get("protocol"));
        if !name.is_empty() {
            errors.extend(name.faults(NameSyntax::Label.faults(name.text(), false)));
        }
        if !names.insert(name.text()) {
            errors.push(FieldError::duplicate(name.path.clone(), name.text()));
        }
        match protocol.is_set() {
            true => errors.extend(protocol.one_of(&PROTOCOLS)),
            false => errors.push(protocol.required("")),
        }
        app_protocol(&port, errors);
    }
    let endpoints = slice.get("endpoints");
    let is_same = Field::live(path, operation).get("endpoints").value == endpoints.value;
    if !is_same || !endpoints.is_set() {
        for endpoint in endpoints.items() {
            slice_endpoint(&endpoint, slice.get("addressType").text(), errors);
        }
    }
    for addresses in endpoints.items().map(|endpoint| endpoint.get("addresses")) {
        if addresses.is_empty() && !is_same {
            errors.push(addresses.required(""));
        }
    }
}

fn slice_endpoint(endpoint: &Field<'_>, ty: &str, errors: &mut Vec<FieldError>) {
    let addresses = endpoint.get("addresses");
    for item in addresses.items() {
        let text = item.text();
        let faults = match ty {
            "IPv4" | "IPv6" => formats::ip_faults(text),
            "FQDN" => {
                errors.extend(item.faults(formats::domain(text)));
                continue;
            }
            _ => continue,
        };
        if !faults.is_empty() {
            errors.extend(item.faults(faults));
            continue;
        }
        let is_v4 = address::ip(text).as_ref().is_some_and(IpAddr::is_ipv4);
        if is_v4 != (ty == "IPv4") {
            let article = format!("must be an {ty} address");
            errors.push(FieldError::invalid(addresses.path.clone(), text, article));
        }
        errors.extend(item.faults(formats::endpoint_ip(text)));
    }
    let (node, host) = (endpoint.get("nodeName"), endpoint.get("hostname"));
    if node.is_set() {
        errors.extend(node.faults(NameSyntax::Subdomain.faults(node.text(), false)));
    }
    labels(&endpoint.get("deprecatedTopology"), errors);
    if host.is_set() {
        errors.extend(host.faults(NameSyntax::Label.faults(host.text(), false)));
    }
    type Faults = fn(&str) -> Vec<String>;
    let kinds: [(&str, Faults); 2] =
        [("forZones", label_value), ("forNodes", |name| NameSyntax::Subdomain.faults(name, false))];
    for (list, faults) in kinds {
        let mut names = BTreeSet::new();
        for hint in endpoint.get("hints").get(list).items() {
            let name = hint.get("name");
            if !names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            errors.extend(name.faults(faults(name.text())));
        }
    }
}

/// The controller of ingresses: a domain and a path.
pub(super) fn domain_path(path: &FieldPath, value: &Value, _: Operation<'_>, errors: &mut Vec<FieldError>) {
    let field = Field::new(path, value);
    let text = field.text();
    match text.split_once('/') {
        _ if text.is_empty() => {}
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            let faults = NameSyntax::Subdomain.faults(host, false).into_iter();
            errors.extend(faults.map(|fault| FieldError::invalid(path.clone(), host, fault)));
            let is_path = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
            if !rest.bytes().all(is_path) {
                let fault = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
                errors.push(FieldError::invalid(path.clone(), rest, fault));
            }
        }
        _ => errors.push(field.invalid_text("must be a domain-prefixed path (such as \"acme.io/foo\")")),
    }
}
