//! Warnings about pods and templates of pods.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::FieldPath;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::bounded::Bounded;
use super::paths;
use crate::amount::Amount;
use crate::place::{Place, quoted};
use crate::validation::functions::pods::containers_of;

const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

/// Labels of nodes that were replaced.
const NODE_LABELS: &[(&str, &str)] = &[
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
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
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
];

const ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// Sources of volumes that do not work any more.
const VOLUMES: &[(&str, &str)] = &[
    (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("ephemeral", ""),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// The warnings about a new pod. Updates of pods have none.
pub(crate) fn pod(pod: &Value, live: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    // Updates of pods are frequent and seldom made by people, so they have no warnings.
    if live.is_none() {
        out.extend(host_name(pod, "the Pod's hostname"));
        template(&Place::new(&FieldPath::empty(), pod), &mut out);
    }
    out
}

/// The warning about a name that is no label.
pub(super) fn host_name(object: &Value, used: &str) -> Option<String> {
    let name = object
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .and_then(Value::as_str);
    let faults = NameSyntax::Label.faults(name.unwrap_or_default(), false);
    (!faults.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            faults.join(" ")
        )
    })
}

/// Adds the warnings about the template of pods, or about a pod at the root.
pub(super) fn template(template: &Place<'_>, out: &mut Vec<String>) {
    let Some(spec) = template.child("spec") else {
        return;
    };
    // The warnings are in the order of kube-apiserver.
    let metadata = template.child("metadata");
    let annotations = metadata
        .as_ref()
        .and_then(|metadata| metadata.child("annotations"));
    nodes(&spec, out);

    for constraint in spec.items("topologySpreadConstraints") {
        if let Some(detail) = node_label(constraint.text("topologyKey")) {
            let key = constraint.text("topologyKey");
            out.push(format!(
                "{}: {key} is {detail}",
                constraint.at("topologyKey")
            ));
        }
        if constraint.get("labelSelector").is_none() {
            out.push(format!("{}: {NO_SELECTOR}", constraint.at("labelSelector")));
        }
    }

    if let Some(annotations) = &annotations {
        for (key, detail) in ANNOTATIONS
            .iter()
            .filter(|(key, _)| annotations.get(key).is_some())
        {
            out.push(format!("{}: {detail}", annotations.path.key(*key)));
        }
    }

    for volume in spec.items("volumes") {
        // Messages spell `storageOS` otherwise than JSON, and an ephemeral source has only the warnings of its claim.
        for (name, detail) in VOLUMES {
            let member = if *name == "storageOS" {
                "storageos"
            } else {
                name
            };

            match volume.child(member) {
                None => {}
                Some(source) if detail.is_empty() => {
                    if let Some(claim) = source.child("volumeClaimTemplate") {
                        claim_spec(claim.child("spec"), out);
                    }
                }
                Some(_) => out.push(format!("{}: {detail}", volume.at(name))),
            }
        }
    }

    paths::overlapping(&spec, out);
    duplicates(&spec, out);
    if let Some(overhead) = spec.child("overhead") {
        fractions(&overhead, out);
    }
    let has_profile = |place: &Place<'_>, name: &str| {
        place
            .child("securityContext")
            .is_some_and(|context| context.get(name).is_some())
    };

    // The annotation has no effect any more. With the field, it does not matter.
    if let Some(annotations) = &annotations {
        const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
        if annotations.get(SECCOMP).is_some() && !has_profile(&spec, "seccompProfile") {
            out.push(format!(
                "{}: {SECCOMP_FIELD}",
                annotations.path.key(SECCOMP)
            ));
        }
    }

    // A pod itself has its metadata at the root and no warning about annotations of AppArmor; templates have it
    // elsewhere.
    let is_template = metadata
        .as_ref()
        .is_some_and(|metadata| metadata.path != FieldPath::root("metadata"));
    for container in containers_of(&spec) {
        if let Some(annotations) = &annotations {
            let name = container.text("name");
            let seccomp = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
            if annotations.get(&seccomp).is_some() && !has_profile(&container, "seccompProfile") {
                out.push(format!(
                    "{}: {SECCOMP_FIELD}",
                    annotations.path.key(seccomp)
                ));
            }

            let profile = format!("container.apparmor.security.beta.kubernetes.io/{name}");
            let found = annotations.text(&profile);
            let is_set =
                annotations.get(&profile).is_some() && !has_profile(&container, "appArmorProfile");
            if is_template && is_set && !is_profile(&spec, found) {
                let detail = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
                out.push(format!("{}: {detail}", annotations.path.key(profile)));
            }
        }

        // Memory and storage have no smaller unit than a byte.
        if let Some(resources) = container.child("resources") {
            for name in ["memory", "ephemeral-storage"] {
                for list in ["limits", "requests"] {
                    if let Some(list) = resources.child(list) {
                        fraction(&list, name, out);
                    }
                }
            }
        }
        variables(&container, out);
    }

    ports(&spec, out);

    // Preparing the pod makes a negative period one second, so it is not a fault.
    if spec
        .int("terminationGracePeriodSeconds")
        .is_some_and(|seconds| seconds < 0)
    {
        let detail = "must be >= 0; negative values are invalid and will be treated as 1";
        out.push(format!(
            "{}: {detail}",
            spec.at("terminationGracePeriodSeconds")
        ));
    }
    affinity(&spec, out);
    addresses(&spec, out);
}

