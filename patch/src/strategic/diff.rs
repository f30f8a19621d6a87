//! Creates patches from the differences of two objects.

use fieldmanager_value::internal::{join, level};
use fieldmanager_value::{List, Map, Value};

use super::directive::{DELETE_FROM_LIST, PATCH, RETAIN_KEYS, SET_ORDER};
use crate::error::{Under, deeper};
use crate::types::Strategy;
use crate::{Error, Fault, PatchSchema};

/// The differences that a patch contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffPart {
    All,
    /// Changes and additions.
    Changes,
    Deletions,
}

/// Creates patches.
#[derive(Clone, Copy)]
pub(super) struct Diff {
    pub(super) part: DiffPart,
    /// Whether patches have `$setElementOrder`.
    pub(super) order: bool,
}

impl Diff {
    pub(super) fn changes(self) -> bool {
        self.part != DiffPart::Deletions
    }

    pub(super) fn deletions(self) -> bool {
        self.part != DiffPart::Changes
    }

    /// The differences of two maps; with `retain` also the fields that remain, if there are any differences.
    ///
    /// Behaviour: `diffMaps` in `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.
    pub(super) fn maps(
        self,
        original: &Map,
        modified: &Map,
        schema: PatchSchema<'_>,
        retain: bool,
        depth: usize,
    ) -> Result<Map, Error> {
        let depth = deeper(depth)?;
        level(|| {
            // Each side of a three-way diff needs a part of the differences, so additions and deletions are taken
            // separately.
            let mut patch = Vec::new();
            let mut removed = false;
            for (name, old, new) in join(original, modified) {
                let mut put = |value: Value| patch.push((name.clone(), value));
                match (old, new) {
                    (Some(old), None) => {
                        removed = removed || !old.is_null();
                        if self.deletions() {
                            put(Value::Null);
                        }
                    }
                    (None, Some(new)) => {
                        if self.changes() {
                            put(new.clone());
                        }
                    }
                    (Some(old), Some(new)) if name == PATCH => {
                        for value in [old, new] {
                            if value.as_str().is_none() {
                                return Err(Fault::WrongType {
                                    expected: "a string",
                                    found: value.kind(),
                                })
                                .under_field(PATCH);
                            }
                        }

                        if old != new {
                            put(new.clone());
                        }
                    }
                    (Some(Value::Map(old)), Some(Value::Map(new))) => {
                        if let Some(value) = self
                            .map_field(name, old, new, schema, depth)
                            .under_field(name)?
                        {
                            put(value);
                        }
                    }
                    (Some(Value::List(old)), Some(Value::List(new))) => {
                        let fields = self
                            .list_field(name, old, new, schema, depth)
                            .under_field(name)?;
                        patch.extend(fields.into_iter().map(|(name, value)| (name.into(), value)));
                    }
                    (Some(old), Some(new)) => {
                        if self.changes() && !old.strict_eq(new) {
                            put(new.clone());
                        }
                    }
                    (None, None) => {}
                }
            }

            // The applied patch clears every field that is not listed, so the names that remain are complete, as far
            // as they are not null.
            if retain && (!patch.is_empty() || removed) {
                let names: List = modified
                    .iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(name, _)| name.clone().into())
                    .collect();
                if !names.is_empty() {
                    patch.push((RETAIN_KEYS.into(), Value::List(names)));
                }
            }

            Ok(Map::from_iter(patch))
        })
    }

    fn map_field(
        self,
        name: &str,
        old: &Map,
        new: &Map,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<Option<Value>, Error> {
        let (rule, below) = match schema.look_up(name, false) {
            Ok((rule, below)) => (rule.read()?, below),
            // Equal maps need no rule.
            Err(_) if Value::Map(old.clone()).strict_eq(&Value::Map(new.clone())) => {
                return Ok(None);
            }
            Err(fault) => return Err(fault.into()),
        };

        if rule.strategy == Strategy::Replace {
            return Ok(if self.changes() {
                Some(Value::Map(new.clone()))
            } else {
                None
            });
        }

        let patch = self.maps(old, new, below, rule.retain_keys, depth)?;
        Ok(if patch.is_empty() {
            None
        } else {
            Some(Value::Map(patch))
        })
    }

    /// The fields of the patch for a list: its new items, the scalars to delete, and its order.
    fn list_field(
        self,
        name: &str,
        old: &List,
        new: &List,
        schema: PatchSchema<'_>,
        depth: usize,
    ) -> Result<Vec<(String, Value)>, Error> {
        let same = || Value::List(old.clone()).strict_eq(&Value::List(new.clone()));
        // A field without a rule is an error only if it differs.
        let (rule, below) = match schema.look_up(name, true) {
            Ok((rule, below)) => (rule.read()?, below),
            Err(_) if same() => return Ok(Vec::new()),
            Err(fault) => return Err(fault.into()),
        };
        let mut out = Vec::new();

        // Without the strategy `merge` a list is a leaf.
        if rule.strategy != Strategy::Merge {
            if self.changes() && !same() {
                out.push((name.to_owned(), Value::List(new.clone())));
            }
            return Ok(out);
        }

        let lists = self.lists(old, new, rule, below, depth)?;
        // The patch of a list, the deleted values and the order are fields beside each other.
        for (prefix, list) in [
            ("", lists.patch),
            (DELETE_FROM_LIST, lists.deleted),
            (SET_ORDER, lists.order),
        ] {
            if !list.is_empty() {
                let name = if prefix.is_empty() {
                    name.to_owned()
                } else {
                    format!("{prefix}/{name}")
                };
                out.push((name, Value::List(list)));
            }
        }

        Ok(out)
    }
}
