//! YAML encoding and decoding.
//!
//! Values are built from parser events with an explicit stack, so [`MAX_DEPTH`] bounds the depth of a document, not the
//! size of the thread's stack.

use ahash::RandomState;
use hashbrown::HashMap;
use libyaml_safer::{Event, EventData, Mark};

use crate::intern::DocumentNames;
use crate::names::SeenNames;
use crate::yaml_events::{fault, mark_position, yaml_events};
use crate::yaml_scalar::{key_name, resolve_tagged};
use crate::yaml_writer;
use crate::{Error, List, MAX_DEPTH, Map, Str, Value};

/// The maximum number of nodes in a YAML document after alias expansion. Lists of 100,000 items with some fields each
/// stay below it; a document with exponentially growing aliases does not.
const MAX_NODES: u64 = 4_000_000;

const MERGE_FAULT: &str = "a merge key takes a map or a list of maps";

/// The maximum total size of the strings and keys that aliases expand to, in bytes: ten times the maximum size of an
/// object in etcd.
const MAX_ALIAS_BYTES: u64 = 16 << 20;

impl Value {
    /// Parses a single YAML (or JSON) document. Empty input is null.
    ///
    /// Plain scalars are resolved like in kubectl: `yes`, `no`, `on` and `off` are booleans. Merge keys (`<<`) are
    /// expanded.
    ///
    /// # Errors
    ///
    /// [`Error::Yaml`] with the position, if the input is not valid YAML, has a duplicate key, has a number that is not
    /// finite, has more than 4,000,000 nodes after alias expansion, or has aliases that expand to more than 16 MiB of
    /// strings and keys; [`Error::TooDeep`]; [`Error::Documents`] if there is more than one document.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let value = Value::from_yaml("a: 1\nb: [x, null]\n")?;
    /// assert_eq!(value.to_json(), r#"{"a":1,"b":["x",null]}"#);
    /// let error = Value::from_yaml("a: 1\na: 2\n").unwrap_err();
    /// assert_eq!(error.to_string(), "not valid YAML at line 2 column 1: duplicate key `a`");
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn from_yaml(text: &str) -> Result<Value, Error> {
        single(compose(text, None)?.documents)
    }

    /// Parses all documents of a YAML stream. Empty and null documents are skipped.
    ///
    /// # Errors
    ///
    /// Those of [`from_yaml`](Self::from_yaml).
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let all = Value::all_from_yaml("a: 1\n---\n---\nb: 2\n")?;
    /// assert_eq!(all.len(), 2);
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn all_from_yaml(text: &str) -> Result<Vec<Value>, Error> {
        let mut documents = compose(text, None)?.documents;
        documents.retain(|document| !document.is_null());
        Ok(documents)
    }

    /// Returns the value as YAML in the style of kubectl: keys are sorted, and lists are not indented below their key.
    /// Strings that YAML would resolve to another type are quoted. A value of more than [`MAX_DEPTH`] levels
    /// is written as JSON.
    ///
    /// ```
    /// use fieldmanager_value::Value;
    /// let value = Value::from_json(r#"{"ports":[{"port":80}],"on":"yes"}"#)?;
    /// assert_eq!(value.to_yaml(), "\"on\": \"yes\"\nports:\n- port: 80\n");
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn to_yaml(&self) -> String {
        // JSON is YAML too.
        yaml_writer::write(self).unwrap_or_else(|_| self.to_json())
    }
}

/// A value with its number of nodes and its size of strings and keys after alias expansion, and its depth.
#[derive(Clone, Default)]
struct ComposedNode {
    value: Value,
    nodes: u64,
    bytes: u64,
    depth: usize,
}

enum OpenContent {
    List(Vec<Value>),
    Map {
        entries: Vec<(Str, Value)>,
        names: SeenNames,
        /// The maps of merge keys, each with the number of entries before it.
        merged: Vec<(usize, Map)>,
        key: Option<EntryKey>,
    },
}

enum EntryKey {
    Name(Str),
    Merge,
}

/// A list or map whose end has not been parsed.
struct OpenCollection {
    content: OpenContent,
    anchor: Option<String>,
    /// The number of descendants, the size of their strings and keys, and the depth of the deepest one.
    nodes: u64,
    bytes: u64,
    depth: usize,
}

struct Composer {
    names: DocumentNames,
    documents: Vec<Value>,
    open: Vec<OpenCollection>,
    /// The values of the anchors of this document; `None` while a list or map is open. Sharing makes aliases cheap, but
    /// their expansion still counts towards the limits.
    anchors: HashMap<String, Option<ComposedNode>, RandomState>,
    nodes: u64,
    alias_bytes: u64,
    /// The duplicate keys, if they are accepted, each with the line of its value.
    duplicates: Option<Vec<(usize, Str)>>,
    /// A duplicate key whose value is the next event.
    duplicate: Option<Str>,
}

