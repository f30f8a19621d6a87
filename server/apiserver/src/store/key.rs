//! Names of stored objects.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

/// The first segment of all keys.
const ROOT: &str = "/registry/";
/// The segment that represents the core group, whose name is empty. A CustomResourceDefinition cannot have this group:
/// its group needs a dot.
pub(crate) const CORE: &str = "core";

/// The name of a stored object: `/registry/GROUP/PLURAL/NAME` or `/registry/GROUP/PLURAL/NAMESPACE/NAME`.
///
/// Custom resources have the keys that kube-apiserver gives them in etcd. Keys are ordered as bytes, which is the order of
/// the items of a list. A clone does not copy the string.
///
/// ```
/// use fieldmanager_apiserver::store::Key;
/// let key = Key::new("apps", "deployments", Some("shop"), "cart")?;
/// assert_eq!(key.as_str(), "/registry/apps/deployments/shop/cart");
/// assert_eq!(key.parts().namespace, Some("shop"));
/// assert_eq!(Key::new("", "nodes", None, "a")?.as_str(), "/registry/core/nodes/a");
/// # Ok::<(), fieldmanager_apiserver::store::InvalidKey>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

/// The segments of a [`Key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyParts<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The plural name of the resource.
    pub plural: &'a str,
    /// The namespace; `None` for an object of cluster scope.
    pub namespace: Option<&'a str>,
    /// The name of the object.
    pub name: &'a str,
}

/// A segment or a path that cannot be a part of a [`Key`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// A segment is empty or contains a slash.
    #[error(
        "{0:?} cannot be a segment of a key: expected a string without \"/\" that is not empty"
    )]
    Segment(String),
    /// A path has another form than that of [`Key`].
    #[error(
        "{0:?} is not a key: expected /registry/GROUP/PLURAL/NAME or /registry/GROUP/PLURAL/NAMESPACE/NAME"
    )]
    Path(String),
}

impl Key {
    /// Returns the key of an object. The core group is the empty string.
    ///
    /// # Errors
    /// [`InvalidKey::Segment`] if a segment is empty or contains a slash, so that no name reaches an object of another
    /// resource or namespace.
    pub fn new(
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Self, InvalidKey> {
        let mut path = resource_path(group, plural)?;
        if let Some(namespace) = namespace {
            path.push_str(segment(namespace)?);
            path.push('/');
        }
        path.push_str(segment(name)?);
        Ok(Self(path.into()))
    }

    /// Returns the key as a path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The smallest key of a prefix that ends with a slash, or the key of one object. It is only compared.
    pub(super) fn first_of(prefix: &Prefix) -> Self {
        Self(Arc::clone(&prefix.0))
    }

    /// The paths of all prefixes that contain the key.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = &str> {
        let path = &*self.0;
        let slashes = path
            .match_indices('/')
            .map(|(at, _)| at + 1)
            .filter(|&end| end >= ROOT.len());
        slashes
            .chain([path.len()])
            .filter_map(|end| path.get(..end))
    }

    /// Splits the key into its segments.
    pub fn parts(&self) -> KeyParts<'_> {
        let mut segments = self.0.strip_prefix(ROOT).unwrap_or_default().split('/');
        let mut next = || segments.next().unwrap_or_default();
        let (group, plural, third) = (next(), next(), next());
        let group = if group == CORE { "" } else { group };
        match segments.next() {
            Some(name) => KeyParts {
                group,
                plural,
                namespace: Some(third),
                name,
            },
            None => KeyParts {
                group,
                plural,
                namespace: None,
                name: third,
            },
        }
    }
}

impl FromStr for Key {
    type Err = InvalidKey;

