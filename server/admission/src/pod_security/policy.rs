//! The labels of a namespace that say which standard its Pods meet.

use std::fmt;

use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::Value;

/// What labels and annotations of this plugin begin with.
pub(super) const PREFIX: &str = "pod-security.kubernetes.io/";

/// A standard; later ones are stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PodLevel {
    #[default]
    Privileged,
    Baseline,
    Restricted,
}

/// A standard as of a minor version of Kubernetes; `None` is the latest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: PodLevel,
    pub(super) minor: Option<i64>,
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            PodLevel::Privileged => "privileged",
            PodLevel::Baseline => "baseline",
            PodLevel::Restricted => "restricted",
        })?;
        match self.minor {
            None => f.write_str(":latest"),
            Some(minor) => write!(f, ":v1.{minor}"),
        }
    }
}

/// The standards of a namespace: which Pods are refused, which are noted in the log, and of which the client is warned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: Standard,
    pub(super) audit: Standard,
    pub(super) warn: Standard,
}

impl Policy {
    /// The policy that the labels of a namespace ask for, and their faults. A faulty level of `enforce` is the strictest one,
    /// and other faulty levels allow everything. A level of `enforce` is also one of `warn`, unless there is a label for that.
    ///
    /// Behaviour: `PolicyToEvaluate` of `k8s.io/pod-security-admission/api/helpers.go`.
    pub(super) fn read(labels: &Value) -> (Policy, Vec<FieldError>) {
        let mut policy = Policy::default();
        let mut faults = Vec::new();
        // Most namespaces have none of these labels, and the lookups were a fifth of the work of admission.
        let mut names = labels.as_map().into_iter().flatten();
        if !names.any(|(name, _)| name.starts_with(PREFIX)) {
            return (policy, faults);
        }

        // A faulty label must not open a namespace, so `enforce` falls back to the strictest level,
        // whereas faulty warnings must not flood the client.
        let mut parse = |mode: &str, standard: &mut Standard, otherwise| {
            if let Some((label, level)) = find_label(labels, mode) {
                standard.level = parse_level(level).unwrap_or_else(|| {
                    let text = "must be one of privileged, baseline, restricted";
                    faults.push(FieldError::invalid(label, level, text));
                    otherwise
                });
            }
            if let Some((label, version)) = find_label(labels, &format!("{mode}-version")) {
                standard.minor = parse_version(version).unwrap_or_else(|| {
                    let text = r#"must be "latest" or "v1.x""#;
                    faults.push(FieldError::invalid(label, version, text));
                    None
                });
            }
        };
        parse("enforce", &mut policy.enforce, PodLevel::Restricted);
        parse("audit", &mut policy.audit, PodLevel::Privileged);
        parse("warn", &mut policy.warn, PodLevel::Privileged);

        // Templates are never refused. Without this, their authors would not hear of the standard
        // before the Pods fail.
        let enforced = find_label(labels, "enforce").and_then(|(_, level)| parse_level(level));
        if let (Some(level @ (PodLevel::Baseline | PodLevel::Restricted)), None) =
            (enforced, find_label(labels, "warn"))
        {
            policy.warn.level = level;
            if find_label(labels, "warn-version").is_none() {
                policy.warn.minor = policy.enforce.minor;
            }
        }

        (policy, faults)
    }
}

/// The path of a label of this plugin, and its value.
fn find_label<'v>(labels: &'v Value, name: &str) -> Option<(FieldPath, &'v str)> {
    let key = format!("{PREFIX}{name}");
    let text = labels.get(&key)?.as_str()?;
    Some((FieldPath::root("metadata").child("labels").key(key), text))
}

/// The level of a label, if there is one of that name.
fn parse_level(text: &str) -> Option<PodLevel> {
    match text {
        "privileged" => Some(PodLevel::Privileged),
        "baseline" => Some(PodLevel::Baseline),
        "restricted" => Some(PodLevel::Restricted),
        _ => None,
    }
}

/// The minor version of `v1.x`, or `Some(None)` for the latest one.
fn parse_version(text: &str) -> Option<Option<i64>> {
    if text == "latest" {
        return Some(None);
    }

    let digits = text.strip_prefix("v1.")?;
    // `v1.01` would be a second name of `v1.1`.
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    is_plain.then(|| digits.parse().ok().map(Some))?
}