/// Parses a document as an API server does: the last of several duplicate keys wins, and what follows the first document is
/// not read. Returns the name of each duplicate key and the line of its value, in the order of the document.
pub fn from_yaml_with_duplicates(text: &str) -> Result<(Value, Vec<(usize, Str)>), Error> {
    let Composer {
        mut documents,
        duplicates,
        ..
    } = compose(text, Some(Vec::new()))?;
    Ok((
        documents.pop().unwrap_or_default(),
        duplicates.unwrap_or_default(),
    ))
}

fn single(mut documents: Vec<Value>) -> Result<Value, Error> {
    match documents.len() {
        0 | 1 => Ok(documents.pop().unwrap_or_default()),
        found => Err(Error::Documents { found }),
    }
}

/// Composes all documents, or the first one if duplicate keys are accepted.
fn compose(text: &str, duplicates: Option<Vec<(usize, Str)>>) -> Result<Composer, Error> {
    let mut composer = Composer {
        duplicates,
        duplicate: None,
        names: DocumentNames::new(),
        documents: Vec::new(),
        open: Vec::new(),
        anchors: HashMap::default(),
        nodes: 0,
        alias_bytes: 0,
    };

    for event in yaml_events(text)? {
        let event = event?;
        if composer.duplicates.is_some() && matches!(event.data, EventData::DocumentEnd { .. }) {
            break;
        }
        composer.take(event)?;
    }

    Ok(composer)
}