    /// Reads a key from its path, for stores that keep keys as strings.
    fn from_str(path: &str) -> Result<Self, InvalidKey> {
        let rest = path.strip_prefix(ROOT).unwrap_or_default();
        let segments = rest.split('/').count();
        if !(3..=4).contains(&segments) || rest.split('/').any(str::is_empty) {
            return Err(InvalidKey::Path(path.into()));
        }
        Ok(Self(path.into()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A set of keys that a list or a watch covers: everything, a resource, a resource in one namespace, or one object.
///
/// These are the only sets, so a store finds the watches of a key with a few lookups instead of a comparison per watch.
///
/// ```
/// use fieldmanager_apiserver::store::{Key, Prefix};
/// let key = Key::new("", "pods", Some("shop"), "cart-0")?;
/// assert!(Prefix::resource("", "pods")?.contains(&key));
/// assert!(Prefix::namespace("", "pods", "shop")?.contains(&key));
/// assert!(!Prefix::namespace("", "pods", "sho")?.contains(&key));
/// assert!(Prefix::object(&key).contains(&key));
/// # Ok::<(), fieldmanager_apiserver::store::InvalidKey>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(Arc<str>);

impl Prefix {
    /// All keys.
    pub fn all() -> Self {
        Self(ROOT.into())
    }

    /// The objects of a resource, in all namespaces. The core group is the empty string.
    ///
    /// # Errors
    /// [`InvalidKey::Segment`] as for [`Key::new`].
    pub fn resource(group: &str, plural: &str) -> Result<Self, InvalidKey> {
        Ok(Self(resource_path(group, plural)?.into()))
    }

    /// The objects of a resource of a group that has a name, both of which are known to be valid.
    pub(crate) fn builtin(group: &'static str, plural: &'static str) -> Self {
        Self(format!("{ROOT}{group}/{plural}/").into())
    }

    /// The objects of a resource in one namespace.
    ///
    /// # Errors
    /// [`InvalidKey::Segment`] as for [`Key::new`].
    pub fn namespace(group: &str, plural: &str, namespace: &str) -> Result<Self, InvalidKey> {
        let mut path = resource_path(group, plural)?;
        path.push_str(segment(namespace)?);
        path.push('/');
        Ok(Self(path.into()))
    }

    /// One object.
    pub fn object(key: &Key) -> Self {
        Self(Arc::clone(&key.0))
    }

    /// Returns the prefix as a path: it ends with a slash, or it is the path of one key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether a key belongs to this set.
    pub fn contains(&self, key: &Key) -> bool {
        if self.0.ends_with('/') {
            key.0.starts_with(&*self.0)
        } else {
            key.0 == self.0
        }
    }
}

impl Borrow<str> for Prefix {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns `/registry/GROUP/PLURAL/`.
fn resource_path(group: &str, plural: &str) -> Result<String, InvalidKey> {
    let group = if group.is_empty() {
        CORE
    } else {
        segment(group)?
    };
    Ok(format!("{ROOT}{group}/{}/", segment(plural)?))
}

fn segment(segment: &str) -> Result<&str, InvalidKey> {
    if segment.is_empty() || segment.contains('/') {
        return Err(InvalidKey::Segment(segment.into()));
    }
    Ok(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_would_reach_another_object_are_refused() {
        for segment in ["", "a/b", "/", "../x"] {
            let error = Err(InvalidKey::Segment(segment.into()));
            assert_eq!(Key::new("", "pods", Some("a"), segment), error);
            assert_eq!(Key::new("", "pods", Some(segment), "x"), error);
            assert_eq!(Key::new("", segment, None, "x"), error);
            assert_eq!(
                Prefix::namespace("", "pods", segment),
                Err(InvalidKey::Segment(segment.into()))
            );
        }
        assert!(Key::new("a/b", "pods", None, "x").is_err());
    }

    #[test]
    fn keys_are_read_from_their_paths() {
        for key in [
            Key::new("", "nodes", None, "a"),
            Key::new("apps", "deployments", Some("b"), "a:c"),
        ] {
            let key = key.unwrap();
            assert_eq!(key.as_str().parse(), Ok(key.clone()));
            let parts = key.parts();
            assert_eq!(
                Key::new(parts.group, parts.plural, parts.namespace, parts.name),
                Ok(key.clone())
            );
        }
        for path in [
            "",
            "/registry/",
            "/registry/core/pods/",
            "/registry/core/pods/a/",
            "/registry/a/b/c/d/e",
            "core/pods/a/b",
        ] {
            assert_eq!(path.parse::<Key>(), Err(InvalidKey::Path(path.into())));
        }
    }

    #[test]
    fn prefixes_of_a_key_are_those_that_contain_it() {
        let key = Key::new("", "pods", Some("a"), "x").unwrap();
        let found: Vec<&str> = key.prefixes().collect();
        let prefixes = [
            Prefix::all(),
            Prefix::resource("", "pods").unwrap(),
            Prefix::namespace("", "pods", "a").unwrap(),
            Prefix::object(&key),
        ];
        assert!(
            prefixes
                .iter()
                .all(|prefix| found.contains(&prefix.as_str()) && prefix.contains(&key))
        );
    }
}
