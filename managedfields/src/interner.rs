//! Shares equal managed fields between objects.

use std::hash::{BuildHasher, Hash, Hasher};

use ahash::RandomState;
use fieldmanager_fieldpath::{Error, Owners, Set};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::internal::shared_text;
use fieldmanager_value::{List, MAX_DEPTH, Map, Str, Value};

use crate::object::with_list;

/// Lets objects with equal managed fields share them.
///
/// A server that stores ten thousand Pods of one Deployment stores the same sets ten thousand times, because only the
/// times of the entries differ. An interner remembers recent managed fields and replaces equal ones with the same
/// allocation:
///
/// - `ManagedFields::decode_with` shares the set, identifier and version of each entry, and shares all of them at once if
///   the entries differ only in their times. A known set is not decoded again.
/// - [`share`](Self::share) shares the `fieldsV1` inside an object, as a server stores it.
///
/// An interner is an ordinary value that is changed by `&mut`: keep one per thread, or one inside the lock of a cache.
/// A [`FieldManager`](crate::FieldManager) does not use it. To share the result of a request, pass the object to
/// [`share`](Self::share) before storing it.
///
/// # Costs and bounds
///
/// Looking up a known `fieldsV1` hashes and compares it once, without allocation. For a Pod this takes half of the time of
/// decoding; for a long definition, most of whose levels are equal, it takes as long as decoding. An unknown `fieldsV1`
/// costs this in addition. The benefit is memory. Equality decides, never the hash, so a collision only reduces sharing.
///
/// An interner keeps at most as many sets as [its capacity](Self::with_capacity), as many strings, and as many combinations of entries, in
/// buckets of four by their hash. A new value replaces the least recently used one of its bucket, so an interner does not
/// grow with the number of calls, and needs no notice when objects are dropped. Its tables take about 72 bytes for each
/// set of the capacity, from the first use on, and it keeps at most as many `fieldsV1` alive, with their sets, as its
/// capacity.
///
/// Behaviour: `FieldsV1` of `k8s.io/apimachinery/pkg/apis/meta/v1`, which, built with the tag `fieldsv1string`, stores
/// equal strings once for the whole process (`unique.Handle`). Go never shares the sets made of them.
///
/// ```
/// use fieldmanager_managedfields::{Interner, ManagedFields};
/// use fieldmanager_value::Value;
/// let read = |name: &str, hour: u8| Value::from_json(&format!(
///     r#"{{"metadata": {{"name": "{name}", "managedFields": [
///         {{"manager": "ci", "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-01-31T{hour}:00:00Z",
///          "fieldsType": "FieldsV1", "fieldsV1": {{"f:spec": {{"f:replicas": {{}}}}}}}}
///     ]}}}}"#
/// ));
/// let mut interner = Interner::with_capacity(1000);
/// let (one, other) = (interner.share(&read("one", 12)?), interner.share(&read("other", 13)?));
/// assert_eq!(one, read("one", 12)?);
///
/// let fields = |object: &Value| {
///     let list = object.get("metadata")?.get("managedFields")?.as_list()?;
///     list.get(0)?.get("fieldsV1").cloned()
/// };
/// let (of_one, of_other) = (fields(&one).ok_or("an entry")?, fields(&other).ok_or("an entry")?);
/// assert!(of_one.ptr_eq(&of_other));
///
/// let sets = [&one, &other].map(|object| ManagedFields::of_object_with(object, &mut interner));
/// let [one, other] = sets.map(|managed| managed.map(|managed| managed.entries()[0].fields.clone()));
/// assert!(one?.ptr_eq(&other?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Interner {
    fields: ValueTable<InternedFields>,
    /// Identifiers, versions, and the names in entries.
    texts: ValueTable<Str>,
    /// The owners of all fields of an object.
    owners: ValueTable<Owners>,
    hashes: RandomState,
}

/// A `fieldsV1`, and its set if it was decoded.
#[derive(Clone, Debug)]
struct InternedFields {
    value: Value,
    set: Option<Set>,
}

/// The default capacity: enough for the kinds of a cluster with some variants each.
const CAPACITY: usize = 4096;

/// The maximum capacity, whose empty slots take a gigabyte.
const MAX_CAPACITY: usize = 1 << 24;

impl Default for Interner {
    /// An interner with room for 4096 sets.
    fn default() -> Self {
        Self::with_capacity(CAPACITY)
    }
}

impl Interner {
    /// An interner that keeps at most `sets` sets, and never more than 16 million. With a capacity of 0 it shares
    /// nothing.
    pub fn with_capacity(sets: usize) -> Self {
        let sets = sets.min(MAX_CAPACITY);
        Interner {
            fields: ValueTable::new(sets),
            texts: ValueTable::new(sets),
            owners: ValueTable::new(sets),
            hashes: RandomState::new(),
        }
    }

