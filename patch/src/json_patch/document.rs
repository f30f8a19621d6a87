//! The document while operations are applied to it.

use std::borrow::Cow;

use fieldmanager_value::{List, ListBuilder, MAX_DEPTH, Str, Value};

use super::operation::{Operation, Verb};
use super::pointer::{Pointer, index};
use super::{MAX_COPY_BYTES, OperationFault};

pub(super) struct Document {
    root: Value,
    copied: usize,
}

/// What happens to a member or an item.
enum Edit {
    Add(Value),
    Replace(Value),
    Remove,
}

impl Document {
    pub(super) fn new(original: &Value) -> Self {
        Document { root: original.clone(), copied: 0 }
    }

    pub(super) fn finish(self) -> Value {
        self.root
    }

    pub(super) fn apply(&mut self, operation: &Operation<'_>) -> Result<(), OperationFault> {
        let Operation { path, value, .. } = operation;
        match (operation.verb, &operation.from) {
            (Verb::Add, _) => {
                check_depth(path, value)?;
                self.edit(path, Edit::Add((*value).clone()))
            }
            (Verb::Remove, _) => self.edit(path, Edit::Remove),
            (Verb::Replace, _) => {
                check_depth(path, value)?;
                if !path.tokens.is_empty() {
                    return self.edit(path, Edit::Replace((*value).clone()));
                }
                if !matches!(value, Value::Map(_) | Value::List(_)) {
                    return Err(OperationFault::RootValue { found: value.kind() });
                }
                self.root = (*value).clone();
                Ok(())
            }
            (Verb::Test, _) => self.test(path, value),
            (Verb::Move, Some(from)) => {
                let value = self.get(from)?;
                self.edit(from, Edit::Remove)?;
                // On its own level or above, the value is not deeper than it was.
                if path.tokens.len() > from.tokens.len() {
                    check_depth(path, &value)?;
                }
                self.edit(path, Edit::Add(value))
            }
            (Verb::Copy, Some(from)) => {
                let value = self.get(from)?;
                check_depth(path, &value)?;
                self.copied += value.to_json().len();
                if self.copied > MAX_COPY_BYTES {
                    return Err(OperationFault::CopySize { size: self.copied, limit: MAX_COPY_BYTES });
                }
                self.edit(path, Edit::Add(value))
            }
            (Verb::Move | Verb::Copy, None) => Err(OperationFault::NoMember { name: "from" }),
        }
    }

    fn test(&self, path: &Pointer<'_>, wanted: &Value) -> Result<(), OperationFault> {
        let found = if path.tokens.is_empty() { self.root.clone() } else { self.get(path)? };
        if found == *wanted {
            return Ok(());
        }
        Err(OperationFault::Test { path: path.text.to_owned(), wanted: wanted.clone(), found })
    }

    /// The value at a place; null for a member that is not there.
    fn get(&self, pointer: &Pointer<'_>) -> Result<Value, OperationFault> {
        let (parents, last) = pointer.split()?;
        let mut at = &self.root;
        for token in parents {
            at = step(at, token).ok_or_else(|| no_parent(pointer))?;
        }
        match at {
            Value::Map(map) => Ok(map.get(last).cloned().unwrap_or_default()),
            Value::List(list) => index(last, list.len())
                .and_then(|at| list.get(at))
                .cloned()
                .ok_or_else(|| out_of_list(pointer, list)),
            _ => Err(no_parent(pointer)),
        }
    }

    fn edit(&mut self, pointer: &Pointer<'_>, edit: Edit) -> Result<(), OperationFault> {
        let (parents, last) = pointer.split()?;
        self.root = edited(&self.root, parents, last, edit, pointer)?;
        Ok(())
    }
}

fn step<'v>(value: &'v Value, token: &str) -> Option<&'v Value> {
    match value {
        Value::Map(map) => map.get(token),
        Value::List(list) => list.get(index(token, list.len())?),
        _ => None,
    }
}

fn no_parent(pointer: &Pointer<'_>) -> OperationFault {
    OperationFault::NoParent { path: pointer.text.to_owned() }
}

fn out_of_list(pointer: &Pointer<'_>, list: &List) -> OperationFault {
    OperationFault::Index { path: pointer.text.to_owned(), length: list.len() }
}

/// The value with the edit in it. It goes no deeper than a pointer may have tokens.
fn edited(
    value: &Value,
    parents: &[Cow<'_, str>],
    last: &str,
    edit: Edit,
    pointer: &Pointer<'_>,
) -> Result<Value, OperationFault> {
    let Some((token, rest)) = parents.split_first() else {
        return edited_here(value, last, edit, pointer);
    };
    let below = step(value, token).ok_or_else(|| no_parent(pointer))?;
    let below = edited(below, rest, last, edit, pointer)?;
    match value {
        Value::Map(map) => Ok(Value::Map(map.with_edits(vec![(Str::from(token.as_ref()), Some(below))]))),
        Value::List(list) => {
            let at = index(token, list.len()).ok_or_else(|| no_parent(pointer))?;
            Ok(Value::List(list.with_edits(vec![(at, below)], Vec::new())))
        }
        _ => Err(no_parent(pointer)),
    }
}

fn edited_here(
    value: &Value,
    last: &str,
    edit: Edit,
    pointer: &Pointer<'_>,
) -> Result<Value, OperationFault> {
    match value {
        Value::Map(map) => {
            let new = match edit {
                Edit::Add(new) | Edit::Replace(new) => Some(new),
                Edit::Remove if map.contains(last) => None,
                Edit::Remove => return Err(OperationFault::Missing { path: pointer.text.to_owned() }),
            };
            Ok(Value::Map(map.with_edits(vec![(Str::from(last), new)])))
        }
        Value::List(list) => edited_list(list, last, edit, pointer).map(Value::List),
        _ => Err(no_parent(pointer)),
    }
}

fn edited_list(list: &List, last: &str, edit: Edit, pointer: &Pointer<'_>) -> Result<List, OperationFault> {
    let outside = || out_of_list(pointer, list);
    match edit {
        Edit::Replace(new) => {
            let at = index(last, list.len()).ok_or_else(outside)?;
            Ok(list.with_edits(vec![(at, new)], Vec::new()))
        }
        Edit::Remove => {
            let mut list = list.clone();
            let at = index(last, list.len()).ok_or_else(outside)?;
            list.remove(at);
            Ok(list)
        }
        Edit::Add(new) => {
            let length = list.len();
            let at = if last == "-" { Some(length) } else { index(last, length + 1) }.ok_or_else(outside)?;
            if at == length {
                return Ok(list.with_edits(Vec::new(), vec![new]));
            }
            let mut out = ListBuilder::with_capacity(length + 1);
            let mut new = Some(new);
            for (position, item) in list.iter().enumerate() {
                if position == at
                    && let Some(new) = new.take()
                {
                    out.push(new);
                }
                out.push(item.clone());
            }
            Ok(out.build())
        }
    }
}

/// Whether a value can be put at a place without the document becoming too deep.
fn check_depth(pointer: &Pointer<'_>, value: &Value) -> Result<(), OperationFault> {
    fn fits(value: &Value, levels: usize) -> bool {
        match value {
            Value::Map(map) => levels > 0 && map.iter().all(|(_, value)| fits(value, levels - 1)),
            Value::List(list) => levels > 0 && list.iter().all(|item| fits(item, levels - 1)),
            _ => true,
        }
    }
    let levels = MAX_DEPTH.saturating_sub(pointer.tokens.len());
    if fits(value, levels) { Ok(()) } else { Err(OperationFault::TooDeep) }
}
