//! Validation of values against types.

use std::collections::BTreeSet;

use fieldmanager_fieldpath::{MAX_PATH_LENGTH, PathElement};
use fieldmanager_schema::internal::{ListType, MapType, TypeId, along};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_value::internal::keeps_memo;
use fieldmanager_value::{List, Map, Str, Value};

use crate::error::{Fault, FaultCollector, ValidationErrors};
use crate::index::Index;
use crate::items::element_of;
use crate::shape::{Shape, empty_type, fits, scalar_fault, shape};

/// Determines whether several items of an associative list may have the same key or value.
///
/// ```
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, TypedValue};
/// let schema = Schema::from_yaml("
/// types: [{name: set, list: {elementType: {scalar: string}, elementRelationship: associative}}]
/// ")?;
/// let set = schema.type_named("set").unwrap();
/// let check = |duplicates| TypedValue::new(vec!["a", "a"].into(), set.clone(), duplicates);
/// assert_eq!(check(Duplicates::Refuse).unwrap_err().to_string(), r#"[="a"]: duplicate entries for one key"#);
/// assert!(check(Duplicates::Allow).is_ok());
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// Reject duplicates, for configurations to apply.
    Refuse,
    /// Accept duplicates, for live objects, which may have been stored before this validation.
    Allow,
}

/// Collects all faults. Returns whether the value is free of duplicates.
pub(crate) fn validate(
    value: &Value,
    ty: &Type,
    duplicates: Duplicates,
) -> Result<bool, ValidationErrors> {
    let mut walk = ValidationWalk {
        schema: ty.schema(),
        duplicates,
        unique: true,
        depth: 0,
        faults: FaultCollector::default(),
    };
    walk.value(ty.id(), value);
    walk.faults.check()?;
    Ok(walk.unique)
}

struct ValidationWalk<'s> {
    schema: &'s Schema,
    duplicates: Duplicates,
    unique: bool,
    depth: usize,
    faults: FaultCollector,
}

impl ValidationWalk<'_> {
    fn value(&mut self, ty: TypeId, value: &Value) {
        let atom = self.schema.atom(ty);
        match shape(atom, Some(value)).1 {
            Shape::Scalar(scalar) => {
                if let Some(fault) = scalar_fault(scalar, Some(value)) {
                    self.faults.push(fault);
                }
            }
            Shape::List(list) => match value {
                Value::List(items) => self.below(|walk| walk.items(list, items)),
                Value::Null => {}
                other => self.faults.push(Fault::kind("list", other)),
            },
            Shape::Map(map) => match value {
                Value::Map(entries) => self.below(|walk| walk.entries(map, entries)),
                Value::Null => {}
                other => self.faults.push(Fault::kind("map", other)),
            },
            Shape::Nothing => self.faults.push(empty_type(atom)),
        }
    }

    fn below(&mut self, walk: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_PATH_LENGTH {
            self.faults.push(Fault::TooDeep);
            return;
        }
        self.depth += 1;
        walk(self);
        self.depth -= 1;
    }

    fn child(&mut self, ty: TypeId, value: &Value, element: impl FnOnce() -> PathElement) {
        let mark = self.faults.mark();
        self.value(ty, value);
        self.faults.prefix(mark, element);
    }

    fn entries(&mut self, map: &MapType, entries: &Map) {
        let mut along = along(map);
        for (name, value) in entries {
            match along.type_of(name) {
                Some(ty) if self.is_valid_scalar(ty, value) => {}
                Some(ty) => self.child(ty, value, || PathElement::Field(name.clone())),
                None => self.not_declared(map, name),
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn not_declared(&mut self, map: &MapType, name: &Str) {
        let mut nearest = Vec::new();
        if self.faults.may_suggest() {
            nearest.extend(map.nearest_fields(name).into_iter().map(str::to_owned));
        }
        self.faults.push_at(
            PathElement::Field(name.clone()),
            Fault::NotDeclared { nearest },
        );
    }

    /// Most values in an object are valid scalars.
    #[inline]
    fn is_valid_scalar(&self, ty: TypeId, value: &Value) -> bool {
        self.schema
            .atom(ty)
            .scalar
            .is_some_and(|scalar| fits(scalar, value))
    }

    fn items(&mut self, list: &ListType, items: &List) {
        if list.atomic {
            for (at, item) in items.iter().enumerate() {
                self.child(list.element, item, || position(at));
            }
        } else if keeps_memo(items) {
            self.many_items(list, items);
        } else {
            self.few_items(list, items);
        }
    }

    /// Validates the items of a short list by comparing each element with the previous ones.
    fn few_items(&mut self, list: &ListType, items: &List) {
        let mut seen: Vec<PathElement> = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match element_of(list, item) {
                Ok(element) => {
                    if seen.contains(&element) {
                        self.duplicate(&element);
                    }
                    self.child(list.element, item, || element.clone());
                    seen.push(element);
                }
                Err(fault) => self.faults.push_at(position(at), Fault::Item(fault)),
            }
        }
    }

    /// Validates the items of a long list and builds the index that is stored with the list.
    fn many_items(&mut self, list: &ListType, items: &List) {
        if Index::of(items, list).is_ok_and(|index| index.is_unique()) {
            for item in items {
                self.child(list.element, item, || {
                    element_of(list, item).unwrap_or(PathElement::Index(0))
                });
            }
            return;
        }

        let mut seen = BTreeSet::new();
        for (at, item) in items.iter().enumerate() {
            match element_of(list, item) {
                Ok(element) => {
                    self.child(list.element, item, || element.clone());
                    if !seen.insert(element.clone()) {
                        self.duplicate(&element);
                    }
                }
                Err(fault) => self.faults.push_at(position(at), Fault::Item(fault)),
            }
        }
    }

    fn duplicate(&mut self, element: &PathElement) {
        self.unique = false;
        if self.duplicates == Duplicates::Refuse {
            self.faults.push_at(element.clone(), Fault::Duplicate);
        }
    }
}

/// The path element of an item that has no element of its own.
pub(crate) fn position(at: usize) -> PathElement {
    PathElement::Index(i64::try_from(at).unwrap_or(i64::MAX))
}
