//! The updater and its options.

use std::sync::Arc;

use fieldmanager_fieldpath::{ApiVersion, Filter, Managers, VersionedSet};
use fieldmanager_typed::TypedValue;

use crate::converter::{Converter, SameVersion};
use crate::error::{Error, Stage};
use crate::ownership::{Operation, Wanted};
use crate::versions::Versions;

/// Whether an apply takes fields that other managers own.
///
/// ```
/// # use fieldmanager_fieldpath::Managers;
/// # use fieldmanager_merge::{Force, Updater};
/// # use fieldmanager_schema::Schema;
/// # use fieldmanager_typed::{Duplicates, TypedValue};
/// # use fieldmanager_value::Value;
/// # let value = |yaml| Value::from_yaml(yaml).unwrap();
/// # let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
/// # let updater = Updater::builder().build();
/// # let (nothing, v1) = (TypedValue::null(Schema::deduced()), "v1".into());
/// let applied = updater.apply(&nothing, &typed("{a: 1}")?, &v1, &Managers::new(), "ci", Force::No)?;
/// let live = applied.object.unwrap();
/// let ops = |force| updater.apply(&live, &typed("{a: 2}").unwrap(), &v1, &applied.managers, "ops", force);
/// assert!(ops(Force::No).is_err());
/// assert!(ops(Force::Yes)?.managers.get("ci").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// No: such a field is a conflict.
    No,
    /// Yes: the other managers lose the fields.
    Yes,
}

/// Computes applies and updates. It holds options and no state, so one updater serves any number of objects
/// and threads.
///
/// ```
/// use fieldmanager_merge::Updater;
/// let updater = Updater::builder().return_input_on_noop(true).build();
/// let another = updater.clone();
/// assert!(another.unions());
/// ```
#[derive(Clone)]
pub struct Updater {
    /// `None` if the object is the same at every version.
    converter: Option<Arc<dyn Converter>>,
    filters: Vec<(ApiVersion, Filter)>,
    return_input_on_noop: bool,
    unions: bool,
}

/// Collects the options of an [`Updater`].
///
/// ```
/// use fieldmanager_fieldpath::{Filter, Set};
/// use fieldmanager_merge::{SameVersion, Updater};
/// let status = Set::from_json(br#"{"f:status":{}}"#)?;
/// let updater = Updater::builder()
///     .converter(SameVersion)
///     .filter("v1", Filter::Exclude(status))
///     .unions(false)
///     .build();
/// assert!(!updater.unions());
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone)]
pub struct UpdaterBuilder(Updater);

