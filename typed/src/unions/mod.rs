//! Unions ("oneOf" fields): normalization and validation.
//!
//! Normalization makes an object say one thing about each union: it sets a discriminator that follows from
//! the member that is set, and clears members that the change made obsolete. It runs before ownership is
//! computed, so that what it changes belongs to whoever caused it.
//!
//! Sources: KEP-1027 in its forms of 2019 (deducing unions) and 2022 (respecting unions).

mod config;
mod update;
mod validate;

use std::fmt;

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_schema::internal::{MapType, TypeId, Union};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_value::{Map, Str, Value};

use crate::error::{Error, Fault, Faults};
use crate::shape::{Shape, shape};
use crate::typed_value::TypedValue;

pub use validate::{Ratcheting, UnionFault};

/// What normalization changed at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnionChange {
    /// The field: a discriminator that was deduced, or a member that was cleared.
    pub path: Path,
    /// What was done to it.
    pub action: UnionAction,
}

/// What normalization did to a field.
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

/// A normalized value, and what normalization changed.
#[derive(Clone, Debug)]
pub struct Normalized {
    /// The value.
    pub value: TypedValue,
    /// The changes, in the order of the value.
    pub changes: Vec<UnionChange>,
}

/// Edits of one struct by field: a new value, or none to remove the field.
type Edits = Vec<(Str, Option<Value>)>;

/// What the walks have in common: the schema, the way to the current place, changes and faults.
struct Walk<'s> {
    schema: &'s Schema,
    /// Whether parts that are shared with the old object are left out.
    skip_shared: bool,
    /// Whether no list of either object has two items with one key.
    unique: bool,
    /// Each with its path from the last element to the first: paths are put together on the way up, so that
    /// what changes nothing pays nothing.
    changes: Vec<(Vec<PathElement>, UnionAction)>,
    faults: Faults,
}

impl<'s> Walk<'s> {
    fn new(schema: &'s Schema) -> Self {
        Walk { schema, skip_shared: false, unique: false, changes: Vec::new(), faults: Faults::default() }
    }

    /// Goes to a child that may have unions; to others there is no need to go.
    fn child<T>(
        &mut self,
        ty: Option<TypeId>,
        element: impl Fn() -> PathElement,
        visit: impl FnOnce(&mut Self, TypeId) -> Option<T>,
    ) -> Option<T> {
        let ty = ty.filter(|ty| self.schema.has_unions(*ty))?;
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

    /// What was changed, in the order of the value; or the faults, if there are any.
    fn finish(self) -> Result<Vec<UnionChange>, Error> {
        self.faults.check()?;
        let complete = |(reversed, action): (Vec<PathElement>, UnionAction)| UnionChange {
            path: reversed.into_iter().rev().collect(),
            action,
        };
        Ok(self.changes.into_iter().map(complete).collect())
    }

    /// Notes edits as changes and makes them.
    fn edit(&mut self, map: &Map, mut edits: Edits) -> Option<Map> {
        if edits.is_empty() {
            return None;
        }
        edits.sort_by(|a, b| a.0.cmp(&b.0));
        // Two unions of a struct have no field in common but, by mistake, a discriminator.
        edits.dedup_by(|a, b| a.0 == b.0);
        for (name, value) in &edits {
            let action = match value {
                Some(Value::String(value)) => UnionAction::Deduced(value.into()),
                _ => UnionAction::Cleared,
            };
            self.changes.push((vec![PathElement::Field(name.clone())], action));
        }
        Some(map.with_edits(edits))
    }
}

/// One union of a struct, as it stands in a value.
#[derive(Clone, Copy)]
struct Standing<'u> {
    union: &'u Union,
    fields: Option<&'u Map>,
}

impl<'u> Standing<'u> {
    /// Whether a member is set: there, and not null.
    fn is_set(self, member: &str) -> bool {
        self.fields.and_then(|fields| fields.get(member)).is_some_and(|value| !value.is_null())
    }

    /// The members that are set.
    fn set(self) -> impl Iterator<Item = &'u fieldmanager_schema::internal::UnionField> {
        self.union.fields.iter().filter(move |field| self.is_set(&field.field))
    }

    /// The discriminator as it is there.
    fn named(self) -> Option<&'u Value> {
        self.fields?.get(self.union.discriminator.as_ref()?)
    }

    /// Whether the discriminator is there, if only as empty or null.
    fn names_discriminator(self) -> bool {
        self.named().is_some()
    }

    /// Whether the discriminator says something: a text, or the empty string where a respecting union
    /// declares that.
    fn speaks(self) -> bool {
        let value = self.named().and_then(Value::as_str);
        value.is_some_and(|value| !value.is_empty() || (!self.union.is_deducing() && self.union.declares("")))
    }

    /// The value of the discriminator; empty if it is absent, null or no string.
    fn discriminator(self) -> &'u str {
        self.named().and_then(Value::as_str).unwrap_or_default()
    }
}

/// Sets the discriminator of a union, if it has one.
fn deduce(union: &Union, value: &Str) -> Edits {
    let name = union.discriminator.iter();
    name.map(|name| (name.clone(), Some(Value::from(value)))).collect()
}

/// The struct type and entries of a value that is a granular struct.
fn granular<'a>(schema: &'a Schema, ty: TypeId, value: &'a Value) -> Option<(&'a MapType, &'a Map)> {
    match (shape(schema.atom(ty), Some(value)).1, value) {
        (Shape::Map(map), Value::Map(entries)) if !map.atomic => Some((map, entries)),
        _ => None,
    }
}

/// The path of the discriminator of the union that a path's last field is a member of.
///
/// ```
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
/// let discriminator = fieldmanager_typed::internal::discriminator_of(&root, &".a".parse::<Path>()?);
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
    let union = unions.iter().find(|union| union.fields.iter().any(|field| field.field == *name))?;
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
