//! The options of a field manager.

use std::sync::Arc;

use fieldmanager_fieldpath::{ApiVersion, Filter, Set};
use fieldmanager_merge::Updater;
use fieldmanager_openapi::{GroupVersionKind, KindError, Types};
use fieldmanager_value::{Map, Str, Value};

use crate::cap::MAX_UPDATERS;
use crate::convert::{ByHub, ObjectConverter, SameFields, Typing};
use crate::manager::FieldManager;
use crate::settings::{Defaulter, Settings};

/// Collects the options of a [`FieldManager`].
///
/// ```
/// use fieldmanager_managedfields::internal::manager_version;
/// use fieldmanager_managedfields::FieldManager;
/// use fieldmanager_openapi::GroupVersionKind;
/// let kind = GroupVersionKind::from_api_version_kind("v1", "ConfigMap");
/// let manager = FieldManager::builder(kind).max_updaters(20).build()?;
/// assert_eq!(manager_version(&manager).as_str(), "v1");
/// # Ok::<(), fieldmanager_openapi::KindError>(())
/// ```
#[derive(Clone)]
pub struct FieldManagerBuilder {
    kind: GroupVersionKind,
    subresource: Str,
    typing: Typing,
    converter: Arc<dyn ObjectConverter>,
    hub: Option<ApiVersion>,
    defaulter: Option<Defaulter>,
    empty: Map,
    filters: Vec<(ApiVersion, Filter)>,
    max_updaters: usize,
    recover: bool,
    last_entry_counts: bool,
    unions: bool,
}

impl FieldManager {
    /// A builder of a field manager for objects of a kind.
    pub fn builder(kind: GroupVersionKind) -> FieldManagerBuilder {
        FieldManagerBuilder {
            kind,
            subresource: Str::default(),
            typing: Typing::Deduced,
            converter: Arc::new(SameFields),
            hub: None,
            defaulter: None,
            empty: Map::new(),
            filters: Vec::new(),
            max_updaters: MAX_UPDATERS,
            recover: false,
            last_entry_counts: false,
            unions: true,
        }
    }
}

impl FieldManagerBuilder {
    /// The types of the kind, at all versions. By default the structure of objects is deduced: maps are granular and
    /// lists atomic.
    #[must_use]
    pub fn types(mut self, types: Types) -> Self {
        self.typing = Typing::Types(types);
        self
    }

