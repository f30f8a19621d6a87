//! The checks of the standards: each is a function that says what is forbidden in a Pod.
//!
//! Behaviour: `k8s.io/pod-security-admission/policy`.

use std::collections::BTreeSet;

use fieldmanager_value::Value;
use fieldmanager_value::internal::go_format::quote;

use super::pod::{Pod, Setters, context, get, items, named, plural, quote_all, text};
use crate::request::field;

/// What is forbidden, and its details.
pub(super) type Finding = Option<(&'static str, String)>;

/// The capabilities that the baseline allows to be added.
const CAPABILITIES: &str = "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD \
    NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT";
/// The types of SELinux that are allowed from a minor version on.
const SE_LINUX_TYPES: &[(i64, &str)] = &[
    (0, "container_t container_init_t container_kvm_t"),
    (31, "container_engine_t"),
];
/// The kernel parameters that are allowed from a minor version on.
const SYSCTLS: &[(i64, &str)] = &[
    (0, "kernel.shm_rmid_forced net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.tcp_syncookies net.ipv4.ping_group_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (32, "net.ipv4.tcp_rmem net.ipv4.tcp_wmem"),
    (37, "net.ipv4.tcp_slow_start_after_idle"),
    (37, "net.ipv4.tcp_notsent_lowat"),
];
/// The volumes that the restricted standard allows.
const VOLUMES: &str =
    "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret";
/// The others, in the order in which they are looked for.
const RESTRICTED_VOLUMES: &str = "hostPath gcePersistentDisk awsElasticBlockStore gitRepo nfs \
    iscsi glusterfs rbd flexVolume cinder cephfs flocker fc azureFile vsphereVolume quobyte \
    azureDisk photonPersistentDisk portworxVolume scaleIO storageos";
/// The profiles of seccomp and AppArmor that are allowed.
const PROFILES: [&str; 2] = ["RuntimeDefault", "Localhost"];

/// Whether a list of words has a word.
fn contains(words: &str, word: &str) -> bool {
    words.split(' ').any(|other| other == word)
}

/// Whether a word is in a table by a minor version.
fn is_allowed(table: &[(i64, &str)], word: &str, minor: i64) -> bool {
    let known = table.iter().filter(|(since, _)| *since <= minor);
    known.into_iter().any(|(_, words)| contains(words, word))
}

/// Whether a field is `true`.
fn is_true(value: &Value, path: &[&str]) -> bool {
    field(Some(value), path).as_bool() == Some(true)
}

/// The finding of containers that must do something; `None` if there are none.
fn blame(reason: &'static str, names: &[&str], what: &str) -> Finding {
    (!names.is_empty()).then(|| (reason, format!("{} {what}", named("container", names))))
}

/// The finding of those who set a value; `None` if nobody does.
fn forbid(reason: &'static str, setters: &Setters<'_>, what: &str) -> Finding {
    Some((reason, format!("{} {what}", setters.describe()?)))
}

/// `containers "a", "b" use hostPorts 80, 443`.
fn describe_use(owners: &str, names: &[&str], noun: &str, values: &[String]) -> String {
    let verb = if names.len() == 1 { "uses" } else { "use" };
    let (owners, nouns) = (named(owners, names), plural(noun, values.len()));
    format!("{owners} {verb} {nouns} {}", values.join(", "))
}

/// Profiles of AppArmor, in fields and annotations.
pub(super) fn app_armor(pod: &Pod<'_>) -> Finding {
    let found = pod.profile_setters("appArmorProfile", &PROFILES);
    let annotations = get(pod.metadata, "annotations").as_map();
    let forbidden: BTreeSet<String> = annotations
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with("container.apparmor.security.beta.kubernetes.io/"))
        .filter_map(|(key, value)| Some((key, value.as_str()?)))
        // An empty annotation is as good as none.
        .filter(|(_, value)| {
            !matches!(*value, "" | "runtime/default") && !value.starts_with("localhost/")
        })
        .map(|(key, value)| format!("{key}={}", quote(value)))
        .collect();

    let notes = (!forbidden.is_empty()).then(|| plural("annotation", forbidden.len()));
    let who: Vec<String> = found.describe().into_iter().chain(notes).collect();
    let mut values = found.values();
    values.extend(forbidden.iter().map(String::as_str));
    let reason = match values.len() {
        1 => "forbidden AppArmor profile",
        _ => "forbidden AppArmor profiles",
    };
    let (who, values) = (who.join(" and "), quote_all(&values));
    let detail = format!("{who} must not set AppArmor profile type to {values}");
    (!who.is_empty()).then_some((reason, detail))
}

/// Capabilities beyond those that containers have by themselves.
pub(super) fn capabilities_baseline(pod: &Pod<'_>) -> Finding {
    added_capabilities(pod, "non-default capabilities", CAPABILITIES)
}

/// The capabilities that are added, and not allowed.
fn added_capabilities(pod: &Pod<'_>, reason: &'static str, allowed: &str) -> Finding {
    let found = pod.setters(|context, values| {
        let added = items(get(context, "capabilities"), "add").filter_map(Value::as_str);
        let bad: Vec<_> = added.filter(|name| !contains(allowed, name)).collect();
        values.extend(bad.iter().copied());
        !bad.is_empty()
    });
    let names = quote_all(&found.values());
    let what = format!("must not include {names} in securityContext.capabilities.add");
    forbid(reason, &found, &what)
}

/// All capabilities are dropped, and but one is added again.
pub(super) fn capabilities_restricted(pod: &Pod<'_>) -> Finding {
    const REASON: &str = "unrestricted capabilities";
    let missing = pod.names(|container| {
        let mut dropped = items(get(context(container), "capabilities"), "drop");
        !dropped.any(|name| name.as_str() == Some("ALL"))
    });
    let what = r#"must set securityContext.capabilities.drop=["ALL"]"#;
    let missing = blame(REASON, &missing, what);
    let added = added_capabilities(pod, REASON, "NET_BIND_SERVICE");
    let details: Vec<String> = missing
        .into_iter()
        .chain(added)
        .map(|found| found.1)
        .collect();
    (!details.is_empty()).then(|| (REASON, details.join("; ")))
}

/// Namespaces of the host.
pub(super) fn host_namespaces(pod: &Pod<'_>) -> Finding {
    let mut used = vec!["hostNetwork", "hostPID", "hostIPC"];
    used.retain(|name| is_true(pod.spec, &[name]));
    let used: Vec<String> = used.iter().map(|name| format!("{name}=true")).collect();
    (!used.is_empty()).then(|| ("host namespaces", used.join(", ")))
}

/// Volumes that are folders of the host.
pub(super) fn host_paths(pod: &Pod<'_>) -> Finding {
    let volumes = items(pod.spec, "volumes");
    let used = volumes.filter(|volume| !get(volume, "hostPath").is_null());
    let names: Vec<&str> = used.map(|volume| text(volume, "name")).collect();
    (!names.is_empty()).then(|| ("hostPath volumes", named("volume", &names)))
}

/// Ports of the host.
pub(super) fn host_ports(pod: &Pod<'_>) -> Finding {
    let ports = |container| {
        let ports = items(container, "ports").filter_map(|port| port.get("hostPort")?.as_i64());
        ports.filter(|port| *port != 0).map(|port| port.to_string())
    };
    let names = pod.names(|container| ports(container).next().is_some());
    let used: BTreeSet<String> = pod.containers().flat_map(ports).collect();
    let detail = describe_use("container", &names, "hostPort", &Vec::from_iter(used));
    (!names.is_empty()).then_some(("hostPort", detail))
}

/// Probes and handlers that speak to another host.
pub(super) fn probe_hosts(pod: &Pod<'_>) -> Finding {
    const REASON: &str = "probe or lifecycle host";
    const HANDLERS: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    let hosts = |container| {
        let handlers = HANDLERS
            .iter()
            .map(move |path| field(Some(container), path));
        let hosts = handlers.flat_map(|handler| {
            ["httpGet", "tcpSocket"].map(|action| text(get(handler, action), "host"))
        });
        hosts.filter(|host| !host.is_empty())
    };
    let used: BTreeSet<&str> = pod.containers().flat_map(hosts).collect();
    let names = pod.names(|container| hosts(container).next().is_some());
    let names: Vec<&str> = BTreeSet::from_iter(names).into_iter().collect();

    let used: Vec<String> = used.iter().map(|host| format!("\"{host}\"")).collect();
    let detail = describe_use("container", &names, REASON, &used);
    (!names.is_empty()).then_some((REASON, detail))
}

/// Privileged containers.
pub(super) fn privileged(pod: &Pod<'_>) -> Finding {
    let names = pod.names(|container| is_true(context(container), &["privileged"]));
    let what = "must not set securityContext.privileged=true";
    blame("privileged", &names, what)
}

/// A `/proc` without masks.
pub(super) fn proc_mount(pod: &Pod<'_>) -> Finding {
    let found = pod.setters(|context, values| {
        let set = get(context, "procMount").as_str();
        let bad = set.filter(|value| *value != "Default");
        values.extend(bad);
        bad.is_some()
    });
    let what = "must not set securityContext.procMount to";
    forbid(
        "procMount",
        &found,
        &format!("{what} {}", quote_all(&found.values())),
    )
}

/// Types, users and roles of SELinux.
pub(super) fn se_linux(pod: &Pod<'_>) -> Finding {
    let (mut has_user, mut has_role) = (false, false);
    let found = pod.setters(|context, types| {
        let options = get(context, "seLinuxOptions");
        let [kind, user, role] = ["type", "user", "role"].map(|name| text(options, name));
        let is_bad = !kind.is_empty() && !is_allowed(SE_LINUX_TYPES, kind, pod.minor);
        if is_bad {
            types.insert(kind);
        }
        has_user |= !user.is_empty();
        has_role |= !role.is_empty();
        is_bad || !user.is_empty() || !role.is_empty()
    });

    let types = found.values();
    let parts = [
        (!types.is_empty()).then(|| named("type", &types)),
        has_user.then(|| "user may not be set".to_owned()),
        has_role.then(|| "role may not be set".to_owned()),
    ];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    let what = format!("set forbidden securityContext.seLinuxOptions: {parts}");
    forbid("seLinuxOptions", &found, &what)
}

/// Profiles of seccomp in annotations.
pub(super) fn seccomp_annotations(pod: &Pod<'_>) -> Finding {
    let annotations = get(pod.metadata, "annotations");
    let names = pod.names(|_| true).into_iter();
    let forbidden: BTreeSet<String> = names
        .map(|name| format!("container.seccomp.security.alpha.kubernetes.io/{name}"))
        .chain(["seccomp.security.alpha.kubernetes.io/pod".to_owned()])
        .filter_map(|key| {
            let value = annotations.get(&key)?.as_str()?;
            let is_good = matches!(value, "runtime/default" | "docker/default");
            let is_good = is_good || value.starts_with("localhost/");
            (!is_good).then(|| format!("{key}={}", quote(value)))
        })
        .collect();
    let nouns = plural("annotation", forbidden.len());
    let shown = Vec::from_iter(forbidden).join(", ");
    (!shown.is_empty()).then(|| ("seccompProfile", format!("forbidden {nouns} {shown}")))
}

/// Profiles of seccomp that are set.
pub(super) fn seccomp_baseline(pod: &Pod<'_>) -> Finding {
    let found = pod.profile_setters("seccompProfile", &PROFILES);
    let what = "must not set securityContext.seccompProfile.type to";
    forbid(
        "seccompProfile",
        &found,
        &format!("{what} {}", quote_all(&found.values())),
    )
}

/// Profiles of seccomp that are set or missing.
pub(super) fn seccomp_restricted(pod: &Pod<'_>) -> Finding {
    let what = r#"must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#;
    seccomp_baseline(pod).or_else(|| require(pod, "seccompProfile", "seccompProfile", what))
}

/// The finding of containers without a field, if the Pod does not have it either.
fn require(pod: &Pod<'_>, name: &str, reason: &'static str, what: &str) -> Finding {
    let (reason, detail) = blame(reason, &pod.without(name), what)?;
    Some((reason, format!("pod or {detail}")))
}

/// Kernel parameters.
pub(super) fn sysctls(pod: &Pod<'_>) -> Finding {
    let set = items(context(pod.spec), "sysctls").map(|sysctl| text(sysctl, "name"));
    let bad = set.filter(|name| !is_allowed(SYSCTLS, name, pod.minor));
    let bad: Vec<&str> = bad.collect();
    (!bad.is_empty()).then(|| ("forbidden sysctls", bad.join(", ")))
}

/// Windows containers that are processes of the host.
pub(super) fn host_process(pod: &Pod<'_>) -> Finding {
    let found = pod.setters(|context, _| is_true(context, &["windowsOptions", "hostProcess"]));
    let what = "must not set securityContext.windowsOptions.hostProcess=true";
    forbid("hostProcess", &found, what)
}

/// Privileges that may grow.
pub(super) fn privilege_escalation(pod: &Pod<'_>) -> Finding {
    let is_off = |context| get(context, "allowPrivilegeEscalation").as_bool();
    let names = pod.names(|container| is_off(context(container)) != Some(false));
    let what = "must set securityContext.allowPrivilegeEscalation=false";
    blame("allowPrivilegeEscalation != false", &names, what)
}

/// Volumes of other types than the common ones.
pub(super) fn volumes(pod: &Pod<'_>) -> Finding {
    const NOUN: &str = "restricted volume type";
    let find = |volume, kinds: &'static str| {
        let mut kinds = kinds.split(' ');
        kinds.find(|kind| !get(volume, kind).is_null())
    };
    let (mut names, mut kinds) = (Vec::new(), BTreeSet::new());
    for volume in items(pod.spec, "volumes").filter(|volume| find(volume, VOLUMES).is_none()) {
        names.push(text(volume, "name"));
        // A volume of a type that is newer than this list is restricted as well.
        kinds.insert(find(volume, RESTRICTED_VOLUMES).unwrap_or("unknown"));
    }

    let kinds: Vec<String> = kinds.iter().map(|kind| format!("\"{kind}\"")).collect();
    let detail = describe_use("volume", &names, NOUN, &kinds);
    (!names.is_empty()).then_some(("restricted volume types", detail))
}

/// Containers that may run as root.
pub(super) fn non_root(pod: &Pod<'_>) -> Finding {
    const REASON: &str = "runAsNonRoot != true";
    let found = pod.setters(|context, _| get(context, "runAsNonRoot").as_bool() == Some(false));
    let what = "must set securityContext.runAsNonRoot=true";
    forbid(
        REASON,
        &found,
        "must not set securityContext.runAsNonRoot=false",
    )
    .or_else(|| require(pod, "runAsNonRoot", REASON, what))
}

/// The user with the number 0.
pub(super) fn root_user(pod: &Pod<'_>) -> Finding {
    let found = pod.setters(|context, _| get(context, "runAsUser").as_i64() == Some(0));
    forbid("runAsUser=0", &found, "must not set runAsUser=0")
}
