//! Validation of unions. It reports all faults, with the messages of declarative validation in Kubernetes.

use std::fmt;

use fieldmanager_fieldpath::{Path, PathElement};
use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::{
    ListType, MapType, TypeId, Union, UnionField, has_unions_anywhere,
};
use fieldmanager_value::{List, Map, Value};

use super::UnionState;
use crate::index::{Index, IndexSlot};
use crate::items::element_of;
use crate::shape::{Shape, shape};
use crate::typed_value::TypedValue;

/// Determines whether faults that also exist in the old object are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ratcheting {
    /// Report every fault.
    Off,
    /// Do not report a fault that the old object has at the same path, as long as the set members and the discriminator
    /// are unchanged. Within an atomic list or map, this requires that the entire list or map is unchanged.
    On,
}

/// A fault of a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnionFault {
    /// The path of the struct, or of the field with the fault.
    pub path: Path,
    /// The message, as worded by Kubernetes.
    pub message: String,
}

impl fmt::Display for UnionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl TypedValue {
    /// Returns all faults of the unions of a new object that replaces this one. Nothing is changed. For an object that
    /// is created, `self` is [null](TypedValue::null).
    ///
    /// Faults are: several members set; a member set that the discriminator does not select; a selected member that is
    /// neither set nor optional; a discriminator outside a closed list of values, or missing from a respecting union
    /// that does not declare the empty string; no member set in a union that requires one. If the union does not
    /// declare the value of the discriminator and is not closed, the members are not validated against it, because the
    /// API may define the value.
    ///
    /// Unions in atomic lists and maps are validated too, as in Kubernetes; their items are identified by index
    /// (`.items[0]`). With ratcheting, an atomic list or map is compared as a whole: any change reports all faults
    /// within it.
    ///
    /// Messages: `Union` and `DiscriminatedUnion` of `k8s.io/apimachinery/pkg/api/validate`.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, Ratcheting, TypedValue};
    /// use fieldmanager_value::Value;
    /// let schema = Schema::from_yaml("
    /// types:
    /// - name: root
    ///   map:
    ///     fields:
    ///     - {name: a, type: {scalar: numeric}}
    ///     - {name: b, type: {scalar: numeric}}
    ///     unions: [{fields: [{fieldName: a}, {fieldName: b}], required: true}]
    /// ")?;
    /// let root = schema.type_named("root").unwrap();
    /// let new = TypedValue::new(Value::from_yaml("{a: 1, b: 2}")?, root.clone(), Duplicates::Allow)?;
    /// let faults = TypedValue::null(root).validate_unions(&new, Ratcheting::Off);
    /// assert_eq!(faults[0].to_string(), "must specify exactly one of: `a`, `b`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate_unions(&self, new: &TypedValue, ratcheting: Ratcheting) -> Vec<UnionFault> {
        let schema = new.ty.schema();
        let mut validate = Validate {
            schema,
            path: Path::new(),
            ratcheting,
            found: Vec::new(),
        };
        if has_unions_anywhere(schema, new.ty.id()) {
            validate.value(new.ty.id(), Some(&self.value), &new.value);
        }

        validate.found
    }
}

struct Validate<'s> {
    schema: &'s Schema,
    path: Path,
    ratcheting: Ratcheting,
    found: Vec<UnionFault>,
}

