//! Unions ("oneOf" fields): normalization and validation.
//!
//! Normalization makes each union of an object consistent: it sets a discriminator that follows from the member that is
//! set, and clears members that a change made obsolete. It runs before ownership is computed, so that its changes
//! belong to the manager that caused them.
//!
//! It implements KEP-1027 in its versions of 2019 (deducing unions) and 2022 (respecting unions).

pub(crate) mod config;
mod update;
mod validate;

use std::fmt;

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_schema::internal::{MapType, TypeId, Union, has_unions};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_value::{Map, Str, Value};

use crate::error::{Error, Fault, FaultCollector};
use crate::shape::{Shape, shape};
use crate::typed_value::TypedValue;

pub use validate::{Ratcheting, UnionFault};

/// A change made by normalization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnionChange {
    /// The field: a deduced discriminator or a cleared member.
    pub path: Path,
    /// The change to the field.
    pub action: UnionAction,
}

/// The kind of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnionAction {
    /// The discriminator was set to this value.
    Deduced(Str),
    /// The member was removed.
    Cleared,
}

impl fmt::Display for UnionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            UnionAction::Deduced(value) => write!(f, "{}: deduced {value:?}", self.path),
            UnionAction::Cleared => write!(f, "{}: cleared", self.path),
        }
    }
}

/// A normalized value with the changes made by normalization.
#[derive(Clone, Debug)]
pub struct Normalized {
    /// The value.
    pub value: TypedValue,
    /// The changes, in the order of the value.
    pub changes: Vec<UnionChange>,
}

/// Edits of a struct by field: a new value, or `None` to remove the field.
type FieldEdits = Vec<(Str, Option<Value>)>;

/// The common state of the walks: the schema, the changes and the faults.
struct UnionWalk<'s> {
    schema: &'s Schema,
    /// Whether parts shared with the old object are skipped.
    skip_shared: bool,
    /// Whether the keys in each list of both objects are unique.
    unique: bool,
    /// Changes with their reversed paths. Paths are assembled on the way up, so unchanged values incur no cost.
    changes: Vec<(Vec<PathElement>, UnionAction)>,
    faults: FaultCollector,
}

impl<'s> UnionWalk<'s> {
    fn new(schema: &'s Schema) -> Self {
        UnionWalk {
            schema,
            skip_shared: false,
            unique: false,
            changes: Vec::new(),
            faults: FaultCollector::default(),
        }
    }

    /// Descends only into types that can contain unions.
    fn child<T>(
        &mut self,
        ty: Option<TypeId>,
        element: impl Fn() -> PathElement,
        visit: impl FnOnce(&mut Self, TypeId) -> Option<T>,
    ) -> Option<T> {
        let ty = ty.filter(|ty| has_unions(self.schema, *ty))?;
        // The paths of faults and changes are completed on the way up.
        let (faults, changes) = (self.faults.mark(), self.changes.len());
        let out = visit(self, ty);
        self.faults.prefix(faults, &element);
        if changes < self.changes.len() {
            let element = element();
            for (reversed, _) in self.changes.iter_mut().skip(changes) {
                reversed.push(element.clone());
            }
        }

        out
    }

    /// Returns the changes in the order of the value, or the faults if there are any.
    fn finish(self) -> Result<Vec<UnionChange>, Error> {
        self.faults.check()?;
        let complete = |(reversed, action): (Vec<PathElement>, UnionAction)| UnionChange {
            path: reversed.into_iter().rev().collect(),
            action,
        };
        Ok(self.changes.into_iter().map(complete).collect())
    }

    /// Records edits as changes and applies them.
    fn edit(&mut self, map: &Map, mut edits: FieldEdits) -> Option<Map> {
        if edits.is_empty() {
            return None;
        }
        edits.sort_by(|a, b| a.0.cmp(&b.0));

        // The only field that two unions of a struct can have in common is a discriminator, by mistake.
        edits.dedup_by(|a, b| a.0 == b.0);
        for (name, value) in &edits {
            let action = match value {
                Some(Value::String(value)) => UnionAction::Deduced(value.into()),
                _ => UnionAction::Cleared,
            };
            self.changes
                .push((vec![PathElement::Field(name.clone())], action));
        }

        Some(map.with_edits(edits))
    }
}

