//! Merges a patch into an object, or into another patch.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use ahash::AHashSet;
use fieldmanager_value::internal::level;
use fieldmanager_value::{Kind, List, Map, Str, Value};

use super::clean::{self, Nulls};
use super::directive::{self, DELETE_FROM_LIST, DirectiveValue, PATCH, RETAIN_KEYS, SET_ORDER};
use super::lists::unchanged;
use super::order::{arrange, build};
use super::scalar::{ScalarKey, identities, item_kind, positions};
use crate::error::{Under, deeper};
use crate::types::Strategy;
use crate::{Error, Fault, PatchSchema};

/// The maximum number of items and fields that a patch may merge again because several items of a list have the same merge
/// key.
///
/// Each such item is merged into the result of the previous one, because the order of the result depends on every step.
/// Without a limit the cost is the number of these items times the size of the merged item.
pub const MAX_MERGED_AGAIN: usize = 1_000_000;

/// The target of a merge.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeTarget {
    /// An object: directives are executed.
    Apply,
    /// Another patch: nulls and the directives of lists are kept.
    Compose,
}

/// Merges patches.
pub(super) struct Merger {
    mode: MergeTarget,
    /// Whether the items being merged were merged before by this patch.
    repeated: Cell<bool>,
    /// The number of items and fields that were merged again.
    merged_again: Cell<usize>,
}

/// A map and its edits.
struct Edited<'m> {
    original: &'m Map,
    edits: BTreeMap<Str, Option<Value>>,
}

impl Edited<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        match self.edits.get(name) {
            Some(edit) => edit.as_ref(),
            None => self.original.get(name),
        }
    }

    /// Sets a field, or removes it. A strictly equal value is kept, so that it stays shared.
    fn set(&mut self, name: &Str, value: Option<Value>) {
        let same = match (self.get(name), &value) {
            (Some(old), Some(new)) => old.strict_eq(new),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.edits.insert(name.clone(), value);
        }
    }

    fn finish(self) -> Map {
        if self.edits.is_empty() {
            return self.original.clone();
        }
        self.original.with_edits(self.edits.into_iter().collect())
    }
}

impl Merger {
    pub(super) fn new(mode: MergeTarget) -> Self {
        Merger {
            mode,
            repeated: Cell::new(false),
            merged_again: Cell::new(0),
        }
    }

    /// Counts the items or fields of a list or map that is merged, if this patch merged it before.
    pub(super) fn charge(&self, size: usize) -> Result<(), Error> {
        if !self.repeated.get() {
            return Ok(());
        }
        let found = self.merged_again.get() + size;
        self.merged_again.set(found);

        if found > MAX_MERGED_AGAIN {
            Err(Fault::MergedAgain {
                limit: MAX_MERGED_AGAIN,
            }
            .into())
        } else {
            Ok(())
        }
    }

