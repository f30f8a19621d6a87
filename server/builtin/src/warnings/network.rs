//! Warnings about services, networks and nodes.

use std::net::IpAddr;

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::fields::{at, has_annotation, items, text};
use fieldmanager_structural::internal::address::{cidr, first, ip};

/// The warnings whose condition holds.
fn those<const N: usize>(warnings: [(bool, &str); N]) -> impl Iterator<Item = String> {
    warnings
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, warning)| warning.to_owned())
}

pub(crate) fn service(service: &Value, _: Option<&Value>) -> Vec<String> {
    let spec = at(service, "spec");

    // What a service ignores depends on its type, and headless services are those without an address.
    let (ty, cluster_ip) = (text(spec, "type"), text(spec, "clusterIP"));
    let is_headless = ty == "ClusterIP" && cluster_ip == "None";
    let is_named = ty == "ExternalName";
    let has_external = items(spec, "externalIPs").next().is_some();
    let mut out: Vec<String> = those([(
        has_annotation(service, "service.kubernetes.io/topology-aware-hints"),
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use \
         service.kubernetes.io/topology-mode instead",
    )])
    .collect();

    // Only real addresses are checked: `None` is no address, and external names have none.
    if !matches!(cluster_ip, "" | "None") && !is_named {
        out.extend(addresses(spec, "clusterIPs", "spec.clusterIPs"));
    }

    // kube-proxy does not handle headless services, so what it would do for others is ignored.
    if is_headless {
        out.extend(those([
            (
                !text(spec, "loadBalancerIP").is_empty(),
                "spec.loadBalancerIP is ignored for headless services",
            ),
            (
                has_external,
                "spec.externalIPs is ignored for headless services",
            ),
            (
                text(spec, "sessionAffinity") != "None",
                "spec.SessionAffinity is ignored for headless services",
            ),
        ]));
    }

    // The order is that of kube-apiserver.
    out.extend(addresses(spec, "externalIPs", "spec.externalIPs"));
    out.extend(those([(
        has_external && !is_headless && !is_named,
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    )]));
    out.extend(address("spec.loadBalancerIP", text(spec, "loadBalancerIP")));
    out.extend(ranges(
        spec,
        "loadBalancerSourceRanges",
        "spec.loadBalancerSourceRanges",
    ));
    out.extend(those([
        (
            has_external && is_named,
            "spec.externalIPs is ignored when spec.type is \"ExternalName\"",
        ),
        (
            !is_named && !text(spec, "externalName").is_empty(),
            "spec.externalName is ignored when spec.type is not \"ExternalName\"",
        ),
        (
            text(spec, "trafficDistribution") == "PreferClose",
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
        ),
    ]));

    out
}

pub(crate) fn endpoints(endpoints: &Value, _: Option<&Value>) -> Vec<String> {
    // With the label, a controller wrote the addresses, which no client can correct.
    if text(
        at(endpoints, "metadata.labels"),
        "endpoints.kubernetes.io/managed-by",
    )
    .is_empty()
    {
        let subsets = items(endpoints, "subsets").enumerate();
        let all = subsets.flat_map(|(at, subset)| {
            ["addresses", "notReadyAddresses"]
                .into_iter()
                .flat_map(move |name| {
                    items(subset, name)
                        .enumerate()
                        .flat_map(move |(place, item)| {
                            address(
                                &format!("subsets[{at}].{name}[{place}].ip"),
                                text(item, "ip"),
                            )
                        })
                })
        });
        return all.collect();
    }

    Vec::new()
}

