//! The order of custom resources in discovery documents.

use std::cmp::Ordering;

use crate::facts::ServedResource;

/// By group, then by version, the preferred one first, then by plural.
pub(super) fn custom_resources(a: &ServedResource, b: &ServedResource) -> Ordering {
    a.group.cmp(&b.group).then_with(|| versions(&a.version, &b.version)).then_with(|| a.plural.cmp(&b.plural))
}

/// The order of versions, the preferred one first: stable versions before beta and alpha, greater numbers before
/// smaller ones, and names of any other form last and by name.
pub(super) fn versions(a: &str, b: &str) -> Ordering {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// How stable a version `v1`, `v1beta2`, `v1alpha3` is, and its numbers.
fn parts(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let number = |digits: &str| {
        let positive = digits.starts_with(|first: char| ('1'..='9').contains(&first));
        digits.parse().ok().filter(|_| positive)
    };
    for (stability, word) in [(1, "beta"), (0, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_precede_beta_and_alpha_and_other_names_are_last() {
        let mut names =
            ["foo1", "v1alpha1", "v10", "v2beta1", "v2", "v1beta10", "v1beta2", "bar", "v0", "v1"];
        names.sort_by(|a, b| versions(a, b));
        assert_eq!(
            names,
            ["v10", "v2", "v1", "v2beta1", "v1beta10", "v1beta2", "v1alpha1", "bar", "foo1", "v0"]
        );
    }
}
