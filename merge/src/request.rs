//! Requests to the updater, and their results.

use fieldmanager_fieldpath::{ApiVersion, Owners};
use fieldmanager_typed::TypedValue;

/// The owners of an object that no manager has written.
static NO_OWNERS: Owners = Owners::new();

/// A request to apply a configuration to a live object, for [`Updater::apply`](crate::Updater::apply).
///
/// The object, the configuration, their [version](Self::version) and the [owners](Self::owners) describe the state
/// before the apply; [`manager`](Self::manager) and [`force`](Self::force) are the parameters of the same names in
/// `PatchParams` of the crate `kube`.
///
/// ```
/// # use fieldmanager_testing::typed;
/// use fieldmanager_merge::{ApplyRequest, Updater};
/// # let nothing = fieldmanager_testing::nothing();
/// let updater = Updater::builder().build();
/// let applied = updater.apply(ApplyRequest::new(&nothing, &typed("{a: 1}")?).manager("ci"))?;
/// let (live, config) = (applied.object.unwrap(), typed("{a: 2}")?);
///
/// let request = ApplyRequest::new(&live, &config).owners(&applied.owners).manager("ops");
/// assert!(updater.apply(request.clone()).is_err());
/// assert!(updater.apply(request.force())?.owners.get("ci").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a request does nothing until an updater gets it"]
pub struct ApplyRequest<'a> {
    pub(crate) live: &'a TypedValue,
    pub(crate) config: &'a TypedValue,
    pub(crate) version: ApiVersion,
    pub(crate) owners: &'a Owners,
    pub(crate) manager: &'a str,
    pub(crate) force: bool,
}

impl<'a> ApplyRequest<'a> {
    /// Applies a configuration to a live object; an object that does not exist yet is [null](TypedValue::null).
    pub fn new(live: &'a TypedValue, config: &'a TypedValue) -> Self {
        ApplyRequest {
            live,
            config,
            version: ApiVersion::default(),
            owners: &NO_OWNERS,
            manager: "",
            force: false,
        }
    }

    /// The version of the live object and the configuration. By default it is the empty string, for objects that
    /// have only one version.
    pub fn version(mut self, version: impl Into<ApiVersion>) -> Self {
        self.version = version.into();
        self
    }

    /// The owners of the fields of the live object, as the last operation returned them. By default no field has
    /// an owner.
    pub fn owners(mut self, owners: &'a Owners) -> Self {
        self.owners = owners;
        self
    }

    /// The name of the manager that applies. By default it is the empty string.
    pub fn manager(mut self, name: &'a str) -> Self {
        self.manager = name;
        self
    }

    /// Takes fields that other managers own and whose values would change. Without force they are conflicts.
    pub fn force(self) -> Self {
        self.force_if(true)
    }

    /// As [`force`](Self::force) if the condition is true.
    pub fn force_if(mut self, condition: bool) -> Self {
        self.force = condition;
        self
    }
}

/// A request to replace a live object by a new one, for [`Updater::update`](crate::Updater::update).
///
/// ```
/// # use fieldmanager_testing::typed;
/// use fieldmanager_merge::{UpdateRequest, Updater};
/// # let nothing = fieldmanager_testing::nothing();
/// let updater = Updater::builder().build();
/// let created = updater.update(UpdateRequest::new(&nothing, &typed("{a: 1}")?).version("v1").manager("kubectl"))?;
/// assert_eq!(created.owners.get("kubectl").unwrap().api_version().as_str(), "v1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a request does nothing until an updater gets it"]
pub struct UpdateRequest<'a> {
    pub(crate) live: &'a TypedValue,
    pub(crate) new: &'a TypedValue,
    pub(crate) version: ApiVersion,
    pub(crate) owners: &'a Owners,
    pub(crate) manager: &'a str,
}

impl<'a> UpdateRequest<'a> {
    /// Replaces a live object by a new one; an object that does not exist yet is [null](TypedValue::null).
    pub fn new(live: &'a TypedValue, new: &'a TypedValue) -> Self {
        UpdateRequest {
            live,
            new,
            version: ApiVersion::default(),
            owners: &NO_OWNERS,
            manager: "",
        }
    }

    /// The version of both objects. By default it is the empty string, for objects that have only one version.
    pub fn version(mut self, version: impl Into<ApiVersion>) -> Self {
        self.version = version.into();
        self
    }

    /// The owners of the fields of the live object, as the last operation returned them. By default no field has
    /// an owner.
    pub fn owners(mut self, owners: &'a Owners) -> Self {
        self.owners = owners;
        self
    }

    /// The name of the manager that updates. By default it is the empty string.
    pub fn manager(mut self, name: &'a str) -> Self {
        self.manager = name;
        self
    }
}

/// The result of an apply.
///
/// ```
/// # use fieldmanager_merge::{ApplyRequest, Updater};
/// # use fieldmanager_testing::typed;
/// # let updater = Updater::builder().build();
/// # let nothing = fieldmanager_testing::nothing();
/// let config = typed("{a: 1}")?;
/// let first = updater.apply(ApplyRequest::new(&nothing, &config).manager("ci"))?;
/// let live = first.object.unwrap();
/// let again = updater.apply(ApplyRequest::new(&live, &config).owners(&first.owners).manager("ci"))?;
/// assert!(again.object.is_none());
/// assert_eq!(again.owners, first.owners);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Applied {
    /// The new object; `None` if it equals the live one, unless
    /// [`return_input_on_noop`](crate::UpdaterBuilder::return_input_on_noop) is on.
    pub object: Option<TypedValue>,
    /// The owners after the apply.
    pub owners: Owners,
}

/// The result of an update.
///
/// ```
/// # use fieldmanager_merge::{UpdateRequest, Updater};
/// # use fieldmanager_value::Value;
/// # use fieldmanager_testing::typed;
/// # let value = |yaml| Value::from_yaml(yaml).unwrap();
/// # let updater = Updater::builder().build();
/// # let nothing = fieldmanager_testing::nothing();
/// let updated = updater.update(UpdateRequest::new(&nothing, &typed("{a: 1}")?).manager("kubectl"))?;
/// assert_eq!(updated.object.value().to_json(), r#"{"a":1}"#);
/// assert!(!updated.owners.get("kubectl").unwrap().is_applied());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Updated {
    /// The new object, with its unions normalized.
    pub object: TypedValue,
    /// The owners after the update.
    pub owners: Owners,
}
