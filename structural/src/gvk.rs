//! Group, version and kind.

use std::fmt;

use fieldmanager_value::Str;

/// The type of an object: the group and version of its `apiVersion`, and its `kind`.
///
/// `Display` uses the format of Kubernetes messages.
///
/// ```
/// use fieldmanager_structural::GroupVersionKind;
/// let deployment = GroupVersionKind::new("apps", "v1", "Deployment");
/// assert_eq!(deployment.to_string(), "apps/v1, Kind=Deployment");
/// assert_eq!(GroupVersionKind::new("", "v1", "Pod").to_string(), "/v1, Kind=Pod");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The group; empty for the core group.
    pub group: Str,
    /// The version in the group.
    pub version: Str,
    /// The kind.
    pub kind: Str,
}

impl GroupVersionKind {
    /// Creates a kind from its parts.
    pub fn new(group: impl Into<Str>, version: impl Into<Str>, kind: impl Into<Str>) -> Self {
        GroupVersionKind {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    /// Creates a kind from an `apiVersion`, which has no group and no slash for the core group, and a `kind`.
    ///
    /// ```
    /// use fieldmanager_structural::GroupVersionKind;
    /// let job = GroupVersionKind::from_api_version_kind("batch/v1", "Job");
    /// assert_eq!((job.group.as_str(), job.version.as_str()), ("batch", "v1"));
    /// assert!(GroupVersionKind::from_api_version_kind("v1", "Pod").group.is_empty());
    /// ```
    pub fn from_api_version_kind(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    /// The `apiVersion` of objects of the kind.
    ///
    /// ```
    /// use fieldmanager_structural::GroupVersionKind;
    /// assert_eq!(GroupVersionKind::new("apps", "v1", "Deployment").api_version(), "apps/v1");
    /// assert_eq!(GroupVersionKind::new("", "v1", "Pod").api_version(), "v1");
    /// ```
    pub fn api_version(&self) -> Str {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version).into()
        }
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}
