//! The objects of a request at another version.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::ObjectExt;
use fieldmanager_value::Value;

use crate::{AdmissionRequest, Cluster, Denial};

/// The objects of a request at the version of a kind.
#[derive(Clone)]
pub(crate) struct Versioned {
    pub(crate) kind: GroupVersionKind,
    pub(crate) object: Option<Value>,
    pub(crate) old: Option<Value>,
}

impl Versioned {
    /// Those of the request itself.
    pub(crate) fn of(request: &AdmissionRequest<'_>) -> Self {
        Versioned {
            kind: request.kind.clone(),
            object: request.object.map(|object| of_kind(object, request.kind)),
            old: request.old.cloned(),
        }
    }

    /// The objects at the version of a kind. Those of the request are converted, but for an object that was changed.
    pub(crate) async fn convert(
        &self,
        request: &AdmissionRequest<'_>,
        kind: &GroupVersionKind,
        is_changed: bool,
        cluster: &dyn Cluster,
    ) -> Result<Self, Denial> {
        if self.kind == *kind {
            return Ok(self.clone());
        }
        let is_own = kind == request.kind;
        let mut converted = Versioned {
            kind: kind.clone(),
            ..if is_changed {
                self.clone()
            } else {
                Self::of(request)
            }
        };
        converted.old = request.old.cloned();
        if let Some(object) = converted.object.take_if(|_| is_changed || !is_own) {
            converted.object = Some(cluster.convert(object, kind).await?);
        }
        if let Some(old) = converted.old.take_if(|_| !is_own) {
            converted.old = Some(cluster.convert(old, kind).await?);
        }
        Ok(converted)
    }

    /// A request with these objects and their kind.
    pub(crate) fn request<'a>(&'a self, request: AdmissionRequest<'a>) -> AdmissionRequest<'a> {
        AdmissionRequest {
            kind: &self.kind,
            object: self.object.as_ref(),
            old: self.old.as_ref(),
            ..request
        }
    }
}

/// An object as one of a kind. A client's patch may have given a custom resource another one, which no webhook sees.
///
/// Behaviour: `ConvertToGVK` of `k8s.io/apiserver/pkg/admission/conversion.go`.
fn of_kind(object: &Value, kind: &GroupVersionKind) -> Value {
    match object {
        Value::Map(fields) if object.declared_kind() != *kind => {
            let version = kind.api_version().to_string();
            let texts = [("apiVersion", version.as_str()), ("kind", &kind.kind)];
            let edits = texts.map(|(name, text)| (name.into(), Some(text.into())));
            Value::Map(fields.with_edits(edits.into()))
        }
        _ => object.clone(),
    }
}
