//! Normalization during apply: of the configuration itself and of the merged object.

use fieldmanager_fieldpath::PathElement;
use fieldmanager_schema::internal::{ListType, MapType, TypeId, Union, has_unions};
use fieldmanager_value::{List, Map, Value};

use super::{FieldEdits, Normalized, UnionState, UnionWalk, contradiction, deduce, granular};
use crate::error::{Error, Fault};
use crate::index::Finder;
use crate::items::{element_of, has_element};
use crate::shape::{Shape, shape};
use crate::typed_value::{KnownProperties, TypedValue};
use crate::validate::position;

impl TypedValue {}

/// Clears the members of a merged object that the configuration made obsolete. A member of a deducing union clears
/// the other members. A discriminator that differs from the live one clears the members that it does not select and
/// that the configuration does not set.
///
/// `self` is the live object. The configuration must be [normalized](normalize_config).
///
/// # Errors
///
/// [`Error::TypesDiffer`].
///
/// ```
/// use fieldmanager_typed::internal::{normalize_applied, normalize_config};
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, TypedValue};
/// use fieldmanager_value::Value;
/// let schema = Schema::from_yaml("
/// types:
/// - name: root
///   map:
///     fields:
///     - {name: a, type: {scalar: numeric}}
///     - {name: b, type: {scalar: numeric}}
///     unions: [{fields: [{fieldName: a}, {fieldName: b}]}]
/// ")?;
/// let root = schema.type_named("root").unwrap();
/// let typed = |yaml| TypedValue::new(Value::from_yaml(yaml).unwrap(), root.clone(), Duplicates::Allow);
/// let live = typed("{a: 1}")?;
/// let config = normalize_config(&live, &typed("{b: 2}")?)?.value;
/// let merged = live.merge(&config)?;
/// let normalized = normalize_applied(&live, &config, &merged)?;
/// assert_eq!(normalized.value.value().to_json(), r#"{"b":2}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn normalize_applied(
    live: &TypedValue,
    config: &TypedValue,
    merged: &TypedValue,
) -> Result<Normalized, Error> {
    live.check_type(config)?;
    live.check_type(merged)?;
    let schema = live.ty.schema();
    let mut walk = UnionWalk::new(schema);
    let value = if has_unions(schema, live.ty.id()) {
        applied(
            &mut walk,
            live.ty.id(),
            Some(&live.value),
            &config.value,
            &merged.value,
        )
    } else {
        None
    };

    // A configuration may leave a struct in a state that an update would not, for example with an empty
    // discriminator. Therefore only an unchanged object is still known to be normalized.
    let untouched = value.is_none() && merged.value.ptr_eq(&live.value);
    let changes = walk.finish()?;
    Ok(Normalized {
        value: TypedValue {
            value: value.unwrap_or_else(|| merged.value.clone()),
            ty: merged.ty.clone(),
            known: KnownProperties {
                normalized: untouched && live.known.normalized,
                ..merged.known
            },
        },
        changes,
    })
}

/// Normalizes the unions of a configuration. If the configuration sets one member of a deducing union but not the
/// discriminator, the discriminator is added to it, so that the applier owns both. If the configuration omits the
/// discriminator entirely, a live value that the schema does not declare is preserved when the member is already
/// set, because the schema may be wrong about that value.
///
/// `self` is the live object.
///
/// # Errors
///
/// [`Error::Invalid`] if the configuration sets more than one member of a union, or a member together with a
/// discriminator that selects another one. [`Error::TypesDiffer`].
///
/// For an example and the order of operations, see [`normalize_applied`].
pub fn normalize_config(
    live: &TypedValue,
    configuration: &TypedValue,
) -> Result<Normalized, Error> {
    live.check_type(configuration)?;
    let schema = live.ty.schema();
    let mut walk = UnionWalk::new(schema);
    let value = if has_unions(schema, live.ty.id()) {
        config(
            &mut walk,
            live.ty.id(),
            Some(&live.value),
            &configuration.value,
        )
    } else {
        None
    };

    let changes = walk.finish()?;
    Ok(Normalized {
        value: TypedValue {
            value: value.unwrap_or_else(|| configuration.value.clone()),
            ty: live.ty.clone(),
            known: configuration.known,
        },
        changes,
    })
}

