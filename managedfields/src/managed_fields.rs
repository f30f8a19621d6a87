//! The managed fields of an object.

use std::fmt;

use fieldmanager_fieldpath::{Owners, Set, VersionedSet};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::internal::sorted::SortedMap;
use fieldmanager_value::{Str, Value};

use crate::entry::{Entry, EntryError, ReadFields};
use crate::identity::{Identity, Operation};
use crate::interner::{Fingerprint, Interner};
use crate::object::with_list;
use crate::time::Time;

/// The `metadata.managedFields` of an object: which manager owns which fields, and since when.
///
/// Two values are equal if their [entries](Self::entries) are.
///
/// An entry is identified by its [`Identity`]. The layers below know only [`Owners`], which map a name to a set; here the
/// name is the identifier of an entry. In Go, this type is `ManagedInterface` of
/// `k8s.io/apimachinery/pkg/util/managedfields`, and `Owners` is `fieldpath.ManagedFields`.
///
/// ```
/// use fieldmanager_managedfields::ManagedFields;
/// use fieldmanager_value::Value;
/// let object = Value::from_json(r#"{"metadata": {"managedFields": [
///     {"manager": "ci", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
///      "fieldsV1": {"f:data": {"f:a": {}}}, "time": "2026-01-31T12:00:00Z"}
/// ]}}"#)?;
/// let managed = ManagedFields::of_object(&object)?;
/// let entry = managed.entries().into_iter().next().ok_or("there is an entry")?;
/// assert_eq!(entry.fields.to_string(), ".data.a");
/// assert_eq!(managed.set_in(&object), object);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct ManagedFields {
    /// By identifier.
    pub(crate) owners: Owners,
    /// By identifier. An entry may have no time, and the time of a manager may outlive its entry.
    pub(crate) times: SortedMap<Str, Time>,
}

impl PartialEq for ManagedFields {
    fn eq(&self, other: &Self) -> bool {
        let same_time =
            |(identifier, _): (&Str, _)| self.times.get(identifier) == other.times.get(identifier);
        self.owners == other.owners && self.owners.iter().all(same_time)
    }
}

