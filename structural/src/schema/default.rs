//! Fills in defaults.

use std::cmp::Ordering;

use ahash::AHashMap;
use fieldmanager_value::internal::{level, proceed};
use fieldmanager_value::{Map, Str, Value};

use super::trail::Trail;
use super::walk::{Edit, check, edit_items, edit_map};
use super::{Error, Structural};
use crate::FieldPath;

/// The maximum size, in bytes of JSON, of the defaults that a schema adds to an object. An API server limits only the
/// size of the stored object, by etcd's limit of 1.5 MiB.
pub const MAX_DEFAULT_BYTES: usize = 16 << 20;

/// The punctuation between a name and a value, and the approximate size of a number or a boolean, in bytes of JSON.
const PUNCTUATION: usize = 4;

impl Structural {
    /// Fills in the defaults of the schema, as `Default` in the API server.
    ///
    /// A property gets its default if it is missing, or null without being nullable; an item and a value under
    /// `additionalProperties` get theirs if they are null and not nullable. Defaults inside a default are filled in
    /// too. A default in a missing map does not create the map. Values of a wrong type are left unchanged.
    ///
    /// If nothing is filled in, nothing is allocated and the same object is returned. A default is computed once and
    /// shared by all places that use it.
    ///
    /// # Errors
    ///
    /// [`Error::TooDeep`]; [`Error::DefaultsTooLarge`] if the defaults add more than [`MAX_DEFAULT_BYTES`].
    ///
    /// ```
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("
    /// type: object
    /// properties:
    ///   ports:
    ///     type: array
    ///     items: {type: object, properties: {protocol: {type: string, default: TCP}}}
    /// ")?)?;
    /// let object = schema.default_object(&Value::from_yaml("{ports: [{port: 80}]}")?)?;
    /// assert_eq!(object.to_json(), r#"{"ports":[{"port":80,"protocol":"TCP"}]}"#);
    /// assert!(schema.default_object(&object)?.ptr_eq(&object));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn default_object(&self, object: &Value) -> Result<Value, Error> {
        let root = FieldPath::default();
        let edited = Filler::default().value(object, self, &Trail::Root(&root), 0)?;
        Ok(edited.unwrap_or_else(|| object.clone()))
    }
}

/// Fills in the defaults of one object.
#[derive(Default)]
struct Filler {
    /// Defaults that are maps and lists, keyed by the address of their schema. Each is computed once and shared:
    /// otherwise nested defaults in arrays would multiply at every level.
    filled: Option<AHashMap<usize, Filled>>,
    /// The bytes of JSON added by defaults so far.
    added: usize,
    /// The maximum depth of the walk so far.
    deepest: usize,
}

/// A default with its nested defaults filled in.
#[derive(Clone)]
struct Filled {
    value: Value,
    /// Its size in bytes of JSON.
    bytes: usize,
    /// The number of its levels that the walk visits.
    levels: usize,
}