/// The state of a union of a struct in a value.
#[derive(Clone, Copy)]
struct UnionState<'u> {
    union: &'u Union,
    fields: Option<&'u Map>,
}

impl<'u> UnionState<'u> {
    /// Whether a member is set, that is, present and not null.
    fn is_set(self, member: &str) -> bool {
        self.fields
            .and_then(|fields| fields.get(member))
            .is_some_and(|value| !value.is_null())
    }

    /// The members that are set.
    fn set(self) -> impl Iterator<Item = &'u fieldmanager_schema::internal::UnionField> {
        self.union
            .fields
            .iter()
            .filter(move |field| self.is_set(&field.field))
    }

    /// The value of the discriminator field, if present.
    fn discriminator_value(self) -> Option<&'u Value> {
        self.fields?.get(self.union.discriminator.as_ref()?)
    }

    /// Whether the discriminator field is present, even if empty or null.
    fn has_discriminator(self) -> bool {
        self.discriminator_value().is_some()
    }

    /// Whether the discriminator has a value: a non-empty string, or an empty one that a respecting union declares.
    fn has_value(self) -> bool {
        let value = self.discriminator_value().and_then(Value::as_str);
        value.is_some_and(|value| {
            !value.is_empty() || (!self.union.is_deducing() && self.union.declares(""))
        })
    }

    /// The discriminator as a string; empty if it is absent, null or not a string.
    fn discriminator(self) -> &'u str {
        self.discriminator_value()
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// Returns the edit that sets the discriminator of a union, if it has one.
fn deduce(union: &Union, value: &Str) -> FieldEdits {
    let name = union.discriminator.iter();
    name.map(|name| (name.clone(), Some(Value::from(value))))
        .collect()
}

/// The struct type and the entries of a value that is a granular struct.
fn granular<'a>(
    schema: &'a Schema,
    ty: TypeId,
    value: &'a Value,
) -> Option<(&'a MapType, &'a Map)> {
    match (shape(schema.atom(ty), Some(value)).1, value) {
        (Shape::Map(map), Value::Map(entries)) if !map.atomic => Some((map, entries)),
        _ => None,
    }
}

/// Returns the path of the discriminator of the union that contains the last field of `member`.
///
/// ```
/// use fieldmanager_typed::internal::discriminator_of;
/// use fieldmanager_fieldpath::Path;
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types:
/// - name: root
///   map:
///     fields: [{name: type, type: {scalar: string}}, {name: a, type: {scalar: string}}]
///     unions: [{discriminator: type, fields: [{fieldName: a, discriminatorValue: A}]}]
/// ")?;
/// let root = schema.type_named("root").unwrap();
/// let discriminator = discriminator_of(&root, &".a".parse::<Path>()?);
/// assert_eq!(discriminator.unwrap().to_string(), ".type");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn discriminator_of(ty: &Type, member: &[PathElement]) -> Option<Path> {
    let schema = ty.schema();
    let (last, parents) = member.split_last()?;
    let mut at = ty.id();
    for element in parents {
        let atom = schema.atom(at);
        at = match element {
            PathElement::Field(name) => atom.map.as_ref()?.type_of(name)?,
            _ => atom.list.as_ref()?.element,
        };
    }

    let name = last.as_field()?;
    let unions = &schema.atom(at).map.as_ref()?.unions;
    let union = unions
        .iter()
        .find(|union| union.fields.iter().any(|field| field.field == *name))?;
    let mut path = Path::from(parents);
    path.push(PathElement::Field(union.discriminator.clone()?));

    Some(path)
}

fn contradiction(union: &Union, value: &str, member: &str) -> Fault {
    Fault::UnionContradiction {
        discriminator: union.discriminator.as_deref().unwrap_or_default().into(),
        value: value.into(),
        member: member.into(),
    }
}
