//! Merges two lists.

use ahash::{AHashMap, AHashSet};
use fieldmanager_value::{Kind, List, Value};
use std::borrow::Cow;

use super::clean::{self, Nulls};
use super::directive::{self, DirectiveValue, PATCH};
use super::merge::{MergeTarget, Merger};
use super::order::{MergedItem, arrange};
use super::scalar::{Positions, ScalarKey, item_kind, key_of, positions};
use crate::error::{Under, deeper};
use crate::{Error, Fault, PatchSchema};

/// A merged list, and the positions of its items before they were ordered.
pub(super) struct MergedList<'v> {
    pub(super) items: Vec<MergedItem<'v>>,
    /// The order of the object for a `$setElementOrder`. In Go, the merge overwrites the list of the object up to its
    /// length, so an item that was added in the place of a deleted one counts as an item of the object.
    pub(super) server: Positions<'v>,
}

impl<'v> MergedList<'v> {
    /// The same items, as those of a list that replaces another one.
    pub(super) fn replacing(mut self, original: &'v List, merge_key: &str) -> Result<Self, Error> {
        for item in &mut self.items {
            item.from = None;
        }
        let of_maps = original.get(0).is_some_and(|item| item.kind() == Kind::Map);
        self.server = match (of_maps, merge_key.is_empty()) {
            (true, false) => positions(super::scalar::identities(original, merge_key)?),
            _ => positions(original.iter().filter_map(ScalarKey::of)),
        };
        Ok(self)
    }
}

/// The items of a list, unchanged.
pub(super) fn unchanged<'v>(list: &'v List, merge_key: &str) -> Result<MergedList<'v>, Error> {
    let identities = super::scalar::identities(list, merge_key)?;
    let items = list
        .iter()
        .zip(&identities)
        .enumerate()
        .map(|(at, (item, identity))| MergedItem {
            identity: *identity,
            value: Cow::Borrowed(item),
            from: Some(at),
            deletes: is_delete(item),
        })
        .collect();

    Ok(MergedList {
        items,
        server: positions(identities),
    })
}

fn is_delete(item: &Value) -> bool {
    item.get(PATCH).and_then(Value::as_str) == Some("delete")
}

impl Merger {
    /// Merges a list of a patch into one with the strategy `merge`.
    ///
    /// Behaviour: `mergeSlice` in `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.
    pub(super) fn list<'v>(
        &self,
        original: &'v List,
        patch: &'v List,
        merge_key: &'v str,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<MergedList<'v>, Error> {
        let depth = deeper(depth)?;
        if original.is_empty() && patch.is_empty() {
            return Ok(MergedList {
                items: Vec::new(),
                server: Positions::new(),
            });
        }

        self.charge(original.len())?;
        if item_kind(&[original, patch])? != Kind::Map {
            return scalars(original, patch, merge_key);
        }
        if merge_key.is_empty() {
            return Err(Fault::NoDeclaredKey.into());
        }

        self.maps(original, patch, merge_key, schema, depth)
    }

    fn maps<'v>(
        &self,
        original: &'v List,
        patch: &'v List,
        merge_key: &'v str,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<MergedList<'v>, Error> {
        // Items with a directive are not merged: the patch names what is deleted, or that the list is replaced.
        let PatchItems {
            mut plain,
            deleted,
            replace,
        } = patch_items(patch, merge_key)?;
        let size = plain.len() + if replace { 0 } else { original.len() };
        let mut merged = Merging {
            merge_key,
            items: Vec::with_capacity(size),
            index: AHashMap::with_capacity(size),
            touched: AHashSet::with_capacity(plain.len()),
        };

        let before: usize;

        // A replaced list keeps nothing of the object. Otherwise the items of the patch are merged into those that are
        // not deleted.
        if replace {
            for (at, item) in plain.drain(..) {
                let value = self.new_item(item, depth).under_index(at)?;
                merged.push(
                    Cow::Owned(value),
                    None,
                    identity(item, merge_key).under_index(at)?,
                );
            }
            before = merged.items.len();
        } else {
            for (at, item) in original.iter().enumerate() {
                let identity = match identity(item, merge_key).under_index(at)? {
                    Some(identity) if deleted.contains(&identity) => continue,
                    identity => identity,
                };
                merged.push(Cow::Borrowed(item), Some(at), identity);
            }

            before = merged.items.len();
            for (at, item) in &plain {
                let key = key_of(item, merge_key).under_index(*at)?;
                let name = item.get(merge_key).unwrap_or(&Value::Null);
                self.one(&mut merged, item, key, schema, depth)
                    .under_key(merge_key, name)?;
            }
        }

        // The patch determines the order of its own items, and the object that of the others.
        let wanted: Vec<ScalarKey<'_>> = plain
            .iter()
            .filter_map(|(_, item)| identity(item, merge_key).ok().flatten())
            .collect();
        let (items, identities) = merged.finish()?;
        let server = positions(identities.iter().take(before).copied());
        // A `$setElementOrder` sees the items of the object as the merge of Go leaves them, see `MergedList`.
        let backing = if replace {
            positions(original.iter().filter_map(|item| {
                identity(item, merge_key)
                    .ok()
                    .flatten()
                    .filter(|identity| !deleted.contains(identity))
            }))
        } else {
            positions(identities.iter().take(original.len()).copied())
        };

        Ok(MergedList {
            items: arrange(items, &positions(wanted), &server),
            server: backing,
        })
    }

