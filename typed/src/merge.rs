//! Merging of a configuration into an object.

use fieldmanager_fieldpath::PathElement;
use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::{ListType, MapType, TypeId, along};
use fieldmanager_value::internal::{level, seek};
use fieldmanager_value::{List, Map, Value};

use crate::error::{Error, FaultCollector};
use crate::items::element_of;
use crate::shape::{Shape, empty_type, entries, items, scalar_fault, shape};
use crate::typed_value::{KnownProperties, TypedValue};

impl TypedValue {
    /// Merges a configuration into the object.
    ///
    /// Nothing is removed. Leaves of the configuration replace those of the object; maps are merged by field and
    /// associative lists by key. A list keeps the order of the object where the configuration agrees with it. Items in
    /// a different order follow the configuration, and its new items are inserted before the next common item. An empty
    /// or null list or map in the configuration does not clear that of the object.
    ///
    /// # Errors
    ///
    /// [`Error::TypesDiffer`]; [`Error::Invalid`] if the configuration has duplicates, or an item of either value lacks
    /// its key.
    ///
    /// Behaviour: `TypedValue.Merge` of `sigs.k8s.io/structured-merge-diff/v6/typed`.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, TypedValue};
    /// use fieldmanager_value::Value;
    /// let schema = Schema::from_yaml("
    /// types: [{name: set, list: {elementType: {scalar: string}, elementRelationship: associative}}]
    /// ")?;
    /// let set = |yaml| {
    ///     let value = Value::from_yaml(yaml).unwrap();
    ///     TypedValue::new(value, schema.type_named("set").unwrap(), Duplicates::Refuse)
    /// };
    /// // Common items follow the configuration, and new items precede the next common item.
    /// let merged = set("[a, b, c]")?.merge(&set("[new, c, a]")?)?;
    /// assert_eq!(merged.value().to_json(), r#"["b","new","c","a"]"#);
    /// assert_eq!(set("[a]")?.merge(&set("[]")?)?.value().to_json(), r#"["a"]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge(&self, config: &TypedValue) -> Result<TypedValue, Error> {
        Ok(merge_tracked(self, config)?.object)
    }
}

/// Merges like [`merge`](TypedValue::merge), and reports whether the configuration has an empty map where the object has
/// entries.
///
/// # Errors
///
/// Those of [`merge`](TypedValue::merge).
///
/// ```
/// use fieldmanager_typed::internal::merge_tracked;
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, TypedValue};
/// use fieldmanager_value::Value;
/// let value = |yaml| Value::from_yaml(yaml).unwrap();
/// let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
/// let live = typed("{labels: {app: web}}")?;
/// let merged = merge_tracked(&live, &typed("{labels: {}}")?)?;
/// assert!(merged.shadowed_empty_map && merged.object.value() == live.value());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge_tracked(live: &TypedValue, config: &TypedValue) -> Result<MergedValue, Error> {
    live.check_type(config)?;
    let mut merge = Merge {
        schema: live.ty.schema(),
        live: live.known,
        config: config.known,
        faults: FaultCollector::default(),
        shadowed_empty_map: false,
    };
    let value = merge.values(live.ty.id(), Some(&live.value), &config.value);
    merge.faults.check()?;
    let value = match value {
        Some(MergedPart::Other(value)) => value,
        Some(MergedPart::Live) => live.value.clone(),
        None => Value::Null,
    };

    let object = TypedValue {
        value,
        ty: live.ty.clone(),
        known: live.known.and(config.known),
    };
    Ok(MergedValue {
        object,
        shadowed_empty_map: merge.shadowed_empty_map,
    })
}

/// The result of [`merge_tracked`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MergedValue {
    /// The merged object.
    pub object: TypedValue,
    /// Whether the configuration has an empty map where the object has entries.
    pub shadowed_empty_map: bool,
}

/// The outcome of merging a part of the object.
pub(crate) enum MergedPart {
    /// The part is unchanged.
    Live,
    /// The part is replaced.
    Other(Value),
}

pub(crate) struct Merge<'s> {
    pub(crate) schema: &'s Schema,
    /// The known properties of the object and the configuration, which determine the parts to check for faults.
    pub(crate) live: KnownProperties,
    pub(crate) config: KnownProperties,
    pub(crate) faults: FaultCollector,
    shadowed_empty_map: bool,
}