impl UpdaterBuilder {
    /// Sets the converter between versions. Without one, the object is the same at every version.
    ///
    /// ```
    /// # use fieldmanager_fieldpath::Managers;
    /// # use fieldmanager_merge::{Force, SameVersion, Updater};
    /// # use fieldmanager_schema::Schema;
    /// # use fieldmanager_typed::{Duplicates, TypedValue};
    /// # use fieldmanager_value::Value;
    /// # let value = |yaml| Value::from_yaml(yaml).unwrap();
    /// # let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
    /// let updater = Updater::builder().converter(SameVersion).build();
    /// # let (nothing, v1) = (TypedValue::null(Schema::deduced()), "v1".into());
    /// let applied = updater.apply(&nothing, &typed("{a: 1}")?, &v1, &Managers::new(), "ci", Force::No)?;
    /// // A manager at another version meets the same field.
    /// let live = applied.object.unwrap();
    /// let error = updater.apply(&live, &typed("{a: 2}")?, &"v2".into(), &applied.managers, "ops", Force::No);
    /// assert!(error.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn converter(mut self, converter: impl Converter + 'static) -> Self {
        self.0.converter = Some(Arc::new(converter));
        self
    }

    /// Tracks only the fields of a version that the filter keeps. Other fields have no owner and cause no
    /// conflicts. The reset fields of Kubernetes are such filters. A second filter for a version replaces the
    /// first.
    ///
    /// Behaviour: `UpdaterBuilder.IgnoreFilter` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    ///
    /// ```
    /// # use fieldmanager_fieldpath::{Filter, Managers, Set};
    /// # use fieldmanager_merge::{Force, Updater};
    /// # use fieldmanager_schema::Schema;
    /// # use fieldmanager_typed::{Duplicates, TypedValue};
    /// # use fieldmanager_value::Value;
    /// # let value = |yaml| Value::from_yaml(yaml).unwrap();
    /// # let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
    /// let status = Set::from_json(br#"{"f:status":{}}"#)?;
    /// let updater = Updater::builder().filter("v1", Filter::Exclude(status)).build();
    /// # let (nothing, v1) = (TypedValue::null(Schema::deduced()), "v1".into());
    /// let config = typed("{a: 1, status: {ready: true}}")?;
    /// let applied = updater.apply(&nothing, &config, &v1, &Managers::new(), "ci", Force::No)?;
    /// assert_eq!(applied.managers.get("ci").unwrap().set().to_string(), ".a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn filter(mut self, version: impl Into<ApiVersion>, filter: Filter) -> Self {
        let version = version.into();
        self.0.filters.retain(|(known, _)| *known != version);
        self.0.filters.push((version, filter));
        self
    }

    /// Whether an apply that changes nothing returns the object all the same. Off by default.
    ///
    /// Behaviour: `UpdaterBuilder.ReturnInputOnNoop` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    ///
    /// ```
    /// # use fieldmanager_fieldpath::Managers;
    /// # use fieldmanager_merge::{Force, Updater};
    /// # use fieldmanager_schema::Schema;
    /// # use fieldmanager_typed::{Duplicates, TypedValue};
    /// # use fieldmanager_value::Value;
    /// # let value = |yaml| Value::from_yaml(yaml).unwrap();
    /// # let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
    /// let updater = Updater::builder().return_input_on_noop(true).build();
    /// # let (nothing, v1) = (TypedValue::null(Schema::deduced()), "v1".into());
    /// let live = typed("{a: 1}")?;
    /// let applied = updater.apply(&live, &live, &v1, &Managers::new(), "ci", Force::No)?;
    /// assert!(applied.object.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn return_input_on_noop(mut self, on: bool) -> Self {
        self.0.return_input_on_noop = on;
        self
    }

    /// Whether unions are normalized before ownership is computed (`APIUnions` in KEP-1027). On by default.
    /// Off, unions of the schema mean nothing.
    #[must_use]
    pub fn unions(mut self, on: bool) -> Self {
        self.0.unions = on;
        self
    }

    /// The updater.
    #[must_use]
    pub fn build(self) -> Updater {
        self.0
    }
}

/// The result of an update.
///
/// ```
/// # use fieldmanager_fieldpath::Managers;
/// # use fieldmanager_merge::{Force, Updater};
/// # use fieldmanager_schema::Schema;
/// # use fieldmanager_typed::{Duplicates, TypedValue};
/// # use fieldmanager_value::Value;
/// # let value = |yaml| Value::from_yaml(yaml).unwrap();
/// # let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
/// # let updater = Updater::builder().build();
/// # let (nothing, v1) = (TypedValue::null(Schema::deduced()), "v1".into());
/// let updated = updater.update(&nothing, &typed("{a: 1}")?, &v1, &Managers::new(), "kubectl")?;
/// assert_eq!(updated.object.value().to_json(), r#"{"a":1}"#);
/// assert!(!updated.managers.get("kubectl").unwrap().is_applied());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Updated {
    /// The new object.
    pub object: TypedValue,
    /// The managers after the update.
    pub managers: Managers,
}

/// The result of an apply.
///
/// ```
/// # use fieldmanager_fieldpath::Managers;
/// # use fieldmanager_merge::{Force, Updater};
/// # use fieldmanager_schema::Schema;
/// # use fieldmanager_typed::{Duplicates, TypedValue};
/// # use fieldmanager_value::Value;
/// # let value = |yaml| Value::from_yaml(yaml).unwrap();
/// # let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
/// # let updater = Updater::builder().build();
/// # let (nothing, v1) = (TypedValue::null(Schema::deduced()), "v1".into());
/// let config = typed("{a: 1}")?;
/// let first = updater.apply(&nothing, &config, &v1, &Managers::new(), "ci", Force::No)?;
/// let live = first.object.unwrap();
/// let again = updater.apply(&live, &config, &v1, &first.managers, "ci", Force::No)?;
/// assert!(again.object.is_none());
/// assert_eq!(again.managers, first.managers);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Applied {
    /// The new object; `None` if it equals the live one and the updater does not return it then.
    pub object: Option<TypedValue>,
    /// The managers after the apply.
    pub managers: Managers,
}

impl Updater {
    /// An updater with options of its own.
    pub fn builder() -> UpdaterBuilder {
        UpdaterBuilder(Updater {
            converter: None,
            filters: Vec::new(),
            return_input_on_noop: false,
            unions: true,
        })
    }