    /// Merges a map of a patch into the item that an earlier item of the patch with the same key made.
    pub(super) fn map_again(
        &self,
        original: &Map,
        patch: &Map,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<Map, Error> {
        let outer = self.repeated.replace(true);
        let merged = self.map(original, patch, schema, depth);
        self.repeated.set(outer);
        merged
    }

    pub(super) fn mode(&self) -> MergeTarget {
        self.mode
    }

    /// Merges a map of a patch.
    ///
    /// Behaviour: `mergeMap` in `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.
    pub(super) fn map(
        &self,
        original: &Map,
        patch: &Map,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<Map, Error> {
        let depth = deeper(depth)?;
        level(|| {
            if let Some(directive) = patch.get(PATCH) {
                return self.replaced(directive, patch, depth);
            }
            let mut out = Edited {
                original,
                edits: BTreeMap::new(),
            };
            self.retain_keys(&mut out, patch)?;
            let mut done = BTreeSet::new();

            // Lists with an order come first. They are merged together with their order, so the second pass skips
            // them.
            for (name, value) in patch {
                if name.starts_with(SET_ORDER) {
                    done.extend(self.ordered(&mut out, patch, name, value, schema, depth)?);
                }
            }

            for (name, value) in patch {
                if name == RETAIN_KEYS || name.starts_with(SET_ORDER) || done.contains(name) {
                    continue;
                }
                if name.starts_with(DELETE_FROM_LIST) {
                    self.delete_from_list(&mut out, name, value, schema, depth)?;
                } else {
                    self.field(&mut out, name, value, schema, depth)?;
                }
            }

            Ok(out.finish())
        })
    }

    /// A map with `$patch`.
    fn replaced(&self, directive: &Value, patch: &Map, depth: usize) -> Result<Map, Error> {
        if directive::patch_directive(
            directive,
            &[DirectiveValue::Replace, DirectiveValue::Delete],
        )? == DirectiveValue::Delete
        {
            return Ok(Map::new());
        }
        let mut rest = patch.clone();
        rest.remove(PATCH);
        // A composed patch is still to be applied, so its directives stay.
        match self.mode {
            MergeTarget::Apply => clean::fields(&rest, Nulls::Keep, depth),
            MergeTarget::Compose => Ok(rest),
        }
    }

    /// Clears the fields that `$retainKeys` does not list.
    fn retain_keys(&self, out: &mut Edited<'_>, patch: &Map) -> Result<(), Error> {
        let Some((name, list)) = patch.get_entry(RETAIN_KEYS) else {
            return Ok(());
        };
        // In a composed patch the directive takes effect when the result is applied.
        if self.mode == MergeTarget::Compose {
            return copy_directive(out, name, list);
        }

        self.charge(out.original.len())?;
        let retained: AHashSet<&str> = directive::retained(list, patch)?;
        for (name, _) in out.original {
            if !retained.contains(name.as_str()) {
                out.set(name, None);
            }
        }

        Ok(())
    }

    /// Merges and orders the list of a `$setElementOrder`. Returns the field if the list was merged.
    ///
    /// Behaviour: `mergePatchIntoOriginal` in `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.
    fn ordered(
        &self,
        out: &mut Edited<'_>,
        patch: &Map,
        name: &Str,
        value: &Value,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<Option<Str>, Error> {
        // In a composed patch the order stays, because the items of the object are not known.
        if self.mode == MergeTarget::Compose {
            copy_directive(out, name, value)?;
        }
        let (field, order) = directive::order(name, value)?;
        let list = |value: Option<&Value>| match value {
            None => Ok(None),
            Some(Value::List(list)) => Ok(Some(list.clone())),
            Some(other) => Err(Fault::WrongType {
                expected: "a list",
                found: other.kind(),
            })
            .under_field(field),
        };

        let (old, new) = (list(out.get(field))?, list(patch.get(field))?);
        let (rule, below) = schema.list_field(field).under_field(field)?;
        let (key, empty) = (rule.merge_key, List::new());
        directive::check_order(field, new.as_ref().unwrap_or(&empty), order, key)?;
        let existed = old.is_some();
        self.charge(old.as_ref().map_or(0, List::len))?;
        let (replacing, old) = (new.is_some(), old.unwrap_or_default());
        let new = match new {
            None if !existed => return Ok(None),
            new => new.unwrap_or_default(),
        };
        let cleaned;

        // Without a list in the patch, the order applies to that of the object. A list that is new or replaced is
        // ordered as it is in the patch.
        let merged = if !replacing {
            unchanged(&old, key)
        } else if existed && rule.strategy == Strategy::Merge {
            self.list(&old, &new, key, below, depth)
        } else {
            cleaned = self
                .verbatim_list(&new, !existed, depth)
                .under_field(field)?;
            unchanged(&cleaned, key).and_then(|merged| merged.replacing(&old, key))
        }
        .under_field(field)?;
        let keyless = item_kind(&[&old, &new]).under_field(field)? == Kind::Map && key.is_empty();

        // Maps without a merge key have no identity, so they cannot be ordered.
        if keyless && !(merged.items.is_empty() && order.is_empty() && old.is_empty()) {
            return Err(Fault::NoDeclaredKey).under_field(field);
        }
        if !keyless
            && existed
            && replacing
            && old.get(0).is_some_and(|item| item.kind() == Kind::Map)
        {
            // The order of the object is needed even if none of its items remains.
            identities(&old, key).under_field(field)?;
        }

        let wanted = positions(identities(order, key).under_field(name)?);
        let items = arrange(merged.items, &wanted, &merged.server);
        let field = Str::from(field);
        out.set(&field, Some(Value::List(build(&old, items))));
        Ok(Some(field))
    }

    /// A list of a patch that replaces another one or is new.
    fn verbatim_list(&self, list: &List, new: bool, depth: usize) -> Result<List, Error> {
        let value = Value::List(list.clone());
        let cleaned = match self.mode {
            MergeTarget::Apply => clean::clean(&value, Nulls::Keep, depth)?,
            MergeTarget::Compose if new => clean::without_patch_maps(&value, depth)?,
            MergeTarget::Compose => Some(value),
        };
        Ok(cleaned
            .as_ref()
            .and_then(Value::as_list)
            .cloned()
            .unwrap_or_default())
    }

    /// Deletes values from a list of scalars.
    fn delete_from_list(
        &self,
        out: &mut Edited<'_>,
        name: &Str,
        value: &Value,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        // A composed patch does not know the values of the object, so the deletion stays.
        if self.mode == MergeTarget::Compose {
            out.set(name, Some(value.clone()));
            return Ok(());
        }
        let (field, deleted) = directive::deletion(name, value)?;
        let Some(Value::List(list)) = out.get(field) else {
            return Ok(());
        };

        let (rule, below) = schema.list_field(field).under_field(field)?;
        if list.is_empty() && deleted.is_empty() {
            return Ok(());
        }
        self.charge(list.len())?;
        let kept = if item_kind(&[list, deleted]).under_field(field)? == Kind::Map {
            // The deletion of no values from a list of maps is a merge, so the maps need a merge key.
            let merged = self
                .list(list, deleted, rule.merge_key, below, depth)
                .under_field(field)?;
            build(list, merged.items)
        } else {
            let removed: AHashSet<ScalarKey<'_>> =
                deleted.iter().filter_map(ScalarKey::of).collect();
            list.iter()
                .filter(|item| !ScalarKey::of(item).is_some_and(|item| removed.contains(&item)))
                .cloned()
                .collect()
        };
        let field = Str::from(field);
        out.set(&field, Some(Value::List(kept)));

        Ok(())
    }

    fn field(
        &self,
        out: &mut Edited<'_>,
        name: &Str,
        value: &Value,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        // Null removes a field of an object; in a composed patch it stays, since it has yet to remove one.
        if value.is_null() {
            out.set(
                name,
                if self.mode == MergeTarget::Apply {
                    None
                } else {
                    Some(Value::Null)
                },
            );
            return Ok(());
        }

        // Only two maps or two lists are merged, by the strategy of the field. Any other value replaces the old one.
        let new = match (out.get(name), value) {
            (Some(Value::Map(old)), Value::Map(patch)) => {
                let (rule, below) = schema.map_field(name).under_field(name)?;
                let new = match rule.strategy {
                    Strategy::Replace => self.replacing(patch, depth),
                    _ => self.map(old, patch, below, depth),
                };
                Some(Value::Map(new.under_field(name)?))
            }
            (Some(Value::List(old)), Value::List(patch)) => {
                let (rule, below) = schema.list_field(name).under_field(name)?;
                let new = match rule.strategy {
                    Strategy::Merge => self
                        .list(old, patch, rule.merge_key, below, depth)
                        .map(|merged| build(old, merged.items)),
                    _ => self.verbatim_list(patch, false, depth),
                };
                Some(Value::List(new.under_field(name)?))
            }
            _ => match self.mode {
                MergeTarget::Apply => clean::clean(value, Nulls::Drop, depth),
                MergeTarget::Compose => clean::without_patch_maps(value, depth),
            }
            .under_field(name)?,
        };
        out.set(name, new);

        Ok(())
    }

    /// A map of a patch that replaces another one by strategy.
    fn replacing(&self, patch: &Map, depth: usize) -> Result<Map, Error> {
        match (self.mode, patch.get(PATCH)) {
            (MergeTarget::Compose, _) => Ok(patch.clone()),
            (MergeTarget::Apply, Some(directive)) => self.replaced(directive, patch, depth),
            (MergeTarget::Apply, None) => clean::fields(patch, Nulls::Keep, depth),
        }
    }
}

/// Copies a directive of a patch to the merged patch.
fn copy_directive(out: &mut Edited<'_>, name: &Str, value: &Value) -> Result<(), Error> {
    match out.get(name) {
        Some(old) if !old.strict_eq(value) => Err(Fault::DirectivesDiffer {
            directive: name.to_string(),
        })
        .under_field(name),
        Some(_) => Ok(()),
        None => {
            out.set(name, Some(value.clone()));
            Ok(())
        }
    }
}
