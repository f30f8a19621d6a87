//! Normalization during update, for create, PUT and PATCH.

use fieldmanager_fieldpath::PathElement;
use fieldmanager_schema::internal::{ListType, MapType, TypeId, Union, has_unions};
use fieldmanager_value::internal::for_each_difference;
use fieldmanager_value::{List, Map, Value};

use super::{FieldEdits, Normalized, UnionState, UnionWalk, contradiction, deduce, granular};
use crate::error::{Error, Fault};
use crate::index::{Index, IndexSlot};
use crate::items::element_of;
use crate::shape::{Shape, shape};
use crate::typed_value::{KnownProperties, TypedValue};

impl TypedValue {
    /// Normalizes the unions of a new object that replaces this one.
    ///
    /// A changed discriminator clears the members that it does not select. In a deducing union, an added member sets
    /// the discriminator and clears the other members. List items are matched by key; a new item has no predecessor.
    /// Atomic lists and maps are not normalized.
    ///
    /// # Errors
    ///
    /// [`Error::TypesDiffer`]; [`Error::Invalid`] if the new object contradicts itself: its discriminator was changed
    /// to select one member, and another member was added.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, TypedValue};
    /// use fieldmanager_value::Value;
    /// let schema = Schema::from_yaml("
    /// types:
    /// - name: root
    ///   map:
    ///     fields:
    ///     - {name: type, type: {scalar: string}}
    ///     - {name: a, type: {scalar: numeric}}
    ///     - {name: b, type: {scalar: numeric}}
    ///     unions:
    ///     - discriminator: type
    ///       deduceInvalidDiscriminator: true
    ///       fields: [{fieldName: a, discriminatorValue: A}, {fieldName: b, discriminatorValue: B}]
    /// ")?;
    /// let root = schema.type_named("root").unwrap();
    /// let typed = |yaml| TypedValue::new(Value::from_yaml(yaml).unwrap(), root.clone(), Duplicates::Allow);
    /// let normalized = typed("{type: A, a: 1}")?.normalize_update(&typed("{type: A, a: 1, b: 2}")?)?;
    /// assert_eq!(normalized.value.value().to_json(), r#"{"b":2,"type":"B"}"#);
    /// let changes: Vec<String> = normalized.changes.iter().map(ToString::to_string).collect();
    /// assert_eq!(changes, [".a: cleared", r#".type: deduced "B""#]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn normalize_update(&self, new: &TypedValue) -> Result<Normalized, Error> {
        self.check_type(new)?;
        let schema = self.ty.schema();
        if !has_unions(schema, self.ty.id()) {
            return Ok(Normalized {
                value: new.clone(),
                changes: Vec::new(),
            });
        }

        let mut walk = UnionWalk::new(schema);
        // The parts that a normalized object shares with the new one are normalized.
        walk.skip_shared = self.known.normalized;
        walk.unique = self.known.unique && new.known.unique;
        let value = value(&mut walk, self.ty.id(), Some(&self.value), &new.value);
        let changes = walk.finish()?;
        Ok(Normalized {
            value: TypedValue {
                value: value.unwrap_or_else(|| new.value.clone()),
                ty: new.ty.clone(),
                known: KnownProperties {
                    normalized: true,
                    ..new.known
                },
            },
            changes,
        })
    }
}

/// Returns the normalized value, or `None` if nothing changes.
fn value(walk: &mut UnionWalk<'_>, ty: TypeId, old: Option<&Value>, new: &Value) -> Option<Value> {
    if walk.skip_shared && old.is_some_and(|old| old.ptr_eq(new)) {
        return None;
    }
    let schema = walk.schema;
    if let Some((map, entries)) = granular(schema, ty, new) {
        return fields(walk, map, old.and_then(Value::as_map), entries).map(Value::Map);
    }

    match (shape(schema.atom(ty), Some(new)).1, new) {
        (Shape::List(list), Value::List(new)) if !list.atomic => {
            items(walk, list, old.and_then(Value::as_list), new).map(Value::List)
        }
        _ => None,
    }
}

fn fields(walk: &mut UnionWalk<'_>, map: &MapType, old: Option<&Map>, new: &Map) -> Option<Map> {
    let mut edits = FieldEdits::new();
    for (name, item) in new {
        let before = old.and_then(|old| old.get(name));
        let element = || PathElement::Field(name.clone());
        let changed = walk.child(map.type_of(name), element, |walk, ty| {
            value(walk, ty, before, item)
        });
        edits.extend(changed.map(|value| (name.clone(), Some(value))));
    }

    let inner = (!edits.is_empty()).then(|| new.with_edits(edits));
    let mut edits = FieldEdits::new();
    for union in &map.unions {
        let [old, new] = [old, Some(new)].map(|fields| UnionState { union, fields });
        match normalize(union, old, new) {
            Ok(more) => edits.extend(more),
            Err(fault) => walk.faults.push(fault),
        }
    }

    walk.edit(inner.as_ref().unwrap_or(new), edits).or(inner)
}