/// Normalizes a configuration. Returns `None` if nothing changes.
fn config(
    walk: &mut UnionWalk<'_>,
    ty: TypeId,
    live: Option<&Value>,
    value: &Value,
) -> Option<Value> {
    let schema = walk.schema;
    // A struct is normalized together with its fields; of a list only the items are.
    if let Some((map, entries)) = granular(schema, ty, value) {
        return config_fields(walk, map, live.and_then(Value::as_map), entries).map(Value::Map);
    }
    let (Shape::List(list), Value::List(items)) = (shape(schema.atom(ty), Some(value)).1, value)
    else {
        return None;
    };
    if list.atomic || !has_unions(schema, list.element) {
        return None;
    }

    // Whether a discriminator is preserved depends on the live item with the same key.
    let live = live
        .and_then(Value::as_list)
        .and_then(|live| Finder::new(live, list));
    let mut edits = Vec::new();
    for (at, item) in items
        .iter()
        .enumerate()
        .filter(|(_, item)| has_element(list, item))
    {
        let before = live
            .as_ref()
            .and_then(|live| live.find(item))
            .map(|(_, before)| before);
        let element = || element_or_position(list, item, at);
        let changed = walk.child(Some(list.element), element, |walk, ty| {
            config(walk, ty, before, item)
        });
        edits.extend(changed.map(|value| (at, value)));
    }

    (!edits.is_empty()).then(|| Value::List(items.with_edits(edits, Vec::new())))
}

fn config_fields(
    walk: &mut UnionWalk<'_>,
    map: &MapType,
    live: Option<&Map>,
    entries: &Map,
) -> Option<Map> {
    let mut edits = FieldEdits::new();
    for (name, value) in entries {
        let element = || PathElement::Field(name.clone());
        let before = live.and_then(|live| live.get(name));
        let changed = walk.child(map.type_of(name), element, |walk, ty| {
            config(walk, ty, before, value)
        });
        edits.extend(changed.map(|value| (name.clone(), Some(value))));
    }

    let inner = (!edits.is_empty()).then(|| entries.with_edits(edits));

    // The unions of the struct itself come after those of its fields.
    let mut edits = FieldEdits::new();
    for union in &map.unions {
        let state = |fields| UnionState { union, fields };
        match config_union(union, state(live), state(Some(entries))) {
            Ok(more) => edits.extend(more),
            Err(fault) => walk.faults.push(fault),
        }
    }

    walk.edit(inner.as_ref().unwrap_or(entries), edits)
        .or(inner)
}

fn config_union(
    union: &Union,
    live: UnionState<'_>,
    config: UnionState<'_>,
) -> Result<FieldEdits, Fault> {
    let mut set = config.set();
    let Some(member) = set.next() else {
        return Ok(FieldEdits::new());
    };
    // Of two members in one configuration, neither can be preferred.
    if set.next().is_some() {
        let members = config.set().map(|field| field.field.to_string()).collect();
        return Err(Fault::UnionSeveral { members });
    }

    let value = config.discriminator();
    if !config.has_value() {
        // A discriminator in the configuration, even an empty one, replaces the live value, so there is none to
        // preserve.
        let preserved = live.has_value() && !config.has_discriminator();
        let foreign =
            preserved && !union.declares(live.discriminator()) && live.is_set(&member.field);
        let deduces = union.is_deducing() && !foreign;
        return Ok(if deduces {
            deduce(union, &member.value)
        } else {
            FieldEdits::new()
        });
    }

    // A value that the union does not declare selects no member, so it contradicts none.
    let selects_other = union.declares(value) && member.value != value;
    if selects_other {
        Err(contradiction(union, value, &member.field))
    } else {
        Ok(FieldEdits::new())
    }
}