    /// The same updater with unions normalized or not.
    ///
    /// ```
    /// use fieldmanager_merge::Updater;
    /// let updater = Updater::builder().build();
    /// assert!(!updater.with_unions(false).unions() && updater.unions());
    /// ```
    #[must_use]
    pub fn with_unions(&self, on: bool) -> Updater {
        Updater { unions: on, ..self.clone() }
    }

    /// Whether unions are normalized.
    pub fn unions(&self) -> bool {
        self.unions
    }

    pub(crate) fn converter(&self) -> &dyn Converter {
        self.converter.as_deref().unwrap_or(&SameVersion)
    }

    pub(crate) fn filter(&self, version: &ApiVersion) -> Option<&Filter> {
        let found = self.filters.iter().find(|(known, _)| known == version);
        found.map(|(_, filter)| filter)
    }

    /// Replaces the live object by a new one, as the verbs create, update and patch do. `live` and `new`
    /// are at `version`; for a create, `live` is [null](TypedValue::null).
    ///
    /// The manager gains what it added and modified, and keeps what it owned and did not remove;
    /// other managers lose what changed. An update never conflicts.
    ///
    /// # Errors
    ///
    /// [`Error::Typed`] if the two are of different types, have items without keys, or the new object
    /// contradicts itself about a union; [`Error::Convert`].
    ///
    /// Behaviour: `Updater.Update` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    ///
    /// ```
    /// # use fieldmanager_fieldpath::Managers;
    /// # use fieldmanager_merge::{Force, Updater};
    /// # use fieldmanager_schema::Schema;
    /// # use fieldmanager_typed::{Duplicates, TypedValue};
    /// # use fieldmanager_value::Value;
    /// # let value = |yaml| Value::from_yaml(yaml).unwrap();
    /// # let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
    /// # let updater = Updater::builder().build();
    /// # let (nothing, v1) = (TypedValue::null(Schema::deduced()), "v1".into());
    /// let config = typed("{a: 1, b: 1}")?;
    /// let applied = updater.apply(&nothing, &config, &v1, &Managers::new(), "ci", Force::No)?;
    /// let live = applied.object.unwrap();
    /// let updated = updater.update(&live, &typed("{a: 2, b: 1}")?, &v1, &applied.managers, "scaler")?;
    /// assert_eq!(updated.managers.get("scaler").unwrap().set().to_string(), ".a");
    /// assert_eq!(updated.managers.get("ci").unwrap().set().to_string(), ".b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(
        &self,
        live: &TypedValue,
        new: &TypedValue,
        version: &ApiVersion,
        managers: &Managers,
        manager: &str,
    ) -> Result<Updated, Error> {
        let mut versions = Versions::new(self.converter(), version, live.clone());
        let managers = self.reconcile(&mut versions, managers)?;
        let normalized = match self.unions {
            true => live.normalize_update(new).map_err(|source| unions(source, Stage::Compare))?.value,
            false => new.clone(),
        };
        let new = &normalized;
        let operation = Operation::new(self, versions, new, version);
        let (mut managers, changed) =
            operation.take_from_others(&managers, manager, Force::Yes, Wanted::Comparison)?;
        let changed = changed.unwrap_or_default();
        let before = managers.get(manager);
        // What the manager owned at another version was reconciled with another type.
        let same_type = before.is_none_or(|entry| entry.is_reconciled_with(new.ty()));
        let owned = before.map(|entry| entry.set().clone()).unwrap_or_default();
        let mut set = owned.difference(&changed.removed).union(&changed.modified).union(&changed.added);
        if let Some(filter) = self.filter(version) {
            set = filter.apply(&set);
        }
        if set.is_empty() {
            managers.remove(manager);
        } else {
            let entry = VersionedSet::new(set, version.clone(), false);
            let entry = if same_type { reconciled(entry, new) } else { entry };
            managers.insert(manager, entry);
        }
        Ok(Updated { object: new.clone(), managers })
    }

    /// Applies a configuration to the live object. Both are at `version`; an object that does not exist yet
    /// is [null](TypedValue::null).
    ///
    /// The configuration is merged into the object. What the manager applied before and does not any more
    /// is removed, unless another manager owns it or it had no owner. The manager then owns what is in the
    /// configuration, and nothing else. Fields of other managers whose value would change are conflicts;
    /// with force, they lose them.
    ///
    /// # Errors
    ///
    /// [`Error::Conflicts`]; [`Error::Typed`] if the two are of different types, have items without keys, or
    /// the configuration contradicts itself about a union; [`Error::Convert`].
    ///
    /// Behaviour: `Updater.Apply` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    ///
    /// ```
    /// # use fieldmanager_fieldpath::Managers;
    /// # use fieldmanager_merge::{Force, Updater};
    /// # use fieldmanager_schema::Schema;
    /// # use fieldmanager_typed::{Duplicates, TypedValue};
    /// # use fieldmanager_value::Value;
    /// # let value = |yaml| Value::from_yaml(yaml).unwrap();
    /// # let typed = |yaml| TypedValue::new(value(yaml), Schema::deduced(), Duplicates::Refuse);
    /// # let updater = Updater::builder().build();
    /// # let (nothing, v1) = (TypedValue::null(Schema::deduced()), "v1".into());
    /// let first = updater.apply(&nothing, &typed("{a: 1, b: 1}")?, &v1, &Managers::new(), "ci", Force::No)?;
    /// // What the configuration leaves out is removed, because no other manager owns it.
    /// let live = first.object.unwrap();
    /// let second = updater.apply(&live, &typed("{b: 2}")?, &v1, &first.managers, "ci", Force::No)?;
    /// assert_eq!(second.object.unwrap().value().to_json(), r#"{"b":2}"#);
    /// assert_eq!(second.managers.get("ci").unwrap().set().to_string(), ".b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(
        &self,
        live: &TypedValue,
        config: &TypedValue,
        version: &ApiVersion,
        managers: &Managers,
        manager: &str,
        force: Force,
    ) -> Result<Applied, Error> {
        let mut versions = Versions::new(self.converter(), version, live.clone());
        let mut managers = self.reconcile(&mut versions, managers)?;
        let normalized = match self.unions {
            true => live.normalize_config(config).map_err(|source| unions(source, Stage::Merge))?.value,
            false => config.clone(),
        };
        let config = &normalized;
        let (merged, shadowed_empty_map) =
            live.merge_tracked(config).map_err(|source| Error::Typed { stage: Stage::Merge, source })?;
        let last = managers.get(manager).map(|entry| entry.set().clone()).unwrap_or_default();
        // A manager that applies for the first time often owns the same fields as another applier.
        let other = || managers.iter().find(|(_, entry)| entry.is_applied()).map(|(_, entry)| entry.set());
        let like = Some(&last).filter(|last| !last.is_empty()).or_else(other).unwrap_or(&last);
        let mut set = config.field_set_sharing(like);
        if let Some(filter) = self.filter(version) {
            set = filter.apply(&set);
        }
        let entry = VersionedSet::new(set, version.clone(), true);
        let last = managers.insert(manager, reconciled(entry, config));
        let (merged, cleared) = match self.unions {
            true => clear(live, config, merged)?,
            false => (merged, None),
        };
        let new = self.prune(merged, shadowed_empty_map, version, &managers, manager, last)?;
        let operation = Operation::new(self, versions, &new, version).clearing(cleared);
        let (mut managers, _) = operation.take_from_others(&managers, manager, force, Wanted::Managers)?;
        if managers.get(manager).is_some_and(|entry| entry.set().is_empty()) {
            managers.remove(manager);
        }
        let unchanged = !self.return_input_on_noop && live.value() == new.value();
        Ok(Applied { object: (!unchanged).then_some(new), managers })
    }
}

