//! Warnings about pods and templates of pods.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldPath;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::paths;
use super::ports::ports;
use super::profiles::Profiles;
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
        template(&Place::new(&FieldPath::default(), pod), &mut out);
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
    let metadata = template.child("metadata");
    let annotations = metadata
        .as_ref()
        .and_then(|metadata| metadata.child("annotations"));

    // The warnings are in the order of kube-apiserver.
    nodes(&spec, out);
    spread_constraints(&spec, out);
    if let Some(annotations) = &annotations {
        let replaced = ANNOTATIONS.iter();
        for (key, detail) in replaced.filter(|(key, _)| annotations.get(key).is_some()) {
            out.push(format!("{}: {detail}", annotations.path.key(*key)));
        }
    }
    volumes(&spec, out);

    paths::overlapping(&spec, out);
    duplicates(&spec, out);
    if let Some(overhead) = spec.child("overhead") {
        fractions(&overhead, out);
    }

    // A pod itself has its metadata at the root and no warning about annotations of AppArmor; templates have it
    // elsewhere.
    let profiles = annotations.as_ref().map(|annotations| Profiles {
        spec: &spec,
        annotations,
        is_template: metadata
            .as_ref()
            .is_some_and(|metadata| metadata.path != FieldPath::root("metadata")),
    });
    if let Some(profiles) = &profiles {
        profiles.of_pod(out);
    }
    for container in containers_of(&spec) {
        if let Some(profiles) = &profiles {
            profiles.of_container(&container, out);
        }
        if let Some(resources) = container.child("resources") {
            container_resources(&resources, out);
        }
        variables(&container, out);
    }

    ports(&spec, out);
    grace_period(&spec, out);
    affinity(&spec, out);
    addresses(&spec, out);
}

fn spread_constraints(spec: &Place<'_>, out: &mut Vec<String>) {
    for constraint in spec.items("topologySpreadConstraints") {
        let key = constraint.text("topologyKey");
        if let Some(detail) = node_label(key) {
            out.push(format!(
                "{}: {key} is {detail}",
                constraint.at("topologyKey")
            ));
        }
        if constraint.get("labelSelector").is_none() {
            out.push(format!("{}: {NO_SELECTOR}", constraint.at("labelSelector")));
        }
    }
}

fn volumes(spec: &Place<'_>, out: &mut Vec<String>) {
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
}

/// Memory and storage have no smaller unit than a byte.
fn container_resources(resources: &Place<'_>, out: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        for list in ["limits", "requests"] {
            if let Some(list) = resources.child(list) {
                fraction(&list, name, out);
            }
        }
    }
}

/// Preparing the pod makes a negative period one second, so it is not a fault.
fn grace_period(spec: &Place<'_>, out: &mut Vec<String>) {
    const NAME: &str = "terminationGracePeriodSeconds";
    if spec.int(NAME).is_some_and(|seconds| seconds < 0) {
        let detail = "must be >= 0; negative values are invalid and will be treated as 1";
        out.push(format!("{}: {detail}", spec.at(NAME)));
    }
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
