//! Transfers entries between managers.

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_value::Str;

use crate::entry::Entry;
use crate::identity::{Identity, Operation, display_name};
use crate::managed_fields::ManagedFields;

/// Selects entries of a manager: all of them, or those with a certain operation, subresource or version.
///
/// ```
/// use fieldmanager_managedfields::{Operation, Selector};
/// let updates_of_status = Selector::manager("ci").operation(Operation::Update).subresource("status");
/// assert_eq!(updates_of_status, updates_of_status.clone());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    manager: Str,
    operation: Option<Operation>,
    subresource: Option<Str>,
    version: Option<ApiVersion>,
}

impl Selector {
    /// All entries of a manager.
    pub fn manager(name: impl Into<Str>) -> Self {
        Selector {
            manager: name.into(),
            operation: None,
            subresource: None,
            version: None,
        }
    }

    /// The entries of the same manager, operation and subresource, at any version.
    pub(crate) fn of(entry: &Entry) -> Self {
        Self::manager(entry.manager.clone())
            .operation(entry.operation)
            .subresource(entry.subresource.clone())
    }

    /// Only those with an operation.
    #[must_use]
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Only those of a subresource; the empty one is the object itself.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<Str>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Only those at a version.
    #[must_use]
    pub fn version(mut self, version: impl Into<ApiVersion>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Whether an entry is selected.
    pub(crate) fn selects(&self, entry: &Entry) -> bool {
        self.manager == entry.manager
            && self
                .operation
                .is_none_or(|operation| operation == entry.operation)
            && self
                .subresource
                .as_ref()
                .is_none_or(|subresource| *subresource == entry.subresource)
            && self
                .version
                .as_ref()
                .is_none_or(|version| *version == entry.api_version)
    }
}

/// The error of a transfer of entries to a manager.
///
/// ```
/// use fieldmanager_managedfields::{ManagedFields, Selector};
/// use fieldmanager_value::Value;
/// let managed = ManagedFields::decode(Some(&Value::from_json(r#"[
///     {"manager": "a", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"},
///     {"manager": "b", "operation": "Apply", "apiVersion": "v2", "fieldsType": "FieldsV1"}
/// ]"#)?))?;
/// let error = managed.rename(&Selector::manager("a"), "b").unwrap_err();
/// assert_eq!(error.to_string(), r#"cannot unite entries of "b" at v1 and v2: expected one version, apply again first"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot unite entries of {manager} at {from} and {to}: expected one version, apply again first"
)]
#[non_exhaustive]
pub struct MigrateError {
    /// The manager that would get the entries, as in messages.
    pub manager: String,
    /// The version of the transferred entries.
    pub from: ApiVersion,
    /// The version of the manager's own entry, at which the same field may have another path.
    pub to: ApiVersion,
}

impl ManagedFields {
    /// The entries without the selected ones. Their fields keep other owners.
    ///
    /// ```
    /// # use fieldmanager_managedfields::{ManagedFields, Operation, Selector};
    /// # use fieldmanager_value::Value;
    /// let managed = ManagedFields::decode(Some(&Value::from_json(r#"[
    ///     {"manager": "ci", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"},
    ///     {"manager": "ci", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    /// ]"#)?))?;
    /// let left = managed.without(&Selector::manager("ci").operation(Operation::Update)).entries();
    /// assert_eq!((left.len(), left[0].operation), (1, Operation::Apply));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without(&self, selector: &Selector) -> ManagedFields {
        let mut left = ManagedFields::new();
        for entry in self
            .entries()
            .into_iter()
            .filter(|entry| !selector.selects(entry))
        {
            left.add(entry);
        }
        left
    }

    /// Renames the manager of the selected entries. Entries with the same identity are united, and the later time is kept.
    ///
    /// # Errors
    ///
    /// [`MigrateError`] if two entries of an applier at different versions would have to become one.
    ///
    /// ```
    /// # use fieldmanager_managedfields::{ManagedFields, Selector};
    /// # use fieldmanager_value::Value;
    /// let managed = ManagedFields::decode(Some(&Value::from_json(r#"[
    ///     {"manager": "old", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
    ///      "fieldsV1": {"f:a": {}}},
    ///     {"manager": "new", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
    ///      "fieldsV1": {"f:b": {}}}
    /// ]"#)?))?;
    /// let renamed = managed.rename(&Selector::manager("old"), "new")?.entries();
    /// assert_eq!((renamed.len(), renamed[0].fields.to_string().as_str()), (1, ".a\n.b"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rename(
        &self,
        selector: &Selector,
        to: impl Into<Str>,
    ) -> Result<ManagedFields, MigrateError> {
        let to = to.into();
        self.moved(selector, |entry| entry.manager = to.clone())
    }

    /// As [`rename`](Self::rename), and also sets the operation and the subresource of the selected entries, for example
    /// to turn the fields of an updater into those of an applier. Entries keep their versions; that of `to` is ignored.
    ///
    /// # Errors
    ///
    /// [`MigrateError`] if two entries of an applier at different versions would have to become one.
    ///
    /// ```
    /// # use fieldmanager_managedfields::{Identity, ManagedFields, Operation, Selector};
    /// # use fieldmanager_value::Value;
    /// let managed = ManagedFields::decode(Some(&Value::from_json(r#"[
    ///     {"manager": "before-first-apply", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
    ///      "fieldsV1": {"f:a": {}}}
    /// ]"#)?))?;
    /// let (from, to) = (Selector::manager("before-first-apply"), Identity::new("ci", Operation::Apply, "", ""));
    /// let given = managed.transfer(&from, &to)?.entries();
    /// assert_eq!((given[0].manager.as_str(), given[0].operation), ("ci", Operation::Apply));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transfer(
        &self,
        selector: &Selector,
        to: &Identity,
    ) -> Result<ManagedFields, MigrateError> {
        self.moved(selector, |entry| {
            entry.manager = to.manager.clone();
            entry.operation = to.operation;
            entry.subresource = to.subresource.clone();
        })
    }

    fn moved(
        &self,
        selector: &Selector,
        change: impl Fn(&mut Entry),
    ) -> Result<ManagedFields, MigrateError> {
        let mut out = self.without(selector);
        // Each entry is added to the others, which unites entries of one identity.
        for mut entry in selected_entries(self, selector) {
            change(&mut entry);
            let identity = entry.identity();
            // Updaters at different versions are different, so this happens to appliers only.
            if let Some(known) = out.get(&identity)
                && *known.api_version() != entry.api_version
            {
                return Err(MigrateError {
                    manager: display_name(&identity),
                    from: entry.api_version,
                    to: known.api_version().clone(),
                });
            }
            out.add(entry);
        }

        Ok(out)
    }
}

/// The selected entries.
///
/// ```
/// use fieldmanager_managedfields::internal::selected_entries;
/// use fieldmanager_managedfields::{ManagedFields, Selector};
/// assert!(selected_entries(&ManagedFields::new(), &Selector::manager("ci")).is_empty());
/// ```
pub fn selected_entries(managed: &ManagedFields, selector: &Selector) -> Vec<Entry> {
    managed
        .entries()
        .into_iter()
        .filter(|entry| selector.selects(entry))
        .collect()
}
