//! Which checks a standard has.

use std::ops::Range;

use fieldmanager_value::Value;

use super::checks::{self, Finding};
use super::pod::{Pod, get, text};
use super::policy::{PodLevel, Standard};

/// The newest minor version that changed a check, and the one after it.
const NEWEST: i64 = 37;
const END: i64 = NEWEST + 1;
const ALL: Range<i64> = 0..END;
const NEVER: Range<i64> = 0..0;

/// The Pods that a check does not look at.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Except {
    None,
    /// Pods of Windows, from 1.25 on.
    Windows,
    /// Pods with a user namespace of their own, from 1.35 on.
    UserNamespace,
}

type CheckRow = (Range<i64>, Range<i64>, Except, fn(&Pod<'_>) -> Finding);

/// The checks in the order of their findings, each with the minor versions in which the baseline and the restricted standard
/// have it. A check of the restricted standard may take the place of one of the baseline.
const CHECKS: [CheckRow; 20] = [
    (ALL, ALL, Except::None, checks::app_armor),
    (ALL, 0..22, Except::None, checks::capabilities_baseline),
    (ALL, ALL, Except::None, checks::host_namespaces),
    (ALL, NEVER, Except::None, checks::host_paths),
    (ALL, ALL, Except::None, checks::host_ports),
    (34..END, 34..END, Except::None, checks::probe_hosts),
    (ALL, ALL, Except::None, checks::privileged),
    (ALL, 0..35, Except::UserNamespace, checks::proc_mount),
    (ALL, ALL, Except::None, checks::se_linux),
    (0..19, 0..19, Except::None, checks::seccomp_annotations),
    (19..END, NEVER, Except::None, checks::seccomp_baseline),
    (ALL, ALL, Except::None, checks::sysctls),
    (ALL, ALL, Except::None, checks::host_process),
    (NEVER, 8..END, Except::Windows, checks::privilege_escalation),
    (
        NEVER,
        22..END,
        Except::Windows,
        checks::capabilities_restricted,
    ),
    (NEVER, 35..END, Except::None, checks::proc_mount),
    (NEVER, ALL, Except::None, checks::volumes),
    (NEVER, ALL, Except::UserNamespace, checks::non_root),
    (NEVER, 23..END, Except::UserNamespace, checks::root_user),
    (NEVER, 19..END, Except::Windows, checks::seccomp_restricted),
];

/// What a standard forbids in a Pod or a template of one: reasons, each with details.
///
/// Behaviour: `EvaluatePod` of `k8s.io/pod-security-admission/policy/registry.go`.
pub(super) fn violations(standard: Standard, pod: &Value) -> Vec<(&'static str, String)> {
    // A version of the future has the checks of today, since nobody knows more.
    let minor = standard.minor.unwrap_or(NEWEST).min(NEWEST);
    let spec = get(pod, "spec");
    // Before 1.25 Pods could not say their system for sure, so the checks were for all of them.
    let is_windows = minor >= 25 && text(get(spec, "os"), "name") == "windows";
    let has_users = minor >= 35 && get(spec, "hostUsers").as_bool() == Some(false);
    let pod = Pod {
        metadata: get(pod, "metadata"),
        spec,
        minor,
    };

    let asked = CHECKS.iter().filter(|(baseline, restricted, except, _)| {
        let is_in = match standard.level {
            PodLevel::Privileged => false,
            PodLevel::Baseline => baseline.contains(&minor),
            PodLevel::Restricted => restricted.contains(&minor),
        };
        is_in
            && match except {
                Except::None => true,
                Except::Windows => !is_windows,
                Except::UserNamespace => !has_users,
            }
    });
    asked.filter_map(|(.., check)| check(&pod)).collect()
}

/// A standard, and the reasons why a Pod violates it with their details; `None` if it does not.
pub(super) fn describe(standard: Standard, pod: &Value) -> Option<String> {
    let found = violations(standard, pod);
    let texts = found.iter().map(|(reason, detail)| match detail.as_str() {
        "" => (*reason).to_owned(),
        detail => format!("{reason} ({detail})"),
    });
    let text = texts.collect::<Vec<_>>().join(", ");
    (!found.is_empty()).then(|| format!("PodSecurity \"{standard}\": {text}"))
}
