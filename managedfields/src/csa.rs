//! From client-side apply to server-side apply.

use fieldmanager_fieldpath::Set;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Map, Str, Value};

use crate::entry::{Entry, EntryError};
use crate::identity::Operation;
use crate::object::with_list;

/// Transfers the fields of client-side apply to a manager of server-side apply.
///
/// Client-side apply is an update, so its fields belong to an updater, and an apply that omits a field does not remove
/// it. After the upgrade the fields belong to the applier.
///
/// Behaviour: `UpgradeManagedFields` and `UpgradeManagedFieldsPatch` of `k8s.io/client-go/util/csaupgrade`. Managers
/// are visited in the order given; Go visits them in random order.
///
/// ```
/// use fieldmanager_managedfields::{CsaUpgrade, ManagedFields, Operation};
/// use fieldmanager_value::Value;
/// let object = Value::from_json(r#"{"metadata": {"resourceVersion": "7", "managedFields": [
///     {"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1",
///      "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}
/// ]}}"#)?;
/// let upgrade = CsaUpgrade::new(["kubectl-client-side-apply"], "kubectl");
/// let entry = &ManagedFields::of_object(&upgrade.upgrade(&object)?)?.entries()[0];
/// assert_eq!((entry.manager.as_str(), entry.operation), ("kubectl", Operation::Apply));
///
/// let patch = upgrade.patch(&object)?.ok_or("the object has changed")?;
/// let last = patch.as_list().and_then(|list| list.get(1)).ok_or("two operations")?;
/// assert_eq!(last.to_json(), r#"{"op":"replace","path":"/metadata/resourceVersion","value":"7"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CsaUpgrade {
    from: Vec<Str>,
    to: Str,
    subresource: Str,
    unite_versions: bool,
}

/// The entries of an object that have an operation and own all fields of a set, in the order of the list. Entries that
/// cannot be read are ignored.
///
/// Behaviour: `FindFieldsOwners` of `k8s.io/client-go/util/csaupgrade`.
///
/// ```
/// use fieldmanager_fieldpath::Set;
/// use fieldmanager_managedfields::internal::find_owners;
/// use fieldmanager_managedfields::Operation;
/// use fieldmanager_value::Value;
/// let object = Value::from_json(r#"{"metadata": {"managedFields": [
///     {"manager": "ci", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
///      "fieldsV1": {"f:data": {"f:a": {}}}},
///     {"manager": "broken"}
/// ]}}"#)?;
/// let annotation = Set::from_json(br#"{"f:data":{"f:a":{}}}"#)?;
/// let owners = find_owners(&object, Operation::Update, &annotation);
/// assert_eq!((owners.len(), owners[0].manager.as_str()), (1, "ci"));
/// assert!(find_owners(&object, Operation::Apply, &annotation).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_owners(object: &Value, operation: Operation, fields: &Set) -> Vec<Entry> {
    let list = object.managed_fields().and_then(Value::as_list);
    let entries = list.into_iter().flatten().enumerate();
    entries
        .filter_map(|(index, value)| Entry::from_value(index, value).ok())
        .filter(|entry| entry.operation == operation && fields.is_subset(&entry.fields))
        .collect()
}

impl CsaUpgrade {
    /// An upgrade from the managers of client-side apply to a manager of server-side apply. If that manager has no entry
    /// yet, it gets the version and time of the first manager that has one.
    pub fn new<N: Into<Str>>(from: impl IntoIterator<Item = N>, to: impl Into<Str>) -> Self {
        CsaUpgrade {
            from: from.into_iter().map(Into::into).collect(),
            to: to.into(),
            subresource: Str::default(),
            unite_versions: false,
        }
    }

