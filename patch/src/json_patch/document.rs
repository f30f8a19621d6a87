//! The document while operations are applied to it.

use fieldmanager_value::{MAX_DEPTH, Str, Value};

use super::fault::OperationFault;
use super::node::{NodeEdit, OpenNode};
use super::operation::{Operation, OperationVerb};
use super::pointer::Pointer;

/// How many bytes of JSON the `copy` operations of one patch may copy in an apiserver with default flags.
pub const MAX_COPY_BYTES: usize = 3 << 20;

pub(super) struct PatchedDocument {
    root: OpenNode,
    copied: usize,
}

impl PatchedDocument {
    pub(super) fn new(original: &Value) -> Self {
        PatchedDocument {
            root: OpenNode::Value(original.clone()),
            copied: 0,
        }
    }

    pub(super) fn finish(self) -> Value {
        self.root.to_value()
    }

    pub(super) fn apply(&mut self, operation: &Operation<'_>) -> Result<(), OperationFault> {
        let Operation { path, value, .. } = operation;
        match (operation.verb, &operation.from) {
            (OperationVerb::Add, _) => {
                check_depth(path, value)?;
                self.edit(path, NodeEdit::Add(OpenNode::Value((*value).clone())))
            }
            (OperationVerb::Remove, _) => self.edit(path, NodeEdit::Remove),
            (OperationVerb::Replace, _) => {
                check_depth(path, value)?;
                if !path.tokens.is_empty() {
                    return self.edit(path, NodeEdit::Replace((*value).clone()));
                }
                if !matches!(value, Value::Map(_) | Value::List(_)) {
                    return Err(OperationFault::RootValue {
                        found: value.kind(),
                    });
                }
                self.root = OpenNode::Value((*value).clone());

                Ok(())
            }
            (OperationVerb::Test, _) => self.test(path, value),
            (OperationVerb::Move, Some(from)) => {
                let node = self.get(from)?;
                self.edit(from, NodeEdit::Remove)?;
                // A value that moves up, or stays at its level, does not nest deeper than before.
                if path.tokens.len() > from.tokens.len() && !node.fits(levels_below(path)) {
                    return Err(OperationFault::TooDeep);
                }
                self.edit(path, NodeEdit::Add(node))
            }
            (OperationVerb::Copy, Some(from)) => {
                let value = self.get(from)?.to_value();
                check_depth(path, &value)?;
                self.copied += value.to_json().len();
                if self.copied > MAX_COPY_BYTES {
                    return Err(OperationFault::CopySize {
                        size: self.copied,
                        limit: MAX_COPY_BYTES,
                    });
                }
                self.edit(path, NodeEdit::Add(OpenNode::Value(value)))
            }
            (OperationVerb::Move | OperationVerb::Copy, None) => {
                Err(OperationFault::NoMember { name: "from" })
            }
        }
    }

    fn test(&self, path: &Pointer<'_>, wanted: &Value) -> Result<(), OperationFault> {
        let found = if path.tokens.is_empty() {
            self.root.clone()
        } else {
            self.get(path)?
        };
        if found.equals(wanted) {
            return Ok(());
        }

        Err(OperationFault::Test {
            path: path.text.to_owned(),
            wanted: wanted.clone(),
            found: found.to_value(),
        })
    }

    /// The value at a path; null for a missing member.
    fn get(&self, pointer: &Pointer<'_>) -> Result<OpenNode, OperationFault> {
        let (parents, last) = pointer.split()?;
        let mut at = self.root.clone();
        for token in parents {
            at = at.child(token).ok_or_else(|| no_parent(pointer))?;
        }

        match (at.child(last), at.len()) {
            (Some(node), _) => Ok(node),
            (None, Some(length)) => Err(OperationFault::Index {
                path: pointer.text.to_owned(),
                length,
            }),
            (None, None) if at.is_map() => Ok(OpenNode::Value(Value::Null)),
            (None, None) => Err(no_parent(pointer)),
        }
    }

    fn edit(&mut self, pointer: &Pointer<'_>, edit: NodeEdit) -> Result<(), OperationFault> {
        let (parents, last) = pointer.split()?;
        let mut at = &mut self.root;
        for token in parents {
            at = at.child_mut(token).ok_or_else(|| no_parent(pointer))?;
        }
        at.open();

        match at {
            OpenNode::Map(map) => match edit {
                NodeEdit::Add(new) => map.set(&Str::from(last), Some(new)),
                NodeEdit::Replace(new) => map.set(&Str::from(last), Some(OpenNode::Value(new))),
                NodeEdit::Remove if map.contains(last) => map.set(&Str::from(last), None),
                NodeEdit::Remove => {
                    return Err(OperationFault::Missing {
                        path: pointer.text.to_owned(),
                    });
                }
            },
            OpenNode::List(list) => {
                let length = list.len();
                list.edit(last, edit).ok_or_else(|| OperationFault::Index {
                    path: pointer.text.to_owned(),
                    length,
                })?;
            }
            OpenNode::Value(_) => return Err(no_parent(pointer)),
        }

        Ok(())
    }
}

fn no_parent(pointer: &Pointer<'_>) -> OperationFault {
    OperationFault::NoParent {
        path: pointer.text.to_owned(),
    }
}

/// The maximum number of levels of a value at a path.
fn levels_below(pointer: &Pointer<'_>) -> usize {
    MAX_DEPTH.saturating_sub(pointer.tokens.len())
}

/// Fails if a value at a path would nest deeper than [`MAX_DEPTH`].
fn check_depth(pointer: &Pointer<'_>, value: &Value) -> Result<(), OperationFault> {
    if OpenNode::Value(value.clone()).fits(levels_below(pointer)) {
        Ok(())
    } else {
        Err(OperationFault::TooDeep)
    }
}
