//! The document while operations are applied to it.

use fieldmanager_value::{MAX_DEPTH, Map, Str, Value};

use super::fault::OperationFault;
use super::node::{NodeEdit, OpenNode};
use super::operation::{Operation, OperationVerb};
use super::pointer::Pointer;
use crate::{Error, Fault};

/// The maximum number of operations of a patch in an API server.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many bytes of JSON the `copy` operations of one patch may copy in an apiserver with default flags.
pub const MAX_COPY_BYTES: usize = 3 << 20;

pub(super) struct PatchedDocument {
    root: OpenNode,
    copied: usize,
    nulls: PatchNulls,
}

/// What a null value of an operation is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchNulls {
    /// No value.
    Absent,
    /// A value that is passed and compared as an empty map, as in policies.
    Typed,
}

/// Applies the patch of a policy, as `json_patch::apply` does, but an operation whose value is null sets one that later
/// operations pass as an empty map, and a test for null holds for what is empty, and not for what is missing.
///
/// # Errors
///
/// Those of `json_patch::apply`.
///
/// Behaviour: `Patch.Apply` of `gopkg.in/evanphx/json-patch.v4`, with the operations of `jsonPatcher.evaluatePatchExpression` of
/// `k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch`, whose nulls are values.
pub fn apply_of_policy(original: &Value, patch: &Value) -> Result<Value, Error> {
    apply_with(original, patch, PatchNulls::Typed)
}

/// Applies a patch to a document, with a choice of what its nulls are.
pub(super) fn apply_with(
    original: &Value,
    patch: &Value,
    nulls: PatchNulls,
) -> Result<Value, Error> {
    let operations = match patch {
        Value::List(operations) => operations,
        // Go reads null as an empty list.
        Value::Null => return Ok(original.clone()),
        other => {
            return Err(Fault::Operations {
                found: other.kind(),
            }
            .into());
        }
    };

    for operation in operations {
        if !matches!(operation, Value::Map(_) | Value::Null) {
            return Err(Fault::Operations {
                found: operation.kind(),
            }
            .into());
        }
    }

    if operations.len() > MAX_OPERATIONS {
        return Err(Fault::TooManyOperations {
            limit: MAX_OPERATIONS,
            found: operations.len(),
        }
        .into());
    }

    let mut document = PatchedDocument::new(original, nulls);
    for (index, operation) in operations.iter().enumerate() {
        Operation::read(operation)
            .and_then(|operation| document.apply(&operation))
            .map_err(|fault| Fault::Operation { index, fault })?;
    }
    let index = operations.len().saturating_sub(1);
    let finished = document.finish();
    finished.map_err(|fault| Fault::Operation { index, fault }.into())
}

impl PatchedDocument {
    pub(super) fn new(original: &Value, nulls: PatchNulls) -> Self {
        PatchedDocument {
            root: OpenNode::Value(original.clone()),
            copied: 0,
            nulls,
        }
    }

    /// The new document.
    ///
    /// # Errors
    ///
    /// [`OperationFault::RootValue`] if a policy made it null.
    pub(super) fn finish(self) -> Result<Value, OperationFault> {
        match self.root {
            OpenNode::Null => Err(OperationFault::RootValue {
                found: Value::Null.kind(),
            }),
            root => Ok(root.to_value()),
        }
    }

    pub(super) fn apply(&mut self, operation: &Operation<'_>) -> Result<(), OperationFault> {
        let Operation { path, .. } = operation;
        let value = operation.value.unwrap_or(&Value::Null);
        match (operation.verb, &operation.from) {
            (OperationVerb::Add, _) => {
                check_depth(path, value)?;
                self.edit(path, NodeEdit::Add(self.node(operation.value)))
            }
            (OperationVerb::Remove, _) => self.edit(path, NodeEdit::Remove),
            (OperationVerb::Replace, _) => {
                check_depth(path, value)?;
                if !path.tokens.is_empty() {
                    return self.edit(path, NodeEdit::Replace(self.node(operation.value)));
                }
                let root = self.node(operation.value);
                let is_null = matches!(root, OpenNode::Null);
                if !is_null && !matches!(value, Value::Map(_) | Value::List(_)) {
                    return Err(OperationFault::RootValue {
                        found: value.kind(),
                    });
                }
                self.root = root;

                Ok(())
            }
            (OperationVerb::Test, _) => self.test(path, operation.value),
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
                let node = self.get(from)?;
                let value = node.to_value();
                check_depth(path, &value)?;
                self.copied += value.to_json().len();
                if self.copied > MAX_COPY_BYTES {
                    return Err(OperationFault::CopySize {
                        size: self.copied,
                        limit: MAX_COPY_BYTES,
                    });
                }
                let copy = match node {
                    OpenNode::Null => node,
                    _ => OpenNode::Value(value),
                };
                self.edit(path, NodeEdit::Add(copy))
            }
            (OperationVerb::Move | OperationVerb::Copy, None) => {
                Err(OperationFault::NoMember { name: "from" })
            }
        }
    }

    /// The node of a value of an operation.
    fn node(&self, value: Option<&Value>) -> OpenNode {
        match (value, self.nulls) {
            (Some(Value::Null), PatchNulls::Typed) => OpenNode::Null,
            (value, _) => OpenNode::Value(value.cloned().unwrap_or_default()),
        }
    }

    fn test(&self, path: &Pointer<'_>, wanted: Option<&Value>) -> Result<(), OperationFault> {
        let found = if path.tokens.is_empty() {
            self.root.clone()
        } else {
            self.get(path)?
        };
        let holds = match (wanted, self.nulls) {
            (Some(Value::Null), PatchNulls::Typed) => {
                found.len() == Some(0) || found.equals(&Value::Map(Map::new()))
            }
            (wanted, _) => found.equals(wanted.unwrap_or(&Value::Null)),
        };
        if holds {
            return Ok(());
        }

        Err(OperationFault::Test {
            path: path.text.to_owned(),
            wanted: wanted.cloned().unwrap_or_default(),
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
                NodeEdit::Replace(new) => map.set(&Str::from(last), Some(new)),
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
            // A null of a policy is an empty map, which has no member to remove.
            OpenNode::Null if matches!(edit, NodeEdit::Remove) => {
                return Err(OperationFault::Missing {
                    path: pointer.text.to_owned(),
                });
            }
            OpenNode::Value(_) | OpenNode::Null => return Err(no_parent(pointer)),
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