impl Merge<'_> {
    /// Returns the merged value, or `None` after a fault.
    pub(crate) fn values(
        &mut self,
        ty: TypeId,
        live: Option<&Value>,
        config: &Value,
    ) -> Option<MergedPart> {
        let Some(live) = live else {
            // A part that is only copied is checked as merging would, unless it is known to have no faults.
            if !(self.config.keyed && self.config.unique) {
                self.check(ty, config, true);
            }
            return Some(MergedPart::Other(config.clone()));
        };

        let atom = self.schema.atom(ty);
        let (live_kinds, live_shape) = shape(atom, Some(live));
        let (config_kinds, config_shape) = shape(atom, Some(config));
        if live_kinds != config_kinds && !self.live.keyed {
            // The object is replaced by a value of another kind, but its faults still count.
            match live_shape {
                Shape::List(list) if !list.atomic => {
                    if let Some(items) = items(Some(live)) {
                        self.check_items(list, items, false);
                    }
                }
                Shape::Map(map) if !map.atomic => {
                    if let Some(entries) = entries(Some(live)) {
                        self.check_entries(map, entries, false);
                    }
                }
                _ => {}
            }
        }

        // As in Go, an empty or null list or map in the configuration does not clear that of the object.
        match config_shape {
            Shape::Scalar(scalar) => {
                let faults = (
                    scalar_fault(scalar, Some(live)),
                    scalar_fault(scalar, Some(config)),
                );
                if let (Some(_), Some(fault)) = faults {
                    self.faults.push(fault);
                    return None;
                }
                Some(leaf(live, config))
            }
            Shape::List(list) => match (items(Some(live)), items(Some(config))) {
                (None, None) => Some(leaf(live, config)),
                _ if list.atomic => Some(leaf(live, config)),
                (Some(old), None) => {
                    if !self.live.keyed {
                        self.check_items(list, old, false);
                    }
                    Some(MergedPart::Live)
                }
                (None, Some(new)) => {
                    if !(self.config.keyed && self.config.unique) {
                        self.check_items(list, new, true);
                    }
                    Some(MergedPart::Other(config.clone()))
                }
                (Some(old), Some(new)) => {
                    let merged = level(|| self.lists(list, old, new))?;
                    Some(if merged.ptr_eq(old) {
                        MergedPart::Live
                    } else {
                        MergedPart::Other(Value::List(merged))
                    })
                }
            },
            Shape::Map(map) => match (entries(Some(live)), entries(Some(config))) {
                (None, None) => Some(leaf(live, config)),
                _ if map.atomic => Some(leaf(live, config)),
                (Some(old), None) => {
                    self.shadowed_empty_map = true;
                    if !self.live.keyed {
                        self.check_entries(map, old, false);
                    }
                    Some(MergedPart::Live)
                }
                (None, Some(new)) => {
                    if !(self.config.keyed && self.config.unique) {
                        self.check_entries(map, new, true);
                    }
                    Some(MergedPart::Other(config.clone()))
                }
                (Some(old), Some(new)) => Some(level(|| self.maps(map, old, new))),
            },
            Shape::Nothing => {
                self.faults.push(empty_type(atom));
                None
            }
        }
    }

    fn maps(&mut self, map: &MapType, live: &Map, config: &Map) -> MergedPart {
        let mut edits = Vec::new();
        let mut seek = seek(live);
        let mut along = along(map);
        for (name, value) in config {
            let old = seek.get(name.as_str()).map(|(_, old)| old);
            if let Some(old) = old
                && old.is_scalar()
                && self.live.keyed
                && self.config.keyed
                && old.strict_eq(value)
            {
                // Most of the applied fields are unchanged scalars, whose type is irrelevant.
                continue;
            }

            let mark = self.faults.mark();
            let merged = match along.type_of(name) {
                Some(ty) => self.values(ty, old, value),
                None => {
                    let fault = crate::Fault::NotDeclared {
                        nearest: Vec::new(),
                    };
                    self.faults.push(fault);
                    None
                }
            };
            self.faults
                .prefix(mark, || PathElement::Field(name.clone()));

            if let Some(MergedPart::Other(merged)) = merged {
                edits.push((name.clone(), Some(merged)));
            }
        }

        // The fields that the configuration lacks are not merged, but their faults count too.
        if !self.live.keyed {
            for (name, value) in live {
                if let (None, Some(ty)) = (config.get(name), map.type_of(name)) {
                    let mark = self.faults.mark();
                    self.check(ty, value, false);
                    self.faults
                        .prefix(mark, || PathElement::Field(name.clone()));
                }
            }
        }

        // An unchanged map stays shared with the live object, so that later walks skip it.
        if edits.is_empty() {
            MergedPart::Live
        } else {
            MergedPart::Other(Value::Map(live.with_edits(edits)))
        }
    }

    /// Checks for the faults that merging the value with an absent one would report: items without keys and, in a
    /// configuration, duplicates.
    fn check(&mut self, ty: TypeId, value: &Value, config: bool) {
        match shape(self.schema.atom(ty), Some(value)).1 {
            Shape::List(list) if !list.atomic => {
                if let Some(items) = value.as_list() {
                    self.check_items(list, items, config);
                }
            }
            Shape::Map(map) if !map.atomic => {
                if let Some(entries) = value.as_map() {
                    self.check_entries(map, entries, config);
                }
            }
            _ => {}
        }
    }

    fn check_entries(&mut self, map: &MapType, entries: &Map, config: bool) {
        let mut along = along(map);
        for (name, value) in entries {
            if let Some(ty) = along.type_of(name) {
                let mark = self.faults.mark();
                self.check(ty, value, config);
                self.faults
                    .prefix(mark, || PathElement::Field(name.clone()));
            }
        }
    }

    pub(crate) fn check_items(&mut self, list: &ListType, items: &List, config: bool) {
        // Only a configuration must not have duplicates; a live object may.
        let mut seen = std::collections::BTreeSet::new();
        for (at, item) in items.iter().enumerate() {
            match element_of(list, item) {
                Ok(element) => {
                    let mark = self.faults.mark();
                    self.check(list.element, item, config);
                    self.faults.prefix(mark, || element.clone());
                    if config && !seen.insert(element.clone()) {
                        self.faults.push_at(element, crate::Fault::Duplicate);
                    }
                }
                Err(fault) => {
                    let place = crate::validate::position(at);
                    self.faults.push_at(place, crate::Fault::Item(fault));
                }
            }
        }
    }
}

/// The leaf of the configuration, or that of the object if both are strictly equal, to preserve sharing.
fn leaf(live: &Value, config: &Value) -> MergedPart {
    if live.strict_eq(config) {
        MergedPart::Live
    } else {
        MergedPart::Other(config.clone())
    }
}