    /// The subresource whose entries are upgraded. By default it is empty, for the object itself.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<Str>) -> Self {
        self.subresource = subresource.into();
        self
    }

    /// Whether entries at other versions than the applier's are transferred too. By default, as in Go, their fields lose
    /// their owner. Use it only for kinds whose fields have the same paths at all versions.
    ///
    /// ```
    /// use fieldmanager_managedfields::{CsaUpgrade, ManagedFields};
    /// use fieldmanager_value::Value;
    /// let object = Value::from_json(r#"{"metadata": {"managedFields": [
    ///     {"manager": "old", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
    ///      "fieldsV1": {"f:data": {"f:a": {}}}},
    ///     {"manager": "old", "operation": "Update", "apiVersion": "v2", "fieldsType": "FieldsV1",
    ///      "fieldsV1": {"f:data": {"f:b": {}}}}
    /// ]}}"#)?;
    /// let fields = |unite| {
    ///     let object = CsaUpgrade::new(["old"], "ci").unite_versions(unite).upgrade(&object)?;
    ///     Ok::<_, Box<dyn std::error::Error>>(ManagedFields::of_object(&object)?.entries()[0].fields.to_string())
    /// };
    /// assert_eq!(fields(false)?, ".data.a");
    /// assert_eq!(fields(true)?, ".data.a\n.data.b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unite_versions(mut self, on: bool) -> Self {
        self.unite_versions = on;
        self
    }

    /// The object with its managed fields upgraded. Entries of other managers are unchanged, even if they cannot be read.
    ///
    /// # Errors
    ///
    /// [`EntryError`] if the fields of an entry to upgrade cannot be read.
    pub fn upgrade(&self, object: &Value) -> Result<Value, EntryError> {
        Ok(match self.upgraded(object)? {
            Some(list) => with_list(object, Some(list)),
            None => object.clone(),
        })
    }

    /// The upgrade as a JSON patch; `None` if there is nothing to upgrade. The patch fails with a conflict if the object
    /// has changed in the meantime.
    ///
    /// # Errors
    ///
    /// [`EntryError`] if the fields of an entry to upgrade cannot be read.
    pub fn patch(&self, object: &Value) -> Result<Option<Value>, EntryError> {
        let Some(list) = self.upgraded(object)? else {
            return Ok(None);
        };
        Ok(Some(owners_patch(object, list)))
    }

    /// The upgraded list; `None` if it is the same.
    fn upgraded(&self, object: &Value) -> Result<Option<Value>, EntryError> {
        let Some(Value::List(list)) = object.managed_fields() else {
            return Ok(None);
        };
        let mut entries: Vec<(usize, Value)> = list.iter().cloned().enumerate().collect();
        for name in &self.from {
            entries = self.upgraded_from(name, entries)?;
        }

        let upgraded = Value::from(
            entries
                .into_iter()
                .map(|(_, entry)| entry)
                .collect::<Vec<Value>>(),
        );
        let same = object.managed_fields() == Some(&upgraded);

        Ok((!same).then_some(upgraded))
    }

    /// The entries, each with its index in the object, with those of one manager upgraded.
    fn upgraded_from(
        &self,
        name: &str,
        mut entries: Vec<(usize, Value)>,
    ) -> Result<Vec<(usize, Value)>, EntryError> {
        let is = |entry: &Value, manager: &str, operation: Operation| {
            text(entry, "manager") == manager
                && text(entry, "operation") == operation.name()
                && text(entry, "subresource") == &*self.subresource
        };
        let is_source = |entry: &Value| is(entry, name, Operation::Update);

        // The applier takes the fields over. Without an applier, the first source becomes one.
        let applier = entries
            .iter()
            .find(|(_, entry)| is(entry, &self.to, Operation::Apply));
        let Some((target, entry)) =
            applier.or_else(|| entries.iter().find(|(_, entry)| is_source(entry)))
        else {
            return Ok(entries);
        };

        let (target, version) = (*target, text(entry, "apiVersion").to_owned());
        let before = fields_of(target, entry)?;
        let mut fields = before.clone();

        // At another version, the same path may be another field.
        for (index, entry) in entries.iter().filter(|(_, entry)| is_source(entry)) {
            if self.unite_versions || text(entry, "apiVersion") == version {
                fields = fields.union(&fields_of(*index, entry)?);
            }
        }

        // As in Go, all sources are removed, also those whose fields were not taken over.
        for (_, entry) in entries.iter_mut().filter(|(index, _)| *index == target) {
            if let Value::Map(members) = entry {
                *entry = self.target(members, (fields != before).then_some(&fields));
            }
        }
        entries.retain(|(_, entry)| !is_source(entry));
        Ok(entries)
    }

    /// An entry as one of the applier. Without new fields, it keeps its `fieldsV1` unchanged.
    fn target(&self, members: &Map, fields: Option<&Set>) -> Value {
        // Edits must be sorted by name.
        let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
        if let Some(fields) = fields {
            edits.push(("fieldsV1".into(), Some(fields.to_value())));
        }
        edits.push(("manager".into(), Some(self.to.clone().into())));
        edits.push(("operation".into(), Some(Operation::Apply.name().into())));
        Value::Map(members.with_edits(edits))
    }
}

/// The JSON patch that replaces the managed fields of an object, and fails with a conflict if the object has changed.
pub fn owners_patch(object: &Value, managed_fields: Value) -> Value {
    let version = object.metadata_field("resourceVersion");
    let version = version.cloned().unwrap_or_else(|| "".into());

    // The patch replaces the version instead of testing it, so that the answer is a conflict, which clients retry.
    let operation = |path: &str, value: Value| {
        let members = [
            ("op", Value::from("replace")),
            ("path", path.into()),
            ("value", value),
        ];
        Value::Map(
            members
                .into_iter()
                .map(|(name, value)| (Str::from(name), value))
                .collect(),
        )
    };
    Value::from(vec![
        operation("/metadata/managedFields", managed_fields),
        operation("/metadata/resourceVersion", version),
    ])
}

fn text<'e>(entry: &'e Value, name: &str) -> &'e str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn fields_of(index: usize, entry: &Value) -> Result<Set, EntryError> {
    match entry.get("fieldsV1") {
        None | Some(Value::Null) => Ok(Set::new()),
        Some(fields) => Set::from_value(fields).map_err(|error| EntryError {
            index,
            manager: Some(text(entry, "manager").to_owned()),
            member: "fieldsV1",
            message: error.to_string(),
        }),
    }
}
