//! All entries of an object.

use std::fmt;

use fieldmanager_fieldpath::{Managers, Set, VersionedSet};
use fieldmanager_value::sorted::SortedMap;
use fieldmanager_value::{Map, Str, Value};

use crate::entry::{Entry, EntryError, ReadFields};
use crate::identity::{Identity, Operation};
use crate::interner::Interner;
use crate::time::Time;

pub(crate) const MANAGED_FIELDS: &str = "managedFields";

/// The `metadata.managedFields` of an object: which manager owns which fields, and since when.
///
/// ```
/// use fieldmanager_managedfields::ManagedFields;
/// use fieldmanager_value::Value;
/// let object = Value::from_json(r#"{"metadata": {"managedFields": [
///     {"manager": "ci", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
///      "fieldsV1": {"f:data": {"f:a": {}}}, "time": "2026-01-31T12:00:00Z"}
/// ]}}"#)?;
/// let managed = ManagedFields::of_object(&object)?;
/// let entry = managed.entries().into_iter().next().ok_or("there is one")?;
/// assert_eq!(entry.fields.to_string(), ".data.a");
/// assert_eq!(managed.set_in(&object), object);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ManagedFields {
    /// By identifier.
    pub(crate) managers: Managers,
    /// By identifier. An entry may have no time.
    pub(crate) times: SortedMap<Str, Time>,
}

impl fmt::Debug for ManagedFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

impl ManagedFields {
    /// Managed fields without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a list of entries. Null and a missing list have no entries.
    ///
    /// Entries with one identity are united, and the latest of their times counts; Go keeps the last entry and
    /// forgets the others.
    ///
    /// # Errors
    ///
    /// [`EntryError`] of the first entry that cannot be read.
    ///
    /// Behaviour: `DecodeManagedFields` of `k8s.io/apimachinery/pkg/util/managedfields`.
    pub fn decode(list: Option<&Value>) -> Result<Self, EntryError> {
        let (managed, faults) = Self::decode_lossy(list);
        faults.into_iter().next().map_or(Ok(managed), Err)
    }

    /// Reads the entries of a list that can be read, and returns the errors of the others.
    ///
    /// ```
    /// use fieldmanager_managedfields::ManagedFields;
    /// use fieldmanager_value::Value;
    /// let list = Value::from_json(r#"[
    ///     {"manager": "ci", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
    ///      "fieldsV1": {"f:data": {}}},
    ///     {"manager": "old", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV0"}
    /// ]"#)?;
    /// let (managed, faults) = ManagedFields::decode_lossy(Some(&list));
    /// assert_eq!(managed.len(), 1);
    /// assert_eq!(faults[0].manager.as_deref(), Some("old"));
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn decode_lossy(list: Option<&Value>) -> (Self, Vec<EntryError>) {
        let (entries, faults) = read_entries(list, &mut Set::from_value);
        let mut managed = Self::new();
        entries.into_iter().for_each(|entry| managed.add(entry));
        (managed, faults)
    }