    /// Merges one item into the first one with its key, or adds it.
    fn one<'v>(
        &self,
        merged: &mut Merging<'v>,
        item: &'v Value,
        key: ScalarKey<'v>,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        // Merging an item again is counted, because repeated keys multiply the cost of a patch.
        let again = !merged.touched.insert(key);
        let slot = merged
            .index
            .get(&key)
            .and_then(|at| merged.items.get_mut(*at));
        let Some(TargetItem { value, .. }) = slot else {
            let value = self.new_item(item, depth)?;
            merged.push(Cow::Owned(value), None, Some(key));
            return Ok(());
        };
        let (Value::Map(old), Value::Map(patch)) = (value.as_ref(), item) else {
            return Err(Fault::WrongType {
                expected: "a map",
                found: item.kind(),
            }
            .into());
        };

        let new = if again {
            self.map_again(old, patch, schema, depth)?
        } else {
            self.map(old, patch, schema, depth)?
        };
        let new = Value::Map(new);

        // A merge may remove the key, for example by null. The item could not be identified any more.
        if !new
            .as_map()
            .is_some_and(|map| map.contains(merged.merge_key))
        {
            return Err(Fault::NoMergeKey {
                key: merged.merge_key.to_owned(),
            }
            .into());
        }

        // An unchanged item stays borrowed, so that the list of the object can be edited in place.
        if !new.ptr_eq(value) {
            *value = Cow::Owned(new);
        }
        Ok(())
    }

    /// An item that the list does not have yet. As in Go, its nulls are kept.
    fn new_item(&self, item: &Value, depth: usize) -> Result<Value, Error> {
        match (self.mode(), item) {
            (MergeTarget::Apply, Value::Map(map)) => {
                clean::fields(map, Nulls::Keep, depth).map(Value::Map)
            }
            _ => Ok(item.clone()),
        }
    }
}

/// The items of a patch by their directives.
struct PatchItems<'v> {
    /// The items without a directive, and their positions.
    plain: Vec<(usize, &'v Value)>,
    /// The keys of the deleted items.
    deleted: AHashSet<ScalarKey<'v>>,
    /// Whether the patch replaces the list.
    replace: bool,
}

fn patch_items<'v>(patch: &'v List, merge_key: &str) -> Result<PatchItems<'v>, Error> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut deleted = AHashSet::new();
    let mut replace = false;
    for (at, item) in patch.iter().enumerate() {
        let Some(directive) = item.get(PATCH) else {
            plain.push((at, item));
            continue;
        };
        match directive::patch_directive(
            directive,
            &[DirectiveValue::Replace, DirectiveValue::Delete],
        )
        .under_index(at)?
        {
            DirectiveValue::Delete => {
                deleted.insert(key_of(item, merge_key).under_index(at)?);
            }
            _ => replace = true,
        }
    }

    Ok(PatchItems {
        plain,
        deleted,
        replace,
    })
}

/// The merge key of an item, if it has one.
fn identity<'v>(item: &'v Value, merge_key: &str) -> Result<Option<ScalarKey<'v>>, Fault> {
    match key_of(item, merge_key) {
        Ok(identity) => Ok(Some(identity)),
        Err(Fault::NoMergeKey { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// An item of the list that is merged into.
struct TargetItem<'v> {
    value: Cow<'v, Value>,
    from: Option<usize>,
    identity: Option<ScalarKey<'v>>,
}

/// The list while items are merged into it.
struct Merging<'v> {
    merge_key: &'v str,
    items: Vec<TargetItem<'v>>,
    index: AHashMap<ScalarKey<'v>, usize>,
    /// The keys of the items that the patch added or merged.
    touched: AHashSet<ScalarKey<'v>>,
}

impl<'v> Merging<'v> {
    fn push(
        &mut self,
        value: Cow<'v, Value>,
        from: Option<usize>,
        identity: Option<ScalarKey<'v>>,
    ) {
        if let Some(identity) = identity {
            self.index.entry(identity).or_insert(self.items.len());
        }
        self.items.push(TargetItem {
            value,
            from,
            identity,
        });
    }

    fn finish(self) -> Result<(Vec<MergedItem<'v>>, Vec<ScalarKey<'v>>), Error> {
        let mut items = Vec::with_capacity(self.items.len());
        let mut identities = Vec::with_capacity(self.items.len());
        for (
            at,
            TargetItem {
                value,
                from,
                identity,
            },
        ) in self.items.into_iter().enumerate()
        {
            let missing = || Fault::NoMergeKey {
                key: self.merge_key.to_owned(),
            };
            let identity = identity
                .ok_or_else(missing)
                .under_index(from.unwrap_or(at))?;
            let deletes = is_delete(&value);
            identities.push(identity);
            items.push(MergedItem {
                identity,
                value,
                from,
                deletes,
            });
        }

        Ok((items, identities))
    }
}

/// A list of scalars merged as a set: each value once, in the order of the patch.
fn scalars<'v>(
    original: &'v List,
    patch: &'v List,
    merge_key: &str,
) -> Result<MergedList<'v>, Error> {
    let before = super::scalar::identities(original, merge_key)?;
    let wanted = super::scalar::identities(patch, merge_key)?;
    let server = positions(before.iter().copied());
    let wanted = positions(wanted);
    // Scalars are merged as a set: of equal ones, the first stays.
    let mut known = AHashSet::new();
    let mut items = Vec::new();
    let both = original
        .iter()
        .enumerate()
        .map(|(at, item)| (Some(at), item));

    for (from, item) in both.chain(patch.iter().map(|item| (None, item))) {
        if let Some(identity) = ScalarKey::of(item).filter(|identity| known.insert(*identity)) {
            items.push(MergedItem {
                identity,
                value: Cow::Borrowed(item),
                from,
                deletes: false,
            });
        }
    }

    Ok(MergedList {
        items: arrange(items, &wanted, &server),
        server,
    })
}
