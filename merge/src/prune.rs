//! Pruning: what a manager applied before and does not any more goes, unless another manager owns it or
//! nobody did.
//!
//! The rule is that of the Go package, which computes it from the field sets of whole objects. That is
//! [`Updater::prune_by_sets`]. Nearly always the same follows from looking only at what the manager owned
//! last time and does not mention now; that is [`TypedValue::items_given_up`], and it says when the answer
//! depends on more than it looks at.

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
        hollow: bool,
        version: &ApiVersion,
        managers: &Managers,
        manager: &str,
        last: Option<VersionedSet>,
    ) -> Result<TypedValue, Error> {
        let Some(last) = last.filter(|last| !last.set().is_empty()) else {
            return Ok(merged);
        };
        if !hollow && self.can_look_at_difference(version, managers, &last) {
            let others = managers.iter().filter(|(name, _)| *name != manager);
            let own = managers.get(manager).into_iter();
            let owners: Vec<&Set> =
                own.chain(others.map(|(_, entry)| entry)).map(VersionedSet::set).collect();
            if let Some(gone) = merged.items_given_up(last.set(), &owners) {
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
        let last_fields = named(last.set(), &merged_then);
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
        let mut owned: Vec<(&ApiVersion, Set)> = Vec::new();
        for (_, entry) in managers {
            match owned.iter_mut().find(|(known, _)| *known == entry.api_version()) {
                Some((_, set)) => *set = set.union(entry.set()),
                None => owned.push((entry.api_version(), entry.set().clone())),
            }
        }
        owned.sort_by_key(|(known, _)| (*known != version, *known));
        let mut state = (merged.clone(), pruned, version.clone());
        for (at, owned) in owned {
            let (merged, pruned, from) = &state;
            let (Some(merged), Some(pruned)) =
                (self.convert(merged, from, at)?, self.convert(pruned, from, at)?)
            else {
                continue;
            };
            let all = named(&merged.field_set(), &merged);
            let kept = named(&pruned.field_set(), &pruned).union(&named(&owned, &merged));
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
        let all = named(&merged.field_set(), merged);
        let kept = named(&pruned.field_set(), merged);
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
fn named(set: &Set, object: &TypedValue) -> Set {
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