    /// The subresource of the requests, such as `status`. By default it is empty, for the object itself.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<Str>) -> Self {
        self.subresource = subresource.into();
        self
    }

    /// The converter between versions. By default only `apiVersion` changes, see [`SameFields`].
    #[must_use]
    pub fn converter(mut self, converter: impl ObjectConverter + 'static) -> Self {
        self.converter = Arc::new(converter);
        self
    }

    /// The version through which objects are converted, and at which an apply returns its object. By default it is the
    /// version of the kind.
    #[must_use]
    pub fn hub(mut self, version: impl Into<ApiVersion>) -> Self {
        self.hub = Some(version.into());
        self
    }

    /// Fills in defaults after an apply. Ownership is computed before, so defaults have no owner.
    #[must_use]
    pub fn defaulter(
        mut self,
        defaulter: impl Fn(&Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.defaulter = Some(Arc::new(defaulter));
        self
    }

    /// The fields that an object has before a request sets any, such as `spec: {}`. A request that creates an object does
    /// not own them, unless it changes them. By default there are none.
    ///
    /// The API server serializes built-in kinds from Go structs, where a field without `omitempty` is present even if
    /// it is empty.
    ///
    /// ```
    /// use fieldmanager_managedfields::{FieldManager, UpdateRequest};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_value::Value;
    /// let kind = GroupVersionKind::from_api_version_kind("networking.k8s.io/v1", "NetworkPolicy");
    /// let zero = Value::from_yaml("{spec: {podSelector: {}}}")?;
    /// let manager = FieldManager::builder(kind).empty_object(zero.as_map().ok_or("a map")?.clone()).build()?;
    /// let new = Value::from_yaml("{spec: {podSelector: {}, policyTypes: [Ingress]}}")?;
    /// let created = manager.update(UpdateRequest::new(&Value::Null, &new).manager("shop"))?;
    /// let owned = created.managed.entries().remove(0).fields;
    /// assert_eq!(owned.to_json(), r#"{"f:spec":{"f:policyTypes":{}}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn empty_object(mut self, fields: Map) -> Self {
        self.empty = fields;
        self
    }

    /// The fields that requests to this subresource reset, at a version: no manager gains or loses them.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{Path, Set};
    /// use fieldmanager_managedfields::FieldManager;
    /// use fieldmanager_openapi::GroupVersionKind;
    /// let status: Set = [".status".parse::<Path>()?].into_iter().collect();
    /// let kind = GroupVersionKind::new("example.com", "v1", "Shop");
    /// let manager = FieldManager::builder(kind).reset_fields("example.com/v1", status).build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reset_fields(self, version: impl Into<ApiVersion>, fields: Set) -> Self {
        self.reset_filter(version, Filter::Exclude(fields))
    }

    /// The filter of the fields that requests to this subresource may own, at a version.
    #[must_use]
    pub fn reset_filter(mut self, version: impl Into<ApiVersion>, filter: Filter) -> Self {
        self.filters.push((version.into(), filter));
        self
    }

    /// The maximum number of updaters of an object. If there are more, the oldest are united. The default is
    /// [`MAX_UPDATERS`].
    #[must_use]
    pub fn max_updaters(mut self, max: usize) -> Self {
        self.max_updaters = max;
        self
    }

    /// Whether entries of the live object that cannot be read are dropped and reported in
    /// [`Outcome::dropped`](crate::Outcome::dropped). By default they fail the request.
    #[must_use]
    pub fn recover(mut self, recover: bool) -> Self {
        self.recover = recover;
        self
    }

    /// Whether the last of several entries with one identity counts alone, as in an API server. Off by default: such entries
    /// are united, so that no manager loses a field.
    #[doc(hidden)]
    #[must_use]
    pub fn last_entry_counts(mut self, on: bool) -> Self {
        self.last_entry_counts = on;
        self
    }

    /// Whether unions are normalized before ownership is computed. On by default.
    #[must_use]
    pub fn unions(mut self, on: bool) -> Self {
        self.unions = on;
        self
    }

    /// Builds the field manager.
    ///
    /// # Errors
    ///
    /// [`KindError`] if there is no type for the kind.
    pub fn build(self) -> Result<FieldManager, KindError> {
        let version = ApiVersion::from(self.kind.api_version());

        // Without a hub version, conversions go through the version of the kind.
        let hub = self.hub.unwrap_or_else(|| version.clone());
        let ty = self.typing.for_kind(&self.kind)?;
        let mut updater = Updater::builder().unions(self.unions).converter(ByHub {
            converter: self.converter.clone(),
            hub: hub.clone(),
            kind: self.kind.clone(),
            typing: self.typing.clone(),
        });
        for (version, filter) in self.filters {
            updater = updater.filter(version, filter);
        }

        // An object that is created is compared with an empty one, which has a type.
        let typed = [("apiVersion", version.as_str()), ("kind", &*self.kind.kind)];
        let typed = typed
            .into_iter()
            .map(|(name, text)| (Str::from(name), Some(Value::from(text))))
            .collect();
        let empty = Value::Map(self.empty.with_edits(typed));
        let settings = Settings {
            empty,
            version,
            hub,
            ty,
            typing: self.typing,
            kind: self.kind,
            subresource: self.subresource,
            converter: self.converter,
            defaulter: self.defaulter,
            updater: updater.build(),
            max_updaters: self.max_updaters,
            recover: self.recover,
            last_entry_counts: self.last_entry_counts,
        };

        Ok(FieldManager { settings })
    }
}
