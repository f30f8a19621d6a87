//! Pruning: removes what a manager applied before and no longer applies, unless another manager owns it or it had no
//! owner.
//!
//! The rule is that of the Go package, which computes it from the field sets of whole objects. That is
//! [`Updater::prune_by_sets`]. Nearly always the same follows from looking only at what the manager owned
//! last time and does not mention now; that is [`TypedValue::abandoned_items`], and it says when the answer
//! depends on more than it looks at.

use ahash::AHashMap;
use fieldmanager_fieldpath::{ApiVersion, Filter, Managers, Set, VersionedSet};
use fieldmanager_typed::TypedValue;
use fieldmanager_value::Value;

use crate::converter::ConvertError;
use crate::error::Error;
use crate::updater::Updater;
use crate::versions::optional;

impl Updater {
    /// The merged object, pruned. `managers` has the manager's new set already; `last` is the one before.
    pub(crate) fn prune(
        &self,
        merged: TypedValue,
        shadowed_empty_map: bool,
        version: &ApiVersion,
        managers: &Managers,
        manager: &str,
        last: Option<VersionedSet>,
    ) -> Result<TypedValue, Error> {
        let Some(last) = last.filter(|last| !last.set().is_empty()) else {
            return Ok(merged);
        };
        if !shadowed_empty_map && self.can_look_at_difference(version, managers, &last) {
            let others = managers.iter().filter(|(name, _)| *name != manager);
            let own = managers.get(manager).into_iter();
            let owners: Vec<&Set> =
                own.chain(others.map(|(_, entry)| entry)).map(VersionedSet::set).collect();
            if let Some(gone) = merged.abandoned_items(last.set(), &owners) {
                return Ok(remove(merged, &gone));
            }
        }
        self.prune_by_sets(merged, version, managers, &last)
    }

    /// Whether every manager is at one version, and filters take only whole fields: then a path of the
    /// manager's new set brings its parents and its items' keys with it.
    fn can_look_at_difference(&self, version: &ApiVersion, managers: &Managers, last: &VersionedSet) -> bool {
        let filter_is_plain = match self.filter(version) {
            None => true,
            Some(Filter::Exclude(set)) => only_fields(set),
            Some(Filter::Include(_)) => false,
        };
        filter_is_plain
            && last.api_version() == version
            && managers.iter().all(|(_, entry)| entry.api_version() == version)
    }

    /// The rule itself, by the field sets of whole objects, at every version at which a manager owns
    /// something.
    fn prune_by_sets(
        &self,
        merged: TypedValue,
        version: &ApiVersion,
        managers: &Managers,
        last: &VersionedSet,
    ) -> Result<TypedValue, Error> {
        let Some(merged_then) = self.convert(&merged, version, last.api_version())? else {
            return Ok(merged);
        };
        let last_fields = with_named_fields(last.set(), &merged_then);
        let pruned = merged_then.remove_items(&last_fields);
        let pruned = self.add_back_owned(&merged_then, pruned, last.api_version(), managers)?;
        let pruned = match self.add_back_unowned(&merged_then, pruned, last, &last_fields)? {
            Some(pruned) => pruned,
            None => merged_then,
        };
        Ok(match self.convert(&pruned, last.api_version(), version)? {
            Some(pruned) => pruned,
            None => return Err(missing(version)),
        })
    }

    /// Puts back what pruning removed and any manager owns, version by version; the version of the pruned
    /// object first, since conversion may need fields that were pruned.
    fn add_back_owned(
        &self,
        merged: &TypedValue,
        pruned: TypedValue,
        version: &ApiVersion,
        managers: &Managers,
    ) -> Result<(TypedValue, ApiVersion), Error> {
        let mut by_version: AHashMap<&ApiVersion, Set> = AHashMap::new();
        for (_, entry) in managers {
            let set = by_version.entry(entry.api_version()).or_default();
            *set = set.union(entry.set());
        }
        let mut owned: Vec<(&ApiVersion, Set)> = by_version.into_iter().collect();
        owned.sort_by_key(|(known, _)| (*known != version, *known));
        let mut state = (merged.clone(), pruned, version.clone());
        for (at, owned) in owned {
            let (merged, pruned, from) = &state;
            let (Some(merged), Some(pruned)) =
                (self.convert(merged, from, at)?, self.convert(pruned, from, at)?)
            else {
                continue;
            };
            let all = with_named_fields(&merged.field_set(), &merged);
            let kept =
                with_named_fields(&pruned.field_set(), &pruned).union(&with_named_fields(&owned, &merged));
            let pruned = merged.remove_items(&all.difference(&kept));
            state = (merged, pruned, at.clone());
        }
        Ok((state.1, state.2))
    }