impl Eq for ManagedFields {}

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
    /// Entries with the same identity are united and get the latest of their times; Go keeps only the last entry.
    ///
    /// # Errors
    ///
    /// [`EntryError`] of the first entry that cannot be read.
    ///
    /// Behaviour: `DecodeManagedFields` of `k8s.io/apimachinery/pkg/util/managedfields`.
    pub fn decode(list: Option<&Value>) -> Result<Self, EntryError> {
        decode_lossy(list).without_faults()
    }

    /// As [`decode`](Self::decode) with an [`Interner`]: sets that it knows from other objects are shared and not decoded
    /// again.
    ///
    /// # Errors
    ///
    /// [`EntryError`] of the first entry that cannot be read.
    pub(crate) fn decode_with(
        list: Option<&Value>,
        interner: &mut Interner,
    ) -> Result<Self, EntryError> {
        let mut decoded = Decoded::default();
        let mut fingerprint = Fingerprint::default();
        let entries = read_entries(
            list,
            &mut |fields_v1| interner.fields_of_object(fields_v1, &mut fingerprint),
            &mut decoded.faults,
        );

        // Objects of one kind repeat identifiers, versions and sets, which the interner shares.
        for mut entry in entries {
            let identifier = entry.identity().identifier();
            let identifier = interner.text(&identifier, || identifier.clone());
            let version = entry.api_version.as_str();
            entry.api_version = interner.text(version, || Str::from(version)).into();
            decoded.managed.add_as(identifier, entry);
        }
        decoded.managed.owners = interner.owners(fingerprint, decoded.managed.owners);

        decoded.without_faults()
    }

    /// Reads the entries of an object.
    ///
    /// # Errors
    ///
    /// [`EntryError`] of the first entry that cannot be read.
    pub fn of_object(object: &Value) -> Result<Self, EntryError> {
        Self::decode(object.managed_fields())
    }

    /// As [`of_object`](Self::of_object) with an [`Interner`].
    ///
    /// # Errors
    ///
    /// [`EntryError`] of the first entry that cannot be read.
    pub fn of_object_with(object: &Value, interner: &mut Interner) -> Result<Self, EntryError> {
        Self::decode_with(object.managed_fields(), interner)
    }

    /// Adds an entry. If there is one with the same identity, they are united.
    pub fn add(&mut self, entry: Entry) {
        self.add_as(entry.identity().identifier(), entry);
    }

    /// Sets or removes the time of an entry.
    pub(crate) fn set_time(&mut self, identifier: Str, time: Option<Time>) {
        match time {
            Some(time) => self.times.insert(identifier, time),
            None => self.times.remove(&identifier),
        };
    }

    /// Adds an entry by its identifier.
    fn add_as(&mut self, identifier: Str, entry: Entry) {
        let set = match self.owners.get(&identifier) {
            Some(before) => before.set().union(&entry.fields),
            None => entry.fields,
        };
        let applied = entry.operation == Operation::Apply;

        if let Some(time) = entry.time {
            let latest = self
                .times
                .get(&identifier)
                .map_or(time, |known| time.max(*known));
            self.times.insert(identifier.clone(), latest);
        }

        self.owners.insert(
            identifier,
            VersionedSet::new(set, entry.api_version, applied),
        );
    }

    /// The entries in the order in which they are written: by operation, appliers first; by time, the oldest first, after
    /// those without a time; and by manager, version and subresource.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self
            .owners
            .iter()
            .filter_map(|(id, owned)| self.entry(id, owned))
            .collect();

        // An object stores times in seconds, so fractions must not decide about the order.
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
            operation: if owned.is_applied() {
                Operation::Apply
            } else {
                identity.operation
            },
            api_version: owned.api_version().clone(),
            time: self.times.get(identifier).copied(),
            subresource: identity.subresource,
            fields: owned.set().clone(),
        })
    }

    /// The fields that a manager owns; `None` if it has no entry.
    pub fn get(&self, identity: &Identity) -> Option<&VersionedSet> {
        self.owners.get(&identity.identifier())
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// The entries as the list in an object; `None` if there are none.
    pub fn encode(&self) -> Option<Value> {
        let entries = self.entries();
        (!entries.is_empty()).then(|| Value::List(entries.iter().map(Entry::to_value).collect()))
    }

    /// The object with these entries instead of its own. Without entries it has no `managedFields`.
    ///
    /// A value that is not a map, or whose `metadata` is neither a map nor null, is unchanged.
    #[must_use]
    pub fn set_in(&self, object: &Value) -> Value {
        with_list(object, self.encode())
    }
}

/// Reads a list as [`decode_lossy`] does, but the last of several entries with one identity counts
/// alone, as in an API server.
pub fn decode_last(list: Option<&Value>) -> Decoded {
    let mut decoded = Decoded::default();
    for entry in read_entries(list, &mut Set::from_value, &mut decoded.faults) {
        let identifier = entry.identity().identifier();
        decoded.managed.owners.remove(&identifier);
        decoded.managed.times.remove(&identifier);
        decoded.managed.add_as(identifier, entry);
    }
    decoded
}

/// Reads the entries of a list that can be read, and returns the errors of the others.
///
/// ```
/// use fieldmanager_managedfields::internal::decode_lossy;
/// use fieldmanager_managedfields::ManagedFields;
/// use fieldmanager_value::Value;
/// let list = Value::from_json(r#"[
///     {"manager": "ci", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
///      "fieldsV1": {"f:data": {}}},
///     {"manager": "old", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV0"}
/// ]"#)?;
/// let decoded = decode_lossy(Some(&list));
/// assert_eq!(decoded.managed.len(), 1);
/// assert_eq!(decoded.faults[0].manager.as_deref(), Some("old"));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn decode_lossy(list: Option<&Value>) -> Decoded {
    let mut decoded = Decoded::default();
    for entry in read_entries(list, &mut Set::from_value, &mut decoded.faults) {
        decoded.managed.add(entry);
    }
    decoded
}

/// The result of [`decode_lossy`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// The entries that can be read.
    pub managed: ManagedFields,
    /// The errors of the others.
    pub faults: Vec<EntryError>,
}

impl Decoded {
    fn without_faults(self) -> Result<ManagedFields, EntryError> {
        self.faults.into_iter().next().map_or(Ok(self.managed), Err)
    }
}

/// The entries of a list that can be read. The errors of the others are added to `faults`.
fn read_entries(
    list: Option<&Value>,
    fields: ReadFields<'_>,
    faults: &mut Vec<EntryError>,
) -> Vec<Entry> {
    let mut read = Vec::new();
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

    read
}
