//! Kinds on which kube-apiserver acts, and whose objects have no effect here.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::registry::Served;

const ADMISSION: &str = "admissionregistration.k8s.io";
const ACCESS: &str = "rbac.authorization.k8s.io";
const PRIORITIES: &str = "flowcontrol.apiserver.k8s.io";

/// The group, the kind, and what does not happen. docs/apiserver.md has the same table.
const INERT: [(&str, &str, &str); 20] = [
    ("", "LimitRange", "nothing is limited"),
    ("", "ResourceQuota", "nothing is limited"),
    (ADMISSION, "MutatingAdmissionPolicy", "no policy is evaluated"),
    (ADMISSION, "MutatingAdmissionPolicyBinding", "no policy is evaluated"),
    (ADMISSION, "MutatingWebhookConfiguration", "no webhook is called"),
    (ADMISSION, "ValidatingAdmissionPolicy", "no policy is evaluated"),
    (ADMISSION, "ValidatingAdmissionPolicyBinding", "no policy is evaluated"),
    (ADMISSION, "ValidatingWebhookConfiguration", "no webhook is called"),
    ("apiregistration.k8s.io", "APIService", "no request is sent to another server"),
    (PRIORITIES, "FlowSchema", "requests have no priority"),
    (PRIORITIES, "PriorityLevelConfiguration", "requests have no priority"),
    ("networking.k8s.io", "IngressClass", "no class is the default one"),
    ("networking.k8s.io", "ServiceCIDR", "Services get addresses of one fixed range"),
    ("node.k8s.io", "RuntimeClass", "Pods get no overhead and no node selector"),
    (ACCESS, "ClusterRole", "every request is allowed"),
    (ACCESS, "ClusterRoleBinding", "every request is allowed"),
    (ACCESS, "Role", "every request is allowed"),
    (ACCESS, "RoleBinding", "every request is allowed"),
    ("scheduling.k8s.io", "PriorityClass", "Pods get no priority"),
    ("storage.k8s.io", "StorageClass", "no class is the default one"),
];

/// The kinds of which the log says that they have no effect.
#[derive(Default)]
pub(crate) struct Inert([AtomicBool; INERT.len()]);

impl Inert {
    /// Warns in the log, once for each kind, that an object which a request created has no effect.
    pub(super) fn created(&self, served: &Served) {
        let facts = &served.facts;
        let entries = INERT.iter().zip(&self.0);
        let own = entries.filter(|_| served.is_builtin());
        let own = own.filter(|((group, kind, _), _)| facts.group == *group && facts.kind == *kind);
        for ((_, kind, effect), logged) in own {
            if !logged.swap(true, Ordering::Relaxed) {
                tracing::warn!("objects of the kind {kind} are stored and have no effect: {effect}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn kinds_without_an_effect_are_served_and_documented() {
        let registry = Registry::builtin(true);
        let page = include_str!("../../../docs/apiserver.md");
        for (group, kind, effect) in INERT {
            assert!(
                registry.stored().any(|served| served.facts.group == group && served.facts.kind == kind),
                "{group} {kind}"
            );
            let row =
                page.lines().find(|line| line.starts_with("| `") && line.contains(&format!("`{kind}`")));
            assert!(row.is_some_and(|row| row.ends_with(&format!("| {effect} |"))), "{kind}: {row:?}");
        }
    }
}