const SECCOMP_FIELD: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";

/// Whether an annotation and the field of a pod have the same profile.
fn is_profile(spec: &Place<'_>, annotation: &str) -> bool {
    let profile = spec
        .child("securityContext")
        .and_then(|context| context.child("appArmorProfile"));
    profile.is_some_and(|profile| match (profile.text("type"), annotation) {
        ("Unconfined", "unconfined") | ("RuntimeDefault", "runtime/default") => true,
        ("Localhost", annotation) => {
            let name = annotation.strip_prefix("localhost/");
            name.is_some_and(|name| !name.is_empty() && name == profile.text("localhostProfile"))
        }
        _ => false,
    })
}

fn node_label(key: &str) -> Option<&'static str> {
    NODE_LABELS
        .iter()
        .find(|(label, _)| *label == key)
        .map(|(_, detail)| *detail)
}

fn nodes(spec: &Place<'_>, out: &mut Vec<String>) {
    for (key, _) in spec.map("nodeSelector").into_iter().flatten() {
        if let Some(detail) = node_label(key) {
            out.push(format!(
                "{}: {detail}",
                spec.at("nodeSelector").key(key.clone())
            ));
        }
    }

    let affinity = spec
        .child("affinity")
        .and_then(|affinity| affinity.child("nodeAffinity"));
    let Some(affinity) = affinity else { return };

    // Values of required terms are validated, so only those of preferred terms need a warning.
    let mut term = |term: &Place<'_>, checks_values: bool| {
        for expression in term.items("matchExpressions") {
            let key = expression.text("key");
            if let Some(detail) = node_label(key) {
                out.push(format!("{}: {key} is {detail}", expression.at("key")));
            }
            for value in expression.items("values").filter(|_| checks_values) {
                let text = value.value.as_str().unwrap_or_default();
                let faults = fieldmanager_structural::internal::label_value(text);
                for fault in faults {
                    out.push(format!("{}: {text} is invalid, {fault}", value.path));
                }
            }
        }
    };

    if let Some(required) = affinity.child("requiredDuringSchedulingIgnoredDuringExecution") {
        required
            .items("nodeSelectorTerms")
            .for_each(|found| term(&found, false));
    }

    for preferred in affinity.items("preferredDuringSchedulingIgnoredDuringExecution") {
        if let Some(found) = preferred.child("preference") {
            term(&found, true);
        }
    }
}

/// Adds warnings about parts of bytes in the storage of a claim.
pub(super) fn claim_spec(claim: Option<Place<'_>>, out: &mut Vec<String>) {
    let Some(resources) = claim.and_then(|claim| claim.child("resources")) else {
        return;
    };
    for list in ["requests", "limits"] {
        if let Some(list) = resources.child(list) {
            fraction(&list, "storage", out);
        }
    }
}

fn duplicates(spec: &Place<'_>, out: &mut Vec<String>) {
    for (list, name) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let mut found = BTreeSet::new();
        for item in spec.items(list) {
            if !found.insert(item.text(name)) {
                out.push(format!(
                    "{}: duplicate {name} {}",
                    item.at(name),
                    quoted(&item, name)
                ));
            }
        }
    }

    for secret in spec
        .items("imagePullSecrets")
        .filter(|secret| secret.text("name").is_empty())
    {
        out.push(format!("{}: invalid empty name \"\"", secret.at("name")));
    }
}

fn fractions(list: &Place<'_>, out: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        fraction(list, name, out);
    }
}

/// Adds a warning about a number of bytes that is not whole.
fn fraction(list: &Place<'_>, name: &str, out: &mut Vec<String>) {
    let amount = list
        .get(name)
        .and_then(Value::as_str)
        .and_then(Amount::parse);
    if amount.is_some_and(|amount| !amount.is_whole()) {
        let path = list.path.key(name);
        out.push(format!(
            "{path}: fractional byte value {} is invalid, must be an integer",
            quoted(list, name)
        ));
    }
}

fn variables(container: &Place<'_>, out: &mut Vec<String>) {
    let mut names = BTreeSet::new();
    for variable in container.items("env") {
        let (name, value) = (variable.text("name"), variable.text("value"));
        if names.insert(name) {
            continue;
        }

        // A value that extends the one before hides nothing.
        let reference = format!("$({name})");
        if variable.get("valueFrom").is_some() || value == reference || !value.contains(&reference)
        {
            let detail = "which may be dropped when using apply";
            let name = quoted(&variable, "name");
            out.push(format!(
                "{}: hides previous definition of {name}, {detail}",
                variable.path
            ));
        }
    }
}

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