impl Composer {
    fn take(&mut self, event: Event) -> Result<(), Error> {
        let mark = event.start_mark;
        if let Some((name, known)) = self.duplicate.take().zip(self.duplicates.as_mut()) {
            known.push((mark_position(mark).line, name));
        }
        // Collections are counted when they end, with everything in them, so that an alias adds the size of its target
        // at once.
        match event.data {
            EventData::DocumentStart {
                version_directive: Some(version),
                ..
            } if version.minor != 1 => {
                return Err(fault(mark, "found incompatible YAML document"));
            }
            EventData::DocumentStart { .. } => {
                self.documents.push(Value::Null);
                self.anchors.clear();
            }
            EventData::Scalar {
                anchor,
                tag,
                value,
                plain_implicit,
                ..
            } => self.scalar(anchor, tag.as_deref(), value, plain_implicit, mark)?,
            EventData::SequenceStart { anchor, .. } => {
                self.start(OpenContent::List(Vec::new()), anchor, mark)?
            }
            EventData::MappingStart { anchor, .. } => {
                let content = OpenContent::Map {
                    entries: Vec::new(),
                    names: SeenNames::default(),
                    merged: Vec::new(),
                    key: None,
                };
                self.start(content, anchor, mark)?;
            }
            EventData::SequenceEnd | EventData::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let value = match open.content {
                        OpenContent::List(items) => Value::List(List::from_iter(items)),
                        OpenContent::Map {
                            entries, merged, ..
                        } => Value::Map(map(entries, merged)),
                    };
                    let (nodes, bytes, depth) = (open.nodes + 1, open.bytes, open.depth + 1);
                    let node = ComposedNode {
                        value,
                        nodes,
                        bytes,
                        depth,
                    };
                    self.node(node, open.anchor, mark)?;
                }
            }
            EventData::Alias { anchor } => self.alias(&anchor, mark)?,
            _ => {}
        }

        Ok(())
    }

    fn scalar(
        &mut self,
        anchor: Option<String>,
        tag: Option<&str>,
        text: String,
        plain: bool,
        mark: Mark,
    ) -> Result<(), Error> {
        let takes_key = self.takes_key();
        // A quoted `<<` is an ordinary name.
        let is_merge = text == "<<" && (plain || tag == Some("tag:yaml.org,2002:merge"));
        let value = resolve_tagged(text, plain, tag).map_err(|message| fault(mark, message))?;
        match value {
            Value::Float(number) if !number.is_finite() && !takes_key => {
                let message = format!(
                    "number {} is not finite: only finite numbers are accepted",
                    key_name(&value).unwrap_or_default()
                );
                return Err(fault(mark, message));
            }
            _ => {}
        }

        let bytes = value.as_str().map_or(0, str::len) as u64;
        let node = ComposedNode {
            value,
            nodes: 1,
            bytes,
            depth: 0,
        };
        // In a map, keys and values alternate.
        if !takes_key {
            return self.node(node, anchor, mark);
        }

        if is_merge {
            self.set_key(EntryKey::Merge);
        } else {
            self.key(&node.value, mark)?;
        }
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, Some(node));
        }
        Ok(())
    }

    fn alias(&mut self, anchor: &str, mark: Mark) -> Result<(), Error> {
        let target = match self.anchors.get(anchor) {
            Some(Some(target)) => target.clone(),
            Some(None) => return Err(fault(mark, "alias of a node that is not complete")),
            None => return Err(fault(mark, format!("unknown anchor `{anchor}`"))),
        };
        // The value of an alias is shared, but its expanded size is limited as if it were copied.
        self.alias_bytes = self.alias_bytes.saturating_add(target.bytes);
        if self.alias_bytes > MAX_ALIAS_BYTES {
            let message = format!(
                "the aliases expand to more than {MAX_ALIAS_BYTES} bytes of strings and keys"
            );
            return Err(fault(mark, message));
        }

        if self.takes_key() {
            return self.key(&target.value, mark);
        }
        self.node(target, None, mark)
    }

    fn takes_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(OpenCollection {
                content: OpenContent::Map { key: None, .. },
                ..
            })
        )
    }

    fn start(
        &mut self,
        content: OpenContent,
        anchor: Option<String>,
        mark: Mark,
    ) -> Result<(), Error> {
        if self.takes_key() {
            return Err(fault(mark, "a map key must be a scalar"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(Error::TooDeep);
        }

        // An alias refers to the last anchor of the name, which may be open.
        if let Some(anchor) = &anchor {
            self.anchors.insert(anchor.clone(), None);
        }
        self.open.push(OpenCollection {
            content,
            anchor,
            nodes: 0,
            bytes: 0,
            depth: 0,
        });

        Ok(())
    }

    fn set_key(&mut self, new: EntryKey) {
        if let Some(OpenCollection {
            content: OpenContent::Map { key, .. },
            ..
        }) = self.open.last_mut()
        {
            *key = Some(new);
        }
    }

    fn key(&mut self, value: &Value, mark: Mark) -> Result<(), Error> {
        // Scalars become strings like in kubectl, which converts YAML to JSON.
        let name = key_name(value).map_err(|message| fault(mark, message))?;
        let name = Str::interned(self.names.intern(&name));
        if let Some(OpenCollection {
            content: OpenContent::Map { entries, names, .. },
            bytes,
            ..
        }) = self.open.last_mut()
        {
            *bytes = bytes.saturating_add(name.len() as u64);
            if !names.add(entries, &name) {
                if self.duplicates.is_none() {
                    return Err(fault(mark, format!("duplicate key `{name}`")));
                }
                self.duplicate = Some(name.clone());
            }
        }

        self.set_key(EntryKey::Name(name));
        Ok(())
    }

    /// Adds a complete node to the innermost open list or map, or to the documents.
    fn node(
        &mut self,
        node: ComposedNode,
        anchor: Option<String>,
        mark: Mark,
    ) -> Result<(), Error> {
        self.nodes = self.nodes.saturating_add(1);
        // Open nodes are checked when they are opened; an alias adds its own depth.
        if self.open.len() + node.depth > MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, Some(node.clone()));
        }

        // Outside of collections, the node is the document.
        let Some(open) = self.open.last_mut() else {
            if let Some(document) = self.documents.last_mut() {
                *document = node.value;
            }
            return Ok(());
        };

        open.nodes = open.nodes.saturating_add(node.nodes);
        open.bytes = open.bytes.saturating_add(node.bytes);
        open.depth = open.depth.max(node.depth);
        if open.nodes > MAX_NODES || self.nodes > MAX_NODES {
            return Err(fault(
                mark,
                format!("the document has more than {MAX_NODES} nodes with its aliases expanded"),
            ));
        }

        match &mut open.content {
            OpenContent::List(items) => items.push(node.value),
            OpenContent::Map {
                entries,
                merged,
                key,
                ..
            } => match (key.take(), node.value) {
                (Some(EntryKey::Name(name)), value) => entries.push((name, value)),
                (Some(EntryKey::Merge), Value::Map(map)) => merged.push((entries.len(), map)),
                (Some(EntryKey::Merge), Value::List(maps)) => {
                    let maps: Option<Vec<Map>> =
                        maps.iter().map(|map| map.as_map().cloned()).collect();
                    let maps = maps.ok_or_else(|| fault(mark, MERGE_FAULT))?;
                    // Earlier maps take precedence.
                    merged.extend(maps.into_iter().rev().map(|map| (entries.len(), map)));
                }
                (Some(EntryKey::Merge), _) => return Err(fault(mark, MERGE_FAULT)),
                (None, _) => {}
            },
        }

        Ok(())
    }
}

/// A map of its entries and of merged maps. What comes later in the document wins, as in Go.
fn map(entries: Vec<(Str, Value)>, merged: Vec<(usize, Map)>) -> Map {
    if merged.is_empty() {
        return Map::from_iter(entries);
    }
    let mut own = entries.into_iter();
    let mut all = Vec::new();
    let mut taken = 0;
    for (before, map) in merged {
        all.extend(own.by_ref().take(before - taken));
        taken = before;
        all.extend(
            map.iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }

    all.extend(own);
    Map::from_iter(all)
}

#[cfg(test)]
mod tests;