    /// The same object, whose entries share their `fieldsV1`, names and versions with those of earlier objects. Nothing is
    /// decoded; entries that cannot be decoded are unchanged.
    ///
    /// Call it for an object that is about to be stored or cached.
    ///
    /// ```
    /// use fieldmanager_managedfields::Interner;
    /// use fieldmanager_value::Value;
    /// let object = Value::from_json(r#"{"metadata": {"name": "x"}}"#)?;
    /// assert!(Interner::default().share(&object).ptr_eq(&object));
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    #[must_use]
    pub fn share(&mut self, object: &Value) -> Value {
        let Some(Value::List(entries)) = object.managed_fields() else {
            return object.clone();
        };
        let mut changed = false;
        let shared: List = entries
            .iter()
            .map(|entry| match self.shared_entry(entry) {
                Some(shared) => {
                    changed = true;
                    shared
                }
                None => entry.clone(),
            })
            .collect();

        if changed {
            with_list(object, Some(Value::List(shared)))
        } else {
            object.clone()
        }
    }

    /// The entry with known values in place of equal ones; `None` if there are none to replace.
    fn shared_entry(&mut self, entry: &Value) -> Option<Value> {
        let entry = entry.as_map()?;
        let mut edits = Vec::new();
        // Edits must be sorted by name.
        for name in ["apiVersion", "fieldsV1", "manager", "subresource"] {
            let Some((name, own)) = entry.get_entry(name) else {
                continue;
            };
            let shared = match own {
                Value::String(text) => {
                    let text = shared_text(text);
                    text.map(|text| Value::from(self.text(text, || text.clone())))
                }
                value => self
                    .fields_at(fingerprint(&self.hashes, value), value)
                    .map(|known| known.value.clone()),
            };

            if let Some(shared) = shared.filter(|shared| !shared.ptr_eq(own)) {
                edits.push((name.clone(), Some(shared)));
            }
        }

        (!edits.is_empty()).then(|| Value::Map(entry.with_edits(edits)))
    }

    fn set_at(&mut self, hash: Option<u64>, value: &Value) -> Result<Set, Error> {
        match self.fields_at(hash, value) {
            None => Set::from_value(value),
            Some(InternedFields { set: Some(set), .. }) => Ok(set.clone()),
            Some(known) => Ok(known.set.insert(Set::from_value(value)?).clone()),
        }
    }

    /// The stored form of a `fieldsV1`, which is stored if it was not; `None` if it has no hash or the capacity is 0.
    fn fields_at(&mut self, hash: Option<u64>, value: &Value) -> Option<&mut InternedFields> {
        let new = || InternedFields {
            value: value.clone(),
            set: None,
        };
        self.fields
            .find(hash?, |known| known.value.strict_eq(value), new)
    }

    /// A known string, or the one that `new` makes.
    pub(crate) fn text(&mut self, text: &str, new: impl Fn() -> Str) -> Str {
        let known = self.texts.find(
            self.hashes.hash_one(text),
            |known| known.as_str() == text,
            &new,
        );
        known.map_or_else(&new, |known| known.clone())
    }

    /// The set of a `fieldsV1`, which is added to the fingerprint of the object that it is in.
    pub(crate) fn fields_of_object(
        &mut self,
        fields_v1: &Value,
        object: &mut Fingerprint,
    ) -> Result<Set, Error> {
        let hash = fingerprint(&self.hashes, fields_v1);
        // A sum, because the times of entries determine their order and do not count.
        object.0 = object.0.wrapping_add(hash.unwrap_or_default());
        self.set_at(hash, fields_v1)
    }

    /// The owners of the fields of an object, by the fingerprint of its `fieldsV1`.
    pub(crate) fn owners(&mut self, fields: Fingerprint, owners: Owners) -> Owners {
        if owners.is_empty() {
            return owners;
        }
        // The hash covers what is cheap to read. Equality decides in the end.
        let mut state = self.hashes.build_hasher();
        state.write_u64(fields.0);
        for (identifier, owned) in owners.iter() {
            identifier.hash(&mut state);
            owned.api_version().hash(&mut state);
        }

        let hash = state.finish();
        // The comparison is fast, because most sets are the same allocation by now.
        let known = self
            .owners
            .find(hash, |known| *known == owners, || owners.clone());
        known.map_or_else(|| owners.clone(), |known| known.clone())
    }
}

/// A hash of all `fieldsV1` of an object.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fingerprint(u64);

/// A bounded number of values by their hash. The most recently used value of a bucket is the first.
#[derive(Clone, Debug)]
struct ValueTable<T> {
    capacity: usize,
    /// Empty until something is put there.
    slots: Vec<Option<(u64, T)>>,
}

/// How many slots a bucket has.
const WAYS: usize = 4;