fn items(
    walk: &mut UnionWalk<'_>,
    list: &ListType,
    old: Option<&List>,
    new: &List,
) -> Option<List> {
    if !has_unions(walk.schema, list.element) {
        return None;
    }
    // If no item was added, removed or moved, only the changed ones are visited.
    if walk.skip_shared
        && walk.unique
        && let Some(pairs) = old.and_then(|old| changed_in_place(list, old, new))
    {
        let mut edits = Vec::new();
        for (at, element, before, item) in pairs {
            let changed = walk.child(
                Some(list.element),
                || element.clone(),
                |walk, ty| value(walk, ty, Some(before), item),
            );
            edits.extend(changed.map(|value| (at, value)));
        }
        return (!edits.is_empty()).then(|| new.with_edits(edits, Vec::new()));
    }

    let index = old.and_then(|old| Index::of(old, list).ok());
    let own = Index::of(new, list).ok()?;
    let mut edits = Vec::new();
    for (at, item) in new.iter().enumerate() {
        let Ok(element) = element_of(list, item) else {
            continue;
        };
        let slots = (
            own.get(&element),
            index.as_ref().and_then(|index| index.get(&element)),
        );
        let before = match slots {
            // Duplicate items cannot be matched.
            (Some(IndexSlot::Many), _) | (_, Some(IndexSlot::Many)) => continue,
            (_, Some(IndexSlot::One(at))) => old.and_then(|old| old.get(at)),
            (_, None) => None,
        };

        let changed = walk.child(
            Some(list.element),
            || element.clone(),
            |walk, ty| value(walk, ty, before, item),
        );
        edits.extend(changed.map(|value| (at, value)));
    }

    (!edits.is_empty()).then(|| new.with_edits(edits, Vec::new()))
}

/// An unshared item: its position and element, the old item and the new one.
type Pair<'v> = (usize, PathElement, &'v Value, &'v Value);

/// Returns the unshared items of two lists without duplicates, if no item was added, removed or moved. In this case the
/// other items can be skipped without reading their keys.
fn changed_in_place<'v>(list: &ListType, old: &'v List, new: &'v List) -> Option<Vec<Pair<'v>>> {
    if old.len() != new.len() {
        return None;
    }
    let mut pairs = Some(Vec::new());
    for_each_difference(old, new, |at, before, item| {
        let pair = before.zip(item).and_then(|(before, item)| {
            let element = element_of(list, item).ok()?;
            (element_of(list, before).ok()? == element).then_some((at, element, before, item))
        });
        match (&mut pairs, pair) {
            (Some(pairs), Some(pair)) => pairs.push(pair),
            _ => pairs = None,
        }
    });

    pairs
}

/// Normalizes one union of a struct.
fn normalize(union: &Union, old: UnionState<'_>, new: UnionState<'_>) -> Result<FieldEdits, Fault> {
    let (before, value) = (old.discriminator(), new.discriminator());
    let is_added = |member: &str| new.is_set(member) && !old.is_set(member);
    let clear = |keep: &dyn Fn(&str) -> bool| -> FieldEdits {
        let members = new.set().filter(|field| !keep(&field.field));
        members.map(|field| (field.field.clone(), None)).collect()
    };

    // A client that changes the discriminator decides by it: the members that it does not select are cleared.
    if before != value && !value.is_empty() {
        if union.declares(value) {
            let selected = union.selected_by(value).map(|field| &field.field);
            let is_selected = |member: &str| selected.is_some_and(|selected| *selected == member);
            let other = new
                .set()
                .find(|field| is_added(&field.field) && !is_selected(&field.field));
            return match other {
                Some(other) => Err(contradiction(union, value, &other.field)),
                None => Ok(clear(&is_selected)),
            };
        }

        // The API may define this value, or the schema may be wrong.
        return Ok(if union.closed {
            FieldEdits::new()
        } else {
            clear(&is_added)
        });
    }

    // A respecting union follows a changed discriminator only; an empty value counts if the union declares it.
    if !union.is_deducing() {
        let emptied = before != value && union.declares("");
        return Ok(if emptied {
            clear(&|_| false)
        } else {
            FieldEdits::new()
        });
    }

    // With an unchanged or empty discriminator, the members of a deducing union decide.
    let mut set = new.set();
    match (set.next(), set.next()) {
        (Some(only), None) => {
            // An undeclared value is preserved unless the member is new.
            let overwritten = value.is_empty() || union.declares(value) || is_added(&only.field);
            let deduced = overwritten && only.value != value;
            Ok(if deduced {
                deduce(union, &only.value)
            } else {
                FieldEdits::new()
            })
        }
        (Some(_), Some(_)) => {
            let mut added = new.set().filter(|field| is_added(&field.field));
            match (added.next(), added.next()) {
                (Some(only), None) => {
                    let mut edits = clear(&|member| only.field == member);
                    if only.value != value {
                        edits.extend(deduce(union, &only.value));
                    }
                    Ok(edits)
                }
                _ => Ok(FieldEdits::new()),
            }
        }
        (None, _) => Ok(FieldEdits::new()),
    }
}
