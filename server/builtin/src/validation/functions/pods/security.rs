//! Security contexts.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldError;
use fieldmanager_value::Value;

use super::windows;
use crate::place::{Errors, Place};
use crate::shown;
use crate::validation::syntax;

const MOST: i64 = i32::MAX as i64;
const MOST_PATH_BYTES: usize = 4095;

pub(super) fn of_pod(context: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        context.in_range(name, 0, MOST, errors);
    }
    for group in context.items("supplementalGroups") {
        if let Some(number) = group
            .value
            .as_i64()
            .filter(|number| !(0..=MOST).contains(number))
        {
            let detail = format!("must be between 0 and {MOST}, inclusive");
            errors.push(FieldError::invalid(group.path, number, detail));
        }
    }

    sysctls(context, spec, errors);
    context.one_of("fsGroupChangePolicy", &["Always", "OnRootMismatch"], errors);
    seccomp(context, errors);
    windows::options(context, errors);
    app_armor(context, errors);
    context.one_of("supplementalGroupsPolicy", &["Merge", "Strict"], errors);
    context.one_of("seLinuxChangePolicy", &["MountOption", "Recursive"], errors);
}

pub(super) fn of_container(context: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    for name in ["runAsUser", "runAsGroup"] {
        context.in_range(name, 0, MOST, errors);
    }
    context.one_of("procMount", &["Default", "Unmasked"], errors);
    let shares_users = spec.get("hostUsers").is_none() || spec.flag("hostUsers");

    // An unmasked `/proc` is accepted only in a user namespace that the pod does not share with the host.
    if shares_users && context.text("procMount") == "Unmasked" {
        context.invalid(
            "procMount",
            "`hostUsers` must be false to use `Unmasked`",
            errors,
        );
    }

    seccomp(context, errors);
    // A privileged container and one with this capability escalate whatever the field says.
    let is_denied = context.get("allowPrivilegeEscalation").is_some()
        && !context.flag("allowPrivilegeEscalation");
    let mut deny = |detail: &str| {
        let shown = shown::json("SecurityContext", Some(context.value));
        errors.push(shown::invalid(context.path.clone(), &shown, detail));
    };
    if is_denied && context.flag("privileged") {
        deny("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }

    // Each entry with the capability has its own error, as in Kubernetes.
    if is_denied && let Some(capabilities) = context.child("capabilities") {
        for _ in capabilities
            .values("add")
            .filter(|added| added.as_str() == Some("CAP_SYS_ADMIN"))
        {
            deny(
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
            );
        }
    }
    windows::options(context, errors);
    app_armor(context, errors);
}

fn sysctls(context: &Place<'_>, spec: &Place<'_>, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for sysctl in context.items("sysctls") {
        let name = sysctl.text("name");
        if sysctl.require("name", "", errors) {
            if !is_sysctl(name) {
                let detail = "must have at most 253 characters and match regex \
                              ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
                sysctl.invalid("name", detail, errors);
            } else if names.contains(name) {
                errors.push(FieldError::duplicate(sysctl.at("name"), name));
            }
        }

        // Both separators name the same parameter, so the comparison uses one of them.
        let dotted = name.replace('/', ".");
        let is_of_processes = ["kernel.shm", "kernel.msg", "fs.mqueue."]
            .iter()
            .any(|start| dotted.starts_with(start))
            || dotted == "kernel.sem";

        // In a namespace of the host, these parameters would be set for the host itself.
        if spec.flag("hostNetwork") && dotted.starts_with("net.") {
            sysctl.invalid(
                "name",
                "may not be specified when 'hostNetwork' is true",
                errors,
            );
        } else if spec.flag("hostIPC") && is_of_processes {
            sysctl.invalid(
                "name",
                "may not be specified when 'hostIPC' is true",
                errors,
            );
        }
        names.insert(name);
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_outer = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_segment = |segment: &str| {
        let bytes = segment.as_bytes();
        matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if is_outer(*first) && is_outer(*last))
            && bytes
                .iter()
                .all(|letter| is_outer(*letter) || matches!(letter, b'-' | b'_'))
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_segment)
}

fn seccomp(context: &Place<'_>, errors: &mut Errors) {
    let Some(profile) = context.child("seccompProfile") else {
        return;
    };
    let accepted = &["Localhost", "RuntimeDefault", "Unconfined"];
    if profile.require(
        "type",
        "type is required when seccompProfile is set",
        errors,
    ) {
        profile.one_of("type", accepted, errors);
    }

    // A path names a profile on the node, which the other types do not use.
    let is_local = profile.text("type") == "Localhost";
    match (is_local, profile.get("localhostProfile")) {
        (true, None) => {
            let detail = "must be set when seccomp type is Localhost";
            profile.missing("localhostProfile", detail, errors);
        }
        (true, Some(_)) => profile.faults("localhostProfile", syntax::descending_path, errors),
        (false, Some(_)) => {
            let shown = shown::json("SeccompProfile", Some(profile.value));
            let detail = "can only be set when seccomp type is Localhost";
            errors.push(shown::invalid(
                profile.at("localhostProfile"),
                &shown,
                detail,
            ));
        }
        (false, None) => {}
    }
}

fn app_armor(context: &Place<'_>, errors: &mut Errors) {
    let Some(profile) = context.child("appArmorProfile") else {
        return;
    };
    if profile.require(
        "type",
        "type is required when appArmorProfile is set",
        errors,
    ) {
        profile.one_of(
            "type",
            &["Localhost", "RuntimeDefault", "Unconfined"],
            errors,
        );
    }

    // A path names a profile on the node, which the other types do not use.
    let local = profile.get("localhostProfile").and_then(Value::as_str);
    match (profile.text("type"), local) {
        ("Localhost", None | Some("")) => {
            let detail = "must be set when AppArmor type is Localhost";
            profile.missing("localhostProfile", detail, errors);
        }
        ("Localhost", Some(path)) => {
            if path.trim() != path {
                let detail = "must not be padded with whitespace";
                profile.invalid("localhostProfile", detail, errors);
            }
            if path.len() > MOST_PATH_BYTES {
                let path = profile.at("localhostProfile");
                errors.push(FieldError::too_long(path, MOST_PATH_BYTES));
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(_)) => {
            let detail = "can only be set when AppArmor type is Localhost";
            profile.invalid("localhostProfile", detail, errors);
        }
        _ => {}
    }
}
