//! Pruning: removes what a manager applied before and no longer applies, unless another manager owns it or it had no
//! owner.
//!
//! The Go package computes this from the field sets of whole objects, as [`Pruning::by_sets`] does. In most cases the
//! difference between the manager's last set and its new one gives the same result:
//! [`TypedValue::abandoned_items`] returns `None` where the result depends on more than that.

use ahash::AHashMap;
use fieldmanager_fieldpath::internal::add_declared_fields;
use fieldmanager_fieldpath::{ApiVersion, Filter, Owners, Set, VersionedSet};
use fieldmanager_typed::TypedValue;
use fieldmanager_typed::internal::abandoned_items;
use fieldmanager_value::Value;

use crate::converter::ConvertError;
use crate::error::Error;
use crate::settings::Settings;
use crate::versions::optional;

/// The pruning step of an apply.
pub(crate) struct Pruning<'p> {
    pub(crate) settings: &'p Settings,
    /// The version of the apply.
    pub(crate) version: &'p ApiVersion,
    /// The owners, in which the manager has its new set.
    pub(crate) owners: &'p Owners,
    pub(crate) manager: &'p str,
    /// What the manager owned before.
    pub(crate) last: &'p VersionedSet,
}

/// An object and the version that it is at.
struct AtVersion {
    object: TypedValue,
    version: ApiVersion,
}

impl Pruning<'_> {
    /// The merged object without what the manager abandoned.
    pub(crate) fn prune(
        &self,
        merged: TypedValue,
        shadowed_empty_map: bool,
    ) -> Result<TypedValue, Error> {
        if !shadowed_empty_map && self.difference_suffices() {
            let others = self.owners.iter().filter(|(name, _)| *name != self.manager);
            let own = self.owners.get(self.manager).into_iter();
            let owners: Vec<&Set> = own
                .chain(others.map(|(_, entry)| entry))
                .map(VersionedSet::set)
                .collect();
            if let Some(gone) = abandoned_items(&merged, self.last.set(), &owners) {
                return Ok(remove(merged, &gone));
            }
        }

        self.by_sets(merged)
    }

    /// Whether all managers are at one version and filters take only whole fields. Then a set that has a path also has its
    /// parents and the keys of its items.
    fn difference_suffices(&self) -> bool {
        let whole_fields = match self.settings.filter(self.version) {
            None => true,
            Some(Filter::Exclude(set)) => only_fields(set),
            Some(Filter::Include(_)) => false,
        };
        whole_fields
            && self.last.api_version() == self.version
            && self
                .owners
                .iter()
                .all(|(_, entry)| entry.api_version() == self.version)
    }

    /// Prunes by the field sets of whole objects, at every version at which a manager owns fields.
    fn by_sets(&self, merged: TypedValue) -> Result<TypedValue, Error> {
        // The last set is valid at its own version, so its items are removed there.
        let last_version = self.last.api_version();
        let Some(merged_then) = self.convert(&merged, self.version, last_version)? else {
            return Ok(merged);
        };
        let last_fields = with_named_fields(self.last.set(), &merged_then);

        // The removal goes too far: what another manager owns, and what the manager did not own, is put back.
        let pruned = merged_then.remove_items(&last_fields);
        let pruned = self.add_back_owned(&merged_then, pruned)?;
        let pruned = match self.add_back_unowned(&merged_then, pruned, &last_fields)? {
            Some(pruned) => pruned,
            None => merged_then,
        };

        self.convert(&pruned, last_version, self.version)?
            .ok_or_else(|| {
                Error::Convert(ConvertError::MissingVersion {
                    version: self.version.clone(),
                })
            })
    }

    /// Puts back what pruning removed and any manager owns, version by version. The version of the pruned object is the
    /// first, because conversion may need fields that were pruned.
    fn add_back_owned(&self, merged: &TypedValue, pruned: TypedValue) -> Result<AtVersion, Error> {
        let first = self.last.api_version();
        let mut by_version: AHashMap<&ApiVersion, Set> = AHashMap::new();
        // The sets at one version are united, so that the object is converted once for each.
        for (_, entry) in self.owners {
            let set = by_version.entry(entry.api_version()).or_default();
            *set = set.union(entry.set());
        }

        let mut owned: Vec<(&ApiVersion, Set)> = by_version.into_iter().collect();
        owned.sort_by_key(|(version, _)| (*version != first, *version));
        let mut merged = merged.clone();
        let mut pruned = AtVersion {
            object: pruned,
            version: first.clone(),
        };

        for (version, owned) in owned {
            let from = &pruned.version;
            let (Some(merged_there), Some(pruned_there)) = (
                self.convert(&merged, from, version)?,
                self.convert(&pruned.object, from, version)?,
            ) else {
                continue;
            };

            // A field stays if it survived so far or if a manager at this version owns it.
            let all = with_named_fields(&merged_there.field_set(), &merged_there);
            let kept = with_named_fields(&pruned_there.field_set(), &pruned_there)
                .union(&with_named_fields(&owned, &merged_there));
            let object = merged_there.remove_items(&all.difference(&kept));
            pruned = AtVersion {
                object,
                version: version.clone(),
            };
            merged = merged_there;
        }

        Ok(pruned)
    }

    /// Puts back what pruning removed and the manager did not own last time. `None` if the version of the manager's last
    /// set does not exist.
    fn add_back_unowned(
        &self,
        merged: &TypedValue,
        pruned: AtVersion,
        last_fields: &Set,
    ) -> Result<Option<TypedValue>, Error> {
        let last_version = self.last.api_version();
        let Some(pruned) = self.convert(&pruned.object, &pruned.version, last_version)? else {
            return Ok(None);
        };
        // Only fields of the last set may be missing, whatever the conversions leave out.
        let all = with_named_fields(&merged.field_set(), merged);
        let kept = with_named_fields(&pruned.field_set(), merged);
        Ok(Some(merged.remove_items(
            &all.difference(&kept).intersection(last_fields),
        )))
    }

    /// An object at another version; `None` if the version does not exist.
    fn convert(
        &self,
        object: &TypedValue,
        from: &ApiVersion,
        to: &ApiVersion,
    ) -> Result<Option<TypedValue>, Error> {
        if from == to {
            return Ok(Some(object.clone()));
        }
        Ok(optional(self.settings.converter().convert(object, to))?)
    }
}

