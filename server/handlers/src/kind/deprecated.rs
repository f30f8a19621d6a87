//! The warning of requests to a deprecated version.

use std::cmp::Ordering;

use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::internal::compare_versions;

/// The warning of requests to a version of a custom resource; `None` if it is not deprecated.
///
/// Behaviour: `newCustomResourceDefinitionHandler` in `k8s.io/apiextensions-apiserver/pkg/apiserver`.
pub(crate) fn warning(definition: &CustomResource, version: &str) -> Option<String> {
    let declared = definition
        .versions
        .iter()
        .find(|declared| declared.name == version)?;
    if !declared.deprecated {
        return None;
    }
    if let Some(text) = &declared.deprecation_warning {
        return Some(text.to_string());
    }

    let (group, kind) = (&definition.group, &definition.names.kind);
    let others = definition
        .versions
        .iter()
        .filter(|other| other.served && !other.deprecated);
    let newer = others
        .map(|other| other.name.as_str())
        .filter(|other| compare_versions(version, other) == Ordering::Less);

    Some(
        match newer.max_by(|left, right| compare_versions(left, right)) {
            Some(newest) => {
                format!("{group}/{version} {kind} is deprecated; use {group}/{newest} {kind}")
            }
            None => format!("{group}/{version} {kind} is deprecated"),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_warning_names_the_newest_version_that_is_not_deprecated() {
        let versions = "[{name: v1beta1, served: true, storage: false, deprecated: true}, {name: v1, served: true, storage: true}]";
        let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions)).unwrap();
        let expected = "example.com/v1beta1 Shop is deprecated; use example.com/v1 Shop";
        assert_eq!(warning(&shop, "v1beta1").as_deref(), Some(expected));
        assert_eq!(warning(&shop, "v1"), None);
    }
}
