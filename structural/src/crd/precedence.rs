//! The precedence of the versions of a resource.

use std::cmp::Ordering;

/// Compares versions: `v2` is above `v1`, `v1` above `v1beta2`, and all of them are above names of another form, the first
/// of which in the alphabet is the highest.
pub fn compare_versions(left: &str, right: &str) -> Ordering {
    match (parts(left), parts(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (None, None) => right.cmp(left),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

/// The parts of a version such as `v1beta2` in the order in which they count: stability, and two numbers.
fn parts(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (major, rest) = rest.split_at_checked(end)?;
    let major = number(major)?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }

    let (stability, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        (Some(minor), _) => (1, minor),
        (_, Some(minor)) => (0, minor),
        _ => return None,
    };
    Some((stability, major, number(minor)?))
}

/// A positive number without a leading zero.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_are_above_beta_and_alpha() {
        let mut versions = [
            "v1",
            "foo1",
            "v10beta3",
            "v2",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo10",
            "v10",
            "v11beta2",
        ];
        versions.sort_by(|left, right| compare_versions(right, left));
        let expected = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
        ];
        assert_eq!(versions, expected);
    }
}