/// Clears the members of unions that a configuration made obsolete in the merged object. If there are any, also
/// returns the object before and after.
fn clear(
    live: &TypedValue,
    config: &TypedValue,
    merged: TypedValue,
) -> Result<(TypedValue, Option<(TypedValue, TypedValue)>), Error> {
    let normalized =
        live.normalize_applied(config, &merged).map_err(|source| unions(source, Stage::Compare))?;
    if normalized.changes.is_empty() {
        return Ok((normalized.value, None));
    }
    Ok((normalized.value.clone(), Some((merged, normalized.value))))
}

/// An error of unions, or of the stage that would find it otherwise.
fn unions(source: fieldmanager_typed::Error, next: Stage) -> Error {
    // That objects are of different types has nothing to do with unions: it would be found right after.
    let stage = match source {
        fieldmanager_typed::Error::TypesDiffer { .. } => next,
        _ => Stage::Unions,
    };
    Error::Typed { stage, source }
}

/// A set made from the fields of an object needs no reconciliation with the object's type, unless a type may
/// be walked in two ways.
fn reconciled(entry: VersionedSet, object: &TypedValue) -> VersionedSet {
    if object.ty().schema().has_no_polymorphic_types() {
        entry.reconciled_with(object.ty().clone())
    } else {
        entry
    }
}
