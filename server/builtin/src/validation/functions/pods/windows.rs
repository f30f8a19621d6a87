//! What Pods say about Windows.

use fieldmanager_structural::FieldError;
use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_value::Value;

use super::containers_of;
use crate::place::{Errors, Place};

const MOST_SPEC_BYTES: usize = 64 * 1024;
const MOST_DOMAIN_BYTES: usize = 256;
const MOST_USER_BYTES: usize = 104;

/// The characters that the name of a user cannot have, and those that a domain of NetBIOS cannot have.
const NOT_IN_USERS: &str = r#""/\:;|=,+*?<>@[]"#;
const NOT_IN_DOMAINS: &str = r#"\/:*?"<>|"#;

/// Behaviour: `validateWindowsSecurityContextOptions` of `k8s.io/kubernetes/pkg/apis/core/validation`.
pub(super) fn options(context: &Place<'_>, errors: &mut Errors) {
    let Some(options) = context.child("windowsOptions") else {
        return;
    };
    if options.get("gmsaCredentialSpecName").is_some() {
        let is_name = |text: &str| NameSyntax::Subdomain.faults(text, false);
        options.faults("gmsaCredentialSpecName", is_name, errors);
    }

    let text = |name: &str| options.get(name).and_then(Value::as_str);
    match text("gmsaCredentialSpec").map(str::len) {
        Some(0) => {
            let detail = "gmsaCredentialSpec cannot be an empty string";
            options.invalid("gmsaCredentialSpec", detail, errors);
        }
        Some(length) if length > MOST_SPEC_BYTES => {
            let detail = "gmsaCredentialSpec size must be under 64 KiB";
            options.invalid("gmsaCredentialSpec", detail, errors);
        }
        _ => {}
    }
    for detail in text("runAsUserName").map(user_faults).unwrap_or_default() {
        options.invalid("runAsUserName", &detail, errors);
    }
}

/// The faults of a user, as `DOMAIN\USER` or `USER`.
fn user_faults(name: &str) -> Vec<String> {
    let fault = |text: &str| vec![format!("runAsUserName {text}")];
    if name.is_empty() {
        return fault("cannot be an empty string");
    }
    if name.contains(|c: char| c.is_ascii_control()) {
        return fault("cannot contain control characters");
    }
    if name.matches('\\').count() > 1 {
        return fault("cannot contain more than one backslash");
    }

    let (domain, user) = match name.split_once('\\') {
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    // From here on, one name can have several faults.
    let mut faults = Vec::new();
    let mut add = |holds: bool, text: String| {
        if holds {
            faults.push(format!("runAsUserName's {text}"));
        }
    };
    let is_long = domain.is_some_and(|domain| domain.len() >= MOST_DOMAIN_BYTES);
    add(
        is_long,
        format!("Domain length must be under {MOST_DOMAIN_BYTES} characters"),
    );
    let is_domain = domain.is_none_or(|domain| is_netbios(domain) || is_dns(domain));
    add(
        !is_domain,
        "Domain doesn't match the NetBios nor the DNS format".to_owned(),
    );

    add(user.is_empty(), "User cannot be empty".to_owned());
    add(
        user.len() > MOST_USER_BYTES,
        format!("User length must not be longer than {MOST_USER_BYTES} characters"),
    );
    let is_blank = !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' '));
    add(
        is_blank,
        "User cannot contain only periods or spaces".to_owned(),
    );
    add(
        user.contains(|c| NOT_IN_USERS.contains(c)),
        r#"User cannot contain the following characters: "/\:;|=,+*?<>@[]"#.to_owned(),
    );
    faults
}

fn is_netbios(domain: &str) -> bool {
    !domain.starts_with('.')
        && (1..=15).contains(&domain.chars().count())
        && !domain.contains(|c| NOT_IN_DOMAINS.contains(c))
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

/// All containers are processes of the host, or none is. A container has what its Pod says, unless it says something itself.
///
/// Behaviour: `validateWindowsHostProcessPod` of the same package.
pub(super) fn host_processes(spec: &Place<'_>, errors: &mut Errors) {
    let of_pod = says(spec);
    let (mut all, mut of_host) = (0, 0);
    for container in containers_of(spec) {
        all += 1;
        let own = says(&container);
        of_host += usize::from(own.or(of_pod) == Some(true));
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let path = container.at("securityContext").child("windowsOptions");
            let detail = format!(
                "pod hostProcess value must be identical if both are specified, was {of_pod}"
            );
            errors.push(FieldError::invalid(path.child("hostProcess"), own, detail));
        }
    }

    if of_host == 0 {
        return;
    }
    if of_host != all {
        let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid(spec.path.clone(), "", detail));
    }
    if !spec.flag("hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(spec.at("hostNetwork"), false, detail));
    }
}

/// What a Pod of Windows cannot say in its security context, in its spec, and in the contexts of its containers.
const NOT_IN_PODS: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
const NOT_IN_SPECS: [&str; 4] = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"];
const NOT_IN_CONTAINERS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// Checks that a Pod with a system says nothing about the other one.
///
/// Behaviour: `validateLinux` and `validateWindows` of the same package.
pub(super) fn of_system(spec: &Place<'_>, system: &str, errors: &mut Errors) {
    let is_windows = system == "windows";
    let (detail, of_pod, of_spec, of_containers): (_, &[&str], &[&str], &[&str]) = if is_windows {
        let detail = "cannot be set for a windows pod";
        (detail, &NOT_IN_PODS, &NOT_IN_SPECS, &NOT_IN_CONTAINERS)
    } else {
        let (detail, own) = (
            "windows options cannot be set for a linux pod",
            &["windowsOptions"],
        );
        (detail, own, &[], own)
    };
    let forbid = |of: &Place<'_>, names: &[&str], errors: &mut Errors| {
        for name in names {
            // A namespace of the host that is not used counts as absent.
            let is_unset = matches!(*name, "hostPID" | "hostIPC") && !of.flag(name);
            of.forbid_if(of.get(name).is_some() && !is_unset, name, detail, errors);
        }
    };

    if let Some(context) = spec.child("securityContext") {
        forbid(&context, of_pod, errors);
    }
    forbid(spec, of_spec, errors);
    for context in containers_of(spec).filter_map(|one| one.child("securityContext")) {
        forbid(&context, of_containers, errors);
    }
}

/// Whether a Pod or a container says that it is a process of the host; `None` if it says nothing.
fn says(place: &Place<'_>) -> Option<bool> {
    let options = place.child("securityContext")?.child("windowsOptions")?;
    options.get("hostProcess").and_then(Value::as_bool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_windows_have_the_faults_of_kubernetes() {
        let faults = |name: &str| user_faults(name).join("; ");
        for valid in [
            "Container Admin",
            r"CORP\user",
            r"corp.example.com\user-1",
            "a.b",
        ] {
            assert_eq!(faults(valid), "", "{valid}");
        }
        for (name, expected) in [
            ("", "runAsUserName cannot be an empty string"),
            ("a\tb", "runAsUserName cannot contain control characters"),
            (
                r"a\b\c",
                "runAsUserName cannot contain more than one backslash",
            ),
            (
                r".a:\b",
                "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
            ),
            (r"a\", "runAsUserName's User cannot be empty"),
            (
                "..",
                "runAsUserName's User cannot contain only periods or spaces",
            ),
            (
                "a@b",
                r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#,
            ),
        ] {
            assert_eq!(faults(name), expected, "{name}");
        }
        let long = format!(r"{}\{}", "d".repeat(256), "u".repeat(105));
        assert_eq!(user_faults(&long).len(), 3);
    }
}
