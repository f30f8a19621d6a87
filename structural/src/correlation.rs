//! The correlation of the parts of an object with those of its old state, by the schema.

use ahash::AHashMap;
use fieldmanager_value::internal::go_format::write_quoted;
use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Value};

use crate::Structural;

/// A value, the old value that it replaces, and their schema.
///
/// Behaviour: `CorrelatedObject` of `k8s.io/apiserver/pkg/cel/common`.
#[derive(Clone, Copy, Debug)]
pub struct Correlated<'a> {
    /// The new value.
    pub new: &'a Value,
    /// The old value.
    pub old: &'a Value,
    /// The schema of both.
    pub schema: &'a Structural,
}

/// The items of old lists by key, and the results of comparisons, so that each is computed once.
#[derive(Debug, Default)]
pub struct Correlations<'a> {
    items: AHashMap<usize, AHashMap<ListKey, &'a Value>>,
    equal: AHashMap<(usize, usize, usize), bool>,
}

/// The key of an item of a list of type map.
#[derive(Debug, PartialEq, Eq, Hash)]
enum ListKey {
    Bool(bool),
    Int(i64),
    Float(u64),
    String(String),
    /// Several keys, delimited.
    Several(String),
}

fn address<T>(value: &T) -> usize {
    std::ptr::from_ref(value).addr()
}

impl<'a> Correlated<'a> {
    /// The field of both values; `None` if one lacks it, or the schema does not declare it.
    pub fn field(self, name: &str) -> Option<Correlated<'a>> {
        let (new, old) = (self.new.as_map()?.get(name)?, self.old.as_map()?.get(name)?);
        let schema = match self.schema.property(name) {
            Some(property) => property,
            None => self.schema.additional_properties.as_ref()?.schema()?,
        };
        Some(Correlated { new, old, schema })
    }

    /// The item of the new list and the item of the old list with the same key; `None` for lists of another type than
    /// map.
    pub fn item(self, at: usize, known: &mut Correlations<'a>) -> Option<Correlated<'a>> {
        let (new, old) = (self.new.as_list()?.get(at)?, self.old.as_list()?);
        let old = known.find(self.schema, old, new)?;
        Some(Correlated {
            new,
            old,
            schema: self.schema.items.as_ref()?,
        })
    }

    /// Whether both values are equal. As in the API server, the items of a list of type map may have another order, and
    /// maps with fields that the schema does not declare are never equal.
    pub fn is_equal(self, known: &mut Correlations<'a>) -> bool {
        match (self.new, self.old) {
            (Value::List(new), Value::List(old)) => self.memoized(known, |known| {
                if new.len() != old.len() {
                    return false;
                }
                if !is_map_list(self.schema) {
                    return self.new.strict_eq(self.old);
                }
                (0..new.len()).all(|at| {
                    self.item(at, known)
                        .is_some_and(|item| item.is_equal(known))
                })
            }),
            (Value::Map(new), Value::Map(old)) => self.memoized(known, |known| {
                new.len() == old.len()
                    && new.iter().all(|(name, _)| {
                        self.field(name).is_some_and(|field| field.is_equal(known))
                    })
            }),
            (new, old) => new.strict_eq(old),
        }
    }

    fn memoized(
        self,
        known: &mut Correlations<'a>,
        compare: impl FnOnce(&mut Correlations<'a>) -> bool,
    ) -> bool {
        let key = (address(self.new), address(self.old), self.schema.address());
        if let Some(equal) = known.equal.get(&key) {
            return *equal;
        }
        let equal = level(|| compare(known));
        known.equal.insert(key, equal);
        equal
    }
}

fn is_map_list(schema: &Structural) -> bool {
    schema.extensions.list_type.as_deref() == Some("map")
}

impl<'a> Correlations<'a> {
    /// The first item of the old list that has the keys of `item`.
    pub fn find(&mut self, schema: &Structural, old: &'a List, item: &Value) -> Option<&'a Value> {
        let is_keyed = is_map_list(schema)
            && schema.generic.type_name == *"array"
            && !schema.extensions.list_map_keys.is_empty();
        let key = if is_keyed {
            key_of(schema, item)?
        } else {
            return None;
        };
        // The first item with a key counts, as the old list may have duplicates.
        let items = self.items.entry(address(old)).or_insert_with(|| {
            let mut items = AHashMap::with_capacity(old.len());
            for item in old {
                if let Some(key) = key_of(schema, item) {
                    items.entry(key).or_insert(item);
                }
            }
            items
        });

        items.get(&key).copied()
    }
}

fn key_of(schema: &Structural, item: &Value) -> Option<ListKey> {
    let item = item.as_map()?;
    if let [name] = schema.extensions.list_map_keys.as_slice() {
        return Some(match item.get(name)? {
            Value::Bool(flag) => ListKey::Bool(*flag),
            Value::Int(number) => ListKey::Int(*number),
            Value::Float(number) => ListKey::Float((number + 0.0).to_bits()),
            Value::String(text) => ListKey::String(text.to_string()),
            _ => return None,
        });
    }

    // Strings are quoted, so that a delimiter inside one cannot make different keys equal.
    let mut out = String::new();
    for name in &schema.extensions.list_map_keys {
        out.push('\0');
        match item.get(name)? {
            Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Value::Int(number) => out.push_str(&number.to_string()),
            Value::Float(number) => out.push_str(&format!("{number:.6}")),
            // Writing to a `String` cannot fail.
            Value::String(text) => drop(write_quoted(&mut out, text)),
            _ => return None,
        }
    }

    Some(ListKey::Several(out))
}