/// Normalizes the merged object by walking the structs of the configuration. Returns `None` if nothing is cleared.
fn applied(
    walk: &mut UnionWalk<'_>,
    ty: TypeId,
    live: Option<&Value>,
    config: &Value,
    merged: &Value,
) -> Option<Value> {
    let schema = walk.schema;
    if let Some((map, entries)) = granular(schema, ty, config) {
        let live = live.and_then(Value::as_map);
        return applied_fields(walk, map, live, entries, merged.as_map()?).map(Value::Map);
    }

    match (shape(schema.atom(ty), Some(config)).1, config, merged) {
        (Shape::List(list), Value::List(items), Value::List(merged)) if !list.atomic => {
            applied_items(walk, list, live.and_then(Value::as_list), items, merged).map(Value::List)
        }
        _ => None,
    }
}

fn applied_fields(
    walk: &mut UnionWalk<'_>,
    map: &MapType,
    live: Option<&Map>,
    config: &Map,
    merged: &Map,
) -> Option<Map> {
    let mut edits = FieldEdits::new();
    for (name, value) in config {
        let Some(merged) = merged.get(name) else {
            continue;
        };
        let element = || PathElement::Field(name.clone());
        let live = live.and_then(|live| live.get(name));
        let changed = walk.child(map.type_of(name), element, |walk, ty| {
            applied(walk, ty, live, value, merged)
        });
        edits.extend(changed.map(|value| (name.clone(), Some(value))));
    }

    let inner = (!edits.is_empty()).then(|| merged.with_edits(edits));
    let mut edits = FieldEdits::new();
    for union in &map.unions {
        let state = |fields| UnionState { union, fields };
        edits.extend(cleared(
            union,
            state(live),
            state(Some(config)),
            state(Some(merged)),
        ));
    }

    walk.edit(inner.as_ref().unwrap_or(merged), edits).or(inner)
}

fn applied_items(
    walk: &mut UnionWalk<'_>,
    list: &ListType,
    live: Option<&List>,
    config: &List,
    merged: &List,
) -> Option<List> {
    if !has_unions(walk.schema, list.element) {
        return None;
    }
    let live = live.and_then(|live| Finder::new(live, list));
    let found = Finder::new(merged, list)?;
    let mut edits = Vec::new();

    // Only an item of the configuration makes a member obsolete, so the others are not visited.
    for item in config.iter().filter(|item| has_element(list, item)) {
        let Some((at, target)) = found.find(item) else {
            continue;
        };
        let before = live
            .as_ref()
            .and_then(|live| live.find(item))
            .map(|(_, before)| before);
        let element = || element_or_position(list, item, at);
        let changed = walk.child(Some(list.element), element, |walk, ty| {
            applied(walk, ty, before, item, target)
        });
        edits.extend(changed.map(|value| (at, value)));
    }

    // The configuration may have another order than the merged list, whose edits are by position.
    edits.sort_by_key(|(at, _)| *at);

    (!edits.is_empty()).then(|| merged.with_edits(edits, Vec::new()))
}

/// The element of an item, or its position if it has none.
fn element_or_position(list: &ListType, item: &Value, at: usize) -> PathElement {
    element_of(list, item).unwrap_or_else(|_| position(at))
}

/// The members of a merged struct that a configuration clears.
fn cleared(
    union: &Union,
    live: UnionState<'_>,
    config: UnionState<'_>,
    merged: UnionState<'_>,
) -> FieldEdits {
    let value = config.discriminator();
    let changes = config.has_value() && value != live.discriminator();
    // In a closed union, validation rejects undeclared values.
    let clears = changes && (union.declares(value) || !union.closed);
    // In a deducing union the member decides, and the discriminator follows.
    let takes_over = union.is_deducing() && config.set().next().is_some();
    if !clears && !takes_over {
        return FieldEdits::new();
    }

    let kept = |member: &fieldmanager_schema::internal::UnionField| {
        config.is_set(&member.field) || (!takes_over && member.value == value)
    };
    let obsolete = merged.set().filter(|member| !kept(member));
    obsolete
        .map(|member| (member.field.clone(), None))
        .collect()
}
