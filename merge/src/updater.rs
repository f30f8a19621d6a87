//! The updater and its options.

use std::sync::Arc;

use fieldmanager_fieldpath::{ApiVersion, Filter};

use crate::apply::Apply;
use crate::converter::Converter;
use crate::error::Error;
use crate::request::{Applied, ApplyRequest, UpdateRequest, Updated};
use crate::settings::Settings;
use crate::update::Update;

/// Computes applies and updates. It holds options and no state, so one updater serves any number of objects
/// and threads.
///
/// ```
/// use fieldmanager_merge::Updater;
/// let updater = Updater::builder().return_input_on_noop(true).build();
/// let another = updater.clone();
/// ```
#[derive(Clone)]
pub struct Updater {
    settings: Settings,
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
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone)]
pub struct UpdaterBuilder {
    settings: Settings,
}

impl UpdaterBuilder {
    /// Sets the converter between versions. Without one, the object is the same at every version.
    ///
    /// ```
    /// # use fieldmanager_merge::{ApplyRequest, SameVersion, Updater};
    /// # use fieldmanager_testing::typed;
    /// let updater = Updater::builder().converter(SameVersion).build();
    /// # let nothing = fieldmanager_testing::nothing();
    /// let config = typed("{a: 1}")?;
    /// let applied = updater.apply(ApplyRequest::new(&nothing, &config).version("v1").manager("ci"))?;
    /// // The conflict is found although the other manager applies at another version.
    /// let (live, config) = (applied.object.unwrap(), typed("{a: 2}")?);
    /// let request = ApplyRequest::new(&live, &config).version("v2").owners(&applied.owners).manager("ops");
    /// assert!(updater.apply(request).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn converter(mut self, converter: impl Converter + 'static) -> Self {
        self.settings.converter = Some(Arc::new(converter));
        self
    }

    /// Tracks only the fields that a filter keeps, at one version. Other fields have no owner and cause no conflicts.
    /// The reset fields of Kubernetes are such filters. A second filter for a version replaces the first.
    ///
    /// Behaviour: `UpdaterBuilder.IgnoreFilter` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    ///
    /// ```
    /// # use fieldmanager_fieldpath::{Filter, Set};
    /// # use fieldmanager_merge::{ApplyRequest, Updater};
    /// # use fieldmanager_testing::typed;
    /// let status = Set::from_json(br#"{"f:status":{}}"#)?;
    /// let updater = Updater::builder().filter("v1", Filter::Exclude(status)).build();
    /// # let nothing = fieldmanager_testing::nothing();
    /// let config = typed("{a: 1, status: {ready: true}}")?;
    /// let applied = updater.apply(ApplyRequest::new(&nothing, &config).version("v1").manager("ci"))?;
    /// assert_eq!(applied.owners.get("ci").unwrap().set().to_string(), ".a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn filter(mut self, version: impl Into<ApiVersion>, filter: Filter) -> Self {
        let version = version.into();
        self.settings.filters.retain(|(known, _)| *known != version);
        self.settings.filters.push((version, filter));
        self
    }

    /// Whether an apply that changes nothing returns the object nevertheless. Off by default.
    ///
    /// Behaviour: `UpdaterBuilder.ReturnInputOnNoop` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    ///
    /// ```
    /// # use fieldmanager_merge::{ApplyRequest, Updater};
    /// # use fieldmanager_testing::typed;
    /// let updater = Updater::builder().return_input_on_noop(true).build();
    /// let live = typed("{a: 1}")?;
    /// let applied = updater.apply(ApplyRequest::new(&live, &live).manager("ci"))?;
    /// assert!(applied.object.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn return_input_on_noop(mut self, on: bool) -> Self {
        self.settings.return_input_on_noop = on;
        self
    }

    /// Whether unions are normalized before ownership is computed (`APIUnions` in KEP-1027). On by default. If it is
    /// off, the unions of the schema have no effect.
    #[must_use]
    pub fn unions(mut self, on: bool) -> Self {
        self.settings.unions = on;
        self
    }

    /// Builds the updater.
    #[must_use]
    pub fn build(self) -> Updater {
        Updater {
            settings: self.settings,
        }
    }
}