/// The set with the declared fields on the way to its paths, as the field set of an object has them.
fn with_named_fields(set: &Set, object: &TypedValue) -> Set {
    add_declared_fields(set, object.ty().schema(), object.ty().id())
}

fn only_fields(set: &Set) -> bool {
    set.nodes()
        .all(|(element, node)| element.as_field().is_some() && only_fields(node.children()))
}

/// Removes items from an object. As in the Go package, an object that is empty or atomic becomes null even if there are no
/// items to remove.
fn remove(object: TypedValue, items: &Set) -> TypedValue {
    match object.value() {
        Value::List(_) | Value::Map(_) => object.remove_items(items),
        _ => object,
    }
}

#[cfg(test)]
mod tests {
    use fieldmanager_schema::{Schema, Type};
    use fieldmanager_typed::Duplicates;
    use fieldmanager_typed::internal::merge_tracked;
    use fieldmanager_value::{List, Map};
    use proptest::prelude::*;

    use super::*;

    const SCHEMA: &str = "
types:
- name: root
  map:
    fields:
    - {name: a, type: {scalar: untyped}}
    - {name: b, type: {scalar: untyped}}
    - {name: inner, type: {namedType: root}}
    - {name: whole, type: {namedType: root, elementRelationship: atomic}}
    - {name: labels, type: {map: {elementType: {scalar: untyped}}}}
    - name: list
      type: {list: {elementType: {namedType: item}, elementRelationship: associative, keys: [a, key]}}
    - {name: tags, type: {list: {elementType: {scalar: untyped}, elementRelationship: associative}}}
- name: item
  map:
    fields:
    - {name: a, type: {scalar: untyped}}
    - {name: key, type: {scalar: untyped}, default: 1}
    - {name: inner, type: {namedType: root}}
";

