//! Conversion between versions.
//!
//! Behaviour: the conversion functions of `k8s.io/kubernetes/pkg/apis`, through the internal version and without
//! defaults.

mod autoscaler;
mod edit;
mod error;
mod event;
mod internal;
mod resources;

pub use error::ConvertError;

use fieldmanager_value::{Str, Value};

use self::edit::set;
use crate::types::types;
use crate::{Kind, decode};

impl Kind {
    /// Converts a [decoded](Kind::decode) object of this kind to another version of it, as kube-apiserver does between a
    /// request and the storage. [`versions`](Kind::versions) lists the others. Unchanged parts are shared.
    ///
    /// A conversion to the same version does what remains of the way through Kubernetes' internal version: the
    /// `stringData` of a Secret becomes `data`, for example. Defaults are not set; kube-apiserver sets them before. An empty
    /// list that a decoded object omits is absent, which Go distinguishes.
    ///
    /// # Errors
    ///
    /// If the kinds are not versions of one, or an annotation does not have the number that the conversion reads from it.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_structural::GroupVersionKind;
    /// use fieldmanager_value::Value;
    ///
    /// let kind = |version| Kind::of(&GroupVersionKind::new("autoscaling", version, "HorizontalPodAutoscaler"));
    /// let (old, new) = (kind("v1").unwrap(), kind("v2").unwrap());
    /// let object = Value::from_json(r#"{"spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50}}"#)?;
    /// let object = old.decode(&object)?.object;
    /// let metrics = old.convert(&object, &new)?.get("spec").unwrap().get("metrics").unwrap().to_json();
    /// assert_eq!(
    ///     metrics,
    ///     r#"[{"resource":{"name":"cpu","target":{"averageUtilization":50,"type":"Utilization"}},"type":"Resource"}]"#,
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn convert(&self, object: &Value, to: &Kind) -> Result<Value, ConvertError> {
        // Only versions of one kind have a common internal version.
        if self != to && self.versions().all(|version| version != *to) {
            let (from, to) = (self.gvk().to_string(), to.gvk().to_string());
            return Err(ConvertError::Unrelated { from, to });
        }
        let converted = match (self.gvk().group.as_str(), self.gvk().kind.as_str()) {
            ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::convert(self, object, to),
            ("" | "events.k8s.io", "Event") => event::convert(self, object, to),
            ("resource.k8s.io", _) => resources::convert(self, object, to),
            _ => internal::pass(self, object)?,
        };
        let converted = with_api_version(&converted, to);
        // An object that nothing changed fits its type already.
        if self == to && converted.ptr_eq(object) {
            return Ok(converted);
        }

        Ok(decode::fit(types(), to.ty(), &converted))
    }

    /// Checks the annotations of which the internal version has numbers in fields. kube-apiserver converts an object when it
    /// reads it, and refuses one that cannot be converted.
    ///
    /// # Errors
    ///
    /// If an annotation has no number.
    ///
    /// ```
    /// use fieldmanager_builtin::Kind;
    /// use fieldmanager_structural::GroupVersionKind;
    /// use fieldmanager_value::Value;
    ///
    /// let kind = Kind::of(&GroupVersionKind::new("apps", "v1", "DaemonSet")).unwrap();
    /// let set = r#"{"metadata": {"annotations": {"deprecated.daemonset.template.generation": "two"}}}"#;
    /// let error = kind.check_annotations(&Value::from_json(set)?).unwrap_err();
    /// assert_eq!(error.to_string(), r#"strconv.ParseInt: parsing "two": invalid syntax"#);
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn check_annotations(&self, object: &Value) -> Result<(), ConvertError> {
        internal::check_annotations(self, object)
    }
}

/// The object with the `apiVersion` and `kind` of a kind.
fn with_api_version(object: &Value, kind: &Kind) -> Value {
    let (version, name) = (kind.gvk().api_version(), kind.gvk().kind.clone());
    let is_set =
        |field: &str, value: &Str| object.get(field).and_then(Value::as_str) == Some(value);
    if is_set("apiVersion", &version) && is_set("kind", &name) {
        return object.clone();
    }
    set(
        &set(object, "apiVersion", Some(version.into())),
        "kind",
        Some(name.into()),
    )
}