    /// [`decode`](Self::decode) by way of an [`Interner`]: what it has seen in other objects is not decoded again, and
    /// is shared. The result is the same.
    ///
    /// # Errors
    ///
    /// [`EntryError`] of the first entry that cannot be read.
    ///
    /// ```
    /// use fieldmanager_managedfields::{Interner, ManagedFields};
    /// use fieldmanager_value::Value;
    /// let read = || Value::from_json(r#"[{"manager": "ci", "operation": "Apply", "apiVersion": "v1",
    ///     "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]"#);
    /// let mut interner = Interner::default();
    /// let one = ManagedFields::decode_with(Some(&read()?), &mut interner)?;
    /// let other = ManagedFields::decode_with(Some(&read()?), &mut interner)?;
    /// assert_eq!(one, ManagedFields::decode(Some(&read()?))?);
    /// assert!(one.entries()[0].fields.ptr_eq(&other.entries()[0].fields));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode_with(list: Option<&Value>, interner: &mut Interner) -> Result<Self, EntryError> {
        let (managed, faults) = interner.decode(list);
        faults.into_iter().next().map_or(Ok(managed), Err)
    }

    /// Reads the entries of an object.
    ///
    /// # Errors
    ///
    /// [`EntryError`] of the first entry that cannot be read.
    pub fn of_object(object: &Value) -> Result<Self, EntryError> {
        Self::decode(list_of(object))
    }

    /// [`of_object`](Self::of_object) by way of an [`Interner`].
    ///
    /// # Errors
    ///
    /// [`EntryError`] of the first entry that cannot be read.
    pub fn of_object_with(object: &Value, interner: &mut Interner) -> Result<Self, EntryError> {
        Self::decode_with(list_of(object), interner)
    }

    /// Adds an entry. What its manager owns already stays owned.
    pub fn add(&mut self, entry: Entry) {
        self.add_as(entry.identity().identifier(), entry);
    }

    /// Adds an entry whose identifier is this.
    pub(crate) fn add_as(&mut self, identifier: Str, entry: Entry) {
        let set = match self.managers.get(&identifier) {
            Some(before) => before.set().union(&entry.fields),
            None => entry.fields,
        };
        let applied = entry.operation == Operation::Apply;
        if let Some(time) = entry.time {
            let latest = self.times.get(&identifier).map_or(time, |known| time.max(*known));
            self.times.insert(identifier.clone(), latest);
        }
        self.managers.insert(identifier, VersionedSet::new(set, entry.api_version, applied));
    }

    /// The entries, in the order in which they are written: appliers first, then by time, the oldest first, those
    /// without a time before them, then by manager, version and subresource.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> =
            self.managers.iter().filter_map(|(id, owned)| self.entry(id, owned)).collect();
        let seconds = |entry: &Entry| entry.time.map_or(0, Time::unix_seconds);
        entries.sort_by(|a, b| {
            let key = |e: &Entry| (e.operation, seconds(e));
            key(a).cmp(&key(b)).then_with(|| {
                (&a.manager, &a.api_version, &a.subresource).cmp(&(
                    &b.manager,
                    &b.api_version,
                    &b.subresource,
                ))
            })
        });
        entries
    }

    fn entry(&self, identifier: &Str, owned: &VersionedSet) -> Option<Entry> {
        let identity = Identity::of_identifier(identifier)?;
        Some(Entry {
            manager: identity.manager,
            operation: if owned.is_applied() { Operation::Apply } else { identity.operation },
            api_version: owned.api_version().clone(),
            time: self.times.get(identifier).copied(),
            subresource: identity.subresource,
            fields: owned.set().clone(),
        })
    }

    /// What one manager owns; none if it has no entry.
    pub fn get(&self, identity: &Identity) -> Option<&VersionedSet> {
        self.managers.get(&identity.identifier())
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.managers.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.managers.is_empty()
    }

    /// The list of entries as it is in an object; none if there is no entry.
    pub fn encode(&self) -> Option<Value> {
        let entries = self.entries();
        (!entries.is_empty()).then(|| Value::List(entries.iter().map(Entry::to_value).collect()))
    }

    /// The object with these entries instead of its own. Without entries it has no `managedFields`.
    ///
    /// Anything but a map stays as it is, and so does an object whose `metadata` is neither map nor null.
    #[must_use]
    pub fn set_in(&self, object: &Value) -> Value {
        with_list(object, self.encode())
    }
}

/// The entries of a list that can be read, and what is wrong with the others.
pub(crate) fn read_entries(list: Option<&Value>, fields: ReadFields<'_>) -> (Vec<Entry>, Vec<EntryError>) {
    let (mut read, mut faults) = (Vec::new(), Vec::new());
    match list {
        None | Some(Value::Null) => {}
        Some(Value::List(entries)) => {
            for (index, value) in entries.iter().enumerate() {
                match Entry::read(index, value, fields) {
                    Ok(entry) => read.push(entry),
                    Err(fault) => faults.push(fault),
                }
            }
        }
        Some(other) => faults.push(EntryError {
            index: 0,
            manager: None,
            member: "",
            message: format!("expected a list of entries, got {}", other.kind()),
        }),
    }
    (read, faults)
}

/// The `metadata.managedFields` of an object as they are.
pub(crate) fn list_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get(MANAGED_FIELDS)
}

/// The object with another list of entries.
pub(crate) fn with_list(object: &Value, list: Option<Value>) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    let metadata = match (fields.get("metadata"), &list) {
        (Some(Value::Map(metadata)), _) => metadata.clone(),
        // Null metadata gives way: what is owned must not be lost with it.
        (None | Some(Value::Null), Some(_)) => Map::new(),
        _ => return object.clone(),
    };
    if list.is_none() && !metadata.contains(MANAGED_FIELDS) {
        return object.clone();
    }
    let edit = (Str::from(MANAGED_FIELDS), list);
    let metadata = Value::Map(metadata.with_edits(vec![edit]));
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(metadata))]))
}