    fn root() -> Type {
        Schema::from_yaml(SCHEMA)
            .unwrap()
            .type_named("root")
            .unwrap()
    }

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![(0..3_i64).prop_map(Value::from), Just(Value::Null)]
    }

    fn fields(entries: Vec<(&'static str, Option<Value>)>) -> Value {
        Value::Map(
            entries
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)))
                .collect::<Map>(),
        )
    }

    /// Objects with few names and values, so that any two have much in common.
    fn object() -> impl Strategy<Value = Value> {
        let maybe = |strategy: BoxedStrategy<Value>| prop::option::weighted(0.4, strategy);
        let leaf = prop_oneof![
            Just(Value::Null),
            Just(fields(vec![])),
            Just(fields(vec![("a", Some(1.into()))]))
        ];
        leaf.prop_recursive(3, 24, 3, move |inner| {
            let labels = prop::collection::btree_map("[x-z]", scalar(), 0..3)
                .prop_map(|entries| Value::Map(entries.into_iter().collect()));
            let tags = prop::collection::btree_set(0..4_i64, 0..3)
                .prop_map(|tags| Value::from(Vec::from_iter(tags)));
            let item = (
                0..3_i64,
                prop::option::of(1..3_i64),
                maybe(inner.clone().boxed()),
            );
            let list = prop::collection::vec(item, 0..3).prop_map(|mut items| {
                items.sort_by_key(|item| (item.0, item.1.unwrap_or(1)));
                items.dedup_by_key(|item| (item.0, item.1.unwrap_or(1)));
                let item = |(a, key, inner): (i64, Option<i64>, _)| {
                    fields(vec![
                        ("a", Some(a.into())),
                        ("key", key.map(Value::from)),
                        ("inner", inner),
                    ])
                };
                Value::List(items.into_iter().map(item).collect::<List>())
            });
            (
                maybe(scalar().boxed()),
                maybe(scalar().boxed()),
                maybe(inner.clone().boxed()),
                maybe(inner.boxed()),
                maybe(labels.boxed()),
                maybe(list.boxed()),
                maybe(tags.boxed()),
            )
                .prop_map(|(a, b, inner, whole, labels, list, tags)| {
                    fields(vec![
                        ("a", a),
                        ("b", b),
                        ("inner", inner),
                        ("whole", whole),
                        ("labels", labels),
                        ("list", list),
                        ("tags", tags),
                    ])
                })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn pruning_by_the_difference_equals_pruning_by_sets(
            (live, config, before) in (object(), object(), object()),
            (other, third, lost) in (object(), object(), object()),
        ) {
            let root = root();
            let typed = |value| TypedValue::new(value, root.clone(), Duplicates::Refuse).unwrap();
            let set = |value| typed(value).field_set();
            let version = ApiVersion::from("v1");
            let entry = |set, applied| VersionedSet::new(set, version.clone(), applied);

            let config = typed(config);
            let merged = merge_tracked(&typed(live), &config).unwrap();
            // Sets of others may lack fields that they lost to other managers.
            let owners: Owners = [
                ("me", entry(config.field_set(), true)),
                ("other", entry(set(other), true)),
                ("third", entry(set(third).difference(&set(lost)), false)),
            ]
            .into_iter()
            .collect();
            let last = entry(set(before), true);

            let settings =
                Settings { converter: None, filters: Vec::new(), return_input_on_noop: false, unions: true };
            let pruning =
                Pruning { settings: &settings, version: &version, owners: &owners, manager: "me", last: &last };
            if last.set().is_empty() {
                return Ok(());
            }
            let fast = pruning.prune(merged.object.clone(), merged.shadowed_empty_map);
            let plain = pruning.by_sets(merged.object).unwrap();
            let fast = fast.unwrap();
            prop_assert_eq!(fast.value(), plain.value());
        }
    }
}
