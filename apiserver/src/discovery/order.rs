//! The order of custom resources in discovery documents.

use std::cmp::Ordering;

use fieldmanager_structural::internal::compare_versions;

use crate::facts::ServedResource;

/// By group, then by version, the preferred one first, then by plural.
pub(super) fn custom_resources(a: &ServedResource, b: &ServedResource) -> Ordering {
    a.group.cmp(&b.group).then_with(|| versions(&a.version, &b.version)).then_with(|| a.plural.cmp(&b.plural))
}

/// The order of versions, the preferred one first: stable versions before beta and alpha, greater numbers before
/// smaller ones, and names of any other form last and by name.
pub(super) fn versions(a: &str, b: &str) -> Ordering {
    compare_versions(b, a)
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
