//! A write up to its object, which admission may change before it is validated.

use std::fmt;

use fieldmanager_managedfields::internal::decode_last;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::body::Given;
use crate::edited::Edited;
use crate::metadata;
use crate::outcome::{Outcome, Refused};
use crate::part::{Inner, Options};
use crate::request::{Method, Request};
use crate::scale;
use crate::state::Write;
use crate::write::Read;

/// A write whose object is made, owned and not yet validated.
///
/// ```
/// use fieldmanager_handlers::{Method, Request, Resource};
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let config_maps = Resource::builtin(&GroupVersionKind::from_api_version_kind("v1", "ConfigMap"))?;
/// let request = Request::new("2026-01-31T12:00:00Z".parse()?).namespace("shop").user_agent("kubectl/v1.37.1");
/// let body = br#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": "b"}}"#;
/// let mut pending = config_maps.begin(&request, Method::Create, None, body)?;
///
/// // A webhook adds a field, which has no owner.
/// let changed = pending.object().to_json().replace(r#""a":"b""#, r#""a":"b","c":"d""#);
/// pending.admit(Value::from_json(&changed)?, Vec::new());
/// let outcome = pending.finish()?;
/// let owned = outcome.object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
/// assert!(outcome.object.to_json().contains(r#""c":"d""#));
/// assert!(!owned.unwrap().to_json().contains("f:c"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pending<'r> {
    pub(crate) write: Write<'r>,
    pub(crate) method: Method,
    /// The object that has the name of a new one.
    pub(crate) stored: Option<&'r Value>,
    pub(crate) read: Read<'r>,
    pub(crate) edited: Edited,
}

impl fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("object", self.object())
            .finish_non_exhaustive()
    }
}

impl<'r> Pending<'r> {
    /// Begins a write: everything before admission.
    pub(crate) fn begin(
        resource: &'r Inner,
        options: Options,
        request: &'r Request<'r>,
        method: Method,
        stored: Option<&'r Value>,
        body: Given<'_>,
    ) -> Result<Self, Refused> {
        let mut write = Write::new(resource, options, request)?;
        let begun = write.before_admission(method, stored, body);
        match begun {
            Ok((read, edited)) => Ok(Pending {
                write,
                method,
                stored,
                read,
                edited,
            }),
            Err(refused) => Err(write.refused(refused)),
        }
    }

    /// The kind of the object: `Scale` of `autoscaling/v1` for the subresource `scale`.
    pub fn kind(&self) -> &GroupVersionKind {
        &self.write.part.gvk
    }

    /// The request.
    pub fn request(&self) -> &Request<'r> {
        self.write.request
    }

    /// The object that the request makes: the `Scale` for the subresource `scale`.
    pub fn object(&self) -> &Value {
        &self.edited.object
    }

    /// The object before the request, in the same form; `None` if the request creates it.
    pub fn old(&self) -> Option<&Value> {
        self.read.stored.map(|_| &self.read.seen)
    }

    /// The object before the request as those get it who only validate: the live `Scale` has no owners.
    ///
    /// Behaviour: `toScaleUpdateValidation` of `k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go`.
    pub fn validated_old(&self) -> Option<Value> {
        let old = self.old()?;
        let is_scale = self.write.scale().is_some();
        Some(if is_scale {
            scale::validated(old)
        } else {
            old.clone()
        })
    }

    /// Adds warnings to those of the answer.
    pub fn warn(&mut self, warnings: Vec<String>) {
        for text in warnings {
            self.write.warnings.add(text);
        }
    }

    /// Replaces the object by one that admission made of it. The owners of the fields stay, unless the object has other
    /// entries that can be read: malformed ones are a warning.
    ///
    /// Behaviour: `managedFieldsValidatingAdmissionController` of `k8s.io/apiserver`.
    pub fn admit(&mut self, object: Value, warnings: Vec<String>) {
        self.warn(warnings);
        let entries = metadata::field(&object, "managedFields");
        let before = metadata::field(&self.edited.object, "managedFields");
        let faults = if entries == before {
            Vec::new()
        } else {
            decode_last(entries).faults
        };
        let object = match faults.first() {
            None => object,
            Some(fault) => {
                self.write.warnings.add(format!(
                    ".metadata.managedFields was in an invalid state after admission; this could be caused by an \
                     outdated mutating admission controller; please fix your requests: {fault}"
                ));
                metadata::with(&object, vec![("managedFields", before.cloned())])
            }
        };
        self.edited = self.write.decoded(&object, &object);
    }

    /// The warnings of the steps before.
    pub fn warnings(&self) -> &[String] {
        self.write.warnings.all()
    }

    /// Completes and validates the object.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the answer: 400, 404, 409, 422.
    pub fn finish(mut self) -> Result<Outcome, Refused> {
        let done = self
            .write
            .after_admission(self.method, self.stored, &self.read, self.edited);
        match done {
            Ok(outcome) => Ok(Outcome {
                warnings: self.write.warnings.into_vec(),
                ..outcome
            }),
            Err(status) => Err(self.write.refused(status.into())),
        }
    }
}
