//! The names of resources without a prefix.

/// What pods compute with.
pub(super) const COMPUTE: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];

pub(super) const EPHEMERAL: [&str; 3] = [
    "ephemeral-storage",
    "requests.ephemeral-storage",
    "limits.ephemeral-storage",
];

/// The sizes of claims.
pub(super) const STORAGE: [&str; 2] = ["storage", "requests.storage"];

/// The objects that quotas count.
pub(super) const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

/// Whether the name is one of these.
pub(super) fn is_standard(name: &str) -> bool {
    [&COMPUTE[..], &EPHEMERAL, &STORAGE, &COUNTED]
        .iter()
        .any(|names| names.contains(&name))
}