impl<T: Clone> ValueTable<T> {
    fn new(capacity: usize) -> Self {
        ValueTable {
            capacity,
            slots: Vec::new(),
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// The value of this hash that is the same, or a new one in place of that of its bucket which was not found for
    /// longest.
    fn find(
        &mut self,
        hash: u64,
        same: impl Fn(&T) -> bool,
        new: impl FnOnce() -> T,
    ) -> Option<&mut T> {
        if self.slots.is_empty() {
            self.slots.resize(self.capacity, None);
        }
        let ways = WAYS.min(self.capacity);
        let buckets = self.capacity.checked_div(ways)?;
        let start = hash as usize % buckets * ways;
        let bucket = self.slots.get_mut(start..start + ways)?;
        // Equal hashes come first, because comparing values takes longer.
        let is_known = |slot: &Option<(u64, T)>| {
            slot.as_ref()
                .is_some_and(|(at, known)| *at == hash && same(known))
        };

        // The value that was used last is the first of its bucket, and the last one makes room for a new one.
        match bucket.iter().position(is_known) {
            Some(at) => bucket.get_mut(..=at)?.rotate_right(1),
            None => {
                bucket.rotate_right(1);
                *bucket.first_mut()? = Some((hash, new()));
            }
        }

        bucket.first_mut()?.as_mut().map(|(_, value)| value)
    }
}

/// A hash of a value that may be FieldsV1: maps in maps, and null. `None` for any other value, and for a value that is
/// too deep to be decoded.
///
/// The hash has random keys, so that no input can make values share a bucket on purpose.
fn fingerprint(hashes: &RandomState, value: &Value) -> Option<u64> {
    fn level(map: &Map, depth: usize, state: &mut impl Hasher) -> Option<()> {
        state.write_usize(map.len());
        for (name, value) in map.iter() {
            name.hash(state);
            match value {
                Value::Null => state.write_u8(0),
                Value::Map(below) if below.is_empty() => state.write_u8(1),
                Value::Map(below) if depth < MAX_DEPTH => {
                    state.write_u8(2);
                    level(below, depth + 1, state)?;
                }
                _ => return None,
            }
        }

        Some(())
    }

    match value {
        // An empty map has nothing to share.
        Value::Map(top) if !top.is_empty() => {
            let mut state = hashes.build_hasher();
            level(top, 1, &mut state)?;
            Some(state.finish())
        }
        _ => None,
    }
}

#[cfg(test)]
mod sharing_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn values_with_equal_hashes_are_distinguished() {
        let mut interner = Interner::with_capacity(8);
        let texts = [r#"{"f:a":{}}"#, r#"{"f:b":{}}"#, r#"{"f:a":{"f:b":{}}}"#];
        for _ in 0..2 {
            for text in texts {
                let set = interner.set_at(Some(7), &value(text)).unwrap();
                assert_eq!(set.to_json(), text);
                assert!(set.ptr_eq(&interner.set_at(Some(7), &value(text)).unwrap()));
            }
        }
        assert_eq!(interner.fields.len(), 3);
    }

    #[test]
    fn a_full_bucket_drops_the_least_recently_used_value() {
        let mut interner = Interner::with_capacity(WAYS);
        let text = |i: usize| value(&format!(r#"{{"f:{i}":{{}}}}"#));
        let first: Vec<Set> = (0..WAYS)
            .map(|i| interner.set_at(Some(7), &text(i)).unwrap())
            .collect();
        // The oldest value is used again, so the second one is dropped.
        assert!(interner.fields_at(Some(7), &text(0)).is_some());
        interner.set_at(Some(7), &text(WAYS)).unwrap();
        assert!(
            interner
                .set_at(Some(7), &text(0))
                .unwrap()
                .ptr_eq(&first[0])
        );
        assert!(
            !interner
                .set_at(Some(7), &text(1))
                .unwrap()
                .ptr_eq(&first[1])
        );
    }

    #[test]
    fn hashes_differ_by_names_and_structure() {
        let texts = [
            r#"{"f:a":{},"f:b":{}}"#,
            r#"{"f:a":{"f:b":{}}}"#,
            r#"{"f:ab":{}}"#,
            r#"{"f:a":null,"f:b":{}}"#,
            r#"{"f:a":{".":{},"f:b":{}}}"#,
        ];
        let hashes = RandomState::new();
        let found = texts.map(|text| fingerprint(&hashes, &value(text)).unwrap());
        for (i, hash) in found.iter().enumerate() {
            assert!(!found[..i].contains(hash), "{}", texts[i]);
        }
        for text in ["{}", "null", "[]", r#"{"f:a":1}"#, r#"{"f:a":{"f:b":[]}}"#] {
            assert_eq!(fingerprint(&hashes, &value(text)), None, "{text}");
        }
    }

    /// Values that a program builds can nest deeper than a parser accepts.
    #[test]
    fn values_that_nest_too_deeply_are_not_interned() {
        let deep = |depth: usize| {
            (0..depth).fold(Value::Map(Map::new()), |below, _| {
                Value::Map(Map::single("f:a", below))
            })
        };
        let mut interner = Interner::default();
        assert!(
            interner
                .set_at(
                    fingerprint(&interner.hashes, &deep(MAX_DEPTH - 1)),
                    &deep(MAX_DEPTH - 1)
                )
                .is_ok()
        );
        assert_eq!(interner.fields.len(), 1);
        assert_eq!(
            interner.set_at(
                fingerprint(&interner.hashes, &deep(MAX_DEPTH + 2)),
                &deep(MAX_DEPTH + 2)
            ),
            Set::from_value(&deep(MAX_DEPTH + 2))
        );
        assert_eq!(interner.fields.len(), 1);
    }
}
