//! Finds the type of an object by its kind.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fieldmanager_schema::internal::similar_names;
use fieldmanager_schema::{Schema, Type, UNTYPED_ATOMIC, UNTYPED_DEDUCED};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Str, Value};

use crate::GroupVersionKind;

/// A schema, and the types of the kinds of objects. Cloning is O(1).
///
/// ```
/// use fieldmanager_openapi::{GroupVersionKind, Types};
/// use fieldmanager_value::Value;
///
/// let document = Value::from_yaml("
/// swagger: '2.0'
/// definitions:
///   com.example.v1.Shop:
///     type: object
///     properties:
///       replicas: {type: integer}
///     x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Shop}]
/// ")?;
/// let types = Types::load(&document)?;
/// let shop = types.for_kind(&GroupVersionKind::new("example.com", "v1", "Shop"))?;
/// assert_eq!(shop.name(), "com.example.v1.Shop");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Types {
    schema: Schema,
    /// Usually one type per kind; the lookup of a kind with several types is an error.
    kinds: Arc<BTreeMap<GroupVersionKind, Vec<Str>>>,
}

/// An error of looking up the type of an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KindError {
    /// The object has no `apiVersion` or `kind`.
    #[error("the object has no apiVersion and kind")]
    Unnamed,
    /// No type describes the kind.
    #[error("no corresponding type for {kind}{}", hint(nearest))]
    Unknown {
        /// The kind.
        kind: GroupVersionKind,
        /// At most three similar kinds, the most similar first.
        nearest: Vec<GroupVersionKind>,
    },
    /// Several types declare the kind. The Go package uses the last one in random order.
    #[error("several types claim {kind}: {}", .types.join(", "))]
    Ambiguous {
        /// The kind.
        kind: GroupVersionKind,
        /// The names of the types.
        types: Vec<String>,
    },
}

fn hint(nearest: &[GroupVersionKind]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let near: Vec<String> = nearest
        .iter()
        .map(|kind| format!("{} {}", kind.api_version(), kind.kind))
        .collect();
    format!(", did you mean {}", near.join(" or "))
}

impl Types {
    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The kinds and the names of their types, sorted by kind. An ambiguous kind has several.
    pub fn kinds(&self) -> impl Iterator<Item = (&GroupVersionKind, &[Str])> {
        self.kinds
            .iter()
            .map(|(kind, names)| (kind, names.as_slice()))
    }

    /// Returns the type of a kind.
    ///
    /// If the schema has no kinds, as files in the format of structured-merge-diff, this finds a type whose name ends
    /// in group, version and kind (`io.k8s.api.apps.v1.Deployment`). If the schema has a single type, that type is
    /// returned.
    ///
    /// # Errors
    ///
    /// [`KindError::Unknown`] and [`KindError::Ambiguous`].
    pub fn for_kind(&self, kind: &GroupVersionKind) -> Result<Type, KindError> {
        // A schema without kinds, as in the format of structured-merge-diff, is searched by name.
        let names: Vec<&str> = if self.kinds.is_empty() {
            self.by_name(kind)
        } else {
            self.kinds
                .get(kind)
                .into_iter()
                .flatten()
                .map(Str::as_str)
                .collect()
        };

        match names.as_slice() {
            [] => Err(KindError::Unknown {
                kind: kind.clone(),
                nearest: self.nearest(kind),
            }),
            [name] => self
                .schema
                .type_named(name)
                .ok_or_else(|| KindError::Unknown {
                    kind: kind.clone(),
                    nearest: Vec::new(),
                }),
            several => Err(KindError::Ambiguous {
                kind: kind.clone(),
                types: several.iter().map(|name| (*name).to_owned()).collect(),
            }),
        }
    }

    /// Returns the type of an object, by its `apiVersion` and `kind`.
    ///
    /// # Errors
    ///
    /// [`KindError`]; [`KindError::Unnamed`] if the object has no kind and the schema has several types.
    pub fn for_object(&self, object: &Value) -> Result<Type, KindError> {
        match object.complete_kind() {
            Some(kind) => self.for_kind(&kind),
            None => self.only().ok_or(KindError::Unnamed),
        }
    }

    /// The only type of a schema; `None` if there are several.
    fn only(&self) -> Option<Type> {
        let mut names = self.own_names();
        let name = names.next()?;
        if names.next().is_some() {
            None
        } else {
            self.schema.type_named(name)
        }
    }

    fn own_names(&self) -> impl Iterator<Item = &str> {
        self.schema
            .type_names()
            .filter(|name| *name != UNTYPED_ATOMIC && *name != UNTYPED_DEDUCED)
    }

    /// The types whose names end in the kind.
    fn by_name(&self, kind: &GroupVersionKind) -> Vec<&str> {
        let names: Vec<&str> = self.own_names().collect();
        // The only type of a schema is that of every kind.
        if let [_] = names.as_slice() {
            return names;
        }
        // The core group has no name in objects, but it is `core` in the names of types.
        let group = kind
            .group
            .split('.')
            .next()
            .filter(|group| !group.is_empty())
            .unwrap_or("core");
        let GroupVersionKind { version, kind, .. } = kind;

        for suffix in [
            format!(".{group}.{version}.{kind}"),
            format!(".{version}.{kind}"),
        ] {
            let found: Vec<&str> = names
                .iter()
                .copied()
                .filter(|name| name.ends_with(&suffix))
                .collect();
            if !found.is_empty() {
                return found;
            }
        }

        // Names without a group are compared as a whole.
        names
            .into_iter()
            .filter(|name| name.eq_ignore_ascii_case(kind))
            .collect()
    }

    fn nearest(&self, wanted: &GroupVersionKind) -> Vec<GroupVersionKind> {
        let similar = |in_group: bool, at_least: f64| {
            let kinds = self
                .kinds
                .keys()
                .filter(move |kind| (kind.group == wanted.group) == in_group);
            similar_names(
                &wanted.kind,
                kinds.map(|kind| (kind.kind.as_str(), kind)),
                at_least,
            )
        };

        // Within its own group, a kind may be less similar.
        let near = similar(true, 0.85).into_iter().chain(similar(false, 0.9));
        near.take(3).cloned().collect()
    }
}

/// Creates types from a schema and the kinds of its types. A kind may occur several times.
///
/// ```
/// use fieldmanager_openapi::internal::types_of;
/// use fieldmanager_openapi::{GroupVersionKind, KindError, Types};
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("types: [{name: a, scalar: string}, {name: b, scalar: string}]")?;
/// let kind = GroupVersionKind::from_api_version_kind("v1", "A");
/// let types = types_of(schema, [(kind.clone(), "a".into()), (kind.clone(), "b".into())]);
/// assert!(matches!(types.for_kind(&kind), Err(KindError::Ambiguous { .. })));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
pub fn types_of(schema: Schema, kinds: impl IntoIterator<Item = (GroupVersionKind, Str)>) -> Types {
    let mut map: BTreeMap<GroupVersionKind, Vec<Str>> = BTreeMap::new();
    for (kind, name) in kinds {
        let names = map.entry(kind).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }

    Types {
        schema,
        kinds: Arc::new(map),
    }
}

/// A schema without kinds, whose types are found by name.
impl From<Schema> for Types {
    fn from(schema: Schema) -> Self {
        types_of(schema, [])
    }
}

impl fmt::Debug for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Types")
            .field("schema", &self.schema)
            .field("kinds", &self.kinds)
            .finish()
    }
}