impl Filler {
    fn value(
        &mut self,
        object: &Value,
        schema: &Structural,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Result<Edit, Error> {
        level(|| match object {
            Value::Map(map) => {
                self.enter(depth)?;
                self.fields(map, schema, trail, depth)
            }
            Value::List(list) => {
                self.enter(depth)?;
                let Some(items) = &schema.items else {
                    return Ok(None);
                };
                edit_items(list, |at, item| {
                    self.present(item, items, &Trail::Index(trail, at), depth)
                })
            }
            _ => Ok(None),
        })
    }

    /// Enters a list or a map at `depth`, counted from 0.
    fn enter(&mut self, depth: usize) -> Result<(), Error> {
        self.deepest = self.deepest.max(depth + 1);
        check(depth)
    }

    /// Walks the fields and the properties in parallel; both are sorted by name.
    fn fields(
        &mut self,
        map: &Map,
        schema: &Structural,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Result<Edit, Error> {
        let additional = schema
            .additional_properties
            .as_ref()
            .and_then(|additional| additional.schema());
        let mut edits: Vec<(Str, Option<Value>)> = Vec::new();

        // An empty map takes a step for each property, too.
        if !proceed((1 + map.len() + schema.properties.len()) as u64) {
            return Ok(None);
        }

        let mut properties = schema.properties.iter().peekable();
        let mut entries = map.iter().peekable();
        loop {
            // The smaller name comes first; equal names are a field and its own schema.
            let order = match (entries.peek(), properties.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((name, _)), Some((property, _))) => name.cmp(property),
            };
            let entry = if order.is_le() { entries.next() } else { None };
            let property = if order.is_ge() {
                properties.next()
            } else {
                None
            };

            let (name, edit) = match (entry, property) {
                (Some((name, found)), Some((_, property))) => (
                    name,
                    self.present(found, property, &Trail::Child(trail, name), depth)?,
                ),
                (Some((name, found)), None) => match additional {
                    Some(additional) => (
                        name,
                        self.present(found, additional, &Trail::Key(trail, name), depth)?,
                    ),
                    None => continue,
                },
                (None, Some((name, property))) => match &property.generic.default {
                    Some(default) => {
                        self.add(name.len() + PUNCTUATION, trail)?;
                        (
                            name,
                            Some(self.filled(
                                default,
                                property,
                                &Trail::Child(trail, name),
                                depth,
                            )?),
                        )
                    }
                    None => continue,
                },
                (None, None) => break,
            };

            if let Some(edited) = edit {
                edits.push((name.clone(), Some(edited)));
            }
        }

        Ok(edit_map(map, edits))
    }

    /// Handles a present value: replaces a null that is not nullable with the default.
    fn present(
        &mut self,
        found: &Value,
        schema: &Structural,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Result<Edit, Error> {
        // A null that the schema does not allow is like an absent value, so it gets the default.
        match &schema.generic.default {
            Some(default) if found.is_null() && !schema.generic.nullable => {
                Ok(Some(self.filled(default, schema, trail, depth)?))
            }
            _ => self.value(found, schema, trail, depth + 1),
        }
    }

    /// The default with its nested defaults filled in.
    fn filled(
        &mut self,
        default: &Value,
        schema: &Structural,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Result<Value, Error> {
        // A scalar has no nested defaults, so it is not worth a place in the table.
        if !matches!(default, Value::Map(_) | Value::List(_)) {
            self.add(default.as_str().map_or(PUNCTUATION, str::len), trail)?;
            return Ok(default.clone());
        }
        let below = depth + 1;

        // A known default counts its bytes at each place, although the value is shared: the written object repeats it.
        if let Some(known) = self
            .filled
            .as_ref()
            .and_then(|filled| filled.get(&schema.address()))
            .cloned()
        {
            self.add(known.bytes, trail)?;
            if known.levels > 0 {
                self.enter(below + known.levels - 1)?;
            }
            return Ok(known.value);
        }

        // The depth is measured from here, so that the levels of the default are known at other depths too.
        let (added, deepest) = (self.added, std::mem::replace(&mut self.deepest, below));
        self.add(default.to_json().len(), trail)?;
        let value = self
            .value(default, schema, trail, below)?
            .unwrap_or_else(|| default.clone());
        let filled = Filled {
            value: value.clone(),
            bytes: self.added - added,
            levels: self.deepest - below,
        };
        self.filled
            .get_or_insert_default()
            .insert(schema.address(), filled);
        self.deepest = self.deepest.max(deepest);

        Ok(value)
    }

    /// Counts the bytes that a default adds.
    fn add(&mut self, bytes: usize, trail: &Trail<'_>) -> Result<(), Error> {
        self.added = self.added.saturating_add(bytes);
        if self.added <= MAX_DEFAULT_BYTES {
            return Ok(());
        }
        Err(Error::DefaultsTooLarge {
            path: trail.path(),
            limit: MAX_DEFAULT_BYTES,
        })
    }
}