pub(crate) fn endpoint_slice(slice: &Value, live: Option<&Value>) -> Vec<String> {
    let mut out: Vec<String> = those([(
        live.is_none() && text(slice, "addressType") == "FQDN",
        "spec.addressType: FQDN endpoints are deprecated",
    )])
    .collect();

    // Slices of the controllers have addresses of pods, which a client cannot correct.
    let manager = at(slice, "metadata.labels").get("endpointslice.kubernetes.io/managed-by");
    let controllers = [
        "endpointslice-controller.k8s.io",
        "endpointslicemirroring-controller.k8s.io",
    ];

    if manager
        .and_then(Value::as_str)
        .is_none_or(|manager| !controllers.contains(&manager))
    {
        for (place, endpoint) in items(slice, "endpoints").enumerate() {
            out.extend(addresses(
                endpoint,
                "addresses",
                &format!("endpoints[{place}].addresses"),
            ));
        }
    }

    out
}

pub(crate) fn ingress(ingress: &Value, live: Option<&Value>) -> Vec<String> {
    // Only new objects are warned about: an existing one may keep the annotation.
    let is_old = live.is_none()
        && has_annotation(ingress, "kubernetes.io/ingress.class")
        && at(ingress, "spec.ingressClassName").is_null();
    those([(
        is_old,
        "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead",
    )])
    .collect()
}

pub(crate) fn network_policy(policy: &Value, _: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (i, rule) in items(at(policy, "spec"), rules).enumerate() {
            for (j, peer) in items(rule, peers).enumerate() {
                let path = format!("spec.{rules}[{i}].{peers}[{j}].ipBlock");
                out.extend(range(&format!("{path}.cidr"), text(peer, "ipBlock.cidr")));
                out.extend(ranges(
                    at(peer, "ipBlock"),
                    "except",
                    &format!("{path}.except"),
                ));
            }
        }
    }

    out
}

pub(crate) fn node(node: &Value, _: Option<&Value>) -> Vec<String> {
    let spec = at(node, "spec");
    let mut out: Vec<String> = those([
        (
            !at(spec, "configSource").is_null(),
            "spec.configSource: the feature is removed",
        ),
        (
            !text(spec, "externalID").is_empty(),
            "spec.externalID: this field is deprecated, and is unused by Kubernetes",
        ),
    ])
    .collect();
    out.extend(ranges(spec, "podCIDRs", "spec.podCIDRs"));

    out
}

/// Labels of nodes that are deprecated.
pub(super) const NODE_LABELS: &[(&str, &str)] = &[
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
];

pub(crate) fn runtime_class(class: &Value, _: Option<&Value>) -> Vec<String> {
    let selector = at(class, "scheduling.nodeSelector");
    let used = NODE_LABELS
        .iter()
        .filter(|(label, _)| selector.get(label).is_some());
    used.map(|(_, warning)| format!("scheduling.nodeSelector: {warning}"))
        .collect()
}

/// The warnings about the addresses in the status of a pod, a service or an ingress.
pub(super) fn status(object: &Value) -> Vec<String> {
    let lists = [
        ("status.podIPs", ".ip"),
        ("status.hostIPs", ".ip"),
        ("status.loadBalancer.ingress", ""),
    ];
    let mut out = Vec::new();
    for (path, field) in lists {
        let all = items(object, path).enumerate();
        out.extend(
            all.flat_map(|(at, item)| address(&format!("{path}[{at}]{field}"), text(item, "ip"))),
        );
    }
    out
}

fn addresses(parent: &Value, name: &str, path: &str) -> Vec<String> {
    let all = items(parent, name).enumerate();
    all.flat_map(|(at, item)| address(&format!("{path}[{at}]"), item.as_str().unwrap_or_default()))
        .collect()
}

fn ranges(parent: &Value, name: &str, path: &str) -> Vec<String> {
    let all = items(parent, name).enumerate();
    all.flat_map(|(at, item)| range(&format!("{path}[{at}]"), item.as_str().unwrap_or_default()))
        .collect()
}