impl Updater {
    /// A builder with the default options.
    pub fn builder() -> UpdaterBuilder {
        UpdaterBuilder {
            settings: Settings {
                converter: None,
                filters: Vec::new(),
                return_input_on_noop: false,
                unions: true,
            },
        }
    }

    /// The same updater with unions normalized or not.
    #[must_use]
    #[doc(hidden)]
    pub fn with_unions(&self, on: bool) -> Updater {
        Updater {
            settings: Settings {
                unions: on,
                ..self.settings.clone()
            },
        }
    }

    /// Applies a configuration to a live object.
    ///
    /// The configuration is merged into the object. Fields that the manager applied before and does not apply any
    /// more are removed, unless another manager owns them or they had no owner. The manager then owns the fields of
    /// the configuration and no others. Fields of other managers whose value would change are conflicts; with
    /// [force](ApplyRequest::force), the other managers lose them.
    ///
    /// # Errors
    ///
    /// [`Error::Conflicts`]; [`Error::Typed`] if object and configuration are of different types, have items without
    /// keys, or the configuration contradicts itself about a union; [`Error::Convert`].
    ///
    /// Behaviour: `Updater.Apply` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    ///
    /// ```
    /// # use fieldmanager_merge::{ApplyRequest, Updater};
    /// # use fieldmanager_value::Value;
    /// # use fieldmanager_testing::typed;
    /// # let value = |yaml| Value::from_yaml(yaml).unwrap();
    /// # let updater = Updater::builder().build();
    /// # let nothing = fieldmanager_testing::nothing();
    /// let first = updater.apply(ApplyRequest::new(&nothing, &typed("{a: 1, b: 1}")?).manager("ci"))?;
    /// // A field that the configuration no longer has is removed, because no other manager owns it.
    /// let (live, config) = (first.object.unwrap(), typed("{b: 2}")?);
    /// let second = updater.apply(ApplyRequest::new(&live, &config).owners(&first.owners).manager("ci"))?;
    /// assert_eq!(second.object.unwrap().value().to_json(), r#"{"b":2}"#);
    /// assert_eq!(second.owners.get("ci").unwrap().set().to_string(), ".b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(&self, request: ApplyRequest<'_>) -> Result<Applied, Error> {
        Apply::run(&self.settings, &request)
    }

    /// Replaces a live object by a new one, as the verbs create, update and patch do.
    ///
    /// The manager gains what it added and modified, and keeps what it owned and did not remove; other managers lose
    /// what changed. An update never conflicts.
    ///
    /// # Errors
    ///
    /// [`Error::Typed`] if the objects are of different types, have items without keys, or the new object contradicts
    /// itself about a union; [`Error::Convert`].
    ///
    /// Behaviour: `Updater.Update` of `sigs.k8s.io/structured-merge-diff/v6/merge`.
    ///
    /// ```
    /// # use fieldmanager_merge::{ApplyRequest, UpdateRequest, Updater};
    /// # use fieldmanager_testing::typed;
    /// # let updater = Updater::builder().build();
    /// # let nothing = fieldmanager_testing::nothing();
    /// let applied = updater.apply(ApplyRequest::new(&nothing, &typed("{a: 1, b: 1}")?).manager("ci"))?;
    /// let (live, new) = (applied.object.unwrap(), typed("{a: 2, b: 1}")?);
    /// let updated = updater.update(UpdateRequest::new(&live, &new).owners(&applied.owners).manager("scaler"))?;
    /// assert_eq!(updated.owners.get("scaler").unwrap().set().to_string(), ".a");
    /// assert_eq!(updated.owners.get("ci").unwrap().set().to_string(), ".b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(&self, request: UpdateRequest<'_>) -> Result<Updated, Error> {
        Update::run(&self.settings, &request)
    }
}