fn ports(spec: &Place<'_>, out: &mut Vec<String>) {
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

fn affinity(spec: &Place<'_>, out: &mut Vec<String>) {
    let Some(affinity) = spec.child("affinity") else {
        return;
    };
    for name in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = affinity.child(name) else {
            continue;
        };
        for term in pods.items("requiredDuringSchedulingIgnoredDuringExecution") {
            if term.get("labelSelector").is_none() {
                out.push(format!("{}: {NO_SELECTOR}", term.at("labelSelector")));
            }
        }

        for weighted in pods.items("preferredDuringSchedulingIgnoredDuringExecution") {
            let selector = weighted
                .get("podAffinityTerm")
                .and_then(|term| term.get("labelSelector"));
            if selector.is_none_or(Value::is_null) {
                let path = weighted.at("podAffinityTerm").child("labelSelector");
                out.push(format!("{path}: {NO_SELECTOR}"));
            }
        }
    }
}

fn addresses(spec: &Place<'_>, out: &mut Vec<String>) {
    if let Some(config) = spec.child("dnsConfig") {
        for server in config.items("nameservers") {
            out.extend(address(
                &server.path,
                server.value.as_str().unwrap_or_default(),
            ));
        }
    }

    for alias in spec.items("hostAliases") {
        out.extend(address(&alias.at("ip"), alias.text("ip")));
    }
}

/// The warning about an IPv6 address that is not in the canonical form.
pub(super) fn address(path: &FieldPath, text: &str) -> Option<String> {
    let address: std::net::Ipv6Addr = text.parse().ok()?;

    // A mapped address is to be written in its IPv4 form; other addresses only have another spelling.
    let (detail, canonical) = match address.to_ipv4_mapped() {
        Some(address) => ("non-standard IP address", address.to_string()),
        None if address.to_string() == text => return None,
        None => ("", address.to_string()),
    };
    Some(match detail {
        "" => {
            format!(
                "{path}: IPv6 address {} should be in RFC 5952 canonical format ({})",
                quote(text),
                quote(&canonical)
            )
        }
        _ => format!(
            "{path}: {detail} {} is invalid: use {}",
            quote(text),
            quote(&canonical)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::bounded::MAX_PAIRS;
    use super::*;

    fn warnings(spec: &str) -> Vec<String> {
        let template = Value::from_yaml(&format!("{{spec: {spec}}}")).unwrap();
        let mut out = Vec::new();
        super::template(
            &Place::new(&FieldPath::root("template"), &template),
            &mut out,
        );
        out
    }

    #[test]
    fn pods_have_the_warnings_of_kubernetes() {
        for (spec, expected) in [
            (
                "{topologySpreadConstraints: [{topologyKey: beta.kubernetes.io/os}]}",
                vec![
                    "topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/os is deprecated since v1.14; use \"kubernetes.io/os\" instead",
                    "topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
                ],
            ),
            (
                "{containers: [{ports: [{containerPort: 80, protocol: TCP, hostIP: 1.2.3.4}, {containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: TCP, name: a}]}]}",
                vec![
                    "containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}",
                    "containers[0].ports[1]: overlapping port definition with template.spec.containers[0].ports[0]",
                    "containers[0].ports[2]: overlapping port definition with template.spec.containers[0].ports[0]",
                    "containers[0].ports[2]: duplicate port definition with template.spec.containers[0].ports[1]",
                ],
            ),
            (
                "{containers: [{env: [{name: A, value: x}, {name: A, value: y}, {name: A, value: $(A)z}], resources: {limits: {memory: 1500m}}}]}",
                vec![
                    "containers[0].resources.limits[memory]: fractional byte value \"1500m\" is invalid, must be an integer",
                    "containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
                ],
            ),
            (
                "{hostAliases: [{ip: '::ffff:1.2.3.4'}, {ip: '2001:DB8::1'}]}",
                vec![
                    "hostAliases[0].ip: non-standard IP address \"::ffff:1.2.3.4\" is invalid: use \"1.2.3.4\"",
                    "hostAliases[1].ip: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")",
                ],
            ),
        ] {
            let expected: Vec<String> = expected
                .iter()
                .map(|text| format!("template.spec.{text}"))
                .collect();
            assert_eq!(warnings(spec), expected, "{spec}");
        }
    }

    #[test]
    fn files_of_a_volume_at_one_path_have_warnings() {
        assert_eq!(
            warnings(
                "{volumes: [{name: v, configMap: {name: c, items: [{path: a/}, {path: a/b}, {path: ab}]}}]}"
            ),
            ["volume \"v\" (ConfigMap \"c\"): overlapping paths: \"a/b\" with \"a\""]
        );
    }

    #[test]
    fn the_number_of_warnings_about_ports_is_bounded() {
        let ports = vec!["{containerPort: 1, protocol: TCP}"; 3000].join(", ");
        let found = warnings(&format!("{{containers: [{{ports: [{ports}]}}]}}"));
        assert_eq!(found.len(), MAX_PAIRS);
    }
}
