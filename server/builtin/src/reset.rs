//! The fields that registries reset.

use std::collections::BTreeMap;

use fieldmanager_fieldpath::{ApiVersion, Filter, Path, Set};

use crate::Kind;

impl Kind {
    /// What remains of the fields of a request to the resource, or to a subresource such as `status`, by version: the
    /// fields that the registry resets are never owned. `subresource` is empty for the resource itself.
    ///
    /// kube-apiserver 1.37 resets nothing for `pods/ephemeralcontainers` and `pods/resize`: their strategies have
    /// filters, which the storages do not pass on.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_fieldpath::{ApiVersion, Filter, Set};
    /// use fieldmanager_structural::GroupVersionKind;
    ///
    /// let deployment = Kind::of(&GroupVersionKind::new("apps", "v1", "Deployment")).unwrap();
    /// let status = Filter::Exclude(Set::from_json(br#"{"f:status":{}}"#)?);
    /// assert_eq!(deployment.reset_fields("").get(&ApiVersion::from("apps/v1")), Some(&status));
    /// # Ok::<(), fieldmanager_fieldpath::Error>(())
    /// ```
    pub fn reset_fields(&self, subresource: &str) -> BTreeMap<ApiVersion, Filter> {
        let reset = self
            .resource()
            .and_then(|resource| resource.reset(subresource));
        let filter = |paths: &Vec<String>| {
            let mut set = Set::default();
            for path in paths.iter().filter_map(|path| path.parse::<Path>().ok()) {
                set.insert(&path);
            }
            Filter::Exclude(set)
        };
        let entries = reset.into_iter().flatten();

        entries
            .map(|(version, paths)| (ApiVersion::from(version.as_str()), filter(paths)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use fieldmanager_structural::GroupVersionKind;

    use super::*;

    fn reset(group: &str, kind: &str, subresource: &str) -> Vec<(String, String)> {
        let kind = Kind::of(&GroupVersionKind::new(group, "v1", kind)).unwrap();
        let filters = kind.reset_fields(subresource).into_iter();
        let set = |filter| match filter {
            Filter::Exclude(set) => set.to_string(),
            Filter::Include(_) => panic!("no kind has one"),
        };
        filters
            .map(|(version, filter)| (version.to_string(), set(filter)))
            .collect()
    }

    #[test]
    fn status_is_reset_by_requests_to_the_object_and_spec_by_those_to_the_status() {
        let one = |paths: &str| vec![("v1".to_owned(), paths.to_owned())];
        assert_eq!(reset("", "Pod", ""), one(".status"));
        let paths = [
            ".spec",
            ".metadata.deletionTimestamp",
            ".metadata.ownerReferences",
        ]
        .join("\n");
        assert_eq!(reset("", "Pod", "status"), one(&paths));
        assert_eq!(reset("", "Pod", "ephemeralcontainers"), []);
        assert_eq!(reset("", "ConfigMap", ""), []);
        assert_eq!(reset("", "ConfigMap", "unknown"), []);
    }

    #[test]
    fn every_version_of_a_kind_is_reset() {
        let kind = Kind::of(&GroupVersionKind::new(
            "autoscaling",
            "v1",
            "HorizontalPodAutoscaler",
        ))
        .unwrap();
        let versions: Vec<_> = kind
            .reset_fields("")
            .into_keys()
            .map(|version| version.to_string())
            .collect();
        assert_eq!(versions, ["autoscaling/v1", "autoscaling/v2"]);
    }

    #[test]
    fn every_path_of_the_table_is_read() {
        for kind in Kind::all() {
            let Some(resource) = kind.resource() else {
                continue;
            };
            let subresources = resource.subresources.iter().map(|found| &found.reset);
            for path in subresources
                .chain([&resource.reset])
                .flat_map(|reset| reset.values().flatten())
            {
                assert!(path.parse::<Path>().is_ok(), "{path}");
            }
        }
    }
}