impl Validate<'_> {
    fn value(&mut self, ty: TypeId, old: Option<&Value>, new: &Value) {
        match (shape(self.schema.atom(ty), Some(new)).1, new) {
            (Shape::Map(map), Value::Map(entries)) => {
                self.fields(map, old.and_then(Value::as_map), entries)
            }
            (Shape::List(list), Value::List(items)) => {
                self.items(list, old.and_then(Value::as_list), items)
            }
            _ => {}
        }
    }

    fn child(
        &mut self,
        ty: Option<TypeId>,
        element: PathElement,
        old: Option<&Value>,
        new: &Value,
    ) {
        if let Some(ty) = ty.filter(|ty| has_unions_anywhere(self.schema, *ty)) {
            self.path.push(element);
            self.value(ty, old, new);
            self.path.pop();
        }
    }

    fn fields(&mut self, map: &MapType, old: Option<&Map>, new: &Map) {
        for union in &map.unions {
            let now = UnionState {
                union,
                fields: Some(new),
            };
            let before = UnionState { union, fields: old };
            let same = || {
                old.is_some()
                    && now.discriminator() == before.discriminator()
                    && union
                        .fields
                        .iter()
                        .all(|f| now.is_set(&f.field) == before.is_set(&f.field))
            };

            if self.ratcheting == Ratcheting::On && same() {
                continue;
            }
            self.union(union, now);
        }

        if map.atomic && self.is_exempt(old == Some(new)) {
            return;
        }

        // Any change to an atomic map makes all of its content new.
        let old = old.filter(|_| !map.atomic);
        for (name, value) in new {
            let before = old.and_then(|old| old.get(name));
            self.child(
                map.type_of(name),
                PathElement::Field(name.clone()),
                before,
                value,
            );
        }
    }

    /// Whether faults within an atomic list or map are exempt from reporting because it is unchanged.
    fn is_exempt(&self, unchanged: bool) -> bool {
        self.ratcheting == Ratcheting::On && unchanged
    }

    fn items(&mut self, list: &ListType, old: Option<&List>, new: &List) {
        if list.atomic {
            if !has_unions_anywhere(self.schema, list.element) || self.is_exempt(old == Some(new)) {
                return;
            }
            for (at, item) in (0..).zip(new) {
                self.child(Some(list.element), PathElement::Index(at), None, item);
            }
            return;
        }

        let index = old.and_then(|old| Some((old, Index::of(old, list).ok()?)));
        for item in new {
            let Ok(element) = element_of(list, item) else {
                continue;
            };
            let before = index
                .as_ref()
                .and_then(|(old, index)| match index.get(&element) {
                    Some(IndexSlot::One(at)) => old.get(at),
                    _ => None,
                });
            self.child(Some(list.element), element, before, item);
        }
    }

    fn report(&mut self, field: Option<&str>, message: String) {
        let mut path = self.path.clone();
        if let Some(field) = field {
            path.push(PathElement::field(field));
        }
        self.found.push(UnionFault { path, message });
    }

    fn union(&mut self, union: &Union, now: UnionState<'_>) {
        let set: Vec<&UnionField> = now.set().collect();
        let value = now.discriminator();
        let discriminator = union.discriminator.as_deref();
        if set.len() > 1 {
            let exactly = if union.required { "exactly" } else { "at most" };
            let change = discriminator.map(|d| format!(": change `{d}` to say which"));
            self.report(
                None,
                format!(
                    "must specify {exactly} one of: {}{}",
                    names(union),
                    change.unwrap_or_default()
                ),
            );
        }

        if set.is_empty() && union.required && !self.selects_nothing(union, value) {
            self.report(None, format!("must specify one of: {}", names(union)));
        }
        let Some(discriminator) = discriminator else {
            return;
        };

        if value.is_empty() && !union.is_deducing() && !union.declares("") {
            self.report(
                Some(discriminator),
                format!("must be set to one of: {}", values(union)),
            );
        } else if union.closed && !union.declares(value) {
            let message = format!(
                "Unsupported value: {value:?}: supported values: {}",
                values(union)
            );
            self.report(Some(discriminator), message);
        }

        // An undeclared value may select a member in its own way.
        if !union.declares(value) && !union.closed {
            return;
        }
        for member in &union.fields {
            let selected = member.value == value;
            if now.is_set(&member.field) && !selected {
                let message = format!(
                    "may only be specified when `{discriminator}` is {:?}",
                    member.value
                );
                self.report(Some(&member.field), message);
            } else if selected && !member.optional && !now.is_set(&member.field) {
                let message = format!(
                    "must be specified when `{discriminator}` is {:?}",
                    member.value
                );
                self.report(Some(&member.field), message);
            }
        }
    }

    /// Whether the discriminator is an empty member, which selects no member.
    fn selects_nothing(&self, union: &Union, value: &str) -> bool {
        union.empty_members.iter().any(|empty| *empty == value)
    }
}

/// The members, formatted like in Kubernetes.
fn names(union: &Union) -> String {
    let names: Vec<String> = union
        .fields
        .iter()
        .map(|field| format!("`{}`", field.field))
        .collect();
    names.join(", ")
}

/// The values of the discriminator, formatted like in Kubernetes.
fn values(union: &Union) -> String {
    let values: Vec<String> = union.values().map(|value| format!("{value:?}")).collect();
    values.join(", ")
}