/// The warning about an address that has another form than the canonical one.
fn address(path: &str, text: &str) -> Option<String> {
    let found = ip(text)?;
    let (given, canonical) = (quote(text), quote(&found.to_canonical().to_string()));
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_none() => (found.to_string() != text).then(|| {
            format!("{path}: IPv6 address {given} should be in RFC 5952 canonical format ({canonical})")
        }),
        Ok(IpAddr::V4(_)) => None,
        _ => Some(format!("{path}: non-standard IP address {given} is invalid: use {canonical}")),
    }
}

/// The warnings about a range of addresses that has another form than the canonical one.
fn range(path: &str, text: &str) -> Vec<String> {
    let Some((address, length)) = cidr(text) else {
        return Vec::new();
    };
    // The canonical range begins at its first address. One within the range may mean the whole or the single address.
    let start = first((address, length));
    let given = quote(text);
    let canonical = quote(&format!("{start}/{length}"));
    let mut out = Vec::new();

    if start != address {
        let single = quote(&format!(
            "{address}/{}",
            if address.is_ipv4() { 32 } else { 128 }
        ));
        out.push(format!(
            "{path}: CIDR value {given} is ambiguous in this context (should be {canonical} or {single}?)"
        ));
    }

    // A mapped address or a length with zeros in front is read differently by other parsers.
    let is_strict = text.split_once('/').is_some_and(|(address, length)| {
        let is_mapped = |ip: IpAddr| matches!(ip, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
        address.parse::<IpAddr>().is_ok_and(|ip| !is_mapped(ip))
            && (length == "0" || !length.starts_with('0'))
    });

    if !is_strict {
        out.push(format!(
            "{path}: non-standard CIDR value {given} is invalid: use {canonical}"
        ));
    }

    // The form is only a matter of style if nothing else is wrong.
    if out.is_empty() && address.is_ipv6() && quote(&format!("{address}/{length}")) != given {
        out.push(format!(
            "{path}: IPv6 CIDR value {given} should be in RFC 5952 canonical format ({canonical})"
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_have_the_warnings_of_kubernetes() {
        let warnings = |spec: &str| {
            service(
                &Value::from_yaml(&format!("{{spec: {spec}}}")).unwrap(),
                None,
            )
        };
        assert!(
            warnings("{type: ClusterIP, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}").is_empty()
        );
        assert_eq!(
            warnings("{type: ClusterIP, clusterIP: None, sessionAffinity: ClientIP}"),
            ["spec.SessionAffinity is ignored for headless services"]
        );
        assert_eq!(
            warnings("{type: NodePort, externalIPs: [1.2.3.4], externalName: a}").len(),
            2
        );
    }

    #[test]
    fn addresses_in_a_status_have_warnings() {
        let object = "{status: {podIPs: [{ip: '010.0.0.1'}], hostIPs: [{ip: 10.0.0.1}, {ip: '::0'}], \
                      loadBalancer: {ingress: [{hostname: a}, {ip: '::0'}]}}}";
        let found = status(&Value::from_yaml(object).unwrap());
        let paths: Vec<&str> = found
            .iter()
            .filter_map(|text| text.split(": ").next())
            .collect();
        assert_eq!(
            paths,
            [
                "status.podIPs[0].ip",
                "status.hostIPs[1].ip",
                "status.loadBalancer.ingress[1]",
            ]
        );
    }

    #[test]
    fn addresses_in_another_form_have_warnings() {
        assert_eq!(address("a", "10.0.0.1"), None);
        assert_eq!(
            address("a", "010.0.0.1").unwrap(),
            "a: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\""
        );
        assert!(
            address("a", "::0")
                .unwrap()
                .ends_with("canonical format (\"::\")")
        );
        assert!(range("a", "10.0.0.0/8").is_empty() && range("a", "::/0").is_empty());
        assert_eq!(
            range("a", "10.0.0.1/8"),
            [
                "a: CIDR value \"10.0.0.1/8\" is ambiguous in this context (should be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)"
            ]
        );
        assert_eq!(
            range("a", "010.0.0.0/8").len() + range("a", "0::/8").len(),
            2
        );
    }
}
