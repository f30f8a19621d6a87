//! Cells of services, endpoints and ingresses.

use std::collections::BTreeSet;

use fieldmanager_value::Value;

use super::cell::with_more;
use super::object::Object;
use super::selector::{labels, selector};

/// The number of addresses, ports and hosts that are shown.
const SHOWN: usize = 3;

pub(super) fn endpoints(object: &Object<'_>) -> Value {
    if object.count("subsets") == 0 {
        return "<none>".into();
    }
    let mut all = Vec::new();
    for subset in object.items("subsets") {
        let addresses = || subset.items("addresses").map(|address| address.text("ip"));
        if subset.count("ports") == 0 {
            all.extend(addresses().map(str::to_owned));
        }
        for port in subset.items("ports") {
            let port = port.number("port");
            all.extend(addresses().map(|ip| {
                if ip.contains(':') {
                    format!("[{ip}]:{port}")
                } else {
                    format!("{ip}:{port}")
                }
            }));
        }
    }

    if all.is_empty() {
        "".into()
    } else {
        with_more(&all, SHOWN).into()
    }
}

pub(super) fn endpoint_slice(object: &Object<'_>) -> Vec<Value> {
    let ports: Vec<String> = object
        .items("ports")
        .map(
            |port| match (port.get("port"), port.get("name").and_then(Value::as_str)) {
                (Some(number), _) => number.to_json(),
                (None, Some(name)) => name.to_owned(),
                (None, None) => "*".to_owned(),
            },
        )
        .collect();
    let addresses: Vec<String> = object
        .items("endpoints")
        .flat_map(|endpoint| endpoint.texts("addresses"))
        .map(str::to_owned)
        .collect();

    vec![
        object.text("addressType").into(),
        with_more(&ports, SHOWN).into(),
        with_more(&addresses, SHOWN).into(),
    ]
}

pub(super) fn service(object: &Object<'_>) -> Vec<Value> {
    // The first address is the primary one, which `clusterIP` repeats.
    let internal = object
        .texts("spec.clusterIPs")
        .first()
        .copied()
        .unwrap_or("<none>");
    let ports: Vec<String> = object
        .items("spec.ports")
        .map(|port| {
            match (
                port.number("port"),
                port.number("nodePort"),
                port.text("protocol"),
            ) {
                (port, node_port @ 1.., protocol) => format!("{port}:{node_port}/{protocol}"),
                (port, _, protocol) => format!("{port}/{protocol}"),
            }
        })
        .collect();

    let ports = if ports.is_empty() {
        "<none>".to_owned()
    } else {
        ports.join(",")
    };
    vec![
        object.text("spec.type").into(),
        internal.into(),
        external(object).into(),
        ports.into(),
        object.age().into(),
        labels(object.map("spec.selector")).into(),
    ]
}

fn external(object: &Object<'_>) -> String {
    let external = object.texts("spec.externalIPs");
    match object.text("spec.type") {
        "ClusterIP" | "NodePort" if external.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => external.join(","),
        "LoadBalancer" => {
            let balancers = balancers(object);
            let all: Vec<&str> = balancers.into_iter().chain(external).collect();
            if all.is_empty() {
                "<pending>".to_owned()
            } else {
                all.join(",")
            }
        }
        "ExternalName" => object.text("spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses or host names of load balancers, sorted.
fn balancers<'o>(object: &Object<'o>) -> BTreeSet<&'o str> {
    let balancers = object.items("status.loadBalancer.ingress");
    balancers
        .map(|ingress| ingress.text_or("ip", ingress.text("hostname")))
        .filter(|name| !name.is_empty())
        .collect()
}

pub(super) fn ingress(object: &Object<'_>) -> Vec<Value> {
    let class = object
        .get("spec.ingressClassName")
        .and_then(Value::as_str)
        .unwrap_or("<none>");
    let balancers: Vec<&str> = balancers(object).into_iter().collect();
    let ports = if object.count("spec.tls") > 0 {
        "80, 443"
    } else {
        "80"
    };

    vec![
        class.into(),
        hosts(object).into(),
        balancers.join(",").into(),
        ports.into(),
    ]
}

/// The hosts of rules. Rules behind three with hosts are counted, whether they have hosts or not.
fn hosts(object: &Object<'_>) -> String {
    let (mut list, mut more) = (Vec::new(), false);
    for rule in object.items("spec.rules") {
        more |= list.len() == SHOWN;
        let host = rule.text("host");
        if !more && !host.is_empty() {
            list.push(host);
        }
    }

    match list.join(",") {
        hosts if hosts.is_empty() => "*".to_owned(),
        hosts if more => format!(
            "{hosts} + {} more...",
            object.count("spec.rules").saturating_sub(SHOWN)
        ),
        hosts => hosts,
    }
}

pub(super) fn ingress_class(object: &Object<'_>) -> Vec<Value> {
    let default = object.member(
        "metadata.annotations",
        "ingressclass.kubernetes.io/is-default-class",
    );
    let default = default.and_then(Value::as_str) == Some("true");
    let name = object.text("metadata.name");
    let name = if default {
        format!("{name} (default)")
    } else {
        name.to_owned()
    };
    let parameters = if object.has("spec.parameters") {
        let group = object
            .get("spec.parameters.apiGroup")
            .and_then(Value::as_str);
        let group = group.map(|group| format!(".{group}")).unwrap_or_default();
        format!(
            "{}{group}/{}",
            object.text("spec.parameters.kind"),
            object.text("spec.parameters.name")
        )
    } else {
        "<none>".to_owned()
    };

    vec![
        name.into(),
        object.text("spec.controller").into(),
        parameters.into(),
    ]
}

pub(super) fn ip_address(object: &Object<'_>) -> Value {
    if !object.has("spec.parentRef") {
        return "<none>".into();
    }
    let part = |name: &str| object.text(&format!("spec.parentRef.{name}"));
    let resource = match part("group") {
        "" => part("resource").to_lowercase(),
        group => format!("{}.{group}", part("resource")).to_lowercase(),
    };

    match part("namespace") {
        "" => format!("{resource}/{}", part("name")).into(),
        namespace => format!("{resource}/{namespace}/{}", part("name")).into(),
    }
}

pub(super) fn policy(object: &Object<'_>) -> Value {
    selector(object, "spec.podSelector").into()
}

pub(super) fn service_cidr(object: &Object<'_>) -> Value {
    object.texts("spec.cidrs").join(",").into()
}
