//! A part of the document, with the edits made to it so far.

use fieldmanager_value::{List, Map, Str, Value};
use im::{OrdMap, Vector};

use super::pointer::index;

/// A value of the document. Maps and lists on the path of an operation are opened; everything else stays a [`Value`].
///
/// An insertion or removal in an open list costs the logarithm of its length, so that a patch with many operations on
/// a large list is not quadratic.
#[derive(Clone)]
pub(super) enum OpenNode {
    Value(Value),
    Map(OpenMap),
    List(OpenList),
    /// A null that an operation of a policy set, which is passed and compared as an empty map.
    Null,
}

/// A map and its changed members; `None` for one that was removed.
#[derive(Clone)]
pub(super) struct OpenMap {
    original: Map,
    edits: OrdMap<Str, Option<OpenNode>>,
    len: usize,
}

/// A list and its items after the edits.
#[derive(Clone)]
pub(super) struct OpenList {
    original: List,
    items: Vector<OpenNode>,
}

/// A change of a member or an item.
pub(super) enum NodeEdit {
    Add(OpenNode),
    Replace(OpenNode),
    Remove,
}

impl OpenNode {
    /// Opens a map or a list. Scalars are unchanged.
    pub(super) fn open(&mut self) {
        match self {
            OpenNode::Value(Value::Map(map)) => {
                *self = OpenNode::Map(OpenMap {
                    original: map.clone(),
                    edits: OrdMap::new(),
                    len: map.len(),
                });
            }
            OpenNode::Value(Value::List(list)) => {
                let items = list.iter().cloned().map(OpenNode::Value).collect();
                *self = OpenNode::List(OpenList {
                    original: list.clone(),
                    items,
                });
            }
            _ => {}
        }
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(
            self,
            OpenNode::Map(_) | OpenNode::Null | OpenNode::Value(Value::Map(_))
        )
    }

    /// The length of a list; `None` for anything else.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            OpenNode::List(list) => Some(list.len()),
            OpenNode::Value(Value::List(list)) => Some(list.len()),
            _ => None,
        }
    }

    /// The member or item that a token of a pointer names.
    pub(super) fn child(&self, token: &str) -> Option<OpenNode> {
        match self {
            OpenNode::Map(map) => map.get(token),
            OpenNode::List(list) => list.items.get(index(token, list.len())?).cloned(),
            OpenNode::Value(Value::Map(map)) => map.get(token).cloned().map(OpenNode::Value),
            OpenNode::Value(Value::List(list)) => list
                .get(index(token, list.len())?)
                .cloned()
                .map(OpenNode::Value),
            OpenNode::Value(_) | OpenNode::Null => None,
        }
    }

    /// [`child`](Self::child), to be edited in place.
    pub(super) fn child_mut(&mut self, token: &str) -> Option<&mut OpenNode> {
        self.open();
        match self {
            OpenNode::Map(map) => {
                if !map.edits.contains_key(token) {
                    let (name, value) = map.original.get_entry(token)?;
                    map.edits
                        .insert(name.clone(), Some(OpenNode::Value(value.clone())));
                }
                map.edits.get_mut(token)?.as_mut()
            }
            OpenNode::List(list) => {
                let at = index(token, list.len())?;
                list.items.get_mut(at)
            }
            OpenNode::Value(_) | OpenNode::Null => None,
        }
    }

    /// Whether lists and maps nest at most `levels` deep.
    pub(super) fn fits(&self, levels: usize) -> bool {
        fn value_fits(value: &Value, levels: usize) -> bool {
            match value {
                Value::Map(map) => {
                    levels > 0 && map.iter().all(|(_, value)| value_fits(value, levels - 1))
                }
                Value::List(list) => {
                    levels > 0 && list.iter().all(|item| value_fits(item, levels - 1))
                }
                _ => true,
            }
        }

        match self {
            OpenNode::Value(value) => value_fits(value, levels),
            OpenNode::Null => true,
            OpenNode::Map(_) | OpenNode::List(_) if levels == 0 => false,
            OpenNode::Map(map) => {
                map.edits
                    .values()
                    .flatten()
                    .all(|node| node.fits(levels - 1))
                    && map.original.iter().all(|(name, value)| {
                        map.edits.contains_key(name) || value_fits(value, levels - 1)
                    })
            }
            OpenNode::List(list) => list.items.iter().all(|item| item.fits(levels - 1)),
        }
    }

    /// Whether the node equals a value. The cost is bounded by the size of the value.
    pub(super) fn equals(&self, value: &Value) -> bool {
        match (self, value) {
            (OpenNode::Value(own), value) => own == value,
            (OpenNode::Null, Value::Map(value)) => value.is_empty(),
            (OpenNode::Map(map), Value::Map(value)) => {
                map.len == value.len()
                    && value
                        .iter()
                        .all(|(name, value)| map.get(name).is_some_and(|node| node.equals(value)))
            }
            (OpenNode::List(list), Value::List(value)) => {
                list.len() == value.len()
                    && list
                        .items
                        .iter()
                        .zip(value)
                        .all(|(node, value)| node.equals(value))
            }
            _ => false,
        }
    }

    /// The node as a value, which shares unedited parts with the original.
    pub(super) fn to_value(&self) -> Value {
        match self {
            OpenNode::Value(value) => value.clone(),
            OpenNode::Null => Value::Null,
            OpenNode::Map(map) => {
                let edits = map.edits.iter();
                let edits =
                    edits.map(|(name, node)| (name.clone(), node.as_ref().map(OpenNode::to_value)));
                Value::Map(map.original.with_edits(edits.collect()))
            }
            OpenNode::List(list) => Value::List(list.to_list()),
        }
    }
}

impl OpenMap {
    fn get(&self, name: &str) -> Option<OpenNode> {
        match self.edits.get(name) {
            Some(edit) => edit.clone(),
            None => self.original.get(name).cloned().map(OpenNode::Value),
        }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.edits
            .get(name)
            .map_or_else(|| self.original.contains(name), Option::is_some)
    }

    /// Sets a member, or removes it.
    pub(super) fn set(&mut self, name: &Str, node: Option<OpenNode>) {
        self.len -= usize::from(self.contains(name));
        self.len += usize::from(node.is_some());
        self.edits.insert(name.clone(), node);
    }
}

impl OpenList {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Edits the item that the last token of a pointer names; `None` if the list has no such item.
    pub(super) fn edit(&mut self, token: &str, edit: NodeEdit) -> Option<()> {
        let length = self.len();
        match edit {
            NodeEdit::Replace(new) => *self.items.get_mut(index(token, length)?)? = new,
            NodeEdit::Remove => drop(self.items.remove(index(token, length)?)),
            NodeEdit::Add(new) => {
                let at = if token == "-" {
                    length
                } else {
                    index(token, length + 1)?
                };
                self.items.insert(at, new);
            }
        }

        Some(())
    }

    /// The list after the edits. If no item was inserted or removed before the end of the original list, the result is
    /// an edit of that list, which shares unchanged parts.
    fn to_list(&self) -> List {
        let items: Vec<Value> = self.items.iter().map(OpenNode::to_value).collect();
        let old_len = self.original.len();
        let pairs = items.iter().zip(self.original.iter()).enumerate();
        let replaced: Vec<(usize, Value)> = pairs
            .filter(|(_, (new, old))| !new.ptr_eq(old))
            .map(|(at, (new, _))| (at, new.clone()))
            .collect();

        if items.len() >= old_len && replaced.len() <= old_len / 2 {
            return self
                .original
                .with_edits(replaced, items.into_iter().skip(old_len).collect());
        }
        items.into_iter().collect()
    }
}