    /// Puts back what pruning removed and the manager did not own last time. None if the version of the
    /// manager's last set does not exist.
    fn add_back_unowned(
        &self,
        merged: &TypedValue,
        (pruned, at): (TypedValue, ApiVersion),
        last: &VersionedSet,
        last_fields: &Set,
    ) -> Result<Option<TypedValue>, Error> {
        let Some(pruned) = self.convert(&pruned, &at, last.api_version())? else {
            return Ok(None);
        };
        let all = with_named_fields(&merged.field_set(), merged);
        let kept = with_named_fields(&pruned.field_set(), merged);
        Ok(Some(merged.remove_items(&all.difference(&kept).intersection(last_fields))))
    }

    /// An object at version `from` at another version; none if there is no such version.
    fn convert(
        &self,
        object: &TypedValue,
        from: &ApiVersion,
        to: &ApiVersion,
    ) -> Result<Option<TypedValue>, Error> {
        if from == to {
            return Ok(Some(object.clone()));
        }
        Ok(optional(self.converter().convert(object, to))?)
    }
}

fn missing(version: &ApiVersion) -> Error {
    Error::Convert(ConvertError::MissingVersion { version: version.clone() })
}

/// A set with the declared fields on the way to its paths, as the fields of an object have them.
fn with_named_fields(set: &Set, object: &TypedValue) -> Set {
    set.ensure_named_fields_are_members(object.ty().schema(), object.ty().id())
}

fn only_fields(set: &Set) -> bool {
    set.nodes().all(|(element, node)| element.as_field().is_some() && only_fields(node.children()))
}

/// Removes items. Where there are none to remove, an object that is empty or atomic as a whole becomes null
/// even so, as it does in the Go package.
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
        Schema::from_yaml(SCHEMA).unwrap().type_named("root").unwrap()
    }

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![(0..3_i64).prop_map(Value::from), Just(Value::Null)]
    }

    fn fields(entries: Vec<(&'static str, Option<Value>)>) -> Value {
        Value::Map(entries.into_iter().filter_map(|(name, value)| Some((name, value?))).collect::<Map>())
    }

    /// Objects of the type, with few names and values so that any two have much in common.
    fn object() -> impl Strategy<Value = Value> {
        let maybe = |strategy: BoxedStrategy<Value>| prop::option::weighted(0.4, strategy);
        let leaf =
            prop_oneof![Just(Value::Null), Just(fields(vec![])), Just(fields(vec![("a", Some(1.into()))]))];
        leaf.prop_recursive(3, 24, 3, move |inner| {
            let labels = prop::collection::btree_map("[x-z]", scalar(), 0..3)
                .prop_map(|entries| Value::Map(entries.into_iter().collect()));
            let tags = prop::collection::btree_set(0..4_i64, 0..3)
                .prop_map(|tags| Value::from(Vec::from_iter(tags)));
            let item = (0..3_i64, prop::option::of(1..3_i64), maybe(inner.clone().boxed()));
            let list = prop::collection::vec(item, 0..3).prop_map(|mut items| {
                items.sort_by_key(|item| (item.0, item.1.unwrap_or(1)));
                items.dedup_by_key(|item| (item.0, item.1.unwrap_or(1)));
                let item = |(a, key, inner): (i64, Option<i64>, _)| {
                    fields(vec![("a", Some(a.into())), ("key", key.map(Value::from)), ("inner", inner)])
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
        fn looking_at_the_difference_gives_what_the_rule_gives(
            (live, config, before) in (object(), object(), object()),
            (other, third, lost) in (object(), object(), object()),
        ) {
            let root = root();
            let typed = |value| TypedValue::new(value, root.clone(), Duplicates::Refuse).unwrap();
            let set = |value| typed(value).field_set();
            let version = ApiVersion::from("v1");
            let entry = |set, applied| VersionedSet::new(set, version.clone(), applied);

            let config = typed(config);
            let (merged, shadowed_empty_map) = typed(live).merge_tracked(&config).unwrap();
            // Sets of others may have holes: what they lost to someone else.
            let managers: Managers = [
                ("me", entry(config.field_set(), true)),
                ("other", entry(set(other), true)),
                ("third", entry(set(third).difference(&set(lost)), false)),
            ]
            .into_iter()
            .collect();
            let last = entry(set(before), true);

            let updater = Updater::builder().build();
            let fast = updater.prune(merged.clone(), shadowed_empty_map, &version, &managers, "me", Some(last.clone()));
            let rule = match last.set().is_empty() {
                true => merged,
                false => updater.prune_by_sets(merged, &version, &managers, &last).unwrap(),
            };
            let fast = fast.unwrap();
            prop_assert_eq!(fast.value(), rule.value());
        }
    }
}
